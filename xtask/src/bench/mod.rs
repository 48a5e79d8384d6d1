//! `cargo xtask bench`: how fast and how small, measured beside the limit and the Go peer, and how fair.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

mod attack;
mod contestant;
mod dead_servers;
mod driver;
mod fairness;
mod machine;
mod markdown;
mod pipe;
mod procfs;
mod results;
mod staged;
mod together;

pub(crate) use machine::today;

/// Measure speed, memory and fairness
#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Attack(attack::Bench),
    Driver(driver::Bench),
    Pipe(pipe::Pipe),
}

impl Bench {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.what {
            What::Attack(bench) => bench.run(),
            What::Driver(bench) => bench.run(),
            What::Pipe(bench) => bench.run(),
        }
    }
}
