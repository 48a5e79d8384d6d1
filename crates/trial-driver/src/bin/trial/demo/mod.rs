//! Plays the callers of wincsi's programs, on a simulated node: one line a call, with its time, its name, and its
//! effect. The last lines sum up; the exit status is zero if every call met a driver's needs.
//!
//! - `driver` is a CSI driver's life of a volume over csi-proxy's pipes. With `--in-process` the same driver works
//!   without csi-proxy: only the line for its handle differs.
//! - `kubelet` is kubelet, as `wincsi node` meets it, in two acts with a restart of the node between them.

mod driver;
mod kubelet;
mod printer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use wincsi::pipes::{self, Group};
use wincsi::sim::{ClockMode, Profile, SimNode};
use wincsi::{Node, NodeApi, Options, Os};

use self::kubelet::{Act, World};
use self::printer::{CallPrinter, Lines};
use crate::node;

/// Play on a simulated node, to watch.
#[derive(Subcommand)]
pub(crate) enum Play {
    Driver(Driver),
    Kubelet(Kubelet),
}

/// A CSI driver's volume life, played against a csi-proxy that serves a simulated node.
#[derive(Args)]
pub(crate) struct Driver {
    /// The folder of the simulated node that the server was started with.
    #[arg(long)]
    node: PathBuf,
    /// The folder of the server's sockets; not used on Windows.
    #[arg(long, default_value = "csi-proxy")]
    sockets: PathBuf,
    /// Do the work in this process, without a server.
    #[arg(long)]
    in_process: bool,
    /// Play on a machine of this profile: azure-scsi, ebs, hyper-v or vsphere.
    #[arg(long)]
    profile: Option<Profile>,
}

/// Kubelet, played against a `wincsi node` that serves a simulated node.
#[derive(Args)]
pub(crate) struct Kubelet {
    /// The folder of the simulated node that the server was started with.
    #[arg(long)]
    node: PathBuf,
    /// The folder of its drive C, as `node demo` printed it.
    #[arg(long)]
    drive_c: PathBuf,
    /// Where the driver serves its registration.
    #[arg(long)]
    registration: transport::Endpoint,
    /// Before or after the restart.
    #[arg(long, value_enum)]
    act: Act,
}

pub(crate) fn run(play: &Play) -> anyhow::Result<()> {
    match play {
        Play::Driver(driver) => driver.play(),
        Play::Kubelet(kubelet) => kubelet.play(),
    }
}

impl Driver {
    fn play(&self) -> anyhow::Result<()> {
        let node: Arc<dyn NodeApi> = match self.in_process {
            true => Arc::new(Node::new(
                simulated(&self.node, self.profile)?,
                Options::default(),
            )),
            false => Arc::new(served(self.sockets.clone())),
        };
        let mut printer = CallPrinter::new(node, &self.node);
        let outcome = driver::play(&mut printer, self.profile);
        printer.lines.summary(&outcome);
        outcome
    }
}

impl Kubelet {
    fn play(&self) -> anyhow::Result<()> {
        let world = World::of(&self.node, &self.drive_c);
        let mut lines = Lines::begin();
        let outcome = kubelet::play(&mut lines, &world, &self.registration, self.act);
        lines.summary(&outcome);
        outcome
    }
}

/// The pipes on Windows, the sockets in the folder elsewhere: where `csi-proxy -listen=FOLDER` serves.
fn served(folder: PathBuf) -> pipes::Node {
    let place = move |group: &Group| pipes::Endpoint::local(&folder, &group.pipe_name());
    pipes::Node::at(place, pipes::Options::default())
}

fn simulated(folder: &Path, profile: Option<Profile>) -> anyhow::Result<Os> {
    println!(
        "SIMULATED NODE in {}: nothing here touches a real disk\n",
        folder.display()
    );
    let node = match SimNode::exists(folder) {
        true => SimNode::open(folder, ClockMode::Real)?,
        false => node::demo_node(folder, profile)?,
    };
    Ok(node.os())
}
