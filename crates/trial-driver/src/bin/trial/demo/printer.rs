//! A play's output: a line for each call and each event meanwhile, and the verdict.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use wincsi::volumes::VolumeId;
use wincsi::{Deadline, NodeApi};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The lines of one play.
pub(crate) struct Lines {
    calls: u32,
    spent: Duration,
    slowest: Option<(Duration, String)>,
    /// The last step begun.
    last: String,
}

impl Lines {
    pub(crate) fn begin() -> Self {
        println!("{:>10}  {:<38} what changed", "took", "call");
        Self {
            calls: 0,
            spent: Duration::ZERO,
            slowest: None,
            last: String::from("the start"),
        }
    }

    /// Makes one call and prints its line; `changed` explains the answer.
    pub(crate) fn call<T, E>(
        &mut self,
        name: &str,
        act: impl FnOnce() -> Result<T, E>,
        changed: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<T>
    where
        anyhow::Error: From<E>,
    {
        name.clone_into(&mut self.last);
        let began = Instant::now();
        let answer = act();
        let took = began.elapsed();
        self.count(name, took);
        let answer = answer?;
        line(took, name, &changed(&answer));
        Ok(answer)
    }

    /// Does something other than a call, as the world around a node does, and prints its line.
    pub(crate) fn meanwhile<T, E>(
        &mut self,
        what: &str,
        changed: &str,
        act: impl FnOnce() -> Result<T, E>,
    ) -> anyhow::Result<T>
    where
        anyhow::Error: From<E>,
    {
        what.clone_into(&mut self.last);
        let began = Instant::now();
        let done = act()?;
        line(began.elapsed(), what, changed);
        Ok(done)
    }

    /// Prints the result: the verdict last, where people look.
    pub(crate) fn summary(&self, outcome: &anyhow::Result<()>) {
        println!("\n{} calls in {}", self.calls, milliseconds(self.spent));
        if let Some((took, name)) = &self.slowest {
            println!("slowest: {name} with {}", milliseconds(*took));
        }
        match outcome {
            Ok(()) => println!("SUCCEEDED: every call did what a driver needs"),
            Err(_) => println!("FAILED at: {}; what follows it was not played", self.last),
        }
    }

    fn count(&mut self, name: &str, took: Duration) {
        self.calls += 1;
        self.spent += took;
        let slowest = self.slowest.as_ref();
        if slowest.is_none_or(|(slowest, _)| took > *slowest) {
            self.slowest = Some((took, name.to_owned()));
        }
    }
}

/// One play of a driver: its calls of a node.
pub(crate) struct CallPrinter {
    pub(crate) lines: Lines,
    node: Arc<dyn NodeApi>,
    folder: PathBuf,
}

impl CallPrinter {
    pub(crate) fn new(node: Arc<dyn NodeApi>, folder: &Path) -> Self {
        Self {
            lines: Lines::begin(),
            node,
            folder: folder.to_owned(),
        }
    }

    /// Makes one call and prints its line; `changed` explains the answer.
    pub(crate) fn call<T>(
        &mut self,
        name: &str,
        act: impl FnOnce(&dyn NodeApi, Deadline) -> wincsi::Result<T>,
        changed: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<T> {
        let deadline = self.node.deadline(TIMEOUT);
        let node = &*self.node;
        self.lines.call(name, || act(node, deadline), changed)
    }

    /// Does something outside of the API, as the world around a node does, and prints its line.
    pub(crate) fn meanwhile<T>(
        &mut self,
        what: &str,
        changed: &str,
        act: impl FnOnce(&Path) -> io::Result<T>,
    ) -> anyhow::Result<T> {
        let folder = &self.folder;
        self.lines.meanwhile(what, changed, || act(folder))
    }

    /// Where the simulated node keeps the files of a volume.
    pub(crate) fn volume_folder(node: &Path, VolumeId(guid): VolumeId) -> PathBuf {
        node.join("volumes").join(guid.to_string())
    }
}

/// Makes a sparse disk image longer, as a cloud does when a volume is expanded.
pub(crate) fn grow(image: &Path, bytes: u64) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(image)?
        .set_len(bytes)
}

fn line(took: Duration, call: &str, changed: &str) {
    println!("{:>10}  {call:<38} {changed}", milliseconds(took));
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
