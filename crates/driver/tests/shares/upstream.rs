//! csi-driver-smb as far as it changes a node, and kubelet around it.
//!
//! What it calls, and in which order, is read from its source (`pkg/mounter`, commit 95c6968); nothing of it runs here.

#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::BTreeSet;

use wincsi::filesystem::LinkTarget;
use wincsi::smb::{MapRequest, MappingOptions, RemotePath, ResolvedPath};
use wincsi::{NodeApi, WinPath, pipes};

use crate::fixture::{DRIVER, Fixture, KUBELET, Volume, path};
use crate::served::Served;

/// csi-driver-smb in one of its two ways.
pub(crate) trait Upstream {
    /// NodeStageVolume.
    fn stage(&mut self, fixture: &Fixture, volume: &Volume<'_>);

    /// NodeUnstageVolume.
    fn unstage(&mut self, fixture: &Fixture, volume: &Volume<'_>);

    /// NodePublishVolume: a link to the staging path.
    fn publish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str);

    /// NodeUnpublishVolume.
    fn unpublish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) {
        let files = NodeApi::filesystem(&fixture.hand);
        let target = path(&volume.target(pod));
        files.remove_entry(&target, fixture.soon()).unwrap();
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
            served: Served::start(&fixture.sim, fixture.home.path()),
            counted: BTreeSet::new(),
        }
    }

    /// Its pod is replaced, and with it the files in its container.
    pub(crate) fn restart(&mut self) {
        self.counted.clear();
    }

    fn client(&self) -> pipes::Node {
        self.served.client()
    }

    /// A path where something may be that is to go.
    fn clear(client: &pipes::Node, fixture: &Fixture, at: &WinPath) {
        let files = NodeApi::filesystem(client);
        if files.path_exists(at, fixture.soon()).unwrap() {
            assert!(!files.is_symlink(at, fixture.soon()).unwrap());
            files.remove_tree(at, fixture.soon()).unwrap();
        }
        let parent = at.parent().unwrap();
        if !files.path_exists(&parent, fixture.soon()).unwrap() {
            files.make_directory(&parent, fixture.soon()).unwrap();
        }
    }
}

impl Upstream for ByProxy {
    fn stage(&mut self, fixture: &Fixture, volume: &Volume<'_>) {
        prepare(fixture, volume);
        let (client, staging) = (self.client(), path(&volume.staging()));
        Self::clear(&client, fixture, &staging);
        let remote = RemotePath::parse(volume.remote).unwrap();
        let (credentials, link) = (volume.credentials(), ResolvedPath::from(&staging));
        let request = MapRequest::of(&remote)
            .with_credentials(credentials.as_ref())
            .with_link(&link);
        client.smb().map(&request, fixture.soon()).unwrap();
        self.counted
            .insert((remote.share(), volume.handle.to_owned()));
    }

    fn unstage(&mut self, fixture: &Fixture, volume: &Volume<'_>) {
        let (client, staging) = (self.client(), path(&volume.staging()));
        let remote = linked_share(fixture, &staging).unwrap();
        let share = remote.share();
        self.counted
            .remove(&(share.clone(), volume.handle.to_owned()));
        if !self.counted.iter().any(|(counted, _)| *counted == share) {
            client.smb().unmap(&remote, fixture.soon()).unwrap();
        }
        let files = client.filesystem();
        files.remove_tree(&staging, fixture.soon()).unwrap();
        clean_up(fixture, volume);
    }

    fn publish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) {
        let (client, target) = (self.client(), path(&volume.target(pod)));
        fixture.make_directory(&volume.target(pod));
        Self::clear(&client, fixture, &target);
        let files = client.filesystem();
        files
            .create_symlink(&path(&volume.staging()), &target, fixture.soon())
            .unwrap();
    }
}

impl Upstream for HostProcess {
    fn stage(&mut self, fixture: &Fixture, volume: &Volume<'_>) {
        prepare(fixture, volume);
        let remote = RemotePath::parse(volume.remote).unwrap().folder_itself();
        let credentials = volume.credentials();
        let request = MapRequest::of(&remote)
            .with_credentials(credentials.as_ref())
            .with_options(MappingOptions::default().with_privacy(true));
        NodeApi::smb(&fixture.hand)
            .map(&request, fixture.soon())
            .unwrap();
        link(fixture, remote.path(), &path(&volume.staging()));
    }

    fn unstage(&mut self, fixture: &Fixture, volume: &Volume<'_>) {
        let staging = path(&volume.staging());
        let remote = linked_share(fixture, &staging).unwrap();
        if !has_twin(fixture, &staging, &remote) {
            // A failure is logged there.
            let remote = remote.folder_itself();
            let unmapped = NodeApi::smb(&fixture.hand).unmap(&remote, fixture.soon());
            drop(unmapped);
        }
        let files = NodeApi::filesystem(&fixture.hand);
        files.remove_entry(&staging, fixture.soon()).unwrap();
        clean_up(fixture, volume);
    }

    fn publish(&self, fixture: &Fixture, volume: &Volume<'_>, pod: &str) {
        link(
            fixture,
            &path(&volume.staging()),
            &path(&volume.target(pod)),
        );
    }
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
    let files = fixture.sim.files();
    files.write_file(&file, text.as_bytes()).unwrap();
}

/// Kubelet's part after an unstage.
pub(crate) fn clean_up(fixture: &Fixture, volume: &Volume<'_>) {
    let parent = path(&volume.staging()).parent().unwrap();
    let files = NodeApi::filesystem(&fixture.hand);
    files.remove_tree(&parent, fixture.soon()).unwrap();
}

/// Makes a directory link, where at most an empty folder is.
pub(crate) fn link(fixture: &Fixture, to: &WinPath, at: &WinPath) {
    let files = NodeApi::filesystem(&fixture.hand);
    files
        .make_directory(&at.parent().unwrap(), fixture.soon())
        .unwrap();
    if files.path_exists(at, fixture.soon()).unwrap() {
        files.remove_entry(at, fixture.soon()).unwrap();
    }
    files.link_directory(to, at, fixture.soon()).unwrap();
}

/// What a staging link leads to.
fn linked_share(fixture: &Fixture, at: &WinPath) -> Option<RemotePath> {
    let files = NodeApi::filesystem(&fixture.hand);
    match files.read_link(at, fixture.soon()).ok()?? {
        LinkTarget::Path(target) => RemotePath::parse(&target.to_string()).ok(),
        LinkTarget::Volume(_) => None,
    }
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
