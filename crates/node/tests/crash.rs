//! Every mutating operation, cut off at every operation of the system that it makes, and called
//! again.
//!
//! Each scenario is run once undisturbed, which gives the operations that it makes and the state
//! that it leaves. Then, for every one of those operations, it is run on a fresh node that fails
//! there, or fails after the effect, or dies before, or dies after; it is called again, after a death
//! by another process; and the state must be the same: nothing leaked, nothing lost.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use std::num::NonZeroU64;

use os::DiskNumber;
use os_sim::Arrives;
use os_sim::Bus;
use os_sim::DiskSpec;
use support::DATA;
use support::GIB;
use support::PASSWORD;
use support::Rig;
use support::SHARE;
use support::USER;
use support::crash::Scenario;
use support::crash::check;
use support::crash::told;
use support::path;
use wincsi_node::Credentials;
use wincsi_node::Mapping;
use wincsi_node::NewSize;
use wincsi_node::RemotePath;
use wincsi_node::TargetError;
use wincsi_node::VolumeError;
use wincsi_node::Way;
use zeroize::Zeroizing;

#[test]
fn partition_a_raw_disk() {
    check(&Scenario {
        name: "partition",
        prepare: Rig::with_data_disk,
        act: |rig| told(rig.node.disks().partition(rig.disk(), rig.soon())),
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
            told(rig.node.disks().set_online(rig.disk(), rig.soon()))?;
            told(rig.node.disks().partition(rig.disk(), rig.soon()))
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
            rig.node
                .disks()
                .set_offline(rig.disk(), rig.soon())
                .unwrap();
            rig
        },
        act: |rig| told(rig.node.disks().set_online(rig.disk(), rig.soon())),
        done_already: &[],
    });
}

#[test]
fn take_a_disk_offline() {
    check(&Scenario {
        name: "offline",
        prepare: Rig::with_volume,
        act: |rig| told(rig.node.disks().set_offline(rig.disk(), rig.soon())),
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
        act: |rig| told(rig.node.disks().set_online(LATE, rig.soon())),
        done_already: &[],
    });
}

#[test]
fn format_a_volume() {
    check(&Scenario {
        name: "format",
        prepare: || {
            let rig = Rig::with_data_disk();
            rig.node.disks().partition(rig.disk(), rig.soon()).unwrap();
            rig
        },
        act: |rig| format_unless_formatted(rig),
        done_already: &[],
    });
}

#[test]
fn mount_a_volume() {
    check(&Scenario {
        name: "mount",
        prepare: || {
            let rig = Rig::with_volume();
            rig.node
                .filesystem()
                .make_directory(&rig.staging(), rig.soon())
                .unwrap();
            rig.write(&format!("{}data.txt", rig.volume()), "precious");
            rig
        },
        act: |rig| {
            told(
                rig.node
                    .volumes()
                    .mount(rig.volume(), &rig.staging(), rig.soon()),
            )
        },
        done_already: &[],
    });
}

