//! Every mutating operation, cut off at every operation of the system that it makes, and called
//! again.
//!
//! Each scenario is run once undisturbed, which gives the operations that it makes and the state
//! that it leaves. Then, for every one of those operations, it is run on a fresh node that fails
//! there, or fails after the effect, or dies after, or dies before the first; it is called again, after a
//! death by another process; and the state must be the same: nothing leaked, nothing lost. Paths are resolved
//! within the kubelet's folder at each call, as csi-proxy does it, so that this is cut off as well.
//!
//! Here are disks, volumes and whole stagings; what is done to paths is in `crash_paths.rs` and
//! `crash_mounted_folder.rs`, the initiator is in `crash_initiator.rs`, services are in `crash_services.rs`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::num::NonZeroU64;
use std::time::Duration;

use os::DiskNumber;
use os_sim::{Arrivals, Arrives, Bus, DiskSpec, NodeSpec, StorageConditions};
use wincsi_node::api::NodeApi;
use wincsi_node::{
    Criterion, DiskQuery, FileSystemType, FormatOptions, NewSize, Options, SerialNumber,
    TargetError, VolumeError,
};

use crate::support::crash::{Scenario, check, with_text_error};
use crate::support::{DATA, GIB, NodeFixture, STAGING};

#[test]
fn partition_a_raw_disk() {
    check(&Scenario {
        name: "partition",
        prepare: NodeFixture::with_data_disk,
        act: |fixture| with_text_error(fixture.try_partition()),
        done_already: &[],
    });
}

#[test]
fn partition_an_offline_disk_and_bring_it_online() {
    check(&Scenario {
        name: "online and partition",
        prepare: || {
            let fixture = NodeFixture::new();
            let spec = DiskSpec::on(Bus::Sas)
                .serial(DATA)
                .arriving(Arrives::Offline);
            fixture.plug(&spec, DATA, 4 * GIB);
            fixture
        },
        act: |fixture| {
            with_text_error(fixture.disks().set_online(fixture.disk(), fixture.soon()))?;
            with_text_error(fixture.try_partition())
        },
        done_already: &[],
    });
}

#[test]
fn bring_a_read_only_disk_online() {
    check(&Scenario {
        name: "online",
        prepare: || {
            let fixture = NodeFixture::with_volume();
            fixture.make_read_only();
            fixture.set_offline();
            fixture
        },
        act: |fixture| with_text_error(fixture.disks().set_online(fixture.disk(), fixture.soon())),
        done_already: &[],
    });
}

#[test]
fn take_a_disk_offline() {
    check(&Scenario {
        name: "offline",
        prepare: NodeFixture::with_volume,
        act: |fixture| with_text_error(fixture.try_set_offline()),
        done_already: &[],
    });
}

/// A disk that died on its way out is one whose volume nobody has dismounted.
#[test]
fn take_a_disk_offline_that_a_driver_has_done_with() {
    check(&Scenario {
        name: "take offline",
        prepare: || NodeFixture::with_mounted_volume().unmounted(),
        act: |fixture| {
            let wanted = with_text_error(SerialNumber::parse(DATA)).map(Criterion::Serial)?;
            let wanted = with_text_error(DiskQuery::all([wanted]))?;
            let found = with_text_error(fixture.disks().find(&wanted, fixture.soon()))?;
            with_text_error(fixture.disks().take_offline(&found, fixture.soon()))
        },
        done_already: &[],
    });
}

/// From a disk that is online and writable, which is offline on its way, or from one that is offline.
#[test]
fn bring_a_disk_online_for_readers() {
    for prepare in [NodeFixture::with_volume, || {
        let fixture = NodeFixture::with_volume();
        fixture.set_offline();
        fixture
    }] {
        check(&Scenario {
            name: "online read-only",
            prepare,
            act: |fixture| {
                let wanted = with_text_error(SerialNumber::parse(DATA)).map(Criterion::Serial)?;
                let wanted = with_text_error(DiskQuery::all([wanted]))?;
                let found = with_text_error(fixture.disks().find(&wanted, fixture.soon()))?;
                with_text_error(
                    fixture
                        .disks()
                        .bring_online_read_only(&found, fixture.soon()),
                )
            },
            done_already: &[],
        });
    }
}

/// The thread that rescans is one beside the caller's, and dies with it.
#[test]
fn wait_for_a_disk_that_is_being_attached() {
    const LATE: &str = "late";
    check(&Scenario {
        name: "wait for a disk",
        prepare: || {
            let storage = StorageConditions {
                arrivals: Arrivals::OnRescan,
                ..StorageConditions::default()
            };
            let spec = NodeSpec {
                storage,
                ..NodeSpec::named("node-1")
            };
            let fixture = NodeFixture::of(&spec, Options::default());
            fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, GIB);
            let hardware = fixture.hardware();
            let late = DiskSpec::on(Bus::Sas).serial(LATE);
            hardware
                .attach_disk(LATE, &late, &os_sim::Content::blank(GIB))
                .unwrap();
            fixture
        },
        act: |fixture| {
            let wanted = with_text_error(SerialNumber::parse(LATE)).map(Criterion::Serial)?;
            let wanted = with_text_error(DiskQuery::all([wanted]))?;
            let disks = NodeApi::disks(&fixture.node);
            with_text_error(disks.find_attached(&wanted, Duration::from_secs(10), fixture.soon()))
                .map(drop)
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
            let fixture = NodeFixture::with_data_disk();
            let hardware = fixture.hardware();
            hardware.detach_disk(DATA).unwrap();
            fixture.os().disks.list().unwrap();
            let spec = DiskSpec::on(Bus::Sas)
                .serial("late")
                .arriving(Arrives::Offline);
            let content = os_sim::Content::blank(GIB);
            hardware.attach_disk("late", &spec, &content).unwrap();
            fixture.os().disks.list().unwrap();
            let spec = DiskSpec::on(Bus::Sas).serial(DATA);
            let content = os_sim::Content::blank(4 * GIB);
            hardware.attach_disk(DATA, &spec, &content).unwrap();
            assert_eq!(fixture.disk_of("late"), LATE);
            fixture
        },
        act: |fixture| with_text_error(fixture.disks().set_online(LATE, fixture.soon())),
        done_already: &[],
    });
}

