//! A volume that is restored from a snapshot on the node where its original is staged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::schema::disk::{self, offline_reason};
use os::{DiskAttributes, PartitionStyle, Query, Value, VolumeId};
use os_sim::{
    Bus, DiskSpec, Effect, NodeSpec, OfflineAttributes, Op, Rule, SanPolicy, StorageConditions,
};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Options, SerialNumber};

use crate::support::{DATA, Rig, path};

const CLONE: &str = "clone1";
const LENGTH: u64 = 128 << 20;
const FOLDERS: &str = r"C:\var\lib\kubelet\plugins";

fn found(rig: &Rig, serial: &str) -> FoundDisk {
    let serial = SerialNumber::parse(serial).unwrap();
    let query = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    rig.disks().find(&query, rig.soon()).unwrap()
}

/// Where the volume of a disk is staged.
fn staging(serial: &str) -> String {
    format!(r"{FOLDERS}\{serial}\globalmount")
}

/// What a driver does with a disk, formatted or not.
fn stage(rig: &Rig, serial: &str) -> VolumeId {
    let (node, soon, disk) = (&rig.node, rig.soon(), found(rig, serial));
    node.operations().disks().bring_online(&disk, soon).unwrap();
    node.operations().disks().partition(&disk, soon).unwrap();
    let volume = node
        .operations()
        .volumes()
        .sole_on_disk(disk.number(), soon)
        .unwrap();
    if !node
        .operations()
        .volumes()
        .is_formatted(volume, soon)
        .unwrap()
    {
        node.operations().volumes().format(volume, soon).unwrap();
    }
    let folder = path(&staging(serial));
    node.operations()
        .filesystem()
        .make_directory(&folder, soon)
        .unwrap();
    node.operations()
        .volumes()
        .mount(volume, &folder, soon)
        .unwrap();
    volume
}

fn unstage(rig: &Rig, serial: &str) {
    let (node, soon, folder) = (&rig.node, rig.soon(), path(&staging(serial)));
    let volume = node
        .operations()
        .volumes()
        .of_target(&folder, soon)
        .unwrap();
    node.operations()
        .volumes()
        .unmount(volume, &folder, soon)
        .unwrap();
    node.operations()
        .filesystem()
        .remove_entry(&folder, soon)
        .unwrap();
    node.operations()
        .disks()
        .set_offline(&found(rig, serial), soon)
        .unwrap();
}

fn write(rig: &Rig, serial: &str, content: &str) {
    rig.write(&format!(r"{}\data.txt", staging(serial)), content);
}

fn read(rig: &Rig, serial: &str) -> String {
    rig.read(&format!(r"{}\data.txt", staging(serial)))
}

/// A node with a staged volume that holds a file, and a clone of its disk.
fn with_clone() -> Rig {
    with_clone_on(SanPolicy::OnlineAll, OfflineAttributes::Set)
}

/// Where new disks are read-only unless this policy brings them up, and offline ones take attributes or not.
fn with_clone_on(policy: SanPolicy, offline_attributes: OfflineAttributes) -> Rig {
    let storage = StorageConditions {
        offline_attributes,
        ..StorageConditions::default()
    };
    let spec = NodeSpec {
        storage,
        ..NodeSpec::named("node-1").san_policy(policy)
    };
    let rig = Rig::of(&spec, Options::default());
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, LENGTH);
    stage(&rig, DATA);
    write(&rig, DATA, "precious");
    plug_clone(&rig);
    rig
}

fn plug_clone(rig: &Rig) {
    let spec = DiskSpec::on(Bus::Sas).serial(CLONE).lun(2);
    rig.sim.hardware().clone_disk(DATA, CLONE, &spec).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
}

fn style(rig: &Rig, serial: &str) -> PartitionStyle {
    rig.os().disks.layout(rig.disk_of(serial)).unwrap().style
}

fn attributes(rig: &Rig, serial: &str) -> DiskAttributes {
    rig.os().disks.attributes(rig.disk_of(serial)).unwrap()
}

fn boot_sector(rig: &Rig, name: &str) -> [u8; 512] {
    let layout = rig.os().disks.layout(rig.disk_of(name)).unwrap();
    let offset = layout.partitions.iter().map(|one| one.offset).max();
    let mut sector = [0; 512];
    let hardware = rig.sim.hardware();
    hardware
        .read_disk(name, offset.unwrap(), &mut sector)
        .unwrap();
    sector
}

