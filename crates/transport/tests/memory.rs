//! How much memory clients can make a server's process use. The server is a process of its own:
//! this program, started again.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod support;

use std::io::{self, BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{env, fs, thread};

use support::{Gate, Home, RawStream, call, connect, frames};
use transport::{Endpoint, ServerOptions};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const ECHO: &str = "/v1.Test/Echo";
/// Set for the process that serves: where.
const SERVE: &str = "TRANSPORT_TEST_SERVE";
const READY: &str = "it serves";
/// The server's most memory beyond its size at rest: its budget, and the uncounted part.
const BOUND: usize = 64 * MIB + 64 * MIB;
/// As good as one process's share of the connections.
const SHARE: usize = 1_000;
const STREAMS: u32 = 100;
/// As much of a header block as fits into a frame beside the rest.
const FILLER: usize = 15 << 10;
/// Threads for the clients.
const PLAYERS: usize = 4;

/// A server in a process of its own.
struct Served {
    process: Child,
    answers: Mutex<Lines<BufReader<ChildStdout>>>,
    endpoint: Endpoint,
    at_rest: usize,
    _home: Home,
}

impl Served {
    fn start() -> Self {
        support::allow_many_connections();
        let home = Home::new();
        let endpoint = home.endpoint(&support::unique());
        let mut process = Command::new(env::current_exe().unwrap())
            .args(["a_server_for_the_other_tests", "--exact", "--nocapture"])
            .env(SERVE, endpoint.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(answers.any(|line| line.unwrap().contains(READY)));
        let mut served = Self {
            process,
            answers: Mutex::new(answers),
            endpoint,
            at_rest: 0,
            _home: home,
        };
        assert_eq!(call(&connect(&served.endpoint), ECHO, b"warm"), b"warm");
        served.at_rest = served.resident();
        served
    }

    /// How many connections it has.
    fn connections(&self) -> usize {
        writeln!(self.process.stdin.as_ref().unwrap()).unwrap();
        // The harness may have a word in between.
        let mut answers = self.answers.lock().unwrap();
        answers.find_map(|line| line.unwrap().parse().ok()).unwrap()
    }

    /// The memory that the process has now, in bytes.
    fn resident(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.unwrap().split_whitespace().nth(1).unwrap();
        kib.parse::<usize>().unwrap() * KIB
    }

    fn stays_within_its_bound(&self, when: &str) {
        let (rest, now) = (self.at_rest / KIB, self.resident() / KIB);
        println!("{when}: {now} KiB, at rest {rest} KiB");
        assert!(now * KIB <= self.at_rest + BOUND, "{when}: {now} KiB");
    }

    /// Has so many clients send this, with any result, and checks the memory with all connections
    /// open and after they are closed.
    fn bears(&self, clients: usize, bytes: &[u8]) {
        let players: Vec<_> = thread::scope(|scope| {
            let play = || (0..clients / PLAYERS).map(|_| played(&self.endpoint, bytes));
            let players = [(); PLAYERS].map(|()| scope.spawn(move || play().collect::<Vec<_>>()));
            players
                .into_iter()
                .flat_map(|player| player.join().unwrap())
                .collect()
        });
        // The budget has some closed.
        let open = self.connections();
        assert!(open >= clients / 5, "{open} of {clients} are open");
        self.stays_within_its_bound("with connections open");
        let channel = connect(&self.endpoint);
        assert_eq!(call(&channel, ECHO, b"a small call"), b"a small call");
        drop(players);
        support::eventually("they are forgotten", || self.connections() == 1);
        self.stays_within_its_bound("with connections closed");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Its input's end is its own.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A client that has sent this, and has read its last answer or has been closed.
fn played(endpoint: &Endpoint, bytes: &[u8]) -> RawStream {
    let mut raw = support::open(endpoint);
    let mut writing = raw.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let ping = frames::frame(frames::PING, 0, 0, b"all read");
            // The server may close it in between.
            let _ = writing.write_all(&frames::opening());
            let _ = writing.write_all(bytes);
            let _ = writing.write_all(&ping);
        });
        while let Some(frame) = frames::read_frame(&mut raw) {
            if frame.kind == frames::PING && frame.payload == b"all read" {
                break;
            }
        }
    });
    raw
}

