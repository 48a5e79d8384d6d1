//! `cargo xtask bench`: how fast and how small, measured beside the limit and the Go peer.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use clap::Subcommand;

mod contestant;
mod machine;
mod markdown;
mod node;
mod pipe;
mod procfs;
mod results;

pub(crate) use machine::today;

/// Measure speed and memory
#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Node(node::Node),
    Pipe(pipe::Pipe),
}

impl Bench {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.what {
            What::Node(bench) => bench.run(),
            What::Pipe(bench) => bench.run(),
        }
    }
}
