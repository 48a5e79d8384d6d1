//! Child processes with a limit on every wait.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

mod background;
pub(crate) mod interrupt;
mod tree;

pub(crate) use background::Background;
pub(crate) use tree::{command_lines, kill_tree};

/// How long the poll for a child's end or a file's growth sleeps.
const POLL: Duration = Duration::from_millis(20);

const COPY: Duration = Duration::from_secs(120);

/// How many lines of its output an error about a child shows.
const TAIL: usize = 60;

/// A finished child's status and output; stdout and stderr are one stream in the order of writing.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) took: Duration,
}

impl Finished {
    /// Turns a failure into an error with the last lines of the output.
    pub(crate) fn success(self, what: &str) -> Result<String> {
        if self.status.success() {
            return Ok(self.output);
        }
        bail!("{what}: {}\n{}", self.status, tail(&self.output, TAIL));
    }
}

/// Runs a command without showing its output.
pub(crate) fn capture(command: &mut Command, limit: Duration) -> Result<Finished> {
    finish(command, limit, Echo::Off)
}

/// Runs a command and shows its output while it comes.
pub(crate) fn follow(command: &mut Command, limit: Duration) -> Result<Finished> {
    finish(command, limit, Echo::On)
}

/// Runs a command and returns its stdout apart, as data for us; shows its stderr while it comes.
pub(crate) fn data(command: &mut Command, limit: Duration) -> Result<(Finished, String)> {
    let mut data = tempfile::tempfile().context("make a file for the data")?;
    command.stdout(data.try_clone()?);
    let done = supervise(command, tempfile::tempfile()?, limit, Echo::On)?;
    let mut text = String::new();
    data.rewind()?;
    data.read_to_string(&mut text).context("read the data")?;
    Ok((done, text))
}

/// Waits for a child; ends it and all its descendants when the limit passes.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    wait_with(child, limit, || Ok(()))
}

/// Polls every `pace` until there is an answer; `None` when the limit passes. An interruption is an error.
pub(crate) fn poll<T>(
    limit: Duration,
    pace: Duration,
    mut ask: impl FnMut() -> Result<Option<T>>,
) -> Result<Option<T>> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(answer) = ask()? {
            return Ok(Some(answer));
        }
        interrupt::check()?;
        if Instant::now() > deadline {
            return Ok(None);
        }
        thread::sleep(pace);
    }
}

/// Copies a folder, to be changed: files of Go's cache may not be.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let mut cp = Command::new("cp");
    cp.args(["-r", "--no-preserve=mode"]).arg(from).arg(to);
    capture(&mut cp, COPY)?.success("cp").map(drop)
}

/// The command as a person would type it, for messages.
pub(crate) fn describe(command: &Command) -> String {
    let program = command.get_program().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
    std::iter::once(program)
        .chain(arguments)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The last `lines` lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[derive(Clone, Copy, PartialEq)]
enum Echo {
    On,
    Off,
}

fn finish(command: &mut Command, limit: Duration, echo: Echo) -> Result<Finished> {
    let file = tempfile::tempfile().context("make a file for the output")?;
    command.stdout(file.try_clone()?);
    supervise(command, file, limit, echo)
}

/// Runs a command with its stderr in `file`, until it has ended or the limit passes.
fn supervise(
    command: &mut Command,
    mut file: File,
    limit: Duration,
    echo: Echo,
) -> Result<Finished> {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stderr(file.try_clone()?)
        .spawn()
        .with_context(|| format!("start {}", describe(command)))?;
    let mut reader = Reader::new(file.try_clone()?, echo)?;
    let status = wait_with(&mut child, limit, || reader.advance()).map_err(|error| {
        let end = tail(&reader.text(), TAIL);
        anyhow!("{}: {error:#}\n{end}", describe(command))
    })?;
    reader.advance()?;
    file.flush()?;
    Ok(Finished {
        status,
        output: reader.text(),
        took: started.elapsed(),
    })
}

fn wait_with(
    child: &mut Child,
    limit: Duration,
    mut turn: impl FnMut() -> Result<()>,
) -> Result<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        turn()?;
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Err(error) = may_wait(deadline, limit) {
            kill_tree(child.id());
            child.wait()?;
            return Err(error);
        }
        thread::sleep(POLL);
    }
}

/// Fails when the time is up or the run was interrupted.
fn may_wait(deadline: Instant, limit: Duration) -> Result<()> {
    interrupt::check()?;
    if Instant::now() > deadline {
        bail!("ended after {} s without finishing", limit.as_secs());
    }
    Ok(())
}

/// Reads a growing file of another process.
///
/// The descriptor shares its offset with the writer, so it is opened again through `/proc`.
struct Reader {
    file: File,
    seen: Vec<u8>,
    echo: Echo,
}

impl Reader {
    fn new(file: File, echo: Echo) -> Result<Self> {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut own = File::open(path).context("open the output for reading")?;
        own.rewind()?;
        Ok(Self {
            file: own,
            seen: Vec::new(),
            echo,
        })
    }

    fn advance(&mut self) -> Result<()> {
        let before = self.seen.len();
        self.file.read_to_end(&mut self.seen)?;
        if self.echo == Echo::On && self.seen.len() > before {
            let mut out = std::io::stdout().lock();
            out.write_all(&self.seen[before..])?;
            out.flush()?;
        }
        Ok(())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_come_back() {
        let done = capture(
            &mut shell("echo out; echo err >&2; exit 3"),
            Duration::from_secs(20),
        );
        let done = done.unwrap();
        assert_eq!(done.status.code(), Some(3));
        assert_eq!(done.output, "out\nerr\n");
    }

    #[test]
    fn a_child_that_never_ends_is_ended_with_its_descendants() {
        let marker = format!("987{}", std::process::id());
        let script = format!("sleep {marker} & sleep {marker}");
        let error = capture(&mut shell(&script), Duration::from_millis(300)).unwrap_err();
        assert!(format!("{error:#}").contains("ended after"), "{error:#}");
        // A killed process is gone once the system has let it run to its end.
        let end = Instant::now() + Duration::from_secs(60);
        while command_lines().any(|line| line.contains(&marker)) {
            assert!(Instant::now() < end, "a descendant is left");
            thread::yield_now();
        }
    }

    #[test]
    fn what_a_tree_makes_while_it_is_ended_goes_as_well() {
        let marker = format!("986{}", std::process::id());
        let sleeps = || command_lines().any(|line| line.starts_with(&format!("sleep {marker}")));
        let mut maker = shell(&format!(
            "for i in $(seq 5000); do sleep {marker} & done; wait"
        ));
        let mut maker = maker.spawn().unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while !sleeps() {
            assert!(Instant::now() < end, "no child is made");
        }
        kill_tree(maker.id());
        maker.wait().unwrap();
        while sleeps() {
            assert!(Instant::now() < end, "a descendant is left");
            thread::yield_now();
        }
    }
}
