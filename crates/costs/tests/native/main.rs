//! The counts hold for the native way to WMI too, which runs under Wine.

#![cfg(windows)]

mod walk;

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::env;
use std::fs;

use fidelity::Program;
use wincsi_costs as costs;

use costs::Crossed;
use costs::Provider;
use costs::WbemCall;

use crate::walk::walk;

const PAGE: &str = include_str!("../../../../docs/benchmarks-node.md");

/// Names the file that the table is written to, instead of being compared, for `cargo xtask bench node`.
const WRITE: &str = "WINCSI_CROSSINGS";

/// Each of two namespaces has three threads, with a connection each.
const MOST_CONNECTIONS: usize = 6;

#[test]
fn the_providers_have_the_work_that_the_page_says() {
    let table = costs::provider_table(&walk().samples);
    assert!(
        page().contains(&table),
        "another count by the native way:\n{table}"
    );
}

#[test]
fn each_query_and_each_method_crosses_once() {
    for (scenario, sample) in &walk().samples {
        let crossed = Crossed::of(&sample.crossings);
        let work = Provider::of(&sample.counts);
        assert_eq!(
            crossed.provider, work,
            "{} {}",
            scenario.operation, scenario.state
        );
    }
}

/// Once for each method that a connection has called, and never again: by class, since a definition is a
/// class's.
#[test]
fn a_definition_crosses_once_for_each_method_of_a_connection() {
    let mut fetched: BTreeMap<_, u64> = BTreeMap::new();
    let mut called: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for crossing in &walk().whole {
        match &crossing.call {
            WbemCall::Definition(class) => {
                *fetched
                    .entry((crossing.connection, class.as_str()))
                    .or_default() += crossing.times;
            }
            WbemCall::Method(method) => {
                let (class, name) = method.split_once('.').expect("class.method");
                called
                    .entry((crossing.connection, class))
                    .or_default()
                    .insert(name);
            }
            WbemCall::Query => {}
        }
    }
    let called = called
        .into_iter()
        .map(|(of, names)| (of, names.len() as u64));
    assert_eq!(fetched, called.collect());
}

#[test]
fn each_thread_makes_one_connection_to_its_namespace() {
    let made = walk().connections;
    assert!((2..=MOST_CONNECTIONS).contains(&made), "{made}");
}

#[test]
fn the_page_of_fidelity_says_what_is_executed_here() {
    let settled = fidelity::settle(Program::InProcessNode, &walk().record);
    assert_eq!(settled, Ok(()));
}

#[test]
fn the_page_has_what_crosses() {
    let table = costs::crossings_table(&walk().samples);
    if let Some(file) = env::var_os(WRITE) {
        fs::write(file, table).expect("the table is written");
        return;
    }
    let is_there = page().contains(&table);
    assert!(
        is_there,
        "docs/benchmarks-node.md is stale: run `cargo xtask bench node`"
    );
}

fn page() -> String {
    PAGE.replace("\r\n", "\n")
}
