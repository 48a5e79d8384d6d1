//! The clients of `cargo xtask bench attack`: one that floods a server, and one that it may harm.
//!
//! `attack KIND ADDRESS CONNECTIONS SECONDS` prints "attacking" once all its connections are open,
//! and at its end the bytes that it sent and the connections that it opened. `innocent ADDRESS
//! SECONDS` makes PathExists calls one after the other, 5 ms apart, each eighth over a new connection,
//! and prints how long each took, in microseconds, a line each. An address is the path of a Unix
//! socket, on Windows of a pipe.

use std::collections::HashSet;
use std::error::Error;
use std::io::{self, BufReader, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, process, thread};

use frames::{CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE};

use self::stream::Stream;

#[cfg_attr(windows, path = "pipe.rs")]
#[cfg_attr(not(windows), path = "socket.rs")]
mod stream;

#[path = "../../crates/transport/tests/support/frames.rs"]
#[allow(dead_code, reason = "the tests of the transport have more uses")]
mod frames;

const METHOD: &str = "/v1.Filesystem/PathExists";
const PATH: &str = r"C:\var\lib\kubelet";
const AUTHORITY: &[u8] = b"localhost";
const PRIORITY: u8 = 2;

/// The longest that this program runs, and the most connections that it opens at once.
const MOST_TIME: Duration = Duration::from_secs(60);
const MOST_CONNECTIONS: usize = 1_000;

/// Calls that a connection has open at once, as many as the server lets it.
const BATCH: usize = 100;
/// What goes out in one write of a flood of small frames, in bytes.
const CHUNK: usize = 64 << 10;
/// Between two calls of the innocent. Without it most calls would fall into the moments in which
/// the server is quick, and a control that never sleeps is quicker than clients are that do.
const PAUSE: Duration = Duration::from_millis(5);
const CALLS_PER_CONNECTION: u32 = 8;

/// Fields of a large header block: HPACK counts 164 bytes for each, and the server takes 32 KiB.
const FILLERS: usize = 190;
/// The frames of such a block; the server takes 32.
const PIECES: usize = 32;

static SENT: AtomicU64 = AtomicU64::new(0);
static OPENED: AtomicU64 = AtomicU64::new(0);

#[derive(Clone, Copy)]
enum Kind {
    Calls,
    WindowUpdate,
    Priority,
    Headers,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["innocent", address, seconds] => innocent(address, time(seconds)?),
        ["attack", kind, address, connections, seconds] => {
            attack(kind.parse()?, address, connections.parse()?, time(seconds)?)
        }
        _ => Err("attack KIND ADDRESS CONNECTIONS SECONDS, or innocent ADDRESS SECONDS".into()),
    }
}

fn time(seconds: &str) -> Result<Duration, Box<dyn Error>> {
    Ok(Duration::try_from_secs_f64(seconds.parse()?)?.min(MOST_TIME))
}

fn innocent(address: &str, time: Duration) -> Result<(), Box<dyn Error>> {
    let end = Instant::now() + time;
    let mut took = Vec::new();
    let mut kept = None;
    for turn in 0.. {
        // A driver keeps its connection, and restarts: a full server may be slow to take one.
        let start = Instant::now();
        let id = turn % CALLS_PER_CONNECTION * 2 + 1;
        let mut stream = match kept.take() {
            Some(stream) if id > 1 => stream,
            _ => open(address, &frames::opening_with_window())?,
        };
        let answer = frames::exchange(&mut stream, &call(id), id);
        took.push(start.elapsed().as_micros().to_string());
        kept = Some(stream);
        // A call that fails has a status and no message.
        answer
            .filter(|body| !body.is_empty())
            .ok_or("a call failed")?;
        thread::sleep(PAUSE);
        if Instant::now() > end {
            break;
        }
    }
    println!("{}", took.join("\n"));
    Ok(())
}

/// Floods for so long. A connection that the server closes is opened again.
fn attack(
    kind: Kind,
    address: &str,
    connections: usize,
    time: Duration,
) -> Result<(), Box<dyn Error>> {
    let count = connections.min(MOST_CONNECTIONS);
    let streams: io::Result<Vec<_>> = (0..count).map(|_| kind.open(address)).collect();
    println!("attacking");
    for mut stream in streams? {
        let address = address.to_owned();
        thread::spawn(move || {
            loop {
                let _closed = kind.run(&mut stream);
                stream = kind.reopen(&address);
            }
        });
    }
    thread::sleep(time);
    let (sent, opened) = (SENT.load(Ordering::Relaxed), OPENED.load(Ordering::Relaxed));
    println!("sent {sent} opened {opened}");
    process::exit(0)
}