#[test]
fn format_a_volume() {
    check(&Scenario {
        name: "format",
        prepare: || {
            let fixture = NodeFixture::with_data_disk();
            fixture.partition();
            fixture
        },
        act: |fixture| format_unless_formatted(fixture),
        done_already: &[],
    });
}

#[test]
fn format_a_volume_with_a_label_and_an_access_control_list() {
    check(&Scenario {
        name: "ensure formatted",
        prepare: || {
            let fixture = NodeFixture::with_data_disk();
            fixture.partition();
            fixture
        },
        act: |fixture| {
            let options = FormatOptions::new(FileSystemType::Refs).label("data");
            let dacl = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BU)".parse().unwrap();
            let options = options.unwrap().root_dacl(dacl);
            let volumes = fixture.volumes();
            with_text_error(volumes.ensure_formatted(fixture.volume(), &options, fixture.soon()))
                .map(drop)
        },
        done_already: &[],
    });
}

#[test]
fn grow_a_volume_to_the_end_of_its_disk() {
    check(&Scenario {
        name: "resize to the maximum",
        prepare: on_a_grown_disk,
        act: |fixture| resize(fixture, NewSize::Maximum),
        done_already: &[],
    });
}

#[test]
fn grow_a_volume_by_some() {
    check(&Scenario {
        name: "resize to a size",
        prepare: on_a_grown_disk,
        act: |fixture| resize(fixture, NewSize::Bytes(NonZeroU64::new(6 * GIB).unwrap())),
        done_already: &[],
    });
}

/// By less than csi-proxy's call grows a volume.
#[test]
fn grow_a_volume_by_little() {
    check(&Scenario {
        name: "resize by little",
        prepare: || {
            let fixture = NodeFixture::with_mounted_volume();
            let length = 4 * GIB + (3 << 20);
            fixture.grow(DATA, length);
            fixture
        },
        act: |fixture| resize(fixture, NewSize::Maximum),
        done_already: &[],
    });
}

#[test]
fn stage_a_volume() {
    check(&Scenario {
        name: "stage",
        prepare: || {
            let fixture = NodeFixture::new();
            let spec = DiskSpec::on(Bus::Sas)
                .serial(DATA)
                .arriving(Arrives::Offline);
            fixture.attach(DATA, &spec, 4 * GIB);
            fixture
        },
        act: NodeFixture::stage_and_grow,
        done_already: &[],
    });
}

#[test]
fn unstage_a_volume() {
    check(&Scenario {
        name: "unstage",
        prepare: NodeFixture::with_mounted_volume,
        act: unstage,
        done_already: &[],
    });
}

/// The calls of a driver that unstages a block volume and looks at what is there first.
fn unstage(fixture: &NodeFixture) -> Result<(), String> {
    let (node, soon) = (&fixture.node, fixture.soon());
    match node
        .operations()
        .volumes()
        .of_target(with_text_error(fixture.resolved(STAGING))?, soon)
    {
        Ok(volume) => {
            with_text_error(node.operations().volumes().flush(volume, soon))?;
            let staging = with_text_error(fixture.resolved(STAGING))?;
            with_text_error(node.operations().volumes().unmount(volume, staging, soon))?;
        }
        Err(VolumeError::Target(
            TargetError::Missing { .. } | TargetError::PlainDirectory { .. },
        )) => {}
        Err(error) => return Err(error.to_string()),
    }
    with_text_error(
        node.operations()
            .filesystem()
            .remove_tree(with_text_error(fixture.resolved(STAGING))?, soon),
    )?;
    with_text_error(node.operations().disks().set_offline(fixture.disk(), soon))
}

fn format_unless_formatted(fixture: &NodeFixture) -> Result<(), String> {
    let volumes = fixture.volumes();
    match with_text_error(volumes.is_formatted(fixture.volume(), fixture.soon()))? {
        true => Ok(()),
        false => with_text_error(volumes.format(fixture.volume(), fixture.soon()).map(drop)),
    }
}

fn resize(fixture: &NodeFixture, size: NewSize) -> Result<(), String> {
    with_text_error(fixture.resize(size)).map(drop)
}

fn on_a_grown_disk() -> NodeFixture {
    let fixture = NodeFixture::with_mounted_volume();
    fixture.grow(DATA, 8 * GIB);
    fixture
}

#[test]
fn staging_where_a_table_leaves_a_disk_offline() {
    check(&Scenario {
        name: "stage where a table leaves a disk offline",
        prepare: NodeFixture::whose_tables_leave_a_disk_offline,
        act: |fixture| {
            let serial = SerialNumber::parse(DATA).unwrap();
            let wanted = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
            let disks = fixture.disks();
            let disk = with_text_error(disks.find(&wanted, fixture.soon()))?;
            with_text_error(disks.bring_online(&disk, fixture.soon()))?;
            with_text_error(disks.partition(&disk, fixture.soon()))?;
            let volume = with_text_error(fixture.volumes().find_on(&disk, fixture.soon()))?;
            let plain = FormatOptions::default();
            let volumes = fixture.volumes();
            with_text_error(volumes.ensure_formatted(&volume, &plain, fixture.soon())).map(drop)
        },
        done_already: &[],
    });
}
