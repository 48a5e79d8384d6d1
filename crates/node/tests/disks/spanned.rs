//! The disks of a spanned volume, which are dynamic ones: nothing finds them, and nothing is done to them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;

use os::{DiskNumber, Paging, VolumeId};
use os_sim::Arrives;
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, FoundDisk, Guarded, NewSize, Page83,
    SerialNumber, Verdict, VolumeError,
};

use crate::support::spanned::{SPANNED, Style};
use crate::support::{Rig, meddle, path};

const FLUSH: &str = "FlushFileBuffers";
const LOCK: &str = "FSCTL_LOCK_VOLUME";

fn query(serial: &str) -> DiskQuery {
    let serial = SerialNumber::parse(serial).unwrap();
    DiskQuery::all([Criterion::Serial(serial)]).unwrap()
}

fn find(rig: &Rig, serial: &str) -> Result<FoundDisk, DiskError> {
    rig.disks().find(&query(serial), rig.soon())
}

fn disks(rig: &Rig) -> Vec<DiskNumber> {
    SPANNED.map(|name| rig.disk_of(name)).into()
}

/// Neither their bytes, nor whether they are online, nor the volume.
#[track_caller]
fn unchanged(rig: &Rig, volume: VolumeId, act: impl FnOnce()) {
    let seen = || {
        let attributes = |disk| rig.os().disks.attributes(disk).unwrap();
        let attributes: Vec<_> = disks(rig).into_iter().map(attributes).collect();
        let extents = rig.os().volumes.extents(volume);
        (rig.spanned_bytes(), attributes, extents)
    };
    let before = seen();
    act();
    assert!(seen() == before);
}

#[test]
fn a_disk_of_a_spanned_volume_is_found_and_changed_by_nothing() {
    for style in [Style::Gpt, Style::Mbr] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable(style);
        let volume = rig.span();
        rig.disks().rescan(rig.soon()).unwrap();
        for (disk, serial) in disks(&rig).into_iter().zip(SPANNED) {
            unchanged(&rig, volume, || {
                let found = find(&rig, serial);
                let is_missing = matches!(found, Err(DiskError::NotIdentified(_)));
                assert!(is_missing, "{style:?}: {found:?}");
                let ids = rig.disks().ids(rig.soon()).unwrap();
                assert!(!ids.contains_key(&disk), "{style:?}");
                let (disks, soon) = (rig.disks(), rig.soon());
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
        let rig = Rig::with_data_disk();
        rig.plug_spannable(style);
        let found = SPANNED.map(|serial| find(&rig, serial).unwrap());
        let volume = rig.span();
        unchanged(&rig, volume, || {
            for found in &found {
                let trace = rig.trace(|| assert_dynamic(&rig, style, found));
                let touched = trace
                    .iter()
                    .find(|op| [FLUSH, LOCK].contains(&op.operation));
                assert_eq!(touched, None, "{style:?}");
            }
        });
        rig.disks().rescan(rig.soon()).unwrap();
        unchanged(&rig, volume, || {
            for found in &found {
                assert!(rig.disks().take_offline(found, rig.soon()).is_err());
                assert!(rig.disks().partition(found, rig.soon()).is_err());
                assert!(rig.disks().bring_online(found, rig.soon()).is_err());
            }
        });
    }
}

#[track_caller]
fn assert_dynamic(rig: &Rig, style: Style, found: &FoundDisk) {
    let (disks, disk, soon) = (rig.disks(), found.number(), rig.soon());
    let reason = Guarded::Dynamic;
    let dynamic = Err(DiskError::Guarded { disk, reason });
    assert_eq!(disks.take_offline(found, soon), dynamic, "{style:?}");
    assert_eq!(disks.set_offline(disk, soon), dynamic, "{style:?}");
    let verdicts = disks.verdicts(soon).unwrap();
    assert_eq!(verdicts[&disk], Verdict::Guarded(reason), "{style:?}");
    // This has the provider look anew.
    assert!(disks.partition(disk, soon).is_err(), "{style:?}");
}

/// What lies on one dynamic disk alone, while the provider lists that disk still.
#[test]
fn a_simple_volume_of_a_dynamic_disk_is_never_written() {
    for style in [Style::Gpt, Style::Mbr] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable(style);
        let only = SPANNED[0];
        let volume = rig.span_over(&[only]);
        let disk = rig.disk_of(only);
        unchanged(&rig, volume, || {
            let (volumes, soon) = (rig.volumes(), rig.soon());
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
        assert_eq!(rig.volumes().disk_number(volume, rig.soon()), Ok(disk));
    }
}

/// What marks the disks as dynamic is hidden here, so that the file alone guards them.
#[test]
fn a_page_file_on_a_spanned_volume_guards_each_of_its_disks() {
    let folder = r"C:\mnt\spanned";
    for (at, reason) in [(folder, Some(Guarded::PageFile)), (r"C:\mnt", None)] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable(Style::Gpt);
        let found = SPANNED.map(|serial| find(&rig, serial).unwrap());
        let volume = rig.span();
        rig.mount_spanned(volume, folder);
        let page_file = path(&format!(r"{at}\pagefile.sys"));
        let node = meddle::node(&rig, |os| {
            let boot = Arc::clone(&os.boot);
            let say = move |paging: &mut Paging| paging.page_files = vec![page_file.clone()];
            os.boot = Arc::new(meddle::PagesTo { boot, say });
            let disks = Arc::clone(&os.disks);
            os.disks = Arc::new(meddle::AsBasic { disks });
        });
        let verdicts = node.operations().disks().verdicts(rig.soon()).unwrap();
        for found in &found {
            let expected = reason.map_or(Verdict::Allowed, Verdict::Guarded);
            assert_eq!(verdicts[&found.number()], expected, "{at}");
        }
        assert_eq!(verdicts[&rig.disk()], Verdict::Allowed, "{at}");
        if let Some(reason) = reason {
            let offline = node.operations().disks();
            let offline = offline.take_offline(&found[1], rig.soon());
            let disk = found[1].number();
            assert_eq!(offline, Err(DiskError::Guarded { disk, reason }));
        }
    }
}

/// The provider leaves it out for what it is, and not for being a read-only clone.
#[test]
fn a_read_only_disk_of_a_spanned_volume_stays_hidden() {
    for style in [Style::Gpt, Style::Mbr] {
        let rig = Rig::with_data_disk();
        rig.plug_spannable_that(Arrives::Offline, style);
        let volume = rig.span();
        rig.disks().rescan(rig.soon()).unwrap();
        let page83 = Criterion::Page83(Page83::parse(SPANNED[0]).unwrap());
        let wanted = DiskQuery::all([page83]).unwrap();
        unchanged(&rig, volume, || {
            let found = rig.disks().find(&wanted, rig.soon());
            let is_missing = matches!(found, Err(DiskError::NotIdentified(_)));
            assert!(is_missing, "{style:?}: {found:?}");
        });
    }
}
