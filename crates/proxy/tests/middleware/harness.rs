//! A server on a new simulated node, with a test's flags.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use serde_json::Value;
use transport::{CallError, Channel, ChannelOptions};
use wire::filesystem::v1 as filesystem;

pub(crate) use crate::support::Proxy;

use crate::support::TIMEOUT;

/// The sockets' folder, for a test started as another process.
const SOCKETS: &str = "WINCSI_TEST_SOCKETS";

/// The sockets of the server to call, in a process started by a test.
pub(crate) fn sockets_of_another_process() -> Option<PathBuf> {
    env::var_os(SOCKETS).map(PathBuf::from)
}

impl Proxy {
    /// Makes a call with empty fields, and waits for any answer.
    pub(crate) fn call_empty(&self, group: &wire::Group, method: &str) {
        let endpoint = transport::Endpoint::local(&self.sockets(), &group.pipe_name())
            .expect("a group's name");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
        match channel.call(method, &[], Instant::now() + TIMEOUT) {
            Ok(_) | Err(CallError::Status(_)) => {}
            Err(error) => panic!("{method}: {error}"),
        }
    }

    /// Starts a test of this program as another process, where [`sockets_of_another_process`] returns this server's.
    pub(crate) fn have_another_process_run(&self, test: &str) -> Child {
        Command::new(env::current_exe().expect("this program"))
            .args([test, "--exact"])
            .env(SOCKETS, self.sockets())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts")
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        let request = filesystem::PathExistsRequest {
            path: path.to_owned(),
        };
        let answer = self.call::<filesystem::rpc::PathExists>(&request);
        answer.expect("the path is inside").exists
    }

    /// The status and body of a page.
    pub(crate) fn get(&self, address: Option<SocketAddr>, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(address.expect("it is served")).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).expect("a status");
        (status.parse().expect("a number"), body.to_owned())
    }

    pub(crate) fn audit_lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("audit.log")).expect("the log");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("an object"))
            .collect()
    }
}

pub(crate) fn mkdir(path: &str) -> filesystem::MkdirRequest {
    filesystem::MkdirRequest {
        path: path.to_owned(),
    }
}
