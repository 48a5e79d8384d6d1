//! The machine's disks, and a new one, as they describe themselves.

use std::fmt::Write as _;

use formats::device_id::DeviceIdPage;
use formats::device_path;
use formats::location::Location;
use os::schema::{Class, disk, partition};
use os::{BusType, DiskNumber, Instance, PartitionStyle, Query};

use super::storage::Disk;
use super::{Sight, Sights, deadline, outcome_text};
use crate::{CaseResult, NodeFixture};

/// `PARTITION_STYLE_RAW` and no entry, as `DRIVE_LAYOUT_INFORMATION_EX` begins.
const RAW_AND_EMPTY: [u8; 8] = [2, 0, 0, 0, 0, 0, 0, 0];

/// The bytes, because a parser may have changed them.
pub(super) fn raw_layout(fixture: &dyn NodeFixture) -> Sights {
    let disk = Disk::plugged(fixture)?;
    let layout = fixture.os().disks.layout(disk.number)?;
    let read = layout.style == PartitionStyle::Raw && layout.partitions.is_empty();
    let seen = format!("{:?}, {} used", layout.style, layout.partitions.len());
    let sight = match fixture.layout_bytes(disk.number) {
        Ok(bytes) => {
            let is_as_assumed = read && bytes.starts_with(&RAW_AND_EMPTY);
            let seen = format!("{seen}; {} bytes: {}", bytes.len(), hex(&bytes));
            Sight::of(is_as_assumed, seen)
        }
        Err(error) => Sight::of(read, format!("{seen}; its bytes are not shown: {error}")),
    };
    Ok(vec![sight])
}

pub(super) fn page_files(fixture: &dyn NodeFixture) -> Sights {
    let sight = match fixture.os().boot.paging() {
        Ok(paging) => {
            let dump = paging.crash_dump.map(|path| path.to_string());
            let files = paging.page_files.iter().map(ToString::to_string);
            let files: Vec<_> = files.collect();
            let unknown = paging.unknown.map(|why| why.to_string());
            let seen = format!("page files {files:?}, crash dump {dump:?}, unknown {unknown:?}");
            Sight::of(unknown.is_none(), seen)
        }
        Err(error) => Sight::of(false, error),
    };
    Ok(vec![sight])
}

/// Of every disk of the machine. Nothing is opened for reading or writing.
pub(super) fn disk_paths(fixture: &dyn NodeFixture) -> Sights {
    let os = fixture.os();
    let select = &[disk::NUMBER.name, disk::PATH.name];
    let disks = os
        .storage
        .query(&Query::all(disk::CLASS.name, select), deadline(fixture))?;
    let mut is_as_assumed = true;
    let mut seen = String::new();
    for row in disks {
        let path = row.text(disk::PATH.name)?;
        let number = row.u32_or_null(disk::NUMBER.name)?.map(DiskNumber);
        let opened = os.disks.number_of(path);
        is_as_assumed &= number.is_some() && opened.as_ref().ok() == number.as_ref();
        let opens = opened
            .as_ref()
            .map_or_else(|_| outcome_text(&opened), ToString::to_string);
        let _ = write!(seen, "Number {number:?}, {path} opens {opens}; ");
    }
    let numberless = numberless_partitions(fixture)?;
    let _ = write!(seen, "{numberless} partitions without DiskNumber");
    Ok(vec![Sight::of(is_as_assumed && numberless == 0, seen)])
}

fn numberless_partitions(fixture: &dyn NodeFixture) -> CaseResult<usize> {
    let select = &[partition::DISK_NUMBER.name];
    let query = Query::all(partition::CLASS.name, select);
    let rows = fixture.os().storage.query(&query, deadline(fixture))?;
    let is_null = |row: &&Instance| {
        let number = row.value(partition::DISK_NUMBER.name);
        number.is_ok_and(os::Value::is_null)
    };
    Ok(rows.iter().filter(is_null).count())
}

/// One observation for each disk of the machine, and for a new one.
pub(super) fn disk_identity(fixture: &dyn NodeFixture) -> Sights {
    let _new = Disk::plugged(fixture)?;
    let partitions = rows(fixture, &partition::CLASS)?;
    let disks = rows(fixture, &disk::CLASS)?;
    disks
        .iter()
        .map(|row| identity(fixture, row, &partitions))
        .collect()
}

/// All objects of a class, with all their properties.
fn rows(fixture: &dyn NodeFixture, class: &'static Class) -> CaseResult<Vec<Instance>> {
    let select: Vec<_> = class.all_properties().map(|row| row.name).collect();
    let query = Query::all(class.name, &select);
    Ok(fixture.os().storage.query(&query, deadline(fixture))?)
}

fn identity(
    fixture: &dyn NodeFixture,
    row: &Instance,
    partitions: &[Instance],
) -> CaseResult<Sight> {
    let properties = &row.properties;
    let Some(number) = row.u32_or_null(disk::NUMBER.name)?.map(DiskNumber) else {
        return Ok(Sight::of(
            false,
            format!("a disk without a Number: {properties:?}"),
        ));
    };
    let disks = &fixture.os().disks;
    let page = disks.device_id_page(number);
    let parsed = page.as_ref().ok().map(|page| DeviceIdPage::parse(page));
    let location = row.text_or_null(disk::LOCATION.name)?.map(Location::parse);
    let namespaces = device_path::namespaces(row.text(disk::PATH.name)?);
    let is_nvme = row.u32_or_null(disk::BUS_TYPE.name)? == Some(BusType::NVME.0.into());
    let is_as_assumed = matches!(parsed, Some(Ok(_)))
        && matches!(location, Some(Ok(_)))
        && (!is_nvme || !namespaces.is_empty());
    let page = page.map_or_else(|error| outcome_text::<()>(&Err(error)), |page| hex(&page));
    let address = disks.scsi_address(number);
    let descriptor = disks.descriptor(number);
    let state = disks.attributes(number);
    let is_protected = disks.is_write_protected(number);
    let of_it = partitions.iter().filter(|partition| {
        let disk = partition.u32_or_null(partition::DISK_NUMBER.name);
        disk.is_ok_and(|disk| disk == Some(number.0))
    });
    let of_it: Vec<_> = of_it.map(|partition| &partition.properties).collect();
    let seen = format!(
        "page 0x83 {page} reads as {parsed:?}; namespaces {namespaces:?}; address {address:?}; \
         {descriptor:?}; {state:?}; write-protected {is_protected:?}; {properties:?}; partitions {of_it:?}"
    );
    Ok(Sight::of(is_as_assumed, seen))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
