//! What the tests of the server share: endpoints, services, and clients without manners.

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

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use transport::{
    Call, CallError, Channel, ChannelOptions, Code, Endpoint, Server, ServerOptions, Service,
    Status, Waiting,
};

pub use os::{Home, RawStream, allow_many_connections, open};

/// Long enough for anything that is going to happen at all.
pub const PATIENCE: Duration = Duration::from_secs(30);

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// A server with one endpoint that is gone with it.
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
    Channel::connect(endpoint.clone(), ChannelOptions::default()).unwrap()
}

/// Calls and expects an answer.
pub fn call(channel: &Channel, method: &str, message: &[u8]) -> Vec<u8> {
    channel
        .call(method, message, Instant::now() + PATIENCE)
        .unwrap()
}

/// Calls and expects a status.
pub fn call_err(channel: &Channel, method: &str, message: &[u8]) -> Status {
    match channel.call(method, message, Instant::now() + PATIENCE) {
        Err(CallError::Status(status)) => status,
        other => panic!("a status, not {other:?}"),
    }
}

/// Waits until `condition` holds.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "it never came to pass that {what}");
        std::thread::yield_now();
    }
}

/// Reads until the server closes the connection; the bytes that came.
pub fn read_to_close(stream: &mut RawStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return bytes,
            Ok(count) => bytes.extend(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pipe's other end, or a socket's that was closed with input unread.
            Err(_) => return bytes,
        }
    }
}

/// Writes until the server closes the connection.
pub fn write_to_close(stream: &mut RawStream, bytes: &[u8]) {
    while stream.write_all(bytes).is_ok() {}
}

/// Calls that wait for it are held back until it is opened.
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
            .wait_timeout_while(state, PATIENCE, |state| !condition(state))
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
            // As a call does that waits for another: at the gate, where it may.
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
