//! `cargo xtask bench attack`: a client's wait while another process floods the server.
//!
//! Two servers run in the same seconds, one of them attacked, and each has an innocent client with
//! one call after the other. Attacker, servers and clients share the processors, so only the ratio
//! of the two innocents' times means anything.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::{Options, machine, median, servers, verdict};
use crate::cargo;
use crate::host::Host;
use crate::process::Background;
use crate::server::{self, Node, Server};

const PROFILE: &str = "fast";

/// How long the innocents call, and how long the attack around them lasts, in seconds.
const CALLING: u32 = 4;
const ATTACKING: u32 = 5;
const LIMIT: Duration = Duration::from_secs(60);

/// The p50 beside an attacker may be so many times the control's.
const TARGET: f64 = 10.0;

/// One process's attacks on a server: how the table has each, its name in `bench/attack`, and its connections.
const ATTACKS: [(&str, &str, u32); 6] = [
    ("valid calls", "calls", 50),
    ("WINDOW_UPDATE", "window-update", 4),
    ("WINDOW_UPDATE", "window-update", 100),
    ("PRIORITY", "priority", 100),
    ("huge headers", "headers", 100),
    ("valid calls", "calls", 300),
];

/// Attacks each build in each way, in rounds, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    let rounds = options.rounds(5);
    let client = cargo::work_dir("bench")?.join("attack");
    let client = servers::rust(Host::Linux, "attack", &client)?;
    let ours = server::build(Host::Linux, PROFILE)?;
    let builds = options.builds(server::BINARY, ours, server::BINARY);
    let lines = ATTACKS
        .iter()
        .flat_map(|attack| builds.iter().map(move |build| (attack, build)));
    let mut lines: Vec<_> = lines.map(|line| (line, Vec::new())).collect();
    for round in 1..=rounds {
        for (((_, kind, connections), (name, exe)), pairs) in &mut lines {
            let what = format!("{kind} of {connections} connections on {name}");
            println!("round {round}: {what}");
            pairs.push(attack(exe, &client, (kind, *connections), round).context(what)?);
        }
    }
    let facts =
        format!("Medians of {rounds} rounds; the last ratio is the median of each round's own");
    let software = format!("profile {PROFILE}");
    let mut text = machine::head("attack", &[&software], &[&facts])?;
    text += "\n\n| one process attacks | connections | server | attacked: p50 ms | p99 ms \
             | control: p50 ms | p99 ms | attacker MB/s | p50 : control | at most 10 |\n\
             |---|---:|---|---:|---:|---:|---:|---:|---:|---|";
    for (((title, _, connections), (name, _)), pairs) in &lines {
        text += &format!("\n| {title} | {connections} | {name} | {}", cells(pairs));
    }
    Ok(text)
}

/// One attack on a server, with another of the same program beside it. The order of their starts
/// alternates.
fn attack(exe: &Path, client: &Path, (kind, connections): (&str, u32), round: u32) -> Result<Pair> {
    let (first, second) = (Side::start(exe)?, Side::start(exe)?);
    let (attacked, control) = match round % 2 {
        0 => (second, first),
        _ => (first, second),
    };
    let mut attacker = attacked.client(client, &["attack", kind], &[connections, ATTACKING])?;
    attacker.wait_for_line("attacking", LIMIT)?;
    let mut beside = attacked.client(client, &["innocent"], &[CALLING])?;
    let mut alone = control.client(client, &["innocent"], &[CALLING])?;
    Ok(Pair {
        attacked: Latency::parse(&output(&mut beside)?).context("the attacked server")?,
        control: Latency::parse(&output(&mut alone)?).context("the control")?,
        megabytes: megabytes(&output(&mut attacker)?, ATTACKING)?,
    })
}

/// A client's output until it ends by itself.
fn output(client: &mut Background) -> Result<String> {
    let status = client.wait(LIMIT)?;
    ensure!(status.success(), "{status}\n{}", client.tail());
    Ok(client.output())
}

/// A server, with the folder of its node and its sockets.
struct Side {
    _server: Server,
    folder: TempDir,
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

