//! `cargo xtask bench driver`: CSI calls of the node plugin, one and a hundred at a time, and with many staged volumes.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use super::contestant::Rival;
use super::dead_servers::DeadServers;
use super::procfs::Private;
use super::staged::{Memory, Staged};
use super::together::Together;
use super::{machine, markdown};
use crate::cargo::Build;
use crate::process::{self, Background};
use crate::trial;

const PROFILE: &str = "fast";
const ROUNDS: u32 = 3;

/// How many volumes are called for at a time, and how many are staged.
const VOLUMES: u32 = 100;
const STAGED: u32 = 10_000;

/// How many shares each of twenty servers has.
const SHARES: u32 = 50;

const PROGRAM: &str = "driver-bench";

const RUN: Duration = Duration::from_secs(10 * 60);
const START: Duration = Duration::from_secs(60);

/// CSI calls of `wincsi node`'s services over its socket, on simulated nodes
#[derive(Args)]
pub(super) struct Bench {
    /// One round with few volumes; writes nothing
    #[arg(long)]
    quick: bool,
    /// Another build that has its turn as well, from a folder with driver-bench; writes nothing
    #[arg(long, value_name = "NAME=FOLDER")]
    rival: Vec<Rival>,
    /// How often each build has its turn
    #[arg(long)]
    rounds: Option<u32>,
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Plan {
    rounds: u32,
    volumes: u32,
    staged: u32,
    /// How many shares each server has.
    shares: u32,
}

impl Bench {
    pub(super) fn run(self) -> Result<ExitCode> {
        let plan = self.plan();
        let program = build(trial::PACKAGE, PROGRAM)?;
        let plugin = build("wincsi-driver", "wincsi")?;
        let text = [
            head(plan)?,
            "Disks:".to_owned(),
            self.together("disks", &program, plan)?,
            "Folders of one share, which the first stage maps and the last unstage unmaps:"
                .to_owned(),
            self.together("folders", &program, plan)?,
            dead_servers(&program, plan)?.render(),
            staged(&program, plan.staged)?.render(),
            memory(&program, &plugin, plan.staged)?.render(),
        ];
        let text = text.join("\n\n");
        println!("{text}");
        if !self.quick && self.rival.is_empty() {
            markdown::write("driver", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Plan {
        let plan = match self.quick {
            true => Plan {
                rounds: 1,
                volumes: 20,
                staged: 500,
                shares: 5,
            },
            false => Plan {
                rounds: ROUNDS,
                volumes: VOLUMES,
                staged: STAGED,
                shares: SHARES,
            },
        };
        Plan {
            rounds: self.rounds.unwrap_or(plan.rounds),
            ..plan
        }
    }

    fn together(&self, kind: &str, program: &Path, plan: Plan) -> Result<String> {
        let ours = ("wincsi".to_owned(), program.to_owned());
        let rivals = self.rival.iter();
        let rivals = rivals.map(|rival| (rival.name.clone(), rival.file(PROGRAM)));
        let builds: Vec<_> = [ours].into_iter().chain(rivals).collect();
        let mut measured: Vec<_> = builds.iter().map(|_| Together::default()).collect();
        for round in 1..=plan.rounds {
            for ((name, program), together) in builds.iter().zip(&mut measured) {
                println!("round {round} of {kind}: {name}");
                let volumes = plan.volumes.to_string();
                let output = run(program, &[kind, "--volumes", &volumes])?;
                together.add(&output).with_context(|| name.clone())?;
            }
        }
        let named = builds.iter().map(|(name, _)| name.as_str()).zip(&measured);
        Ok(Together::render(plan.volumes, named))
    }
}

fn head(plan: Plan) -> Result<String> {
    let here = machine::here()?;
    Ok([
        format!("Measured on {} with `cargo xtask bench driver`.", here.date),
        String::new(),
        format!("- {}", here.machine()),
        format!("- Software: {}, profile {PROFILE}", here.rust),
        format!(
            "- Medians of {} rounds in turn; ratios are medians of each round's own",
            plan.rounds
        ),
    ]
    .join("\n"))
}

fn build(package: &str, binary: &str) -> Result<PathBuf> {
    Build {
        package,
        binary,
        profile: PROFILE,
        target: None,
    }
    .run()
}

fn run(program: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    let finished = process::capture(command.args(arguments), RUN)?;
    finished.success(PROGRAM)
}

fn staged(program: &Path, volumes: u32) -> Result<Staged> {
    let output = run(program, &["staged", "--volumes", &volumes.to_string()])?;
    Staged::parse(&output)
}

fn dead_servers(program: &Path, plan: Plan) -> Result<DeadServers> {
    let shares = plan.shares.to_string();
    DeadServers::parse(&run(program, &["dead-servers", "--shares", &shares])?)
}

/// The memory of `wincsi node` with the records of no and of many volumes, all of them missing, before any call.
fn memory(program: &Path, plugin: &Path, volumes: u32) -> Result<Memory> {
    let held = |volumes: u32| -> Result<Private> {
        let home = trial::private_dir()?;
        let records = home.path().join("records");
        let folder = records.display().to_string();
        run(program, &["records", &folder, &volumes.to_string()])?;
        let mut command = plugin_command(plugin, home.path(), &records);
        let log = home.path().join("wincsi.log");
        let mut node = Background::start("wincsi", &mut command, &log)?;
        node.wait_for_line("records compared", START)?;
        settled_memory(&mut node)
    };
    Ok(Memory {
        volumes,
        none: held(0)?,
        many: held(volumes)?,
    })
}

fn plugin_command(plugin: &Path, home: &Path, records: &Path) -> Command {
    let socket = |name: &str| format!("unix:{}", home.join(name).join("csi.sock").display());
    let mut command = Command::new(plugin);
    command.args(["node", "-host=sim", "-nodeid=bench", "-registration=off"]);
    command.arg(format!("-simulate={}", home.join("node").display()));
    command.arg(format!("-endpoint={}", socket("csi")));
    command.arg(format!("-state-dir={}", records.display()));
    command
}

/// Memory when two looks a second apart agree.
fn settled_memory(process: &mut Background) -> Result<Private> {
    let mut last = (Instant::now(), Private::default());
    process.wait_until("steady memory", START, |process| {
        if last.0.elapsed() < Duration::from_secs(1) {
            return None;
        }
        let now = Private::of(process.id()).ok()?;
        let steady = now == last.1;
        last = (Instant::now(), now);
        steady.then_some(now)
    })
}
