//! `cargo xtask bench`: how fast and how small, measured beside the limit and the Go peer, and how fair.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};

use crate::cargo;

mod attack;
mod controller;
mod driver;
mod driver_tables;
mod machine;
mod pipe;
mod pipe_tables;
mod procfs;
mod servers;

pub(crate) use pipe::{Weight, weigh};

/// Measure speed, memory and fairness
#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Calls beside a process that floods the server, compared with calls beside none, on Linux and under Wine
    Attack(Options),
    /// Volumes of wincsi-controller on a Samba of this machine, beside smbclient
    Controller(Options),
    /// CSI calls of `wincsi node`'s services over its socket, on simulated nodes
    Driver(Options),
    /// Calls over a pipe: raw echo, Go peer and csi-proxy, under Wine and on Linux
    Pipe(Options),
}

impl Bench {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.what {
            What::Attack(options) => options.publish("attack", &attack::measure(&options)?),
            What::Controller(options) => {
                options.publish("controller", &controller::measure(&options)?)
            }
            What::Driver(options) => options.publish("driver", &driver::measure(&options)?),
            What::Pipe(options) => options.publish("pipe", &pipe::measure(&options)?),
        }
    }
}

#[derive(Args, Default)]
struct Options {
    /// One round with little to do, built without link-time optimisation; writes nothing
    #[arg(long)]
    quick: bool,
    /// Another build that has its turn as well, from a folder with its programs; writes nothing
    #[arg(long, value_name = "NAME=FOLDER")]
    rival: Vec<Rival>,
    /// How often each build has its turn
    #[arg(long)]
    rounds: Option<u32>,
}

impl Options {
    fn rounds(&self, usual: u32) -> u32 {
        self.rounds.unwrap_or(if self.quick { 1 } else { usual })
    }

    /// Our program and the rivals', with their names.
    fn builds(&self, ours: &str, exe: PathBuf, file: &str) -> Vec<(String, PathBuf)> {
        let rivals = self.rival.iter();
        let rivals = rivals.map(|rival| (rival.name.clone(), rival.folder.join(file)));
        [(ours.to_owned(), exe)].into_iter().chain(rivals).collect()
    }

    /// Prints a benchmark's report, and puts a whole one between its marks in docs/benchmarks.md.
    fn publish(&self, benchmark: &str, text: &str) -> Result<ExitCode> {
        println!("{text}");
        if !self.quick && self.rival.is_empty() {
            let path = cargo::root().join("docs/benchmarks.md");
            let old = fs::read_to_string(&path).context("docs/benchmarks.md")?;
            fs::write(&path, replace(&old, benchmark, text)?).context("docs/benchmarks.md")?;
            println!("written: docs/benchmarks.md");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Another build of the measured programs: a folder with them, and a name for it.
#[derive(Clone)]
struct Rival {
    name: String,
    folder: PathBuf,
}

impl FromStr for Rival {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, folder) = text.split_once('=').ok_or("NAME=FOLDER is wanted")?;
        Ok(Self {
            name: name.to_owned(),
            folder: folder.into(),
        })
    }
}

const END: &str = "<!-- end of what the benchmark writes -->\n";

/// The page with the part between the benchmark's marks replaced; a person's text around them stays.
fn replace(page: &str, benchmark: &str, text: &str) -> Result<String> {
    let begin = format!("<!-- written by `cargo xtask bench {benchmark}` -->\n");
    let (before, rest) = page
        .split_once(&begin)
        .context("the page has no such mark")?;
    let (_, after) = rest
        .split_once(END)
        .context("a part of the page has no end")?;
    Ok(format!(
        "{before}{begin}\n{}\n\n{END}{after}",
        text.trim_end()
    ))
}

/// The middle value; of two the lower.
fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len().saturating_sub(1) / 2;
    values.get(middle).copied().unwrap_or(f64::NAN)
}

/// Whether a target is reached, in a table's cell.
fn verdict(reached: bool) -> &'static str {
    if reached { "yes" } else { "**no**" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_stays() {
        let mark = |name: &str| format!("<!-- written by `cargo xtask bench {name}` -->\n");
        let part = |name, text| format!("{}\n{text}\n\n{END}", mark(name));
        let page = |text| {
            format!(
                "# Title\n{}\nWhy.\n{}",
                part("pipe", text),
                part("attack", "a")
            )
        };
        assert_eq!(replace(&page("one"), "pipe", "two\n").unwrap(), page("two"));
        assert!(replace("# Title\n", "pipe", "one").is_err());
    }

    #[test]
    fn the_middle_is_the_median() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 1.0);
        assert!(median([]).is_nan());
    }
}
