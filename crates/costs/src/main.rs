//! Writes what each call costs as Markdown, for `cargo xtask bench node`.

use std::io;
use std::io::Write as _;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::Result;
use wincsi_costs as costs;

use costs::Cpu;
use costs::Growth;
use costs::Scenario;
use costs::Stage;

/// How often a call is repeated, and for how long at most.
const REPEATS: u32 = 1_000;
const WITHIN: Duration = Duration::from_secs(1);

fn main() -> Result<()> {
    let stage = Stage::new()?;
    let scenarios: Vec<_> = costs::SCENARIOS.iter().copied().flatten().collect();
    let samples = scenarios
        .iter()
        .map(|scenario| Ok((*scenario, scenario.run(&stage)?)))
        .collect::<Result<Vec<_>>>()?;
    let means = scenarios
        .iter()
        .map(|scenario| Ok((*scenario, mean(&stage, scenario)?)))
        .collect::<Result<Vec<_>>>()?;
    let growth = costs::SIZES
        .into_iter()
        .map(Growth::measure)
        .collect::<Result<Vec<_>>>()?
        .concat();
    let mut out = io::stdout().lock();
    for (title, table) in [
        (
            "Work of the providers, and handles",
            costs::provider_table(&samples),
        ),
        (
            "Where the providers have more to do",
            costs::excess_table(&scenarios),
        ),
        ("Where more handles are opened", costs::handles_list()),
        ("Nodes of many volumes", costs::growth_table(&growth)),
        ("Processor time", costs::cpu_table(&means)),
        ("Operations of each call", costs::operations_table(&samples)),
        (
            "How csi-proxy's counts are derived",
            costs::derivation_table(&scenarios),
        ),
    ] {
        writeln!(out, "## {title}\n\n{table}")?;
    }
    Ok(())
}

/// The mean of many calls.
fn mean(stage: &Stage, scenario: &Scenario) -> Result<Cpu> {
    let began = Instant::now();
    let mut sum = Cpu::default();
    let mut calls = 0;
    while calls < REPEATS && (calls == 0 || began.elapsed() < WITHIN) {
        let cpu = scenario.run(stage)?.cpu.context("no processor time here")?;
        sum.above += cpu.above;
        sum.below += cpu.below;
        calls += 1;
    }
    Ok(Cpu {
        above: sum.above / calls,
        below: sum.below / calls,
    })
}
