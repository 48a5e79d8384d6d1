//! The pages of a server without file descriptors. One test, since the limit is the whole process's.

#![cfg(unix)]
#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use program::log;
use rustix::net::{self, AddressFamily, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use transport::{CallError, Channel, ChannelOptions, Code};
use wincsi_proxy::flags::{self, Config, Invocation};
use wincsi_proxy::serve;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The interval of log lines about failed accepts of the pages.
const TELLING: Duration = Duration::from_secs(10);

/// A method of no service: its answer needs no descriptor.
const NOTHING: &str = "/v1.Disk/Nothing";

/// Guards: P36
#[test]
fn pages_without_descriptors_end_nothing_and_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    log::start(&config.log).expect("a log file");
    let mut log = Log::open(&folder.path().join("log"));
    let server = serve::start(&config).expect("a simulated node can be served");
    let address = server.metrics_address().expect("it is served");
    let endpoint = transport::Endpoint::local(&config.listen, &wire::disk::v1::GROUP.pipe_name())
        .expect("a name");
    let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
    assert_answers(&channel);

    let [first, second] = [(); 2].map(|()| socket());
    let files = all_descriptors();
    let start = Instant::now();
    // Linux takes the descriptor of the next connection before it waits for it. The first client gets it, and keeps it
    // by its silence; after an answer it might be free again before the page listens on.
    let _silent = connected(first, address);
    let mut waiting = connected(second, address);
    while log.count("a client is turned away") == 0 {
        assert!(start.elapsed() < TIMEOUT, "nothing is told");
        thread::yield_now();
    }
    for _ in 0..100 {
        assert_answers(&channel);
    }
    drop(files);
    write!(waiting, "GET /metrics HTTP/1.0\r\n\r\n").expect("sent");
    let mut page = String::new();
    waiting.read_to_string(&mut page).expect("a page at last");
    assert!(page.contains(" 200 OK"), "{page}");
    let lines = u64::try_from(log.count("a client is turned away")).expect("few");
    let most = 1 + start.elapsed().as_secs() / TELLING.as_secs();
    assert!(lines <= most, "{lines} lines");
}

/// A client's end, made while there are descriptors.
fn socket() -> OwnedFd {
    net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket")
}

fn connected(socket: OwnedFd, address: SocketAddr) -> TcpStream {
    net::connect(&socket, &address).expect("it listens");
    TcpStream::from(socket)
}

fn config(folder: &Path) -> Config {
    let path = |name: &str| folder.join(name).display().to_string();
    let line = [
        String::from("-metrics-bind-address=127.0.0.1:0"),
        format!("-log_file={}", path("log")),
        String::from("-logtostderr=false"),
        format!("-listen={}", path("sockets")),
        format!("-simulate={}", path("node")),
    ];
    match flags::parse(line) {
        Ok(Invocation::Serve(config)) => *config,
        other => panic!("{other:?}"),
    }
}

fn assert_answers(channel: &Channel) {
    match channel.call(NOTHING, &[], Instant::now() + TIMEOUT) {
        Err(CallError::Status(status)) => assert_eq!(status.code, Code::Unimplemented),
        other => panic!("{other:?}"),
    }
}

/// The log, opened while files can be opened.
struct Log {
    file: File,
    text: String,
}

impl Log {
    fn open(path: &Path) -> Self {
        Self {
            file: File::open(path).expect("the log's file"),
            text: String::new(),
        }
    }

    /// How many lines have this text by now.
    fn count(&mut self, text: &str) -> usize {
        self.file.read_to_string(&mut self.text).expect("it reads");
        self.text.lines().filter(|line| line.contains(text)).count()
    }
}

/// Takes all descriptors, after lowering their limit.
fn all_descriptors() -> Vec<File> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let few = Rlimit {
        current: Some(256),
        maximum,
    };
    setrlimit(Resource::Nofile, few).expect("less is allowed");
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }
    files
}