fn when(trace: &[Op], operation: &str) -> Option<usize> {
    trace.iter().position(|op| op.operation == operation)
}

#[test]
fn restore_of_a_clone_on_the_same_node() {
    let rig = with_clone();
    write(&rig, DATA, "changed after the snapshot");
    let original = rig
        .volumes()
        .of_target(&path(&staging(DATA)), rig.soon())
        .unwrap();
    let clone = stage(&rig, CLONE);
    assert_ne!(clone, original);
    assert_eq!(read(&rig, CLONE), "precious");
    assert_eq!(read(&rig, DATA), "changed after the snapshot");
    // Neither label nor the filesystem's serial number, in its boot sector, tells the two apart.
    let label = |volume| rig.os().volumes.file_system(volume).unwrap().unwrap().label;
    assert_eq!(label(clone), label(original));
    assert_eq!(boot_sector(&rig, CLONE), boot_sector(&rig, DATA));
    for (serial, volume) in [(DATA, original), (CLONE, clone)] {
        let on_disk = rig.volumes().sole_on_disk(rig.disk_of(serial), rig.soon());
        assert_eq!(on_disk, Ok(volume));
        let disk = rig.volumes().disk_number(volume, rig.soon());
        assert_eq!(disk, Ok(rig.disk_of(serial)));
    }
    write(&rig, CLONE, "the clone's own");
    unstage(&rig, DATA);
    assert_eq!(read(&rig, CLONE), "the clone's own");
    assert_eq!(stage(&rig, DATA), original);
    assert_eq!(read(&rig, DATA), "changed after the snapshot");
    unstage(&rig, CLONE);
    assert_eq!(
        stage(&rig, CLONE),
        clone,
        "it keeps the name that it was given"
    );
    assert_eq!(read(&rig, CLONE), "the clone's own");
    assert_eq!(read(&rig, DATA), "changed after the snapshot");
}

#[test]
fn a_clone_of_a_clone_is_a_third_volume() {
    let rig = with_clone();
    stage(&rig, CLONE);
    write(&rig, CLONE, "second");
    let spec = DiskSpec::on(Bus::Sas).serial("clone2").lun(3);
    rig.sim
        .hardware()
        .clone_disk(CLONE, "clone2", &spec)
        .unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    stage(&rig, "clone2");
    assert_eq!(read(&rig, "clone2"), "second");
    let styles = [DATA, CLONE, "clone2"].map(|serial| style(&rig, serial));
    assert!(styles[0] != styles[1] && styles[1] != styles[2] && styles[0] != styles[2]);
}

/// azuredisk-csi-driver#2661: `Collision`, and writable.
#[test]
fn a_clone_stays_down_beside_its_original_and_says_why() {
    for (policy, read_only) in [(SanPolicy::OnlineAll, false), (SanPolicy::OfflineAll, true)] {
        let rig = with_clone_on(policy, OfflineAttributes::Set);
        let offline = true;
        let down = DiskAttributes { offline, read_only };
        assert_eq!(attributes(&rig, CLONE), down, "{policy:?}");
        assert_eq!(style(&rig, CLONE), style(&rig, DATA));
        let query = Query::all(disk::CLASS.name, &[disk::OFFLINE_REASON.name])
            .with(disk::NUMBER.name, Value::uint32(rig.disk_of(CLONE).0));
        let rows = rig.os().storage.query(&query, rig.soon()).unwrap();
        let reason = rows[0].u32(disk::OFFLINE_REASON.name).unwrap();
        assert_eq!(reason, offline_reason::COLLISION.value, "{policy:?}");
    }
}