fn open(address: &str, opening: &[u8]) -> io::Result<Stream> {
    let mut stream = stream::open(address)?;
    stream.write_all(opening)?;
    OPENED.fetch_add(1, Ordering::Relaxed);
    Ok(stream)
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "calls" => Ok(Self::Calls),
            "window-update" => Ok(Self::WindowUpdate),
            "priority" => Ok(Self::Priority),
            "headers" => Ok(Self::Headers),
            _ => Err(format!("no attack {text}")),
        }
    }
}

impl Kind {
    /// The floods leave the window small: made larger often enough, it would be too large.
    fn open(self, address: &str) -> io::Result<Stream> {
        match self {
            Self::Calls | Self::Headers => open(address, &frames::opening_with_window()),
            Self::WindowUpdate | Self::Priority => open(address, &frames::opening()),
        }
    }

    /// Tries until the server takes it: a full one may refuse for a while.
    fn reopen(self, address: &str) -> Stream {
        loop {
            match self.open(address) {
                Ok(stream) => return stream,
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Goes on until the connection is closed.
    fn run(self, stream: &mut Stream) -> io::Result<()> {
        match self {
            Self::Calls => ask(stream, call),
            Self::Headers => {
                let block = large_block();
                ask(stream, |id| large_headers(id, &block))
            }
            Self::WindowUpdate => flood(stream, &frames::frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
            Self::Priority => flood(stream, &frames::frame(PRIORITY, 0, 5, &[0, 0, 0, 0, 1])),
        }
    }
}

/// Sends frames that are valid, and that nothing answers.
fn flood(stream: &mut Stream, frame: &[u8]) -> io::Result<()> {
    let chunk = frame.repeat(CHUNK / frame.len());
    loop {
        send(stream, &chunk)?;
    }
}

/// Keeps as many requests open as there may be.
fn ask(stream: &mut Stream, request: impl Fn(u32) -> Vec<u8>) -> io::Result<()> {
    let mut answers = BufReader::new(stream.try_clone()?);
    let mut ids = (1..).step_by(2);
    loop {
        let mut open: HashSet<u32> = ids.by_ref().take(BATCH).collect();
        let mut batch: Vec<u32> = open.iter().copied().collect();
        batch.sort_unstable();
        let bytes: Vec<u8> = batch.into_iter().flat_map(&request).collect();
        send(stream, &bytes)?;
        while !open.is_empty() {
            let frame = frames::read_frame(&mut answers).ok_or(io::ErrorKind::UnexpectedEof)?;
            if frame.kind == RST_STREAM || ends_stream(&frame) {
                open.remove(&frame.stream);
            }
        }
    }
}

fn send(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    SENT.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    Ok(())
}

fn ends_stream(frame: &frames::Frame) -> bool {
    matches!(frame.kind, HEADERS | DATA) && frame.flags & END_STREAM != 0
}

/// A PathExists call.
fn call(id: u32) -> Vec<u8> {
    let path = PATH.as_bytes();
    let request = [&[0x0a, path.len() as u8], path].concat();
    frames::call(id, METHOD, AUTHORITY, &request)
}

fn large_block() -> Vec<u8> {
    let filler = frames::block(&[("filler", &[b'x'; 126])]);
    [
        frames::call_block(METHOD, AUTHORITY),
        filler.repeat(FILLERS),
    ]
    .concat()
}

/// A request that is nothing but headers, in many pieces.
fn large_headers(id: u32, block: &[u8]) -> Vec<u8> {
    let mut pieces = block.chunks(block.len().div_ceil(PIECES)).peekable();
    let (mut kind, mut flags) = (HEADERS, END_STREAM);
    let mut bytes = Vec::with_capacity(block.len() + PIECES * 9);
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            flags |= END_HEADERS;
        }
        bytes.extend(frames::frame(kind, flags, id, piece));
        (kind, flags) = (CONTINUATION, 0);
    }
    bytes
}
