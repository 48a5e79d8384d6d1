use wincsi::smb::{MappingStatus, RemotePath, ShareMapping};
use wincsi::{Error, WinPath};

use super::ShareKind;
use crate::life::Call;

/// The node's mappings at a time. Of a host that does not list them nothing is known.
pub(crate) struct Mappings(Option<Vec<ShareMapping>>);

impl Call<'_, ShareKind> {
    pub(super) fn mappings(&self) -> Result<Mappings, Error> {
        Ok(Mappings(self.ctx.mappings(self.deadline)?))
    }
}

impl Mappings {
    pub(crate) fn listed(mappings: Vec<ShareMapping>) -> Self {
        Self(Some(mappings))
    }

    pub(crate) fn all(&self) -> &[ShareMapping] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The mappings by which a path is reached: of its share, or of a folder on the way.
    fn covering(&self, path: &WinPath) -> impl Iterator<Item = &ShareMapping> {
        let mappings = self.all().iter();
        mappings.filter(move |mapping| covers(&mapping.remote, path))
    }

    /// The mappings by which none of these paths is reached.
    pub(crate) fn beside(&self, paths: &[WinPath]) -> Vec<&ShareMapping> {
        let mappings = self.all().iter();
        let is_used =
            |mapping: &&ShareMapping| paths.iter().any(|path| covers(&mapping.remote, path));
        mappings.filter(|mapping| !is_used(mapping)).collect()
    }

    /// Whether a path is reached. A host that does not list mappings has it mapped.
    pub(crate) fn reach(&self, path: &WinPath) -> bool {
        self.0.is_none() || self.covering(path).next().is_some()
    }

    /// How a path fares, if the host reports it: OK by one mapping is OK.
    pub(crate) fn status(&self, path: &WinPath) -> Option<MappingStatus> {
        let statuses = self.covering(path).filter_map(|mapping| mapping.status);
        statuses.min_by_key(|status| *status != MappingStatus::Ok)
    }

    /// The mappings by which a path is reached, each as the path through it.
    pub(super) fn ways_to(&self, remote: &RemotePath) -> Vec<RemotePath> {
        let mappings = self.covering(remote.path());
        let mapped = mappings.filter_map(|one| RemotePath::parse(&one.remote).ok());
        mapped.filter_map(|one| remote.through(&one)).collect()
    }

    /// How the path is to be mapped, and whether it is: as what serves it now, else by its share, else by a mapped folder
    /// on the way, beside which Windows may refuse the share.
    pub(super) fn best_way_to(
        &self,
        remote: &RemotePath,
        serves: Option<String>,
    ) -> (RemotePath, bool) {
        let ways = self.ways_to(remote).into_iter();
        let is_other = |way: &RemotePath| serves.as_ref() != Some(&way.share());
        match ways.min_by_key(|way| (is_other(way), way.mapped_folders())) {
            Some(best) => (best, true),
            None => (remote.clone(), false),
        }
    }

    /// The path, mapped itself, where folders of its server are, beside which Windows refused the share.
    pub(super) fn folder_beside_others(&self, remote: &RemotePath) -> Option<RemotePath> {
        let is_beside = |mapping: &ShareMapping| {
            RemotePath::parse(&mapping.remote).is_ok_and(|other| {
                other.server() == remote.server() && other.folder_itself().mapped_folders() > 0
            })
        };
        let folder = remote.clone().folder_itself();
        let has_folder = folder.mapped_folders() > 0;
        (has_folder && self.all().iter().any(is_beside)).then_some(folder)
    }
}

/// Whether a mapping is of the share that a path is on, or of a folder that the path lies in. A share is mapped by its name
/// in lower case.
pub(super) fn covers(mapped: &str, path: &WinPath) -> bool {
    let mapped = mapped.parse::<WinPath>();
    mapped.is_ok_and(|mapped| path.prefix(mapped.components().len()).folded() == mapped.folded())
}
