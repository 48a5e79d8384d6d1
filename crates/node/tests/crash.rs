//! Every mutating operation, cut off at every operation of the system that it makes, and called
//! again.
//!
//! Each scenario is run once undisturbed, which gives the operations that it makes and the state
//! that it leaves. Then, for every one of those operations, it is run on a fresh node that fails
//! there, or fails after the effect, or dies before, or dies after; it is called again, after a death
//! by another process; and the state must be the same: nothing leaked, nothing lost. Paths are resolved
//! within the kubelet's folder at each call, as csi-proxy does it, so that this is cut off as well.
//!
//! Here are disks, volumes and whole stagings; what is done to paths is in `crash_paths.rs` and
//! `crash_mounted_folder.rs`, the initiator is in `crash_initiator.rs`, services are in `crash_services.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::num::NonZeroU64;

use os::DiskNumber;
use os_sim::{Arrives, Bus, DiskSpec};
use support::crash::{Scenario, check, told};
use support::{DATA, GIB, Rig, STAGING};
use wincsi_node::{
    Criterion, DiskQuery, FileSystemType, FormatOptions, NewSize, SerialNumber, TargetError,
    VolumeError,
};

#[test]
fn partition_a_raw_disk() {
    check(&Scenario {
        name: "partition",
        prepare: Rig::with_data_disk,
        act: |rig| told(rig.disks().partition(rig.disk(), rig.soon())),
        done_already: &[],
    });
}

