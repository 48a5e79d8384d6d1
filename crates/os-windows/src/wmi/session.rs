use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use automation::WmiError;
use os::schema::Namespace;

use super::Connect;
use super::com::{Called, ClassObject, Services};

/// The age of a namespace's connections: when one is lost, all of its generation and older ones may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation(u64);

impl Generation {
    #[cfg(test)]
    pub(super) const FIRST: Self = Self(0);

    /// The generation of connections made after one of this generation was lost.
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// One thread's connection to its namespace, made when it is first needed and kept.
pub(super) struct Session {
    connect: Arc<dyn Connect>,
    namespace: Namespace,
    open: Option<Rc<Connection>>,
}

impl Session {
    pub(super) fn new(connect: Arc<dyn Connect>, namespace: Namespace) -> Self {
        Self {
            connect,
            namespace,
            open: None,
        }
    }

    /// The connection, if there is one.
    pub(super) fn connection(&self) -> Option<Rc<Connection>> {
        self.open.clone()
    }

    /// Of the connection, if there is one.
    pub(super) fn generation(&self) -> Option<Generation> {
        self.open.as_ref().map(|open| open.generation)
    }

    /// Makes a connection, in place of the present one. This may take minutes.
    pub(super) fn connect(&mut self, generation: Generation) -> Called<()> {
        self.open = None;
        let made = self.connect.connect(self.namespace);
        let services = Services::new(made, self.connect.methods())?;
        let connection = Connection {
            services,
            generation,
            definition_within: self.connect.definition_within(),
            inputs: RefCell::default(),
        };
        self.open = Some(Rc::new(connection));
        Ok(())
    }

    /// Drops a lost connection. Another call may have reported it before, and a new one may be in its place.
    pub(super) fn heed(&mut self, fault: &WmiError, of: &Rc<Connection>) {
        let is_open = self.open.as_ref().is_some_and(|it| Rc::ptr_eq(it, of));
        if fault.breaks_connection() && is_open {
            self.open = None;
        }
    }
}

/// A connection, and the classes' definitions received over it.
pub(super) struct Connection {
    pub(super) services: Services,
    pub(super) generation: Generation,
    pub(super) definition_within: Duration,
    inputs: RefCell<HashMap<MethodName, Input>>,
}

pub(super) type MethodName = (&'static str, &'static str);

/// The definition of a method's in-parameters; none for a method without any.
pub(super) type Input = Option<Rc<ClassObject>>;

impl Connection {
    /// A method's in-parameters, if its definition came over this connection before.
    pub(super) fn known(&self, method: MethodName) -> Option<Input> {
        self.inputs.borrow().get(&method).cloned()
    }

    pub(super) fn keep(&self, method: MethodName, input: Input) {
        self.inputs.borrow_mut().insert(method, input);
    }
}

/// A failed job, from its connection's view.
pub(super) struct Broken {
    pub(super) fault: WmiError,
    /// The connection is gone, and no change can have been sent over it.
    pub(super) may_repeat: bool,
}

impl Broken {
    /// The failure came after a method was sent.
    pub(super) fn never_repeated(fault: WmiError) -> Self {
        let may_repeat = false;
        Self { fault, may_repeat }
    }

    /// The failure came before a changing call: repeated if the connection was lost.
    pub(super) fn before_a_change(fault: WmiError) -> Self {
        let may_repeat = fault.is_lost();
        Self { fault, may_repeat }
    }

    /// The failure came while a method was sent: repeated only if it was certainly not sent.
    pub(super) fn while_sending(fault: WmiError) -> Self {
        let may_repeat = fault.is_unsent();
        Self { fault, may_repeat }
    }
}
