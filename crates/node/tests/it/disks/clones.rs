//! A volume that is restored from a snapshot on the node where its original is staged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::schema::disk::{self, offline_reason};
use os::{DiskAttributes, Query, Value, VolumeId};
use os_sim::testing::assert_says;
use os_sim::{
    Bus, DiskSpec, Effect, NodeSpec, OfflineAttributes, Op, Rule, SanPolicy, StorageConditions,
};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Options, SerialNumber};

use crate::support::{DATA, NodeFixture, path};

const CLONE: &str = "clone1";
const LENGTH: u64 = 128 << 20;
const FOLDERS: &str = r"C:\var\lib\kubelet\plugins";

fn found(fixture: &NodeFixture, serial: &str) -> FoundDisk {
    let serial = SerialNumber::parse(serial).unwrap();
    let query = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    fixture.disks().find(&query, fixture.soon()).unwrap()
}

/// Where the volume of a disk is staged.
fn staging(serial: &str) -> String {
    format!(r"{FOLDERS}\{serial}\globalmount")
}

/// A driver's calls for a disk, formatted or not.
fn stage(fixture: &NodeFixture, serial: &str) -> VolumeId {
    let (node, soon, disk) = (&fixture.node, fixture.soon(), found(fixture, serial));
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

fn unstage(fixture: &NodeFixture, serial: &str) {
    let (node, soon, folder) = (&fixture.node, fixture.soon(), path(&staging(serial)));
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
        .set_offline(&found(fixture, serial), soon)
        .unwrap();
}

fn write(fixture: &NodeFixture, serial: &str, content: &str) {
    fixture.write(&format!(r"{}\data.txt", staging(serial)), content);
}

fn read(fixture: &NodeFixture, serial: &str) -> String {
    fixture.read(&format!(r"{}\data.txt", staging(serial)))
}

/// A node with a staged volume that holds a file, and a clone of its disk.
fn with_clone() -> NodeFixture {
    with_clone_on(SanPolicy::OnlineAll, OfflineAttributes::Set)
}

/// Where new disks are read-only unless this policy brings them up, and offline ones take attributes or not.
fn with_clone_on(policy: SanPolicy, offline_attributes: OfflineAttributes) -> NodeFixture {
    let storage = StorageConditions {
        offline_attributes,
        ..StorageConditions::default()
    };
    let spec = NodeSpec {
        storage,
        ..NodeSpec::named("node-1").san_policy(policy)
    };
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, LENGTH);
    stage(&fixture, DATA);
    write(&fixture, DATA, "precious");
    plug_clone(&fixture);
    fixture
}

fn plug_clone(fixture: &NodeFixture) {
    let spec = DiskSpec::on(Bus::Sas).serial(CLONE).lun(2);
    fixture.hardware().clone_disk(DATA, CLONE, &spec).unwrap();
    fixture.rescan();
}

fn boot_sector(fixture: &NodeFixture, name: &str) -> [u8; 512] {
    let layout = fixture.os().disks.layout(fixture.disk_of(name)).unwrap();
    let offset = layout.partitions.iter().map(|one| one.offset).max();
    let mut sector = [0; 512];
    let hardware = fixture.hardware();
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
    let fixture = with_clone();
    write(&fixture, DATA, "changed after the snapshot");
    let original = fixture
        .volumes()
        .of_target(&path(&staging(DATA)), fixture.soon())
        .unwrap();
    let clone = stage(&fixture, CLONE);
    assert_ne!(clone, original);
    assert_eq!(read(&fixture, CLONE), "precious");
    assert_eq!(read(&fixture, DATA), "changed after the snapshot");
    // Neither label nor the filesystem's serial number, in its boot sector, tells the two apart.
    let label = |volume| {
        fixture
            .os()
            .volumes
            .file_system(volume)
            .unwrap()
            .unwrap()
            .label
    };
    assert_eq!(label(clone), label(original));
    assert_eq!(boot_sector(&fixture, CLONE), boot_sector(&fixture, DATA));
    for (serial, volume) in [(DATA, original), (CLONE, clone)] {
        let on_disk = fixture
            .volumes()
            .sole_on_disk(fixture.disk_of(serial), fixture.soon());
        assert_eq!(on_disk, Ok(volume));
        let disk = fixture.volumes().disk_number(volume, fixture.soon());
        assert_eq!(disk, Ok(fixture.disk_of(serial)));
    }
    write(&fixture, CLONE, "the clone's own");
    unstage(&fixture, DATA);
    assert_eq!(read(&fixture, CLONE), "the clone's own");
    assert_eq!(stage(&fixture, DATA), original);
    assert_eq!(read(&fixture, DATA), "changed after the snapshot");
    unstage(&fixture, CLONE);
    assert_eq!(
        stage(&fixture, CLONE),
        clone,
        "it keeps the name that it was given"
    );
    assert_eq!(read(&fixture, CLONE), "the clone's own");
    assert_eq!(read(&fixture, DATA), "changed after the snapshot");
}

#[test]
fn a_clone_of_a_clone_is_a_third_volume() {
    let fixture = with_clone();
    stage(&fixture, CLONE);
    write(&fixture, CLONE, "second");
    let spec = DiskSpec::on(Bus::Sas).serial("clone2").lun(3);
    fixture
        .hardware()
        .clone_disk(CLONE, "clone2", &spec)
        .unwrap();
    fixture.rescan();
    stage(&fixture, "clone2");
    assert_eq!(read(&fixture, "clone2"), "second");
    let styles = [DATA, CLONE, "clone2"].map(|serial| fixture.style_of(serial));
    assert!(styles[0] != styles[1] && styles[1] != styles[2] && styles[0] != styles[2]);
}

