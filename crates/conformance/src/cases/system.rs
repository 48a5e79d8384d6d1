//! Facts of the machine.

use formats::smbios::System;
use os::{Os, WinPath};

use super::declare;
use crate::failure::holds;
use crate::{CaseResult, Failure, NodeFixture};

declare!("system";
    the_firmware_describes_one_system,
    the_crash_dump_lies_on_disks_that_are_known,
    the_page_files_lie_on_disks_that_are_known,
    sockets_of_af_unix_can_be_made,
);

fn the_firmware_describes_one_system(fixture: &dyn NodeFixture) -> CaseResult {
    let table = fixture.os().firmware.smbios()?;
    System::parse(&table).map(drop).map_err(Failure::unexpected)
}

fn the_crash_dump_lies_on_disks_that_are_known(fixture: &dyn NodeFixture) -> CaseResult {
    let os = fixture.os();
    match os.boot.paging()?.crash_dump {
        Some(file) => lies_on_known_disks(os, &file),
        None => Ok(()),
    }
}

/// The guard has to find the way from each page file to its disks.
fn the_page_files_lie_on_disks_that_are_known(fixture: &dyn NodeFixture) -> CaseResult {
    let os = fixture.os();
    let paging = os.boot.paging()?;
    for file in paging.page_files {
        lies_on_known_disks(os, &file)?;
    }
    paging.unknown.map_or(Ok(()), |unknown| Err(unknown.into()))
}

fn lies_on_known_disks(os: &Os, file: &WinPath) -> CaseResult {
    let known = os.disks.list()?;
    let volume = os.volumes.mounted_at(&file.prefix(0))?;
    let extents = os.volumes.extents(volume)?;
    holds("the volume of the file lies somewhere", !extents.is_empty())?;
    let are_known = extents.iter().all(|extent| known.contains(&extent.disk));
    holds("it lies on disks that are listed", are_known)
}

/// Windows has them since 10.0.17063 (<https://devblogs.microsoft.com/commandline/af_unix-comes-to-windows/>), so every
/// server supported by the suite has them.
fn sockets_of_af_unix_can_be_made(fixture: &dyn NodeFixture) -> CaseResult {
    let is_available = fixture.os().afunix.is_available()?;
    holds("AF_UNIX is available", is_available)
}
