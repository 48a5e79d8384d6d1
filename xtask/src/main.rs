//! Every chore of the project, each a command of `cargo xtask`.
//!
//! The motto: about to write a shell script? Write an xtask instead. It is typed, it is checked by
//! the compiler, and it runs the same way on every machine. Three habits hold throughout:
//!
//! - **Every wait is bounded.** A child process has a time limit, and is ended with all its
//!   descendants when the limit passes ([`process`]).
//! - **Output goes to files.** Wine's services outlive a program and inherit stdout; a pipe would
//!   then stay open for ever. The files are followed, so the terminal still shows everything as it
//!   happens.
//! - **Nothing is skipped in silence.** A missing tool is installed, or named in an error ([`env`]).

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod bench;
mod cargo;
mod chart;
mod cluster;
mod coverage;
mod demo;
mod docs;
mod env;
mod git;
mod host;
mod image;
mod manifests;
mod packages;
mod process;
mod samba;
mod server;
mod test;
mod tidy;
mod trial;
mod wine;

#[derive(Parser)]
#[command(name = "cargo xtask", about, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    Bench(bench::Bench),
    Cluster(cluster::Cluster),
    Coverage(coverage::Coverage),
    Demo(demo::Demo),
    Docs(docs::Docs),
    Image(image::Image),
    Promises(tidy::Promises),
    Test(test::Test),
    Tidy(tidy::Tidy),
    WineRunner(wine::runner::WineRunner),
}

impl Task {
    fn run(self) -> Result<ExitCode> {
        match self {
            Self::Bench(task) => task.run(),
            Self::Cluster(task) => task.run(),
            Self::Coverage(task) => task.run(),
            Self::Demo(task) => task.run(),
            Self::Docs(task) => task.run(),
            Self::Image(task) => task.run(),
            Self::Promises(task) => task.run(),
            Self::Test(task) => task.run(),
            Self::Tidy(task) => task.run(),
            Self::WineRunner(task) => task.run(),
        }
    }
}

fn main() -> ExitCode {
    match process::interrupt::watch().and_then(|()| Cli::parse().command.run()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
