//! The figures of driver-bench, and their tables.

use anyhow::{Context, Result, bail, ensure};

use super::procfs::Private;
use super::{median, verdict};

/// The last of many at a time may take so many times the slowest alone.
const TOGETHER_TARGET: f64 = 2.0;

/// Medians beside dead servers may differ by so much.
const DEAD_TARGET: f64 = 1.1;

/// The start's comparison of records and node, in milliseconds.
const RECONCILE_TARGET: f64 = 2_000.0;

/// Stages beside looks of the doctor may take so many times those without, at p50 and p99.
const DOCTOR_TARGETS: [f64; 2] = [1.1, 1.25];

/// A look at a healthy node, in milliseconds, and what looks may take of a core, in percent.
const LOOK_TARGET: f64 = 2_000.0;
const CORE_TARGET: f64 = 0.1;

/// How often the driver looks, in milliseconds.
const PACE: f64 = 300_000.0;

/// Private memory, in KiB: 20 MB.
const MEMORY_TARGET: u64 = 20_000_000 / 1024;

/// What the program printed, a line each: what was measured, of which call or how many volumes, and numbers.
#[derive(Debug)]
pub(super) struct Figures(Vec<(String, String, Vec<f64>)>);

impl Figures {
    pub(super) fn read(output: &str) -> Result<Self> {
        let lines = output.lines().map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let [what, of, numbers @ ..] = words.as_slice() else {
                bail!("an unknown line: {line}");
            };
            let numbers: Result<Vec<f64>, _> = numbers.iter().map(|word| word.parse()).collect();
            let numbers = numbers.with_context(|| line.to_owned())?;
            Ok(((*what).to_owned(), (*of).to_owned(), numbers))
        });
        let lines: Vec<_> = lines.collect::<Result<_>>()?;
        ensure!(!lines.is_empty(), "nothing was measured");
        Ok(Self(lines))
    }

    /// The calls or numbers of volumes, in the order of the first.
    fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        for (_, of, _) in &self.0 {
            if !keys.contains(&&**of) {
                keys.push(of);
            }
        }
        keys
    }

    /// The numbers at a place of the lines of this.
    fn all(&self, what: &str, of: &str, at: usize) -> impl Iterator<Item = f64> {
        let lines = self
            .0
            .iter()
            .filter(move |line| line.0 == what && line.1 == of);
        lines.filter_map(move |(_, _, numbers)| numbers.get(at).copied())
    }

    pub(super) fn median(&self, what: &str, of: &str, at: usize) -> f64 {
        median(self.all(what, of, at))
    }

    fn slowest(&self, what: &str, of: &str, at: usize) -> f64 {
        self.all(what, of, at).fold(f64::NAN, f64::max)
    }
}

/// Where a line of side-by-side calls has the milliseconds, and those of the processor.
const TIME: usize = 1;
const PROCESSOR: usize = 2;

const STAGE: &str = "NodeStageVolume";

/// The rounds of each build: calls one after the other, and many at a time.
pub(super) fn side_by_side(volumes: u32, builds: &[(&str, Vec<Figures>)]) -> String {
    let mut text = format!(
        "| call | build | alone: ms | slowest ms | {volumes} at a time: last ms | last : slowest \
         | at most {TOGETHER_TARGET} | processor ms |\n|---|---|---:|---:|---:|---:|---|---:|"
    );
    let first = builds.first().and_then(|(_, rounds)| rounds.first());
    for call in first.map(Figures::keys).unwrap_or_default() {
        for (name, rounds) in builds {
            text += &format!("\n| {call} | {name} | {}", side_by_side_cells(call, rounds));
        }
    }
    text
}

fn side_by_side_cells(call: &str, rounds: &[Figures]) -> String {
    let figure = |figure: &dyn Fn(&Figures) -> f64| median(rounds.iter().map(figure));
    let last = |round: &Figures| round.median("last", call, TIME);
    let slowest = |round: &Figures| round.slowest("alone", call, TIME);
    let ratio = figure(&|round| last(round) / slowest(round));
    format!(
        "{:.1} | {:.1} | {:.1} | {ratio:.2} | {} | {:.0} |",
        figure(&|round| round.median("alone", call, TIME)),
        figure(&slowest),
        figure(&last),
        verdict(ratio <= TOGETHER_TARGET),
        figure(&|round| round.median("last", call, PROCESSOR)),
    )
}

