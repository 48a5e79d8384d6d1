//! A simulated node beside a server with shares, and a driver on it.

#![allow(dead_code, reason = "each test program uses a part")]

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use wincsi::filesystem::LinkTarget;
use wincsi::sim::smb::ServerSpec;
use wincsi::sim::testing::TestNode;
use wincsi::sim::{ClockMode, Inventory, NodeSpec, SimNode};
use wincsi::smb::{Credentials, MapRequest, MappingStatus, RemotePath};
use wincsi::{NodeApi, WinPath};
use wincsi_driver::kinds::share::{Hashes, RequestedShare, ShareKind, ShareOptions};
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::life::{CallError, Publish, PublishCall, Stage, StageCall, Stats};
use wincsi_driver::record::{Lifetime, Targets, VolumeHandle};
use zeroize::Zeroizing;

pub(crate) use crate::support::{Host, KUBELET, path};

use crate::deaths::Snapshot;
use crate::support::{DriverFixture, Records, Setup};

pub(crate) const SERVER: &str = "files";
pub(crate) const SHARE: &str = "data";
pub(crate) const ROOT: &str = r"\\files\data";
pub(crate) const USER: &str = r"FILES\pods";
pub(crate) const PASSWORD: &str = "correct horse";

/// A pod.
pub(crate) const POD: &str = "pod-1";

pub(crate) const DRIVER: &str = "smb.csi.k8s.io";

const SETUP: Setup = Setup {
    name: DRIVER,
    kinds,
};

pub(crate) struct Fixture(DriverFixture);

/// One volume, as its PV and its Secret describe it.
pub(crate) struct Volume<'a> {
    pub(crate) handle: &'a str,
    pub(crate) remote: &'a str,
    /// The server as the PV names it, if the remote path has its address.
    pub(crate) server: Option<&'a str>,
    pub(crate) user: &'a str,
    pub(crate) password: &'a str,
    pub(crate) lifetime: Lifetime,
    /// Kubelet's folder, as its calls spell it.
    pub(crate) kubelet: &'a str,
}

/// A volume of this handle on the share itself.
pub(crate) fn volume(handle: &str) -> Volume<'_> {
    Volume {
        handle,
        remote: ROOT,
        server: None,
        user: USER,
        password: PASSWORD,
        lifetime: Lifetime::Persistent,
        kubelet: KUBELET,
    }
}

impl Volume<'_> {
    pub(crate) fn staging(&self) -> String {
        let name = format!(
            "{:x}",
            self.handle.len() * 31 + self.handle.bytes().map(usize::from).sum::<usize>()
        );
        format!(
            r"{}\plugins\kubernetes.io\csi\{DRIVER}\{name}-{}\globalmount",
            self.kubelet,
            self.handle.replace(['/', '#'], "-")
        )
    }

    pub(crate) fn target(&self, pod: &str) -> String {
        let (kubelet, pv) = (self.kubelet, self.handle.replace(['/', '#'], "-"));
        format!(r"{kubelet}\pods\{pod}\volumes\kubernetes.io~csi\{pv}\mount")
    }

    pub(crate) fn credentials(&self) -> Option<Credentials> {
        Credentials::new(self.user, Zeroizing::new(self.password.to_owned()))
    }

    fn handle(&self) -> VolumeHandle {
        VolumeHandle::parse(self.handle).unwrap()
    }

    fn stage(&self, at: &str) -> Stage {
        Stage {
            volume: self.handle(),
            staging: path(at).into(),
            targets: Targets::Many,
            lifetime: self.lifetime,
        }
    }

    fn wanted(&self) -> RequestedShare {
        let remote = RemotePath::parse(self.remote).unwrap();
        RequestedShare {
            server: self.server.map_or_else(|| remote.server(), str::to_owned),
            remote,
            credentials: self.credentials(),
            options: ShareOptions::default(),
        }
    }
}

impl Fixture {
    /// A node beside a server with one share.
    pub(crate) fn new() -> Self {
        let sim = TestNode::of(tempfile::tempdir().unwrap(), &NodeSpec::named("n"));
        let fixture = Self(DriverFixture::on(sim, SETUP));
        fixture.add_server(SERVER, &ServerSpec::sharing(SHARE, USER, PASSWORD));
        fixture
    }

    /// The same, of a node that lives in memory but for its files: for tests that need thousands of operations.
    pub(crate) fn in_memory() -> Self {
        let (spec, none) = (NodeSpec::named("n"), Inventory::of(0));
        let sim = TestNode::by(tempfile::tempdir().unwrap(), |folder| {
            SimNode::in_memory_with_files(&spec, none, ClockMode::Virtual, folder)
        });
        Self(DriverFixture::on(sim, SETUP))
    }

    /// The driver starts on a machine that this is left of.
    pub(crate) fn revived(&self, left: &Snapshot) -> Self {
        Self(self.0.revived(left))
    }

    pub(crate) fn add_server(&self, name: &str, server: &ServerSpec) {
        self.servers().add_server(name, server).unwrap();
    }

