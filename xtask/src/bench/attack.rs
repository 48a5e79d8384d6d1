//! `cargo xtask bench attack`: a client's wait while another process floods the server.
//!
//! Two servers run in the same seconds, one of them attacked, and each has an innocent client with
//! one call after the other. Attacker, servers and clients share the processors, so only the ratio
//! of the two innocents' times means anything.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::{Options, machine, median, servers, verdict};
use crate::host::Host;
use crate::process::Background;
use crate::server::{self, Server};
use crate::wine::{self, Prefix};
use crate::{cargo, env};

const PROFILE: &str = "fast";

/// How long the innocents call, in seconds.
const CALLING: u32 = 4;
const LIMIT: Duration = Duration::from_secs(60);

/// The attacker's word before what it sent, at its end.
const SENT: &str = "sent";

/// The p50 beside an attacker may be so many times the control's.
const TARGET: f64 = 4.0;

/// One process's attack on a server: how the table has it, its name in `bench/attack`, and its connections.
type Attack = (&'static str, &'static str, u32);

const BUSY: Attack = ("valid calls", "calls", 300);
const ATTACKS: [Attack; 6] = [
    ("valid calls", "calls", 50),
    ("WINDOW_UPDATE", "window-update", 4),
    ("WINDOW_UPDATE", "window-update", 100),
    ("PRIORITY", "priority", 100),
    ("huge headers", "headers", 100),
    BUSY,
];

/// Attacks each build in each way, in rounds, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    env::provide(Host::WINE_NEEDS)?;
    let rounds = options.rounds(5);
    let facts =
        format!("Medians of {rounds} rounds; the last ratio is the median of each round's own");
    let software = [wine::version()?, format!("profile {PROFILE}")];
    let software = software.each_ref().map(String::as_str);
    let mut text = machine::head("attack", &software, &[&facts])?;
    text += "\n\n| one process attacks | connections | server | attacked: p50 ms | p99 ms \
             | control: p50 ms | p99 ms | attacker MB/s | p50 : control | at most 4 |\n\
             |---|---:|---|---:|---:|---:|---:|---:|---:|---|";
    text += &rows([Host::Linux; 2], &ATTACKS, options, rounds)?;
    // Only now, since what runs in a prefix slows the machine; two, since the servers of one machine have the same pipes.
    let prefixes = [Prefix::create()?, Prefix::create()?];
    for prefix in &prefixes {
        fs::create_dir_all(prefix.drive_c().join("var/lib/kubelet"))?;
    }
    let wine = prefixes.each_ref().map(Host::Wine);
    text += &rows(wine, &[BUSY], options, rounds)?;
    Ok(text)
}

