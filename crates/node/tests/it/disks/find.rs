//! Finding the disk that a driver means, and changing no other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;

use os::schema::disk;
use os::{DiskNumber, Win32};
use os_sim::{Address, Bus, Content, DiskSpec, Effect, IdentifierKind, IdentifierPage, Rule};
use wincsi_node::api::{Cause, Condition, Error};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, Excluded, FoundDisk, Guarded, NamespaceConvention,
    NotIdentified, Page83, SerialNumber,
};

use super::proof::ACTS;
use crate::support::{DATA, GIB, NodeFixture as Fixture, inject};

const OTHER: &str = "other";

fn at(adapter: u8, lun: u8) -> DiskSpec {
    let address = Address {
        adapter,
        lun,
        ..Address::default()
    };
    DiskSpec {
        address,
        ..DiskSpec::on(Bus::Sas)
    }
}

fn query(criteria: impl IntoIterator<Item = Criterion>) -> DiskQuery {
    DiskQuery::all(criteria).unwrap()
}

fn serial(text: &str) -> Criterion {
    Criterion::Serial(SerialNumber::parse(text).unwrap())
}

fn page83(text: &str) -> Criterion {
    Criterion::Page83(Page83::parse(text).unwrap())
}

fn find(
    own: &Fixture,
    criteria: impl IntoIterator<Item = Criterion>,
) -> Result<FoundDisk, DiskError> {
    own.disks().find(&query(criteria), own.soon())
}

