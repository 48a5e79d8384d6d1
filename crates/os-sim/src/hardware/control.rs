use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clones;
use super::disk::DiskSpec;
use super::medium::Medium;
use crate::folder;

/// The hand that plugs things in and pulls them out, whether or not a process has the node open.
///
/// On a node that lives in a folder this edits the folder's files as an operator would; the node
/// notices before its next operation. Cheap to clone.
#[derive(Debug, Clone)]
pub struct HardwareControl(Arc<Store>);

/// The content of a disk when it is plugged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    image: Option<PathBuf>,
    length: Option<u64>,
}

/// Something could not be plugged in, pulled out or changed.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    /// There is one of this name.
    #[error("there is a {0} already")]
    Exists(String),
    /// A file of the node's folder failed.
    #[error("{object}: {source}")]
    File {
        /// The object of the operation.
        object: String,
        /// Why.
        source: io::Error,
    },
    /// There is none of this name.
    #[error("there is no {0}")]
    Missing(String),
    /// The name cannot be that of a file.
    #[error("{0:?} is no name for a thing of the node's folder")]
    Name(String),
}

/// A disk that is plugged in.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    pub(crate) spec: DiskSpec,
    pub(crate) medium: Medium,
}

#[derive(Debug)]
pub(super) enum Store {
    Folder(PathBuf),
    Memory(Mutex<Memory>),
}

#[derive(Debug, Default)]
pub(super) struct Memory {
    disks: BTreeMap<String, Disk>,
    /// Counts the changes, so that a node of many disks need not look at each before each call.
    generation: u64,
    /// Disks that are attached to no node.
    pub(super) shelf: Option<HardwareControl>,
}

impl Memory {
    pub(super) fn put(&mut self, name: &str, disk: Disk) {
        self.disks.insert(name.to_owned(), disk);
        self.generation += 1;
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Disk> {
        self.generation += 1;
        self.disks.remove(name)
    }
}

impl Content {
    /// Nothing but zeros, `length` bytes of them.
    #[must_use]
    pub fn blank(length: u64) -> Self {
        Self {
            image: None,
            length: Some(length),
        }
    }

    /// A copy of this image.
    #[must_use]
    pub fn image(path: impl Into<PathBuf>) -> Self {
        Self {
            image: Some(path.into()),
            length: None,
        }
    }

    /// With zeros behind it up to `length` bytes.
    #[must_use]
    pub fn padded_to(self, length: u64) -> Self {
        Self {
            length: Some(length),
            ..self
        }
    }
}

impl HardwareControl {
    /// The hardware of the node that lives in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Store::Folder(folder.into())))
    }

    pub(super) fn store(&self) -> &Store {
        &self.0
    }

