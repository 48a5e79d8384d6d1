//! What the play stands on: the client, the node's folder, and a line for each call.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use client::Client;
use wire::Rpc;

const PATIENCE: Duration = Duration::from_secs(60);

/// One play: calls go through here, so that each gets its line.
pub(crate) struct Stage {
    client: Client,
    node: PathBuf,
    kubelet: String,
    calls: u32,
    spent: Duration,
    slowest: Option<(Duration, &'static str)>,
}

impl Stage {
    pub(crate) fn new(sockets: &Path, node: &Path, kubelet: &str) -> Self {
        println!("{:>10}  {:<38} what changed", "took", "call");
        Self {
            client: Client::local(sockets),
            node: node.to_owned(),
            kubelet: kubelet.to_owned(),
            calls: 0,
            spent: Duration::ZERO,
            slowest: None,
        }
    }

    /// Calls one RPC and prints its line; `changed` says what the answer means.
    pub(crate) fn call<R: Rpc>(
        &mut self,
        request: &R::Request,
        changed: impl FnOnce(&R::Response) -> String,
    ) -> anyhow::Result<R::Response> {
        let began = Instant::now();
        let answer = self.client.call::<R>(request, PATIENCE);
        let took = began.elapsed();
        self.count(R::PATH, took);
        let response = answer?;
        line(took, &name::<R>(), &changed(&response));
        Ok(response)
    }

    /// Does something outside of the API, as the world around a node does, and prints its line.
    pub(crate) fn meanwhile<T>(
        &mut self,
        what: &str,
        changed: &str,
        act: impl FnOnce(&Path) -> io::Result<T>,
    ) -> anyhow::Result<T> {
        let began = Instant::now();
        let done = act(&self.node)?;
        line(began.elapsed(), what, changed);
        Ok(done)
    }

    /// A path below the kubelet's folder.
    pub(crate) fn kubelet(&self, below: &str) -> String {
        format!(r"{}\{below}", self.kubelet)
    }

    /// Where the simulated node keeps the files of a volume.
    pub(crate) fn volume_folder(node: &Path, volume_id: &str) -> PathBuf {
        let guid = volume_id
            .trim_start_matches(r"\\?\Volume{")
            .trim_end_matches(r"}\");
        node.join("volumes").join(guid)
    }

    pub(crate) fn summary(&self) {
        println!("\n{} calls in {}", self.calls, milliseconds(self.spent));
        if let Some((took, path)) = self.slowest {
            println!("slowest: {path} with {}", milliseconds(took));
        }
    }

    fn count(&mut self, path: &'static str, took: Duration) {
        self.calls += 1;
        self.spent += took;
        if self.slowest.is_none_or(|(slowest, _)| took > slowest) {
            self.slowest = Some((took, path));
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

fn name<R: Rpc>() -> String {
    format!("{} {}", R::GROUP, R::METHOD.name)
}

fn line(took: Duration, call: &str, changed: &str) {
    println!("{:>10}  {call:<38} {changed}", milliseconds(took));
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