/// azuredisk-csi-driver#2661: `Collision`, and writable.
#[test]
fn a_clone_stays_down_beside_its_original_and_says_why() {
    for (policy, read_only) in [(SanPolicy::OnlineAll, false), (SanPolicy::OfflineAll, true)] {
        let fixture = with_clone_on(policy, OfflineAttributes::Set);
        let offline = true;
        let down = DiskAttributes { offline, read_only };
        assert_eq!(fixture.attributes_of(CLONE), down, "{policy:?}");
        assert_eq!(fixture.style_of(CLONE), fixture.style_of(DATA));
        let query = Query::all(disk::CLASS.name, &[disk::OFFLINE_REASON.name])
            .with(disk::NUMBER.name, Value::uint32(fixture.disk_of(CLONE).0));
        let rows = fixture.os().storage.query(&query, fixture.soon()).unwrap();
        let reason = rows[0].u32(disk::OFFLINE_REASON.name).unwrap();
        assert_eq!(reason, offline_reason::COLLISION.value, "{policy:?}");
    }
}

/// csi-proxy#287, hpe-storage/common-host-libs#40: Windows signs a clone anew only if it may write it.
#[test]
fn a_clone_is_made_writable_before_it_is_brought_online() {
    for csi_proxys in [true, false] {
        let fixture = with_clone_on(SanPolicy::OfflineAll, OfflineAttributes::Set);
        let (before, clone) = (fixture.style_of(DATA), found(&fixture, CLONE));
        let trace = fixture.trace(|| {
            let disks = fixture.disks();
            let online = match csi_proxys {
                true => disks.set_online(clone.number(), fixture.soon()),
                false => disks.bring_online(&clone, fixture.soon()),
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
        assert_eq!(fixture.attributes_of(CLONE), up);
        assert_eq!(fixture.style_of(DATA), before, "the original keeps its own");
        assert_ne!(fixture.style_of(CLONE), before);
    }
}

/// Otherwise it would never come online: the provider would want it online first, and Windows writable.
#[test]
fn a_clone_comes_online_where_the_provider_changes_online_disks_alone() {
    let fixture = with_clone_on(SanPolicy::OfflineAll, OfflineAttributes::Refused);
    let before = fixture.style_of(DATA);
    let clone = found(&fixture, CLONE);
    fixture
        .disks()
        .bring_online(&clone, fixture.soon())
        .unwrap();
    assert_ne!(fixture.style_of(CLONE), before);
    let up = DiskAttributes {
        offline: false,
        read_only: false,
    };
    assert_eq!(fixture.attributes_of(CLONE), up);
}

#[test]
fn a_clone_that_stays_read_only_does_not_come_online() {
    let fixture = with_clone_on(SanPolicy::OfflineAll, OfflineAttributes::Set);
    let refused = Rule::on(
        "MSFT_Disk.SetAttributes",
        Effect::Answer(os::Outcome::of(40_001)),
    );
    fixture.fault(refused);
    let online = fixture
        .disks()
        .bring_online(&found(&fixture, CLONE), fixture.soon());
    let error = online.unwrap_err();
    assert_says(
        &error,
        "invalid parameter; Windows keeps it offline: Collision",
    );
    assert!(fixture.attributes_of(CLONE).offline);
    assert_eq!(read(&fixture, DATA), "precious");
}

/// csi-proxy#437: a disk that is online and read-only looked as if it were ready.
#[test]
fn an_online_disk_that_is_read_only_is_made_writable_for_a_driver() {
    let fixture = NodeFixture::with_data_disk();
    fixture.make_read_only();
    fixture
        .disks()
        .bring_online(&found(&fixture, DATA), fixture.soon())
        .unwrap();
    assert!(!fixture.attributes_of(DATA).read_only);
}

#[test]
fn a_disk_that_stays_read_only_is_not_said_to_be_ready() {
    let fixture = NodeFixture::with_data_disk();
    fixture.make_read_only();
    let nothing = Rule::on(
        "MSFT_Disk.SetAttributes",
        Effect::Answer(os::Outcome::of(0)),
    );
    fixture.fault(nothing);
    let ready = fixture
        .disks()
        .bring_online(&found(&fixture, DATA), fixture.soon());
    assert_eq!(
        ready,
        Err(DiskError::StaysReadOnly {
            disk: fixture.disk()
        })
    );
}

#[test]
fn a_clone_whose_original_is_elsewhere_comes_up_as_it_is() {
    let fixture = NodeFixture::new();
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, LENGTH);
    stage(&fixture, DATA);
    write(&fixture, DATA, "precious");
    let before = fixture.style_of(DATA);
    unstage(&fixture, DATA);
    plug_clone(&fixture);
    fixture.hardware().detach_disk(DATA).unwrap();
    fixture.rescan();
    assert!(!fixture.attributes_of(CLONE).offline);
    assert_eq!(fixture.style_of(CLONE), before);
    stage(&fixture, CLONE);
    assert_eq!(read(&fixture, CLONE), "precious");
}

/// Whichever of the two comes online second is signed anew, the original too.
#[test]
fn an_original_that_comes_online_after_its_clone_keeps_its_files() {
    let fixture = NodeFixture::new();
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, LENGTH);
    stage(&fixture, DATA);
    write(&fixture, DATA, "original");
    unstage(&fixture, DATA);
    plug_clone(&fixture);
    stage(&fixture, CLONE);
    write(&fixture, CLONE, "clone");
    stage(&fixture, DATA);
    assert_eq!(read(&fixture, DATA), "original");
    assert_eq!(read(&fixture, CLONE), "clone");
    assert_ne!(fixture.style_of(CLONE), fixture.style_of(DATA));
}