/// Stages at a time where each first portal is dead may take so many times those where it answers, and one probe.
const DEAD_PORTAL_TARGET: f64 = 1.2;
const PROBE: f64 = 3_000.0;

/// The rounds of LUNs whose first portals answer, and of those whose first portals do not.
pub(super) fn luns(volumes: u32, living: Vec<Figures>, dead: Vec<Figures>) -> String {
    let last = |round: &Figures| round.median("last", STAGE, TIME);
    let pairs = living.iter().zip(&dead);
    let ratio = median(pairs.map(|(living, dead)| (last(dead) - PROBE) / last(living)));
    let builds = [("living", living), ("dead", dead)];
    format!(
        "LUNs, 20 of a target, which the first stage logs in to; the first portal living or dead:\n\n{}\n\n\
         Stage beside dead ones, less a probe of {PROBE} ms, times that beside living ones: \
         {ratio:.2}, at most {DEAD_PORTAL_TARGET}: {}",
        side_by_side(volumes, &builds),
        verdict(ratio <= DEAD_PORTAL_TARGET)
    )
}

/// Calls on a node with dead servers beside calls on one without.
pub(super) fn dead_servers(figures: &Figures) -> String {
    let mut text = format!(
        "| call for a share of a living server | no server dead: p50 ms | 3 of 20 dead: p50 ms \
         | ratio | at most {DEAD_TARGET} |\n|---|---:|---:|---:|---|"
    );
    for call in figures.keys() {
        let [without, with] = ["none", "dead"].map(|node| figures.median(node, call, 0));
        let ratio = with / without;
        let verdict = verdict(ratio <= DEAD_TARGET);
        text += &format!("\n| {call} | {without:.2} | {with:.2} | {ratio:.2} | {verdict} |");
    }
    text
}

/// Looks of the doctor at a healthy node, and stages beside looks.
pub(super) fn doctor(figures: &Figures) -> String {
    let mut text = "| doctor | | at most | |\n|---|---:|---:|---|".to_owned();
    let mut row = |what: &str, value: f64, target: f64| {
        let verdict = verdict(value <= target);
        text += &format!("\n| {what} | {value:.2} | {target} | {verdict} |");
    };
    for (at, what) in ["p50", "p99"].into_iter().enumerate() {
        let [with, without] = ["with", "without"].map(|name| figures.median(name, STAGE, at));
        let what = format!("{STAGE}, all at once beside looks: {what} times that without");
        row(&what, with / without, DOCTOR_TARGETS[at]);
    }
    for volumes in figures.keys().iter().filter(|key| **key != STAGE) {
        let slowest = figures.slowest("look", volumes, 0);
        row(
            &format!("the slowest look at {volumes} volumes: ms"),
            slowest,
            LOOK_TARGET,
        );
        let busy = figures.median("busy", volumes, 0);
        row(
            "a look each five minutes: percent of a core",
            busy * 100.0 / PACE,
            CORE_TARGET,
        );
    }
    text
}

/// Many staged volumes beside few.
pub(super) fn staged(figures: &Figures) -> String {
    let mut text = format!(
        "| staged volumes | records read ms | reconciled ms | at most {RECONCILE_TARGET} \
         | reconciled with field latencies ms | at most {RECONCILE_TARGET} | stats p50 ms |\n\
         |---:|---:|---:|---|---:|---|---:|"
    );
    for volumes in figures.keys() {
        let [open, reconcile, recorded, stats] =
            ["open", "reconcile", "recorded", "stats"].map(|what| figures.median(what, volumes, 0));
        let verdicts = [reconcile, recorded].map(|time| verdict(time <= RECONCILE_TARGET));
        text += &format!(
            "\n| {volumes} | {open:.0} | {reconcile:.0} | {} | {recorded:.0} | {} | {stats:.3} |",
            verdicts[0], verdicts[1]
        );
    }
    text
}

