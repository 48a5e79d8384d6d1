//! The simulated node's providers as objects in this process, which `os-windows` calls as WMI's.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use os::{Os, Provider, schema};
use os_meter::{Counts, Kind};
use os_windows::NativeProvider;
use os_windows_testkit::{Crossing, InProcessWmi, OutParameters};

/// Each of two namespaces has three threads, with a connection each.
const MOST_CONNECTIONS: usize = 6;

/// The calls to WMI of all of a node's calls so far.
pub(super) struct Crossings {
    wmi: InProcessWmi,
    all: Vec<Crossing>,
}

impl Crossings {
    pub(super) fn of(os: Os) -> (Os, Self) {
        let wmi = InProcessWmi::over(os.clone(), OutParameters::Result);
        let (clock, connect) = (Arc::clone(&os.clock), Arc::new(wmi.clone()));
        let native: Arc<dyn Provider> = Arc::new(NativeProvider::over(clock, connect));
        let os = Os {
            iscsi: Arc::clone(&native),
            smb: Arc::clone(&native),
            storage: native,
            ..os
        };
        let all = Vec::new();
        (os, Self { wmi, all })
    }

    /// Each query and method that was counted crossed once.
    pub(super) fn assert_as_counted(&mut self, call: &str, counts: &Counts) {
        let crossed = self.wmi.take_crossings();
        let counted = [Kind::Query, Kind::Method].map(|kind| counts.of(kind));
        let times = ["ExecQuery", "ExecMethod"].map(|name| times(&crossed, name));
        assert_eq!(times, counted, "{call}: {crossed:?}");
        self.all.extend(crossed);
        self.assert_definitions_cross_once();
        let made: BTreeSet<_> = self.all.iter().map(|one| one.connection).collect();
        // At least one for each namespace: two once methods of disks and of shares were called.
        let connections = self.namespaces()..=MOST_CONNECTIONS;
        assert!(connections.contains(&made.len()), "{call}: {made:?}");
    }

    /// How many namespaces have the methods called so far.
    fn namespaces(&self) -> usize {
        let methods = self.all.iter().filter_map(|one| one.of.split_once('.'));
        let namespaces = methods.map(|(class, _)| schema::class(class).unwrap().namespace);
        namespaces.collect::<HashSet<_>>().len()
    }

    /// Once for each method that a connection has called: by class, since a definition is a class's.
    fn assert_definitions_cross_once(&self) {
        let mut fetched: BTreeMap<_, u64> = BTreeMap::new();
        let mut called: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for one in &self.all {
            match (one.call, one.of.split_once('.')) {
                ("GetObject", _) => {
                    let fetched = fetched.entry((one.connection, one.of.as_str()));
                    *fetched.or_default() += one.times;
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
}

fn times(crossings: &[Crossing], call: &str) -> u64 {
    let named = crossings.iter().filter(|one| one.call == call);
    named.map(|one| one.times).sum()
}
