//! VHDX files as disks of the node.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use node::Node;
use node::api::NodeApi;
use os::schema::disk;
use os::{Deadline, DiskNumber, Error, Os, Query, Value, Win32};
use os_windows::NativeClock;

use crate::cases;
use crate::let_go::once_let_go;
use crate::real::{AttachedDisk, VirtualDisks, code};

/// How long both views of a node may take to know a disk.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

/// An attached VHDX file of the suite.
pub(super) struct Disk {
    functions: VirtualDisks,
    file: PathBuf,
    /// None while the file is detached to grow.
    attached: Option<AttachedDisk>,
}

impl Disk {
    /// Makes the file, attaches it, waits until the node knows the disk, and makes it online and writable. Windows may
    /// attach it otherwise: by its policy for new disks, or because it remembers the state of the number's earlier disk
    /// (<https://docs.ceph.com/en/latest/rbd/rbd-windows/>).
    pub(super) fn plug(
        functions: VirtualDisks,
        file: PathBuf,
        length: u64,
        node: &Node,
    ) -> os::Result<(Self, DiskNumber)> {
        functions.create(&file, length)?;
        let mut disk = Self {
            functions,
            file,
            attached: None,
        };
        let number = disk.attach(node)?;
        make_usable(node, number)?;
        Ok((disk, number))
    }

    /// Detaches the file, makes it longer (not possible before), and attaches it again.
    pub(super) fn grow(&mut self, length: u64, node: &Node) -> os::Result<DiskNumber> {
        self.attached = None;
        self.expand(&self.file, length, node)?;
        self.attach(node)
    }

    /// Detaches the file, copies it, makes the copy longer, and attaches both, this one first: its number and
    /// the copy's.
    pub(super) fn copy(
        &mut self,
        file: PathBuf,
        length: u64,
        node: &Node,
    ) -> os::Result<(Self, [DiskNumber; 2])> {
        self.attached = None;
        once_let_go(&*node.os().clock, || {
            let copied = fs::copy(&self.file, &file);
            copied.map_err(|error| Error::new("CopyFileExW", file.display(), code(&error)))
        })?;
        self.expand(&file, length, node)?;
        let own = self.attach(node)?;
        let mut copy = Self {
            functions: self.functions,
            file,
            attached: None,
        };
        let number = copy.attach(node)?;
        Ok((copy, [own, number]))
    }

    /// The disk's present number.
    pub(super) fn number(&self) -> os::Result<DiskNumber> {
        match &self.attached {
            Some(attached) => attached.number(),
            None => Err(Error::new("attach", self.file.display(), Win32::NOT_READY)),
        }
    }

    /// Detaches the file without notice.
    pub(super) fn unplug(&mut self) {
        self.attached = None;
    }

    /// Makes the disk longer while it is attached. `ExpandVirtualDisk`'s page requires it detached; an error reports
    /// it.
    pub(super) fn grow_in_place(&self, length: u64) -> os::Result<()> {
        self.functions.expand(&self.file, length)
    }

    /// Detaches the file and removes it.
    pub(super) fn remove(mut self) -> os::Result<()> {
        self.attached = None;
        remove_file(&self.file)
    }

    fn expand(&self, file: &Path, length: u64, node: &Node) -> os::Result<()> {
        once_let_go(&*node.os().clock, || self.functions.expand(file, length))
    }

    fn attach(&mut self, node: &Node) -> os::Result<DiskNumber> {
        let attach = || self.functions.attach(&self.file);
        let attached = once_let_go(&*node.os().clock, attach)?;
        let attached = self.attached.insert(attached);
        let number = number_of(attached, node.os())?;
        rescan(node)?;
        wait_until_known(node.os(), number)?;
        Ok(number)
    }
}

/// Writes to a disk past the node. The caller has proved that it belongs to the suite.
pub(super) fn overwrite(os: &Os, disk: DiskNumber, offset: u64, bytes: &[u8]) -> os::Result<()> {
    let path = format!(r"\\.\PhysicalDrive{disk}");
    let failed = |error: &io::Error| Error::new("WriteFile", &path, code(error));
    let window = Window::around(offset, bytes.len(), os.disks.sector_size(disk)?);
    let window = window.ok_or_else(|| Error::new("WriteFile", &path, Win32::INVALID_PARAMETER))?;
    let mut sectors = vec![0; window.length];
    os.disks.read(disk, window.start, &mut sectors)?;
    sectors[window.before..window.before + bytes.len()].copy_from_slice(bytes);
    let device = OpenOptions::new().read(true).write(true).open(&path);
    let device = device.map_err(|error| failed(&error))?;
    let written = device.seek_write(&sectors, window.start);
    match written.map_err(|error| failed(&error))? {
        all if all == sectors.len() => device.sync_all().map_err(|error| failed(&error)),
        _ => Err(Error::new("WriteFile", &path, Win32::IO_DEVICE)),
    }
}