/// Private memory of `wincsi node` at rest, by the number of its records.
pub(super) fn memory(held: &[(u32, Private)]) -> String {
    let megabytes = |kib: u64| format!("{}.{}", kib * 1024 / 1_000_000, kib * 1024 / 100_000 % 10);
    let mut text = "| records | private MB of `wincsi node` that it wrote | under 20 | pages of its exe, MB |\n\
                    |---:|---:|---|---:|".to_owned();
    for (records, Private { written, clean }) in held {
        let verdict = verdict(*written < MEMORY_TARGET);
        let [written, clean] = [*written, *clean].map(megabytes);
        text += &format!("\n| {records} | {written} | {verdict} | {clean} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Figures {
        Figures::read(output).unwrap()
    }

    #[test]
    fn the_ratio_is_that_of_the_last_to_the_slowest_alone() {
        let alone = "alone Stage 1 1000 10\nalone Stage 1 2000 10\n";
        let quick = || read(&format!("{alone}last Stage 100 3000 400\n"));
        let slow = || read(&format!("{alone}last Stage 100 9000 600\n"));
        let expected = "1000.0 | 2000.0 | 3000.0 | 1.50 | yes | 400 |";
        let cells = |rounds: &[Figures]| side_by_side_cells("Stage", rounds);
        assert_eq!(cells(&[quick(), slow(), quick()]), expected);
        assert!(cells(&[slow()]).ends_with("| 4.50 | **no** | 600 |"));
        assert!(cells(&[read(alone)]).contains("**no** |"));
        let table = side_by_side(100, &[("ours", vec![quick()])]);
        assert!(
            table.ends_with(&format!("\n| Stage | ours | {expected}")),
            "{table}"
        );
    }

    #[test]
    fn a_dead_portal_may_cost_a_fifth_and_a_probe() {
        let of = |last| read(&format!("last NodeStageVolume 100 {last} 400\n"));
        for (dead, verdict) in [
            (15_000, "1.20, at most 1.2: yes"),
            (15_100, "1.21, at most 1.2: **no**"),
        ] {
            let text = luns(100, vec![of(10_000)], vec![of(dead)]);
            assert!(text.ends_with(verdict), "{text}");
        }
    }

    #[test]
    fn what_is_no_figure_is_an_error() {
        for output in ["", "panicked\n", "a caller panicked\n"] {
            assert!(Figures::read(output).is_err(), "{output}");
        }
    }

    #[test]
    fn medians_of_both_nodes_are_compared() {
        let output = "none Stats 2\ndead Stats 2.1\nnone Stats 2\ndead Stats 9\ndead Stats 2\n";
        let table = dead_servers(&read(output));
        assert!(
            table.ends_with("\n| Stats | 2.00 | 2.10 | 1.05 | yes |"),
            "{table}"
        );
        let slow = dead_servers(&read("none Stats 2\ndead Stats 2.3\n"));
        assert!(slow.ends_with("**no** |"), "{slow}");
        assert!(dead_servers(&read("none Stats 2\n")).ends_with("**no** |"));
    }

    #[test]
    fn a_look_has_its_targets() {
        let quick = "look 9 3\nlook 9 5\nbusy 9 300\nwithout NodeStageVolume 10 20\nwith NodeStageVolume 11 25\n";
        let table = doctor(&read(quick));
        assert_eq!(table.matches("| yes |").count(), 4, "{table}");
        assert!(
            table.contains("at 9 volumes: ms | 5.00 | 2000 | yes |"),
            "{table}"
        );
        let slow = quick
            .replace("look 9 3", "look 9 2001")
            .replace("300", "301");
        let slow = doctor(&read(&slow.replace(" 11 25", " 11.1 25.1")));
        assert_eq!(slow.matches("**no**").count(), 4, "{slow}");
    }

    #[test]
    fn each_number_of_volumes_has_a_row_with_its_medians() {
        let output = "open 10 1\nreconcile 10 2\nrecorded 10 5\nstats 10 0.5\nstats 10 0.1\nstats 10 0.2\n\
                      open 1000 3\nreconcile 1000 2500\nrecorded 1000 1500\nstats 1000 0.4\n";
        let rows = "\n| 10 | 1 | 2 | yes | 5 | yes | 0.200 |\n\
                    | 1000 | 3 | 2500 | **no** | 1500 | yes | 0.400 |";
        let table = staged(&read(output));
        assert!(table.ends_with(rows), "{table}");
    }

    #[test]
    fn memory_is_judged_in_megabytes() {
        let private = |written, clean| Private { written, clean };
        let table = memory(&[(0, private(4_000, 30_000)), (9, private(30_000, 4_000))]);
        let rows = "\n| 0 | 4.0 | yes | 30.7 |\n| 9 | 30.7 | **no** | 4.0 |";
        assert!(table.ends_with(rows), "{table}");
    }
}