/// Lets one of two hosts be attacked while the other is the control.
fn rows(
    hosts: [Host<'_>; 2],
    attacks: &[Attack],
    options: &Options,
    rounds: u32,
) -> Result<String> {
    let host = hosts[0];
    let on = host.name();
    let dir = cargo::work_dir("bench")?.join(on);
    fs::create_dir_all(&dir)?;
    let client = servers::rust(host, "attack", &dir.join("attack.exe"))?;
    let ours = server::build(host, PROFILE)?;
    let builds = options.builds(server::BINARY, ours, servers::file(host));
    let lines = attacks
        .iter()
        .flat_map(|attack| builds.iter().map(move |build| (attack, build)));
    let mut lines: Vec<_> = lines.map(|line| (line, Vec::new())).collect();
    for round in 1..=rounds {
        for ((attack, (name, exe)), pairs) in &mut lines {
            let (_, kind, connections) = attack;
            let what = format!("{kind} of {connections} connections on {name}, {on}");
            println!("round {round}: {what}");
            pairs.push(pair(hosts, [exe, &client], attack, round).context(what)?);
        }
    }
    let mut text = String::new();
    for (((title, _, connections), (name, _)), pairs) in &lines {
        let cells = cells(pairs);
        text += &format!("\n| {title} | {connections} | {name}, {on} | {cells}");
    }
    Ok(text)
}

/// How long an attack lasts, in seconds: longer than the innocents, which start in it.
fn attacking(host: Host<'_>) -> u32 {
    match host {
        Host::Linux => 2 * CALLING,
        // Beside a flood Wine may take seconds to start a program.
        Host::Wine(_) => 6 * CALLING,
    }
}

/// One attack on a server, with another of the same program beside it. The order of their starts
/// alternates.
fn pair(
    [one, other]: [Host<'_>; 2],
    [exe, client]: [&Path; 2],
    (_, kind, connections): &Attack,
    round: u32,
) -> Result<Pair> {
    let (first, second) = (Side::start(one, exe)?, Side::start(other, exe)?);
    let (attacked, control) = match round % 2 {
        0 => (second, first),
        _ => (first, second),
    };
    let seconds = attacking(one);
    let mut attacker = attacked.client(client, &["attack", kind], &[*connections, seconds])?;
    attacker.wait_for_line("attacking", LIMIT)?;
    let mut beside = attacked.client(client, &["innocent"], &[CALLING])?;
    let mut alone = control.client(client, &["innocent"], &[CALLING])?;
    let (beside, alone) = (output(&mut beside)?, output(&mut alone)?);
    ensure_attacked_to_the_end(&attacker.output())?;
    Ok(Pair {
        attacked: Latency::parse(&beside).context("the attacked server")?,
        control: Latency::parse(&alone).context("the control")?,
        // Not at its end: in an ending program Wine 8 may kill a busy thread that holds a lock of ntdll, and the last
        // thread then waits for this lock for ever.
        megabytes: megabytes(&attacker.wait_for_line(SENT, LIMIT)?, seconds)?,
    })
}

/// By the attacker's output when the innocents have ended: calls after an attack show nothing.
fn ensure_attacked_to_the_end(output: &str) -> Result<()> {
    ensure!(
        !output.contains(SENT),
        "the attack ended before the innocents"
    );
    Ok(())
}

/// A client's output until it ends by itself.
fn output(client: &mut Background) -> Result<String> {
    let status = client.wait(LIMIT)?;
    ensure!(status.success(), "{status}\n{}", client.tail());
    Ok(client.output())
}

/// A server, with the folder of its node and its sockets.
struct Side<'a> {
    host: Host<'a>,
    _server: Server,
    folder: TempDir,
}

impl<'a> Side<'a> {
    fn start(host: Host<'a>, exe: &Path) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let node = folder.path().join("node");
        let server = Server::start(host, exe, servers::node(host, &node), folder.path())?;
        Ok(Self {
            host,
            _server: server,
            folder,
        })
    }

    /// A client of these words, then the address, then the numbers.
    fn client(&self, program: &Path, words: &[&str], numbers: &[u32]) -> Result<Background> {
        let mut command = self.host.command(program);
        let address = servers::filesystem(self.host, self.folder.path());
        command.args(words).arg(address);
        command.args(numbers.iter().map(u32::to_string));
        let log = self.folder.path().join(format!("{}.log", words[0]));
        Background::start(words[0], &mut command, &log)
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
    let mut words = output.split_whitespace().skip_while(|word| *word != SENT);
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
    fn an_attack_that_ends_before_its_innocents_is_an_error() {
        assert!(ensure_attacked_to_the_end("attacking\n").is_ok());
        assert!(ensure_attacked_to_the_end("attacking\nsent 10 opened 4\n").is_err());
    }

    #[test]
    fn the_ratio_is_the_median_of_each_rounds_own() {
        let rounds = [pair(50.0, 5.0), pair(8.0, 2.0), pair(6.0, 2.0)];
        let row = "8.00 | 16.0 | 2.00 | 4.0 | 3.0 | 4.0 | yes |";
        assert_eq!(cells(&rounds), row);
        assert!(cells(&[pair(4.1, 1.0)]).ends_with("| 4.1 | **no** |"));
        assert!(cells(&[]).ends_with("| **no** |"));
    }
}
