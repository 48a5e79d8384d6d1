//! Systems that say something else, or in which something else happens, at the worst moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

use os::Arguments;
use os::Boot;
use os::BootId;
use os::Deadline;
use os::DeviceDescriptor;
use os::DiskAttributes;
use os::DiskNumber;
use os::Disks;
use os::DriveLayout;
use os::Extent;
use os::FileSystem;
use os::Instance;
use os::ObjectPath;
use os::Os;
use os::Outcome;
use os::Paging;
use os::PartitionNumber;
use os::Provider;
use os::Query;
use os::Result;
use os::ScsiAddress;
use os::Space;
use os::Target;
use os::VolumeId;
use os::VolumeLock;
use os::Volumes;
use os::WinPath;
use wincsi_node::Node;
use wincsi_node::Options;

use super::Rig;

/// Operations over the rig's node, after `change` was made to what they see of it.
pub(crate) fn node(rig: &Rig, change: impl FnOnce(&mut Os)) -> Node {
    let mut os = rig.os().clone();
    change(&mut os);
    Node::new(os, Options::default())
}

/// A provider whose answers to queries are rewritten.
pub(crate) struct Rewritten {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) rewrite: fn(&mut Instance),
}

impl Provider for Rewritten {
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        let mut found = self.provider.query(query, deadline)?;
        found.iter_mut().for_each(self.rewrite);
        Ok(found)
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>> {
        self.provider
            .associators(of, association, result_class, deadline)
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        self.provider.invoke(target, method, arguments, deadline)
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>> {
        self.provider.parameters(class, method, deadline)
    }
}

/// A provider by which something happens once, right after it was asked for a class or ran a method.
pub(crate) struct After<F> {
    provider: Arc<dyn Provider>,
    name: &'static str,
    act: F,
    done: AtomicBool,
}

impl<F: Fn() + Send + Sync> After<F> {
    /// `name` is that of the class or the method.
    pub(crate) fn of(provider: Arc<dyn Provider>, name: &'static str, act: F) -> Self {
        let done = AtomicBool::new(false);
        Self {
            provider,
            name,
            act,
            done,
        }
    }

    fn has_done(&self, name: &str) {
        if name == self.name && !self.done.swap(true, Ordering::SeqCst) {
            (self.act)();
        }
    }
}

impl<F: Fn() + Send + Sync> Provider for After<F> {
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        let found = self.provider.query(query, deadline);
        self.has_done(query.class);
        found
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>> {
        self.provider
            .associators(of, association, result_class, deadline)
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        let outcome = self.provider.invoke(target, method, arguments, deadline);
        self.has_done(method);
        outcome
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>> {
        self.provider.parameters(class, method, deadline)
    }
}

/// Disks where something happens as the `nth` proof that one is blank begins, which is when its sectors
/// are asked for.
pub(crate) struct Proved<F> {
    disks: Arc<dyn Disks>,
    nth: u32,
    act: F,
    begun: AtomicU32,
}

impl<F: Fn() + Send + Sync> Proved<F> {
    pub(crate) fn of(disks: Arc<dyn Disks>, nth: u32, act: F) -> Self {
        let begun = AtomicU32::new(0);
        Self {
            disks,
            nth,
            act,
            begun,
        }
    }
}

impl<F: Fn() + Send + Sync> Disks for Proved<F> {
    fn sector_size(&self, disk: DiskNumber) -> Result<u32> {
        if self.begun.fetch_add(1, Ordering::SeqCst) + 1 == self.nth {
            (self.act)();
        }
        self.disks.sector_size(disk)
    }

    fn list(&self) -> Result<Vec<DiskNumber>> {
        self.disks.list()
    }

    fn number_of(&self, device_path: &str) -> Result<DiskNumber> {
        self.disks.number_of(device_path)
    }

    fn device_id_page(&self, disk: DiskNumber) -> Result<Vec<u8>> {
        self.disks.device_id_page(disk)
    }

