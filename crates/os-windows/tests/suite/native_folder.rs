use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::net::TcpListener;
use std::os::windows::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, process};

use os::{Component, Error, Files, LinkKind, Result, VolumeId, Volumes, Win32, WinPath};
use os_suite::CaseControl;
use wincsi_os_windows::{NativeFiles, NativeVolumes};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_WRITE_ATTRIBUTES,
};

const LOOPBACK: &str = "127.0.0.1";

/// A folder of its own in the temporary folder of the machine.
pub(crate) struct NativeFolderFixture {
    folder: WinPath,
    listener: TcpListener,
    volume: VolumeId,
}

impl NativeFolderFixture {
    pub(crate) fn new() -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wincsi-suite-{}-{number}", process::id());
        let folder = temporary()?.join(component(&name));
        NativeFiles::new().create_directory(&folder)?;
        let volume = NativeVolumes::new().mounted_at(&folder.prefix(0))?;
        let listener = TcpListener::bind((LOOPBACK, 0));
        let listener = listener.map_err(|error| failed("bind", LOOPBACK, &error))?;
        Ok(Self {
            folder,
            listener,
            volume,
        })
    }
}

impl Drop for NativeFolderFixture {
    /// A folder that cannot be removed stays in the temporary folder, as a sign.
    fn drop(&mut self) {
        let _ = remove(&self.folder);
    }
}

impl CaseControl for NativeFolderFixture {
    fn folder(&self) -> &WinPath {
        &self.folder
    }

    fn volume(&self) -> VolumeId {
        self.volume
    }

    fn listener(&self) -> Option<(String, u16)> {
        let address = self.listener.local_addr().ok()?;
        Some((LOOPBACK.to_owned(), address.port()))
    }

    fn write_file(&self, path: &WinPath, content: &[u8]) -> Result<()> {
        fs::write(path.to_verbatim(), content).map_err(|error| failed("WriteFile", path, &error))
    }

    fn read_file(&self, path: &WinPath) -> Result<Vec<u8>> {
        fs::read(path.to_verbatim()).map_err(|error| failed("ReadFile", path, &error))
    }

    fn set_read_only(&self, path: &WinPath) -> Result<()> {
        let set = || -> io::Result<()> {
            let path = PathBuf::from(path.to_verbatim());
            let mut permissions = fs::symlink_metadata(&path)?.permissions();
            permissions.set_readonly(true);
            fs::set_permissions(path, permissions)
        };
        set().map_err(|error| failed("SetFileAttributesW", path, &error))
    }

    fn create_reparse_point(&self, path: &WinPath, kind: LinkKind, data: &[u8]) -> Result<()> {
        match kind {
            LinkKind::Directory => NativeFiles::new().create_directory(path)?,
            LinkKind::File => self.write_file(path, b"")?,
        }
        set_reparse_point(path, OpenOptions::new().write(true), data)
    }

    fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> Result<()> {
        let options = &mut OpenOptions::new();
        set_reparse_point(directory, options.access_mode(FILE_WRITE_ATTRIBUTES), data)
    }

    /// On every Windows Server, the optimisation of drives (started on demand); under Wine, an unused cache of fonts
    /// (its printing is running now and then).
    fn idle_service(&self) -> Option<&'static str> {
        Some(match super::wine::is_here() {
            true => "FontCache",
            false => "defragsvc",
        })
    }
}

fn set_reparse_point(path: &WinPath, options: &mut OpenOptions, data: &[u8]) -> Result<()> {
    let entry = options
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path.to_verbatim());
    let entry = entry.map_err(|error| failed("CreateFileW", path, &error))?;
    super::wine::set_reparse_point(&entry, data)
        .map_err(|code| Error::new("FSCTL_SET_REPARSE_POINT", path, code))
}

fn temporary() -> Result<WinPath> {
    let folder = std::env::temp_dir();
    let text = folder.to_string_lossy();
    let parsed = text.parse::<WinPath>();
    parsed.map_err(|_| Error::new("GetTempPathW", text, Win32::INVALID_NAME))
}

fn remove(directory: &WinPath) -> Result<()> {
    let files = NativeFiles::new();
    for listed in files.list(directory)? {
        let Ok(name) = Component::listed(listed.name) else {
            continue;
        };
        let path = directory.join(name);
        files.clear_read_only(&path)?;
        match (listed.entry.is_directory(), listed.entry.tag) {
            (true, None) => remove(&path)?,
            (true, Some(_)) => files.remove_directory(&path)?,
            (false, _) => files.remove_file(&path)?,
        }
    }
    files.clear_read_only(directory)?;
    files.remove_directory(directory)
}

fn failed(operation: &'static str, object: impl Display, error: &io::Error) -> Error {
    let code = error
        .raw_os_error()
        .and_then(|code| u32::try_from(code).ok());
    Error::new(operation, object, code.map_or(Win32::GEN_FAILURE, Win32))
}

fn component(name: &str) -> Component {
    Component::parse(name).expect("a plain name")
}
