//! The one table: the handler of each method, by group and version.
//!
//! Groups, versions and methods come from [`wire::GROUPS`]; a handler is registered by its
//! [`wire::Rpc`] type, so it cannot stand under the wrong name. The server, the compatibility page
//! and the tests all read this table.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};

use node::Crowded;
use node::api::Condition;
use os::{Deadline, SystemText};
use program::escape;
use prost::Message;
use transport::{Call, Code, Service, Status};
use wire::{Group, Rpc};

use crate::condition::Conditioned;
use crate::middleware::MethodMiddleware;
use crate::operations::Checked;
use crate::{Middleware, PipeOperations, health};

/// The longest text of a failure, in bytes: it repeats the client's values, possibly megabytes.
const LONGEST: usize = 4 << 10;

/// The longest text of a failure in the log, in bytes: clients cause these lines as they like.
const LONGEST_LOGGED: usize = 512;

/// Handlers by group and method.
#[derive(Default)]
pub struct Registry {
    groups: BTreeMap<String, GroupMethods>,
}

impl Registry {
    /// Registers the handler of one RPC.
    pub(crate) fn on<R: Rpc>(
        &mut self,
        handler: impl Fn(&PipeOperations, R::Request, Deadline) -> Result<R::Response, HandlerError>
        + Send
        + Sync
        + 'static,
    ) {
        let group = self
            .groups
            .entry(R::GROUP.to_string())
            .or_insert_with(|| GroupMethods {
                group: R::GROUP,
                handlers: BTreeMap::new(),
            });
        let erased: Handler =
            Box::new(move |operations, call| answer::<R>(&handler, operations, call));
        group.handlers.insert(R::PATH, erased);
    }

    /// The groups with a handler for at least one method, and their methods.
    pub fn methods(&self) -> impl Iterator<Item = (&'static Group, &'static str)> {
        self.groups
            .values()
            .flat_map(|methods| methods.handlers.keys().map(|path| (methods.group, *path)))
    }

    /// One service for each registered group and version.
    pub fn into_services(
        self,
        operations: &Arc<PipeOperations>,
        middleware: &Middleware,
    ) -> Vec<(&'static Group, Arc<dyn Service>)> {
        let strict = Arc::new(operations.strict());
        let operations = [operations, &strict];
        let service = |methods: GroupMethods| -> (&'static Group, Arc<dyn Service>) {
            let service = GroupService::new(methods, operations, middleware);
            (service.group, Arc::new(service))
        };
        self.groups.into_values().map(service).collect()
    }
}

/// Why a handler failed. Clients see code `Unknown` and the text, as from csi-proxy's handlers with their plain errors;
/// `ResourceExhausted` if too many calls wait, or run.
pub(crate) struct HandlerError {
    error: Box<dyn std::error::Error + Send + Sync>,
    condition: Option<Condition>,
}

impl<E: Conditioned> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self {
            condition: error.condition(),
            error: Box::new(error),
        }
    }
}

impl HandlerError {
    fn code(&self) -> Code {
        match Crowded::of(&*self.error) {
            Some(_) => Code::ResourceExhausted,
            None => Code::Unknown,
        }
    }

    /// The system's text, in its own language: for the log only, as clients match on their texts.
    fn system_text(&self) -> Option<&str> {
        SystemText::of(&*self.error).map(SystemText::as_str)
    }

