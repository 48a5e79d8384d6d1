//! A server running beside the work, ended with its owner.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::tree::signal;
use super::{POLL, describe, interrupt, kill_tree, tail};

/// A child process, killed with its descendants when dropped.
#[derive(Debug)]
pub(crate) struct Background {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Background {
    /// Starts the command with its output in the file `log`.
    pub(crate) fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::create(log).with_context(|| format!("create {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("start {}", describe(command)))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log: log.to_owned(),
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The file of its output.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Its output so far.
    pub(crate) fn output(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until `ready` answers something; fails when the child ends first or the limit passes.
    pub(crate) fn wait_until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut ready: impl FnMut(&Self) -> Option<T>,
    ) -> Result<T> {
        let answer = super::poll(limit, POLL, || {
            if let Some(answer) = ready(self) {
                return Ok(Some(answer));
            }
            if let Some(status) = self.child.try_wait()? {
                let (name, tail) = (&self.name, self.tail());
                bail!("{name} ended ({status}) before {what}\n{tail}");
            }
            Ok(None)
        })?;
        let late = || format!("{}: no {what} after {limit:?}\n{}", self.name, self.tail());
        answer.with_context(late)
    }

    /// Waits for a printed line with `pattern`, and returns it.
    pub(crate) fn wait_for_line(&mut self, pattern: &str, limit: Duration) -> Result<String> {
        self.wait_until(&format!("line with {pattern:?}"), limit, |this| {
            let output = this.output();
            output
                .lines()
                .find(|line| line.contains(pattern))
                .map(str::to_owned)
        })
    }

    /// Asks it to end (SIGTERM), waits, and kills it when the limit passes.
    pub(crate) fn stop(mut self, limit: Duration) -> Result<ExitStatus> {
        signal(self.child.id(), Signal::TERM);
        super::wait(&mut self.child, limit).with_context(|| format!("stop {}", self.name))
    }

    /// Fails when it has ended already.
    pub(crate) fn expect_alive(&mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("{} ended by itself ({status})\n{}", self.name, self.tail());
        }
        Ok(())
    }

    /// Waits until it ends by itself.
    pub(crate) fn wait(&mut self, limit: Duration) -> Result<ExitStatus> {
        super::wait(&mut self.child, limit).with_context(|| self.name.clone())
    }

    /// Waits, as long as it takes, until it ends or this run is interrupted.
    pub(crate) fn wait_for_interrupt(&mut self) -> Result<()> {
        while !interrupt::happened() {
            self.expect_alive()?;
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Its last printed lines.
    pub(crate) fn tail(&self) -> String {
        tail(&self.output(), 30)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        kill_tree(self.child.id());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_before_the_interrupt_is_an_error_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo last words; exit 3"]);
        let log = folder.path().join("log");
        let mut server = Background::start("server", &mut command, &log).unwrap();
        let error = server.wait_for_interrupt().unwrap_err().to_string();
        assert!(error.contains("ended by itself"), "{error}");
        assert!(
            error.contains('3') && error.contains("last words"),
            "{error}"
        );
    }
}
