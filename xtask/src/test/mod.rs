//! `cargo xtask test`: every test of the project, on Linux and under Wine, ours and foreign ones.

use std::cell::{Cell, OnceCell};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use crate::env::{self, Need, Provision};
use crate::host::Host;
use crate::wine::Prefix;
use crate::{demo, server};

mod artifacts;
mod counts;
mod deploy;
mod go;
mod lanes;
mod outcome;
mod program;
mod quick;
mod report;
mod rust;
mod sanity;
mod sweeps;
mod verdict;

pub(crate) use artifacts::{Artifact, Built};

use self::counts::Counts;
use self::lanes::Lanes;
use self::outcome::{Failure, Outcome};
use self::report::Row;
use self::sweeps::Sweeps;

/// Run all tests and print a table of what ran
#[derive(Args)]
pub(crate) struct Test {
    /// Run this step alone; may be given several times
    #[arg(long, value_name = "STEP", value_parser = step_names())]
    only: Vec<String>,
    /// Draw ten times as many random cases
    #[arg(long)]
    full: bool,
    /// Try what was changed since main alone, on Linux, and what of style concerns it
    #[arg(long, conflicts_with_all = ["only", "full"])]
    quick: bool,
}

/// A part of the tests with a row of its own in the report.
struct Step {
    name: &'static str,
    about: &'static str,
    needs: &'static [Need],
    run: fn(&Session) -> Result<Outcome>,
}

const STEPS: &[Step] = &[
    Step {
        name: "linux",
        about: "cargo test --workspace, two programs at a time",
        needs: &[],
        run: rust::linux,
    },
    Step {
        name: "wine",
        about: "the test programs of the crates with code for Windows, under Wine",
        needs: Host::WINE_NEEDS,
        run: rust::wine,
    },
    Step {
        name: "go-linux",
        about: "the official Go clients, old and new, against csi-proxy on Unix sockets",
        needs: &[Need::Go, Need::GoModules],
        run: go::linux,
    },
    Step {
        name: "go-wine",
        about: "the official Go clients, old and new, against csi-proxy.exe on named pipes",
        needs: &[
            Need::WindowsTarget,
            Need::Mingw,
            Need::Wine,
            Need::Go,
            Need::GoModules,
        ],
        run: go::wine,
    },
    Step {
        name: "sanity",
        about: "csi-sanity, and kubelet's dials, against wincsi node on Unix sockets",
        needs: &[Need::Go, Need::GoModules],
        run: sanity::linux,
    },
    Step {
        name: "deploy",
        about: "the image, by what reads images, and the manifests' command lines, under Wine",
        needs: &[
            Need::WindowsTarget,
            Need::Mingw,
            Need::Wine,
            Need::Go,
            Need::GoModules,
            Need::Image,
        ],
        run: deploy::run,
    },
    Step {
        name: "demo-linux",
        about: "the demo: a volume's life over the wire",
        needs: &[],
        run: demos_on_linux,
    },
    Step {
        name: "demo-wine",
        about: "the demo with the Windows programs",
        needs: Host::WINE_NEEDS,
        run: |session| steady_demo(session, session.wine()?[0], None),
    },
];

/// State shared by the steps of one run.
struct Session {
    provision: Provision,
    sweeps: Sweeps,
    prefixes: OnceCell<[Prefix; 2]>,
    for_linux: OnceCell<Built>,
    for_wine: OnceCell<Built>,
    /// The part not yet charged to steps.
    building: Cell<Duration>,
}

impl Session {
    /// The run's Wine prefixes, made when the first step needs them.
    fn wine(&self) -> Result<Lanes<'_>> {
        if self.prefixes.get().is_none() {
            let _ = self.prefixes.set([Prefix::create()?, Prefix::create()?]);
        }
        let prefixes = self.prefixes.get().context("no prefixes")?;
        Ok(prefixes.each_ref().map(Host::Wine))
    }

    /// The build of a host's tests, made by the first step that needs it.
    fn built(&self, host: Host<'_>) -> Result<&Built> {
        let cell = match host {
            Host::Linux => &self.for_linux,
            Host::Wine(_) => &self.for_wine,
        };
        if let Some(built) = cell.get() {
            return Ok(built);
        }
        let built = rust::build_all(host)?;
        self.building.set(built.took);
        Ok(cell.get_or_init(|| built))
    }
}

