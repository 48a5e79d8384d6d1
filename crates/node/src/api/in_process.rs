//! The API, done by this process: each operation is [`Node`]'s own, bounded by its deadline.

mod iscsi;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use formats::location::Location;
use os::{BootId, Deadline, DiskNumber, PartitionNumber, ServiceInfo, Space, VolumeId, WinPath};
use zeroize::Zeroizing;

use super::sealed::{Sealed, Wait};
use super::{
    Cause, Disks, Error, Feature, Filesystem, Iscsi, NodeApi, Result, Smb, System, Volumes,
};
use crate::volumes::stale;
use crate::{
    Credentials, Dependents, DiskIds, DiskQuery, FormatOptions, Formatted, FoundDisk, FoundVolume,
    LinkTarget, Listing, Look, MapOutcome, MapRequest, NewSize, Node, RemotePath, Resized,
    ServiceName, ShareMapping, Unfinished, UnmapOutcome,
};

impl Sealed for Node {}

impl NodeApi for Node {
    fn deadline(&self, within: Duration) -> Deadline {
        Deadline::within(&*self.os().clock, within)
    }

    fn disks(&self) -> &dyn Disks {
        self
    }

    fn filesystem(&self) -> &dyn Filesystem {
        self
    }

    fn iscsi(&self) -> &dyn Iscsi {
        self
    }

    fn smb(&self) -> &dyn Smb {
        self
    }

    fn supports(&self, _feature: Feature) -> bool {
        true
    }

    fn system(&self) -> &dyn System {
        self
    }

    fn volumes(&self) -> &dyn Volumes {
        self
    }
}

