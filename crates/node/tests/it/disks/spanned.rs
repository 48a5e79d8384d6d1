//! The dynamic disks of a spanned volume: no search finds them, and no operation changes them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{DiskNumber, PartitionEntry, VolumeId};
use os_sim::Arrives;
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, FoundDisk, Guarded, NewSize, Page83,
    SerialNumber, Verdict, VolumeError,
};

use crate::support::spanned::{SPANNED, Style};
use crate::support::{NodeFixture, inject, path};

const FLUSH: &str = "FlushFileBuffers";
const LOCK: &str = "FSCTL_LOCK_VOLUME";

fn query(serial: &str) -> DiskQuery {
    let serial = SerialNumber::parse(serial).unwrap();
    DiskQuery::all([Criterion::Serial(serial)]).unwrap()
}

fn find(fixture: &NodeFixture, serial: &str) -> Result<FoundDisk, DiskError> {
    fixture.disks().find(&query(serial), fixture.soon())
}

fn disks(fixture: &NodeFixture) -> Vec<DiskNumber> {
    SPANNED.map(|name| fixture.disk_of(name)).into()
}

/// Neither their bytes, nor whether they are online, nor the volume.
#[track_caller]
fn unchanged(fixture: &NodeFixture, volume: VolumeId, act: impl FnOnce()) {
    let seen = || {
        let attributes = |disk| fixture.os().disks.attributes(disk).unwrap();
        let attributes: Vec<_> = disks(fixture).into_iter().map(attributes).collect();
        let extents = fixture.os().volumes.extents(volume);
        (fixture.spanned_bytes(), attributes, extents)
    };
    let before = seen();
    act();
    assert!(seen() == before);
}

#[test]
fn a_disk_of_a_spanned_volume_is_found_and_changed_by_nothing() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(style);
        let volume = fixture.span();
        fixture.rescan();
        for (disk, serial) in disks(&fixture).into_iter().zip(SPANNED) {
            unchanged(&fixture, volume, || {
                let found = find(&fixture, serial);
                let is_missing = matches!(found, Err(DiskError::NotIdentified(_)));
                assert!(is_missing, "{style:?}: {found:?}");
                let ids = fixture.disks().ids(fixture.soon()).unwrap();
                assert!(!ids.contains_key(&disk), "{style:?}");
                let (disks, soon) = (fixture.disks(), fixture.soon());
                assert!(disks.partition(disk, soon).is_err(), "{style:?}");
                assert!(disks.set_offline(disk, soon).is_err(), "{style:?}");
                assert_eq!(disks.set_online(disk, soon), Ok(()), "it is online");
            });
        }
    }
}

/// A driver found the disk; an operator laid a volume over it since, and the storage provider has not noticed.
#[test]
fn a_disk_that_became_a_part_of_a_spanned_volume_is_left_alone() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(style);
        let found = SPANNED.map(|serial| find(&fixture, serial).unwrap());
        let volume = fixture.span();
        unchanged(&fixture, volume, || {
            for found in &found {
                let trace = fixture.trace(|| assert_dynamic(&fixture, style, found));
                let touched = trace
                    .iter()
                    .find(|op| [FLUSH, LOCK].contains(&op.operation));
                assert_eq!(touched, None, "{style:?}");
            }
        });
        fixture.rescan();
        unchanged(&fixture, volume, || {
            for found in &found {
                assert!(fixture.disks().take_offline(found, fixture.soon()).is_err());
                assert!(fixture.disks().partition(found, fixture.soon()).is_err());
                assert!(fixture.disks().bring_online(found, fixture.soon()).is_err());
            }
        });
    }
}

