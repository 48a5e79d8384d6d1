use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use os::schema::Namespace;
use os::{Hresult, Os};
use os_windows::{Connect, MethodCall};
use windows::Win32::System::Wmi::IWbemServices;
use windows::core::{Error, HRESULT};

use crate::hang::Gate;
use crate::held::HeldCount;
use crate::{Hang, Hanging, On, Trouble, com};

/// WMI of a node with another implementation's providers. Cheap to clone: all clones are the same.
#[derive(Clone)]
pub struct InProcessWmi(Arc<Shared>);

/// Which of `ExecMethod`'s two places gets a method's out-parameters. It decides how the client calls
/// ([`Connect::methods`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutParameters {
    /// In `ppOutParams`, when the method has ended: a synchronous call.
    Parameters,
    /// In an `IWbemCallResult`, while the method runs, as documented for
    /// `WBEM_FLAG_RETURN_IMMEDIATELY`.
    Result,
}

/// A client's settings of a proxy by `CoSetProxyBlanket`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blanket {
    /// The interface of the pointer passed, or `IUnknown` if it was not the one for calls.
    pub of: &'static str,
    /// `RPC_C_AUTHN_LEVEL_...`
    pub authentication: u32,
    /// `RPC_C_IMP_LEVEL_...`
    pub impersonation: u32,
}

/// Calls of `IWbemServices`: on Windows each is a round trip to WMI's own process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossing {
    /// The number of their connection, in the order of creation.
    pub connection: usize,
    /// `ExecMethod`, `ExecQuery` or `GetObject`.
    pub call: &'static str,
    /// The class of the definition, `class.method` as it was called; nothing for a query.
    pub of: String,
    pub times: u64,
}

impl InProcessWmi {
    /// Over the storage, SMB and iSCSI providers of this node.
    #[must_use]
    pub fn over(os: Os, place: OutParameters) -> Self {
        Self(Arc::new(Shared {
            os,
            place,
            held: HeldCount::default(),
            log: Mutex::default(),
        }))
    }

    /// Applies to the next such call without a trouble yet.
    pub fn inject(&self, on: On, trouble: Trouble) {
        self.0.log().troubles.push_back((on, trouble));
    }

    /// Such calls hang from now on, as long as the returned value lives.
    #[must_use]
    pub fn hang(&self, what: Hanging) -> Hang {
        let (hang, gate) = Hang::new();
        let mut log = self.0.log();
        log.gates.retain(|(_, gate)| !gate.is_open());
        log.gates.push((what, gate));
        hang
    }

    /// WMI's service ends and restarts: each connection made so far is dead, with its calls, and returns this code.
    pub fn restart(&self, code: Hresult) {
        for line in self.0.log().lines.drain(..) {
            if let Some(line) = line.upgrade() {
                line.die(code);
            }
        }
    }

    /// The connections made so far, dead ones too.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.log().connections
    }

    /// The calls since the last query, failed ones too.
    #[must_use]
    pub fn take_crossings(&self) -> Vec<Crossing> {
        let crossings = mem::take(&mut self.0.log().crossings).into_iter();
        let crossing = |((connection, call, of), times)| Crossing {
            connection,
            call,
            of,
            times,
        };
        crossings.map(crossing).collect()
    }

    /// The COM objects still held, connections included.
    #[must_use]
    pub fn objects(&self) -> usize {
        self.0.held.count()
    }

    /// Waits until at most `most` COM objects are held, for at most `patience`: a thread releases after it has
    /// answered.
    #[must_use]
    pub fn wait_for_objects(&self, most: usize, patience: Duration) -> bool {
        self.0.held.wait_for(most, patience)
    }

    /// The kinds of protection requested, each once.
    #[must_use]
    pub fn blankets(&self) -> Vec<Blanket> {
        self.0.log().blankets.clone()
    }
}

impl Connect for InProcessWmi {
    fn connect(&self, namespace: Namespace) -> windows::core::Result<IWbemServices> {
        if namespace == Namespace::CimV2 {
            let code = Hresult::WBEM_E_INVALID_NAMESPACE.0.cast_signed();
            return Err(Error::from_hresult(HRESULT(code)));
        }
        self.0.hang(Hanging::Connection(namespace));
        let mut log = self.0.log();
        log.connections += 1;
        let line = Arc::new(Line::of(log.connections));
        log.lines.retain(|line| line.strong_count() > 0);
        log.lines.push(Arc::downgrade(&line));
        drop(log);
        Ok(com::services(Arc::clone(&self.0), line, namespace))
    }

    fn methods(&self) -> MethodCall {
        match self.0.place {
            OutParameters::Parameters => MethodCall::Synchronous,
            OutParameters::Result => MethodCall::Semisynchronous,
        }
    }
}

/// State shared by all connections.
pub(crate) struct Shared {
    pub(crate) os: Os,
    place: OutParameters,
    pub(crate) held: HeldCount,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    blankets: Vec<Blanket>,
    connections: usize,
    crossings: BTreeMap<(usize, &'static str, String), u64>,
    gates: Vec<(Hanging, Arc<Gate>)>,
    lines: Vec<Weak<Line>>,
    troubles: VecDeque<(On, Trouble)>,
}

impl Shared {
    /// The trouble of this call.
    pub(crate) fn trouble(&self, on: On) -> Option<Trouble> {
        let mut log = self.log();
        let at = log.troubles.iter().position(|(it, _)| *it == on)?;
        log.troubles.remove(at).map(|(_, trouble)| trouble)
    }

    /// Returns when nothing makes such a call hang any more.
    pub(crate) fn hang(&self, what: Hanging) {
        let gates = self.log().gates.clone();
        let at = gates.into_iter().filter(|(it, _)| *it == what);
        at.for_each(|(_, gate)| gate.pass());
    }

    pub(crate) fn crossed(&self, line: &Line, call: &'static str, of: String) {
        let mut log = self.log();
        *log.crossings.entry((line.number, call, of)).or_default() += 1;
    }

    pub(crate) fn protected(&self, blanket: Blanket) {
        let mut log = self.log();
        if !log.blankets.contains(&blanket) {
            log.blankets.push(blanket);
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Line {
    number: usize,
    dead: Mutex<Option<Hresult>>,
}

impl Line {
    fn of(number: usize) -> Self {
        let dead = Mutex::default();
        Self { number, dead }
    }

    /// The code of its death.
    pub(crate) fn dead(&self) -> Option<Hresult> {
        *self.lock()
    }

    pub(crate) fn die(&self, code: Hresult) {
        self.lock().get_or_insert(code);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Hresult>> {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