impl Disks for Node {
    fn locations(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, Location>> {
        run(self, "list locations of", "disks", deadline, move |node| {
            node.operations().disks().locations(deadline)
        })
    }

    fn ids(&self, deadline: Deadline) -> Result<BTreeMap<DiskNumber, DiskIds>> {
        run(self, "list ids of", "disks", deadline, move |node| {
            node.operations().disks().ids(deadline)
        })
    }

    fn by_page83(&self, page83: &str, deadline: Deadline) -> Result<DiskNumber> {
        let wanted = page83.to_owned();
        run(self, "find disk", page83, deadline, move |node| {
            node.operations().disks().by_page83(&wanted, deadline)
        })
    }

    fn find(&self, wanted: &DiskQuery, deadline: Deadline) -> Result<FoundDisk> {
        let owned = wanted.clone();
        run(self, "find the disk with", wanted, deadline, move |node| {
            node.operations().disks().find(&owned, deadline)
        })
    }

    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundDisk> {
        on_path(
            self,
            "find the disk at",
            path,
            deadline,
            move |node, path| node.operations().disks().find_at(path, deadline),
        )
    }

    fn find_attached(
        &self,
        wanted: &DiskQuery,
        patience: Duration,
        deadline: Deadline,
    ) -> Result<FoundDisk> {
        let wait = Wait {
            patience: Deadline::within(&*self.os().clock, patience),
            deadline,
        };
        let look = || Disks::find(self, wanted, deadline);
        self.rescans().find(wait, look, rescan_of(self))
    }

    fn rescan(&self, deadline: Deadline) -> Result<()> {
        self.rescans().rescan(deadline, rescan_of(self))
    }

    fn partition(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        let found = disk.clone();
        run(
            self,
            "partition disk",
            disk.number(),
            deadline,
            move |node| node.operations().disks().partition(&found, deadline),
        )
    }

    fn bring_online(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        let found = disk.clone();
        run(self, "online disk", disk.number(), deadline, move |node| {
            node.operations().disks().bring_online(&found, deadline)
        })
    }

    fn bring_online_read_only(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        let found = disk.clone();
        let operation = "online disk read-only";
        run(self, operation, disk.number(), deadline, move |node| {
            let disks = node.operations().disks();
            disks.bring_online_read_only(&found, deadline)
        })
    }

    fn size(&self, disk: DiskNumber, deadline: Deadline) -> Result<u64> {
        run(self, "look at disk", disk, deadline, move |node| {
            node.operations().disks().size(disk, deadline)
        })
    }

    fn is_online(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool> {
        run(self, "look at disk", disk, deadline, move |node| {
            node.operations().disks().is_online(disk, deadline)
        })
    }

    fn is_read_only(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool> {
        run(self, "look at disk", disk, deadline, move |node| {
            node.operations().disks().is_read_only(disk, deadline)
        })
    }

    fn is_write_protected(&self, disk: DiskNumber, deadline: Deadline) -> Result<bool> {
        run(self, "look at disk", disk, deadline, move |node| {
            let disks = node.operations().disks();
            disks.is_write_protected(disk, deadline)
        })
    }

    fn take_offline(&self, disk: &FoundDisk, deadline: Deadline) -> Result<()> {
        let found = disk.clone();
        run(self, "offline disk", disk.number(), deadline, move |node| {
            node.operations().disks().take_offline(&found, deadline)
        })
    }
}

impl Filesystem for Node {
    fn path_exists(&self, path: &WinPath, deadline: Deadline) -> Result<bool> {
        on_path(self, "look at", path, deadline, move |node, path| {
            node.operations().filesystem().path_exists(path, deadline)
        })
    }

    fn make_directory(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        on_path(self, "mkdir", path, deadline, move |node, path| match node
            .operations()
            .filesystem()
            .make_directory(path, deadline)
        {
            Err(_) if matches!(stale::gone(node.os(), path), Ok(Some(_))) => Ok(()),
            made => made,
        })
    }

    fn remove_entry(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        on_path(self, "remove", path, deadline, move |node, path| {
            node.operations().filesystem().remove_entry(path, deadline)
        })
    }

    fn remove_tree(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        on_path(self, "remove tree", path, deadline, move |node, path| {
            node.operations().filesystem().remove_tree(path, deadline)
        })
    }

    fn remove_contents(&self, path: &WinPath, deadline: Deadline) -> Result<()> {
        on_path(self, "empty", path, deadline, move |node, path| {
            node.operations()
                .filesystem()
                .remove_contents(path, deadline)
        })
    }

    fn create_symlink(&self, source: &WinPath, link: &WinPath, deadline: Deadline) -> Result<()> {
        let source = source.clone();
        on_path(self, "symlink", link, deadline, move |node, link| {
            node.operations()
                .filesystem()
                .create_symlink(&source, link, deadline)
        })
    }

    fn link_directory(&self, to: &WinPath, at: &WinPath, deadline: Deadline) -> Result<()> {
        let to = to.clone();
        on_path(self, "link", at, deadline, move |node, at| {
            node.operations()
                .filesystem()
                .link_directory(&to, at, deadline)
        })
    }

    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool> {
        on_path(self, "look at", path, deadline, move |node, path| {
            node.operations().filesystem().is_symlink(path, deadline)
        })
    }

    fn look(&self, path: &WinPath, deadline: Deadline) -> Result<Look> {
        on_path(self, "look at", path, deadline, move |node, path| {
            node.operations().filesystem().look(path, deadline)
        })
    }

    fn read_link(&self, path: &WinPath, deadline: Deadline) -> Result<Option<LinkTarget>> {
        on_path(self, "read link", path, deadline, move |node, path| {
            node.operations().filesystem().read_link(path, deadline)
        })
    }

    fn list(&self, directory: &WinPath, most: usize, deadline: Deadline) -> Result<Listing> {
        on_path(self, "list", directory, deadline, move |node, directory| {
            node.operations()
                .filesystem()
                .list(directory, most, deadline)
        })
    }

    fn space(&self, directory: &WinPath, deadline: Deadline) -> Result<Space> {
        on_path(self, "look at", directory, deadline, move |node, path| {
            node.operations().filesystem().space(path, deadline)
        })
    }
}

impl Volumes for Node {
    fn list_on_disk(
        &self,
        disk: DiskNumber,
        partition: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Vec<VolumeId>> {
        run(
            self,
            "list the volumes of disk",
            disk,
            deadline,
            move |node| {
                node.operations()
                    .volumes()
                    .list_on_disk(disk, partition, deadline)
            },
        )
    }

    fn find_on(&self, disk: &FoundDisk, deadline: Deadline) -> Result<FoundVolume> {
        let (found, number) = (disk.clone(), disk.number());
        let operation = "find the volume of disk";
        run(self, operation, number, deadline, move |node| {
            node.operations().volumes().find_on(&found, deadline)
        })
    }

    fn find_at(&self, path: &WinPath, deadline: Deadline) -> Result<FoundVolume> {
        let volume = Volumes::of_target(self, path, deadline)?;
        Ok(FoundVolume::mounted_at(volume, path.clone()))
    }

    fn mount(&self, volume: &FoundVolume, folder: &WinPath, deadline: Deadline) -> Result<()> {
        let found = volume.clone();
        on_path(self, "mount", folder, deadline, move |node, folder| {
            node.operations()
                .volumes()
                .mount_over_stale(&found, folder, deadline)
        })
    }

    fn unmount(&self, volume: VolumeId, folder: &WinPath, deadline: Deadline) -> Result<()> {
        on_path(self, "unmount", folder, deadline, move |node, folder| {
            node.operations()
                .volumes()
                .unmount(volume, folder, deadline)
        })
    }

    fn is_formatted(&self, volume: VolumeId, deadline: Deadline) -> Result<bool> {
        run(self, "look at volume", volume, deadline, move |node| {
            node.operations().volumes().is_formatted(volume, deadline)
        })
    }

    fn format(&self, volume: &FoundVolume, deadline: Deadline) -> Result<()> {
        let found = volume.clone();
        run(self, "format volume", volume.id(), deadline, move |node| {
            let formatted = node.operations().volumes().format(&found, deadline);
            formatted.map(drop)
        })
    }

    fn ensure_formatted(
        &self,
        volume: &FoundVolume,
        options: &FormatOptions,
        deadline: Deadline,
    ) -> Result<Formatted> {
        let (found, options) = (volume.clone(), options.clone());
        run(self, "format volume", volume.id(), deadline, move |node| {
            node.operations()
                .volumes()
                .ensure_formatted(&found, &options, deadline)
        })
    }

    fn resize(&self, volume: &FoundVolume, size: NewSize, deadline: Deadline) -> Result<Resized> {
        let found = volume.clone();
        run(self, "resize volume", volume.id(), deadline, move |node| {
            node.operations().volumes().resize(&found, size, deadline)
        })
    }

    fn stats(&self, volume: VolumeId, deadline: Deadline) -> Result<Space> {
        run(self, "look at volume", volume, deadline, move |node| {
            node.operations().volumes().stats(volume, deadline)
        })
    }

    fn disk_number(&self, volume: VolumeId, deadline: Deadline) -> Result<DiskNumber> {
        run(
            self,
            "find the disk of volume",
            volume,
            deadline,
            move |node| node.operations().volumes().disk_number(volume, deadline),
        )
    }

    fn of_target(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId> {
        on_path(
            self,
            "find the volume at",
            path,
            deadline,
            move |node, path| node.operations().volumes().of_target(path, deadline),
        )
    }

    fn closest(&self, path: &WinPath, deadline: Deadline) -> Result<VolumeId> {
        on_path(
            self,
            "find the volume of",
            path,
            deadline,
            move |node, path| node.operations().volumes().closest(path, deadline),
        )
    }

    fn flush(&self, volume: VolumeId, deadline: Deadline) -> Result<()> {
        run(self, "flush volume", volume, deadline, move |node| {
            node.operations().volumes().flush(volume, deadline)
        })
    }
}

impl Smb for Node {
    fn map(&self, mapping: &MapRequest<'_>, deadline: Deadline) -> Result<MapOutcome> {
        let remote = mapping.remote.clone();
        let link = mapping.link.cloned();
        let credentials = mapping.credentials.and_then(again);
        let (options, keep) = (mapping.options.clone(), mapping.keep);
        run(self, "map", mapping.remote, deadline, move |node| {
            let mut mapping = MapRequest::of(&remote)
                .with_credentials(credentials.as_ref())
                .with_link(link.as_ref())
                .with_options(options);
            mapping.keep = keep;
            node.operations().smb().map_existing(&mapping, deadline)
        })
    }

    fn mappings(&self, deadline: Deadline) -> Result<Vec<ShareMapping>> {
        run(self, "list", "mappings", deadline, move |node| {
            node.operations().smb().mappings(deadline)
        })
    }

    fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<()> {
        let owned = remote.clone();
        run(self, "unmap", remote, deadline, move |node| {
            node.operations().smb().unmap(&owned, deadline)
        })
    }

    fn unmap_unless(
        &self,
        remote: &RemotePath,
        used: Box<dyn FnOnce() -> bool + Send>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome> {
        let owned = remote.clone();
        run(self, "unmap", remote, deadline, move |node| {
            let smb = node.operations().smb();
            smb.unmap_unless(&owned, used, deadline)
        })
    }
}

impl System for Node {
    fn boot_id(&self, deadline: Deadline) -> Result<BootId> {
        run(self, "read", "the boot id", deadline, move |node| {
            node.operations().system().boot_id(deadline)
        })
    }

    fn computer_name(&self, deadline: Deadline) -> Result<String> {
        run(self, "read", "the computer's name", deadline, move |node| {
            node.operations().system().computer_name(deadline)
        })
    }

    fn uuid(&self, deadline: Deadline) -> Result<String> {
        run(self, "read", "the UUID", deadline, move |node| {
            node.operations().firmware().uuid(deadline)
        })
    }

    fn serial_number(&self, deadline: Deadline) -> Result<String> {
        run(self, "read", "the serial number", deadline, move |node| {
            node.operations().firmware().serial_number(deadline)
        })
    }

    fn service(&self, name: &ServiceName, deadline: Deadline) -> Result<ServiceInfo> {
        let owned = name.clone();
        run(self, "look at service", name, deadline, move |node| {
            node.operations().services().service(&owned, deadline)
        })
    }

    fn start_service(&self, name: &ServiceName, deadline: Deadline) -> Result<()> {
        let owned = name.clone();
        run(self, "start service", name, deadline, move |node| {
            node.operations().services().start(&owned, deadline)
        })
    }

    fn stop_service(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<()> {
        let owned = name.clone();
        run(self, "stop service", name, deadline, move |node| {
            node.operations()
                .services()
                .stop(&owned, dependents, deadline)
        })
    }
}

/// Runs an operation and answers by its deadline; what has begun goes on under its locks.
fn run<T, E>(
    node: &Node,
    operation: &'static str,
    object: impl fmt::Display,
    deadline: Deadline,
    act: impl FnOnce(&Node) -> std::result::Result<T, E> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    E: From<Unfinished> + Into<Cause> + Send + 'static,
{
    node.bounded(operation, deadline, act)
        .map_err(|error| Error::new(operation, object, error))
}

fn on_path<T, E>(
    node: &Node,
    operation: &'static str,
    path: &WinPath,
    deadline: Deadline,
    act: impl FnOnce(&Node, &WinPath) -> std::result::Result<T, E> + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    E: From<Unfinished> + Into<Cause> + Send + 'static,
{
    let owned = path.clone();
    run(node, operation, path, deadline, move |node| {
        act(node, &owned)
    })
}

/// A rescan that callers share, which outlasts each one's deadline.
fn rescan_of(node: &Node) -> impl Fn() -> Result<()> + Clone + Send + use<> {
    let node = node.clone();
    move || {
        let rescanned = node.operations().disks().rescan(Deadline::NEVER);
        rescanned.map_err(|error| Error::new("rescan", "disks", error))
    }
}

/// The operation may outlive its caller, and so must what it logs in with.
fn again(credentials: &Credentials) -> Option<Credentials> {
    let password = Zeroizing::new(credentials.expose_password().to_owned());
    Credentials::new(credentials.username(), password)
}
