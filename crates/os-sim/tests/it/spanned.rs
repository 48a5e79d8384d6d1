//! Volumes on several disks: the kernel's view, and the objects that the storage provider leaves
//! out.

use std::fs;
use std::time::Duration;

use os::{Arguments, DiskNumber, Extent, PartitionStyle, Query, Value, VolumeId, Win32, WinPath};
use wincsi_os_sim::{
    Arrives, Bus, Content, DiskSpec, HardwareError, NodeSpec, SectorSize, SimNode, SpannedSpec,
    VolumeExtent,
};

use crate::support::storage_fixture::{MIB, StorageFixture};

const LENGTH: u64 = 64 * MIB;
const DISKS: [&str; 2] = ["one", "two"];

fn attach(fixture: &StorageFixture, name: &str, content: &Content) {
    let spec = DiskSpec::on(Bus::Sas).serial(name);
    let spec = spec.arriving(Arrives::Online);
    fixture
        .hardware()
        .attach_disk(name, &spec, content)
        .unwrap();
}

/// Two dynamic disks of a GPT, 1 and 2, under one volume.
fn spanned() -> (StorageFixture, VolumeId) {
    let fixture = StorageFixture::new();
    for name in DISKS {
        attach(&fixture, name, &Content::blank(LENGTH));
    }
    fixture.rescan();
    let volume = fixture.hardware().span_disks(&DISKS).unwrap();
    (fixture, volume)
}

/// A volume that is there.
fn settled() -> (StorageFixture, VolumeId) {
    let (fixture, volume) = spanned();
    let _ = fixture.os.volumes.list();
    fixture.let_pass(Duration::from_secs(1));
    (fixture, volume)
}

fn extent(disk: u32, offset: u64, length: u64) -> Extent {
    Extent {
        disk: DiskNumber(disk),
        offset,
        length,
    }
}

fn path(text: &str) -> WinPath {
    text.parse().unwrap()
}

#[test]
fn the_kernel_tells_of_each_part_in_its_order() {
    let (fixture, volume) = settled();
    let parts = [16, 46].map(|mib| mib * MIB);
    let expected = [1, 2].map(|disk| extent(disk, parts[0], parts[1]));
    assert_eq!(fixture.os.volumes.extents(volume).unwrap(), expected);
    let list = fixture.os.volumes.list().unwrap();
    assert_eq!(list.iter().filter(|it| **it == volume).count(), 1);
    // Drive C and the EFI system partition: those of a dynamic disk have no volumes of their own.
    assert_eq!(list.len(), 3);
    let found = fixture.os.volumes.file_system(volume).unwrap().unwrap();
    assert_eq!(found.name, "NTFS");
    let space = fixture.os.volumes.space(volume).unwrap();
    assert!(space.total > 2 * parts[1] - MIB, "{space:?}");
    assert_eq!(fixture.os.volumes.flush(volume), Ok(()));
}

#[test]
fn a_volume_comes_after_a_while_and_goes_with_any_of_its_disks() {
    let (fixture, volume) = spanned();
    let is_listed = |fixture: &StorageFixture| fixture.os.volumes.list().unwrap().contains(&volume);
    assert!(!is_listed(&fixture));
    fixture.let_pass(Duration::from_secs(1));
    assert!(is_listed(&fixture));
    fixture.hardware().detach_disk(DISKS[1]).unwrap();
    assert!(!is_listed(&fixture));
    let gone = fixture.os.volumes.extents(volume).unwrap_err();
    assert!(gone.is_not_found(), "{gone}");
}

#[test]
fn a_volume_goes_while_one_of_its_disks_is_offline() {
    let (fixture, volume) = settled();
    // The provider has not looked since the disks became dynamic.
    let query = Query::all("MSFT_Disk", &[]).with("Number", Value::uint32(2));
    let disk = &fixture.query(&query)[0].path;
    assert_eq!(fixture.call(disk, "Offline", &Arguments::none()).code, 0);
    assert!(fixture.os.volumes.extents(volume).is_err());
    assert_eq!(fixture.query(&query), []);
}

#[test]
fn the_provider_knows_neither_the_disks_nor_what_lies_on_them() {
    let (fixture, volume) = settled();
    fixture.rescan();
    for (class, number) in [("MSFT_Disk", "Number"), ("MSFT_Partition", "DiskNumber")] {
        for disk in [1, 2] {
            let query = Query::all(class, &[]).with(number, Value::uint32(disk));
            assert_eq!(fixture.query(&query), [], "{class} {disk}");
        }
    }
    let query = Query::all("MSFT_Volume", &["UniqueId"]);
    let name = Value::text(volume.to_string());
    assert_eq!(fixture.query(&query.with("UniqueId", name)), []);
    let numbers = fixture.os.disks.list().unwrap();
    assert_eq!(numbers, [0, 1, 2].map(DiskNumber));
}

#[test]
fn an_mbr_disk_keeps_its_style_and_becomes_one_partition() {
    let fixture = StorageFixture::new();
    for (signature, name) in (7..).zip(DISKS) {
        attach(&fixture, name, &Content::blank(LENGTH));
        let hardware = fixture.hardware();
        hardware.write_disk(name, 440, &[signature]).unwrap();
        hardware.write_disk(name, 510, &[0x55, 0xAA]).unwrap();
    }
    fixture.rescan();
    let style = || fixture.os.disks.layout(DiskNumber(1)).unwrap().style;
    let before = style();
    assert_eq!(before, PartitionStyle::Mbr { signature: 7 });
    let volume = fixture.hardware().span_disks(&DISKS).unwrap();
    let _ = fixture.os.volumes.list();
    fixture.let_pass(Duration::from_secs(1));
    assert_eq!(style(), before);
    let parts = [1, 2].map(|disk| extent(disk, MIB, LENGTH - 3 * MIB));
    assert_eq!(fixture.os.volumes.extents(volume).unwrap(), parts);
    fixture.rescan();
    assert_eq!(fixture.query(&Query::all("MSFT_Disk", &[])).len(), 1);
}

