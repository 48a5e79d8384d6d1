//! The counts stay what they are promised to be.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use fidelity::Program;
use fidelity::Recorder;
use proxy::catalogue::OPERATIONS;
use wincsi_costs as costs;

use costs::Growth;
use costs::Provider;
use costs::Sample;
use costs::Scenario;
use costs::Stage;
use os_meter::Kind;

const PAGE: &str = include_str!("../../../docs/benchmarks-node.md");

/// The calls that ask no provider, whatever csi-proxy does.
const WITHOUT_PROVIDER: [&str; 6] = [
    "filesystem.IsSymlink",
    "filesystem.PathExists",
    "volume.GetDiskNumberFromVolumeID",
    "volume.GetVolumeIDFromTargetPath",
    "volume.GetVolumeStats",
    "volume.WriteVolumeCache",
];

fn samples() -> &'static [(&'static Scenario, Sample)] {
    static SAMPLES: OnceLock<Vec<(&Scenario, Sample)>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let recorder = recorder().clone();
        let watched = move |os| fidelity::watched(os, &recorder);
        let stage = Stage::through(watched, None).expect("a node");
        let run = |scenario: &'static Scenario| {
            let sample = scenario.run(&stage);
            (scenario, sample.expect("a call that succeeds"))
        };
        scenarios().into_iter().map(run).collect()
    })
}

fn recorder() -> &'static Recorder {
    static RECORDER: OnceLock<Recorder> = OnceLock::new();
    RECORDER.get_or_init(Recorder::default)
}

fn scenarios() -> Vec<&'static Scenario> {
    costs::SCENARIOS.iter().copied().flatten().collect()
}

#[test]
fn every_operation_of_the_catalogue_is_counted() {
    let counted: BTreeSet<_> = scenarios()
        .iter()
        .map(|one| one.operation.to_owned())
        .collect();
    let all: BTreeSet<_> = OPERATIONS.iter().map(ToString::to_string).collect();
    assert_eq!(counted, all);
}

/// The exceptions are those that give their reason, by as much as they say, and no others; one that
/// needs none any more is none.
#[test]
fn no_provider_has_more_to_do_than_with_csi_proxy() {
    for (scenario, sample) in samples() {
        let ours = Provider::of(&sample.counts);
        let granted = scenario.excess.map(|excess| excess.provider);
        assert_eq!(
            ours.beyond(&scenario.peer.provider),
            granted.unwrap_or(Provider::NOTHING),
            "{} {}: {ours:?} instead of {:?}",
            scenario.operation,
            scenario.state,
            scenario.peer.provider
        );
        assert_ne!(granted, Some(Provider::NOTHING), "{}", scenario.operation);
    }
}

#[test]
fn the_calls_that_open_more_handles_are_those_of_the_list() {
    let more: BTreeSet<_> = samples()
        .iter()
        .filter(|(scenario, sample)| sample.counts.of(Kind::Handle) > scenario.peer.handles)
        .map(|(scenario, _)| scenario.operation)
        .collect();
    let listed: Vec<_> = costs::MORE_HANDLES
        .iter()
        .flat_map(|more| more.calls)
        .copied()
        .collect();
    assert_eq!(more, listed.iter().copied().collect());
    assert_eq!(more.len(), listed.len(), "one is listed twice");
}

#[test]
fn calls_that_drivers_repeat_ask_no_provider() {
    for name in WITHOUT_PROVIDER {
        let mut found = samples()
            .iter()
            .filter(|(scenario, _)| scenario.operation == name)
            .peekable();
        assert!(found.peek().is_some(), "{name} is not counted");
        for (scenario, sample) in found {
            let ours = Provider::of(&sample.counts);
            assert_eq!(ours, Provider::NOTHING, "{name} {}", scenario.state);
        }
    }
}

#[test]
fn a_call_costs_the_same_on_a_node_of_many_volumes() {
    let (few, many) = (
        Growth::measure(10).expect("a small node"),
        Growth::measure(1_000).expect("a large node"),
    );
    for (few, many) in few.iter().zip(&many) {
        assert_eq!(few.operation, many.operation);
        let (least, most) = (few.sample.counts.total(), many.sample.counts.total());
        match few.operation {
            // One look at each volume: whose it is, only it knows.
            "volume.ListVolumesOnDisk" => assert_eq!(most - least, 990),
            _ => assert_eq!(few.sample.counts, many.sample.counts, "{}", few.operation),
        }
    }
}

#[test]
fn the_page_of_fidelity_says_what_is_executed_here() {
    samples();
    let settled = fidelity::settle(Program::SimulatorNode, &recorder().take());
    assert_eq!(settled, Ok(()));
}

#[test]
fn the_page_has_the_counts() {
    let page = PAGE.replace("\r\n", "\n");
    for table in [
        costs::provider_table(samples()),
        costs::excess_table(&scenarios()),
        costs::handles_list(),
        costs::operations_table(samples()),
        costs::derivation_table(&scenarios()),
    ] {
        let title = table.lines().next().unwrap_or_default();
        assert!(
            page.contains(&table),
            "docs/benchmarks-node.md is stale ({title}): run `cargo xtask bench node`"
        );
    }
}
