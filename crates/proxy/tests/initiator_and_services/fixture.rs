//! A server on a simulated node with an iSCSI server nearby and services of its own.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{Client, ClientCause, ClientError};
use os_sim::iscsi::IscsiControl;
use os_sim::{ClockMode, NodeSpec, ServiceSpec, SimNode, Start, demo};
use tempfile::TempDir;
use transport::{CallError, Code};
use wincsi_proxy::flags::Config;
use wincsi_proxy::serve::{self, RunningServer};
use wire::Rpc;

pub(crate) use os_sim::demo::{
    ISCSI_ADDRESS as ADDRESS, ISCSI_GUARDED_TARGET as GUARDED, ISCSI_PROOF as PROOF,
    ISCSI_SECRET as SECRET, ISCSI_TARGET as OPEN,
};
pub(crate) const SERIAL: &str = "VMware-56 4d 01 02 03 04 05 06-07 08 09 0a 0b 0c 0d 0e";

const TIMEOUT: Duration = Duration::from_secs(60);

/// On Windows all servers of a machine have the same pipes, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// A server on a new simulated node, in a folder of its own.
pub(crate) struct InitiatorFixture {
    _server: RunningServer,
    _turn: MutexGuard<'static, ()>,
    folder: TempDir,
    client: Client,
}

impl InitiatorFixture {
    pub(crate) fn new() -> Self {
        Self::on(&spec())
    }

    pub(crate) fn on(spec: &NodeSpec) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().expect("a temporary folder");
        let node = folder.path().join("node");
        prepare(&node, spec);
        let config = Config {
            listen: folder.path().join("sockets"),
            simulate: Some(node),
            ..Config::default()
        };
        let server = serve::start(&config).expect("a simulated node can be served");
        let client = Client::local(&config.listen);
        Self {
            _server: server,
            _turn: turn,
            folder,
            client,
        }
    }

    /// The servers around the node.
    pub(crate) fn servers(&self) -> IscsiControl {
        IscsiControl::at(self.folder.path().join("node"))
    }

    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, ClientError> {
        self.client.call::<R>(request, TIMEOUT)
    }

    /// The answer to a call; it must succeed.
    pub(crate) fn answer<R: Rpc>(&self, request: &R::Request) -> R::Response {
        self.call::<R>(request)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The text of a failed call with code `Unknown`.
    pub(crate) fn refusal<R: Rpc>(&self, request: &R::Request) -> String {
        let error = self.call::<R>(request).expect_err("the call must fail");
        match error.cause {
            ClientCause::Call(CallError::Status(status)) => {
                assert_eq!(status.code, Code::Unknown, "{}", status.message);
                status.message
            }
            other => panic!("{other}"),
        }
    }
}

/// The demo's node with this specification, from its next start on.
fn prepare(node: &Path, spec: &NodeSpec) {
    let demo = demo::create(node, ClockMode::Real).expect("the demo's node");
    demo.kill();
    drop(demo);
    let text = toml::to_string(spec).expect("a node's specification");
    fs::write(node.join("node.toml"), text).expect("it can be written");
    let node = SimNode::open(node, ClockMode::Real).expect("it opens");
    node.reboot().expect("it starts");
    node.kill();
}

/// A node whose initiator service starts by itself.
pub(crate) fn spec() -> NodeSpec {
    let mut spec = NodeSpec {
        serial: format!(" {SERIAL}  "),
        ..NodeSpec::named("node-1")
    };
    for service in &mut spec.service {
        if service.name == "MSiSCSI" {
            service.start = Start::Automatic;
        }
    }
    spec.service.push(service("base", &[]));
    spec.service.push(service("left", &["base"]));
    spec.service.push(service("right", &["base"]));
    spec.service.push(service("top", &["left", "right"]));
    spec
}

fn service(name: &str, depends_on: &[&str]) -> ServiceSpec {
    ServiceSpec {
        name: name.to_owned(),
        display_name: format!("The {name}"),
        start: Start::Automatic,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        dies_at_start: false,
    }
}
