//! Whose a mapping is after calls that failed, restarts and records that cannot be read.

use std::time::Duration;
use std::{fs, thread};

use wincsi::Win32;
use wincsi::sim::smb::ServerHealth;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::life::CallError;
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, PASSWORD, POD, ROOT, SERVER, USER, Volume, volume};
use crate::renewal::map_as_another;
use crate::takeover::{A, B, mapping_came_under_record, node, of, unstage};
use crate::upstream::{ByProxy, HostProcess, Upstream as _, clean_up, prepare};

const NONE: [&str; 0] = [];

/// A volume whose mapping was removed for a renewal that failed.
fn renewed_in_vain() -> Fixture {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.change_password("rotated");
    let wrong = Volume {
        password: "wrong",
        ..volume("pv")
    };
    fixture.publish_with_secret(&wrong, POD).unwrap_err();
    assert_eq!(fixture.mappings(), NONE);
    fixture
}

fn inline() -> Volume<'static> {
    Volume {
        lifetime: Lifetime::Inline,
        ..volume("inline")
    }
}

/// Guards: P79
#[test]
fn what_comes_after_a_renewal_in_vain_is_foreign() {
    for restarts in [false, true] {
        let mut fixture = renewed_in_vain();
        if restarts {
            fixture.restart_driver();
        }
        map_as_another(&fixture);
        fixture.publish_inline(&inline(), POD).unwrap_err();
        fixture.unstage(&volume("pv")).unwrap();
        assert_eq!(fixture.mappings(), [ROOT], "{restarts}");
    }
}

/// Guards: P75
#[test]
fn a_renewal_that_fails_leaves_no_old_hash() {
    let mut fixture = Fixture::new();
    fixture.make_folder("a");
    let a = of("a", A);
    fixture.stage(&a).unwrap();
    fixture.change_password("rotated");
    fs::remove_dir(fixture.make_folder("a")).unwrap();
    let rotated = Volume {
        password: "rotated",
        ..a
    };
    fixture.publish_with_secret(&rotated, POD).unwrap_err();
    assert_eq!(fixture.mappings(), [ROOT], "by the new password");
    fixture.restart_driver();
    fixture.publish_inline(&inline(), POD).unwrap_err();
}

/// A volume of a folder of its own mapping, which is gone; ROOT is kept for its link.
fn kept() -> (Fixture, Volume<'static>) {
    let fixture = node();
    let (other, b, c) = (of("b1", B), of("b", B), of("c", ROOT));
    HostProcess.stage(&fixture, &other).unwrap();
    prepare(&fixture, &b);
    fixture.stage(&b).unwrap();
    unstage(&fixture, &other);
    prepare(&fixture, &c);
    fixture.stage(&c).unwrap();
    assert!(fixture.try_unmap_by_hand(B));
    unstage(&fixture, &c);
    assert_eq!(fixture.mappings(), [ROOT], "kept");
    (fixture, b)
}

#[test]
fn a_kept_mapping_goes_with_the_volume_of_its_link() {
    for restarts in [false, true] {
        let (mut fixture, b) = kept();
        if restarts {
            fixture.restart_driver();
        }
        unstage(&fixture, &b);
        assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
    }
}

#[test]
fn a_kept_mapping_that_went_leaves_no_lease() {
    let (fixture, b) = kept();
    assert!(fixture.try_unmap_by_hand(ROOT));
    unstage(&fixture, &b);
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage(&volume("pv")).unwrap();
    fixture.unstage(&volume("pv")).unwrap();
    assert_eq!(
        (fixture.mappings(), fixture.records()),
        (vec![ROOT.to_owned()], 0)
    );
}

/// It would take along each foreign mapping on its way.
#[test]
fn a_volume_of_a_kept_mapping_is_not_taken_over() {
    let (fixture, b) = kept();
    fixture.set_server(SERVER, ServerHealth::Down);
    fixture.stats(&b, POD).unwrap_err();
    fixture.stage_again(&b).unwrap_err();
    let record = fixture.parsed_records().remove(0);
    let expected = (&false.into(), &ROOT.into());
    assert_eq!((&record["takenOver"], &record["mapped"]), expected);
}

