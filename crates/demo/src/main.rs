//! Plays a CSI driver over csi-proxy's pipes: a volume's whole life on a simulated node.
//!
//! One line a call: how long it took, which call, what changed. The last lines sum up; the exit
//! status is zero when every call did what a driver needs.

mod life;
mod stage;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::stage::Stage;

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
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut stage = Stage::new(&arguments.sockets, &arguments.node, &arguments.kubelet);
    let outcome = life::play(&mut stage);
    stage.summary();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