#[test]
fn partition_an_offline_disk_and_bring_it_online() {
    check(&Scenario {
        name: "online and partition",
        prepare: || {
            let rig = Rig::new();
            let spec = DiskSpec::on(Bus::Sas)
                .serial(DATA)
                .arriving(Arrives::Offline);
            rig.plug(&spec, DATA, 4 * GIB);
            rig
        },
        act: |rig| {
            told(rig.disks().set_online(rig.disk(), rig.soon()))?;
            told(rig.disks().partition(rig.disk(), rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn bring_a_read_only_disk_online() {
    check(&Scenario {
        name: "online",
        prepare: || {
            let rig = Rig::with_volume();
            rig.make_read_only();
            rig.disks().set_offline(rig.disk(), rig.soon()).unwrap();
            rig
        },
        act: |rig| told(rig.disks().set_online(rig.disk(), rig.soon())),
        done_already: &[],
    });
}

#[test]
fn take_a_disk_offline() {
    check(&Scenario {
        name: "offline",
        prepare: Rig::with_volume,
        act: |rig| told(rig.disks().set_offline(rig.disk(), rig.soon())),
        done_already: &[],
    });
}

/// A disk that died on its way out is one whose volume nobody has dismounted.
#[test]
fn take_a_disk_offline_that_a_driver_has_done_with() {
    check(&Scenario {
        name: "take offline",
        prepare: Rig::with_mounted_volume,
        act: |rig| {
            let wanted = told(SerialNumber::parse(DATA)).map(Criterion::Serial)?;
            let wanted = told(DiskQuery::all([wanted]))?;
            let found = told(rig.disks().find(&wanted, rig.soon()))?;
            told(rig.disks().take_offline(&found, rig.soon()))
        },
        done_already: &[],
    });
}

/// The storage provider still has the number for another disk, and has to look anew.
#[test]
fn bring_a_disk_online_that_took_the_number_of_another() {
    const LATE: DiskNumber = DiskNumber(1);
    check(&Scenario {
        name: "online under a number of old",
        prepare: || {
            let rig = Rig::with_data_disk();
            let hardware = rig.sim.hardware();
            hardware.detach_disk(DATA).unwrap();
            rig.os().disks.list().unwrap();
            let spec = DiskSpec::on(Bus::Sas)
                .serial("late")
                .arriving(Arrives::Offline);
            let content = os_sim::Content::blank(GIB);
            hardware.attach_disk("late", &spec, &content).unwrap();
            rig.os().disks.list().unwrap();
            let spec = DiskSpec::on(Bus::Sas).serial(DATA);
            let content = os_sim::Content::blank(4 * GIB);
            hardware.attach_disk(DATA, &spec, &content).unwrap();
            assert_eq!(rig.disk_of("late"), LATE);
            rig
        },
        act: |rig| told(rig.disks().set_online(LATE, rig.soon())),
        done_already: &[],
    });
}

#[test]
fn format_a_volume() {
    check(&Scenario {
        name: "format",
        prepare: || {
            let rig = Rig::with_data_disk();
            rig.disks().partition(rig.disk(), rig.soon()).unwrap();
            rig
        },
        act: |rig| format_unless_formatted(rig),
        done_already: &[],
    });
}

#[test]
fn format_a_volume_with_a_label_and_an_access_control_list() {
    check(&Scenario {
        name: "ensure formatted",
        prepare: || {
            let rig = Rig::with_data_disk();
            rig.disks().partition(rig.disk(), rig.soon()).unwrap();
            rig
        },
        act: |rig| {
            let options = FormatOptions::new(FileSystemType::Refs).label("data");
            let dacl = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BU)".parse().unwrap();
            let options = options.unwrap().root_dacl(dacl);
            let volumes = rig.volumes();
            told(volumes.ensure_formatted(rig.volume(), &options, rig.soon())).map(drop)
        },
        done_already: &[],
    });
}

#[test]
fn grow_a_volume_to_the_end_of_its_disk() {
    check(&Scenario {
        name: "resize to the maximum",
        prepare: on_a_grown_disk,
        act: |rig| resize(rig, NewSize::Maximum),
        done_already: &[],
    });
}

#[test]
fn grow_a_volume_by_some() {
    check(&Scenario {
        name: "resize to a size",
        prepare: on_a_grown_disk,
        act: |rig| resize(rig, NewSize::Bytes(NonZeroU64::new(6 * GIB).unwrap())),
        done_already: &[],
    });
}

/// By less than csi-proxy's call grows a volume.
#[test]
fn grow_a_volume_by_little() {
    check(&Scenario {
        name: "resize by little",
        prepare: || {
            let rig = Rig::with_mounted_volume();
            let length = 4 * GIB + (3 << 20);
            rig.sim.hardware().grow_disk(DATA, length).unwrap();
            rig
        },
        act: |rig| resize(rig, NewSize::Maximum),
        done_already: &[],
    });
}

#[test]
fn stage_a_volume() {
    check(&Scenario {
        name: "stage",
        prepare: || {
            let rig = Rig::new();
            let spec = DiskSpec::on(Bus::Sas)
                .serial(DATA)
                .arriving(Arrives::Offline);
            let content = os_sim::Content::blank(4 * GIB);
            rig.sim
                .hardware()
                .attach_disk(DATA, &spec, &content)
                .unwrap();
            rig
        },
        act: Rig::stage_and_grow,
        done_already: &[],
    });
}

#[test]
fn unstage_a_volume() {
    check(&Scenario {
        name: "unstage",
        prepare: Rig::with_mounted_volume,
        act: unstage,
        done_already: &[],
    });
}

/// The calls of a driver that unstages a block volume and looks at what is there first.
fn unstage(rig: &Rig) -> Result<(), String> {
    let (node, soon) = (&rig.node, rig.soon());
    match node
        .operations()
        .volumes()
        .of_target(told(rig.way(STAGING))?, soon)
    {
        Ok(volume) => {
            told(node.operations().volumes().flush(volume, soon))?;
            let staging = told(rig.way(STAGING))?;
            told(node.operations().volumes().unmount(volume, staging, soon))?;
        }
        Err(VolumeError::Target(
            TargetError::Missing { .. } | TargetError::PlainDirectory { .. },
        )) => {}
        Err(error) => return Err(error.to_string()),
    }
    told(
        node.operations()
            .filesystem()
            .remove_tree(told(rig.way(STAGING))?, soon),
    )?;
    told(node.operations().disks().set_offline(rig.disk(), soon))
}

fn format_unless_formatted(rig: &Rig) -> Result<(), String> {
    let volumes = rig.volumes();
    match told(volumes.is_formatted(rig.volume(), rig.soon()))? {
        true => Ok(()),
        false => told(volumes.format(rig.volume(), rig.soon()).map(drop)),
    }
}

fn resize(rig: &Rig, size: NewSize) -> Result<(), String> {
    told(rig.volumes().resize(rig.volume(), size, rig.soon())).map(drop)
}

fn on_a_grown_disk() -> Rig {
    let rig = Rig::with_mounted_volume();
    rig.sim.hardware().grow_disk(DATA, 8 * GIB).unwrap();
    rig
}

#[test]
fn staging_where_a_table_leaves_a_disk_offline() {
    check(&Scenario {
        name: "stage where a table leaves a disk offline",
        prepare: Rig::whose_tables_leave_a_disk_offline,
        act: |rig| {
            let serial = SerialNumber::parse(DATA).unwrap();
            let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
            let disks = rig.disks();
            let disk = told(disks.find(&wanted, rig.soon()))?;
            told(disks.bring_online(&disk, rig.soon()))?;
            told(disks.partition(&disk, rig.soon()))?;
            let volume = told(rig.volumes().find_on(&disk, rig.soon()))?;
            let plain = FormatOptions::default();
            let volumes = rig.volumes();
            told(volumes.ensure_formatted(&volume, &plain, rig.soon())).map(drop)
        },
        done_already: &[],
    });
}
