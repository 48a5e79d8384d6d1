//! csi-driver-smb as far as it changes a node, and kubelet around it.
//!
//! What it calls, and in which order, is read from its source (`pkg/mounter`, commit 95c6968); nothing of it runs here.

#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::BTreeSet;

use wincsi::filesystem::Look;
use wincsi::smb::{
    MapRequest, MappingOptions, MappingStatus, RemotePath, ResolvedPath, ShareMapping,
};
use wincsi::{Cause, Error, NodeApi, WinPath, pipes};

use crate::fixture::{DRIVER, Fixture, KUBELET, Volume, path};
use crate::support::served::Served;

/// How a call of kubelet's ends.
pub(crate) type Answer = Result<(), Error>;

/// csi-driver-smb in one of its two ways.
pub(crate) trait Upstream {
    /// NodeStageVolume at a path; for an inline volume NodePublishVolume calls it with the target.
    fn stage_at(&mut self, fixture: &Fixture, volume: &Volume<'_>, at: &WinPath) -> Answer;

    /// NodeUnstageVolume.
    fn unstage_from(&mut self, fixture: &Fixture, volume: &Volume<'_>, at: &WinPath) -> Answer;

    /// NodePublishVolume: a link to the staging path.
    fn publish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) -> Answer;

    /// NodeUnpublishVolume. The mapping of an inline volume stays.
    fn unpublish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) -> Answer {
        let files = NodeApi::filesystem(&fixture.hand);
        files.remove_entry(&path(&volume.target(pod)), fixture.soon())
    }

    /// NodeStageVolume, after kubelet's part.
    fn stage(&mut self, fixture: &Fixture, volume: &Volume<'_>) -> Answer {
        prepare(fixture, volume);
        self.stage_at(fixture, volume, &path(&volume.staging()))
    }

    /// NodeUnstageVolume, before kubelet's part.
    fn unstage(&mut self, fixture: &Fixture, volume: &Volume<'_>) -> Answer {
        self.unstage_from(fixture, volume, &path(&volume.staging()))?;
        clean_up(fixture, volume);
        Ok(())
    }
}

/// In a container: csi-proxy does all of it, and the container's own files count the volumes of each share.
pub(crate) struct ByProxy {
    served: Served,
    counted: BTreeSet<(String, String)>,
}

/// In a HostProcess container: each volume's folder is mapped itself.
pub(crate) struct HostProcess;

impl ByProxy {
    /// With the node's csi-proxy, which is ours.
    pub(crate) fn on(fixture: &Fixture) -> Self {
        Self {
            served: Served::start(&fixture.sim, fixture.home()),
            counted: BTreeSet::new(),
        }
    }

    /// Its pod is replaced, and with it the files in its container.
    pub(crate) fn restart(&mut self) {
        self.counted.clear();
    }

    /// An operator makes the file of a volume that another driver staged, as the page on migration says.
    pub(crate) fn count(&mut self, fixture: &Fixture, volume: &Volume<'_>) {
        let remote = linked_share(fixture, &path(&volume.staging()));
        let counted = remote.map(|remote| (remote.share(), volume.handle.to_owned()));
        self.counted.extend(counted);
    }

    fn client(&self) -> pipes::Node {
        self.served.client()
    }

    /// A path where something may be that is to go.
    fn clear(client: &pipes::Node, fixture: &Fixture, at: &WinPath) -> Answer {
        let files = NodeApi::filesystem(client);
        if is_something(fixture, at) {
            files.remove_tree(at, fixture.soon())?;
        }
        let parent = at.parent().unwrap();
        if !files.path_exists(&parent, fixture.soon())? {
            files.make_directory(&parent, fixture.soon())?;
        }
        Ok(())
    }
}

