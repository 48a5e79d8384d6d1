//! Plays the callers of wincsi's programs, on a simulated node: one line a call, with its time, its name, and its
//! effect. The last lines sum up; the exit status is zero if every call met a driver's needs.
//!
//! - `driver` is a CSI driver's life of a volume over csi-proxy's pipes. With `--in-process` the same driver works
//!   without csi-proxy: only the line for its handle differs.
//! - `kubelet` is kubelet, as `wincsi node` meets it, in two acts with a restart of the node between them.

mod kubelet;
mod life;
mod printer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use wincsi::pipes::{self, Group};
use wincsi::sim::{ClockMode, Profile, SimNode, demo};
use wincsi::{Node, NodeApi, Options, Os};

use crate::kubelet::{Act, World};
use crate::printer::{CallPrinter, Lines};

/// Plays on a simulated node, to watch.
#[derive(Parser)]
enum Play {
    /// Make the simulated node, for a server to be started with, and print the folder of its drive C.
    Make {
        /// The node's folder.
        #[arg(long)]
        node: PathBuf,
        /// A machine of this profile: azure-scsi, ebs, hyper-v or vsphere.
        #[arg(long)]
        profile: Option<Profile>,
    },
    /// Restart the simulated machine, which nobody may have open.
    Reboot {
        /// The node's folder.
        #[arg(long)]
        node: PathBuf,
    },
    Driver(Driver),
    Kubelet(Kubelet),
}

/// A CSI driver's volume life, played against a csi-proxy that serves a simulated node.
#[derive(clap::Args)]
struct Driver {
    /// The folder of the simulated node that the server was started with.
    #[arg(long)]
    node: PathBuf,
    /// The folder of the server's sockets; not used on Windows.
    #[arg(long, default_value = "csi-proxy")]
    sockets: PathBuf,
    /// The kubelet's folder on the node.
    #[arg(long, default_value = r"C:\var\lib\kubelet")]
    kubelet: String,
    /// Do the work in this process, without a server.
    #[arg(long)]
    in_process: bool,
    /// Play on a machine of this profile: azure-scsi, ebs, hyper-v or vsphere.
    #[arg(long)]
    profile: Option<Profile>,
}

/// Kubelet, played against a `wincsi node` that serves a simulated node.
#[derive(clap::Args)]
struct Kubelet {
    /// The folder of the simulated node that the server was started with.
    #[arg(long)]
    node: PathBuf,
    /// The folder of its drive C, as `make` printed it.
    #[arg(long)]
    drive_c: PathBuf,
    /// Where the driver serves its registration.
    #[arg(long)]
    registration: transport::Endpoint,
    /// Before or after the restart.
    #[arg(long, value_enum)]
    act: Act,
}

fn main() -> ExitCode {
    let outcome = match Play::parse() {
        Play::Make { node, profile } => make(&node, profile),
        Play::Reboot { node } => reboot(&node),
        Play::Driver(driver) => driver.play(),
        Play::Kubelet(kubelet) => kubelet.play(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn make(folder: &Path, profile: Option<Profile>) -> anyhow::Result<()> {
    let node = made(folder, profile)?;
    println!("{}", node.files().host_path(&r"C:\".parse()?)?.display());
    Ok(())
}

fn reboot(folder: &Path) -> anyhow::Result<()> {
    Ok(SimNode::open(folder, ClockMode::Real)?.reboot()?)
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
        let mut printer = CallPrinter::new(node, &self.node, &self.kubelet);
        let outcome = life::play(&mut printer, self.profile);
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
        false => made(folder, profile)?,
    };
    Ok(node.os())
}

fn made(folder: &Path, profile: Option<Profile>) -> anyhow::Result<SimNode> {
    Ok(match profile {
        Some(profile) => demo::create_on(profile, folder, ClockMode::Real)?,
        None => demo::create(folder, ClockMode::Real)?,
    })
}