    /// The server has its user by another password from now on.
    pub(crate) fn change_password(&self, password: &str) {
        let changed = ServerSpec::sharing(SHARE, USER, password);
        let change = |server: &mut ServerSpec| server.user = changed.user;
        self.servers().change_server(SERVER, change).unwrap();
    }

    pub(crate) fn stage(&self, volume: &Volume<'_>) -> Result<(), CallError> {
        self.make_staging_folder(volume);
        self.stage_again(volume)
    }

    /// Kubelet makes it before it calls.
    pub(crate) fn make_staging_folder(&self, volume: &Volume<'_>) {
        self.make_directory(&volume.staging());
    }

    /// Without what kubelet does before.
    pub(crate) fn stage_again(&self, volume: &Volume<'_>) -> Result<(), CallError> {
        self.stage_share(volume, &volume.staging())
    }

    pub(crate) fn unstage(&self, volume: &Volume<'_>) -> Result<(), CallError> {
        let staging = path(&volume.staging());
        self.call().unstage(&volume.handle(), &staging.into())
    }

    pub(crate) fn publish(&self, volume: &Volume<'_>, pod: &str) -> Result<(), CallError> {
        self.publish_with(volume, pod, None)
    }

    /// With node-publish secrets.
    pub(crate) fn publish_with_secret(
        &self,
        volume: &Volume<'_>,
        pod: &str,
    ) -> Result<(), CallError> {
        self.publish_with(volume, pod, volume.credentials())
    }

    fn publish_with(
        &self,
        volume: &Volume<'_>,
        pod: &str,
        credentials: Option<Credentials>,
    ) -> Result<(), CallError> {
        self.publish_to(volume, &volume.target(pod), credentials)
    }

    pub(crate) fn publish_at(&self, volume: &Volume<'_>, target: &str) -> Result<(), CallError> {
        self.publish_to(volume, target, None)
    }

    fn publish_to(
        &self,
        volume: &Volume<'_>,
        target: &str,
        credentials: Option<Credentials>,
    ) -> Result<(), CallError> {
        let publish = Publish {
            volume: volume.handle(),
            staging: path(&volume.staging()).into(),
            target: path(target).into(),
            targets: Targets::Many,
        };
        let shares = self.shares();
        let prove = |proof: PublishCall<'_>| shares.prove(proof, credentials);
        self.call().publish_by(shares, &publish, prove)
    }

    /// Publishes an inline volume.
    pub(crate) fn publish_inline(&self, volume: &Volume<'_>, pod: &str) -> Result<(), CallError> {
        self.stage_share(volume, &volume.target(pod))
    }

    /// As of a server that the cluster's DNS is asked for.
    pub(crate) fn publish_inline_by_name(
        &self,
        volume: &Volume<'_>,
        pod: &str,
    ) -> Result<(), CallError> {
        let (shares, stage) = (self.shares(), volume.stage(&volume.target(pod)));
        let resolve = |given: &RemotePath| Ok(given.clone());
        let staging = |turn: &StageCall<'_>| shares.stage_resolved(turn, volume.wanted(), resolve);
        self.call().stage_by(shares, &stage, staging)
    }

    fn stage_share(&self, volume: &Volume<'_>, at: &str) -> Result<(), CallError> {
        let (shares, stage) = (self.shares(), volume.stage(at));
        let staging = |turn: &StageCall<'_>| shares.stage(turn, &volume.wanted());
        self.call().stage_by(shares, &stage, staging)
    }

    pub(crate) fn unpublish(&self, volume: &Volume<'_>, pod: &str) -> Result<(), CallError> {
        let target = path(&volume.target(pod));
        self.call().unpublish(&volume.handle(), &target.into())
    }

    pub(crate) fn stats(&self, volume: &Volume<'_>, pod: &str) -> Result<Stats, CallError> {
        self.call().stats(&volume.handle(), &volume.target(pod))
    }

    /// The mappings of the node, also those that others made.
    pub(crate) fn mappings(&self) -> Vec<String> {
        let mappings = NodeApi::smb(&self.hand).mappings(self.soon()).unwrap();
        mappings
            .into_iter()
            .map(|one| one.remote.to_lowercase())
            .collect()
    }

    /// Those of the node's mappings that Windows calls disconnected.
    pub(crate) fn disconnected(&self) -> Vec<String> {
        let mappings = NodeApi::smb(&self.hand).mappings(self.soon()).unwrap();
        let disconnected = mappings
            .into_iter()
            .filter(|one| one.status == Some(MappingStatus::Disconnected));
        disconnected.map(|one| one.remote.to_lowercase()).collect()
    }

    /// Somebody else maps a share.
    pub(crate) fn map_by_hand(&self, remote: &str, user: &str, password: &str) {
        assert!(self.try_map_by_hand(remote, user, password));
    }

