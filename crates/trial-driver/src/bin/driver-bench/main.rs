//! The measurements of `cargo xtask bench driver`: CSI calls over the socket, on simulated nodes of many disks.
//!
//! Each figure is a line of words: the measured value, the call, the number of others beside it, and milliseconds; if
//! processor time counts, its milliseconds too.

mod dead_servers;
mod doctor;
mod luns;
mod node;
mod side_by_side;
mod staged;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Measure CSI calls over the socket, on simulated nodes.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The life of disks, one at a time and many at a time, where operations take as long as real ones.
    Disks(Lives),
    /// The life of folders of one share, likewise.
    Folders(Lives),
    /// The life of LUNs, 20 of each target, likewise.
    Luns {
        #[command(flatten)]
        lives: Lives,
        /// Whether the first portal of each target does not answer.
        #[arg(long)]
        first_portals_dead: bool,
    },
    /// Calls for shares of servers that live, on a node with servers that do not answer and on one without.
    DeadServers {
        /// How many shares each server has.
        #[arg(long, default_value_t = 50)]
        shares: u32,
        /// How many times each call is made on each node.
        #[arg(long, default_value_t = 100)]
        calls: u32,
    },
    /// Looks of the doctor at a healthy node with so many staged volumes, and beside so many stages.
    Doctor {
        #[arg(long, default_value_t = 100)]
        volumes: u32,
    },
    /// Start and stats with many staged volumes, and with few.
    Staged {
        /// How many are many.
        #[arg(long, default_value_t = 10_000)]
        volumes: u32,
        /// How many calls are made on each node.
        #[arg(long, default_value_t = 4_000)]
        calls: u32,
    },
    /// Write the records of so many staged volumes into a folder.
    Records { folder: PathBuf, volumes: u32 },
}

#[derive(Args)]
struct Lives {
    /// How many at a time.
    #[arg(long, default_value_t = 100)]
    volumes: u32,
    /// How many one at a time.
    #[arg(long, default_value_t = 3)]
    alone: u32,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Disks(Lives { volumes, alone }) => side_by_side::disks(volumes, alone),
        Command::Folders(Lives { volumes, alone }) => side_by_side::folders(volumes, alone),
        Command::Luns {
            lives: Lives { volumes, alone },
            first_portals_dead,
        } => luns::run(volumes, alone, first_portals_dead),
        Command::DeadServers { shares, calls } => dead_servers::run(shares, calls),
        Command::Doctor { volumes } => doctor::run(volumes),
        Command::Staged { volumes, calls } => staged::run(volumes, calls),
        Command::Records { folder, volumes } => staged::write_records(&folder, volumes),
    }
}
