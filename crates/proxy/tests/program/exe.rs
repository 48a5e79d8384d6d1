//! The program, started and waited for. Its output goes to files: under Wine a service can inherit a pipe
//! and keep it open for ever.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Bounds every wait: only a failed test reaches it.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// On Windows all servers of a machine have the same pipes, and under Wine a process takes any starting service for its
/// own: so there is one at a time.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program's exit and output.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
}

/// Runs the program to its end.
pub(crate) fn exe(arguments: &[impl AsRef<OsStr>]) -> Ended {
    let folder = TempDir::new().expect("a temporary folder");
    let log = folder.path().join("output");
    let mut process = Process(spawn(arguments, &log));
    let status = process.end(&log);
    Ended {
        code: status.code(),
        output: text(&log),
    }
}

/// A process, ended when dropped.
struct Process(Child);

impl Process {
    fn end(&mut self, log: &Path) -> ExitStatus {
        let mut status = None;
        look_until(
            || format!("the end of a process: {}", text(log)),
            || {
                status = self.0.try_wait().expect("its status");
                status.is_some()
            },
        );
        status.expect("it has ended")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already, or need not end well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program as a server in a folder of its own, where `node` is the simulated node and `sockets` has the
/// sockets where there are no pipes. It is ended when dropped.
pub(crate) struct Server {
    process: Process,
    pub(crate) folder: TempDir,
}

impl Server {
    /// Starts it and waits until it is ready.
    pub(crate) fn start() -> Self {
        Self::with_flags(&[])
    }

    /// As [`Server::start`], with these flags too.
    pub(crate) fn with_flags(flags: &[&str]) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let mut arguments = serving(folder.path());
        arguments.extend(flags.iter().map(ToString::to_string));
        Self::in_folder(folder, &arguments)
    }

    /// As [`Server::with_flags`], but it serves this machine itself.
    #[cfg_attr(
        not(windows),
        expect(dead_code, reason = "this machine is no Windows node")
    )]
    pub(crate) fn of_this_machine(flags: &[&str]) -> Self {
        Self::in_folder(TempDir::new().expect("a temporary folder"), flags)
    }

    /// As [`Server::start`], with standard error in a pipe that only the test reads. It is ready when it answers.
    pub(crate) fn unread() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let child = Command::new(env!("CARGO_BIN_EXE_csi-proxy"))
            .args(serving(folder.path()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let process = Process(child.expect("the program starts"));
        Self { process, folder }
    }

    /// As [`Server::start`], in a folder prepared by a test.
    pub(crate) fn in_folder(folder: TempDir, arguments: &[impl AsRef<OsStr>]) -> Self {
        let process = Process(spawn(arguments, &log_in(&folder)));
        let mut server = Self { process, folder };
        server.wait_for("] ready");
        server
    }

    pub(crate) fn output(&self) -> String {
        text(&log_in(&self.folder))
    }

    pub(crate) fn process(&self) -> &Child {
        &self.process.0
    }

    /// The pipe of a server started with [`Server::unread`].
    pub(crate) fn errors(&mut self) -> ChildStderr {
        self.process.0.stderr.take().expect("a pipe")
    }

    /// Waits until it has ended.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.process.end(&log_in(&self.folder))
    }

    /// Waits until it has written this.
    pub(crate) fn wait_for(&mut self, words: &str) {
        let log = log_in(&self.folder);
        let look = || {
            // Looked at first, for the last words are written before the end.
            let ended = self.process.0.try_wait().expect("its status");
            let output = text(&log);
            assert!(
                ended.is_none() || output.contains(words),
                "ended with {ended:?}: {output}"
            );
            output.contains(words)
        };
        look_until(|| format!("{words:?} in {}", text(&log)), look);
    }
}

fn log_in(folder: &TempDir) -> PathBuf {
    folder.path().join("output")
}

/// The flags for a server in a folder.
pub(crate) fn serving(folder: &Path) -> Vec<String> {
    let flag = |name: &str, path: &str| format!("-{name}={}", folder.join(path).display());
    vec![flag("simulate", "node"), flag("listen", "sockets")]
}

/// Polls for at most [`TIMEOUT`]: the state lies in another process.
pub(crate) fn look_until(what: impl Fn() -> String, mut look: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !look() {
        assert!(Instant::now() < deadline, "waited in vain for {}", what());
        thread::park_timeout(PAUSE);
    }
}

/// Leaves the processor to the awaited process.
const PAUSE: Duration = Duration::from_millis(20);

fn spawn(arguments: &[impl AsRef<OsStr>], log: &Path) -> Child {
    let output = File::create(log).expect("a file for the output");
    let errors = output.try_clone().expect("a second handle");
    Command::new(env!("CARGO_BIN_EXE_csi-proxy"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .expect("the program starts")
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
