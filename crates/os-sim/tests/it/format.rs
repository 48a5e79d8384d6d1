//! `MSFT_Volume.Format`: the effects of its parameters, and its refusals.

use os::{Arguments, Query, Value, VolumeId, Win32};
use wincsi_os_sim::{Bus, DiskSpec};

use crate::support::storage_fixture::{GIB, StorageFixture, ntfs, one};

fn refs() -> Arguments {
    ntfs().with("FileSystem", Value::text("ReFS"))
}

fn yes(arguments: Arguments, name: &'static str) -> Arguments {
    arguments.with(name, Value::Bool(true))
}

fn unit(arguments: Arguments, bytes: u32) -> Arguments {
    arguments.with("AllocationUnitSize", Value::uint32(bytes))
}

fn labelled(arguments: Arguments, label: &str) -> Arguments {
    arguments.with("FileSystemLabel", Value::text(label))
}

#[test]
fn parameters_that_do_not_suit_each_other_are_refused_and_nothing_is_lost() {
    let (fixture, volume) = StorageFixture::formatted();
    let path = one(fixture.volumes()).path;
    for (arguments, code) in [
        (ntfs().with("FileSystem", Value::text("FAT32")), 43001),
        (unit(ntfs(), 256), 43000),
        (unit(ntfs(), 4 << 20), 43000),
        (unit(refs(), 8192), 43000),
        (yes(unit(ntfs(), 8192), "Compress"), 43000),
        (yes(refs(), "Compress"), 5),
        (yes(refs(), "ShortFileNameSupport"), 5),
        (yes(refs(), "UseLargeFRS"), 5),
        (yes(ntfs(), "SetIntegrityStreams"), 5),
        (labelled(ntfs(), &"x".repeat(33)), 5),
    ] {
        assert_eq!(
            fixture.call(&path, "Format", &arguments).code,
            code,
            "{arguments:?}"
        );
        let found = fixture.os.volumes.file_system(volume).unwrap();
        assert_eq!(found.unwrap().name, "NTFS");
    }
}

#[test]
fn parameters_that_suit_each_other_are_taken() {
    let (fixture, _) = StorageFixture::formatted();
    let path = one(fixture.volumes()).path;
    for arguments in [
        yes(unit(ntfs(), 4096), "Compress"),
        yes(ntfs(), "UseLargeFRS"),
        yes(ntfs(), "DisableHeatGathering"),
        ntfs().with("ShortFileNameSupport", Value::Bool(false)),
        yes(unit(refs(), 65536), "SetIntegrityStreams"),
        labelled(ntfs(), &"x".repeat(32)),
    ] {
        assert_eq!(
            fixture.call(&path, "Format", &arguments).code,
            0,
            "{arguments:?}"
        );
    }
}

#[test]
fn the_sizes_of_clusters_depend_on_filesystem_and_sector() {
    let sizes = |spec: &DiskSpec, name: &str| {
        let fixture = StorageFixture::partitioned(spec);
        fixture.volume();
        let path = one(fixture.volumes()).path;
        let of = Arguments::none().with("FileSystem", Value::text(name));
        let outcome = fixture.call(&path, "GetSupportedClusterSizes", &of);
        match outcome.out.get("SupportedClusterSizes") {
            Some(Value::Array(sizes)) => sizes.clone(),
            other => unreachable!("{other:?}"),
        }
    };
    let powers = |from: u32| (from..=21).map(|power| Value::uint32(1 << power));
    let disk = DiskSpec::on(Bus::Sas).lun(1);
    assert_eq!(sizes(&disk, "NTFS"), powers(9).collect::<Vec<_>>());
    assert_eq!(sizes(&disk, "ReFS"), [4096, 65536].map(Value::uint32));
    let native = disk.sectors(wincsi_os_sim::SectorSize::Large);
    assert_eq!(sizes(&native, "NTFS"), powers(12).collect::<Vec<_>>());
}

#[test]
fn a_volume_without_a_filesystem_takes_no_label() {
    let fixture = StorageFixture::partitioned(&DiskSpec::on(Bus::Sas).lun(1));
    fixture.volume();
    let path = one(fixture.volumes()).path;
    let label = labelled(Arguments::none(), "data");
    assert_eq!(fixture.call(&path, "SetFileSystemLabel", &label).code, 4);
}

/// The EFI system partition of the system's disk is FAT32.
#[test]
fn fat_is_not_resized() {
    let fixture = StorageFixture::new();
    let layout = fixture.os.disks.layout(os::DiskNumber(0)).unwrap();
    let mut partitions = layout.partitions.iter();
    let efi = partitions.find(|it| it.kind == os::PartitionEntry::EFI_SYSTEM);
    let efi = efi.unwrap();
    let volume = VolumeId(efi.id);
    let found = fixture.os.volumes.file_system(volume).unwrap().unwrap();
    assert_eq!(found.name, "FAT32");
    let grown = fixture.os.volumes.extend(volume, efi.length);
    assert_eq!(grown.unwrap_err().win32(), Some(Win32::INVALID_FUNCTION));
    let query = Query::all("MSFT_Partition", &["Offset"]).with("Offset", Value::uint64(efi.offset));
    let partition = one(fixture.query(&query)).path;
    let size = Arguments::none().with("Size", Value::uint64(GIB));
    assert_eq!(fixture.call(&partition, "Resize", &size).code, 42009);
}

#[test]
fn a_filesystem_is_extended_by_a_cluster_at_least() {
    let (fixture, volume) = StorageFixture::formatted();
    let total = fixture.os.volumes.space(volume).unwrap().total;
    let code = |bytes| {
        fixture
            .os
            .volumes
            .extend(volume, bytes)
            .map_err(|error| error.win32())
    };
    let refused = Err(Some(Win32::INVALID_PARAMETER));
    assert_eq!(code(total), refused);
    assert_eq!(code(total + 512), refused);
}
