//! The DaemonSets' command lines, started under Wine as the container's runtime would start them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Programs;
use crate::host::{Host, free_ports};
use crate::manifests::{self, Manifest, Probe, Program};
use crate::process::{self, Background};
use crate::test::outcome::Outcome;
use crate::test::program;
use crate::test::verdict::Language;
use crate::wine::Prefix;

const START: Duration = Duration::from_secs(60);
const RUN: Duration = Duration::from_secs(2 * 60);

/// Text that a shell would take apart, or the log or a format might.
const HOSTILE: &str = r#"& calc | more < in > out ^ %PATH% !x! "a" 'b' ; $(x) `y` (z) {} \\ é"#;

pub(super) fn daemon_sets(host: Host<'_>, exe: &Path, programs: &Programs) -> Result<Outcome> {
    let Host::Wine(prefix) = host else {
        anyhow::bail!("the manifests start Windows programs");
    };
    fs::copy(exe, prefix.drive_c().join("wincsi.exe")).context("put the exe on drive C")?;
    let mut outcome = Outcome::default();
    for one in manifests::all()? {
        let Some(program) = one.program() else {
            continue;
        };
        let name = format!("the command line of {}", one.name());
        outcome.add(Outcome::steady(&name, || {
            let started = Started::by(prefix, &one, &program)?;
            let mut outcome = started.answers(programs, &name)?;
            let hook = format!("the preStop hook of {}", one.name());
            outcome.check(&hook, started.drains());
            Ok(outcome)
        })?);
    }
    Ok(outcome.not_empty("the DaemonSets"))
}

/// A driver started by a manifest.
struct Started<'a> {
    _driver: Background,
    _folder: tempfile::TempDir,
    container: Container<'a>,
    program: &'a Program,
    csi: u16,
    pages: u16,
}

impl<'a> Started<'a> {
    fn by(prefix: &'a Prefix, manifest: &'a Manifest, program: &'a Program) -> Result<Self> {
        expect_flags(prefix, program)?;
        let folder = tempfile::tempdir()?;
        let ports @ [csi, _, pages] = free_ports()?;
        let container = Container {
            prefix,
            manifest,
            variables: variables(prefix, program, folder.path(), ports),
        };
        let words = [&program.command[..], &program.args].concat();
        let log = folder.path().join("driver.log");
        let mut driver = Background::start("wincsi.exe", &mut container.command(&words), &log)?;
        driver.wait_for_line("serving CSI", START)?;
        Ok(Self {
            _driver: driver,
            _folder: folder,
            container,
            program,
            csi,
            pages,
        })
    }

    fn answers(&self, programs: &Programs, name: &str) -> Result<Outcome> {
        let page = |probe: &Probe| format!("http://127.0.0.1:{}{}", self.pages, probe.path);
        let mut test = Command::new(&programs.calls);
        test.args(["-test.v", "-test.count=1"]);
        test.arg("-test.run=^TestVariablesArriveUnchanged$");
        test.env("WINCSI_TCP", format!("127.0.0.1:{}", self.csi));
        test.env("WINCSI_LIVENESS", page(&self.program.liveness));
        test.env("WINCSI_READINESS", page(&self.program.readiness));
        test.env("WINCSI_HOSTILE", HOSTILE);
        let program = program::Program {
            step: "deploy",
            name,
            limit: RUN,
            language: Language::Go,
        };
        Ok(program.run(&mut test)?.not_empty(name))
    }

    /// The hook finds the driver by the variables of the container.
    fn drains(&self) -> Result<()> {
        let mut hook = self.container.command(&self.program.pre_stop);
        let output = process::capture(&mut hook, START)?.success("the hook")?;
        ensure!(output.contains("drained: no call runs"), "{output}");
        Ok(())
    }
}

/// The starter of a manifest's programs.
struct Container<'a> {
    prefix: &'a Prefix,
    manifest: &'a Manifest,
    variables: Vec<(String, String)>,
}

impl Container<'_> {
    /// A HostProcess container's programs are started through a shell (hcsshim, internal/jobcontainers).
    fn command(&self, own: &[String]) -> Command {
        let shell: &[&str] = match self.manifest.is_host_process() {
            true => &["cmd", "/c"],
            false => &[],
        };
        let own = own.iter().map(String::as_str);
        let words: Vec<_> = shell.iter().copied().chain(own).collect();
        let mut command = self.prefix.command(Path::new(words[0]));
        command.args(&words[1..]);
        command.current_dir(self.prefix.drive_c());
        command.envs(self.variables.iter().cloned());
        command
    }
}

/// The manifest's variables, with replacements for Wine and the test: Wine has neither Unix sockets nor disks.
fn variables(
    prefix: &Prefix,
    program: &Program,
    folder: &Path,
    [csi, registration, pages]: [u16; 3],
) -> Vec<(String, String)> {
    let filled_in = |value: &Option<String>| value.clone().unwrap_or_else(|| HOSTILE.to_owned());
    let own = program.env.iter();
    let own = own.map(|(name, value)| (name.clone(), filled_in(value)));
    let path = |name| Host::Wine(prefix).path(&folder.join(name));
    let others = [
        ("HOST", String::from("sim")),
        ("SIMULATE", path("node")),
        ("STATE_DIR", path("records")),
        ("ENDPOINT", format!("tcp://127.0.0.1:{csi}")),
        (
            "REGISTRATION_ENDPOINT",
            format!("tcp://127.0.0.1:{registration}"),
        ),
        ("METRICS_ADDRESS", format!("127.0.0.1:{pages}")),
        ("NODEID", HOSTILE.to_owned()),
        (
            "TOPOLOGY",
            String::from("wincsi.io/zone=z-1,wincsi.io/rack=r_2"),
        ),
    ];
    let others = others.map(|(name, value)| (format!("WINCSI_{name}"), value));
    own.chain(others).collect()
}

/// Nothing would read a misspelt variable.
fn expect_flags(prefix: &Prefix, program: &Program) -> Result<()> {
    let exe = prefix.drive_c().join("wincsi.exe");
    let mut help = prefix.command(&exe);
    let usage = process::capture(help.args(["node", "-help"]), START)?.success("-help")?;
    for (name, _) in &program.env {
        let flag = name.trim_start_matches("WINCSI_");
        let flag = format!("-{}", flag.to_lowercase().replace('_', "-"));
        let is_there = usage.split_whitespace().any(|word| word == flag);
        ensure!(is_there, "{name}: no flag {flag}");
    }
    Ok(())
}
