//! Plays a CSI driver over csi-proxy's pipes: a volume's whole life on a simulated node.
//!
//! One line a call: how long it took, which call, what changed. The last lines sum up; the exit
//! status is zero when every call did what a driver needs. With `--in-process` the same driver does
//! without csi-proxy: the line that makes its handle is another one, and nothing else.

mod life;
mod printer;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use client::{Endpoint, Group};
use node::api::NodeApi;
use os_sim::{ClockMode, Profile, SimNode};

use crate::printer::CallPrinter;

/// A CSI driver's volume life, played against a csi-proxy that serves a simulated node.
#[derive(Parser)]
struct Arguments {
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
    /// Only make the simulated node, for a server to be started with.
    #[arg(long)]
    make: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.make {
        return made(&arguments.node, arguments.profile).map(drop);
    }
    let node: Arc<dyn NodeApi> = match arguments.in_process {
        true => Arc::new(node::Node::new(
            simulated(&arguments.node, arguments.profile)?,
            node::Options::default(),
        )),
        false => Arc::new(served(arguments.sockets.clone())),
    };
    let mut printer = CallPrinter::new(node, &arguments.node, &arguments.kubelet);
    let outcome = life::play(&mut printer, arguments.profile);
    printer.summary(&outcome);
    outcome
}

/// The pipes on Windows, the sockets in the folder elsewhere: where `csi-proxy -listen=FOLDER` serves.
fn served(folder: PathBuf) -> client::Node {
    let place = move |group: &Group| Endpoint::local(&folder, &group.pipe_name());
    client::Node::at(place, client::Options::default())
}

fn simulated(folder: &Path, profile: Option<Profile>) -> anyhow::Result<os::Os> {
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
        Some(profile) => os_sim::demo::create_on(profile, folder, ClockMode::Real)?,
        None => os_sim::demo::create(folder, ClockMode::Real)?,
    })
}
