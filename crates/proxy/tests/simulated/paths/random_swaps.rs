//! A folder is exchanged at random moments while a link is made in it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use os::Files;
use os_sim::{Effect, Rule};
use proptest::prelude::*;
use proptest::test_runner;

use super::attack::{Attack, LINK, POD, Released, swapping};
use super::fixture::{Hands, PathCall, ServerFixture, path};

/// Totals over all cases.
static LINKS_MADE: AtomicUsize = AtomicUsize::new(0);
static ATTACKS_WHILE_MADE: AtomicUsize = AtomicUsize::new(0);

/// The attacks before these operations of the system, counted from the call's first.
fn attacks() -> impl Strategy<Value = Vec<(u32, Attack)>> {
    let attack = prop::sample::select(vec![
        Attack::Junction,
        Attack::Junction,
        Attack::JunctionsWithin,
        Attack::Fill,
        Attack::Link,
        Attack::TakeName,
    ]);
    prop::collection::vec((1_u32..30, attack), 1..5).prop_map(|mut attacks| {
        attacks.sort_by_key(|(nth, _)| *nth);
        attacks.dedup_by_key(|(nth, _)| *nth);
        attacks
    })
}

/// Makes the call, and attacks before each such operation.
fn call_under(fixture: &ServerFixture, call: PathCall, attacks: &[(u32, Attack)]) {
    let faults = fixture.faults();
    let armed: Vec<_> = attacks
        .iter()
        .map(|(nth, attack)| {
            let rule = Rule::on("*", Effect::Hang).from_nth(*nth).times(1);
            (faults.add(rule), *attack)
        })
        .collect();
    thread::scope(|scope| {
        let _released = Released(fixture);
        let caller = scope.spawn(|| fixture.call(call, LINK));
        for (rule, attack) in armed {
            let patience = Duration::from_millis(10);
            while !caller.is_finished() && !faults.wait_until_hanging(1, patience) {}
            if has_placeholder(fixture) {
                ATTACKS_WHILE_MADE.fetch_add(1, Ordering::Relaxed);
            }
            attack.run(&fixture.sim);
            faults.remove(rule);
        }
        if caller.join().unwrap().is_ok() {
            LINKS_MADE.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// Whether a link is being made: an entry keeps the folder from becoming a junction until the link has its name.
fn has_placeholder(fixture: &ServerFixture) -> bool {
    let found = fixture.files().list(&path(POD)).unwrap_or_default();
    let mut names = found.iter().map(|found| found.name.to_string_lossy());
    names.any(|name| name.starts_with(".wincsi-link-"))
}

proptest! {
    #![proptest_config(test_runner::Config {
        cases: test_runner::Config::default().cases / 10,
        max_shrink_iters: 100,
        ..test_runner::Config::default()
    })]

    fn no_case_makes_a_link_outside(
        call in prop::sample::select(vec![PathCall::MapShareAt, PathCall::SymlinkAt]),
        attacks in attacks(),
    ) {
        let fixture = swapping();
        let before = fixture.outside();
        call_under(&fixture, call, &attacks);
        prop_assert_eq!(fixture.outside(), before);
    }
}

/// Calls that all fail, or attacks that all come too early or too late, would show nothing.
/// Guards: P56
#[test]
fn no_link_is_made_outside_at_whichever_moment_a_folder_is_exchanged() {
    no_case_makes_a_link_outside();
    let made = LINKS_MADE.load(Ordering::Relaxed);
    let attacks = ATTACKS_WHILE_MADE.load(Ordering::Relaxed);
    assert!(made > 0 && attacks > 0, "{made} made, {attacks} meanwhile");
}
