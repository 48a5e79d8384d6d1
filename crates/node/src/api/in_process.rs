//! The API, done by this process: each operation is [`Node`]'s own, bounded by its deadline.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use formats::location::Location;
use os::{Deadline, DiskNumber, PartitionNumber, ServiceInfo, Space, VolumeId, WinPath};
use zeroize::Zeroizing;

use super::sealed::Sealed;
use super::{
    Cause, Disks, Error, Feature, Filesystem, Iscsi, NodeApi, Result, Smb, System, Volumes,
};
use crate::volumes::stale;
use crate::{
    Authentication, ChapSecret, Connected, Credentials, Dependents, DiskIds, DiskQuery,
    FormatOptions, Formatted, FoundDisk, FoundVolume, LoginOptions, MapOutcome, MapRequest,
    NewSize, Node, Portal, RemotePath, Resized, ServiceName, SessionInfo, ShareMapping, TargetName,
    Unfinished,
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

    fn rescan(&self, deadline: Deadline) -> Result<()> {
        run(self, "rescan", "disks", deadline, move |node| {
            node.operations().disks().rescan(deadline)
        })
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

    fn is_symlink(&self, path: &WinPath, deadline: Deadline) -> Result<bool> {
        on_path(self, "look at", path, deadline, move |node, path| {
            node.operations().filesystem().is_symlink(path, deadline)
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
        let options = mapping.options.clone();
        run(self, "map", mapping.remote, deadline, move |node| {
            let mapping = MapRequest::of(&remote)
                .with_credentials(credentials.as_ref())
                .with_link(link.as_ref())
                .with_options(options);
            node.operations().smb().map(&mapping, deadline)
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
}

impl Iscsi for Node {
    fn add_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let owned = portal.clone();
        run(self, "add portal", portal, deadline, move |node| {
            node.operations().iscsi().add_portal(&owned, deadline)
        })
    }

    fn refresh(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let owned = portal.clone();
        run(self, "refresh portal", portal, deadline, move |node| {
            node.operations().iscsi().refresh(&owned, deadline)
        })
    }

    fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>> {
        let owned = portal.clone();
        run(self, "discover", portal, deadline, move |node| {
            node.operations().iscsi().discover(&owned, deadline)
        })
    }

    fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let owned = portal.clone();
        run(self, "remove portal", portal, deadline, move |node| {
            node.operations().iscsi().remove_portal(&owned, deadline)
        })
    }

    fn portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>> {
        run(self, "list", "portals", deadline, move |node| {
            node.operations().iscsi().portals(deadline)
        })
    }

    fn connect(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()> {
        let options = LoginOptions::default();
        let connected = self.connect_with(portal, target, authentication, &options, deadline);
        connected.map(drop)
    }

    fn connect_with(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        options: &LoginOptions,
        deadline: Deadline,
    ) -> Result<Connected> {
        let (portal, name) = (portal.clone(), target.clone());
        let (authentication, options) = (authentication.duplicate(), options.clone());
        run(self, "connect", target, deadline, move |node| {
            let iscsi = node.operations().iscsi();
            iscsi.connect_with(&portal, &name, &authentication, &options, deadline)
        })
    }

    fn sessions(&self, deadline: Deadline) -> Result<Vec<SessionInfo>> {
        run(self, "list", "sessions", deadline, move |node| {
            node.operations().iscsi().sessions(deadline)
        })
    }

    fn disconnect(&self, portal: &Portal, target: &TargetName, deadline: Deadline) -> Result<()> {
        let (portal, name) = (portal.clone(), target.clone());
        run(self, "disconnect", target, deadline, move |node| {
            node.operations()
                .iscsi()
                .disconnect(&portal, &name, deadline)
        })
    }

    fn disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>> {
        let (portal, name) = (portal.clone(), target.clone());
        run(self, "list the disks of", target, deadline, move |node| {
            node.operations().iscsi().disks(&portal, &name, deadline)
        })
    }

    fn set_mutual_chap_secret(&self, secret: &ChapSecret, deadline: Deadline) -> Result<()> {
        let secret = secret.duplicate();
        run(
            self,
            "set",
            "the mutual CHAP secret",
            deadline,
            move |node| {
                node.operations()
                    .iscsi()
                    .set_mutual_chap_secret(&secret, deadline)
            },
        )
    }
}

impl System for Node {
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

/// The operation may outlive its caller, and so must what it logs in with.
fn again(credentials: &Credentials) -> Option<Credentials> {
    let password = Zeroizing::new(credentials.expose_password().to_owned());
    Credentials::new(credentials.username(), password)
}
