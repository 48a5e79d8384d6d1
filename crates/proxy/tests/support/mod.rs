//! A server on a simulated node, and a client of it.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client::{Client, ClientCause, ClientError};
use os_sim::HardwareControl;
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Code};
use wincsi_proxy::flags::Config;
use wincsi_proxy::serve::{self, RunningServer};
use wire::Rpc;

const TIMEOUT: Duration = Duration::from_secs(60);

/// On Windows all servers of a machine have the same pipes, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test of this program serves.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server on a new simulated node, in a folder of its own.
pub(crate) struct Proxy {
    _server: RunningServer,
    _turn: MutexGuard<'static, ()>,
    folder: TempDir,
    client: Client,
}

impl Proxy {
    pub(crate) fn start() -> Self {
        Self::start_on(|_| {})
    }

    /// On the node that `make` creates in a folder.
    pub(crate) fn start_on(make: impl FnOnce(&Path)) -> Self {
        let turn = turn();
        let folder = TempDir::new().expect("a temporary folder");
        make(&folder.path().join("node"));
        let config = Config {
            listen: folder.path().join("sockets"),
            simulate: Some(folder.path().join("node")),
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

    /// The simulated node's folder.
    pub(crate) fn node(&self) -> PathBuf {
        self.folder.path().join("node")
    }

    /// The hand at the node's hardware.
    pub(crate) fn hardware(&self) -> HardwareControl {
        HardwareControl::at(self.node())
    }

    /// Has every call of this operation of the system fail from now on.
    pub(crate) fn break_operation(&self, operation: &str, win32: u32) {
        let effect = format!("effect = {{ fail = {{ win32 = {win32} }} }}");
        let rule = format!("[[fault]]\noperation = \"{operation}\"\n{effect}\n");
        let script = self.node().join("faults.toml");
        fs::write(script, rule).expect("the node's folder");
    }

    /// Puts a file of so many bytes on a volume.
    pub(crate) fn fill(&self, volume_id: &str, length: u64) {
        let guid = volume_id.trim_start_matches(r"\\?\Volume{");
        let guid = guid.trim_end_matches(r"}\");
        let files = self.node().join("volumes").join(guid);
        let file = File::create(files.join("filling")).expect("the volume's files");
        file.set_len(length).expect("there is room");
    }

    /// The answer to a call; it must succeed.
    pub(crate) fn answer<R: Rpc>(&self, request: &R::Request) -> R::Response {
        self.call::<R>(request)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The text of a failure; its code must be csi-proxy's.
    pub(crate) fn complaint<R: Rpc>(&self, request: &R::Request) -> String {
        self.text::<R>(request).expect_err("the call must fail")
    }

    /// The answer, or the text of a failure.
    pub(crate) fn text<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, String> {
        match self.call::<R>(request) {
            Ok(answer) => Ok(answer),
            Err(ClientError {
                cause: ClientCause::Call(CallError::Status(status)),
                ..
            }) if status.code == Code::Unknown => Err(status.message),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, ClientError> {
        self.client.call::<R>(request, TIMEOUT)
    }

    /// The status of a failed call.
    pub(crate) fn refusal<R: Rpc>(&self, request: &R::Request) -> (Code, String) {
        let error = self.call::<R>(request).expect_err("the call must fail");
        match error.cause {
            ClientCause::Call(CallError::Status(status)) => (status.code, status.message),
            other => panic!("{other}"),
        }
    }

    pub(crate) fn raw(&self, group: &wire::Group, method: &str, message: &[u8]) -> (Code, String) {
        let sockets: &Path = &self.folder.path().join("sockets");
        let endpoint =
            transport::Endpoint::local(sockets, &group.pipe_name()).expect("a group's name");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
        match channel.call(method, message, Instant::now() + TIMEOUT) {
            Err(CallError::Status(status)) => (status.code, status.message),
            other => panic!("{other:?}"),
        }
    }
}