/// Makes both views rescan.
pub(super) fn rescan(node: &Node) -> os::Result<()> {
    let deadline = node.deadline(TIMEOUT);
    let rescanned = node.operations().disks().rescan(deadline);
    rescanned.map_err(|error| Error::new("rescan", error, Win32::GEN_FAILURE))
}

/// Removes a file; a missing one is success.
pub(super) fn remove_file(file: &Path) -> os::Result<()> {
    once_let_go(&NativeClock::new(), || match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::new("DeleteFileW", file.display(), code(&error)))
        }
        _ => Ok(()),
    })
}

/// The whole sectors around some bytes.
struct Window {
    start: u64,
    length: usize,
    /// Bytes of the first sector before the target.
    before: usize,
}

impl Window {
    fn around(offset: u64, length: usize, sector: u32) -> Option<Self> {
        let sector = u64::from(sector);
        let start = offset - offset.checked_rem(sector)?;
        let end = offset.checked_add(u64::try_from(length).ok()?)?;
        let end = end.checked_next_multiple_of(sector)?;
        Some(Self {
            start,
            length: usize::try_from(end - start).ok()?,
            before: usize::try_from(offset - start).ok()?,
        })
    }
}

/// The system answers once it has found the disk; whether that is so right after the attach is not documented.
fn number_of(attached: &AttachedDisk, os: &Os) -> os::Result<DiskNumber> {
    let deadline = Deadline::within(&*os.clock, TIMEOUT);
    loop {
        match attached.number() {
            Err(_) if deadline.left(&*os.clock).is_some() => os.clock.sleep(PAUSE),
            answer => return answer,
        }
    }
}

/// Brings a new disk online and makes it writable if Windows has not, and logs it.
fn make_usable(node: &Node, number: DiskNumber) -> os::Result<()> {
    let came = node.os().disks.attributes(number)?;
    if !came.offline && !came.read_only {
        return Ok(());
    }
    println!(
        "\nnote: new disk {number} came with offline: {}, read-only: {}",
        came.offline, came.read_only
    );
    let failed = |error: String| Error::new("bring online", error, Win32::GEN_FAILURE);
    let api: &dyn NodeApi = node;
    let deadline = api.deadline(TIMEOUT);
    let found = cases::found(api, number, deadline).map_err(|error| failed(error.to_string()))?;
    let online = api.disks().bring_online(&found, deadline);
    online.map_err(|error| failed(error.to_string()))
}

fn wait_until_known(os: &Os, number: DiskNumber) -> os::Result<()> {
    let deadline = Deadline::within(&*os.clock, TIMEOUT);
    while !is_known(os, number)? {
        if deadline.left(&*os.clock).is_none() {
            return Err(Error::new(
                "wait for",
                format!("disk {number}"),
                Win32::TIMEOUT,
            ));
        }
        os.clock.sleep(PAUSE);
    }
    Ok(())
}

fn is_known(os: &Os, number: DiskNumber) -> os::Result<bool> {
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
        .with(disk::NUMBER.name, Value::uint32(number.0));
    let found = os.storage.query(&query, Deadline::NEVER)?;
    Ok(found.len() == 1 && os.disks.list()?.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn whole_sectors_are_written_and_no_more() {
        let window = Window::around(1080, 2, 512).expect("a window");
        assert_eq!(
            (window.start, window.length, window.before),
            (1024, 512, 56)
        );
        let window = Window::around(0, 4096, 4096).expect("a window");
        assert_eq!((window.start, window.length, window.before), (0, 4096, 0));
        let window = Window::around(500, 20, 512).expect("a window");
        assert_eq!((window.start, window.length, window.before), (0, 1024, 500));
        assert!(Window::around(u64::MAX, 2, 512).is_none());
        assert!(Window::around(0, 1, 0).is_none());
    }
}