    /// As [`Self::map_by_hand`]; whether it came through.
    pub(crate) fn try_map_by_hand(&self, remote: &str, user: &str, password: &str) -> bool {
        let remote = RemotePath::parse(remote).unwrap();
        let credentials = Credentials::new(user, Zeroizing::new(password.to_owned()));
        let request = MapRequest::of(&remote).with_credentials(credentials.as_ref());
        NodeApi::smb(&self.hand).map(&request, self.soon()).is_ok()
    }

    /// Whether there was a mapping that went.
    pub(crate) fn try_unmap_by_hand(&self, mapped: &str) -> bool {
        let remote = RemotePath::parse(mapped).unwrap().folder_itself();
        NodeApi::smb(&self.hand).unmap(&remote, self.soon()).is_ok()
    }

    /// As [`Self::restart_driver`], with the comparison of the start.
    pub(crate) fn restart(&mut self) {
        self.restart_driver();
        self.reconcile();
    }

    /// The driver starts after a death that left these records.
    pub(crate) fn restart_with(&mut self, records: &Records) {
        self.0.restart_with(records);
        self.reconcile();
    }

    pub(crate) fn has_record(&self, volume: &Volume<'_>) -> bool {
        let of = |record: &Value| record["volume"] == volume.handle;
        self.parsed_records().iter().any(of)
    }

    pub(crate) fn parsed_records(&self) -> Vec<Value> {
        self.parsed("json")
    }

    pub(crate) fn parsed_leases(&self) -> Vec<Value> {
        self.parsed("lease")
    }

    fn parsed(&self, extension: &str) -> Vec<Value> {
        let mut files = self.record_files();
        files.retain(|file| file.extension().unwrap() == extension);
        files
            .iter()
            .map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
            .collect()
    }

    /// Kubelet takes a pod's volume down, as often as it takes.
    pub(crate) fn delete_pod(&self, volume: &Volume<'_>) {
        self.unpublish(volume, POD).unwrap();
        if volume.lifetime == Lifetime::Persistent {
            self.unstage(volume).unwrap();
        }
    }

    /// Kubelet does so after another driver's NodeUnstageVolume.
    pub(crate) fn remove_staging_folder(&self, volume: &Volume<'_>) {
        let staging = path(&volume.staging());
        self.remove_directory(&staging.to_string());
        self.remove_directory(&staging.parent().unwrap().to_string());
    }

    /// Where exactly this path leads; none if it is no link.
    pub(crate) fn link_target(&self, at: &str) -> Option<WinPath> {
        let files = NodeApi::filesystem(&self.hand);
        match files.read_link(&path(at), self.soon()).ok()?? {
            LinkTarget::Path(target) => Some(target),
            _ => None,
        }
    }

    /// Whether anything is at a path, past the operations of the node: a hundredth of the cost.
    pub(crate) fn has_entry(&self, at: &str) -> bool {
        let at = path(at);
        let (parent, name) = at.parent().zip(at.name()).unwrap();
        let folder = self.files().host_path(&parent);
        let entry = folder.map(|folder| folder.join(name.to_string()));
        entry.is_ok_and(|entry| fs::symlink_metadata(entry).is_ok())
    }

    /// This boot's id.
    pub(crate) fn boot(&self) -> String {
        let boot = NodeApi::system(&self.hand).boot_id(self.soon());
        boot.unwrap().0
    }

    /// Makes a folder of a share.
    pub(crate) fn make_folder(&self, name: &str) -> PathBuf {
        let folder = self.servers().share_folder(SERVER, SHARE).join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Writes a file through a path of the node, as a pod does.
    pub(crate) fn write(&self, at: &str, text: &str) {
        self.try_write(at, text).unwrap();
    }

    pub(crate) fn can_write(&self, at: &str) -> bool {
        self.try_write(at, "").is_ok()
    }

    fn try_write(&self, at: &str, text: &str) -> Result<(), os::Error> {
        let file = path(&format!(r"{at}\written.txt"));
        self.files().write_file(&file, text.as_bytes())
    }

    /// How many volumes have a record. Without one no lease is left either.
    pub(crate) fn records(&self) -> usize {
        let records = self.parsed_records().len();
        assert!(records > 0 || self.parsed_leases().is_empty());
        records
    }

    pub(crate) fn make_directory(&self, at: &str) {
        // Kubelet makes it, unless something is there.
        if !self.has_entry(at) {
            self.0.make_directory(at);
        }
    }

    /// From now on kubelet waits so long.
    pub(crate) fn with_client(mut self, waits: Duration) -> Self {
        self.client = waits;
        self
    }

    fn shares(&self) -> &ShareKind {
        self.kind()
    }
}

impl Deref for Fixture {
    type Target = DriverFixture;

    fn deref(&self) -> &DriverFixture {
        &self.0
    }
}

impl DerefMut for Fixture {
    fn deref_mut(&mut self) -> &mut DriverFixture {
        &mut self.0
    }
}

fn kinds(_: &SimNode) -> Vec<Row> {
    let mut settings = kinds::Settings::default();
    settings.shares.hashes = Hashes::QUICK;
    kinds::table(settings)
}
