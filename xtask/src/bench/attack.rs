//! `cargo xtask bench attack`: a client's wait while another process floods the server.
//!
//! Two servers run in the same seconds, one of them attacked, and each has an innocent client with
//! one call after the other. Attacker, servers and clients share the processors, so only the ratio
//! of the two innocents' times means anything.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use tempfile::TempDir;

use super::contestant::{self, Rival};
use super::fairness::{self, Attack, Latency, Line, Pair};
use super::{machine, markdown};
use crate::cargo;
use crate::host::Host;
use crate::process::Background;
use crate::server::{self, Node, Server};

const PROFILE: &str = "fast";
const ROUNDS: u32 = 5;

/// How long the innocents call, and how long the attack around them lasts, in seconds.
const CALLING: u32 = 4;
const ATTACKING: u32 = 5;
const LIMIT: Duration = Duration::from_secs(60);

const ATTACKS: [Attack; 6] = [
    Attack::new("valid calls", "calls", 50),
    Attack::new("WINDOW_UPDATE", "window-update", 4),
    Attack::new("WINDOW_UPDATE", "window-update", 100),
    Attack::new("PRIORITY", "priority", 100),
    Attack::new("huge headers", "headers", 100),
    Attack::new("valid calls", "calls", 300),
];

/// Calls beside a process that floods the server, compared with calls beside none, on Linux
#[derive(Args)]
pub(super) struct Bench {
    /// One round unless `--rounds` is given; writes nothing
    #[arg(long)]
    quick: bool,
    /// Another build of csi-proxy that is attacked as well, from a folder with csi-proxy; writes
    /// nothing
    #[arg(long, value_name = "NAME=FOLDER")]
    rival: Vec<Rival>,
    /// How often each server is attacked in each way
    #[arg(long)]
    rounds: Option<u32>,
}

/// A server, with the folder of its node and its sockets.
struct Side {
    _server: Server,
    folder: TempDir,
}

impl Bench {
    pub(super) fn run(self) -> Result<ExitCode> {
        let rounds = self.rounds.unwrap_or(if self.quick { 1 } else { ROUNDS });
        let client = cargo::work_dir("bench")?.join("attack");
        let client = contestant::rust(Host::Linux, "attack", &client)?;
        let servers = self.servers()?;
        let each = |attack| servers.iter().map(move |(name, _)| Line::new(attack, name));
        let mut lines: Vec<Line<'_>> = ATTACKS.into_iter().flat_map(each).collect();
        for round in 1..=rounds {
            for (line, (name, exe)) in lines.iter_mut().zip(servers.iter().cycle()) {
                let attack = line.attack;
                println!("round {round}: {attack} on {name}");
                let pair = measure(exe, &client, attack, round);
                line.pairs
                    .push(pair.with_context(|| format!("{attack} on {name}"))?);
            }
        }
        let text = fairness::render(&machine::here()?, PROFILE, rounds, &lines);
        println!("{text}");
        if !self.quick && self.rival.is_empty() {
            markdown::write("attack", &text)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The names and programs of ours and of the rivals.
    fn servers(&self) -> Result<Vec<(String, PathBuf)>> {
        let ours = server::build(Host::Linux, PROFILE)?;
        let rivals = self.rival.iter();
        let rivals = rivals.map(|rival| (rival.name.clone(), rival.exe(Host::Linux)));
        Ok([(server::BINARY.to_owned(), ours)]
            .into_iter()
            .chain(rivals)
            .collect())
    }
}

/// One attack on a server, with another of the same program beside it. The order of their starts
/// alternates.
fn measure(exe: &Path, client: &Path, attack: Attack, round: u32) -> Result<Pair> {
    let (first, second) = (Side::start(exe)?, Side::start(exe)?);
    let (attacked, control) = match round % 2 {
        0 => (second, first),
        _ => (first, second),
    };
    let mut attacker = attacked.attacker(client, attack)?;
    attacker.wait_for_line("attacking", LIMIT)?;
    let mut beside = attacked.innocent(client)?;
    let mut alone = control.innocent(client)?;
    Ok(Pair {
        attacked: Latency::parse(&output(&mut beside)?).context("the attacked server")?,
        control: Latency::parse(&output(&mut alone)?).context("the control")?,
        megabytes: fairness::megabytes(&output(&mut attacker)?, ATTACKING)?,
    })
}

/// A client's output until it ends by itself.
fn output(client: &mut Background) -> Result<String> {
    let status = client.wait(LIMIT)?;
    anyhow::ensure!(status.success(), "{status}\n{}", client.tail());
    Ok(client.output())
}

impl Side {
    fn start(exe: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let node = folder.path().join("node");
        let server = Server::start(Host::Linux, exe, Node::Simulated(&node), folder.path())?;
        Ok(Self {
            _server: server,
            folder,
        })
    }

    fn innocent(&self, client: &Path) -> Result<Background> {
        let mut command = Command::new(client);
        command
            .arg("innocent")
            .arg(self.socket())
            .arg(CALLING.to_string());
        Background::start(
            "innocent",
            &mut command,
            &self.folder.path().join("innocent.log"),
        )
    }

    fn attacker(&self, client: &Path, attack: Attack) -> Result<Background> {
        let mut command = Command::new(client);
        command.args(["attack", attack.kind]).arg(self.socket());
        command.args([attack.connections, ATTACKING].map(|number| number.to_string()));
        Background::start(
            "attacker",
            &mut command,
            &self.folder.path().join("attacker.log"),
        )
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("csi-proxy-filesystem-v1.sock")
    }
}