impl Upstream for ByProxy {
    fn stage_at(&mut self, fixture: &Fixture, volume: &Volume<'_>, at: &WinPath) -> Answer {
        if is_mounted(fixture, at) {
            return Ok(());
        }
        let client = self.client();
        Self::clear(&client, fixture, at)?;
        let remote = RemotePath::parse(volume.remote).unwrap();
        let (credentials, link) = (volume.credentials(), ResolvedPath::from(at));
        let request = MapRequest::of(&remote)
            .with_credentials(credentials.as_ref())
            .with_link(&link);
        client.smb().map(&request, fixture.soon())?;
        let counted = (remote.share(), volume.handle.to_owned());
        self.counted.insert(counted);
        Ok(())
    }

    /// A volume without a count stays staged, link and mapping untouched (`refcounter_windows.go`: an `os.Remove`). One that
    /// csi-proxy fails has dropped its count all the same.
    fn unstage_from(&mut self, fixture: &Fixture, volume: &Volume<'_>, at: &WinPath) -> Answer {
        let client = self.client();
        let remote = linked_share(fixture, at).ok_or_else(|| no_link(at))?;
        let share = remote.share();
        let counted = (share.clone(), volume.handle.to_owned());
        if !self.counted.remove(&counted) {
            return Err(refused("remove the count of", at, "File not found"));
        }
        if !self.counted.iter().any(|(counted, _)| *counted == share) {
            client.smb().unmap(&remote, fixture.soon())?;
        }
        let files = client.filesystem();
        files.remove_tree(at, fixture.soon())
    }

    fn publish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) -> Answer {
        let (client, target) = (self.client(), path(&volume.target(pod)));
        if is_mounted(fixture, &target) {
            return Ok(());
        }
        Self::clear(&client, fixture, &target)?;
        let (files, staging) = (client.filesystem(), path(&volume.staging()));
        files.create_symlink(&staging, &target, fixture.soon())
    }
}

impl Upstream for HostProcess {
    fn stage_at(&mut self, fixture: &Fixture, volume: &Volume<'_>, at: &WinPath) -> Answer {
        if is_mounted(fixture, at) {
            return Ok(());
        }
        let remote = RemotePath::parse(volume.remote).unwrap().folder_itself();
        let found = mapping_of(fixture, &remote)?;
        let is_ok = |found: &ShareMapping| found.status == Some(MappingStatus::Ok);
        let reads = || opens(fixture, remote.path());
        let (smb, soon) = (NodeApi::smb(&fixture.hand), fixture.soon());
        match found.as_ref().map(is_ok) {
            Some(true) if reads() => {}
            Some(true) => {
                smb.unmap(&remote, soon)?;
                make_mapping(fixture, volume, &remote)?;
            }
            // Windows maps nothing twice.
            Some(false) => return Err(refused("map", remote.path(), "it is mapped")),
            None => make_mapping(fixture, volume, &remote)?,
        }
        link(fixture, remote.path(), at)
    }

    fn unstage_from(&mut self, fixture: &Fixture, _volume: &Volume<'_>, at: &WinPath) -> Answer {
        let remote = linked_share(fixture, at).ok_or_else(|| no_link(at))?;
        if !has_twin(fixture, at, &remote) {
            // A failure is logged there.
            let remote = remote.folder_itself();
            let unmapped = NodeApi::smb(&fixture.hand).unmap(&remote, fixture.soon());
            drop(unmapped);
        }
        let files = NodeApi::filesystem(&fixture.hand);
        files.remove_entry(at, fixture.soon())
    }

    fn publish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) -> Answer {
        let target = path(&volume.target(pod));
        match is_mounted(fixture, &target) {
            true => Ok(()),
            false => link(fixture, &path(&volume.staging()), &target),
        }
    }
}

/// `New-SmbGlobalMapping -RequirePrivacy $true`.
fn make_mapping(fixture: &Fixture, volume: &Volume<'_>, remote: &RemotePath) -> Answer {
    let credentials = volume.credentials();
    let request = MapRequest::of(remote)
        .with_credentials(credentials.as_ref())
        .with_options(MappingOptions::default().with_privacy(true));
    let mapped = NodeApi::smb(&fixture.hand).map(&request, fixture.soon());
    mapped.map(drop)
}

