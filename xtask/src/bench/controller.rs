//! `cargo xtask bench controller`: volumes of wincsi-controller on a Samba of this machine, beside smbclient.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::driver::build;
use super::driver_tables::Figures;
use super::{Options, machine, median, procfs, verdict};
use crate::env::{self, Need};
use crate::process::{self, Background};
use crate::samba::{self, PASSWORD, Samba};
use crate::trial;

const RUN: Duration = Duration::from_secs(20 * 60);
const START: Duration = Duration::from_secs(60);

const PACKAGE: &str = "wincsi-controller";
const PROGRAM: &str = "controller-bench";

const SHARES: [&str; 2] = ["encrypted", "plain"];
/// A pair may take so many times the bare ones, one at a time and 16.
const PAIRS: [(&str, f64); 2] = [("1", 0.1), ("16", 0.2)];
const MEMORY_TARGET: f64 = 1.2;
/// To how many files the memory for many is compared.
const FEW: &str = "1000";

/// What is measured, and with what.
struct Bench {
    controller: PathBuf,
    program: PathBuf,
    samba: Samba,
    home: TempDir,
    pairs: &'static str,
    files: &'static str,
    heap: &'static str,
}

/// Measures all, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    env::provide(&[Need::Samba])?;
    let [pairs, files, heap] = match options.quick {
        true => ["50", "500", "5000"],
        false => ["500", "10000", "100000"],
    };
    let bench = Bench {
        controller: build(PACKAGE, PACKAGE)?,
        program: build(trial::PACKAGE, PROGRAM)?,
        samba: Samba::start(),
        home: trial::private_dir()?,
        pairs,
        files,
        heap,
    };
    let rounds = options.rounds(3);
    let mut measured = Vec::new();
    for round in 1..=rounds {
        println!("round {round}");
        let figures = SHARES.map(|share| bench.round(share)).into_iter();
        let figures: Result<Vec<String>> = figures.collect();
        measured.push(Figures::read(&figures?.concat())?);
    }
    let facts = format!(
        "Medians of {rounds} rounds, smbclient and controller in turn; ratios are medians of each round's own"
    );
    let samba = version()?;
    let head = machine::head("controller", &[samba.trim()], &[&facts])?;
    Ok(format!("{head}\n\n{}", tables(&measured, [files, heap])))
}

impl Bench {
    /// A line for each figure of a share: what was measured, of which share, and the number.
    fn round(&self, share: &str) -> Result<String> {
        let mut text = String::new();
        let mut add = |what: &str, number: String| text += &format!("{what} {share} {number}\n");
        add("bare", self.bare_pairs(share)?.to_string());
        let mut node = self.start(share)?;
        for (callers, _) in PAIRS {
            let rate = self.call(share, &["pairs", callers, self.pairs])?;
            add(&format!("pairs-{callers}"), rate);
        }
        add("deltree", self.deltree(share)?.to_string());
        add("delete", self.delete(share, self.files)?);
        for files in [FEW, self.heap] {
            drop(node);
            node = self.start(share)?;
            self.delete(share, files)?;
            let peak = procfs::peak_kib(node.id())?;
            add(&format!("memory-{files}"), peak.to_string());
        }
        Ok(text)
    }

    fn start(&self, share: &str) -> Result<Background> {
        let mut command = Command::new(&self.controller);
        command.arg(format!("-endpoint=unix:{}", self.socket().display()));
        command.arg(format!("-require-privacy={}", share == "encrypted"));
        let log = self.home.path().join("controller.log");
        let mut controller = Background::start(PACKAGE, &mut command, &log)?;
        controller.wait_for_line("] ready", START)?;
        Ok(controller)
    }

    fn socket(&self) -> PathBuf {
        self.home.path().join("csi.sock")
    }

    fn delete(&self, share: &str, files: &str) -> Result<String> {
        let root = self.samba.root();
        self.call(share, &["delete", &root.to_string_lossy(), files])
    }

