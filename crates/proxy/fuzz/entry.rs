//! The body of each fuzz target; the tests replay `seeds/` through the same functions.
#![allow(dead_code, reason = "each target uses one of them")]

#[path = "audited.rs"]
mod audited;

use std::fs::{self, File};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use node::{Node, Options};
use os_sim::{ClockMode, Inventory, NodeSpec, SimNode};
use program::http::Request;
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Code, Server, ServerOptions};
use wincsi_proxy::flags::{self, Config};
use wincsi_proxy::paths::WorkingDirs;
use wincsi_proxy::{Middleware, PipeOperations, groups};

/// A command line, its arguments apart by NULs. It is understood or refused in one line or the usage.
pub(crate) fn flags(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let arguments = text.split('\0').map(str::to_owned);
    if let Err(refused) = flags::parse(arguments) {
        assert!(!refused.to_string().is_empty());
    }
}

/// A policy file. It is understood as a whole or refused with a reason.
pub(crate) fn policy(data: &[u8]) {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| TempDir::new().expect("a folder"));
    let path = folder.path().join("policy.toml");
    fs::write(&path, data).expect("it can be written");
    let config = Config {
        policy_file: Some(path),
        ..Config::default()
    };
    if let Err(refused) = Middleware::open(&config) {
        assert!(!refused.to_string().is_empty());
    }
}

/// The bytes of a client of the pages. A request that parses is complete, and later bytes change nothing.
pub(crate) fn http(data: &[u8]) {
    let request = Request::parse(data);
    if let Some(request) = &request {
        assert!(Request::is_complete(data));
        assert!(!request.path().contains('?') && !request.method().is_empty());
        let more = [data, b"\r\nA: b\r\n\r\n"].concat();
        assert_eq!(Request::parse(&more).as_ref(), Some(request));
    }
    if let Some((_, cut)) = data.split_last()
        && Request::is_complete(cut)
    {
        assert!(Request::is_complete(data));
    }
}

/// A request: its first byte is the method's place among all methods. It gets an answer, and so does an ordinary one
/// after it. For a changing method the audit log has a line, with the message's objects by its descriptor.
pub(crate) fn request(data: &[u8]) {
    let Some((&place, message)) = data.split_first() else {
        return;
    };
    let mut methods = wire::GROUPS
        .iter()
        .flat_map(|group| group.methods.iter().map(move |method| (group, method)));
    let Some((group, method)) = methods.nth(usize::from(place)) else {
        return;
    };
    let path = method.path;
    let served = served();
    let mut audit = served.audit.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = served.call(group, path, message);
    audited::check(&mut audit, (group, method), message);
    if let Err(code) = answer {
        assert!(
            matches!(code, Code::Unknown | Code::Internal),
            "{path}: {code:?}"
        );
    }
    let disks = &wire::disk::v1::GROUP;
    assert_eq!(
        served.call(disks, "/v1.Disk/ListDiskIDs", &[]),
        Ok(()),
        "after {path}"
    );
}

/// A server on a node in memory, for as long as the process lives.
struct Served {
    folder: TempDir,
    _server: Server,
    /// Its audit log, read up to the last call.
    audit: Mutex<File>,
}

fn served() -> &'static Served {
    static SERVED: OnceLock<Served> = OnceLock::new();
    SERVED.get_or_init(|| {
        let folder = TempDir::new().expect("a folder");
        let node = SimNode::in_memory(
            &NodeSpec::named("fuzz"),
            Inventory::of(2),
            ClockMode::Virtual,
        );
        let node = Node::new(node.expect("a node").os(), Options::default());
        let dirs = WorkingDirs::parse(vec![r"C:\var\lib\kubelet".into()]).expect("a path");
        let audit = folder.path().join("audit");
        let config = Config {
            audit_log: Some(audit.clone()),
            ..Config::default()
        };
        let middleware = Middleware::open(&config).expect("a file");
        let operations = Arc::new(PipeOperations::new(node, dirs));
        let services = groups::registry().into_services(&operations, &middleware);
        let endpoints = services.into_iter().map(|(group, service)| {
            let endpoint = transport::Endpoint::local(folder.path(), &group.pipe_name())
                .expect("a group's name");
            (endpoint, service)
        });
        let server = Server::bind(endpoints.collect(), ServerOptions::default());
        Served {
            _server: server.expect("the endpoints are free"),
            audit: Mutex::new(File::open(audit).expect("it was made")),
            folder,
        }
    })
}

impl Served {
    fn call(&self, group: &wire::Group, path: &str, message: &[u8]) -> Result<(), Code> {
        let endpoint = transport::Endpoint::local(self.folder.path(), &group.pipe_name())
            .expect("a group's name");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("served");
        match channel.call(path, message, Instant::now() + Duration::from_secs(20)) {
            Ok(_) => Ok(()),
            Err(CallError::Status(status)) => Err(status.code),
            Err(error) => panic!("{path}: {error}"),
        }
    }
}