impl Test {
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.quick {
            return quick::run();
        }
        let steps: Vec<&Step> = STEPS.iter().filter(|step| self.selects(step)).collect();
        let started = Instant::now();
        let session = Session {
            provision: env::provide(&needs(&steps))?,
            sweeps: if self.full {
                Sweeps::Full
            } else {
                Sweeps::Usual
            },
            prefixes: OnceCell::new(),
            for_linux: OnceCell::new(),
            for_wine: OnceCell::new(),
            building: Cell::default(),
        };
        let set_up = started.elapsed();
        let mut rows: Vec<Row> = steps.iter().map(|step| run_step(step, &session)).collect();
        rows.extend(report::missing_tools(&session.provision));
        drop(session);
        Ok(report::print(set_up, &rows))
    }

    fn selects(&self, step: &Step) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == step.name)
    }
}

/// On the usual node, and on one of each profile.
fn demos_on_linux(session: &Session) -> Result<Outcome> {
    let mut outcome = steady_demo(session, Host::Linux, None)?;
    for profile in demo::PROFILES {
        outcome.add(steady_demo(session, Host::Linux, Some(profile))?);
    }
    Ok(outcome)
}

fn steady_demo(session: &Session, host: Host<'_>, profile: Option<&str>) -> Result<Outcome> {
    let built = session.built(host)?;
    let programs = demo::Programs {
        server: built.binary(server::BINARY)?,
        wincsi: built.binary(demo::WINCSI)?,
        driver: built.binary(demo::DRIVER)?,
    };
    let mut outcome = Outcome::steady("the demo", || demo(host, programs, profile))?;
    if profile.is_none() {
        let kubelet = || kubelets_demo(host, programs);
        outcome.add(Outcome::steady("the demo of kubelet", kubelet)?);
    }
    Ok(outcome)
}

fn kubelets_demo(host: Host<'_>, programs: demo::Programs<'_>) -> Result<Outcome> {
    demo::kubelet::play(host, programs)?;
    Ok(Outcome {
        counts: Counts::passed(1),
        ..Outcome::default()
    })
}

/// The demo counts as one test; its lines show what it checks.
fn demo(host: Host<'_>, programs: demo::Programs<'_>, profile: Option<&str>) -> Result<Outcome> {
    let rehearsal = demo::rehearse(host, programs, profile)?;
    let mut outcome = Outcome::default();
    let played = rehearsal.played;
    if played.status.success() {
        outcome.counts = Counts::passed(1);
    } else {
        let (status, log) = (played.status, rehearsal.log);
        let output = format!("{}\nthe end of csi-proxy's log:\n{log}", played.output);
        outcome.add(Outcome::failed(Failure::new(
            format!(
                "the demo on {}: {status}",
                profile.unwrap_or("the usual node")
            ),
            output,
        )));
    }
    outcome.check("csi-proxy", rehearsal.stopped);
    Ok(outcome)
}

fn step_names() -> clap::builder::PossibleValuesParser {
    STEPS
        .iter()
        .map(|step| step.name)
        .collect::<Vec<_>>()
        .into()
}

/// The steps' needs, and the makers of fixtures, found by the tests themselves.
fn needs(steps: &[&Step]) -> Vec<Need> {
    steps
        .iter()
        .flat_map(|step| step.needs)
        .copied()
        .chain([Need::Mkfs])
        .collect()
}

fn run_step(step: &Step, session: &Session) -> Row {
    let lacking: Vec<String> = step
        .needs
        .iter()
        .filter_map(|need| session.provision.lacks(*need))
        .collect();
    if !lacking.is_empty() {
        return Row::skipped(step.name, &lacking.join("; "), 1);
    }
    println!("\n== {}: {}", step.name, step.about);
    let started = Instant::now();
    let mut outcome = (step.run)(session);
    if let Ok(outcome) = &mut outcome {
        outcome.building += session.building.take();
    }
    Row::ran(step.name, step.about, outcome, started.elapsed())
}
