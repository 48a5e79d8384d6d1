//! The contract of [`os::Disks`], as far as it shows without changing a disk.

use std::collections::BTreeSet;

use formats::device_id::DeviceIdPage;
use os::{DiskAccess, DiskNumber, Disks, DriveLayout, Extent, Facility, PartitionStyle, Win32};
use uuid::Uuid;

use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::{CaseResult, Failure, Fixture};

declare!("disks", &[Facility::Disks, Facility::Volumes];
    disks_are_listed_ascending_and_once,
    the_disk_of_a_volume_is_listed,
    a_volume_is_a_partition_of_its_disk,
    the_parts_of_volumes_lie_on_disks_that_are_listed_and_apart,
    partitions_lie_within_the_disk_and_apart,
    partitions_are_numbered_from_one,
    a_disk_is_so_many_whole_sectors_long,
    a_disk_with_a_table_has_a_boot_signature,
    a_read_has_to_be_aligned,
    a_read_beyond_the_end_fails,
    a_device_id_page_reads,
    a_device_says_what_it_hangs_on,
    the_disk_of_a_used_volume_is_online,
    the_device_of_a_used_volume_takes_writes,
    looking_anew_changes_nothing_by_itself,
    an_unknown_disk_answers_nothing,
);

/// The form of a disk's device interface path; no disk has it.
const NO_DISK: &str =
    r"\\?\scsi#disk&ven_none&prod_none#5&0&0&000000#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}";

/// The disk of the fixture's volume, and the place on it.
fn ours(fixture: &Fixture) -> CaseResult<Extent> {
    let volume = fixture.control().volume();
    let extents = fixture.volumes().extents(volume)?;
    match extents.as_slice() {
        [extent] => Ok(*extent),
        _ => Err(Failure::Wrong(format!("no single extent: {extents:?}"))),
    }
}

fn our_layout(fixture: &Fixture) -> CaseResult<DriveLayout> {
    Ok(fixture.disks().layout(ours(fixture)?.disk)?)
}

fn disks_are_listed_ascending_and_once(fixture: &Fixture) -> CaseResult {
    let listed = fixture.disks().list()?;
    // An empty list would hold, and count as executed.
    holds("there is a disk", !listed.is_empty())?;
    holds(
        "each number is larger than the one before",
        listed.is_sorted_by(|left, right| left < right),
    )
}

fn the_disk_of_a_volume_is_listed(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let listed = fixture.disks().list()?;
    holds("it is listed", listed.contains(&disk))
}

fn a_volume_is_a_partition_of_its_disk(fixture: &Fixture) -> CaseResult {
    let extent = ours(fixture)?;
    let layout = our_layout(fixture)?;
    let volume = fixture.control().volume().0;
    let mut partitions = layout.partitions.iter();
    let found = partitions.find(|it| it.offset == extent.offset && it.length == extent.length);
    let found = found.ok_or_else(|| Failure::Wrong(format!("not in {layout:?}")))?;
    match layout.style {
        // The mount manager takes the GUID of the partition.
        PartitionStyle::Gpt { .. } => same("GUID", &found.id, &volume),
        _ => same("GUID", &found.id, &Uuid::nil()),
    }
}

/// A volume of several parts names each of its disks.
fn the_parts_of_volumes_lie_on_disks_that_are_listed_and_apart(fixture: &Fixture) -> CaseResult {
    let (disks, volumes) = (fixture.disks(), fixture.volumes());
    ours(fixture)?;
    let listed = disks.list()?;
    // A volume on something else than a disk does not say.
    let extents = |volume| volumes.extents(volume).unwrap_or_default();
    let mut parts: Vec<_> = volumes.list()?.into_iter().flat_map(extents).collect();
    parts.sort_by_key(|part| (part.disk, part.offset));
    for part in &parts {
        holds("its disk is listed", listed.contains(&part.disk))?;
        let end = part.offset + part.length;
        holds("it ends with its disk", end <= disks.length(part.disk)?)?;
    }
    let apart = parts
        .is_sorted_by(|one, next| one.disk != next.disk || one.offset + one.length <= next.offset);
    holds("no part is in another", apart)?;
    match fixture.control().spanned() {
        Some(volume) => {
            let on: BTreeSet<_> = extents(volume).iter().map(|it| it.disk).collect();
            holds("it lies on several disks", on.len() > 1)
        }
        None => Ok(()),
    }
}

/// A table's order need not be the disk's.
fn partitions_lie_within_the_disk_and_apart(fixture: &Fixture) -> CaseResult {
    let length = fixture.disks().length(ours(fixture)?.disk)?;
    let mut partitions = our_layout(fixture)?.partitions;
    partitions.sort_by_key(|partition| partition.offset);
    let mut free = 0;
    for partition in partitions {
        holds("it begins behind the one before", partition.offset >= free)?;
        free = partition.end().unwrap_or(u64::MAX);
    }
    holds("the last ends on the disk", free <= length)
}

