//! Disks never overwritten. Only the suite's own disks are written to, or tried.

use node::api::Condition;
use os::schema::disk;
use os::{Deadline, DiskNumber, Query};

use super::{GIB, Play, declare, image, write_image};
use crate::failure::{holds, refused_as, same};
use crate::{CaseResult, Failure, NodeFixture};

declare!("guard";
    an_ext4_filesystem_on_the_whole_disk_is_kept,
    an_xfs_filesystem_on_the_whole_disk_is_kept,
    a_luks_container_on_the_whole_disk_is_kept,
    a_filesystem_in_a_partition_is_kept,
    a_formatted_volume_is_not_formatted_again,
    the_disk_that_windows_starts_from_is_known_as_such,
);

fn an_ext4_filesystem_on_the_whole_disk_is_kept(fixture: &dyn NodeFixture) -> CaseResult {
    is_kept(fixture, "ext4")
}

fn an_xfs_filesystem_on_the_whole_disk_is_kept(fixture: &dyn NodeFixture) -> CaseResult {
    is_kept(fixture, "xfs")
}

fn a_luks_container_on_the_whole_disk_is_kept(fixture: &dyn NodeFixture) -> CaseResult {
    is_kept(fixture, "luks2")
}

/// To Windows such a disk is raw: initialising it would destroy its content
/// (kubernetes/kubernetes#102737).
fn is_kept(fixture: &dyn NodeFixture, name: &str) -> CaseResult {
    let play = Play::on(fixture);
    let disk = fixture.plug(GIB)?;
    write_image(fixture, disk, 0, &image(name)?.resized(GIB))?;
    play.node.disks().rescan(play.deadline())?;
    let before = beginning(fixture, disk, 0)?;
    let found = play.found(disk)?;
    let partitioned = play.node.disks().partition(&found, play.deadline());
    refused_as("partition", partitioned, Condition::NotBlank)?;
    holds(
        "nothing was written",
        beginning(fixture, disk, 0)? == before,
    )
}

/// The volume is RAW to Windows, so only its bytes show that it is in use.
fn a_filesystem_in_a_partition_is_kept(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let disk = fixture.plug(GIB)?;
    play.partition(disk)?;
    let volumes = play.node.volumes();
    let volume = play.volume(disk)?;
    let extents = fixture.os().volumes.extents(volume.id())?;
    let [extent] = extents.as_slice() else {
        return Err(Failure::unexpected(format!(
            "no single extent: {extents:?}"
        )));
    };
    same("disk", &extent.disk, &disk)?;
    write_image(fixture, disk, extent.offset, &image("ext4")?)?;
    let before = beginning(fixture, disk, extent.offset)?;
    let formatted = volumes.format(&volume, play.deadline());
    refused_as("format", formatted, Condition::NotBlank)?;
    let after = beginning(fixture, disk, extent.offset)?;
    holds("nothing was written", after == before)
}

fn a_formatted_volume_is_not_formatted_again(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (disk, _) = play.formatted()?;
    let volume = play.volume(disk)?;
    let again = play.node.volumes().format(&volume, play.deadline());
    refused_as("format", again, Condition::NotBlank)
}

/// The guard goes by these flags. They are looked at, and nothing is tried on such a disk.
fn the_disk_that_windows_starts_from_is_known_as_such(fixture: &dyn NodeFixture) -> CaseResult {
    let select = [disk::NUMBER.name, disk::IS_BOOT.name, disk::IS_SYSTEM.name];
    let query = Query::all(disk::CLASS.name, &select);
    let found = fixture.os().storage.query(&query, Deadline::NEVER)?;
    let mut guarded = 0;
    for disk in found {
        let is_boot = disk.bool(disk::IS_BOOT.name).map_err(Failure::unexpected)?;
        let is_system = disk
            .bool(disk::IS_SYSTEM.name)
            .map_err(Failure::unexpected)?;
        guarded += usize::from(is_boot || is_system);
    }
    holds("a disk has one of the flags", guarded > 0)
}

/// The first mebibyte from an offset on.
fn beginning(fixture: &dyn NodeFixture, disk: DiskNumber, offset: u64) -> CaseResult<Vec<u8>> {
    let mut bytes = vec![0; 1 << 20];
    fixture.os().disks.read(disk, offset, &mut bytes)?;
    Ok(bytes)
}
