//! `cargo xtask bench`: how fast and how small, measured beside the limit and the Go peer.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

mod contestant;
mod machine;
mod markdown;
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
    Pipe(pipe::Pipe),
}

impl Bench {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.what {
            What::Pipe(bench) => bench.run(),
        }
    }
}
