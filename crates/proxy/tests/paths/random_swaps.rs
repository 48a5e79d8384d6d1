//! A folder is exchanged at random moments while a link is made in it.

use std::thread;
use std::time::Duration;

use os_sim::{Effect, Rule};
use proptest::prelude::*;
use proptest::test_runner;

use super::attack::{Attack, LINK, Released, scene};
use super::rig::{Call, Hands, Rig};

/// Somebody exchanges things before these operations of the system, counted from the first of the call.
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

/// Makes the call, and attacks each time that it comes to such an operation.
fn call_under(rig: &Rig, call: Call, attacks: &[(u32, Attack)]) {
    let faults = rig.sim.faults();
    let armed: Vec<_> = attacks
        .iter()
        .map(|(nth, attack)| {
            let rule = Rule::on("*", Effect::Hang).from_nth(*nth).times(1);
            (faults.add(rule), *attack)
        })
        .collect();
    thread::scope(|scope| {
        let _released = Released(rig);
        let caller = scope.spawn(|| rig.call(call, LINK));
        for (rule, attack) in armed {
            let patience = Duration::from_millis(10);
            while !caller.is_finished() && !faults.wait_until_hanging(1, patience) {}
            attack.run(&rig.sim);
            faults.remove(rule);
        }
        let _ = caller.join().unwrap();
    });
}

proptest! {
    #![proptest_config(test_runner::Config {
        cases: test_runner::Config::default().cases / 10,
        max_shrink_iters: 100,
        ..test_runner::Config::default()
    })]

    #[test]
    fn no_link_is_made_outside_at_whichever_moment_a_folder_is_exchanged(
        call in prop::sample::select(vec![Call::MapShareAt, Call::SymlinkAt]),
        attacks in attacks(),
    ) {
        let rig = scene();
        let before = rig.outside();
        call_under(&rig, call, &attacks);
        prop_assert_eq!(rig.outside(), before);
    }
}
