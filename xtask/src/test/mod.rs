//! `cargo xtask test`: every test of the project, on Linux and under Wine, ours and foreign ones.

use std::cell::{Cell, OnceCell};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;

use crate::demo;
use crate::env::{self, Need};
use crate::host::Host;
use crate::wine::Prefix;

mod artifacts;
pub(crate) mod chart;
mod deploy;
mod go;
mod lanes;
mod outcome;
mod program;
mod quick;
mod report;
mod rust;
mod sanity;
mod verdict;
mod weight;

pub(crate) use artifacts::{Artifact, Built};

use self::lanes::Lanes;
use self::outcome::Outcome;
use self::report::Row;

/// Run all tests and print a table of what ran
#[derive(Args)]
pub(crate) struct Test {
    /// Run this step alone; may be given several times
    #[arg(long, value_name = "STEP", value_parser = STEPS.map(|step| step.name))]
    only: Vec<String>,
    /// Try what was changed since main alone, on Linux, and what of style concerns it
    #[arg(long, conflicts_with = "only")]
    quick: bool,
}

/// A part of the tests with a row of its own in the report.
#[derive(Clone, Copy)]
struct Step {
    name: &'static str,
    about: &'static str,
    needs: &'static [Need],
    run: fn(&Session) -> Result<Outcome>,
}

const STEPS: [Step; 10] = [
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
        needs: &[Need::Go],
        run: go::linux,
    },
    Step {
        name: "go-wine",
        about: "the official Go clients, old and new, against csi-proxy.exe on named pipes",
        needs: &[Need::Windows, Need::Wine, Need::Go],
        run: go::wine,
    },
    Step {
        name: "sanity",
        about: "csi-sanity, and kubelet's dials, against wincsi node on Unix sockets",
        needs: &[Need::Go],
        run: sanity::linux,
    },
    Step {
        name: "deploy",
        about: "the image, by what reads images, and the manifests' command lines, under Wine",
        needs: &[Need::Windows, Need::Wine, Need::Go, Need::Image],
        run: deploy::run,
    },
    Step {
        name: "chart",
        about: "the chart, by Helm 3 and Helm 4: what they render, and what they refuse",
        needs: &[Need::Go, Need::Helm],
        run: chart::run,
    },
    Step {
        name: "demo-linux",
        about: "the demo: a volume's life over the wire",
        needs: &[],
        run: |session| demos(session, Host::Linux, &demo::PROFILES),
    },
    Step {
        name: "demo-wine",
        about: "the demo with the Windows programs",
        needs: Host::WINE_NEEDS,
        run: |session| demos(session, session.wine()?[0], &[]),
    },
    Step {
        name: "weight",
        about: "csi-proxy.exe as it is released: its size, and its memory under Wine",
        needs: &[Need::Windows, Need::Wine, Need::Go],
        run: weight::wine,
    },
];

/// State shared by the steps of one run.
#[derive(Default)]
struct Session {
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
        let is_selected =
            |step: &Step| self.only.is_empty() || self.only.contains(&step.name.into());
        let steps: Vec<Step> = STEPS.into_iter().filter(is_selected).collect();
        let started = Instant::now();
        // Tests find the makers of fixtures, and Samba, by themselves.
        let needs = steps
            .iter()
            .flat_map(|step| step.needs)
            .chain(&[Need::Mkfs, Need::Samba]);
        env::provide(&needs.copied().collect::<Vec<_>>())?;
        let set_up = started.elapsed();
        let session = Session::default();
        let rows: Vec<Row> = steps.iter().map(|step| step.run(&session)).collect();
        drop(session);
        Ok(report::print(set_up, &rows))
    }
}

impl Step {
    fn run(&self, session: &Session) -> Row {
        println!("\n== {}: {}", self.name, self.about);
        let started = Instant::now();
        let mut outcome = (self.run)(session);
        if let Ok(outcome) = &mut outcome {
            outcome.building += session.building.take();
        }
        Row::ran(self.name, self.about, outcome, started.elapsed())
    }
}

/// The demo on the usual node and on one of each profile, and kubelet's; each counts as one test.
fn demos(session: &Session, host: Host<'_>, profiles: &[&str]) -> Result<Outcome> {
    let built = session.built(host)?;
    let programs = demo::Programs::find(|name| built.binary(name).map(ToOwned::to_owned))?;
    let steady = |what: &str, play: &dyn Fn() -> Result<()>| {
        Outcome::steady(what, || play().map(|()| Outcome::passed(1)))
    };
    let mut outcome = steady("the demo", &|| demo::play(host, &programs, None))?;
    outcome.add(steady("the demo of kubelet", &|| {
        demo::kubelet::play(host, &programs)
    })?);
    for profile in profiles {
        let what = format!("the demo on {profile}");
        let play = || demo::play(host, &programs, Some(profile));
        outcome.add(steady(&what, &play)?);
    }
    Ok(outcome)
}
