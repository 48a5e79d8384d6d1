//! `cargo xtask bench controller`: volumes of wincsi-controller on a Samba of this machine, beside smbclient.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::driver::build;
use super::driver_tables::Figures;
use super::{Options, machine, median, verdict};
use crate::env::{self, Need};
use crate::process;
use crate::trial;

const RUN: Duration = Duration::from_secs(20 * 60);

const PACKAGE: &str = "wincsi-controller";
const PROGRAM: &str = "controller-bench";

/// A pair may take so many times the bare ones, one at a time and 16.
const PAIRS: [(&str, f64); 2] = [("1", 0.1), ("16", 0.2)];
const MEMORY_TARGET: f64 = 1.2;

/// Measures all, and returns the report.
pub(super) fn measure(options: &Options) -> Result<String> {
    env::provide(&[Need::Samba])?;
    let [pairs, files, heap] = match options.quick {
        true => ["50", "500", "5000"],
        false => ["500", "10000", "100000"],
    };
    let controller = build(PACKAGE, PACKAGE)?;
    let bench = build(trial::PACKAGE, PROGRAM)?;
    let rounds = options.rounds(3);
    let mut measured = Vec::new();
    for round in 1..=rounds {
        println!("round {round}");
        let mut command = Command::new(&bench);
        command.arg(&controller).args(["--pairs", pairs]);
        command.args(["--files", files, "--heap", heap]);
        let output = process::capture(&mut command, RUN)?;
        measured.push(Figures::read(&output.success(PROGRAM)?)?);
    }
    let facts = format!(
        "Medians of {rounds} rounds, smbclient and controller in turn; ratios are medians of each round's own"
    );
    let samba = version()?;
    let head = machine::head("controller", &[samba.trim()], &[&facts])?;
    Ok(format!("{head}\n\n{}", tables(&measured, [files, heap])))
}

fn version() -> Result<String> {
    let mut command = Command::new("smbclient");
    process::capture(command.arg("--version"), Duration::from_secs(60))?.success("smbclient")
}

fn tables(rounds: &[Figures], [files, heap]: [&str; 2]) -> String {
    let mut text =
        "| share | what | ours | smbclient | ratio | target |\n|---|---|---:|---:|---:|---|"
            .to_owned();
    for share in ["encrypted", "plain"] {
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
        let (many, few) = (format!("memory-{heap}"), "memory-1000");
        let larger = ratio(&many, few);
        text += &format!(
            "\n| {share} | peak KiB to delete {heap} files of one folder, and 1000 | {:.0} | {:.0} | {larger:.2} \
             | at most {MEMORY_TARGET}: {} |",
            figure(&many),
            figure(few),
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