    /// The folder of the node; `None` for a node in memory.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &*self.0 {
            Store::Folder(folder) => Some(folder),
            Store::Memory(_) => None,
        }
    }

    pub(crate) fn in_memory() -> Self {
        Self(Arc::new(Store::Memory(Mutex::default())))
    }

    /// Plugs a disk in.
    ///
    /// # Errors
    /// There is a disk of this name; a file cannot be written.
    pub fn attach_disk(
        &self,
        name: &str,
        spec: &DiskSpec,
        content: &Content,
    ) -> Result<(), HardwareError> {
        check_name(name)?;
        if self.medium(name).is_some() {
            return Err(HardwareError::Exists(format!("disk {name}")));
        }
        match &*self.0 {
            Store::Folder(folder) => attach_files(folder, name, spec, content),
            Store::Memory(memory) => attach_memory(&mut locked(memory), name, spec, content),
        }
        .map_err(|source| about(name, source))
    }

    /// Plugs in a disk whose bytes are this image's, if it is not: what is written is in the image, and a larger image is
    /// a larger disk.
    pub(crate) fn attach_image(&self, name: &str, spec: &DiskSpec, image: &Path) -> io::Result<()> {
        match &*self.0 {
            Store::Folder(folder) => link_image(folder, name, spec, image),
            Store::Memory(memory) => {
                let (spec, medium) = (spec.clone(), Medium::File(image.to_owned()));
                locked(memory).put(name, Disk { spec, medium });
                Ok(())
            }
        }
    }

    /// Plugs in a copy of a disk as it is now, its volumes' files included, as clouds restore a snapshot:
    /// the same content in another device.
    ///
    /// # Errors
    /// There is no disk `of`, or one of this name; a file cannot be written.
    pub fn clone_disk(&self, of: &str, name: &str, spec: &DiskSpec) -> Result<(), HardwareError> {
        let original = self.expect_disk(of)?;
        check_name(name)?;
        if self.medium(name).is_some() {
            return Err(HardwareError::Exists(format!("disk {name}")));
        }
        match &*self.0 {
            Store::Folder(folder) => {
                let copied = clones::copy_files(folder, of, &original, name);
                copied.map_err(|source| about(name, source))?;
                self.attach_disk(name, spec, &Content::image(image_file(folder, of)))
            }
            Store::Memory(memory) => {
                let medium = clones::in_memory(&original).map_err(|source| about(name, source))?;
                let spec = spec.clone();
                locked(memory).put(name, Disk { spec, medium });
                Ok(())
            }
        }
    }

    /// Pulls a disk out: its bytes are gone.
    ///
    /// # Errors
    /// There is no disk of this name; a file cannot be deleted.
    pub fn detach_disk(&self, name: &str) -> Result<(), HardwareError> {
        self.expect_disk(name)?;
        match &*self.0 {
            Store::Folder(folder) => {
                let [spec, image] = disk_files(folder, name);
                fs::remove_file(spec)
                    .and_then(|()| fs::remove_file(image))
                    .and_then(|()| clones::remove_files(folder, name))
                    .map_err(|source| about(name, source))
            }
            Store::Memory(memory) => {
                locked(memory).take(name);
                Ok(())
            }
        }
    }

    /// Makes a disk `length` bytes long. The node does not notice until it looks.
    ///
    /// # Errors
    /// There is no disk of this name; its image cannot be changed.
    pub fn grow_disk(&self, name: &str, length: u64) -> Result<(), HardwareError> {
        self.expect_disk(name)?
            .set_length(length)
            .map_err(|source| about(name, source))
    }

    /// How long a disk is, in bytes.
    ///
    /// # Errors
    /// There is no disk of this name; its image cannot be read.
    pub fn disk_length(&self, name: &str) -> Result<u64, HardwareError> {
        let length = self.expect_disk(name)?.length();
        length.map_err(|source| about(name, source))
    }

    /// Reads a disk behind the node's back.
    ///
    /// # Errors
    /// There is no disk of this name, or it is shorter.
    pub fn read_disk(
        &self,
        name: &str,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), HardwareError> {
        self.expect_disk(name)?
            .read(offset, buffer)
            .map_err(|source| about(name, source))
    }

    /// Writes to a disk behind the node's back.
    ///
    /// # Errors
    /// There is no disk of this name, or it is shorter.
    pub fn write_disk(&self, name: &str, offset: u64, content: &[u8]) -> Result<(), HardwareError> {
        self.expect_disk(name)?
            .write(offset, content)
            .map_err(|source| about(name, source))
    }

    /// Has a device refuse writes from now on, or take them. What it has stays.
    ///
    /// # Errors
    /// There is no disk of this name; a file cannot be written.
    pub fn set_write_protected(
        &self,
        name: &str,
        write_protected: bool,
    ) -> Result<(), HardwareError> {
        self.expect_disk(name)?;
        self.change_spec(name, |spec| spec.write_protected = write_protected)
    }

    /// Writes another specification for a disk, which the node notices.
    pub(crate) fn change_spec(
        &self,
        name: &str,
        act: impl FnOnce(&mut DiskSpec),
    ) -> Result<(), HardwareError> {
        let changed = match &*self.0 {
            Store::Folder(folder) => change_file(folder, name, act),
            Store::Memory(memory) => {
                let mut memory = locked(memory);
                memory.generation += 1;
                let disk = memory.disks.get_mut(name);
                disk.map(|disk| act(&mut disk.spec))
                    .ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        };
        changed.map_err(|source| about(name, source))
    }

    /// The names of all disks that are plugged in.
    pub(crate) fn disk_names(&self) -> io::Result<Vec<String>> {
        match &*self.0 {
            Store::Folder(folder) => folder::stems(&folder.join("disks"), "toml"),
            Store::Memory(memory) => Ok(locked(memory).disks.keys().cloned().collect()),
        }
    }

    /// A number that changes with the set of disks; `None` when only looking tells.
    pub(crate) fn generation(&self) -> Option<u64> {
        match &*self.0 {
            Store::Folder(_) => None,
            Store::Memory(memory) => Some(locked(memory).generation),
        }
    }

    /// The text of a disk's specification; in memory, of its changeable part.
    pub(crate) fn disk_text(&self, name: &str) -> io::Result<Option<String>> {
        match &*self.0 {
            Store::Folder(folder) => {
                let [spec, image] = disk_files(folder, name);
                let text = folder::text(&spec)?;
                Ok(text.filter(|_| image.exists()))
            }
            Store::Memory(memory) => {
                let memory = locked(memory);
                let disk = memory.disks.get(name);
                Ok(disk.map(|disk| {
                    let spec = &disk.spec;
                    format!("{:?}", (&spec.extent, spec.write_protected))
                }))
            }
        }
    }

    /// The disk that this text specifies. One that does not read is as good as none, and is told of.
    pub(crate) fn disk(&self, name: &str, text: &str) -> Option<Disk> {
        match &*self.0 {
            Store::Folder(folder) => {
                let spec = toml::from_str(text).inspect_err(|error| {
                    tracing::warn!(disk = name, %error, "the disk's file does not read");
                });
                let medium = Medium::File(image_file(folder, name));
                spec.ok().map(|spec| Disk { spec, medium })
            }
            Store::Memory(memory) => locked(memory).disks.get(name).cloned(),
        }
    }

    pub(crate) fn expect_disk(&self, name: &str) -> Result<Medium, HardwareError> {
        check_name(name)?;
        self.medium(name)
            .ok_or_else(|| HardwareError::Missing(format!("disk {name}")))
    }

    fn medium(&self, name: &str) -> Option<Medium> {
        match &*self.0 {
            Store::Folder(folder) => {
                let image = image_file(folder, name);
                image.exists().then_some(Medium::File(image))
            }
            Store::Memory(memory) => {
                let memory = locked(memory);
                memory.disks.get(name).map(|disk| disk.medium.clone())
            }
        }
    }
}

