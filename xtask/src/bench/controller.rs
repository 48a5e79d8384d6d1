//! `cargo xtask bench controller`: volumes of wincsi-controller on a Samba of this machine, beside smbclient.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use self::Target::{AtLeast, AtMost};
use super::driver::build;
use super::driver_tables::Figures;
use super::{Options, machine, median, procfs, verdict};
use crate::env::{self, Need};
use crate::image;
use crate::process::{self, Background};
use crate::samba::{self, PASSWORD, Samba};
use crate::trial;

const RUN: Duration = Duration::from_secs(20 * 60);
const START: Duration = Duration::from_secs(60);

const PACKAGE: &str = "wincsi-controller";
const PROGRAM: &str = "controller-bench";

const COPIES: [&str; 3] = ["clone", "snapshot", "restore"];
const SHARES: [&str; 2] = ["encrypted", "plain"];
/// How often what takes a second or three is measured in a round, with what is beside it, in turn.
const TURNS: usize = 5;
/// A pair may take so many times the bare ones, one at a time and 16.
const PAIRS: [(&str, f64); 2] = [("1", 0.1), ("16", 0.2)];
const MEMORY_TARGET: f64 = 1.2;
/// A clone of a large file may take so many times smbclient's `scopy`.
const LARGE_TARGET: f64 = 1.2;
/// What clones leave of the rate of others.
const BESIDE_TARGET: f64 = 2.0 / 3.0;
const PER_SECOND: &str = "volumes made and deleted in a second";
/// How many bytes each of many files has.
const SMALL: &str = "4096";
/// Their memory is compared: many, and to how many files of what is copied or deleted.
const HEAPS: [(&str, &str); 3] = [("delete", "1000"), ("clone", "1000"), ("restore", "10000")];
/// A snapshot and a restore may take so many times the clone of the same tree.
const SNAPSHOT_TARGET: f64 = 1.15;

/// What is measured, and with what.
struct Bench {
    controller: PathBuf,
    program: PathBuf,
    samba: Samba,
    home: TempDir,
    pairs: &'static str,
    files: &'static str,
    heap: &'static str,
    large: &'static str,
}

/// Measures all, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    env::provide(&[Need::Samba])?;
    let [pairs, files, heap, large] = match options.quick {
        true => ["50", "500", "5000", "67108864"],
        false => ["500", "10000", "100000", "1073741824"],
    };
    let bench = Bench {
        controller: image::controller()?,
        program: build(trial::PACKAGE, PROGRAM)?,
        samba: Samba::start(),
        home: trial::private_dir()?,
        pairs,
        files,
        heap,
        large,
    };
    let rounds = options.rounds(3);
    let mut measured = Vec::new();
    for round in 1..=rounds {
        println!("round {round}");
        let figures = SHARES.map(|share| bench.round(share)).into_iter();
        let figures: Result<Vec<String>> = figures.collect();
        measured.push(Figures::read(&figures?.concat())?);
    }
    println!("memory");
    let memory = SHARES.map(|share| bench.memory(share)).into_iter();
    let memory: Result<Vec<String>> = memory.collect();
    let memory = [Figures::read(&memory?.concat())?];
    let facts = format!(
        "The controller is its image's program. Medians of {rounds} rounds, smbclient and controller in turn; \
         ratios are medians of each round's own. Memory once, of copies of folders with 1,000 files each"
    );
    let samba = version()?;
    let head = machine::head("controller", &[samba.trim()], &[&facts])?;
    Ok(format!(
        "{head}\n\n{}",
        tables(&measured, &memory, [files, heap])
    ))
}

impl Bench {
    /// A line for each figure of a share: what was measured, of which share, and the number.
    fn round(&self, share: &str) -> Result<String> {
        let mut text = String::new();
        let mut add = |what: &str, number: String| text += &format!("{what} {share} {number}\n");
        let _controller = self.start(share)?;
        for _ in 0..TURNS {
            add("bare", self.bare_pairs(share)?.to_string());
            for (callers, _) in PAIRS {
                let rate = self.call(share, &["pairs", callers, self.pairs])?;
                add(&format!("pairs-{callers}"), rate);
            }
        }
        let root = self.samba.root();
        let root = root.to_string_lossy();
        add(
            "beside",
            self.call(
                share,
                &[
                    "pairs-beside-clones",
                    "16",
                    self.pairs,
                    &root,
                    self.files,
                    SMALL,
                ],
            )?,
        );
        add("deltree", self.deltree(share)?.to_string());
        add("delete", self.delete(share, self.files)?);
        add("mget-mput", self.mget_and_mput(share)?.to_string());
        text += &self.copies(share, "files", [self.files, SMALL])?;
        for _ in 0..TURNS {
            text += &self.copies(share, "large", ["1", self.large])?;
            text += &format!("scopy {share} {}\n", self.scopy(share)?);
        }
        Ok(text)
    }