    fn descriptor(&self, disk: DiskNumber) -> Result<DeviceDescriptor> {
        self.disks.descriptor(disk)
    }

    fn scsi_address(&self, disk: DiskNumber) -> Result<ScsiAddress> {
        self.disks.scsi_address(disk)
    }

    fn length(&self, disk: DiskNumber) -> Result<u64> {
        self.disks.length(disk)
    }

    fn layout(&self, disk: DiskNumber) -> Result<DriveLayout> {
        self.disks.layout(disk)
    }

    fn attributes(&self, disk: DiskNumber) -> Result<DiskAttributes> {
        self.disks.attributes(disk)
    }

    fn read(&self, disk: DiskNumber, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.disks.read(disk, offset, buffer)
    }

    fn update_properties(&self, disk: DiskNumber) -> Result<()> {
        self.disks.update_properties(disk)
    }

    fn grow_partition(&self, disk: DiskNumber, partition: PartitionNumber, by: u64) -> Result<()> {
        self.disks.grow_partition(disk, partition, by)
    }
}

/// Something happens once, when an operation asks where paging goes: after it looked at a disk, before
/// it writes there.
pub(crate) struct Meanwhile<F> {
    boot: Arc<dyn Boot>,
    act: F,
    asked: AtomicU32,
}

impl<F: Fn() + Send + Sync> Meanwhile<F> {
    pub(crate) fn of(boot: Arc<dyn Boot>, act: F) -> Self {
        let asked = AtomicU32::new(0);
        Self { boot, act, asked }
    }
}

impl<F: Fn() + Send + Sync> Boot for Meanwhile<F> {
    fn boot_id(&self) -> Result<BootId> {
        self.boot.boot_id()
    }

    fn paging(&self) -> Result<Paging> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 0 {
            (self.act)();
        }
        self.boot.paging()
    }
}

/// Volumes whose extents are what `say` makes of them, given how often they were asked for before.
pub(crate) struct Elsewhere<F> {
    volumes: Arc<dyn Volumes>,
    say: F,
    asked: AtomicU32,
}

impl<F> Elsewhere<F>
where
    F: Fn(u32, Result<Vec<Extent>>) -> Result<Vec<Extent>> + Send + Sync,
{
    pub(crate) fn of(volumes: Arc<dyn Volumes>, say: F) -> Self {
        let asked = AtomicU32::new(0);
        Self {
            volumes,
            say,
            asked,
        }
    }
}

impl<F> Volumes for Elsewhere<F>
where
    F: Fn(u32, Result<Vec<Extent>>) -> Result<Vec<Extent>> + Send + Sync,
{
    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>> {
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        (self.say)(before, self.volumes.extents(volume))
    }

    fn list(&self) -> Result<Vec<VolumeId>> {
        self.volumes.list()
    }

    fn space(&self, volume: VolumeId) -> Result<Space> {
        self.volumes.space(volume)
    }

    fn file_system(&self, volume: VolumeId) -> Result<Option<FileSystem>> {
        self.volumes.file_system(volume)
    }

    fn mounted_at(&self, folder: &WinPath) -> Result<VolumeId> {
        self.volumes.mounted_at(folder)
    }

    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>> {
        self.volumes.access_paths(volume)
    }

    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        self.volumes.set_mount_point(folder, volume)
    }

    fn delete_mount_point(&self, folder: &WinPath) -> Result<()> {
        self.volumes.delete_mount_point(folder)
    }

    fn flush(&self, volume: VolumeId) -> Result<()> {
        self.volumes.flush(volume)
    }

    fn lock(&self, volume: VolumeId) -> Result<Box<dyn VolumeLock>> {
        self.volumes.lock(volume)
    }

    fn extend(&self, volume: VolumeId, bytes: u64) -> Result<()> {
        self.volumes.extend(volume, bytes)
    }
}
