//! Partitions and filesystems beside each other, and after a disk grew.

use node::{FileSystemType, FormatOptions, NewSize, Resized};
use os::schema::{disk, partition};
use os::{Arguments, Value, Win32};

use super::storage::{Disk, GIB, MIB};
use super::{Sight, Sights, outcome_text};
use crate::NodeFixture;
use crate::cases::Play;

/// Windows Server 2025 formats ReFS from some 2 GB on, others from less; this is enough for each.
const REFS: u64 = 16 * GIB;

/// ReFS's unit of a volume's size, as two sizes of a record suggest.
const STRETCH: u64 = 64 * MIB;

pub(super) fn refs_sizes(fixture: &dyn NodeFixture) -> Sights {
    let play = Play::on(fixture);
    let (_, found) = play.raw(REFS)?;
    let api = play.node.volumes();
    let options = FormatOptions::new(FileSystemType::Refs);
    if let Err(error) = api.ensure_formatted(&found, &options, play.deadline()) {
        return Ok(vec![Sight::not_possible(format!("no ReFS here: {error}"))]);
    }
    let volumes = &fixture.os().volumes;
    let extents = volumes.extents(found.id())?;
    let partition: u64 = extents.iter().map(|extent| extent.length).sum();
    let total = volumes.space(found.id())?.total;
    let resized = api.resize(&found, NewSize::Maximum, play.deadline());
    let extended = volumes.extend(found.id(), partition);
    let refused = extended.as_ref().err().and_then(os::Error::win32);
    let is_as_assumed = matches!(resized, Ok(Resized::Unchanged { .. }))
        && total % STRETCH == 0
        && (total == partition || refused == Some(Win32::INVALID_PARAMETER));
    let resized = match resized {
        Ok(resized) => format!("{resized:?}"),
        Err(error) => error.to_string(),
    };
    let seen = format!(
        "partition {partition}, filesystem {total}, short by {}; resize to the maximum: {resized}; \
         FSCTL_EXTEND_VOLUME to {partition}: {}",
        partition.saturating_sub(total),
        outcome_text(&extended),
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// The disk of a cloud grows so while it is in use; whether a virtual disk of a file does is seen too.
pub(super) fn stale_size(fixture: &dyn NodeFixture) -> Sights {
    let (number, _) = Play::on(fixture).formatted()?;
    if let Err(error) = fixture.grow_in_place(number, 2 * GIB) {
        return Ok(vec![Sight::not_possible(format!(
            "it cannot grow in place: {error}"
        ))]);
    }
    let disk = Disk::of(fixture, number);
    let kernel = &fixture.os().disks;
    let before = kernel.length(number);
    kernel.update_properties(number)?;
    let after = kernel.length(number);
    let refreshed = disk.call(&disk::REFRESH, &Arguments::none())?;
    let partition = disk.partition()?;
    let wanted = partition.u64(partition::SIZE.name)? + GIB / 2;
    let resize = |size| {
        let size = Arguments::none().with(partition::resize::SIZE.name, Value::uint64(size));
        disk.call_on(&partition.path, &partition::RESIZE, &size)
    };
    let first = resize(wanted);
    let rescanned = disk.rescan();
    let second = resize(wanted + MIB);
    let seen = format!(
        "the kernel's length {before:?}, looked at anew {after:?}; Refresh {refreshed}; Resize to {wanted} {first}; \
         UpdateHostStorageCache {rescanned}; Resize to {} {second}",
        wanted + MIB,
    );
    Ok(vec![Sight::of(first.is_success(), seen)])
}
