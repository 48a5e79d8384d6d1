//! What the play stands on: the handle, the node's folder, and a line for each call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use node::api::NodeApi;
use os::{Deadline, VolumeId, WinPath};

const TIMEOUT: Duration = Duration::from_secs(60);

/// One play: calls go through here, so that each gets its line.
pub(crate) struct CallPrinter {
    node: Arc<dyn NodeApi>,
    folder: PathBuf,
    kubelet: String,
    calls: u32,
    spent: Duration,
    slowest: Option<(Duration, &'static str)>,
    /// What was begun last.
    last: String,
}

impl CallPrinter {
    pub(crate) fn new(node: Arc<dyn NodeApi>, folder: &Path, kubelet: &str) -> Self {
        println!("{:>10}  {:<38} what changed", "took", "call");
        Self {
            node,
            folder: folder.to_owned(),
            kubelet: kubelet.to_owned(),
            calls: 0,
            spent: Duration::ZERO,
            slowest: None,
            last: String::from("the start"),
        }
    }

    /// Makes one call and prints its line; `changed` says what the answer means.
    pub(crate) fn call<T>(
        &mut self,
        name: &'static str,
        act: impl FnOnce(&dyn NodeApi, Deadline) -> node::api::Result<T>,
        changed: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<T> {
        name.clone_into(&mut self.last);
        let deadline = self.node.deadline(TIMEOUT);
        let began = Instant::now();
        let answer = act(&*self.node, deadline);
        let took = began.elapsed();
        self.count(name, took);
        let answer = answer?;
        line(took, name, &changed(&answer));
        Ok(answer)
    }

    /// Does something outside of the API, as the world around a node does, and prints its line.
    pub(crate) fn meanwhile<T>(
        &mut self,
        what: &str,
        changed: &str,
        act: impl FnOnce(&Path) -> io::Result<T>,
    ) -> anyhow::Result<T> {
        what.clone_into(&mut self.last);
        let began = Instant::now();
        let done = act(&self.folder)?;
        line(began.elapsed(), what, changed);
        Ok(done)
    }

    /// A path below the kubelet's folder.
    pub(crate) fn kubelet(&self, below: &str) -> anyhow::Result<WinPath> {
        Ok(format!(r"{}\{below}", self.kubelet).parse()?)
    }

    /// Where the simulated node keeps the files of a volume.
    pub(crate) fn volume_folder(node: &Path, VolumeId(guid): VolumeId) -> PathBuf {
        node.join("volumes").join(guid.to_string())
    }

    /// Says how it went: the verdict last, where people look.
    pub(crate) fn summary(&self, outcome: &anyhow::Result<()>) {
        println!("\n{} calls in {}", self.calls, milliseconds(self.spent));
        if let Some((took, name)) = self.slowest {
            println!("slowest: {name} with {}", milliseconds(took));
        }
        match outcome {
            Ok(()) => println!("SUCCEEDED: every call did what a driver needs"),
            Err(_) => println!("FAILED at: {}; what follows it was not played", self.last),
        }
    }

    fn count(&mut self, name: &'static str, took: Duration) {
        self.calls += 1;
        self.spent += took;
        if self.slowest.is_none_or(|(slowest, _)| took > slowest) {
            self.slowest = Some((took, name));
        }
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
