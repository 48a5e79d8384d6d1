//! Shared by the server's tests: endpoints, services, and misbehaving clients.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "shared by several tests"
)]

pub mod frames;
pub mod log;
pub mod multiplexed;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod os;

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use transport::{
    Call, CallError, Channel, ChannelOptions, Code, Endpoint, Owner, Server, ServerOptions,
    Service, Status, Waiting,
};

pub use os::{ROOT, allow_many_connections};

/// Long enough for any event that happens at all.
pub const TIMEOUT: Duration = Duration::from_secs(30);

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// Where the endpoints of a test are: by the system's own kind, or of tcp where it/tcp.rs has taken the test in.
pub struct Home(os::Home);

impl Home {
    pub fn new() -> Self {
        Self(os::Home::new())
    }

    pub fn endpoint(&self, name: &str) -> Endpoint {
        match is_over_tcp() {
            true => unused_port(),
            false => self.0.endpoint(name),
        }
    }
}

/// Whether these are the tests of tcp.
pub fn is_over_tcp() -> bool {
    module_path!().contains("::tcp::")
}

/// A port of an address of its own: there are so many that no two tests draw the same one, even in separate Wines.
fn unused_port() -> Endpoint {
    let drawn = RandomState::new().hash_one(SERIAL.fetch_add(1, Ordering::Relaxed));
    let [a, b, c, d, e, ..] = drawn.to_ne_bytes();
    let address = Ipv4Addr::new(127, a, b, c.clamp(2, 250));
    let port = 1024 + u16::from_ne_bytes([d, e]) % 30_000;
    Endpoint::tcp(SocketAddr::from((address, port))).unwrap()
}

/// A connection without gRPC.
#[derive(Debug)]
pub enum RawStream {
    Local(os::LocalStream),
    Tcp(TcpStream),
}

/// Opens an endpoint as simple programs do: one operation at a time.
pub fn open(endpoint: &Endpoint) -> RawStream {
    match endpoint {
        Endpoint::Tcp(address) => RawStream::Tcp(TcpStream::connect(address.get()).unwrap()),
        local => RawStream::Local(os::open(local)),
    }
}

impl RawStream {
    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Local(stream) => stream.try_clone().map(Self::Local),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }
}

impl Read for RawStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for RawStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Local(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The default options, for a server started by this test.
pub fn channel_options() -> ChannelOptions {
    let mut options = ChannelOptions::default();
    if is_over_tcp() {
        options.owner = Owner::Any;
    }
    options
}

/// A server with one endpoint; both end together.
pub struct Fixture {
    pub server: Server,
    pub endpoint: Endpoint,
    pub gate: Arc<Gate>,
    pub _home: Home,
}

impl Fixture {
    pub fn new(options: ServerOptions) -> Self {
        let home = Home::new();
        let endpoint = home.endpoint(&unique());
        let gate = Arc::new(Gate::default());
        let server = serve(&endpoint, &gate, options);
        Self {
            server,
            endpoint,
            gate,
            _home: home,
        }
    }

    pub fn channel(&self) -> Channel {
        connect(&self.endpoint)
    }

    pub fn raw(&self) -> RawStream {
        open(&self.endpoint)
    }
}

pub fn unique() -> String {
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    format!("transport-test-{}-{serial}", std::process::id())
}

pub fn serve(endpoint: &Endpoint, gate: &Arc<Gate>, options: ServerOptions) -> Server {
    Server::bind(vec![(endpoint.clone(), service(gate))], options).unwrap()
}

pub fn service(gate: &Arc<Gate>) -> Arc<dyn Service> {
    Arc::new(TestService {
        gate: Arc::clone(gate),
    })
}

pub fn connect(endpoint: &Endpoint) -> Channel {
    Channel::connect(endpoint.clone(), channel_options()).unwrap()
}

/// Calls and expects an answer.
pub fn call(channel: &Channel, method: &str, message: &[u8]) -> Vec<u8> {
    channel
        .call(method, message, Instant::now() + TIMEOUT)
        .unwrap()
}

/// Calls and expects a status.
pub fn call_err(channel: &Channel, method: &str, message: &[u8]) -> Status {
    match channel.call(method, message, Instant::now() + TIMEOUT) {
        Err(CallError::Status(status)) => status,
        other => panic!("a status, not {other:?}"),
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < end, "it never came to pass that {what}");
        std::thread::yield_now();
    }
}

