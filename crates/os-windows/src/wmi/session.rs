use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use automation::Fault;
use automation::Selection;
use os::Cause;
use os::Instance;
use os::Outcome;
use os::schema::Namespace;

use super::Connect;
use super::com::Begun;
use super::com::CallResult;
use super::com::Called;
use super::com::ClassObject;
use super::com::Enumerator;
use super::com::Progress;
use super::com::Services;
use super::method::Call;
use super::method::MethodName;
use super::method::Signature;
use super::method::input;
use super::method::outcome;

/// What is asked of WMI, complete, to be begun again on another connection if it must.
pub(super) enum Ask {
    /// Which in-parameters a method has.
    Describe(Signature),
    /// A query whose objects have all that was selected.
    Find(Selection),
    /// A query whose objects have what their class has.
    FindWhole(Selection),
    Run(Call),
}

/// What WMI answered.
pub(super) enum Answer {
    Described(BTreeSet<String>),
    Found(Vec<Instance>),
    Ended(Outcome),
}

impl Ask {
    pub(super) fn namespace(&self) -> Namespace {
        match self {
            Self::Describe(signature) => signature.class.namespace,
            Self::Find(selection) | Self::FindWhole(selection) => selection.class.namespace,
            Self::Run(call) => call.signature.class.namespace,
        }
    }
}

/// Which connections of a namespace are younger than others: when one is lost, all of its generation and
/// older ones may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation(u64);

impl Generation {
    #[cfg(test)]
    pub(super) const FIRST: Self = Self(0);

    /// Of connections that are made when one of this generation was lost.
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

    /// Of the connection, if there is one.
    pub(super) fn generation(&self) -> Option<Generation> {
        self.open.as_ref().map(|open| open.generation)
    }

    /// Makes a connection, in place of the one that there is. This may take minutes.
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

    /// Begins what is asked, over the connection that there is.
    pub(super) fn begin(&mut self, ask: &Ask) -> Result<Running, Failed> {
        let Some(connection) = self.open.clone() else {
            let fault = Cause::Malformed("begun without a connection".to_owned()).into();
            return Err(Failed { fault, again: None });
        };
        match connection.begin(ask) {
            Ok(stage) => Ok(Running { stage, connection }),
            Err(broken) => Err(self.failed(&connection, broken)),
        }
    }

    /// The answer, if the call ends within this many milliseconds.
    pub(super) fn advance(
        &mut self,
        running: &mut Running,
        ask: &Ask,
        wait: i32,
    ) -> Result<Option<Answer>, Failed> {
        let advanced = running.advance(ask, wait);
        advanced.map_err(|broken| self.failed(&running.connection, broken))
    }

    /// A connection that is gone is forgotten. Another call may have been told so before, and a new one
    /// may be in its place.
    fn failed(&mut self, gone: &Rc<Connection>, broken: Broken) -> Failed {
        let Broken { fault, may_repeat } = broken;
        let is_open = self.open.as_ref().is_some_and(|it| Rc::ptr_eq(it, gone));
        if fault.breaks_connection() && is_open {
            self.open = None;
        }
        let again = may_repeat.then(|| gone.generation.next());
        Failed { fault, again }
    }
}

/// A call that failed.
pub(super) struct Failed {
    pub(super) fault: Fault,
    /// The generation of connections over which it may be begun again.
    pub(super) again: Option<Generation>,
}

/// The same, as its connection sees it.
struct Broken {
    fault: Fault,
    /// The connection is gone, and nothing that changes anything can have left over it.
    may_repeat: bool,
}

impl Broken {
    fn for_good(fault: Fault) -> Self {
        let may_repeat = false;
        Self { fault, may_repeat }
    }

    /// It failed where nothing was to change.
    fn harmless(fault: Fault) -> Self {
        let may_repeat = fault.is_lost();
        Self { fault, may_repeat }
    }

    /// It failed where a method was sent.
    fn sending(fault: Fault) -> Self {
        let may_repeat = fault.is_unsent();
        Self { fault, may_repeat }
    }
}

/// A connection, and the classes' definitions that came over it.
struct Connection {
    services: Services,
    generation: Generation,
    definition_within: Duration,
    inputs: RefCell<HashMap<MethodName, Option<Rc<ClassObject>>>>,
}

impl Connection {
    fn begin(&self, ask: &Ask) -> Result<Stage, Broken> {
        match ask {
            Ask::Describe(signature) => self.defined(*signature, ask),
            Ask::Find(selection) | Ask::FindWhole(selection) => {
                let answers = self.services.query(&selection.text);
                Ok(Stage::Query {
                    answers: answers.map_err(Broken::harmless)?,
                    found: Vec::new(),
                })
            }
            Ask::Run(call) => self.defined(call.signature, ask),
        }
    }

    /// What needs a method's definition begins with that, unless it came over this connection before.
    fn defined(&self, signature: Signature, ask: &Ask) -> Result<Stage, Broken> {
        let known = self.inputs.borrow().get(&signature.name()).cloned();
        if let Some(input) = known {
            return self.begin_defined(ask, input.as_deref());
        }
        let class = self.services.class(signature.class.name);
        match class.map_err(Broken::harmless)? {
            Begun::Ended(class) => self.begin_after(&class, signature, ask),
            Begun::Running(class) => Ok(Stage::Definition {
                class,
                signature,
                latest: Instant::now() + self.definition_within,
            }),
        }
    }

