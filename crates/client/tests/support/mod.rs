//! Proxies with answers from a test: a script for each group and version.

#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    unused_imports,
    unused_macros,
    reason = "shared by several tests"
)]

pub mod heard;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use os::Deadline;
use prost::Message;
use tempfile::TempDir;
use transport::{Call, Endpoint, EndpointError, Server, ServerOptions, Service, Status};
use wincsi_client::{Node, Options};
use wire::{Group, Rpc};

/// Long enough for anything that is going to happen at all.
pub const TIMEOUT: Duration = Duration::from_secs(60);

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// Where the proxies of one test listen, one after the other.
pub struct ProxyFolder {
    folder: TempDir,
    prefix: String,
}

impl ProxyFolder {
    pub fn new() -> Self {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Self {
            folder: tempfile::tempdir().unwrap(),
            prefix: format!("client-test-{}-{serial}", std::process::id()),
        }
    }

    /// A proxy with these groups and versions.
    pub fn serve(&self, scripts: impl IntoIterator<Item = Script>) -> Server {
        let services = scripts.into_iter().map(|script| {
            let service: Arc<dyn Service> = Arc::new(script.methods);
            (self.endpoints()(script.group).unwrap(), service)
        });
        let mut options = ServerOptions::default();
        options.metadata = Some(wire::FORMAT_GUARD);
        Server::bind(services.collect(), options).unwrap()
    }

    pub fn node(&self) -> Node {
        self.node_with(options())
    }

    pub fn node_with(&self, options: Options) -> Node {
        Node::at(self.endpoints(), options)
    }

    pub fn endpoint(&self, group: &Group) -> Result<Endpoint, EndpointError> {
        self.endpoints()(group)
    }

    fn endpoints(
        &self,
    ) -> impl Fn(&Group) -> Result<Endpoint, EndpointError> + Send + Sync + use<> {
        let folder = self.folder.path().to_owned();
        let prefix = self.prefix.clone();
        move |group| {
            let name = format!("{prefix}-{}-{}", group.name, group.version);
            Endpoint::local(&folder, &name)
        }
    }
}

/// Knowledge of a proxy does not expire during a test.
pub fn options() -> Options {
    let mut options = Options::default();
    options.look_again = Duration::from_secs(3600);
    options.patience = TIMEOUT;
    options
}

/// One group and version, with some of its methods.
pub struct Script {
    group: &'static Group,
    methods: Methods,
}

type Method = Box<dyn Fn(&Call) -> Result<Vec<u8>, Status> + Send + Sync>;

#[derive(Default)]
struct Methods(BTreeMap<&'static str, Method>);

impl Script {
    pub fn of(group: &'static Group) -> Self {
        Self {
            group,
            methods: Methods::default(),
        }
    }

    /// Answers an RPC of this group and version.
    pub fn on<R: Rpc>(
        self,
        answer: impl Fn(R::Request) -> Result<R::Response, Status> + Send + Sync + 'static,
    ) -> Self {
        self.on_call::<R>(move |call| {
            let request = R::Request::decode(call.message.as_ref()).unwrap();
            Ok(answer(request)?.encode_to_vec())
        })
    }

    /// Answers an RPC with bytes.
    pub fn on_call<R: Rpc>(
        mut self,
        answer: impl Fn(&Call) -> Result<Vec<u8>, Status> + Send + Sync + 'static,
    ) -> Self {
        assert_eq!(self.group, R::GROUP);
        self.methods.0.insert(R::PATH, Box::new(answer));
        self
    }
}

impl Service for Methods {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        match self.0.get(call.method.as_str()) {
            Some(answer) => answer(call),
            None => Err(Status::unimplemented(&call.method)),
        }
    }
}

pub fn soon(node: &impl node::api::NodeApi) -> Deadline {
    node.deadline(TIMEOUT)
}

/// Counts, and can be waited for.
#[derive(Clone, Default)]
pub struct Counter(Arc<(Mutex<usize>, Condvar)>);

impl Counter {
    pub fn add(&self) {
        *self.0.0.lock().unwrap() += 1;
        self.0.1.notify_all();
    }

    pub fn count(&self) -> usize {
        *self.0.0.lock().unwrap()
    }

    pub fn wait_for(&self, count: usize) {
        let guard = self.0.0.lock().unwrap();
        let (_guard, timeout) = self
            .0
            .1
            .wait_timeout_while(guard, TIMEOUT, |now| *now < count)
            .unwrap();
        assert!(!timeout.timed_out(), "it never came to {count}");
    }
}
