//! `cargo xtask bench driver`: CSI calls of the node plugin, one and a hundred at a time, and with many staged volumes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::driver_tables::{self, Figures};
use super::procfs::{self, Private};
use super::{Options, machine};
use crate::cargo::Build;
use crate::process::{self, Background};
use crate::trial;

const PROFILE: &str = "fast";
const PROGRAM: &str = "driver-bench";

const RUN: Duration = Duration::from_secs(10 * 60);
const START: Duration = Duration::from_secs(60);

/// How much is measured.
#[derive(Clone, Copy)]
struct Plan {
    rounds: u32,
    /// How many are called for at a time.
    volumes: u32,
    staged: u32,
    /// How many shares each of twenty servers has.
    shares: u32,
}

/// Measures all, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    let (volumes, staged, shares) = match options.quick {
        true => (20, 500, 5),
        false => (100, 10_000, 50),
    };
    let plan = Plan {
        rounds: options.rounds(3),
        volumes,
        staged,
        shares,
    };
    let program = build(trial::PACKAGE, PROGRAM)?;
    let plugin = build(trial::PLUGIN_PACKAGE, trial::PLUGIN)?;
    let builds = options.builds(trial::PLUGIN, program.clone(), PROGRAM);
    let rounds = plan.rounds;
    let facts =
        format!("Medians of {rounds} rounds in turn; ratios are medians of each round's own");
    let text = [
        machine::head("driver", &[&format!("profile {PROFILE}")], &[&facts])?,
        "Disks:".to_owned(),
        side_by_side("disks", &builds, plan)?,
        "Folders of one share, which the first stage maps and the last unstage unmaps:".to_owned(),
        side_by_side("folders", &builds, plan)?,
        luns(&program, plan)?,
        driver_tables::dead_servers(&run(&program, &["dead-servers"], "--shares", plan.shares)?),
        driver_tables::doctor(&run(&program, &["doctor"], "--volumes", plan.volumes)?),
        driver_tables::staged(&run(&program, &["staged"], "--volumes", plan.staged)?),
        driver_tables::memory(&memory(&program, &plugin, plan.staged)?),
    ];
    Ok(text.join("\n\n"))
}

pub(super) fn build(package: &str, binary: &str) -> Result<PathBuf> {
    Build {
        package,
        binary,
        profile: PROFILE,
        target: None,
    }
    .run()
}

fn run(program: &Path, what: &[&str], option: &str, number: u32) -> Result<Figures> {
    let mut command = Command::new(program);
    command.args(what).args([option, &number.to_string()]);
    Figures::read(&process::capture(&mut command, RUN)?.success(PROGRAM)?)
}

/// LUNs, where each first portal answers and where none does.
fn luns(program: &Path, plan: Plan) -> Result<String> {
    let [mut living, mut dead] = [Vec::new(), Vec::new()];
    for round in 1..=plan.rounds {
        println!("round {round} of LUNs");
        let figures = |what: &[&str]| run(program, what, "--volumes", plan.volumes);
        living.push(figures(&["luns"])?);
        dead.push(figures(&["luns", "--first-portals-dead"])?);
    }
    Ok(driver_tables::luns(plan.volumes, living, dead))
}

fn side_by_side(kind: &str, builds: &[(String, PathBuf)], plan: Plan) -> Result<String> {
    let mut measured: Vec<_> = builds
        .iter()
        .map(|(name, _)| (&**name, Vec::new()))
        .collect();
    for round in 1..=plan.rounds {
        for ((name, rounds), (_, program)) in measured.iter_mut().zip(builds) {
            println!("round {round} of {kind}: {name}");
            let figures = run(program, &[kind], "--volumes", plan.volumes);
            rounds.push(figures.with_context(|| (*name).to_owned())?);
        }
    }
    Ok(driver_tables::side_by_side(plan.volumes, &measured))
}

/// The memory of `wincsi node` with the records of no and of many volumes, all of them missing, before any call.
fn memory(program: &Path, plugin: &Path, volumes: u32) -> Result<[(u32, Private); 2]> {
    let held = |volumes: u32| -> Result<(u32, Private)> {
        let home = trial::private_dir()?;
        let records = home.path().join("records");
        let mut make = Command::new(program);
        make.arg("records").arg(&records).arg(volumes.to_string());
        process::capture(&mut make, RUN)?.success(PROGRAM)?;
        let mut command = plugin_command(plugin, home.path(), &records);
        let log = home.path().join("wincsi.log");
        let mut node = Background::start("wincsi", &mut command, &log)?;
        node.wait_for_line("records compared", START)?;
        Ok((volumes, procfs::settled(&mut node)?))
    };
    Ok([held(0)?, held(volumes)?])
}

fn plugin_command(plugin: &Path, home: &Path, records: &Path) -> Command {
    let mut command = Command::new(plugin);
    command.args(["node", "-host=sim", "-nodeid=bench", "-registration=off"]);
    command.arg(format!("-simulate={}", home.join("node").display()));
    command.arg(format!(
        "-endpoint=unix:{}",
        home.join("csi/csi.sock").display()
    ));
    command.arg(format!("-state-dir={}", records.display()));
    command
}