    /// A line for the seconds of each kind of copy of a tree.
    fn copies(&self, share: &str, of: &str, tree: [&str; 2]) -> Result<String> {
        let seconds = self.copy(share, tree, &COPIES)?;
        let lines = COPIES.iter().zip(seconds.lines());
        Ok(lines
            .map(|(copy, seconds)| format!("{copy}-{of} {share} {seconds}\n"))
            .collect())
    }

    /// A line for each peak of memory: of a process that has done nothing else.
    fn memory(&self, share: &str) -> Result<String> {
        let mut text = String::new();
        for (what, few) in HEAPS {
            for files in [few, self.heap] {
                let node = self.start(share)?;
                match what {
                    "delete" => self.delete(share, files)?,
                    copy => self.copy(share, [files, "0"], &["--in-folders", copy])?,
                };
                let peak = procfs::peak_kib(node.id())?;
                text += &format!("{what}-memory-{files} {share} {peak}\n");
            }
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

    fn copy(&self, share: &str, [files, bytes]: [&str; 2], copies: &[&str]) -> Result<String> {
        let root = self.samba.root();
        let root = root.to_string_lossy();
        self.call(share, &[&["copy", &*root, files, bytes], copies].concat())
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
        let folder = self.fill(share, self.files, "0")?;
        let seconds = self.smbclient(share, "deltree tree\n")?;
        ensure!(!folder.exists(), "deltree left the folder");
        Ok(seconds)
    }

    /// The seconds in which files come to this machine and go back into another folder.
    fn mget_and_mput(&self, share: &str) -> Result<f64> {
        let (folder, copy) = (
            self.fill(share, self.files, SMALL)?,
            self.samba.root().join("copy"),
        );
        let local = self.home.path().join("local");
        fs::create_dir(&local)?;
        let begin = format!("prompt off\nlcd {}\nmkdir copy\ncd tree\n", local.display());
        let seconds = self.smbclient(share, &(begin + "mget *\ncd \\copy\nmput *\n"))?;
        ensure!(
            copy.read_dir()?.count() == folder.read_dir()?.count(),
            "mput left files out"
        );
        for folder in [folder, copy, local] {
            fs::remove_dir_all(folder)?;
        }
        Ok(seconds)
    }

    /// The seconds in which the server copies a large file.
    fn scopy(&self, share: &str) -> Result<f64> {
        let folder = self.fill(share, "1", self.large)?;
        let seconds = self.smbclient(share, "cd tree\nscopy file-0 copy\n")?;
        ensure!(
            folder.join("copy").metadata()?.len().to_string() == self.large,
            "scopy left bytes out"
        );
        fs::remove_dir_all(folder)?;
        Ok(seconds)
    }

    /// A folder of the share with so many files of a size.
    fn fill(&self, share: &str, files: &str, bytes: &str) -> Result<PathBuf> {
        let folder = self.samba.root().join("tree");
        fs::create_dir(&folder)?;
        self.call(share, &["fill", &folder.to_string_lossy(), files, bytes])?;
        Ok(folder)
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

fn tables(rounds: &[Figures], memory: &[Figures], [files, heap]: [&str; 2]) -> String {
    let mut text =
        "| share | what | ours | beside it | ratio | target |\n|---|---|---:|---:|---:|---|"
            .to_owned();
    for share in SHARES {
        let shown = Shown { rounds, share };
        for (callers, least) in PAIRS {
            let what = format!("{PER_SECOND}, {callers} at a time; bare folders by smbclient");
            text += &shown.row(&what, [&format!("pairs-{callers}"), "bare"], AtLeast(least));
        }
        let what = format!("{PER_SECOND}, 16 at a time, beside clones; without");
        text += &shown.row(&what, ["beside", "pairs-16"], AtLeast(BESIDE_TARGET));
        let what = format!("seconds to delete {files} files; `deltree`");
        text += &shown.row(&what, ["delete", "deltree"], AtMost(1.0));
        let what = format!("seconds to clone {files} files of 4 KiB; `mget` and `mput`");
        text += &shown.row(&what, ["clone-files", "mget-mput"], AtMost(1.0));
        let what = "seconds to clone a file of 1 GiB; `scopy`";
        text += &shown.row(what, ["clone-large", "scopy"], AtMost(LARGE_TARGET));
        for copy in ["snapshot", "restore"] {
            for (of, tree) in [
                ("files", format!("{files} files of 4 KiB")),
                ("large", "a file of 1 GiB".to_owned()),
            ] {
                let what = format!("seconds to {copy} {tree}; clone");
                let [ours, clone] = [copy, "clone"].map(|copy| format!("{copy}-{of}"));
                text += &shown.row(&what, [&ours, &clone], AtMost(SNAPSHOT_TARGET));
            }
        }
        let shown = Shown {
            rounds: memory,
            share,
        };
        for (what, few) in HEAPS {
            let [ours, other] = [heap, few].map(|files| format!("{what}-memory-{files}"));
            let what = match what {
                "restore" => format!("peak KiB to snapshot and restore {heap} files; {few}"),
                what => format!("peak KiB to {what} {heap} files; {few}"),
            };
            text += &shown.row(&what, [&ours, &other], AtMost(MEMORY_TARGET));
        }
    }
    text
}

/// What was measured of a share.
struct Shown<'a> {
    rounds: &'a [Figures],
    share: &'a str,
}

/// What a ratio is to be.
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

impl Shown<'_> {
    fn row(&self, what: &str, [ours, other]: [&str; 2], target: Target) -> String {
        let of = |round: &Figures, what: &str| round.median(what, self.share, 0);
        let figure = |what: &str| {
            let figure = median(self.rounds.iter().map(|round| of(round, what)));
            let decimals = if figure < 100.0 { 2 } else { 0 };
            format!("{figure:.decimals$}")
        };
        let ratios = self.rounds.iter().map(|it| of(it, ours) / of(it, other));
        let reached = median(ratios);
        let (bound, is_met) = match target {
            AtLeast(least) => (format!("at least {least:.2}"), reached >= least),
            AtMost(most) => (format!("at most {most:.2}"), reached <= most),
        };
        let [ours, other] = [ours, other].map(figure);
        let (share, verdict) = (self.share, verdict(is_met));
        format!("\n| {share} | {what} | {ours} | {other} | {reached:.2} | {bound}: {verdict} |")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_share_is_judged_by_its_own_figures() {
        let of = |share: &str, pairs, seconds, memory| {
            let of = |(what, number): (&str, u32)| format!("{what} {share} {number}\n");
            let figures = [
                ("bare", 1000),
                ("pairs-1", pairs),
                ("pairs-16", pairs),
                ("beside", 70),
            ];
            let others = [
                ("deltree", 2),
                ("mget-mput", 2),
                ("scopy", 2),
                ("delete", seconds),
            ];
            let copies = [
                ("clone-files", 2),
                ("clone-large", seconds),
                ("snapshot-files", 3),
            ];
            let more = [
                ("snapshot-large", seconds),
                ("restore-files", 2),
                ("restore-large", 3),
            ];
            let kib = HEAPS.map(|(what, few)| {
                let (few, many) = (format!("{what}-memory-{few}"), format!("{what}-memory-9"));
                of((&few, 10_000)) + &of((&many, memory))
            });
            let figures = [figures.as_slice(), &others, &copies, &more].concat();
            figures.into_iter().map(of).collect::<String>() + &kib.concat()
        };
        let round = of("encrypted", 150, 2, 12_000) + &of("plain", 90, 3, 13_000);
        let round = [Figures::read(&round).unwrap()];
        let text = tables(&round, &round, ["8", "9"]);
        let verdicts = |share: &str| {
            let rows = text.lines().skip(2).filter(|row| row.contains(share));
            rows.map(|row| row.contains("yes |")).collect::<Vec<_>>()
        };
        let [yes, no] = [true, false];
        // Pairs, beside clones, delete, clones, snapshots, restores, memory.
        let [encrypted, plain] = [
            [yes, no, no, yes, yes, yes, no, yes, yes, no, yes, yes, yes],
            [no, no, yes, no, yes, no, no, yes, yes, yes, no, no, no],
        ];
        assert_eq!(verdicts("encrypted"), encrypted);
        assert_eq!(verdicts("plain"), plain);
    }
}