    /// The client's status: csi-proxy's code and text, and for our clients the condition.
    fn status(&self, text: String) -> Status {
        let status = Status::new(self.code(), escape::bounded(text, LONGEST));
        match self.condition {
            Some(condition) => status.with_trailer(wire::CONDITION, condition.name()),
            None => status,
        }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

type Handler = Box<dyn Fn(&PipeOperations, &Call) -> Result<Vec<u8>, Status> + Send + Sync>;

struct GroupMethods {
    group: &'static Group,
    handlers: BTreeMap<&'static str, Handler>,
}

struct GroupService {
    group: &'static Group,
    methods: BTreeMap<&'static str, (MethodMiddleware, Handler)>,
    operations: Arc<PipeOperations>,
    /// For clients that request them.
    strict: Arc<PipeOperations>,
    /// Held during a check, so hung checks do not pile up.
    looking: Mutex<()>,
}

impl GroupService {
    fn new(
        registered: GroupMethods,
        [operations, strict]: [&Arc<PipeOperations>; 2],
        middleware: &Middleware,
    ) -> Self {
        let GroupMethods {
            group,
            mut handlers,
        } = registered;
        let methods = group.methods.iter().filter_map(|method| {
            let handler = handlers.remove(method.path)?;
            Some((method.path, (middleware.over(group, method), handler)))
        });
        Self {
            group,
            methods: methods.collect(),
            operations: Arc::clone(operations),
            strict: Arc::clone(strict),
            looking: Mutex::default(),
        }
    }

    /// The operations that the client's metadata selects. An unknown value is refused: the client wants more than the
    /// server's default.
    fn operations_for(&self, call: &Call) -> Result<&PipeOperations, Status> {
        match call.metadata.as_deref() {
            None => Ok(&self.operations),
            Some(wire::STRICT) => Ok(&self.strict),
            Some(_) => {
                let text = format!("{} is not {}", wire::FORMAT_GUARD, wire::STRICT);
                Err(Status::new(Code::InvalidArgument, text))
            }
        }
    }

    /// A check by the readiness page: nothing, or what the node lacks.
    fn check_readiness(&self, call: &Call) -> Result<Vec<u8>, Status> {
        let looking = self.looking.try_lock();
        if matches!(looking, Err(TryLockError::WouldBlock)) {
            let text = "the look from before has not ended";
            return Err(Status::new(Code::Unavailable, text));
        }
        let deadline = self.operations.deadline(call.deadline);
        match self.operations.check(self.group.name, deadline) {
            Ok(Checked::Good) => Ok(Vec::new()),
            Ok(Checked::Lacks(what)) => Ok(what.into_bytes()),
            Ok(Checked::NeedsRestart(why)) => Err(Status::new(Code::FailedPrecondition, why)),
            Err(cause) => {
                let text = escape::bounded(cause.to_string(), LONGEST);
                Err(Status::new(Code::Unknown, text))
            }
        }
    }
}

impl Service for GroupService {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        match self.methods.get(call.method.as_str()) {
            Some((method_middleware, handler)) => {
                method_middleware.run(call, || handler(self.operations_for(call)?, call))
            }
            None if is_own_look(call) => self.check_readiness(call),
            None => Err(unimplemented(self.group, call.method.as_str())),
        }
    }

    fn group(&self) -> &str {
        self.group.name
    }
}

/// Whether the readiness page of this process calls. For others the method does not exist: a check runs outside of the
/// policy, reports failures in the system's words, and blocks the page's own.
fn is_own_look(call: &Call) -> bool {
    call.method.as_str() == health::LOOK && call.peer.is_this_process()
}

fn answer<R: Rpc>(
    handler: &impl Fn(&PipeOperations, R::Request, Deadline) -> Result<R::Response, HandlerError>,
    operations: &PipeOperations,
    call: &Call,
) -> Result<Vec<u8>, Status> {
    let request =
        R::Request::decode(call.message.as_ref()).map_err(|error| undecodable::<R>(&error))?;
    let deadline = operations.deadline(call.deadline);
    tracing::debug!(method = R::PATH, client = ?call.peer.pid, "request");
    match handler(operations, request, deadline) {
        Ok(response) => Ok(response.encode_to_vec()),
        Err(failure) => {
            let system = failure.system_text();
            let system = system.filter(|text| !gives_away::<R>(call, text));
            let text = failure.to_string();
            let logged = escape::counted(&text, LONGEST_LOGGED);
            tracing::error!(method = R::PATH, client = ?call.peer.pid, system, "failed: {logged}");
            Err(failure.status(text))
        }
    }
}

/// Whether a text repeats a secret of the request. The content of the system's texts is not documented. The handler has
/// taken the secrets out of its own copy of the request.
fn gives_away<R: Rpc>(call: &Call, text: &str) -> bool {
    R::Request::decode(call.message.as_ref()).is_ok_and(|request| {
        let mut secrets = R::secrets(&request).into_iter();
        secrets.any(|secret| !secret.is_empty() && text.contains(secret))
    })
}

fn undecodable<R: Rpc>(error: &prost::DecodeError) -> Status {
    tracing::warn!(method = R::PATH, "request does not decode: {error}");
    Status::new(
        Code::Internal,
        format!("grpc: error unmarshalling request: {error}"),
    )
}

/// grpc-go's texts: they differ for a wrong service and a wrong method.
fn unimplemented(group: &Group, path: &str) -> Status {
    let (service, method) = path
        .trim_start_matches('/')
        .rsplit_once('/')
        .unwrap_or((path, ""));
    let ours = format!("{}.{}", group.package, group.service);
    let text = if service == ours {
        format!("unknown method {method} for service {service}")
    } else {
        format!("unknown service {service}")
    };
    Status::new(Code::Unimplemented, text)
}