/// The mapping of exactly that.
fn mapping_of(fixture: &Fixture, remote: &RemotePath) -> Result<Option<ShareMapping>, Error> {
    let mappings = NodeApi::smb(&fixture.hand).mappings(fixture.soon())?;
    let mut mappings = mappings.into_iter();
    Ok(mappings.find(|one| one.remote.to_lowercase() == remote.share()))
}

/// Whether it leaves what is there as it is: a link behind which a directory can be read.
fn is_mounted(fixture: &Fixture, at: &WinPath) -> bool {
    fixture.link_target(&at.to_string()).is_some() && opens(fixture, at)
}

fn opens(fixture: &Fixture, directory: &WinPath) -> bool {
    let files = NodeApi::filesystem(&fixture.hand);
    files.list(directory, 1000, fixture.soon()).is_ok()
}

fn is_something(fixture: &Fixture, at: &WinPath) -> bool {
    let files = NodeApi::filesystem(&fixture.hand);
    let look = files.look(at, fixture.soon());
    look.is_ok_and(|look| look != Look::Missing)
}

fn no_link(at: &WinPath) -> Error {
    refused("read the link", at, "it is none")
}

fn refused(operation: &'static str, object: &WinPath, why: &str) -> Error {
    Error::new(operation, object, Cause::InvalidArgument(why.to_owned()))
}

/// Kubelet's part before a stage: its file about the volume, and the staging folder.
pub(crate) fn prepare(fixture: &Fixture, volume: &Volume<'_>) {
    fixture.make_directory(&volume.staging());
    let parent = path(&volume.staging()).parent().unwrap();
    describe(fixture, &parent, DRIVER, volume.handle);
}

/// Kubelet's file about a volume, in a folder.
pub(crate) fn describe(fixture: &Fixture, folder: &WinPath, driver: &str, handle: &str) {
    let text = format!(r#"{{"driverName":"{driver}","volumeHandle":"{handle}"}}"#);
    let file = path(&format!(r"{folder}\vol_data.json"));
    let files = fixture.files();
    files.write_file(&file, text.as_bytes()).unwrap();
}

/// Kubelet's part after an unstage.
pub(crate) fn clean_up(fixture: &Fixture, volume: &Volume<'_>) {
    let parent = path(&volume.staging()).parent().unwrap();
    let files = NodeApi::filesystem(&fixture.hand);
    files.remove_tree(&parent, fixture.soon()).unwrap();
}

/// Makes a directory link, where at most an empty folder or another link is.
pub(crate) fn link(fixture: &Fixture, to: &WinPath, at: &WinPath) -> Answer {
    let files = NodeApi::filesystem(&fixture.hand);
    files.make_directory(&at.parent().unwrap(), fixture.soon())?;
    if is_something(fixture, at) {
        files.remove_entry(at, fixture.soon())?;
    }
    files.link_directory(to, at, fixture.soon())
}

/// What a staging link leads to.
fn linked_share(fixture: &Fixture, at: &WinPath) -> Option<RemotePath> {
    let target = fixture.link_target(&at.to_string())?;
    RemotePath::parse(&target.to_string()).ok()
}

/// Whether another staging link of the driver has the very same target.
fn has_twin(fixture: &Fixture, staging: &WinPath, remote: &RemotePath) -> bool {
    let files = NodeApi::filesystem(&fixture.hand);
    let folder = path(&format!(r"{KUBELET}\plugins\kubernetes.io\csi\{DRIVER}"));
    let listing = files.list(&folder, 1000, fixture.soon()).unwrap();
    let entries = listing.entries.into_iter();
    let stagings = entries.map(|entry| path(&format!(r"{}\globalmount", folder.join(entry.name))));
    let mut others = stagings.filter(|other| other.folded() != staging.folded());
    others.any(|other| {
        let target = linked_share(fixture, &other);
        target.is_some_and(|target| target.path().folded() == remote.path().folded())
    })
}