fn attach_files(folder: &Path, name: &str, spec: &DiskSpec, content: &Content) -> io::Result<()> {
    let [spec_file, image] = disk_files(folder, name);
    let text = toml::to_string(spec).map_err(io::Error::other)?;
    fs::create_dir_all(folder.join("disks"))?;
    let staged = folder::staged(&image);
    match &content.image {
        Some(source) => fs::copy(source, &staged).map(drop)?,
        None => File::create(&staged).map(drop)?,
    }
    if let Some(length) = content.length {
        OpenOptions::new()
            .write(true)
            .open(&staged)?
            .set_len(length)?;
    }
    fs::rename(&staged, &image)?;
    folder::replace(&spec_file, text.as_bytes())
}

/// A hard link, in the same file system.
fn link_image(folder: &Path, name: &str, spec: &DiskSpec, image: &Path) -> io::Result<()> {
    let [spec_file, link] = disk_files(folder, name);
    if !link.exists() {
        fs::create_dir_all(folder.join("disks"))?;
        fs::hard_link(image, &link)?;
    }
    if !spec_file.exists() {
        let text = toml::to_string(spec).map_err(io::Error::other)?;
        folder::replace(&spec_file, text.as_bytes())?;
    }
    Ok(())
}

fn change_file(folder: &Path, name: &str, act: impl FnOnce(&mut DiskSpec)) -> io::Result<()> {
    let [file, _] = disk_files(folder, name);
    let mut spec = toml::from_str(&fs::read_to_string(&file)?).map_err(io::Error::other)?;
    act(&mut spec);
    let text = toml::to_string(&spec).map_err(io::Error::other)?;
    folder::replace(&file, text.as_bytes())
}

