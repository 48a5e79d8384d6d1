//! The filesystem that a volume gets, and gets once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::schema::volume;
use os::{Deadline, Query, Root, Value, VolumeId, Win32, WinPath};
use os_sim::{Bus, DiskSpec, Effect, Kill, Op, Rule};
use wincsi_node::{
    BlankError, FileSystemType, FormatGuard, FormatOptions, Formatted, Options, VolumeError,
};

use crate::support::{DATA, GIB, NodeFixture};

const EVERYBODY: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;BU)";

fn ntfs() -> FormatOptions {
    FormatOptions::new(FileSystemType::Ntfs)
}

fn open_to_everybody() -> FormatOptions {
    let options = ntfs().label("data").unwrap();
    options.root_dacl(EVERYBODY.parse().unwrap())
}

fn with_raw_volume() -> NodeFixture {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    fixture
}

fn ensure(fixture: &NodeFixture, options: &FormatOptions) -> Result<Formatted, VolumeError> {
    let volumes = fixture.volumes();
    volumes.ensure_formatted(fixture.volume(), options, fixture.soon())
}

/// The volume's filesystem, label and allocation unit.
fn found(fixture: &NodeFixture) -> (String, String, u32) {
    let volume = fixture.volume();
    let seen = fixture.os().volumes.file_system(volume).unwrap().unwrap();
    (seen.name, seen.label, allocation_unit(fixture, volume))
}

fn allocation_unit(fixture: &NodeFixture, volume: VolumeId) -> u32 {
    let query = Query::all(volume::CLASS.name, &[volume::ALLOCATION_UNIT_SIZE.name])
        .with(volume::UNIQUE_ID.name, Value::text(volume.to_string()));
    let rows = fixture.os().storage.query(&query, Deadline::NEVER).unwrap();
    rows[0].u32(volume::ALLOCATION_UNIT_SIZE.name).unwrap()
}

fn root(fixture: &NodeFixture) -> WinPath {
    WinPath::of_root(Root::Volume(fixture.volume()))
}

fn root_dacl(fixture: &NodeFixture) -> String {
    fixture.os().files.dacl(&root(fixture)).unwrap()
}

fn changes(trace: &[Op]) -> Vec<&str> {
    let changing = ["Format", "SetFileSystemLabel", "SetSecurityInfo"];
    let made = trace.iter().map(|op| op.operation);
    made.filter(|name| changing.iter().any(|change| name.ends_with(change)))
        .collect()
}

#[test]
fn a_volume_gets_the_filesystem_unit_and_label_that_are_asked_for() {
    for (file_system, bytes) in [
        (FileSystemType::Ntfs, 512),
        (FileSystemType::Ntfs, 64 << 10),
        (FileSystemType::Ntfs, 2 << 20),
        (FileSystemType::Refs, 4 << 10),
        (FileSystemType::Refs, 64 << 10),
    ] {
        let fixture = with_raw_volume();
        let options = FormatOptions::new(file_system).allocation_unit(bytes);
        let options = options.unwrap().label("sql data").unwrap();
        assert_eq!(ensure(&fixture, &options), Ok(Formatted::Now));
        let wanted = (file_system.name().to_owned(), "sql data".to_owned(), bytes);
        assert_eq!(found(&fixture), wanted);
    }
}

/// Beyond 2^32 clusters NTFS cannot count; a disk of 4 KiB sectors has no clusters of 512 bytes.
#[test]
fn what_the_volume_cannot_have_is_refused_by_windows_with_its_code() {
    let options = ntfs().allocation_unit(512).unwrap();
    let sectors = DiskSpec::on(Bus::Sas).serial(DATA);
    for (spec, length, code) in [
        (sectors.clone(), 3 << 40, "code=43003"),
        (
            sectors.sectors(os_sim::SectorSize::Large),
            GIB,
            "code=43005",
        ),
    ] {
        let fixture = NodeFixture::new();
        fixture.plug(&spec, DATA, length);
        fixture.partition();
        let error = ensure(&fixture, &options).unwrap_err().to_string();
        assert!(error.contains(code), "{error}");
    }
}

#[test]
fn a_volume_that_has_the_filesystem_is_left_as_it_is() {
    let fixture = NodeFixture::with_mounted_volume();
    let options = open_to_everybody().allocation_unit(64 << 10).unwrap();
    let before = (found(&fixture), root_dacl(&fixture));
    let trace = fixture.trace(|| assert_eq!(ensure(&fixture, &options), Ok(Formatted::Before)));
    assert_eq!(changes(&trace), [""; 0]);
    assert_eq!((found(&fixture), root_dacl(&fixture)), before);
    assert_eq!(fixture.precious(), "precious");
}

/// Guards: P72
#[test]
fn a_volume_with_another_filesystem_is_refused_by_both_names() {
    let fixture = NodeFixture::with_mounted_volume();
    let error = ensure(&fixture, &FormatOptions::new(FileSystemType::Refs)).unwrap_err();
    let volume = fixture.volume();
    assert_eq!(
        error.to_string(),
        format!("volume {volume} is not formatted with ReFS: it has the filesystem NTFS")
    );
    assert_eq!(fixture.precious(), "precious");
}