    fn call(&self, share: &str, what: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.program);
        let (source, port) = (format!("//127.0.0.1/{share}"), self.samba.port());
        command
            .arg(self.socket())
            .args([&source, &port.to_string()]);
        command.args([&samba::local_user(), PASSWORD]).args(what);
        let printed = process::capture(&mut command, RUN)?.success(PROGRAM)?;
        Ok(printed.trim().to_owned())
    }

    /// How many folders one smbclient makes and removes in a second.
    fn bare_pairs(&self, share: &str) -> Result<f64> {
        let pairs: u32 = self.pairs.parse()?;
        let commands = (0..pairs).map(|at| format!("mkdir bare-{at}\nrmdir bare-{at}\n"));
        Ok(f64::from(pairs) / self.smbclient(share, &commands.collect::<String>())?)
    }

    /// The seconds that `deltree` takes.
    fn deltree(&self, share: &str) -> Result<f64> {
        let folder = self.samba.root().join("tree");
        fs::create_dir(&folder)?;
        self.call(share, &["fill", &folder.to_string_lossy(), self.files])?;
        let seconds = self.smbclient(share, "deltree tree\n")?;
        ensure!(!folder.exists(), "deltree left the folder");
        Ok(seconds)
    }

    /// The seconds that commands take one smbclient, with its logon.
    fn smbclient(&self, share: &str, commands: &str) -> Result<f64> {
        let user = self.home.path().join("user");
        let login = format!(
            "username = {}\npassword = {PASSWORD}\n",
            samba::local_user()
        );
        fs::write(&user, login)?;
        let began = Instant::now();
        let mut child = smbclient(share, self.samba.port(), &user)
            .spawn()
            .context("smbclient")?;
        let mut stdin = child.stdin.take().context("smbclient has no input")?;
        stdin.write_all(commands.as_bytes())?;
        drop(stdin);
        let ended = child.wait()?;
        ensure!(ended.success(), "smbclient: {ended}");
        Ok(began.elapsed().as_secs_f64())
    }
}

fn smbclient(share: &str, port: u16, user: &Path) -> Command {
    let mut command = Command::new("smbclient");
    command.arg(format!("//127.0.0.1/{share}"));
    command.arg(format!("--port={port}"));
    command.arg(format!("--authentication-file={}", user.display()));
    if share == "encrypted" {
        command.arg("--client-protection=encrypt");
    }
    command.stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn version() -> Result<String> {
    let mut command = Command::new("smbclient");
    process::capture(command.arg("--version"), Duration::from_secs(60))?.success("smbclient")
}

fn tables(rounds: &[Figures], [files, heap]: [&str; 2]) -> String {
    let mut text =
        "| share | what | ours | smbclient | ratio | target |\n|---|---|---:|---:|---:|---|"
            .to_owned();
    for share in SHARES {
        let figure = |what: &str| median(rounds.iter().map(|round| round.median(what, share, 0)));
        let ratio = |of: &str, to: &str| {
            let ratios = rounds
                .iter()
                .map(|round| round.median(of, share, 0) / round.median(to, share, 0));
            median(ratios)
        };
        for (callers, least) in PAIRS {
            let ours = format!("pairs-{callers}");
            let reached = ratio(&ours, "bare");
            text += &format!(
                "\n| {share} | volumes made and deleted in a second, {callers} at a time | {:.0} | {:.0} | {reached:.2} \
                 | at least {least}: {} |",
                figure(&ours),
                figure("bare"),
                verdict(reached >= least)
            );
        }
        let slower = ratio("delete", "deltree");
        text += &format!(
            "\n| {share} | seconds to delete {files} files | {:.2} | {:.2} | {slower:.2} | at most 1: {} |",
            figure("delete"),
            figure("deltree"),
            verdict(slower <= 1.0)
        );
        let [many, few] = [heap, FEW].map(|files| format!("memory-{files}"));
        let larger = ratio(&many, &few);
        text += &format!(
            "\n| {share} | peak KiB to delete {heap} files of one folder, and {FEW} | {:.0} | {:.0} | {larger:.2} \
             | at most {MEMORY_TARGET}: {} |",
            figure(&many),
            figure(&few),
            verdict(larger <= MEMORY_TARGET)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_share_is_judged_by_its_own_figures() {
        let of = |share: &str, pairs, delete, memory| {
            format!(
                "bare {share} 1000\npairs-1 {share} {pairs}\npairs-16 {share} {pairs}\ndeltree {share} 2\n\
                 delete {share} {delete}\nmemory-1000 {share} 10000\nmemory-9 {share} {memory}\n"
            )
        };
        let round = of("encrypted", 150, 2, 12_000) + &of("plain", 90, 3, 13_000);
        let text = tables(&[Figures::read(&round).unwrap()], ["8", "9"]);
        let verdicts: Vec<_> = text
            .lines()
            .skip(2)
            .map(|row| row.contains("yes |"))
            .collect();
        assert_eq!(
            verdicts,
            [true, false, true, true, false, false, false, false]
        );
    }
}
