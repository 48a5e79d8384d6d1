//! A disk that does not answer the kernel, and what the storage provider has of it: it keeps no disk from
//! being found that it cannot be.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskNumber, Value, Win32};
use os_sim::{Bus, DiskSpec, Effect, IdentifierKind, Rule};
use wincsi_node::api::Condition;
use wincsi_node::{Criterion, DiskError, DiskQuery, Excluded, FoundDisk, Page83};

use crate::support::{GIB, NodeFixture, inject};

const OURS: &str = "600140512345678a600140512345678a";
const DEAD: &str = "60014050000000016001405000000001";
const EUI: &str = "0014050000000001";

/// Two disks, of which the second answers no question of the kernel's.
fn with_dead_disk(dead: DiskSpec) -> (NodeFixture, DiskNumber) {
    let fixture = NodeFixture::new();
    let ours = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, OURS);
    fixture.plug(&ours.lun(1).serial("ours"), "ours", GIB);
    fixture.plug(&dead.lun(2).serial("dead"), "dead", GIB);
    let dead = fixture.disk_of("dead");
    let object = format!("disk {dead}");
    for question in ["IOCTL_STORAGE_QUERY_PROPERTY", "IOCTL_DISK_GET_LENGTH_INFO"] {
        let failing = Effect::fail(Win32::IO_DEVICE);
        fixture.fault(Rule::on(question, failing).object(&object));
    }
    (fixture, dead)
}

fn find(fixture: &NodeFixture, identifier: &str) -> Result<FoundDisk, DiskError> {
    let identifier = Criterion::Page83(Page83::parse(identifier).unwrap());
    let wanted = DiskQuery::all([identifier]).unwrap();
    fixture.disks().find(&wanted, fixture.soon())
}

fn condition(found: Result<FoundDisk, DiskError>) -> Option<Condition> {
    let cause = found.unwrap_err();
    wincsi_node::api::Error::new("find", "it", cause).condition()
}

#[test]
fn a_dead_disk_that_the_provider_calls_otherwise_keeps_no_other_from_being_found() {
    let dead = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, DEAD);
    let (fixture, _) = with_dead_disk(dead);
    let found = find(&fixture, OURS).unwrap();
    assert_eq!(found.seen().serial.as_deref(), Some("ours"));
    fixture.disks().partition(&found, fixture.soon()).unwrap();
    // The provider's properties neither select the disk nor make it count as gone.
    let itself = find(&fixture, DEAD);
    assert_eq!(condition(itself), Some(Condition::Uncertain));
    let nobody = find(&fixture, "600140577777777a600140577777777a");
    assert_eq!(condition(nobody), Some(Condition::NotFound));
}

/// It may have the name that is wanted beside the one that the provider tells.
#[test]
fn a_dead_disk_of_which_the_provider_tells_another_kind_of_name_may_be_the_one() {
    let dead = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, DEAD);
    let (fixture, _) = with_dead_disk(dead.identified(IdentifierKind::Eui64, EUI));
    let uncertain = find(&fixture, EUI);
    assert_eq!(condition(uncertain), Some(Condition::Uncertain));
    find(&fixture, OURS).unwrap();
}

/// The provider's name is the one of the disk that had the number before.
#[test]
fn a_name_of_a_disk_that_is_gone_rules_nothing_out() {
    let dead = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, DEAD);
    let (fixture, dead) = with_dead_disk(dead);
    fixture.hardware().detach_disk("dead").unwrap();
    fixture.os().disks.list().unwrap();
    let successor = DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, OURS);
    fixture.attach("successor", &successor.lun(3), GIB);
    assert!(fixture.os().disks.list().unwrap().contains(&dead));
    let error = find(&fixture, OURS).unwrap_err();
    let DiskError::NotIdentified(error) = error else {
        unreachable!("{error}");
    };
    let silent = error.disks.iter().find(|disk| disk.number == dead).unwrap();
    assert!(matches!(silent.excluded, Some(Excluded::Silent(_))));
    assert_eq!(silent.identifiers, Vec::<String>::new());
    assert_eq!(error.uncertain().count(), 1);
}

/// It is written by nobody, as it may be a disk of the system's or of a cluster's.
#[test]
fn a_disk_without_a_mark_keeps_no_other_from_being_found_and_is_not_found() {
    let mut fixture = NodeFixture::new();
    let named = |name| DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, name);
    fixture.plug(&named(OURS).lun(1).serial("ours"), "ours", GIB);
    fixture.plug(&named(DEAD).lun(2).serial("other"), "other", GIB);
    fixture.node = inject::node(&fixture, |os| {
        inject::each_row(&mut os.storage, |row| {
            let is_other = row.text("SerialNumber") == Ok("other");
            if is_other && let Some(mark) = row.properties.get_mut("IsClustered") {
                *mark = Value::Null;
            }
        });
    });
    let ours = fixture.disk_of("ours");
    assert_eq!(find(&fixture, OURS).unwrap().number(), ours);
    let Err(DiskError::NotIdentified(error)) = find(&fixture, DEAD) else {
        panic!("it is found");
    };
    let other = fixture.disk_of("other");
    let seen = error.disks.iter().find(|disk| disk.number == other);
    let excluded = seen.unwrap().excluded.as_ref();
    assert!(matches!(excluded, Some(Excluded::Silent(_))), "{error}");
}
