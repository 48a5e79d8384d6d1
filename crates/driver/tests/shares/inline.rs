//! Volumes that a pod names itself.

use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{iter, thread};

use transport::Code;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::record::Lifetime;

use crate::deaths::GLANCE;
use crate::fixture::{Fixture, PASSWORD, POD, ROOT, USER, Volume, volume};
use crate::life::SPELT_OTHERWISE;
use crate::renewal::map_as_another;

/// Only a test that has failed already waits so long.
const LONG: Duration = Duration::from_secs(60);

fn inline(handle: &str) -> Volume<'_> {
    Volume {
        lifetime: Lifetime::Inline,
        ..volume(handle)
    }
}

#[test]
fn an_inline_volume_lives_as_long_as_its_pod() {
    let mut fixture = Fixture::new();
    fixture.publish_inline(&inline("csi-1"), POD).unwrap();
    fixture.write(&inline("csi-1").target(POD), "by a pod");
    fixture.stats(&inline("csi-1"), POD).unwrap();
    fixture.restart();
    fixture.publish_inline(&inline("csi-1"), POD).unwrap();
    fixture.unpublish(&inline("csi-1"), POD).unwrap();
    assert!(!fixture.exists(&inline("csi-1").target(POD)));
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

#[test]
fn an_inline_volume_ends_by_its_path_in_each_case() {
    let fixture = Fixture::new();
    let spelt_otherwise = Volume {
        kubelet: SPELT_OTHERWISE,
        ..inline("csi-1")
    };
    fixture.publish_inline(&inline("csi-1"), POD).unwrap();
    fixture.publish_inline(&spelt_otherwise, POD).unwrap();
    fixture.stats(&spelt_otherwise, POD).unwrap();
    fixture.unpublish(&spelt_otherwise, POD).unwrap();
    assert!(!fixture.exists(&inline("csi-1").target(POD)));
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

/// Guards: P75
#[test]
fn an_inline_volume_is_served_by_a_mapping_of_its_own_credential_alone() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    for _ in 0..2 {
        fixture.publish_inline(&inline("same"), POD).unwrap();
        fixture.unpublish(&inline("same"), POD).unwrap();
        let thief = Volume {
            password: "guessed",
            ..inline("thief")
        };
        let error = fixture.publish_inline(&thief, POD).unwrap_err();
        assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
        assert!(!fixture.exists(&thief.target(POD)));
        let page = fixture.metrics();
        assert!(page.contains("wincsi_smb_inline_refused_total 1"), "{page}");
        // The next process knows the credential by its slow hash alone.
        fixture.restart();
    }
    assert_eq!((fixture.mappings().len(), fixture.records()), (1, 1));
}

/// The mapping is listed before the call that makes it has ended.
/// Guards: P75
#[test]
fn inline_volumes_that_start_together_are_served() {
    let fixture = &Fixture::new();
    let hang = Rule::on("CreateSymbolicLinkW", Effect::Hang).times(1);
    fixture.fault(hang);
    let handles = ["csi-1", "csi-2", "csi-3"];
    thread::scope(|scope| {
        let publish = |handle| scope.spawn(move || fixture.publish_inline(&inline(handle), handle));
        let first = publish(handles[0]);
        fixture.wait_for_hang(1);
        fixture.take_trace();
        let others = handles[1..].iter().map(|handle| publish(*handle));
        let others = Vec::from_iter(others);
        let (began, mut lists) = (Instant::now(), 0);
        while lists < others.len() && began.elapsed() < LONG {
            let trace = fixture.take_trace().into_iter();
            lists += trace
                .filter(|op| op.operation == "IWbemServices.ExecQuery")
                .count();
            thread::yield_now();
        }
        // Refused, they end within this time; none of them hangs.
        assert!(!fixture.faults().wait_until_hanging(2, GLANCE));
        fixture.heal();
        for published in [first].into_iter().chain(others) {
            published.join().unwrap().unwrap();
        }
    });
    assert_eq!((fixture.mappings().len(), fixture.records()), (1, 3));
}

/// Guards: P75
#[test]
fn an_inline_volume_is_refused_where_nobody_knows_the_credential_of_the_mapping() {
    let fixture = Fixture::new();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    let error = fixture.publish_inline(&inline("csi-1"), POD).unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    assert!(error.to_string().contains("nobody knows"), "{error}");
    assert_eq!(fixture.records(), 0);
}

/// Guards: P75
#[test]
fn an_inline_volume_is_not_served_by_what_another_mapped_after_a_reboot() {
    let mut fixture = Fixture::new();
    fixture.publish_inline(&inline("csi-1"), POD).unwrap();
    fixture.sim.reboot().unwrap();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.restart();
    let again = fixture.publish_inline(&inline("csi-1"), POD).unwrap_err();
    assert_eq!(again.code(), Code::Unavailable, "{again}");
    let other = fixture.publish_inline(&inline("csi-2"), POD).unwrap_err();
    assert_eq!(other.code(), Code::FailedPrecondition, "{other}");
    assert_eq!(fixture.records(), 1);
}

#[test]
fn a_refusal_leaves_nothing_of_an_inline_volume_whose_first_try_did_not_end() {
    use wincsi::sim::smb::ServerHealth;
    let fixture = Fixture::new();
    let smb = fixture.servers();
    smb.set_condition(crate::fixture::SERVER, ServerHealth::Down)
        .unwrap();
    let first = fixture.publish_inline(&inline("csi-1"), POD).unwrap_err();
    assert_eq!((first.code(), fixture.records()), (Code::Unavailable, 0));
    smb.set_condition(crate::fixture::SERVER, ServerHealth::Up)
        .unwrap();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    let second = fixture.publish_inline(&inline("csi-1"), POD).unwrap_err();
    assert_eq!(
        (second.code(), fixture.records()),
        (Code::FailedPrecondition, 0)
    );
    assert_eq!(fixture.mappings(), [ROOT], "of others");
}

/// Guards: P75
#[test]
fn an_inline_volume_takes_no_dead_mapping_from_others() {
    use wincsi::sim::smb::ServerSpec;
    let fixture = Fixture::new();
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    let changed = ServerSpec::sharing(crate::fixture::SHARE, USER, "rotated");
    let change = |server: &mut ServerSpec| server.user = changed.user;
    fixture
        .servers()
        .change_server(crate::fixture::SERVER, change)
        .unwrap();
    let inline = Volume {
        password: "rotated",
        ..inline("csi-1")
    };
    fixture.publish_inline(&inline, POD).unwrap_err();
    assert_eq!(fixture.mappings(), [ROOT]);
    fixture
        .stage(&Volume {
            password: "rotated",
            ..volume("pv")
        })
        .unwrap();
}

/// At any moment of the call: what others mapped before its first look, it does not take for its own anyhow.
#[test]
fn what_another_process_maps_while_an_inline_volume_is_mapped_stays() {
    let mut moments = 0;
    for nth in 1.. {
        let fixture = Fixture::new();
        let faults = fixture.faults();
        let query = Rule::on("IWbemServices.ExecQuery", Effect::Hang);
        let hang = faults.add(query.from_nth(nth).times(1));
        let (is_theirs, published) = thread::scope(|scope| {
            let publishing = scope.spawn(|| fixture.publish_inline(&inline("csi-1"), POD));
            let hangs = || faults.wait_until_hanging(1, GLANCE);
            let hangs = iter::repeat_with(hangs);
            let mut hangs = hangs.take_while(|_| !publishing.is_finished());
            let is_theirs =
                hangs.any(|hangs| hangs) && fixture.try_map_by_hand(ROOT, USER, PASSWORD);
            faults.remove(hang);
            (is_theirs, publishing.join().unwrap())
        });
        if !is_theirs {
            break;
        }
        published.unwrap_err();
        assert_eq!(fixture.mappings(), [ROOT], "query {nth}");
        moments += 1;
    }
    assert!(moments > 0);
}

/// The volume whose mapping was removed by hand still uses the share, so that its credential is known.
#[test]
fn what_another_maps_meanwhile_serves_no_second_try() {
    let mut fixture = Fixture::new();
    let inline = inline("csi-1");
    fixture.stage(&volume("pv")).unwrap();
    fixture.restart_driver();
    assert!(fixture.try_unmap_by_hand(ROOT));
    let faults = fixture.faults();
    // The first one has found no mapping.
    let query = Rule::on("IWbemServices.ExecQuery", Effect::Hang);
    let hang = faults.add(query.from_nth(2).times(1));
    let first = thread::scope(|scope| {
        let publishing = scope.spawn(|| fixture.publish_inline(&inline, POD));
        assert!(faults.wait_until_hanging(1, LONG));
        map_as_another(&fixture);
        faults.remove(hang);
        publishing.join().unwrap()
    });
    for refused in [first, fixture.publish_inline(&inline, POD)] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    }
    assert!(!fixture.exists(&inline.target(POD)));
}

#[test]
fn an_inline_volume_ends_once_its_publish_is_over() {
    let fixture = Fixture::new();
    let inline = &inline("csi-1");
    let faults = fixture.faults();
    faults.add(Rule::on("MSFT_SmbGlobalMapping.Create", Effect::Hang));
    let (sender, answers) = mpsc::channel();
    let fixture = &fixture;
    let (published, ended) = thread::scope(|scope| {
        let publishing = scope.spawn(|| fixture.publish_inline(inline, POD));
        assert!(faults.wait_until_hanging(1, LONG));
        scope.spawn(move || sender.send(fixture.unpublish(inline, POD)));
        let ended = answers.recv_timeout(LONG);
        faults.clear();
        (publishing.join().unwrap(), ended)
    });
    published.unwrap();
    let refused = ended.unwrap().unwrap_err();
    assert_eq!(refused.code(), Code::Aborted, "{refused}");
    fixture.unpublish(inline, POD).unwrap();
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}