/// Its own mapping is gone, and the one that came in its place cannot be removed at once.
#[test]
fn a_repeated_unstage_leaves_what_came_in_place() {
    let (fixture, a) = mapping_came_under_record();
    assert_eq!(fixture.mappings(), [A]);
    fixture.fail("MSFT_SmbGlobalMapping.Remove", Win32::ACCESS_DENIED);
    fixture.unstage(&a).unwrap_err();
    fixture.heal();
    fixture.unstage(&a).unwrap();
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

/// A full disk. What was written before is enough for another driver to go on by.
#[test]
fn shares_end_while_nothing_can_be_written() {
    for dies in [false, true] {
        let (mut fixture, a, b) = (node(), of("a", A), of("b", B));
        let inline = Volume {
            lifetime: Lifetime::Inline,
            ..volume("csi-1")
        };
        for volume in [&a, &b] {
            fixture.stage(volume).unwrap();
            fixture.publish(volume, POD).unwrap();
        }
        fixture.publish_inline(&inline, POD).unwrap();
        let in_the_way = fixture.bar_records();
        for volume in [&inline, &a, &b] {
            if volume.lifetime == Lifetime::Persistent {
                fixture.unpublish(volume, POD).unwrap();
            }
            if dies {
                fixture.fail("RemoveDirectoryW", Win32::NOT_READY);
                end(&fixture, volume).unwrap_err();
                fixture.heal();
                fixture.restart();
            }
            end(&fixture, volume).unwrap();
        }
        for folder in in_the_way {
            fs::remove_dir(folder).unwrap();
        }
        assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
    }
}

/// Two volumes of another driver, of which the first leaves the mapping to the second.
#[test]
fn a_share_that_was_taken_over_ends_without_room() {
    let (fixture, a, b) = (node(), of("a", A), of("b", B));
    fixture.stage(&a).unwrap();
    let of_own = fixture.bar_records();
    unstage(&fixture, &a);
    for folder in &of_own {
        fs::remove_dir(folder).unwrap();
    }
    let mut upstream = ByProxy::on(&fixture);
    for volume in [&a, &b] {
        upstream.stage(&fixture, volume).unwrap();
        fixture.stage_again(volume).unwrap();
    }
    let mut in_the_way = fixture.bar_records();
    // No lease is there yet.
    for folder in of_own {
        if fs::create_dir(&folder).is_ok() {
            in_the_way.push(folder);
        }
    }
    for volume in [&a, &b] {
        fixture.unstage(volume).unwrap();
        clean_up(&fixture, volume);
    }
    for folder in in_the_way {
        fs::remove_dir(folder).unwrap();
    }
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

fn end(fixture: &Fixture, volume: &Volume<'_>) -> Result<(), CallError> {
    match volume.lifetime {
        Lifetime::Inline => fixture.unpublish(volume, POD),
        Lifetime::Persistent => fixture.unstage(volume),
    }
}

fn replace_in_record(fixture: &mut Fixture, from: &str, to: &str) {
    fixture.stop_driver();
    for file in fixture.record_files() {
        if file.extension().is_some_and(|end| end == "json") {
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains(from));
            fs::write(&file, text.replacen(from, to, 1)).unwrap();
        }
    }
    fixture.restart_driver();
}

const NOW: &str = r#""version":3"#;
const LATER: &str = r#""version":4"#;

/// An older program stages another volume of the share meanwhile.
#[test]
fn the_lease_of_an_unreadable_record_stays() {
    let mut fixture = Fixture::new();
    let (pv, other) = (volume("pv"), volume("other"));
    fixture.stage(&pv).unwrap();
    replace_in_record(&mut fixture, NOW, LATER);
    fixture.stage(&other).unwrap();
    fixture.unstage(&other).unwrap();
    assert_eq!(fixture.mappings(), [ROOT], "the link leads there");
    replace_in_record(&mut fixture, LATER, NOW);
    fixture.unstage(&pv).unwrap();
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

#[test]
fn the_presumption_of_an_unreadable_record_stays() {
    let mut fixture = Fixture::new();
    let pv = volume("pv");
    fixture.make_staging_folder(&pv);
    let faults = fixture.faults();
    let held = faults.add(Rule::on("CreateSymbolicLinkW", Effect::Hang));
    let records = thread::scope(|scope| {
        let staging = scope.spawn(|| fixture.stage_again(&pv));
        assert!(faults.wait_until_hanging(1, Duration::from_secs(60)));
        let records = fixture.copy_of_records();
        faults.add(Rule::on("*", Effect::fail(Win32::GEN_FAILURE)));
        faults.remove(held);
        drop(staging.join().unwrap());
        records
    });
    fixture.heal();
    fixture.stop_driver();
    for (file, text) in &records {
        fs::write(file, text).unwrap();
    }
    assert_eq!(fixture.mappings(), [ROOT], "mapped before the death");
    replace_in_record(&mut fixture, NOW, LATER);
    replace_in_record(&mut fixture, LATER, NOW);
    fixture.unstage(&pv).unwrap();
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

/// Also when the last volume of another driver leaves it.
#[test]
fn the_mapping_of_an_unreadable_lease_stays() {
    let mut fixture = Fixture::new();
    let (pv, other) = (volume("pv"), volume("other"));
    fixture.stage(&pv).unwrap();
    fixture.stop_driver();
    for file in fixture.record_files() {
        if file.extension().is_some_and(|end| end == "lease") {
            fs::write(&file, "{}").unwrap();
        }
    }
    fixture.restart_driver();
    HostProcess.stage(&fixture, &other).unwrap();
    fixture.unstage(&pv).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
    unstage(&fixture, &other);
    assert_eq!(fixture.mappings(), [ROOT]);
}