/// Serves until the input ends, when this program was started to do so.
#[test]
fn a_server_for_the_other_tests() {
    let Ok(endpoint) = env::var(SERVE) else {
        return;
    };
    support::allow_many_connections();
    let mut options = ServerOptions::default();
    options.ping_delay = Duration::ZERO;
    let gate = Arc::new(Gate::default());
    let server = support::serve(&endpoint.parse().unwrap(), &gate, options);
    println!("{READY}");
    for _ in io::stdin().lines() {
        println!("{}", server.usage().connections);
    }
}

/// A literal of a header block, stored (0x40) or not (0), by its name or by an index of one.
fn literal(first: u8, name: Option<&[u8]>, value: &[u8]) -> Vec<u8> {
    let mut block = vec![first];
    for text in name.into_iter().chain([value]) {
        match text.len() {
            length @ 0..127 => block.push(u8::try_from(length).unwrap()),
            length => {
                block.push(127);
                let rest = length - 127;
                block.push(0x80 | u8::try_from(rest & 0x7f).unwrap());
                block.push(0x80 | u8::try_from(rest >> 7 & 0x7f).unwrap());
                block.push(u8::try_from(rest >> 14).unwrap());
            }
        }
        block.extend(text);
    }
    block
}

/// A call's header block with this spelling of its path, and an unread filler.
fn fat_block(path: &[u8]) -> Vec<u8> {
    [
        &[0x83, 0x86][..],
        path,
        &literal(0, Some(b"content-type"), b"application/grpc"),
        &literal(0, Some(b"x"), &[b'f'; FILLER]),
    ]
    .concat()
}

fn requests(count: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    (0..count)
        .flat_map(|at| {
            frames::frame(
                frames::HEADERS,
                flags | frames::END_HEADERS,
                at * 2 + 1,
                block,
            )
        })
        .collect()
}

/// Guards: P27
#[test]
fn open_streams_do_not_keep_the_buffers_of_their_heads() {
    let served = Served::start();
    let path = literal(0, Some(b":path"), ECHO.as_bytes());
    served.bears(SHARE / 4, &requests(STREAMS, 0, &fat_block(&path)));
}

/// Guards: P27
#[test]
fn stored_paths_do_not_keep_the_buffers_of_their_heads() {
    let served = Served::start();
    // Stored by the name's index, 4: each is an entry of its own.
    let path = literal(0x44, None, b"/");
    let bytes = requests(STREAMS, frames::END_STREAM, &fat_block(&path));
    served.bears(SHARE / 4, &bytes);
}

/// Guards: P27
#[test]
fn connections_that_were_large_are_counted_or_shrink() {
    let served = Served::start();
    let path = literal(0, Some(b":path"), ECHO.as_bytes());
    let block = [
        &[0x83, 0x86][..],
        &path,
        &literal(0, Some(b"content-type"), b"application/grpc"),
    ]
    .concat();
    // All at once, with a few pieces each, and a frame as large as can be.
    let mut bytes = requests(STREAMS, 0, &block);
    bytes.extend((0..STREAMS).flat_map(|at| {
        let stream = at * 2 + 1;
        let end = frames::frame(
            frames::DATA,
            frames::END_STREAM,
            stream,
            &frames::message(b""),
        );
        [frames::frame(frames::DATA, 0, stream, b""), end].concat()
    }));
    let last = STREAMS * 2 + 1;
    bytes.extend(frames::frame(
        frames::HEADERS,
        frames::END_HEADERS,
        last,
        &block,
    ));
    let large = frames::message(&[0; 16 * KIB - 5]);
    bytes.extend(frames::frame(
        frames::DATA,
        frames::END_STREAM,
        last,
        &large,
    ));
    served.bears(SHARE, &bytes);
}
