//! Somebody who sees what is asked of files and volumes, and knows where it physically happens.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use os::Component;
use os::Dacl;
use os::DirEntry;
use os::Entry;
use os::Extent;
use os::FileSystem;
use os::Files;
use os::Held;
use os::LinkKind;
use os::Os;
use os::Pin;
use os::Result;
use os::Root;
use os::Space;
use os::VolumeId;
use os::VolumeLock;
use os::Volumes;
use os::WinPath;
use os_sim::SimNode;
use os_sim::demo;

/// What was asked outside the places that are watched.
#[derive(Clone, Default)]
pub(crate) struct Offences(Arc<Mutex<Vec<String>>>);

impl Offences {
    fn note(&self, offence: String) {
        self.0.lock().unwrap().push(offence);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// The node with a sentry before its files and volumes.
pub(crate) fn watched(sim: &SimNode, roots: &[&str]) -> (Os, Offences) {
    let mut os = sim.os();
    let offences = Offences::default();
    let sentry = Sentry {
        sim: sim.clone(),
        files: Arc::clone(&os.files),
        volumes: Arc::clone(&os.volumes),
        roots: roots.iter().map(|root| root.parse().unwrap()).collect(),
        offences: offences.clone(),
    };
    os.files = Arc::new(sentry.clone());
    os.volumes = Arc::new(sentry);
    (os, offences)
}

#[derive(Clone)]
struct Sentry {
    sim: SimNode,
    files: Arc<dyn Files>,
    volumes: Arc<dyn Volumes>,
    roots: Vec<WinPath>,
    offences: Offences,
}

impl Sentry {
    /// Notes a call on an entry whose directory is, all links followed, outside.
    fn see(&self, call: &str, path: &WinPath) {
        let is_inside = match (path.root(), path.parent()) {
            // The one share that calls of tests map.
            (Root::Share { .. }, None) => path.to_string().starts_with(demo::SHARE),
            (Root::Share { .. }, Some(_)) => false,
            // A root's own entry is nobody's secret.
            (_, None) => true,
            (_, Some(directory)) => match self.host(&directory) {
                Some(host) => self.is_root(path) || self.is_inside(&host),
                // What leads nowhere touches nothing.
                None => true,
            },
        };
        if !is_inside {
            self.offences.note(format!("{call} {path}"));
        }
    }

    fn is_root(&self, path: &WinPath) -> bool {
        let is_it = |root: &WinPath| path.is_within(root) && root.is_within(path);
        self.roots.iter().any(is_it)
    }

    fn is_inside(&self, host: &Path) -> bool {
        let mut roots = self.roots.iter().filter_map(|root| self.host(root));
        roots.any(|root| host.starts_with(root))
            || self.volumes_inside().any(|volume| host.starts_with(volume))
    }

    /// Where the volumes lie that are mounted at folders alone.
    fn volumes_inside(&self) -> impl Iterator<Item = PathBuf> {
        let volumes = self.volumes.list().unwrap_or_default();
        volumes.into_iter().filter_map(|volume| {
            let paths = self.volumes.access_paths(volume).ok()?;
            let is_drive = |path: &WinPath| path.name().is_none();
            let is_inside = !paths.is_empty() && !paths.iter().any(is_drive);
            let root = WinPath::of_root(Root::Volume(volume));
            is_inside.then(|| self.host(&root)).flatten()
        })
    }

    fn host(&self, path: &WinPath) -> Option<PathBuf> {
        self.sim.files().host_path(path).ok()
    }
}

impl Sentry {
    fn watching(&self, directory: &WinPath, pin: Pin) -> Pin {
        Pin::holding(Watching {
            sentry: self.clone(),
            directory: directory.clone(),
            pin,
        })
    }
}

/// A pinned directory.
struct Watching {
    sentry: Sentry,
    directory: WinPath,
    pin: Pin,
}

impl Watching {
    fn see(&self, call: &str, name: &Component) -> WinPath {
        let path = self.directory.join(name.clone());
        self.sentry.see(call, &path);
        path
    }
}

impl Held for Watching {
    fn pin(&self, name: &Component) -> Result<Pin> {
        let path = self.see("pin in", name);
        let pin = self.pin.pin(name)?;
        Ok(self.sentry.watching(&path, pin))
    }

    fn remove(&self, name: &Component) -> Result<()> {
        self.see("remove in", name);
        self.pin.remove(name)
    }

    fn create_directory(&self, name: &Component) -> Result<()> {
        self.see("create_directory in", name);
        self.pin.create_directory(name)
    }
}

impl Files for Sentry {
    fn entry(&self, path: &WinPath) -> Result<Entry> {
        self.see("entry", path);
        self.files.entry(path)
    }

    fn leads_to_directory(&self, path: &WinPath) -> Result<bool> {
        self.see("leads_to_directory", path);
        self.files.leads_to_directory(path)
    }

    fn reparse_data(&self, path: &WinPath) -> Result<Vec<u8>> {
        self.see("reparse_data", path);
        self.files.reparse_data(path)
    }

    fn list(&self, directory: &WinPath) -> Result<Vec<DirEntry>> {
        self.see("list", directory);
        self.files.list(directory)
    }

    fn pin(&self, directory: &WinPath) -> Result<Pin> {
        self.see("pin", directory);
        let pin = self.files.pin(directory)?;
        Ok(self.watching(directory, pin))
    }

    fn create_directory(&self, path: &WinPath) -> Result<()> {
        self.see("create_directory", path);
        self.files.create_directory(path)
    }

    fn remove_directory(&self, path: &WinPath) -> Result<()> {
        self.see("remove_directory", path);
        self.files.remove_directory(path)
    }

    fn remove_file(&self, path: &WinPath) -> Result<()> {
        self.see("remove_file", path);
        self.files.remove_file(path)
    }

    fn clear_read_only(&self, path: &WinPath) -> Result<()> {
        self.see("clear_read_only", path);
        self.files.clear_read_only(path)
    }

    fn create_symlink(&self, link: &WinPath, target: &str, kind: LinkKind) -> Result<()> {
        self.see("create_symlink", link);
        self.files.create_symlink(link, target, kind)
    }

    fn dacl(&self, directory: &WinPath) -> Result<String> {
        self.see("dacl", directory);
        self.files.dacl(directory)
    }

    fn set_dacl(&self, directory: &WinPath, dacl: &Dacl) -> Result<()> {
        self.see("set_dacl", directory);
        self.files.set_dacl(directory, dacl)
    }
}

impl Volumes for Sentry {
    fn mounted_at(&self, folder: &WinPath) -> Result<VolumeId> {
        self.see("mounted_at", folder);
        self.volumes.mounted_at(folder)
    }

    fn set_mount_point(&self, folder: &WinPath, volume: VolumeId) -> Result<()> {
        self.see("set_mount_point", folder);
        self.volumes.set_mount_point(folder, volume)
    }

    fn delete_mount_point(&self, folder: &WinPath) -> Result<()> {
        self.see("delete_mount_point", folder);
        self.volumes.delete_mount_point(folder)
    }

    fn list(&self) -> Result<Vec<VolumeId>> {
        self.volumes.list()
    }

    fn extents(&self, volume: VolumeId) -> Result<Vec<Extent>> {
        self.volumes.extents(volume)
    }

    fn space(&self, volume: VolumeId) -> Result<Space> {
        self.volumes.space(volume)
    }

    fn file_system(&self, volume: VolumeId) -> Result<Option<FileSystem>> {
        self.volumes.file_system(volume)
    }

    fn access_paths(&self, volume: VolumeId) -> Result<Vec<WinPath>> {
        self.volumes.access_paths(volume)
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