#[track_caller]
fn assert_dynamic(fixture: &NodeFixture, style: Style, found: &FoundDisk) {
    let (disks, disk, soon) = (fixture.disks(), found.number(), fixture.soon());
    let reason = Guarded::Dynamic;
    let dynamic = Err(DiskError::Guarded { disk, reason });
    assert_eq!(disks.take_offline(found, soon), dynamic, "{style:?}");
    assert_eq!(disks.set_offline(disk, soon), dynamic, "{style:?}");
    let verdicts = disks.verdicts(soon).unwrap();
    assert_eq!(verdicts[&disk], Verdict::Guarded(reason), "{style:?}");
    // This has the provider look anew.
    assert!(disks.partition(disk, soon).is_err(), "{style:?}");
}

/// A volume on only one dynamic disk, while the provider still lists that disk.
#[test]
fn a_simple_volume_of_a_dynamic_disk_is_never_written() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(style);
        let only = SPANNED[0];
        let volume = fixture.span_over(&[only]);
        let disk = fixture.disk_of(only);
        unchanged(&fixture, volume, || {
            let (volumes, soon) = (fixture.volumes(), fixture.soon());
            let reason = Guarded::Dynamic;
            let dynamic = VolumeError::from(DiskError::Guarded { disk, reason });
            let options = FormatOptions::default();
            for done in [
                volumes.format(volume, soon).map(drop),
                volumes.ensure_formatted(volume, &options, soon).map(drop),
                volumes.resize(volume, NewSize::Maximum, soon).map(drop),
            ] {
                assert_eq!(done, Err(dynamic.clone()), "{style:?}");
            }
        });
        assert_eq!(
            fixture.volumes().disk_number(volume, fixture.soon()),
            Ok(disk)
        );
    }
}

/// The marks of dynamic disks are hidden here, so that only the file guards them.
#[test]
fn a_page_file_on_a_spanned_volume_guards_each_of_its_disks() {
    let folder = r"C:\mnt\spanned";
    for (at, reason) in [(folder, Some(Guarded::PageFile)), (r"C:\mnt", None)] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable(Style::Gpt);
        let found = SPANNED.map(|serial| find(&fixture, serial).unwrap());
        let volume = fixture.span();
        fixture.mount_spanned(volume, folder);
        let page_file = path(&format!(r"{at}\pagefile.sys"));
        let node = inject::node(&fixture, |os| {
            inject::paging(&mut os.boot, move |paging| {
                paging.page_files = vec![page_file.clone()]
            });
            inject::layouts(&mut os.disks, |layout| {
                for partition in &mut layout.partitions {
                    partition.kind = PartitionEntry::BASIC_DATA;
                }
            });
        });
        let verdicts = node.operations().disks().verdicts(fixture.soon()).unwrap();
        for found in &found {
            let expected = reason.map_or(Verdict::Allowed, Verdict::Guarded);
            assert_eq!(verdicts[&found.number()], expected, "{at}");
        }
        assert_eq!(verdicts[&fixture.disk()], Verdict::Allowed, "{at}");
        if let Some(reason) = reason {
            let offline = node.operations().disks();
            let offline = offline.take_offline(&found[1], fixture.soon());
            let disk = found[1].number();
            assert_eq!(offline, Err(DiskError::Guarded { disk, reason }));
        }
    }
}

/// The provider leaves it out for what it is, and not for being a read-only clone.
#[test]
fn a_read_only_disk_of_a_spanned_volume_stays_hidden() {
    for style in [Style::Gpt, Style::Mbr] {
        let fixture = NodeFixture::with_data_disk();
        fixture.plug_spannable_that(Arrives::Offline, style);
        let volume = fixture.span();
        fixture.rescan();
        let page83 = Criterion::Page83(Page83::parse(SPANNED[0]).unwrap());
        let wanted = DiskQuery::all([page83]).unwrap();
        unchanged(&fixture, volume, || {
            let found = fixture.disks().find(&wanted, fixture.soon());
            let is_missing = matches!(found, Err(DiskError::NotIdentified(_)));
            assert!(is_missing, "{style:?}: {found:?}");
        });
    }
}