/// As a simple volume that was extended by what was free behind another one.
#[test]
fn an_operator_may_lay_a_volume_on_two_parts_of_one_disk() {
    let (fixture, volume) = spanned();
    let file = fixture.folder().join("disks").join("one.toml");
    let mut spec: DiskSpec = toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let part = |part, offset| VolumeExtent {
        volume: uuid::Uuid::from_u128(9),
        part,
        of: 2,
        offset,
        length: 8 * MIB,
    };
    spec.extent = vec![part(1, 40 * MIB), part(0, 20 * MIB)];
    fs::write(&file, toml::to_string(&spec).unwrap()).unwrap();
    let other = VolumeId(uuid::Uuid::from_u128(9));
    let _ = fixture.os.volumes.list();
    fixture.let_pass(Duration::from_secs(1));
    let parts = [20, 40].map(|mib| extent(1, mib * MIB, 8 * MIB));
    assert_eq!(fixture.os.volumes.extents(other).unwrap(), parts);
    assert!(
        fixture.os.volumes.extents(volume).is_err(),
        "a part is missing"
    );
}

#[test]
fn a_node_comes_with_a_spanned_volume_and_keeps_it() {
    let spec = SpannedSpec {
        letter: 's',
        disks: 3,
        disk_bytes: LENGTH,
    };
    let fixture = StorageFixture::of(&NodeSpec::default().spanned(spec));
    let volume = fixture.os.volumes.mounted_at(&path(r"S:\")).unwrap();
    let disks = |fixture: &StorageFixture| {
        let extents = fixture.os.volumes.extents(volume).unwrap();
        extents.iter().map(|it| it.disk.0).collect::<Vec<_>>()
    };
    assert_eq!(disks(&fixture), [1, 2, 3]);
    let file = path(r"S:\file");
    fixture.files().write_file(&file, b"content").unwrap();
    let fixture = fixture.revived();
    assert_eq!(disks(&fixture), [1, 2, 3]);
    fixture.reboot().unwrap();
    assert_eq!(disks(&fixture), [1, 2, 3]);
    assert_eq!(fixture.files().read_file(&file).unwrap(), b"content");
    let memory = NodeSpec::default().spanned(spec);
    let inventory = wincsi_os_sim::Inventory::of(0);
    let memory = SimNode::in_memory(&memory, inventory, wincsi_os_sim::ClockMode::Virtual);
    let volumes = memory.unwrap().os().volumes;
    let volume = volumes.mounted_at(&path(r"S:\")).unwrap();
    assert_eq!(volumes.extents(volume).unwrap().len(), 3);
}

#[test]
fn drive_c_is_no_spanned_volume() {
    for letter in ['c', 'C', '1', '\\'] {
        let spec = SpannedSpec {
            letter,
            disks: 2,
            disk_bytes: LENGTH,
        };
        let folder = tempfile::tempdir().unwrap();
        let spec = NodeSpec::default().spanned(spec);
        let clock = wincsi_os_sim::ClockMode::Virtual;
        assert!(SimNode::create(folder.path(), &spec, clock).is_err());
    }
}

#[test]
fn a_bad_sector_is_one_of_the_volume_if_it_lies_on_a_part_of_it() {
    for (disk, offset, is_bad) in [
        ("one", 16 * MIB, true),
        ("two", 16 * MIB, false),
        ("one", MIB, false),
    ] {
        let fixture = StorageFixture::new();
        for name in DISKS {
            let spec = DiskSpec::on(Bus::Sas).arriving(Arrives::Online);
            let spec = match name == disk {
                true => spec.unreadable_at(offset, 512),
                false => spec,
            };
            let hardware = fixture.hardware();
            let content = Content::blank(LENGTH);
            hardware.attach_disk(name, &spec, &content).unwrap();
        }
        let volume = fixture.hardware().span_disks(&DISKS).unwrap();
        let _ = fixture.os.volumes.list();
        fixture.let_pass(Duration::from_secs(1));
        let found = fixture.os.volumes.file_system(volume);
        match is_bad {
            true => assert_eq!(found.unwrap_err().win32(), Some(Win32::IO_DEVICE)),
            false => assert!(found.unwrap().is_some(), "{disk} {offset}"),
        }
    }
}

#[test]
fn disks_that_cannot_be_dynamic_ones_stay_as_they_are() {
    let (fixture, _) = spanned();
    let hardware = fixture.hardware();
    attach(&fixture, "short", &Content::blank(16 * MIB));
    let large = DiskSpec::on(Bus::Sas).sectors(SectorSize::Large);
    let content = Content::blank(LENGTH);
    hardware.attach_disk("large", &large, &content).unwrap();
    attach(&fixture, "usual", &content);
    for names in [&["usual", "short"], &["usual", "large"]] {
        let error = hardware.span_disks(names).unwrap_err();
        assert!(matches!(error, HardwareError::File { .. }), "{error}");
        let mut sector = [1; 512];
        hardware.read_disk("usual", 0, &mut sector).unwrap();
        assert_eq!(sector, [0; 512], "{names:?}");
    }
    let missing = hardware.span_disks(&["usual", "missing"]).unwrap_err();
    assert!(matches!(missing, HardwareError::Missing(_)), "{missing}");
}
