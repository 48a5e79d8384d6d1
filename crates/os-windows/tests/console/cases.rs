use std::error::Error;
use std::fmt::Debug;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use super::server;

type Outcome = Result<(), Box<dyn Error>>;

/// A case: its name and its function.
type Case = (&'static str, fn() -> Outcome);

pub(crate) const ALL: &[Case] = &[
    ("a_shutdown_waits_for_the_drain", || held(SHUTDOWN)),
    ("a_shutdown_waits_where_windows_can_be_made", with_windows),
    ("a_closed_console_waits_for_the_drain", || held(CLOSE)),
    ("a_break_is_answered_and_then_drained", answered),
    ("a_second_request_ends_the_process_at_once", second),
    ("a_logoff_ends_nothing", logoff),
];

// Numbers of wincon.h.
const BREAK: u32 = 1;
const CLOSE: u32 = 2;
const LOGOFF: u32 = 5;
const SHUTDOWN: u32 = 6;

/// Bounds every wait: only a failed test reaches it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The system would end the process if the handler returned, so nothing more is printed.
fn held(event: u32) -> Outcome {
    let mut server = Server::start()?;
    server.say(event)?;
    same(server.hear()?, Some("asked".to_owned()))?;
    server.say("drained")?;
    same(server.hear()?, Some("drained".to_owned()))?;
    same(server.hear()?, None)?;
    same(server.end()?.code(), Some(0))
}

/// As WMI loads user32.dll: a container runtime's request arrives all the same.
fn with_windows() -> Outcome {
    let mut server = Server::start()?;
    server.say(server::LOAD_USER32)?;
    same(server.hear()?, Some("user32 is loaded".to_owned()))?;
    server.say(SHUTDOWN)?;
    same(server.hear()?, Some("asked".to_owned()))?;
    server.say("drained")?;
    same(server.hear()?, Some("drained".to_owned()))?;
    same(server.end()?.code(), Some(0))
}

fn answered() -> Outcome {
    let mut server = Server::start()?;
    server.say(BREAK)?;
    let mut words = [server.hear()?, server.hear()?];
    words.sort();
    same(
        words,
        ["asked", "handled 1"].map(|word| Some(word.to_owned())),
    )?;
    server.say("drained")?;
    same(server.hear()?, Some("drained".to_owned()))?;
    same(server.end()?.code(), Some(0))
}

fn second() -> Outcome {
    let mut server = Server::start()?;
    server.say(BREAK)?;
    let mut words = [server.hear()?, server.hear()?];
    words.sort();
    same(
        words,
        ["asked", "handled 1"].map(|word| Some(word.to_owned())),
    )?;
    server.say(BREAK)?;
    same(server.hear()?, None)?;
    server.end().map(drop)
}

fn logoff() -> Outcome {
    let mut server = Server::start()?;
    server.say(LOGOFF)?;
    same(server.hear()?, Some("handled 5".to_owned()))?;
    server.say(SHUTDOWN)?;
    same(server.hear()?, Some("asked".to_owned()))?;
    server.say("drained")?;
    same(server.hear()?, Some("drained".to_owned()))
}

struct Server {
    process: Child,
    orders: ChildStdin,
    words: Receiver<String>,
}

impl Server {
    fn start() -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(server::FLAG)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let orders = process.stdin.take().ok_or("no standard input")?;
        let output = process.stdout.take().ok_or("no standard output")?;
        let (sender, words) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line.trim_end().to_owned())));
        });
        let server = Self {
            process,
            orders,
            words,
        };
        same(server.hear()?, Some("listening".to_owned()))?;
        Ok(server)
    }

    fn say(&mut self, order: impl ToString) -> io::Result<()> {
        self.orders
            .write_all(format!("{}\n", order.to_string()).as_bytes())
    }

    /// The next word; none once the process has ended.
    fn hear(&self) -> Result<Option<String>, Box<dyn Error>> {
        match self.words.recv_timeout(TIMEOUT) {
            Ok(word) => Ok(Some(word)),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Its output has ended, and so has it.
    fn end(&mut self) -> Result<ExitStatus, Box<dyn Error>> {
        Ok(self.process.wait()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, unless the case failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn same<T: PartialEq + Debug>(got: T, wanted: T) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    Err(format!("wanted {wanted:?}, got {got:?}").into())
}
