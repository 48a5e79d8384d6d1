//! `cargo xtask bench pipe`: calls over a named pipe under Wine, then over a Unix socket.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use clap::Args;

use super::contestant::{Contestant, Programs, Rival};
use super::machine::Machine;
use super::markdown::{self, Section};
use super::procfs;
use super::results::{Footprint, Results, Sample, first_answer};
use crate::env::{self, Need, Provision};
use crate::host::Host;
use crate::process::Background;
use crate::wine::Prefix;

const NEEDS: [Need; 5] = [
    Need::WindowsTarget,
    Need::Mingw,
    Need::Wine,
    Need::Go,
    Need::GoModules,
];

/// How many clients call at the same time.
pub(super) const CLIENTS: [u32; 3] = [1, 8, 32];

const FIRST: Duration = Duration::from_secs(60);

/// Calls over a pipe: raw echo, Go peer and csi-proxy, under Wine and on Linux
#[derive(Args)]
pub(super) struct Pipe {
    /// One round with few calls, built without link-time optimisation; writes nothing
    #[arg(long)]
    quick: bool,
    /// Another build of csi-proxy that has its turn as well, from a folder with csi-proxy and
    /// csi-proxy.exe; writes nothing
    #[arg(long, value_name = "NAME=FOLDER")]
    rival: Vec<Rival>,
    /// How often each server has its turn
    #[arg(long)]
    rounds: Option<u32>,
    /// How many calls a server answers at each number of clients
    #[arg(long)]
    calls: Option<u32>,
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) rounds: u32,
    /// Of a server at each number of clients.
    pub(super) calls: u32,
    profile: &'static str,
}

impl Pipe {
    pub(super) fn run(self) -> Result<ExitCode> {
        let provision = env::provide(&NEEDS)?;
        provision.require(&NEEDS)?;
        let plan = self.plan();
        let machine = Machine::look(&provision.go()?)?;
        let prefix = Prefix::create()?;
        fs::create_dir_all(prefix.drive_c().join("var/lib/kubelet"))?;
        let wine = host(Host::Wine(&prefix), &provision, plan, &self.rival)?;
        drop(prefix);
        let linux = host(Host::Linux, &provision, plan, &self.rival)?;
        let text = markdown::render(&machine, plan, &[wine, linux]);
        println!("{text}");
        if !self.quick && self.rival.is_empty() {
            markdown::write("pipe", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Plan {
        let plan = match self.quick {
            true => Plan {
                rounds: 1,
                calls: 1_600,
                profile: "fast",
            },
            false => Plan {
                rounds: 3,
                calls: 8_000,
                profile: "release",
            },
        };
        Plan {
            rounds: self.rounds.unwrap_or(plan.rounds),
            calls: self.calls.unwrap_or(plan.calls),
            ..plan
        }
    }
}

fn host<'a>(
    host: Host<'_>,
    provision: &Provision,
    plan: Plan,
    rivals: &'a [Rival],
) -> Result<Section<'a>> {
    let contestants = Contestant::all(rivals);
    let programs = Programs::build(host, plan.profile, provision)?;
    let dir = tempfile::tempdir()?;
    let idle = idle_memory(host, &programs, dir.path())?;
    let mut results = Results::default();
    for round in 1..=plan.rounds {
        for &contestant in &contestants {
            println!("round {round}: {} on {}", contestant.name(), host.name());
            let turn = Turn {
                host,
                programs: &programs,
                contestant,
                idle,
                calls: plan.calls,
            };
            let name = || contestant.name().to_owned();
            turn.run(&mut results).with_context(name)?;
        }
    }
    let exe_bytes = fs::metadata(&programs.ours)?.len();
    Ok(Section {
        host: host.name(),
        contestants,
        results,
        exe_bytes,
        profile: plan.profile,
    })
}

/// Private memory of an idle program, in KiB.
fn idle_memory(host: Host<'_>, programs: &Programs<'_>, dir: &Path) -> Result<u64> {
    let mut command = host.command(&programs.idle);
    let mut idle = Background::start("idle", &mut command, &dir.join("idle.log"))?;
    settled_memory(&mut idle)
}

/// Memory once two samples a second apart agree: a starting program is still growing.
fn settled_memory(process: &mut Background) -> Result<u64> {
    let mut last = (std::time::Instant::now(), 0);
    process.wait_until("steady memory", FIRST, |process| {
        if last.0.elapsed() < Duration::from_secs(1) {
            return None;
        }
        let now = procfs::private_kib(process.id()).ok()?;
        let steady = now == last.1;
        last = (std::time::Instant::now(), now);
        steady.then_some(now)
    })
}

/// One server's turn in a round.
struct Turn<'a, 'r> {
    host: Host<'a>,
    programs: &'a Programs<'a>,
    contestant: Contestant<'r>,
    idle: u64,
    calls: u32,
}

impl<'r> Turn<'_, 'r> {
    fn run(&self, results: &mut Results<'r>) -> Result<()> {
        let dir = tempfile::tempdir()?;
        let (server, first_answer) = self.start(dir.path())?;
        for clients in CLIENTS {
            results.add(
                self.contestant,
                clients,
                self.sample(server.id(), dir.path(), clients)?,
            );
        }
        let memory = procfs::private_kib(server.id())?.saturating_sub(self.idle);
        let memory_kib = f64::from(u32::try_from(memory)?);
        results.add_footprint(
            self.contestant,
            Footprint {
                memory_kib,
                first_answer,
            },
        );
        Ok(())
    }

    /// Starts the server while a client is already waiting for it.
    fn start(&self, dir: &Path) -> Result<(super::contestant::RunningContestant, Option<f64>)> {
        if self.contestant == Contestant::RawEcho {
            return Ok((self.programs.start(self.contestant, dir)?, None));
        }
        let mut caller = self.programs.first_caller(self.contestant, dir)?;
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let server = self.programs.start(self.contestant, dir)?;
        let status = caller.wait(FIRST)?;
        anyhow::ensure!(status.success(), "first caller: {}", caller.output());
        let answered = first_answer(&caller.output())?;
        Ok((server, Some(answered - started.as_secs_f64())))
    }

    fn sample(&self, server: u32, dir: &Path, clients: u32) -> Result<Sample> {
        let before = (procfs::cpu_seconds(server)?, self.wineserver_cpu()?);
        let load = self
            .programs
            .load(self.contestant, dir, clients, self.calls)?;
        let after = (procfs::cpu_seconds(server)?, self.wineserver_cpu()?);
        let per_thousand = |seconds: f64| seconds * 1_000.0 / load.answered;
        Ok(Sample {
            load,
            cpu: per_thousand(after.0 - before.0),
            wineserver_cpu: per_thousand(after.1 - before.1),
        })
    }

    fn wineserver_cpu(&self) -> Result<f64> {
        let Host::Wine(prefix) = self.host else {
            return Ok(0.0);
        };
        let pid = procfs::wineserver(prefix.dir()).context("no wineserver")?;
        procfs::cpu_seconds(pid)
    }
}
