//! Kubelet's folders with volumes, and where the links in them lead. Nothing is asked of any server.

use program::hidden;
use wincsi::filesystem::{LinkTarget, Look};
use wincsi::{Cause, Condition, Deadline, Error, Feature, ResultExt as _, WinPath};

use super::kubelet::below;
use super::{Context, is_nothing_mounted};
use crate::path::{KubeletPath, is_same};

/// No directory of kubelet's that is listed has more entries.
const MOST: usize = 20_000;

impl Context {
    /// Where volumes of CSI are staged, of each driver, and where pods have them; or were and had.
    pub(crate) fn stagings_and_mounts(&self, until: Deadline) -> Result<Vec<KubeletPath>, Error> {
        let mut links = self.stagings(until)?;
        links.extend(self.mounts_of_pods(until)?);
        Ok(links)
    }

    /// Where each driver's volumes are staged, or were.
    fn stagings(&self, until: Deadline) -> Result<Vec<KubeletPath>, Error> {
        let mut stagings = Vec::new();
        for driver in self.paths_in(self.kubelet.drivers_folder(), until)? {
            stagings.extend(self.stagings_in(&driver, until)?);
        }
        Ok(stagings)
    }

    /// Where volumes are staged in one driver's folder.
    pub(crate) fn stagings_in(
        &self,
        driver: &WinPath,
        until: Deadline,
    ) -> Result<Vec<KubeletPath>, Error> {
        let volumes = self.paths_in(Some(driver.clone()), until)?.into_iter();
        Ok(volumes
            .filter_map(|volume| below(&volume, &["globalmount"]))
            .map(KubeletPath::from)
            .collect())
    }

    /// Where pods have volumes of CSI, or had.
    pub(crate) fn mounts_of_pods(&self, until: Deadline) -> Result<Vec<KubeletPath>, Error> {
        let mut mounts = Vec::new();
        for pod in self.paths_in(self.kubelet.pods_folder(), until)? {
            let volumes = below(&pod, &["volumes", "kubernetes.io~csi"]);
            let volumes = self.paths_in(volumes, until)?.into_iter();
            mounts.extend(volumes.filter_map(|volume| below(&volume, &["mount"])));
        }
        Ok(mounts.into_iter().map(KubeletPath::from).collect())
    }

    /// Where exactly this path leads; none if it is no link to a path, or the host reads no links.
    pub(crate) fn link_target(
        &self,
        link: &WinPath,
        deadline: Deadline,
    ) -> Result<Option<WinPath>, Error> {
        if !self.has(Feature::EntryLooks) {
            return Ok(None);
        }
        let target = self.node.filesystem().read_link(link, deadline);
        Ok(match target.none_if(Condition::NotFound)?.flatten() {
            Some(LinkTarget::Path(path)) => {
                hidden::hide(&path.to_string());
                Some(path)
            }
            _ => None,
        })
    }

    /// Whether exactly this path is a link to that one. A host that reads no links takes each for the right one.
    pub(crate) fn leads_to(
        &self,
        at: &WinPath,
        to: &WinPath,
        deadline: Deadline,
    ) -> Result<bool, Error> {
        if !self.has(Feature::EntryLooks) {
            let is_link = self.node.filesystem().is_symlink(at, deadline);
            return Ok(is_link.none_if(Condition::NotFound)?.unwrap_or(false));
        }
        let target = self.link_target(at, deadline)?;
        Ok(target.is_some_and(|target| is_same(&target, to)))
    }

    /// What is in a directory; nothing of one that is not there, or is a file.
    fn paths_in(&self, directory: Option<WinPath>, until: Deadline) -> Result<Vec<WinPath>, Error> {
        let Some(directory) = directory else {
            return Ok(Vec::new());
        };
        match self.node.filesystem().list(&directory, MOST, until) {
            Ok(listing) if !listing.is_whole => {
                let cause = Cause::InvalidArgument(format!("it has more than {MOST} entries"));
                Err(Error::new("list", &directory, cause))
            }
            Ok(listing) => {
                let entries = listing.entries.into_iter();
                Ok(entries.map(|entry| directory.join(entry.name)).collect())
            }
            Err(error) if is_nothing_mounted(&error) || self.is_file(&directory, until) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    fn is_file(&self, at: &WinPath, until: Deadline) -> bool {
        matches!(self.look(at, until), Ok(Some(Look::File { .. })))
    }
}
