//! The cases of the suite's own: a node's operations on disks, folders, shares and services made for it.

mod counts;
mod format;
mod guard;
mod identity;
mod iscsi;
mod life;
mod paths;
mod services;
mod smb;
mod sockets;
mod system;

use std::time::Duration;

use formats::fixtures::{self, SparseImage};
use node::api::NodeApi;
use node::{Criterion, DiskQuery, FoundDisk, FoundVolume, Page83};
use os::{Component, Deadline, DiskNumber, VolumeId, WinPath};

use crate::failure::same;
use crate::{CaseResult, Failure, NodeFixture};

pub(crate) use iscsi::{Initiator, NOWHERE};

/// One statement about a node that can be false.
#[derive(Clone, Copy)]
pub struct NodeCase {
    /// Its statement, behind its group: `life::a_volume_lives_from_a_raw_disk_to_an_offline_one`.
    pub name: &'static str,
    pub run: fn(&dyn NodeFixture) -> CaseResult,
}

/// All of them, by group.
pub fn all() -> impl Iterator<Item = &'static NodeCase> {
    [
        counts::CASES,
        format::CASES,
        guard::CASES,
        identity::CASES,
        iscsi::CASES,
        life::CASES,
        paths::CASES,
        services::CASES,
        smb::CASES,
        sockets::CASES,
        system::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Declares the cases of a module: each is a function with its statement as the name.
macro_rules! declare {
    ($group:literal; $($case:ident),* $(,)?) => {
        pub(super) const CASES: &[crate::cases::NodeCase] = &[
            $(crate::cases::NodeCase {
                name: concat!($group, "::", stringify!($case)),
                run: $case,
            },)*
        ];
    };
}

use declare;

const GIB: u64 = 1 << 30;

/// More than any operation takes on a slow machine, and less than a case may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// One case under way: short names for common steps.
pub(crate) struct Play<'a> {
    pub(crate) fixture: &'a dyn NodeFixture,
    pub(crate) node: &'a dyn NodeApi,
}

impl<'a> Play<'a> {
    pub(crate) fn on(fixture: &'a dyn NodeFixture) -> Self {
        Self {
            fixture,
            node: fixture.node(),
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.node.deadline(TIMEOUT)
    }

    /// A path below the case's folder.
    fn at(&self, name: &str) -> CaseResult<WinPath> {
        below(self.fixture.folder(), name)
    }

    /// A new directory below the case's folder.
    pub(crate) fn directory(&self, name: &str) -> CaseResult<WinPath> {
        let path = self.at(name)?;
        let filesystem = self.node.filesystem();
        filesystem.make_directory(&path, self.deadline())?;
        Ok(path)
    }

    /// A disk just plugged in.
    fn found(&self, disk: DiskNumber) -> CaseResult<FoundDisk> {
        found(self.node, disk, self.deadline())
    }

    fn partition(&self, disk: DiskNumber) -> CaseResult {
        let found = self.found(disk)?;
        Ok(self.node.disks().partition(&found, self.deadline())?)
    }

    /// The one volume of a disk.
    fn volume(&self, disk: DiskNumber) -> CaseResult<FoundVolume> {
        let found = self.found(disk)?;
        Ok(self.node.volumes().find_on(&found, self.deadline())?)
    }

    /// The volume of a new disk of so many bytes.
    pub(crate) fn raw(&self, length: u64) -> CaseResult<(DiskNumber, FoundVolume)> {
        let disk = self.fixture.plug(length)?;
        self.partition(disk)?;
        Ok((disk, self.volume(disk)?))
    }

    /// The volume of a new disk of a gibibyte, formatted.
    pub(crate) fn formatted(&self) -> CaseResult<(DiskNumber, FoundVolume)> {
        let (disk, volume) = self.raw(GIB)?;
        self.node.volumes().format(&volume, self.deadline())?;
        Ok((disk, volume))
    }

    /// The formatted volume of a new disk, and the new folder at which it is mounted.
    pub(crate) fn mounted(&self, name: &str) -> CaseResult<(DiskNumber, VolumeId, WinPath)> {
        let (disk, volume) = self.formatted()?;
        let folder = self.directory(name)?;
        let volumes = self.node.volumes();
        volumes.mount(&volume, &folder, self.deadline())?;
        Ok((disk, volume.id(), folder))
    }
}

/// The disk with this number now, found by its identifier, as required by operations that change disks: numbers change
/// hands.
pub(crate) fn found(
    node: &dyn NodeApi,
    disk: DiskNumber,
    deadline: Deadline,
) -> CaseResult<FoundDisk> {
    let page83 = page83(node, disk, deadline)?;
    let wanted = DiskQuery::all([Criterion::Page83(page83)]).map_err(Failure::unexpected)?;
    let found = node.disks().find(&wanted, deadline)?;
    same("disk", &found.number(), &disk)?;
    Ok(found)
}

fn page83(node: &dyn NodeApi, disk: DiskNumber, deadline: Deadline) -> CaseResult<Page83> {
    let ids = node.disks().ids(deadline)?;
    let ids = ids.get(&disk);
    let ids = ids.ok_or_else(|| Failure::unexpected(format!("disk {disk} is not listed")))?;
    Page83::parse(&ids.page83).map_err(Failure::unexpected)
}

/// The bytes of another system's medium.
fn image(name: &str) -> CaseResult<SparseImage> {
    let mut all = fixtures::all().into_iter();
    let found = all.find(|fixture| fixture.name == name);
    let found = found.ok_or_else(|| Failure::unexpected(format!("no image of {name}")))?;
    Ok(found.image)
}

/// Writes them to a disk past the node.
fn write_image(
    fixture: &dyn NodeFixture,
    disk: DiskNumber,
    offset: u64,
    image: &SparseImage,
) -> CaseResult {
    for (at, bytes) in image.runs() {
        fixture.overwrite(disk, offset + at, bytes)?;
    }
    Ok(())
}

/// A path below a folder.
pub(crate) fn below(folder: &WinPath, name: &str) -> CaseResult<WinPath> {
    let name = Component::parse(name).map_err(Failure::unexpected)?;
    Ok(folder.join(name))
}