#[test]
fn the_root_of_a_new_volume_gets_its_access_control_list_before_its_label() {
    let fixture = with_raw_volume();
    let options = open_to_everybody();
    let trace = fixture.trace(|| assert_eq!(ensure(&fixture, &options), Ok(Formatted::Now)));
    assert_eq!(
        changes(&trace),
        [
            "MSFT_Volume.Format",
            "SetSecurityInfo",
            "MSFT_Volume.SetFileSystemLabel"
        ]
    );
    assert_eq!(root_dacl(&fixture), EVERYBODY);
    assert_eq!(found(&fixture).1, "data");
}

#[test]
fn a_list_that_was_changed_since_is_its_owners() {
    let fixture = with_raw_volume();
    ensure(&fixture, &open_to_everybody()).unwrap();
    let own = "D:P(A;OICI;FA;;;BA)";
    let files = &fixture.os().files;
    files
        .set_dacl(&root(&fixture), &own.parse().unwrap())
        .unwrap();
    assert_eq!(
        ensure(&fixture, &open_to_everybody()),
        Ok(Formatted::Before)
    );
    assert_eq!(root_dacl(&fixture), own);
}

#[test]
fn a_volume_that_was_left_without_its_list_gets_it_from_the_next_call() {
    for effect in [
        Effect::fail(Win32::ACCESS_DENIED),
        Effect::Kill(Kill::Before),
        Effect::Kill(Kill::After),
    ] {
        let fixture = with_raw_volume();
        let dies = matches!(effect, Effect::Kill(_));
        let rule = Rule::on("SetSecurityInfo", effect).times(1);
        fixture.fault(rule);
        let error = ensure(&fixture, &open_to_everybody())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("set the access control list of volume"),
            "{error}"
        );
        let fixture = if dies { fixture.reopened() } else { fixture };
        assert_eq!(found(&fixture).1, FormatOptions::UNFINISHED);
        assert_eq!(ensure(&fixture, &open_to_everybody()), Ok(Formatted::Now));
        assert_eq!(
            (root_dacl(&fixture).as_str(), found(&fixture).1.as_str()),
            (EVERYBODY, "data")
        );
    }
}

/// The driver's parameters may have changed since the call that died.
#[test]
fn an_unfinished_volume_is_finished_without_a_list_too() {
    let fixture = with_raw_volume();
    fixture.fail("SetSecurityInfo", Win32::ACCESS_DENIED);
    ensure(&fixture, &open_to_everybody()).unwrap_err();
    assert_eq!(ensure(&fixture, &ntfs()), Ok(Formatted::Now));
    assert_eq!(found(&fixture).1, "");
    assert_eq!(ensure(&fixture, &ntfs()), Ok(Formatted::Before));
}

#[test]
fn a_blank_partition_of_another_system_refuses_a_strict_node_alone() {
    for (kind, name) in [
        (0x82, "0x82 (Linux swap)"),
        (0x83, "0x83 (Linux)"),
        (0x8E, "0x8E (Linux LVM)"),
        (0xFD, "0xFD (Linux RAID)"),
        (0x77, "0x77"),
    ] {
        let fixture = NodeFixture::with_mbr_partition(kind, Options::default());
        let error = ensure(&fixture, &ntfs()).unwrap_err();
        let text = format!("is not overwritten: its partition has the MBR type {name}");
        assert!(
            matches!(error, VolumeError::Blank(BlankError::Foreign { .. })),
            "{error:?}"
        );
        assert!(error.to_string().ends_with(&text), "{error}");
        let again = fixture.try_format();
        assert_eq!(again, Err(error));
        let mut options = Options::default();
        options.format_guard = FormatGuard::Signatures;
        let lenient = NodeFixture::with_mbr_partition(kind, options);
        assert_eq!(ensure(&lenient, &ntfs()), Ok(Formatted::Now));
    }
    let own = NodeFixture::with_mbr_partition(0x07, Options::default());
    assert_eq!(ensure(&own, &ntfs()), Ok(Formatted::Now));
}

/// `FSCTL_EXTEND_VOLUME` and `MSFT_Partition.Resize` have NTFS and ReFS, and no FAT.
#[test]
fn refs_grows_with_its_disk() {
    let fixture = with_raw_volume();
    ensure(&fixture, &FormatOptions::new(FileSystemType::Refs)).unwrap();
    fixture.grow(DATA, 8 * GIB);
    let volumes = fixture.volumes();
    let maximum = wincsi_node::NewSize::Maximum;
    volumes
        .resize(fixture.volume(), maximum, fixture.soon())
        .unwrap();
    let total = volumes
        .stats(fixture.volume(), fixture.soon())
        .unwrap()
        .total;
    assert!(total > 7 * GIB, "{total}");
}