/// Reads until the server closes the connection; returns the bytes.
pub fn read_to_close(stream: &mut RawStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return bytes,
            Ok(count) => bytes.extend(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pipe's other end, or a socket closed with unread input.
            Err(_) => return bytes,
        }
    }
}

/// Writes until the server closes the connection.
pub fn write_to_close(stream: &mut RawStream, bytes: &[u8]) {
    while write_or_closed(stream, bytes).is_ok() {}
}

/// Writes all bytes; the server may close the connection after a part of them.
///
/// Wine 8 leaves a blocking `send` waiting for ever if the peer resets the connection meanwhile, as 50 connections of a
/// program of std alone show. So a `send` over tcp has a limit here: the next one reports the reset.
pub fn write_or_closed(stream: &mut RawStream, bytes: &[u8]) -> io::Result<()> {
    let RawStream::Tcp(tcp) = stream else {
        return stream.write_all(bytes);
    };
    tcp.set_write_timeout(Some(Duration::from_millis(200)))?;
    let mut left = bytes;
    while !left.is_empty() {
        match tcp.write(left) {
            Ok(count) => left = &left[count..],
            Err(error) if is_over_its_limit(&error) => {}
            Err(error) => return Err(error),
        }
    }
    tcp.set_write_timeout(None)
}

fn is_over_its_limit(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

/// Holds calls back until it is opened.
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    waiting: usize,
    passed: usize,
    open: bool,
}

impl Gate {
    pub fn wait(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        self.changed.notify_all();
        let mut state = self.changed.wait_while(state, |state| !state.open).unwrap();
        state.passed += 1;
        self.changed.notify_all();
    }

    /// Waits until so many calls have come to the gate.
    pub fn wait_for_waiting(&self, count: usize) {
        self.wait_until("calls wait at the gate", |state| state.waiting >= count);
    }

    /// Waits until so many calls have gone through the gate.
    pub fn wait_for_passed(&self, count: usize) {
        self.wait_until("calls pass the gate", |state| state.passed >= count);
    }

    pub fn passed(&self) -> usize {
        self.state.lock().unwrap().passed
    }

    pub fn open(&self) {
        self.state.lock().unwrap().open = true;
        self.changed.notify_all();
    }

    fn wait_until(&self, what: &str, condition: impl Fn(&GateState) -> bool) {
        let state = self.state.lock().unwrap();
        let (_state, timeout) = self
            .changed
            .wait_timeout_while(state, TIMEOUT, |state| !condition(state))
            .unwrap();
        assert!(!timeout.timed_out(), "it never came to pass that {what}");
    }
}

struct TestService {
    gate: Arc<Gate>,
}

impl Service for TestService {
    fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
        if call.method.service() != "v1.Test" {
            return Err(Status::unimplemented(&call.method));
        }
        match call.method.method() {
            "Echo" => Ok(call.message.to_vec()),
            "Debug" => Ok(format!("{call:?}").into_bytes()),
            "Panic" => panic!("as told"),
            "Fail" => Err(Status::new(
                Code::Unknown,
                String::from_utf8_lossy(&call.message),
            )),
            "Gate" => {
                self.gate.wait();
                Ok(call.message.to_vec())
            }
            // As a call waiting for another: at the gate, if it may wait.
            "Wait" => match Waiting::begin() {
                Some(_waiting) => {
                    self.gate.wait();
                    Ok(call.message.to_vec())
                }
                None => Err(Status::new(Code::ResourceExhausted, "too many wait")),
            },
            "Work" => {
                let micros = String::from_utf8_lossy(&call.message).parse().unwrap();
                let end = Instant::now() + Duration::from_micros(micros);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                Ok(call.message.to_vec())
            }
            "Metadata" => Ok(format!("{:?}", call.metadata).into_bytes()),
            "Trailer" => {
                let value = String::from_utf8_lossy(&call.message);
                Err(Status::new(Code::Unknown, "failed").with_trailer("x-test", value))
            }
            "Peer" => Ok(call.peer.to_string().into_bytes()),
            "Left" => {
                let left = call.deadline.saturating_duration_since(Instant::now());
                Ok(left.as_millis().to_string().into_bytes())
            }
            "Large" => Ok(vec![b'x'; 64 << 10]),
            _ => Err(Status::unimplemented(&call.method)),
        }
    }
}
