use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use node::Node;
use node::api::NodeApi;
use os::{Component, DiskNumber, Error, LinkKind, Result, VolumeId, Win32, WinPath};
use os_windows::process_usage;

use super::disks::{self, Disk};
use super::{Machine, files, services};
use crate::{CaseControl, IscsiTarget, NodeFixture, SharedFile, names, real};

/// The machine for one case: a folder on the suite's volume, and the case's disks.
pub struct NativeFixture {
    machine: Arc<Machine>,
    folder: WinPath,
    disks: Mutex<Vec<Disk>>,
}

impl NativeFixture {
    /// Makes the fixture of one case.
    ///
    /// # Errors
    /// Its folder cannot be made.
    pub fn on(machine: &Arc<Machine>) -> Result<Self> {
        let name = format!("case-{}", machine.next());
        let name = Component::parse(&name)
            .map_err(|_| Error::new("CreateDirectoryW", &name, Win32::INVALID_NAME))?;
        let folder = machine.root.join(name);
        machine.node.os().files.create_directory(&folder)?;
        Ok(Self {
            machine: Arc::clone(machine),
            folder,
            disks: Mutex::default(),
        })
    }

    fn disks(&self) -> MutexGuard<'_, Vec<Disk>> {
        self.disks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NodeFixture for NativeFixture {
    fn node(&self) -> &Node {
        &self.machine.node
    }

    fn plug(&self, length: u64) -> Result<DiskNumber> {
        let file = self.machine.disk_file();
        let (disk, number) = Disk::plug(self.machine.functions, file, length, self.node())?;
        self.disks().push(disk);
        Ok(number)
    }

    fn grow(&self, disk: DiskNumber, length: u64) -> Result<DiskNumber> {
        let mut disks = self.disks();
        ours(&mut disks, disk)?.grow(length, self.node())
    }

    fn copy(&self, disk: DiskNumber, length: u64) -> Result<[DiskNumber; 2]> {
        let file = self.machine.disk_file();
        let mut disks = self.disks();
        let copied = ours(&mut disks, disk)?.copy(file, length, self.node());
        let (copy, numbers) = copied?;
        disks.push(copy);
        Ok(numbers)
    }

    fn overwrite(&self, disk: DiskNumber, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut disks = self.disks();
        let number = ours(&mut disks, disk)?.number()?;
        disks::overwrite(self.os(), number, offset, bytes)
    }

    fn unplug(&self, disk: DiskNumber) -> Result<()> {
        let mut disks = self.disks();
        ours(&mut disks, disk)?.unplug();
        Ok(())
    }

    fn grow_in_place(&self, disk: DiskNumber, length: u64) -> Result<()> {
        let mut disks = self.disks();
        ours(&mut disks, disk)?.grow_in_place(length)
    }

    fn layout_bytes(&self, disk: DiskNumber) -> Result<Vec<u8>> {
        real::drive_layout(disk)
    }

    fn take_share_away(&self) -> Result<()> {
        services::stop_server(self.node())
    }

    fn bring_share_back(&self) -> Result<()> {
        services::start_server(self.node())
    }

    fn shared_file(&self) -> Option<SharedFile> {
        self.machine.shared_file()
    }

    fn chained_services(&self) -> Option<[&'static str; 2]> {
        let chain = [names::BASE_SERVICE, names::DEPENDENT_SERVICE];
        self.machine.has_services().then_some(chain)
    }

    fn socket_folder(&self) -> PathBuf {
        PathBuf::from(self.folder.to_string()).join("s")
    }

    fn is_closed_to_others(&self, folder: &Path) -> Result<bool> {
        files::is_closed(self.os(), folder)
    }

    fn handles(&self) -> Result<u64> {
        Ok(u64::from(process_usage()?.handles))
    }

    fn note(&self, text: &str) {
        println!("\nnote: {text}");
    }
}

impl CaseControl for NativeFixture {
    fn folder(&self) -> &WinPath {
        &self.folder
    }

    fn volume(&self) -> VolumeId {
        self.machine.volume
    }

    fn write_file(&self, path: &WinPath, content: &[u8]) -> Result<()> {
        files::write(path, content)
    }

    fn read_file(&self, path: &WinPath) -> Result<Vec<u8>> {
        files::read(path)
    }

    fn set_read_only(&self, path: &WinPath) -> Result<()> {
        files::set_read_only(path)
    }

    fn create_reparse_point(&self, path: &WinPath, kind: LinkKind, data: &[u8]) -> Result<()> {
        files::create_reparse_point(self.os(), path, kind, data)
    }

    fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> Result<()> {
        real::become_reparse_point(directory, data)
    }

    fn raw_disk(&self) -> Result<DiskNumber> {
        self.plug(1 << 30)
    }

    fn share(&self) -> Option<crate::Share> {
        Some(self.shared_file()?.share)
    }

    fn target(&self) -> Option<IscsiTarget> {
        self.machine.target()
    }

    fn idle_service(&self) -> Option<&'static str> {
        self.machine.has_services().then_some(names::IDLE_SERVICE)
    }
}

impl Drop for NativeFixture {
    /// Unremovable files stay on the suite's volume, removed later as a whole. The node rescans its disks, so the next
    /// case meets no vanished one.
    fn drop(&mut self) {
        let node: &dyn NodeApi = self.node();
        let deadline = node.deadline(disks::TIMEOUT);
        let _ = node.filesystem().remove_tree(&self.folder, deadline);
        for disk in self.disks().drain(..) {
            let _ = disk.remove();
        }
        let _ = disks::rescan(self.node());
    }
}

/// The case's own disk with this number now: no other is ever touched.
fn ours(disks: &mut [Disk], number: DiskNumber) -> Result<&mut Disk> {
    let mut found = disks
        .iter_mut()
        .filter(|disk| disk.number().is_ok_and(|its| its == number));
    let not_found = || Error::new("find", format!("disk {number}"), Win32::NOT_FOUND);
    found.next().ok_or_else(not_found)
}
