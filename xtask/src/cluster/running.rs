//! The programs of the cluster: watched as long as they run, ended in the opposite order of their starts.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::process::{self, Background};
use crate::{cargo, trial};

/// How long anything may take to happen: a pod is synchronised every ten seconds, controllers wait before retries.
const LIMIT: Duration = Duration::from_secs(3 * 60);

/// The cluster's polling interval.
const PACE: Duration = Duration::from_millis(200);

/// How many lines of each log an error shows.
const LAST_WORDS: usize = 8;

/// All started programs. Dropping this ends the running ones and removes the folder.
pub(super) struct RunningCluster {
    programs: Vec<(String, Background)>,
    logs: PathBuf,
    dir: TempDir,
}

/// A command whose program the kernel ends with this (the main) thread: nothing outlives this program, even if it is
/// killed.
fn ends_with_us(command: &Command) -> Command {
    let mut wrapped = Command::new("setpriv");
    wrapped.args(["--pdeathsig", "KILL", "--"]);
    wrapped.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}

impl RunningCluster {
    /// Nothing yet, with a folder of a short name: the path of a socket has some 100 bytes.
    pub(super) fn new() -> Result<Self> {
        let logs = cargo::work_dir("cluster/logs")?;
        fs::remove_dir_all(&logs).context("remove old logs")?;
        fs::create_dir(&logs).context("make a folder for logs")?;
        Ok(Self {
            programs: Vec::new(),
            logs,
            dir: trial::private_dir()?,
        })
    }

    /// The cluster's working folder.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The folder of the programs' logs; it stays.
    pub(super) fn logs(&self) -> &Path {
        &self.logs
    }

    /// In a process group of its own: a terminal's Ctrl-C reaches this program alone, and it ends the others in their
    /// order.
    pub(super) fn start(&mut self, name: &str, command: &mut Command) -> Result<()> {
        let log = self.new_log(name);
        let program = Background::start(name, ends_with_us(command).process_group(0), &log)?;
        self.programs.push((name.to_owned(), program));
        Ok(())
    }

    /// A log without an earlier start of the program.
    fn new_log(&self, name: &str) -> PathBuf {
        let first = self.logs.join(format!("{name}.log"));
        let others = (2..).map(|start: u32| self.logs.join(format!("{name}-{start}.log")));
        let mut unused = others.filter(|log| !log.exists());
        match first.exists() {
            true => unused.next().unwrap_or(first),
            false => first,
        }
    }

    /// Kills a program, as a crash does.
    pub(super) fn kill(&mut self, name: &str) -> Result<()> {
        self.expect_all()?;
        self.take(name).map(drop)
    }

    /// Asks a program to end, and returns how long it took to end well.
    pub(super) fn stop(&mut self, name: &str) -> Result<Duration> {
        self.expect_all()?;
        let (program, began) = (self.take(name)?, Instant::now());
        let status = program.stop(LIMIT)?;
        ensure!(
            status.success(),
            "{name} ended with {status} when asked to stop"
        );
        Ok(began.elapsed())
    }

    fn take(&mut self, name: &str) -> Result<Background> {
        let place = self
            .programs
            .iter()
            .position(|(program, _)| program == name);
        let place = place.with_context(|| format!("{name} does not run"))?;
        Ok(self.programs.remove(place).1)
    }

    /// Waits until something holds, while all programs run.
    pub(super) fn wait<T>(
        &mut self,
        what: &str,
        mut ask: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let answer = process::poll(LIMIT, PACE, || {
            self.expect_all()?;
            ask()
        })?;
        answer.with_context(|| {
            format!(
                "{what}: not after {} s\n{}",
                LIMIT.as_secs(),
                self.last_words()
            )
        })
    }

    /// Waits until a program has said this, since it was started last.
    pub(super) fn wait_for_line(&mut self, name: &str, pattern: &str) -> Result<()> {
        self.wait_for_another(name, pattern, 0)
    }

    /// Waits until a program has said this more than so many times.
    pub(super) fn wait_for_another(
        &mut self,
        name: &str,
        pattern: &str,
        than: usize,
    ) -> Result<()> {
        let log = self.log(name)?.to_owned();
        self.wait(&format!("{name} says {pattern:?}"), || {
            Ok((occurrences(&log, pattern) > than).then_some(()))
        })
    }

    /// How often a program has said this, since it was started last.
    pub(super) fn times_printed(&self, name: &str, pattern: &str) -> Result<usize> {
        Ok(occurrences(self.log(name)?, pattern))
    }

    /// A running program's log.
    pub(super) fn log(&self, name: &str) -> Result<&Path> {
        let mut programs = self.programs.iter();
        let found = programs.find(|(program, _)| program == name);
        let (_, program) = found.with_context(|| format!("{name} does not run"))?;
        Ok(program.log())
    }

    pub(super) fn wait_for_interrupt(&mut self) -> Result<()> {
        while !process::interrupt::happened() {
            self.expect_all()?;
            std::thread::sleep(PACE);
        }
        Ok(())
    }

    /// Ends all, and returns the number of programs. One that ended by itself is an error, and so is a process still
    /// running in the cluster's folder.
    pub(super) fn end(mut self) -> Result<usize> {
        self.expect_all()?;
        let ended = self.clear();
        let folder = self
            .dir
            .path()
            .file_name()
            .context("the folder has no name")?;
        let folder = folder.to_string_lossy();
        let gone = process::poll(LIMIT, PACE, || {
            let mut all = process::command_lines();
            Ok((!all.any(|line| line.contains(&*folder))).then_some(()))
        })?;
        gone.context("a process of the cluster goes on")?;
        Ok(ended)
    }

    fn clear(&mut self) -> usize {
        let ended = self.programs.len();
        while self.programs.pop().is_some() {}
        ended
    }

    fn expect_all(&mut self) -> Result<()> {
        let mut programs = self.programs.iter_mut();
        programs.try_for_each(|(_, program)| program.expect_alive())
    }

    fn last_words(&self) -> String {
        let words = self.programs.iter().map(|(name, program)| {
            let printed = process::tail(&program.output(), LAST_WORDS);
            format!("---- {name}\n{printed}\n")
        });
        words.collect()
    }
}

pub(super) fn occurrences(log: &Path, pattern: &str) -> usize {
    let printed = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&printed).matches(pattern).count()
}

impl Drop for RunningCluster {
    fn drop(&mut self) {
        self.clear();
    }
}
