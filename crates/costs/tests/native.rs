//! The counts hold for the native way to WMI too, which runs under Wine.

#![cfg(windows)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use os::{Os, Provider};
use os_windows::NativeProvider;
use os_windows_testkit::{Crossing, InProcessWmi, OutParameters};
use wincsi_costs::{Counter, TestNode, rows};

/// Each of two namespaces has three threads, with a connection each.
const MOST_CONNECTIONS: usize = 6;

#[test]
fn each_row_costs_what_the_table_says_and_each_query_and_method_crosses_once() {
    let beneath = OnceLock::new();
    let layer = |os| {
        let (os, wmi) = native(os);
        let (os, counter) = Counter::around(os);
        assert!(beneath.set((wmi, counter)).is_ok());
        os
    };
    let node = TestNode::through(layer).expect("a node");
    let (wmi, counter) = beneath.get().expect("the way was taken");
    let mut crossings = wmi.take_crossings();
    for (call, row) in rows() {
        let (wrong, counted) = counter.during(|| row.wrong(call, &node));
        assert_eq!(wrong, None);
        let crossed = wmi.take_crossings();
        assert_eq!(
            [times(&crossed, "ExecQuery"), times(&crossed, "ExecMethod")],
            counted.cost()[..2],
            "{call} {}: {crossed:?}",
            row.situation
        );
        crossings.extend(crossed);
    }
    assert_definitions_cross_once(&crossings);
    let made: BTreeSet<_> = crossings.iter().map(|one| one.connection).collect();
    assert!((2..=MOST_CONNECTIONS).contains(&made.len()), "{made:?}");
}

/// Once for each method that a connection has called, and never again: by class, since a definition is a
/// class's.
fn assert_definitions_cross_once(crossings: &[Crossing]) {
    let mut fetched: BTreeMap<_, u64> = BTreeMap::new();
    let mut called: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for one in crossings {
        match (one.call, one.of.split_once('.')) {
            ("GetObject", _) => {
                *fetched
                    .entry((one.connection, one.of.as_str()))
                    .or_default() += one.times;
            }
            ("ExecMethod", Some((class, method))) => {
                let methods = called.entry((one.connection, class)).or_default();
                methods.insert(method);
            }
            (call, _) => assert_eq!(call, "ExecQuery", "{one:?}"),
        }
    }
    let called = called.into_iter();
    let called = called.map(|(of, methods)| (of, methods.len() as u64));
    assert_eq!(fetched, called.collect());
}

fn times(crossings: &[Crossing], call: &str) -> u64 {
    let named = crossings.iter().filter(|one| one.call == call);
    named.map(|one| one.times).sum()
}

/// The node with the native way to its providers, which are objects in the process.
fn native(os: Os) -> (Os, InProcessWmi) {
    let wmi = InProcessWmi::over(os.clone(), OutParameters::Result);
    let clock = Arc::clone(&os.clock);
    let native: Arc<dyn Provider> = Arc::new(NativeProvider::over(clock, Arc::new(wmi.clone())));
    let os = Os {
        iscsi: Arc::clone(&native),
        smb: Arc::clone(&native),
        storage: native,
        ..os
    };
    (os, wmi)
}
