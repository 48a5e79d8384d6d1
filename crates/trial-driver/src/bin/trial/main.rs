//! Tries wincsi's programs on a simulated node: the node, a CSI controller beside it, and the plays of the demo.

mod controller;
mod demo;
mod node;

use std::process::ExitCode;

use clap::Parser;

/// Tries wincsi's programs on a simulated node.
#[derive(Parser)]
enum Trial {
    #[command(subcommand)]
    Node(node::Command),
    Controller(controller::Arguments),
    #[command(subcommand)]
    Demo(demo::Play),
}

fn main() -> ExitCode {
    let outcome = match Trial::parse() {
        Trial::Node(command) => node::run(command),
        Trial::Controller(arguments) => controller::run(&arguments),
        Trial::Demo(play) => demo::run(&play),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}
