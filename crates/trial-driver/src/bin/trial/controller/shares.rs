//! Volumes as folders of shares. Their ids and contexts are as csi-driver-smb's controller makes them:
//! `server/share#subDir#uuid#onDelete`, with a uuid if the class names the folder, and here without the last.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fs, io};

use transport::{Code, Status};
use wincsi::sim::smb::SmbControl;
use wincsi::smb::RemotePath;
use wire::csi::v1::{CreateVolumeRequest, Volume};

use super::service::{USUAL, Wanted, signed};
use super::volume::not_found;

/// The keys of the share in a class's parameters and a volume's context, and of the folder below
/// it.
pub(crate) const SOURCE: &str = "source";
const FOLDER: &str = "subDir";

/// The shares of the servers beside a node.
pub(crate) struct Shares {
    servers: SmbControl,
    /// The requested sizes, in bytes by the volume's id: a folder has none.
    sizes: BTreeMap<String, u64>,
}

/// A folder of a share.
pub(crate) struct ShareVolume {
    id: String,
    source: String,
    folder: String,
}

impl ShareVolume {
    /// The volume of an id, if it is a share's.
    pub(crate) fn of_id(id: &str) -> Option<Self> {
        let mut fields = id.split('#');
        let (source, folder) = (fields.next()?, fields.next()?);
        Some(Self {
            id: id.to_owned(),
            source: format!("//{source}"),
            folder: folder.to_owned(),
        })
    }

    fn of_wish(name: &str, parameters: &BTreeMap<String, String>) -> Option<Self> {
        let source = parameters.get(SOURCE)?.trim_matches('/');
        let (folder, uuid) = match parameters.get(FOLDER) {
            Some(folder) => (folder.trim_matches('/'), name),
            None => (name, ""),
        };
        Self::of_id(&format!("{source}#{folder}#{uuid}#"))
    }

    fn context(&self) -> BTreeMap<String, String> {
        let entries = [(SOURCE, &self.source), (FOLDER, &self.folder)];
        let entries = entries.map(|(key, value)| (key.to_owned(), value.clone()));
        entries.into()
    }
}

impl Shares {
    pub(crate) fn new(servers: SmbControl) -> Self {
        Self {
            servers,
            sizes: BTreeMap::new(),
        }
    }

    pub(crate) fn create(
        &mut self,
        request: &CreateVolumeRequest,
        wanted: &Wanted,
    ) -> Result<Volume, Status> {
        let volume = ShareVolume::of_wish(&request.name, &request.parameters);
        let volume = volume.ok_or_else(|| not_found(&request.name))?;
        let size = *self.sizes.entry(volume.id.clone()).or_insert(wanted.least);
        wanted.check(size)?;
        fs::create_dir_all(self.place(&volume)?).map_err(failed)?;
        Ok(Volume {
            capacity_bytes: signed(size)?,
            volume_context: volume.context(),
            volume_id: volume.id,
            ..Default::default()
        })
    }

    pub(crate) fn delete(&mut self, volume: &ShareVolume) -> Result<(), Status> {
        self.sizes.remove(&volume.id);
        match fs::remove_dir_all(self.place(volume)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// The volume's size; the default for one made by an administrator.
    pub(crate) fn existing(&self, volume: &ShareVolume) -> Result<u64, Status> {
        match self.place(volume)?.is_dir() {
            true => Ok(self.sizes.get(&volume.id).copied().unwrap_or(USUAL)),
            false => Err(not_found(&volume.id)),
        }
    }

    pub(crate) fn grow(&mut self, volume: &ShareVolume, size: u64) {
        self.sizes.insert(volume.id.clone(), size);
    }

    /// Where on this machine the folder lies. A share has been set up on this machine, or is none.
    fn place(&self, volume: &ShareVolume) -> Result<PathBuf, Status> {
        let remote = RemotePath::parse(&format!("{}/{}", volume.source, volume.folder));
        let remote = remote.map_err(|error| {
            Status::new(
                Code::InvalidArgument,
                format!("the source is refused: {error}"),
            )
        })?;
        let share = remote.share();
        let share = share.rsplit('\\').next().unwrap_or_default();
        let place = self.servers.share_folder(&remote.server(), share);
        if !place.is_dir() {
            return Err(not_found(&volume.id));
        }
        let folders = remote.path().components().iter();
        Ok(folders.fold(place, |place, folder| place.join(folder.as_os_str())))
    }
}

fn failed(error: io::Error) -> Status {
    Status::new(Code::Unavailable, format!("the share's folder: {error}"))
}
