//! `cargo xtask bench pipe`: calls over a named pipe under Wine, then over a Unix socket.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};

use super::pipe_tables::{Sample, Section, Server};
use super::servers::{self, Contestant, Kind, Programs, RunningContestant};
use super::{Options, machine, procfs};
use crate::env::{self, Go, Need};
use crate::host::Host;
use crate::process::Background;
use crate::wine::{self, Prefix};

/// How many clients call at the same time.
pub(super) const CLIENTS: [u32; 3] = [1, 8, 32];

const FIRST: Duration = Duration::from_secs(60);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Plan {
    rounds: u32,
    /// Of a server at each number of clients.
    calls: u32,
    profile: &'static str,
}

/// Measures both hosts, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    env::provide(&[Need::Windows, Need::Wine, Need::Go])?;
    let (calls, profile) = match options.quick {
        true => (1_600, "fast"),
        false => (8_000, "release"),
    };
    let plan = Plan {
        rounds: options.rounds(3),
        calls,
        profile,
    };
    let prefix = Prefix::create()?;
    let wine = host(Host::Wine(&prefix), plan, options)?;
    drop(prefix);
    let linux = host(Host::Linux, plan, options)?;
    Ok([head(plan)?, wine, linux].join("\n\n"))
}

fn head(plan: Plan) -> Result<String> {
    let Plan { rounds, calls, .. } = plan;
    let driven = format!(
        "Driven by the official Go client 1.3.0, filesystem v1 PathExists, {rounds} rounds of \
         {calls} calls in turn, medians; client and server share the cores"
    );
    let units =
        "CPU is seconds per 1,000 calls; memory is private, above a program that does nothing";
    let software = [wine::version()?, Go::provide()?.version()?];
    machine::head(
        "pipe",
        &software.each_ref().map(String::as_str),
        &[&driven, units],
    )
}

/// What csi-proxy.exe weighs as it is released.
pub(crate) struct Weight {
    /// Bytes of the exe.
    pub(crate) exe: u64,
    /// KiB of private memory under Wine after 32 clients, above a program that does nothing.
    pub(crate) memory: f64,
    /// More processors have more.
    pub(crate) threads: f64,
}

/// Builds csi-proxy as a release does, and weighs it.
pub(crate) fn weigh(host: Host<'_>) -> Result<Weight> {
    let programs = Programs::build_proxies(host, "release", &Options::default())?;
    let ours = programs.contestants.first().context("no csi-proxy")?;
    let mut server = Server::new(ours.clone());
    Turn::new(&programs, host, 1_600)?.run(&mut server)?;
    Ok(Weight {
        exe: fs::metadata(&server.contestant.exe)?.len(),
        memory: server.memory(),
        threads: server.threads.iter().sum(),
    })
}

fn host(host: Host<'_>, plan: Plan, options: &Options) -> Result<String> {
    let programs = Programs::build(host, plan.profile, options)?;
    let turn = Turn::new(&programs, host, plan.calls)?;
    let contestants = programs.contestants.iter().cloned();
    let mut servers: Vec<Server> = contestants.map(Server::new).collect();
    for round in 1..=plan.rounds {
        for server in &mut servers {
            let name = server.contestant.name.clone();
            println!("round {round}: {name} on {}", host.name());
            turn.run(server).context(name)?;
        }
    }
    let section = Section {
        host,
        servers,
        profile: plan.profile,
    };
    section.render()
}

/// One server's turn in a round.
struct Turn<'a> {
    host: Host<'a>,
    programs: &'a Programs<'a>,
    /// KiB of an idle program.
    idle: u64,
    calls: u32,
}

impl<'a> Turn<'a> {
    fn new(programs: &'a Programs<'a>, host: Host<'a>, calls: u32) -> Result<Self> {
        if let Host::Wine(prefix) = host {
            fs::create_dir_all(prefix.drive_c().join("var/lib/kubelet"))?;
        }
        let dir = tempfile::tempdir()?;
        let mut idle = host.command(&programs.idle);
        let mut idle = Background::start("idle", &mut idle, &dir.path().join("idle.log"))?;
        Ok(Self {
            host,
            programs,
            idle: procfs::settled(&mut idle)?.kib(),
            calls,
        })
    }

    fn run(&self, server: &mut Server) -> Result<()> {
        let dir = tempfile::tempdir()?;
        let (running, first_answer) = self.start(&server.contestant, dir.path())?;
        for clients in CLIENTS {
            let sample = self.sample(&server.contestant, running.id(), dir.path(), clients)?;
            server.samples.push((clients, sample));
        }
        let memory = procfs::Private::of(running.id())?.kib();
        let memory = u32::try_from(memory.saturating_sub(self.idle))?;
        server.memory_kib.push(f64::from(memory));
        server.threads.push(procfs::threads(running.id())?);
        server.first_answers.extend(first_answer);
        Ok(())
    }

    /// Starts the server while a client is already waiting for it, and returns the seconds to the first answer.
    fn start(&self, of: &Contestant, dir: &Path) -> Result<(RunningContestant, Option<f64>)> {
        if of.kind == Kind::RawEcho {
            return Ok((self.programs.start(of, dir)?, None));
        }
        let mut caller = self.programs.first_caller(of, dir)?;
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let server = self.programs.start(of, dir)?;
        let status = caller.wait(FIRST)?;
        ensure!(status.success(), "first caller: {}", caller.output());
        let answered = servers::json(&caller.output())?["first_unix_ns"].as_f64();
        let answered = answered.context("no first_unix_ns")? / 1e9;
        Ok((server, Some(answered - started.as_secs_f64())))
    }

    fn sample(&self, of: &Contestant, server: u32, dir: &Path, clients: u32) -> Result<Sample> {
        let before = (procfs::cpu_seconds(server)?, self.wineserver_cpu()?);
        let load = self.programs.load(of, dir, clients, self.calls)?;
        let after = (procfs::cpu_seconds(server)?, self.wineserver_cpu()?);
        let number = |key: &str| {
            load[key]
                .as_f64()
                .with_context(|| format!("no {key} in {load}"))
        };
        let answered = number("answered")?;
        let per_thousand = |seconds: f64| seconds * 1_000.0 / answered;
        Ok(Sample {
            per_second: number("per_second")?,
            p50_us: number("p50_us")?,
            p99_us: number("p99_us")?,
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