fn partitions_are_numbered_from_one(fixture: &Fixture) -> CaseResult {
    let layout = our_layout(fixture)?;
    let mut numbers: Vec<_> = layout.partitions.iter().map(|it| it.number.0).collect();
    let is_unique = {
        numbers.sort_unstable();
        numbers.is_sorted_by(|left, right| left < right)
    };
    holds("each number is there once", is_unique)?;
    holds("none is zero", numbers.first() != Some(&0))
}

fn a_disk_is_so_many_whole_sectors_long(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let sector = fixture.disks().sector_size(disk)?;
    holds(
        "a sector has 512 or 4096 bytes",
        [512, 4096].contains(&sector),
    )?;
    let length = fixture.disks().length(disk)?;
    same("rest", &(length % u64::from(sector)), &0)
}

fn a_disk_with_a_table_has_a_boot_signature(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let mut sector = sector(fixture.disks(), disk)?;
    fixture.disks().read(disk, 0, &mut sector)?;
    same("signature", &sector.get(510..512), &Some(&[0x55, 0xAA][..]))
}

fn a_read_has_to_be_aligned(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let mut sector = sector(fixture.disks(), disk)?;
    let skewed = fixture.disks().read(disk, 1, &mut sector);
    refused("read at 1", skewed, Win32::INVALID_PARAMETER)?;
    let short = fixture.disks().read(disk, 0, &mut sector[..100]);
    refused("read of 100 bytes", short, Win32::INVALID_PARAMETER)
}

fn a_read_beyond_the_end_fails(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let length = fixture.disks().length(disk)?;
    let mut sector = sector(fixture.disks(), disk)?;
    let beyond = fixture.disks().read(disk, length, &mut sector);
    holds("it fails", beyond.is_err())
}

fn sector(disks: &dyn Disks, disk: DiskNumber) -> CaseResult<Vec<u8>> {
    let size = usize::try_from(disks.sector_size(disk)?);
    let size = size.map_err(Failure::unexpected)?;
    Ok(vec![0; size])
}

fn a_device_id_page_reads(fixture: &Fixture) -> CaseResult {
    let page = fixture.disks().device_id_page(ours(fixture)?.disk)?;
    let read = DeviceIdPage::parse(&page);
    read.map(drop).map_err(Failure::unexpected)
}

fn a_device_says_what_it_hangs_on(fixture: &Fixture) -> CaseResult {
    let descriptor = fixture.disks().descriptor(ours(fixture)?.disk)?;
    holds("its bus is known", descriptor.bus.0 != 0)
}

fn the_disk_of_a_used_volume_is_online(fixture: &Fixture) -> CaseResult {
    let attributes = fixture.disks().attributes(ours(fixture)?.disk)?;
    holds("it is online", !attributes.offline)?;
    holds("it is writable", !attributes.read_only)
}

fn the_device_of_a_used_volume_takes_writes(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let is_protected = fixture.disks().is_write_protected(disk)?;
    holds("it is not write-protected", !is_protected)
}

fn looking_anew_changes_nothing_by_itself(fixture: &Fixture) -> CaseResult {
    let disk = ours(fixture)?.disk;
    let before = (our_layout(fixture)?, fixture.disks().length(disk)?);
    fixture.disks().update_properties(disk)?;
    let after = (our_layout(fixture)?, fixture.disks().length(disk)?);
    same("layout and length", &after, &before)
}

fn an_unknown_disk_answers_nothing(fixture: &Fixture) -> CaseResult {
    let unknown = DiskNumber(4_000);
    let disks = fixture.disks();
    let endings = [
        disks.attributes(unknown).err(),
        disks.descriptor(unknown).err(),
        disks.device_id_page(unknown).err(),
        disks.is_write_protected(unknown).err(),
        disks.facts(NO_DISK).err(),
        disks.layout(unknown).err(),
        disks.length(unknown).err(),
        disks.number_of(NO_DISK).err(),
        disks.read(unknown, 0, &mut [0; 512]).err(),
        disks.sector_size(unknown).err(),
        disks.set_access(unknown, DiskAccess::ReadWrite).err(),
        disks.update_properties(unknown).err(),
    ];
    let all_missing = endings
        .iter()
        .all(|ending| ending.as_ref().is_some_and(os::Error::is_not_found));
    match all_missing {
        true => Ok(()),
        false => Err(Failure::Wrong(format!("not all missing: {endings:?}"))),
    }
}