fn attach_memory(
    memory: &mut Memory,
    name: &str,
    spec: &DiskSpec,
    content: &Content,
) -> io::Result<()> {
    let image = content.image.as_ref().map(fs::read).transpose()?;
    let image = image.unwrap_or_default();
    let own = u64::try_from(image.len()).map_err(io::Error::other)?;
    let medium = Medium::in_memory(content.length.unwrap_or(own));
    medium.write(0, &image)?;
    let spec = spec.clone();
    memory.put(name, Disk { spec, medium });
    Ok(())
}

pub(super) fn disk_files(folder: &Path, name: &str) -> [PathBuf; 2] {
    let spec = folder.join("disks").join(format!("{name}.toml"));
    [spec, image_file(folder, name)]
}

fn image_file(folder: &Path, name: &str) -> PathBuf {
    folder.join("disks").join(format!("{name}.img"))
}

/// Names become names of files, on every host.
pub(super) fn check_name(name: &str) -> Result<(), HardwareError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(HardwareError::Name(name.to_owned()));
    }
    Ok(())
}

pub(super) fn about(name: &str, source: io::Error) -> HardwareError {
    HardwareError::File {
        object: name.to_owned(),
        source,
    }
}

pub(super) fn locked(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Content, HardwareControl};
    use crate::hardware::{Bus, DiskSpec};

    fn controls() -> (tempfile::TempDir, [HardwareControl; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let control = HardwareControl::at(folder.path());
        (folder, [control, HardwareControl::in_memory()])
    }

    #[test]
    fn a_disk_is_plugged_in_grown_and_pulled_out() {
        let (_folder, controls) = controls();
        let spec = DiskSpec::on(Bus::Sas).serial("1");
        for control in controls {
            control
                .attach_disk("data1", &spec, &Content::blank(1 << 20))
                .unwrap();
            assert_eq!(control.disk_names().unwrap(), ["data1"]);
            let text = control.disk_text("data1").unwrap().unwrap();
            let disk = control.disk("data1", &text).unwrap();
            assert_eq!(disk.spec, spec);
            control.grow_disk("data1", 2 << 20).unwrap();
            assert_eq!(disk.medium.length().unwrap(), 2 << 20);
            control.detach_disk("data1").unwrap();
            assert_eq!(control.disk_text("data1").unwrap(), None);
            assert!(control.detach_disk("data1").is_err());
        }
    }

    #[test]
    fn an_image_is_copied_and_padded() {
        let (folder, controls) = controls();
        let image = folder.path().join("fixture");
        std::fs::write(&image, b"ext4").unwrap();
        for control in controls {
            let content = Content::image(&image).padded_to(4096);
            control
                .attach_disk("data1", &DiskSpec::on(Bus::Sas), &content)
                .unwrap();
            let mut buffer = [0; 6];
            control.read_disk("data1", 0, &mut buffer).unwrap();
            assert_eq!(&buffer, b"ext4\0\0");
        }
    }

    #[test]
    fn names_stay_in_their_folder() {
        let (_folder, controls) = controls();
        for control in controls {
            for name in ["", "..", "../x", "a/b", r"a\b", ".hidden", "a b"] {
                let attached =
                    control.attach_disk(name, &DiskSpec::on(Bus::Sas), &Content::blank(512));
                assert!(attached.is_err(), "{name:?}");
            }
        }
    }
}
