//! The tables of docs/benchmarks-node.md.

use std::collections::BTreeMap;
use std::time::Duration;

use os_meter::Counts;
use os_meter::Kind;

use crate::Cpu;
use crate::Crossed;
use crate::Excess;
use crate::Growth;
use crate::MORE_HANDLES;
use crate::Provider;
use crate::SIZES;
use crate::Sample;
use crate::Scenario;

/// What the columns of [`provider_table`] promise.
const PROMISE: &str = "\
Never more than csi-proxy's is promised of the providers' work, the queries and methods, and is held for \
each situation of this table, but for those of the next one. It is not promised of handles, for \
which no provider is asked: the list after that says which calls open more, and why. csi-proxy's handles are those \
that its source names, so they are a lower bound. All operations, which are queries, methods, handles and \
calls by name, are ours alone: what csi-proxy's would be together does not follow from its source. Bold is \
more than csi-proxy's.

";

/// The work of providers and the handles, beside csi-proxy's, and what is promised of them.
#[must_use]
pub fn provider_table(samples: &[(&Scenario, Sample)]) -> String {
    let head = "| call | situation | queries | csi-proxy | methods | csi-proxy | handles | csi-proxy | all operations |\n\
                |---|---|---:|---:|---:|---:|---:|---:|---:|\n";
    let rows = samples.iter().map(|(scenario, sample)| {
        let ours = Provider::of(&sample.counts);
        let peer = scenario.peer;
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            scenario.operation,
            scenario.state,
            marked(ours.queries, peer.provider.queries),
            peer.provider.queries,
            marked(ours.methods, peer.provider.methods),
            peer.provider.methods,
            marked(sample.counts.of(Kind::Handle), peer.handles),
            peer.handles,
            sample.counts.total(),
        )
    });
    rows.fold(PROMISE.to_owned() + head, |table, row| table + &row)
}

/// Which calls open more handles than csi-proxy, and why.
#[must_use]
pub fn handles_list() -> String {
    let lines = MORE_HANDLES
        .iter()
        .map(|more| format!("- {}: {}.\n", more.calls.join(", "), more.reason));
    lines.collect()
}

/// Where the provider has more to do than with csi-proxy, what, and why.
#[must_use]
pub fn excess_table(scenarios: &[&Scenario]) -> String {
    let head =
        "| call | situation | queries more | methods more | why |\n|---|---|---:|---:|---|\n";
    let rows = scenarios.iter().filter_map(|scenario| {
        let Excess { provider, reason } = scenario.excess?;
        let Provider { queries, methods } = provider;
        Some(format!(
            "| {} | {} | {queries} | {methods} | {reason} |\n",
            scenario.operation, scenario.state
        ))
    });
    rows.fold(head.to_owned(), |table, row| table + &row)
}

/// What the columns of [`crossings_table`] are.
const CROSSINGS: &str = "\
The same situations, with `os-windows`'s own way to WMI between the node's operations and the simulated node's \
providers: COM objects in the process count each call of `IWbemServices`, which on Windows is a round trip to WMI's \
process. A test under Wine holds that the work of the providers is what the first table says, that each query of \
it is one `ExecQuery` and each method one `ExecMethod`, and that nothing else crosses but one `GetObject` for each \
method that a connection has not called before, which brings the definition of its parameters. Each of a namespace's \
at most three threads makes a connection when it first needs one, and keeps it. Situations in which nothing crosses \
are left out.

What an enumerator or a running call is asked besides is not counted: it depends on how long the provider takes. \
Nor are the system calls behind an operation on files, volumes, disks or services, whose way has no such frontier.

";

/// What crosses to WMI in each situation.
#[must_use]
pub fn crossings_table(samples: &[(&Scenario, Sample)]) -> String {
    let head = "| call | situation | ExecQuery | ExecMethod | GetObject, at first |\n|---|---|---:|---:|---:|\n";
    let rows = samples.iter().filter_map(|(scenario, sample)| {
        let crossed = Crossed::of(&sample.crossings);
        let Crossed {
            provider: Provider { queries, methods },
            definitions,
        } = crossed;
        let (operation, state) = (scenario.operation, scenario.state);
        let row = format!("| {operation} | {state} | {queries} | {methods} | {definitions} |\n");
        (crossed.provider != Provider::NOTHING).then_some(row)
    });
    rows.fold(CROSSINGS.to_owned() + head, |table, row| table + &row)
}

/// Every operation of the system that a call makes.
#[must_use]
pub fn operations_table(samples: &[(&Scenario, Sample)]) -> String {
    let head = "| call | situation | operations |\n|---|---|---|\n";
    let rows = samples.iter().map(|(scenario, sample)| {
        format!(
            "| {} | {} | {} |\n",
            scenario.operation,
            scenario.state,
            operations(&sample.counts)
        )
    });
    rows.fold(head.to_owned(), |table, row| table + &row)
}

/// How csi-proxy's counts follow from what it does.
#[must_use]
pub fn derivation_table(scenarios: &[&Scenario]) -> String {
    let head = "| call | situation | section | queries and methods |\n|---|---|---|---|\n";
    let rows = scenarios.iter().map(|scenario| {
        let peer = scenario.peer;
        format!(
            "| {} | {} | {} | {} |\n",
            scenario.operation, scenario.state, peer.section, peer.derivation
        )
    });
    rows.fold(head.to_owned(), |table, row| table + &row)
}

/// Operations, and microseconds, on nodes of many volumes.
#[must_use]
pub fn growth_table(growth: &[Growth]) -> String {
    let volumes = SIZES.map(|size| format!(" {size} volumes |")).concat();
    let mut table = format!("| call |{volumes}\n|---|---:|---:|---:|\n");
    let mut calls: BTreeMap<_, String> = BTreeMap::new();
    for one in growth {
        let cell = format!(
            " {} operations, {:.0} µs |",
            one.sample.counts.total(),
            one.time.as_secs_f64() * 1e6
        );
        calls.entry(one.operation).or_default().push_str(&cell);
    }
    for (call, cells) in calls {
        table += &format!("| {call} |{cells}\n");
    }
    table
}

/// Processor time of calls: the means, in seconds per 1,000 calls.
#[must_use]
pub fn cpu_table(means: &[(&Scenario, Cpu)]) -> String {
    let head = "Processor seconds per 1,000 calls.\n\n\
                | call | situation | ours | simulated node |\n|---|---|---:|---:|\n";
    let thousand = |time: Duration| time.as_secs_f64() * 1e3;
    let rows = means.iter().map(|(scenario, cpu)| {
        format!(
            "| {} | {} | {:.3} | {:.3} |\n",
            scenario.operation,
            scenario.state,
            thousand(cpu.above),
            thousand(cpu.below)
        )
    });
    rows.fold(head.to_owned(), |table, row| table + &row)
}

fn marked(ours: u64, peer: u64) -> String {
    if ours > peer {
        format!("**{ours}**")
    } else {
        ours.to_string()
    }
}

fn operations(counts: &Counts) -> String {
    let counted = counts.iter().map(|(operation, count)| {
        let subject = match operation.subject {
            "" => String::new(),
            subject => format!(" {subject}"),
        };
        let times = match count {
            1 => String::new(),
            many => format!(" ×{many}"),
        };
        format!("{}{subject}{times}", operation.name)
    });
    counted.collect::<Vec<_>>().join(", ")
}