    /// A client of these words, then the socket, then the numbers.
    fn client(&self, program: &Path, words: &[&str], numbers: &[u32]) -> Result<Background> {
        let mut command = Command::new(program);
        command.args(words).arg(self.socket());
        command.args(numbers.iter().map(u32::to_string));
        let log = self.folder.path().join(format!("{}.log", words[0]));
        Background::start(words[0], &mut command, &log)
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("csi-proxy-filesystem-v1.sock")
    }
}

/// How long the calls of an innocent client took, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Latency {
    p50: f64,
    p99: f64,
}

/// Two innocents' waits in the same seconds.
#[derive(Clone, Copy, Debug)]
struct Pair {
    attacked: Latency,
    control: Latency,
    /// The attacker's rate, in MB/s.
    megabytes: f64,
}

impl Latency {
    /// Reads lines of microseconds.
    fn parse(output: &str) -> Result<Self> {
        let micros: Result<Vec<f64>, _> = output.lines().map(str::parse).collect();
        let mut micros = micros.with_context(|| format!("times in {output:?}"))?;
        ensure!(!micros.is_empty(), "no call was answered");
        micros.sort_by(f64::total_cmp);
        Ok(Self {
            p50: percentile(&micros, 50) / 1_000.0,
            p99: percentile(&micros, 99) / 1_000.0,
        })
    }
}

/// The smallest value not exceeded by so many of a hundred.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    let found = sorted.get(rank.saturating_sub(1));
    found.copied().unwrap_or(f64::NAN)
}

/// An attacker's own count of bytes sent, per second; an attack that sent nothing shows nothing.
fn megabytes(output: &str, seconds: u32) -> Result<f64> {
    let mut words = output.split_whitespace().skip_while(|word| *word != "sent");
    let sent = words.nth(1).and_then(|word| word.parse::<f64>().ok());
    let sent = sent.filter(|sent| *sent > 0.0);
    let sent = sent.with_context(|| format!("the attacker sent nothing: {output}"))?;
    Ok(sent / 1e6 / f64::from(seconds))
}

/// The figures of a row: all rounds of an attack on a server.
fn cells(pairs: &[Pair]) -> String {
    let figure = |figure: fn(&Pair) -> f64| median(pairs.iter().map(figure));
    let ratio = figure(|it| it.attacked.p50 / it.control.p50);
    format!(
        "{:.2} | {:.1} | {:.2} | {:.1} | {:.1} | {ratio:.1} | {} |",
        figure(|it| it.attacked.p50),
        figure(|it| it.attacked.p99),
        figure(|it| it.control.p50),
        figure(|it| it.control.p99),
        figure(|it| it.megabytes),
        verdict(ratio <= TARGET),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(attacked: f64, control: f64) -> Pair {
        let latency = |p50| Latency {
            p50,
            p99: 2.0 * p50,
        };
        Pair {
            attacked: latency(attacked),
            control: latency(control),
            megabytes: 3.0,
        }
    }

    #[test]
    fn latencies_are_sorted_as_numbers_and_told_in_milliseconds() {
        let latency = Latency::parse("1000\n200\n9000\n").unwrap();
        assert_eq!(latency, Latency { p50: 1.0, p99: 9.0 });
        assert!(Latency::parse("").is_err());
        assert!(Latency::parse("12\nthread panicked\n").is_err());
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!([50, 99].map(|of| percentile(&hundred, of)), [50.0, 99.0]);
    }

    #[test]
    fn an_attack_that_sends_nothing_is_an_error() {
        let sent = "attacking\nsent 10000000 opened 4\n";
        assert_eq!(megabytes(sent, 5).unwrap(), 2.0);
        assert!(megabytes("attacking\nsent 0 opened 4\n", 5).is_err());
        assert!(megabytes("attacking\n", 5).is_err());
    }

    #[test]
    fn the_ratio_is_the_median_of_each_rounds_own() {
        let rounds = [pair(50.0, 5.0), pair(30.0, 1.0), pair(6.0, 2.0)];
        let row = "30.00 | 60.0 | 2.00 | 4.0 | 3.0 | 10.0 | yes |";
        assert_eq!(cells(&rounds), row);
        assert!(cells(&[pair(10.1, 1.0)]).ends_with("| 10.1 | **no** |"));
        assert!(cells(&[]).ends_with("| **no** |"));
    }
}
