//! The DaemonSets' command lines, started under Wine as the container's runtime would start them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Programs;
use crate::host::{Host, free_ports};
use crate::manifests::{self, Manifest, Program};
use crate::process::{self, Background};
use crate::test::outcome::Outcome;
use crate::test::program::{self, Language};
use crate::wine::Prefix;

const START: Duration = Duration::from_secs(60);
const RUN: Duration = Duration::from_secs(2 * 60);

/// What a shell would take apart, and what the log or a format might.
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
            Started::by(prefix, &one, &program)?.answers(programs, &name)
        })?);
    }
    Ok(outcome.not_empty("the DaemonSets"))
}

/// A driver that was started as a manifest says.
struct Started {
    _driver: Background,
    _folder: tempfile::TempDir,
    csi: u16,
    liveness: String,
}

impl Started {
    fn by(prefix: &Prefix, manifest: &Manifest, program: &Program) -> Result<Self> {
        expect_flags(prefix, program)?;
        let folder = tempfile::tempdir()?;
        let [csi, registration, pages] = free_ports()?;
        let mut command = command(prefix, manifest, program);
        command.current_dir(prefix.drive_c());
        command.envs(program.env.iter().map(|(name, value)| {
            let filled_in = || HOSTILE.to_owned();
            (name, value.clone().unwrap_or_else(filled_in))
        }));
        // Wine has neither Unix sockets nor disks.
        let path = |name| Host::Wine(prefix).path(&folder.path().join(name));
        command.env("WINCSI_HOST", "sim");
        command.env("WINCSI_SIMULATE", path("node"));
        command.env("WINCSI_STATE_DIR", path("records"));
        command.env("WINCSI_ENDPOINT", format!("tcp://127.0.0.1:{csi}"));
        let registration = format!("tcp://127.0.0.1:{registration}");
        command.env("WINCSI_REGISTRATION_ENDPOINT", registration);
        command.env("WINCSI_METRICS_ADDRESS", format!("127.0.0.1:{pages}"));
        command.env("WINCSI_NODEID", HOSTILE);
        command.env("WINCSI_TOPOLOGY", "wincsi.io/zone=z-1,wincsi.io/rack=r_2");
        let log = folder.path().join("driver.log");
        let mut driver = Background::start("wincsi.exe", &mut command, &log)?;
        driver.wait_for_line("serving CSI", START)?;
        Ok(Self {
            _driver: driver,
            _folder: folder,
            csi,
            liveness: format!("http://127.0.0.1:{pages}{}", program.liveness),
        })
    }

    fn answers(&self, programs: &Programs, name: &str) -> Result<Outcome> {
        let mut test = Command::new(&programs.calls);
        test.args(["-test.v", "-test.count=1"]);
        test.arg("-test.run=^TestVariablesArriveUnchanged$");
        test.env("WINCSI_TCP", format!("127.0.0.1:{}", self.csi));
        test.env("WINCSI_LIVENESS", &self.liveness);
        test.env("WINCSI_HOSTILE", HOSTILE);
        let program = program::Program {
            step: "deploy",
            name,
            limit: RUN,
            language: Language::Go,
        };
        Ok(program.run(&mut test)?.not_empty(name))
    }
}

/// A HostProcess container's program is started through a shell (hcsshim, internal/jobcontainers).
fn command(prefix: &Prefix, manifest: &Manifest, program: &Program) -> Command {
    let shell: &[&str] = match manifest.is_host_process() {
        true => &["cmd", "/c"],
        false => &[],
    };
    let own = program.command.iter().chain(&program.args);
    let words: Vec<_> = shell
        .iter()
        .copied()
        .chain(own.map(String::as_str))
        .collect();
    let mut command = prefix.command(Path::new(words[0]));
    command.args(&words[1..]);
    command
}

/// A misspelt variable would be one that nobody reads.
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