/// csi-proxy#287, hpe-storage/common-host-libs#40: Windows signs a clone anew only if it may write it.
#[test]
fn a_clone_is_made_writable_before_it_is_brought_online() {
    for csi_proxys in [true, false] {
        let rig = with_clone_on(SanPolicy::OfflineAll, OfflineAttributes::Set);
        let (before, clone) = (style(&rig, DATA), found(&rig, CLONE));
        let trace = rig.trace(|| {
            let disks = rig.disks();
            let online = match csi_proxys {
                true => disks.set_online(clone.number(), rig.soon()),
                false => disks.bring_online(&clone, rig.soon()),
            };
            online.unwrap();
        });
        let writable = when(&trace, "MSFT_Disk.SetAttributes");
        let online = when(&trace, "MSFT_Disk.Online");
        assert!(writable.is_some() && writable < online, "{trace:?}");
        let up = DiskAttributes {
            offline: false,
            read_only: false,
        };
        assert_eq!(attributes(&rig, CLONE), up);
        assert_eq!(style(&rig, DATA), before, "the original keeps its own");
        assert_ne!(style(&rig, CLONE), before);
    }
}

/// Otherwise it would never come online: the provider would want it online first, and Windows writable.
#[test]
fn a_clone_comes_online_where_the_provider_changes_online_disks_alone() {
    let rig = with_clone_on(SanPolicy::OfflineAll, OfflineAttributes::Refused);
    let before = style(&rig, DATA);
    let clone = found(&rig, CLONE);
    rig.disks().bring_online(&clone, rig.soon()).unwrap();
    assert_ne!(style(&rig, CLONE), before);
    let up = DiskAttributes {
        offline: false,
        read_only: false,
    };
    assert_eq!(attributes(&rig, CLONE), up);
}

#[test]
fn a_clone_that_stays_read_only_does_not_come_online() {
    let rig = with_clone_on(SanPolicy::OfflineAll, OfflineAttributes::Set);
    let refused = Rule::on(
        "MSFT_Disk.SetAttributes",
        Effect::Answer(os::Outcome::of(40_001)),
    );
    rig.sim.faults().add(refused);
    let online = rig.disks().bring_online(&found(&rig, CLONE), rig.soon());
    assert!(matches!(online, Err(DiskError::Provider(_))), "{online:?}");
    assert!(attributes(&rig, CLONE).offline);
    assert_eq!(read(&rig, DATA), "precious");
}

/// csi-proxy#437: a disk that is online and read-only looked as if it were ready.
#[test]
fn an_online_disk_that_is_read_only_is_made_writable_for_a_driver() {
    let rig = Rig::with_data_disk();
    rig.make_read_only();
    rig.disks()
        .bring_online(&found(&rig, DATA), rig.soon())
        .unwrap();
    assert!(!attributes(&rig, DATA).read_only);
}

#[test]
fn a_disk_that_stays_read_only_is_not_said_to_be_ready() {
    let rig = Rig::with_data_disk();
    rig.make_read_only();
    let nothing = Rule::on(
        "MSFT_Disk.SetAttributes",
        Effect::Answer(os::Outcome::of(0)),
    );
    rig.sim.faults().add(nothing);
    let ready = rig.disks().bring_online(&found(&rig, DATA), rig.soon());
    assert_eq!(ready, Err(DiskError::StaysReadOnly { disk: rig.disk() }));
}

#[test]
fn a_clone_whose_original_is_elsewhere_comes_up_as_it_is() {
    let rig = Rig::new();
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, LENGTH);
    stage(&rig, DATA);
    write(&rig, DATA, "precious");
    let before = style(&rig, DATA);
    unstage(&rig, DATA);
    plug_clone(&rig);
    rig.sim.hardware().detach_disk(DATA).unwrap();
    rig.disks().rescan(rig.soon()).unwrap();
    assert!(!attributes(&rig, CLONE).offline);
    assert_eq!(style(&rig, CLONE), before);
    stage(&rig, CLONE);
    assert_eq!(read(&rig, CLONE), "precious");
}

/// Whichever of the two comes online second is signed anew, the original too.
#[test]
fn an_original_that_comes_online_after_its_clone_keeps_its_files() {
    let rig = Rig::new();
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, LENGTH);
    stage(&rig, DATA);
    write(&rig, DATA, "original");
    unstage(&rig, DATA);
    plug_clone(&rig);
    stage(&rig, CLONE);
    write(&rig, CLONE, "clone");
    stage(&rig, DATA);
    assert_eq!(read(&rig, DATA), "original");
    assert_eq!(read(&rig, CLONE), "clone");
    assert_ne!(style(&rig, CLONE), style(&rig, DATA));
}