#[test]
fn unmount_a_volume() {
    check(&Scenario {
        name: "unmount",
        prepare: Rig::with_mounted_volume,
        act: |rig| {
            told(
                rig.node
                    .volumes()
                    .unmount(rig.volume(), &rig.staging(), rig.soon()),
            )
        },
        done_already: &["is not a mounted folder"],
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

#[test]
fn remove_a_mounted_folder() {
    check(&Scenario {
        name: "rmdir of a mounted folder",
        prepare: Rig::with_mounted_volume,
        act: |rig| {
            told(
                rig.node
                    .filesystem()
                    .remove_entry(&rig.staging(), rig.soon()),
            )
        },
        done_already: &["The system cannot find the file specified."],
    });
}

#[test]
fn remove_a_tree() {
    check(&Scenario {
        name: "rmdir with force",
        prepare: with_a_tree,
        act: |rig| {
            let top = path(r"C:\var\lib\kubelet");
            told(rig.node.filesystem().remove_tree(&top, rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn remove_contents() {
    check(&Scenario {
        name: "rmdir of contents",
        prepare: with_a_tree,
        act: |rig| {
            let top = path(r"C:\var\lib\kubelet");
            told(rig.node.filesystem().remove_contents(&top, rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn make_directories() {
    check(&Scenario {
        name: "mkdir",
        prepare: Rig::with_data_disk,
        act: |rig| {
            let deep = path(r"C:\var\lib\kubelet\pods\a");
            told(rig.node.filesystem().make_directory(&deep, rig.soon()))
        },
        done_already: &[],
    });
}

#[test]
fn make_a_link() {
    check(&Scenario {
        name: "symlink",
        prepare: Rig::with_mounted_volume,
        act: |rig| {
            let link = path(r"C:\var\lib\pod");
            told(
                rig.node
                    .filesystem()
                    .create_symlink(&rig.staging(), &link, rig.soon()),
            )
        },
        done_already: &[],
    });
}

#[test]
fn map_a_share_with_a_link() {
    check(&Scenario {
        name: "map",
        prepare: Rig::with_server,
        act: map_with_link,
        done_already: &[],
    });
}

#[test]
fn map_a_share_anew_that_does_not_answer() {
    check(&Scenario {
        name: "map anew",
        prepare: || {
            let rig = Rig::with_server();
            map_with_link(&rig).unwrap();
            rig.change_password("other");
            rig
        },
        act: |rig| {
            let password = Zeroizing::new("other".to_owned());
            map(
                rig,
                &Mapping {
                    remote: &remote(),
                    credentials: Credentials::new(USER, password).as_ref(),
                    link: None,
                },
            )
        },
        done_already: &[],
    });
}

#[test]
fn unmap_a_share() {
    check(&Scenario {
        name: "unmap",
        prepare: || {
            let rig = Rig::with_server();
            map_with_link(&rig).unwrap();
            rig
        },
        act: |rig| told(rig.node.smb().unmap(&remote(), rig.soon())),
        done_already: &["No MSFT_SmbGlobalMapping objects found"],
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
        act: stage,
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

/// The calls of a driver that stages a block volume.
fn stage(rig: &Rig) -> Result<(), String> {
    let (node, soon) = (&rig.node, rig.soon());
    told(node.disks().rescan(soon))?;
    let ids = told(node.disks().ids(soon))?;
    let found = ids.iter().find(|(_, ids)| ids.serial == DATA);
    let (&disk, _) = found.ok_or("the disk is not there")?;
    told(node.disks().set_online(disk, soon))?;
    told(node.disks().partition(disk, soon))?;
    let volumes = told(node.volumes().list_on_disk(disk, None, soon))?;
    let volume = volumes[0];
    if !told(node.volumes().is_formatted(volume, soon))? {
        told(node.volumes().format(volume, soon))?;
    }
    told(node.filesystem().make_directory(&rig.staging(), soon))?;
    told(node.volumes().mount(volume, &rig.staging(), soon))?;
    told(node.volumes().resize(volume, NewSize::Maximum, soon))
}

/// The calls of a driver that unstages a block volume and looks at what is there first.
fn unstage(rig: &Rig) -> Result<(), String> {
    let (node, soon) = (&rig.node, rig.soon());
    match node.volumes().of_target(&rig.staging(), soon) {
        Ok(volume) => {
            told(node.volumes().flush(volume, soon))?;
            told(node.volumes().unmount(volume, &rig.staging(), soon))?;
        }
        Err(VolumeError::Target(
            TargetError::Missing { .. } | TargetError::PlainDirectory { .. },
        )) => {}
        Err(error) => return Err(error.to_string()),
    }
    told(node.filesystem().remove_tree(&rig.staging(), soon))?;
    told(node.disks().set_offline(rig.disk(), soon))
}

fn remote() -> RemotePath {
    RemotePath::parse(&format!(r"{SHARE}\sub")).unwrap()
}

fn map(rig: &Rig, mapping: &Mapping<'_>) -> Result<(), String> {
    told(rig.node.smb().map(mapping, rig.soon()))
}

fn map_with_link(rig: &Rig) -> Result<(), String> {
    let password = Zeroizing::new(PASSWORD.to_owned());
    map(
        rig,
        &Mapping {
            remote: &remote(),
            credentials: Credentials::new(USER, password).as_ref(),
            link: Some(&Way::from(&path(r"C:\var\globalmount"))),
        },
    )
}

fn format_unless_formatted(rig: &Rig) -> Result<(), String> {
    let volumes = rig.node.volumes();
    match told(volumes.is_formatted(rig.volume(), rig.soon()))? {
        true => Ok(()),
        false => told(volumes.format(rig.volume(), rig.soon())),
    }
}

fn resize(rig: &Rig, size: NewSize) -> Result<(), String> {
    told(rig.node.volumes().resize(rig.volume(), size, rig.soon()))
}

fn on_a_grown_disk() -> Rig {
    let rig = Rig::with_mounted_volume();
    rig.sim.hardware().grow_disk(DATA, 8 * GIB).unwrap();
    rig
}

fn with_a_tree() -> Rig {
    let rig = Rig::with_mounted_volume();
    let filesystem = rig.node.filesystem();
    filesystem
        .make_directory(&path(r"C:\var\lib\kubelet\pods\a\b"), rig.soon())
        .unwrap();
    filesystem
        .make_directory(&path(r"C:\var\lib\kept"), rig.soon())
        .unwrap();
    rig.write(r"C:\var\lib\kept\file", "kept");
    rig.write(r"C:\var\lib\kubelet\pods\a\file", "gone");
    rig.sim
        .files()
        .set_read_only(&path(r"C:\var\lib\kubelet\pods\a\file"))
        .unwrap();
    let link = path(r"C:\var\lib\kubelet\pods\a\b\out");
    filesystem
        .create_symlink(&path(r"C:\var\lib\kept"), &link, rig.soon())
        .unwrap();
    rig
}