    /// Keeps the definition, and goes on.
    fn begin_after(
        &self,
        class: &ClassObject,
        signature: Signature,
        ask: &Ask,
    ) -> Result<Stage, Broken> {
        let input = class.method(signature.method.name);
        let input = input.map_err(Broken::harmless)?.map(Rc::new);
        let mut inputs = self.inputs.borrow_mut();
        inputs.insert(signature.name(), input.clone());
        drop(inputs);
        self.begin_defined(ask, input.as_deref())
    }

    fn begin_defined(&self, ask: &Ask, definition: Option<&ClassObject>) -> Result<Stage, Broken> {
        match ask {
            Ask::Describe(_) => {
                let names = definition.map_or(Ok(BTreeSet::new()), ClassObject::names);
                Ok(Stage::Described(names.map_err(Broken::harmless)?))
            }
            Ask::Run(call) => {
                let input = input(call, definition).map_err(Broken::harmless)?;
                self.run(call, input.as_ref()).map_err(Broken::sending)
            }
            Ask::Find(_) | Ask::FindWhole(_) => {
                let fault = Cause::Malformed("a query that went on as a method".to_owned());
                Err(Broken::for_good(fault.into()))
            }
        }
    }

    fn run(&self, call: &Call, input: Option<&ClassObject>) -> Called<Stage> {
        let begun = self
            .services
            .begin(&call.path, call.signature.method.name, input)?;
        Ok(match begun {
            Begun::Ended(output) => Stage::Ended(Some(output)),
            Begun::Running(running) => Stage::Method(running),
        })
    }
}

/// A call that has begun, and what it goes over.
pub(super) struct Running {
    stage: Stage,
    connection: Rc<Connection>,
}

enum Stage {
    /// The class's definition is on its way; nothing else was sent.
    Definition {
        class: CallResult,
        signature: Signature,
        latest: Instant,
    },
    /// It is here. That is a stage, so that whoever waits is asked again before anything is sent.
    Defined {
        class: ClassObject,
        signature: Signature,
    },
    Described(BTreeSet<String>),
    /// A method that had ended when it had begun; taken once.
    Ended(Option<ClassObject>),
    Method(CallResult),
    Query {
        answers: Enumerator,
        found: Vec<ClassObject>,
    },
}

impl Running {
    /// A method is never repeated here: it has been sent, and a code that says otherwise is that of the
    /// question for its end.
    fn advance(&mut self, ask: &Ask, wait: i32) -> Result<Option<Answer>, Broken> {
        match &mut self.stage {
            Stage::Definition {
                class,
                signature,
                latest,
            } => {
                let signature = *signature;
                match class.end(wait).map_err(Broken::harmless)? {
                    Progress::Ended(class) => self.stage = Stage::Defined { class, signature },
                    Progress::NotYet if Instant::now() < *latest => {}
                    Progress::NotYet => return Err(Broken::for_good(Cause::TimedOut.into())),
                }
                Ok(None)
            }
            Stage::Defined { class, signature } => {
                self.stage = self.connection.begin_after(class, *signature, ask)?;
                Ok(None)
            }
            Stage::Described(names) => Ok(Some(Answer::Described(std::mem::take(names)))),
            Stage::Ended(output) => taken(ask, output).map(Some).map_err(Broken::for_good),
            Stage::Method(running) => match running.end(wait).map_err(Broken::for_good)? {
                Progress::Ended(output) => {
                    let outcome = ended(ask, &output).map_err(Broken::for_good);
                    outcome.map(Some)
                }
                Progress::NotYet => Ok(None),
            },
            Stage::Query { answers, found } => {
                match answers.next(wait, found).map_err(Broken::harmless)? {
                    Progress::Ended(()) => {
                        instances(ask, found).map(Some).map_err(Broken::harmless)
                    }
                    Progress::NotYet => Ok(None),
                }
            }
        }
    }
}

fn taken(ask: &Ask, output: &mut Option<ClassObject>) -> Called<Answer> {
    let output = output.take();
    let output = output.ok_or_else(|| Cause::Malformed("asked again after its end".to_owned()))?;
    ended(ask, &output)
}

fn instances(ask: &Ask, found: &[ClassObject]) -> Called<Answer> {
    let instances: Called<_> = match ask {
        Ask::Find(selection) => found
            .iter()
            .map(|object| object.instance(&selection.properties))
            .collect(),
        Ask::FindWhole(selection) => found
            .iter()
            .map(|object| object.whole(&selection.properties))
            .collect(),
        Ask::Describe(_) | Ask::Run(_) => Ok(Vec::new()),
    };
    instances.map(Answer::Found)
}

fn ended(ask: &Ask, output: &ClassObject) -> Called<Answer> {
    let Ask::Run(call) = ask else {
        return Err(Cause::Malformed("a query that ended as a method".to_owned()).into());
    };
    outcome(call, output).map(Answer::Ended)
}
