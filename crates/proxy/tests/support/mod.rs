//! A server on a simulated node, and a client of it.

#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client::{Client, ClientCause, ClientError};
use node::{Node, Options};
use os::Os;
use os_sim::HardwareControl;
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint, Server, ServerOptions};
use wincsi_proxy::flags::Config;
use wincsi_proxy::paths::WorkingDirs;
use wincsi_proxy::serve::{self, RunningServer, StartError};
use wincsi_proxy::{Middleware, PipeOperations, groups};
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::volume::v1 as volume;

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// On Windows all servers of a machine have the same pipes, so there is one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Waits until no other test of this program serves.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The service of each group, on a node of the test's.
pub(crate) fn operations(os: Os, dirs: WorkingDirs) -> PipeOperations {
    PipeOperations::new(Node::new(os, Options::default()), dirs)
}

/// Serves them in this folder.
pub(crate) fn serve_on(
    operations: PipeOperations,
    sockets: &Path,
    options: ServerOptions,
) -> Server {
    let middleware = Middleware::open(&Config::default()).expect("nothing to open");
    let services = groups::registry().into_services(&Arc::new(operations), &middleware);
    let endpoints = services.into_iter().map(|(group, service)| {
        let endpoint = Endpoint::local(sockets, &group.pipe_name());
        (endpoint.expect("a group's name"), service)
    });
    Server::bind(endpoints.collect(), options).expect("the endpoints are free")
}

/// The id of a new, formatted volume on disk 1, made by calls.
pub(crate) fn formatted_volume(client: &Client) -> String {
    let volume_id = raw_volume(client);
    ask::<volume::rpc::FormatVolume>(
        client,
        &volume::FormatVolumeRequest {
            volume_id: volume_id.clone(),
        },
    );
    volume_id
}

/// The same of a volume that is not formatted.
pub(crate) fn raw_volume(client: &Client) -> String {
    let disk_number = 1;
    ask::<disk::rpc::Rescan>(client, &disk::RescanRequest {});
    ask::<disk::rpc::PartitionDisk>(client, &disk::PartitionDiskRequest { disk_number });
    let request = volume::ListVolumesOnDiskRequest {
        disk_number,
        partition_number: 0,
    };
    let listed = ask::<volume::rpc::ListVolumesOnDisk>(client, &request);
    let [volume_id] = <[String; 1]>::try_from(listed.volume_ids).expect("one volume");
    volume_id
}

/// The answer to a call, which must succeed.
pub(crate) fn ask<R: Rpc>(client: &Client, request: &R::Request) -> R::Response {
    let answer = client.call::<R>(request, TIMEOUT);
    answer.unwrap_or_else(|error| panic!("{error}"))
}

/// A server on a new simulated node, in a folder of its own.
pub(crate) struct Proxy {
    pub(crate) server: RunningServer,
    pub(crate) folder: TempDir,
    pub(crate) client: Client,
    _turn: MutexGuard<'static, ()>,
}

impl Proxy {
    pub(crate) fn start() -> Self {
        Self::start_on(|_| {})
    }

    /// On the node that `make` creates in a folder.
    pub(crate) fn start_on(make: impl FnOnce(&Path)) -> Self {
        Self::start_with(|config| make(config.simulate.as_deref().expect("a folder")))
    }

    /// With these changes of its flags.
    pub(crate) fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let turn = turn();
        let (folder, config) = configured(change);
        let server = serve::start(&config).expect("a simulated node can be served");
        Self {
            server,
            folder,
            client: Client::local(&config.listen),
            _turn: turn,
        }
    }

    /// Why a server does not start.
    pub(crate) fn start_error(change: impl FnOnce(&mut Config)) -> StartError {
        let _turn = turn();
        let (_folder, config) = configured(change);
        match serve::start(&config) {
            Ok(_) => panic!("it started"),
            Err(error) => error,
        }
    }

    pub(crate) fn sockets(&self) -> PathBuf {
        self.folder.path().join("sockets")
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
        ask::<R>(&self.client, request)
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
        let endpoint =
            Endpoint::local(&self.sockets(), &group.pipe_name()).expect("a group's name");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
        match channel.call(method, message, Instant::now() + TIMEOUT) {
            Err(CallError::Status(status)) => (status.code, status.message),
            other => panic!("{other:?}"),
        }
    }
}

fn configured(change: impl FnOnce(&mut Config)) -> (TempDir, Config) {
    let folder = TempDir::new().expect("a temporary folder");
    let mut config = Config {
        listen: folder.path().join("sockets"),
        simulate: Some(folder.path().join("node")),
        ..Config::default()
    };
    change(&mut config);
    (folder, config)
}