#[track_caller]
fn not_identified(found: Result<FoundDisk, DiskError>) -> NotIdentified {
    match found {
        Err(DiskError::NotIdentified(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn numbers(error: &NotIdentified) -> Vec<DiskNumber> {
    error.candidates().map(|disk| disk.number).collect()
}

/// azuredisk-csi-driver#2661: the scratch disk has the same LUN at another adapter, and was taken.
#[test]
fn equal_luns_of_two_adapters_are_told_apart_by_the_adapter_alone() {
    let own = Fixture::new();
    own.plug(&at(1, 1).serial("first"), "first", GIB);
    own.plug(&at(2, 1).serial("second"), "second", GIB);
    let by_lun = || Criterion::Lun(1);
    assert!(DiskQuery::all([by_lun()]).is_err());
    let function = [
        Criterion::Bus(0),
        Criterion::Device(63_667),
        Criterion::Function(30_747),
    ];
    let both = not_identified(find(&own, function.into_iter().chain([by_lun()])));
    assert_eq!(
        numbers(&both),
        [own.disk_of("first"), own.disk_of("second")]
    );
    let text = both.to_string();
    assert!(
        text.starts_with(
            "not one disk but 2 with bus 0, device 63667, function 30747, LUN 1; seen: disk 1"
        ),
        "{text}"
    );
    for seen in [
        "adapter 1, port 0, target 0, LUN 1, serial number first, 1073741824 bytes",
        "serial number second",
        "(left out: it holds the boot volume)",
    ] {
        assert!(text.contains(seen), "{text}");
    }
    let found = find(&own, [Criterion::Lun(1), Criterion::Adapter(2)]).unwrap();
    assert_eq!(found.number(), own.disk_of("second"));
    let none = not_identified(find(&own, [Criterion::Lun(1), Criterion::Adapter(3)]));
    assert_eq!(none.candidates().count(), 0);
    assert!(
        none.to_string()
            .starts_with("no disk with LUN 1, adapter 3; seen: disk 1"),
        "{none}"
    );
}

#[test]
fn each_part_of_a_place_counts() {
    let own = Fixture::new();
    let spec = DiskSpec {
        address: Address {
            adapter: 3,
            port: 1,
            target: 4,
            lun: 5,
        },
        ..DiskSpec::on(Bus::Scsi)
    };
    own.plug(&spec.serial(DATA), DATA, GIB);
    let place = [
        Criterion::Bus(0),
        Criterion::Device(63_667),
        Criterion::Function(30_747),
        Criterion::Adapter(3),
        Criterion::Port(1),
        Criterion::Target(4),
        Criterion::Lun(5),
        Criterion::Size(GIB),
    ];
    assert_eq!(find(&own, place).unwrap().number(), own.disk());
    for wrong in [
        Criterion::Bus(1),
        Criterion::Device(0),
        Criterion::Function(0),
        Criterion::Adapter(0),
        Criterion::Port(0),
        Criterion::Target(0),
        Criterion::Size(GIB - 512),
    ] {
        not_identified(find(&own, [serial(DATA), Criterion::Lun(5), wrong]));
    }
}

/// harvester#5697: all disks had the serial number 0, which no query can have.
#[test]
fn equal_serial_numbers_are_several_until_the_place_is_known() {
    let own = Fixture::new();
    for lun in 1..=3 {
        let name = format!("data{lun}");
        own.plug(&at(1, lun).serial("ARRAY-7"), &name, GIB);
    }
    let all = not_identified(find(&own, [serial("array-7")]));
    assert_eq!(all.candidates().count(), 3);
    find(&own, [serial("array-7"), Criterion::Lun(2)]).unwrap();
    own.plug(&at(1, 9).serial("0"), "trivial", GIB);
    not_identified(find(&own, [serial("array-7"), Criterion::Lun(9)]));
}

#[test]
fn a_disk_is_found_by_what_each_cloud_knows_of_it() {
    let own = Fixture::new();
    let ebs = DiskSpec::on(Bus::Nvme).serial("vol0123456789abcdef0_00000001.");
    own.plug(&ebs, "ebs", GIB);
    let gce = at(1, 1).identified(IdentifierKind::T10, "Google  PersistentDisk  disk-1");
    own.plug(&gce.serial("gce"), "gce", GIB);
    let other = at(1, 2).identified(IdentifierKind::T10, "Google  PersistentDisk  disk-11");
    own.plug(&other, "other", GIB);
    let vsphere = at(1, 3).identified(IdentifierKind::Naa, "6000c2950e1c4b7d");
    own.plug(&vsphere.serial("vsphere"), "vsphere", GIB);
    let number = |found: Result<FoundDisk, DiskError>| found.unwrap().number();
    let by_volume = number(find(&own, [serial("vol-0123456789abcdef0")]));
    assert_eq!(by_volume, own.disk_of("vol0123456789abcdef0_00000001."));
    assert_eq!(number(find(&own, [page83("disk-1")])), own.disk_of("gce"));
    let by_uuid = number(find(&own, [page83("6000C295-0e1c-4b7d")]));
    assert_eq!(by_uuid, own.disk_of("vsphere"));
}

/// The first identifier of a page is often the vendor's, and what the driver knows is another.
#[test]
fn a_disk_is_found_by_any_of_its_identifiers() {
    let own = Fixture::new();
    let spec = at(1, 1)
        .identified(IdentifierKind::Vendor, "whatever")
        .identified(IdentifierKind::Naa, "600140512345678a");
    own.plug(&spec, DATA, GIB);
    for name in ["whatever", "naa.600140512345678A"] {
        assert_eq!(
            find(&own, [page83(name)]).unwrap().seen().identifiers.len(),
            2
        );
    }
}

#[test]
fn an_nvme_lun_is_another_namespace_by_each_convention() {
    let own = Fixture::new();
    for nsid in 1..=3 {
        let spec = DiskSpec {
            address: Address {
                lun: nsid - 1,
                ..Address::default()
            },
            ..DiskSpec::on(Bus::Nvme)
        };
        let name = format!("namespace{nsid}");
        own.plug(&spec.serial(&name), &name, GIB);
    }
    for (lun, convention, name) in [
        (0, NamespaceConvention::NsidMinusOne, "namespace1"),
        (1, NamespaceConvention::NsidMinusOne, "namespace2"),
        (0, NamespaceConvention::NsidMinusTwo, "namespace2"),
        (1, NamespaceConvention::NsidMinusTwo, "namespace3"),
    ] {
        let unit = Criterion::NvmeLun { lun, convention };
        let found = find(&own, [Criterion::Adapter(0), unit]).unwrap();
        assert_eq!(found.number(), own.disk_of(name), "{lun} {convention}");
    }
    let third = find(&own, [Criterion::Adapter(0), Criterion::Namespace(3)]).unwrap();
    assert_eq!(third.number(), own.disk_of("namespace3"));
    // They have no LUN, although the bus gives each an address.
    not_identified(find(&own, [serial("namespace1"), Criterion::Lun(1)]));
}

/// The place says namespace 6, and the serial number 5.
#[test]
fn a_namespace_of_which_place_and_serial_number_differ_is_not_known() {
    let own = Fixture::new();
    let odd = DiskSpec::on(Bus::Nvme).lun(5).serial("ab12cd34_00000005.");
    own.plug(&odd, "odd", GIB);
    for number in [5, 6] {
        let unit = Criterion::Namespace(number);
        let unsettled = not_identified(find(&own, [Criterion::Adapter(1), unit]));
        let mut uncertain = unsettled.uncertain().map(|disk| disk.number);
        assert_eq!(uncertain.next(), Some(own.disk_of("ab12cd34_00000005.")));
    }
    let plain = DiskSpec::on(Bus::Nvme).lun(6).serial("ef56ab78_00000007.");
    own.plug(&plain, "plain", GIB);
    let found = find(&own, [serial("ef56ab78"), Criterion::Namespace(7)]);
    assert_eq!(found.unwrap().number(), own.disk_of("ef56ab78_00000007."));
}

/// LUN 1 is at every adapter and namespace 1 at every controller; two adapters of an Azure machine have one PCI
/// bus and device, and two functions.
/// The sixteenth data disk of a controller: `000010` in its path is sixteen or ten.
#[test]
fn a_namespace_that_reads_two_ways_is_settled_by_the_disks_scsi_address() {
    let own = Fixture::new();
    let nvme = |lun| DiskSpec::on(Bus::Nvme).lun(lun);
    own.plug(&nvme(2), "third", GIB);
    own.plug(&nvme(16), "seventeenth", GIB);
    let namespace = |number| [Criterion::Adapter(1), Criterion::Namespace(number)];
    let found = |number| find(&own, namespace(number)).map(|disk| disk.number());
    let at_lun = |lun| {
        let disks = &own.os().disks;
        let mut numbers = disks.list().unwrap().into_iter();
        numbers.find(|one| disks.scsi_address(*one).is_ok_and(|it| it.lun == lun))
    };
    let (third, seventeenth) = (at_lun(2).unwrap(), at_lun(16).unwrap());
    assert_eq!(found(17), Ok(seventeenth));
    assert!(
        not_identified(find(&own, namespace(11)))
            .uncertain()
            .next()
            .is_none()
    );

    own.fail("IOCTL_SCSI_GET_ADDRESS", Win32::INVALID_FUNCTION);
    for either in [17, 11] {
        let error = not_identified(find(&own, namespace(either)));
        let uncertain: Vec<_> = error.uncertain().collect();
        assert!(
            matches!(uncertain.as_slice(), [one] if one.number == seventeenth),
            "{error}"
        );
        assert!(error.to_string().contains("namespace 17 or 11"), "{error}");
    }
    assert_eq!(found(3), Ok(third), "no other is kept from being found");
}

#[test]
fn a_lun_or_namespace_is_not_enough_without_its_controller_or_a_name() {
    let convention = NamespaceConvention::NsidMinusOne;
    let pci = [Criterion::Bus(0), Criterion::Device(63_667)];
    for unit in [
        Criterion::Lun(1),
        Criterion::Namespace(1),
        Criterion::NvmeLun { lun: 0, convention },
    ] {
        let with =
            |others: &[Criterion]| DiskQuery::all([std::slice::from_ref(&unit), others].concat());
        let rest = [
            Criterion::Target(0),
            Criterion::Port(0),
            Criterion::Size(GIB),
        ];
        assert!(with(&rest).is_err(), "{unit}");
        assert!(with(&pci).is_err(), "{unit}");
        assert!(
            with(&[&pci[..], &[Criterion::Function(1)]].concat()).is_ok(),
            "{unit}"
        );
        assert!(with(&[Criterion::Adapter(1)]).is_ok(), "{unit}");
        assert!(with(&[serial(DATA)]).is_ok(), "{unit}");
    }
}

#[test]
fn size_and_adapter_alone_are_not_enough() {
    for little in [
        vec![],
        vec![Criterion::Size(GIB)],
        vec![Criterion::Adapter(1), Criterion::Bus(0)],
    ] {
        assert!(DiskQuery::all(little).is_err());
    }
}

#[test]
fn a_disk_that_is_never_written_is_no_candidate() {
    let own = Fixture::new();
    let system = own.os().disks.descriptor(DiskNumber(0)).unwrap().serial;
    let lun = own.os().disks.scsi_address(DiskNumber(0)).unwrap().lun;
    let by_lun = [Criterion::Adapter(0), Criterion::Lun(lun.into())];
    let error = not_identified(find(&own, by_lun.clone()));
    assert_eq!(error.candidates().count(), 0, "{system:?}");
    assert_eq!(
        error.disks[0].excluded,
        Some(Excluded::Guarded(Guarded::Boot))
    );
    own.plug(&at(0, lun).serial(DATA), DATA, GIB);
    assert_eq!(find(&own, by_lun).unwrap().number(), own.disk());
}

#[test]
fn a_disk_with_a_page_file_is_no_candidate() {
    let own = Fixture::new();
    own.plug(&at(1, 1).serial(DATA), DATA, GIB);
    own.plug(&at(1, 1).serial(OTHER), OTHER, GIB);
    let (other, soon) = (own.disk_of(OTHER), own.soon());
    own.disks().partition(other, soon).unwrap();
    let volume = own.volumes().sole_on_disk(other, soon).unwrap();
    own.volumes().format(volume, soon).unwrap();
    let node = inject::node(&own, |os| {
        let file = format!(r"{volume}pagefile.sys");
        inject::paging(&mut os.boot, move |paging| {
            paging.page_files.push(file.parse().unwrap())
        });
    });
    let found = node
        .operations()
        .disks()
        .find(&query([Criterion::Adapter(1), Criterion::Lun(1)]), soon)
        .unwrap();
    assert_eq!(found.number(), own.disk());
}

#[test]
fn a_dead_disk_keeps_no_other_from_being_found_and_is_named() {
    let own = Fixture::new();
    own.plug(&at(1, 1).serial(DATA), DATA, GIB);
    own.plug(&at(1, 2).serial(OTHER), OTHER, GIB);
    let object = format!("disk {}", own.disk_of(OTHER));
    let dead =
        Rule::on("IOCTL_DISK_GET_LENGTH_INFO", Effect::fail(Win32::IO_DEVICE)).object(&object);
    own.fault(dead);
    assert_eq!(find(&own, [serial(DATA)]).unwrap().number(), own.disk());
    let error = not_identified(find(&own, [Criterion::Adapter(1), Criterion::Lun(2)]));
    assert!(
        matches!(error.disks[2].excluded, Some(Excluded::Silent(_))),
        "{error}"
    );
}

/// Ours fails one question, and a scratch disk answers to all that is asked for.
#[test]
fn a_silent_disk_that_may_be_the_one_keeps_another_from_being_taken() {
    let own = Fixture::new();
    own.plug(&at(1, 1).serial("twin"), "ours", GIB);
    let ours = own.disk_of("twin");
    own.plug(&at(1, 2).serial("twin"), "scratch", GIB);
    let object = format!("disk {ours}");
    let dead =
        Rule::on("IOCTL_DISK_GET_LENGTH_INFO", Effect::fail(Win32::IO_DEVICE)).object(&object);
    own.fault(dead);
    let error = not_identified(find(&own, [serial("twin")]));
    let uncertain: Vec<_> = error.uncertain().map(|disk| disk.number).collect();
    assert_eq!((uncertain, error.candidates().count()), (vec![ours], 1));
    let text = format!("not certain which disk has serial number twin: disk {ours} does not say");
    assert!(error.to_string().starts_with(&text), "{error}");
    // The properties that it does report exclude it.
    let scratch = find(&own, [serial("twin"), Criterion::Lun(2)]).unwrap();
    assert_eq!(scratch.seen().size, Some(GIB));
    let condition = Cause::NotIdentified(Box::new(error));
    let condition = Error::new("find", "it", condition).condition();
    assert_eq!(condition, Some(Condition::Uncertain));
}

#[test]
fn a_disk_without_page83_is_found_by_all_else() {
    for page in [
        IdentifierPage::Refused,
        IdentifierPage::Failing,
        IdentifierPage::Malformed,
    ] {
        let own = Fixture::new();
        own.plug(&at(1, 1).serial(DATA).answering(page), DATA, GIB);
        for known in [
            vec![serial(DATA)],
            vec![
                Criterion::Adapter(1),
                Criterion::Lun(1),
                Criterion::Size(GIB),
            ],
        ] {
            let found = find(&own, known).unwrap();
            assert_eq!(found.seen().identifiers, Vec::<String>::new());
            own.disks().partition(&found, own.soon()).unwrap();
        }
    }
}

/// A disk that has no page is not the one whose page is known; one that fails to tell it may be.
#[test]
fn a_disk_that_fails_to_tell_its_page83_counts_where_that_is_asked_for() {
    for (page, certain) in [
        (IdentifierPage::Refused, true),
        (IdentifierPage::Failing, false),
        (IdentifierPage::Malformed, false),
    ] {
        let own = Fixture::new();
        let named = at(1, 1).identified(IdentifierKind::Naa, "600140512345678a");
        own.plug(&named.serial(DATA), DATA, GIB);
        own.plug(&at(1, 2).serial(OTHER).answering(page), OTHER, GIB);
        let known = page83("600140512345678a");
        let found = find(&own, [known.clone()]);
        assert_eq!(found.is_ok(), certain, "{page:?}: {found:?}");
        find(&own, [known, Criterion::Lun(1)]).unwrap();
    }
}

/// Another disk in the number, and in the slot, of the one that was found.
fn swap(own: &Fixture, spec: &DiskSpec) {
    let hardware = own.hardware();
    hardware.detach_disk(DATA).unwrap();
    own.os().disks.list().unwrap();
    hardware
        .attach_disk(OTHER, spec, &Content::blank(GIB))
        .unwrap();
    own.os().disks.list().unwrap();
}

/// As [`Fixture::with_data_disk`]; the disk is offline when it is to be brought online.
fn found(change: &str) -> (Fixture, FoundDisk) {
    let own = Fixture::new();
    own.plug(&at(1, 1).serial(DATA), DATA, GIB);
    if change.contains("_online") {
        own.set_offline();
    }
    let found = find(&own, [Criterion::Adapter(1), Criterion::Lun(1)]).unwrap();
    (own, found)
}

#[test]
fn a_disk_that_is_still_the_one_is_changed() {
    for (name, change) in ACTS {
        let (own, found) = found(name);
        change(&own.node, &found, own.soon()).expect(name);
    }
}

/// Its LUN is the same, which is all that was asked for; its serial number is not.
#[test]
fn a_disk_that_was_swapped_since_it_was_found_is_not_changed() {
    for (name, change) in ACTS {
        let (own, found) = found(name);
        let later = at(1, 1).serial(OTHER);
        swap(&own, &later);
        if name.ends_with("_online") {
            own.rescan();
            own.disks().set_offline(found.number(), own.soon()).unwrap();
        }
        let _ = own.take_trace();
        let refused = change(&own.node, &found, own.soon());
        assert!(
            matches!(
                refused,
                Err(DiskError::NotTheFound { .. } | DiskError::ViewsDiffer { .. })
            ),
            "{name}: {refused:?}"
        );
        nothing_was_changed(&own, name);
    }
}

#[track_caller]
fn nothing_was_changed(own: &Fixture, name: &str) {
    let trace = own.take_trace();
    let changes = [
        disk::INITIALIZE.name,
        disk::CREATE_PARTITION.name,
        disk::ONLINE.name,
        disk::OFFLINE.name,
        disk::SET_ATTRIBUTES.name,
    ];
    let changed = trace.iter().find(|op| {
        let method = op.operation.strip_prefix("MSFT_Disk.");
        method.is_some_and(|method| changes.contains(&method))
    });
    assert!(changed.is_none(), "{name}: {changed:?}");
}

/// The swap comes after the look under the lock, and before the change.
#[test]
fn a_disk_that_is_swapped_while_it_is_worked_on_is_not_changed() {
    for (name, change) in ACTS {
        let (own, found) = found(name);
        let (hardware, disks) = (own.hardware().clone(), Arc::clone(&own.os().disks));
        let node = inject::node(&own, |os| {
            let swap = move || {
                hardware.detach_disk(DATA).unwrap();
                disks.list().unwrap();
                let later = at(1, 1).serial(OTHER);
                hardware
                    .attach_disk(OTHER, &later, &Content::blank(GIB))
                    .unwrap();
            };
            inject::before(os, inject::PAGING, 1, swap);
        });
        let _ = own.take_trace();
        let refused = change(&node, &found, own.soon());
        assert!(
            matches!(
                refused,
                Err(DiskError::NotTheFound { .. }
                    | DiskError::ViewsDiffer { .. }
                    | DiskError::Kernel { .. })
            ),
            "{name}: {refused:?}"
        );
        nothing_was_changed(&own, name);
    }
}

#[test]
fn a_disk_that_has_another_number_is_found_anew_and_not_confused() {
    let (own, before) = found("partition");
    swap(&own, &at(1, 2).serial(OTHER));
    let hardware = own.hardware();
    hardware
        .attach_disk(DATA, &at(1, 1).serial(DATA), &Content::blank(GIB))
        .unwrap();
    own.rescan();
    assert_eq!(before.number(), own.disk_of(OTHER), "the number is reused");
    let refused = own.disks().partition(&before, own.soon());
    assert!(
        matches!(refused, Err(DiskError::NotTheFound { .. })),
        "{refused:?}"
    );
    let anew = find(&own, [Criterion::Adapter(1), Criterion::Lun(1)]).unwrap();
    assert_eq!(anew.number(), own.disk());
    own.disks().partition(&anew, own.soon()).unwrap();
    assert_eq!(
        own.os().disks.layout(before.number()).unwrap().partitions,
        []
    );
}

#[test]
fn a_disk_that_has_grown_since_is_still_the_one() {
    let (own, found) = found("partition");
    own.grow(DATA, 2 * GIB);
    own.rescan();
    own.disks().partition(&found, own.soon()).unwrap();
}
