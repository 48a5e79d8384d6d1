//! The simulated node as a fixture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use node::api::NodeApi;
use node::{Node, Options};
use os::{DiskNumber, Error, LinkKind, Os, Root, VolumeId, Win32, WinPath};
use os_sim::iscsi::{self, IscsiControl, TargetSpec};
use os_sim::smb::{ServerHealth, ServerSpec, SmbControl};
use os_sim::{
    Bus, ClockMode, Content, DiskSpec, IdentifierKind, NodeSpec, Rule, ServiceSpec, SimNode,
    SpannedSpec, Start,
};
use tempfile::TempDir;
use wincsi_conformance::{CaseControl, IscsiTarget, NodeFixture, Share, SharedFile, names};

use super::platform;

const SERVER: &str = "files";
const SHARE: &str = "data";
const USER: &str = r"FILES\alice";
const PASSWORD: &str = "pass:word";
const FILE: &str = "found";
const CONTENT: &[u8] = b"read through the share";
const PORTAL: &str = "10.0.0.9";
const TARGET: &str = "iqn.2026-01.com.example:data";

const SPANNED: SpannedSpec = SpannedSpec {
    letter: 'S',
    disks: 2,
    disk_bytes: 64 << 20,
};

/// A node with a share and no data disk yet.
pub(crate) struct Simulator {
    node: Node,
    simulated: SimNode,
    folder: WinPath,
    volume: VolumeId,
    disks: Mutex<BTreeMap<DiskNumber, Plugged>>,
    host: TempDir,
}

/// A plugged disk.
#[derive(Clone)]
struct Plugged {
    name: String,
    identity: String,
}

impl Simulator {
    /// With services of the suite's.
    pub(crate) fn for_node() -> Result<Self, Box<dyn std::error::Error>> {
        let mut spec = NodeSpec::default();
        spec.service.push(service(names::BASE_SERVICE, &[]));
        let base = &[names::BASE_SERVICE];
        spec.service.push(service(names::DEPENDENT_SERVICE, base));
        Self::of(&spec)
    }

    /// With a spanned volume and an iSCSI target, and an initiator service that starts by itself.
    pub(crate) fn for_seam() -> Result<Self, Box<dyn std::error::Error>> {
        let mut spec = NodeSpec::default().spanned(SPANNED);
        let mut services = spec.service.iter_mut();
        if let Some(initiator) = services.find(|service| service.name == "MSiSCSI") {
            initiator.start = Start::Automatic;
        }
        let made = Self::of(&spec)?;
        let target = TargetSpec::named(TARGET).with_disk("data", DiskSpec::on(Bus::Iscsi));
        let portal = iscsi::ServerSpec::at(PORTAL).offering(target);
        let control = IscsiControl::at(made.host.path());
        control.add_server("array", &portal)?;
        control.set_image("data", 1 << 30)?;
        Ok(made)
    }

    fn of(spec: &NodeSpec) -> Result<Self, Box<dyn std::error::Error>> {
        let host = tempfile::tempdir()?;
        let simulated = SimNode::create(host.path(), spec, ClockMode::Virtual)?;
        let control = SmbControl::at(host.path());
        control.add_server(SERVER, &ServerSpec::sharing(SHARE, USER, PASSWORD))?;
        let shared = control.share_folder(SERVER, SHARE);
        fs::create_dir_all(&shared)?;
        fs::write(shared.join(FILE), CONTENT)?;
        let os = simulated.os();
        let folder: WinPath = r"C:\case".parse()?;
        os.files.create_directory(&folder)?;
        Ok(Self {
            volume: os.volumes.mounted_at(&r"C:\".parse()?)?,
            node: Node::new(os, Options::default()),
            simulated,
            folder,
            disks: Mutex::default(),
            host,
        })
    }

    pub(crate) fn system(&self) -> Os {
        self.simulated.os()
    }

    /// From now on the node answers as the rule has it.
    pub(crate) fn script(&self, rule: Rule) {
        self.simulated.faults().add(rule);
    }

    fn disks(&self) -> MutexGuard<'_, BTreeMap<DiskNumber, Plugged>> {
        self.disks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plugged(&self, disk: DiskNumber) -> os::Result<Plugged> {
        let plugged = self.disks().get(&disk).cloned();
        plugged.ok_or_else(|| Error::new("find", format!("disk {disk}"), Win32::NOT_FOUND))
    }

    fn name(&self, disk: DiskNumber) -> os::Result<String> {
        Ok(self.plugged(disk)?.name)
    }

    /// The newly appeared disk.
    fn came(
        &self,
        before: &[DiskNumber],
        name: String,
        identity: String,
    ) -> os::Result<DiskNumber> {
        self.rescan()?;
        let after = self.node.os().disks.list()?;
        let number = after.into_iter().find(|number| !before.contains(number));
        let number = number.ok_or_else(|| Error::new("find", &name, Win32::NOT_FOUND))?;
        self.disks().insert(number, Plugged { name, identity });
        Ok(number)
    }

    fn let_server(&self, condition: ServerHealth) -> os::Result<()> {
        let done = SmbControl::at(self.host.path()).set_condition(SERVER, condition);
        done.map_err(|error| Error::new("set_condition", error, Win32::GEN_FAILURE))
    }

    fn rescan(&self) -> os::Result<()> {
        let node: &dyn NodeApi = &self.node;
        let rescanned = node.disks().rescan(node.deadline(Duration::from_secs(60)));
        rescanned.map_err(|error| Error::new("rescan", error, Win32::GEN_FAILURE))
    }
}

fn identified(identity: &str) -> DiskSpec {
    DiskSpec::on(Bus::Sas).identified(IdentifierKind::Naa, identity)
}

fn service(name: &str, needs: &[&str]) -> ServiceSpec {
    ServiceSpec {
        command: None,
        name: name.to_owned(),
        display_name: name.to_owned(),
        start: Start::Manual,
        depends_on: needs.iter().map(|&needed| needed.to_owned()).collect(),
        dies_at_start: false,
    }
}

impl NodeFixture for Simulator {
    fn node(&self) -> &Node {
        &self.node
    }

    fn plug(&self, length: u64) -> os::Result<DiskNumber> {
        let before = self.node.os().disks.list()?;
        let count = self.disks().len();
        let name = format!("plugged-{count}");
        let lun = u8::try_from(count + 1).unwrap_or(u8::MAX);
        let identity = format!("600000000000000{:x}", count + 1);
        let spec = identified(&identity).lun(lun);
        let hardware = self.simulated.hardware();
        let plugged = hardware.attach_disk(&name, &spec, &Content::blank(length));
        plugged.map_err(|error| Error::new("attach_disk", error, Win32::GEN_FAILURE))?;
        self.came(&before, name, identity)
    }

    fn copy(&self, disk: DiskNumber, length: u64) -> os::Result<[DiskNumber; 2]> {
        let before = self.node.os().disks.list()?;
        let Plugged { name, identity } = self.plugged(disk)?;
        let lun = u8::try_from(self.disks().len() + 1).unwrap_or(u8::MAX);
        let copy = format!("copy-of-{name}");
        let hardware = self.simulated.hardware();
        let spec = identified(&identity).lun(lun);
        let copied = hardware.clone_disk(&name, &copy, &spec);
        let grown = copied.and_then(|()| hardware.grow_disk(&copy, length));
        grown.map_err(|error| Error::new("clone_disk", error, Win32::GEN_FAILURE))?;
        Ok([disk, self.came(&before, copy, identity)?])
    }

    fn grow(&self, disk: DiskNumber, length: u64) -> os::Result<DiskNumber> {
        let hardware = self.simulated.hardware();
        let grown = hardware.grow_disk(&self.name(disk)?, length);
        grown.map_err(|error| Error::new("grow_disk", error, Win32::GEN_FAILURE))?;
        self.rescan()?;
        Ok(disk)
    }

    fn overwrite(&self, disk: DiskNumber, offset: u64, bytes: &[u8]) -> os::Result<()> {
        let hardware = self.simulated.hardware();
        let written = hardware.write_disk(&self.name(disk)?, offset, bytes);
        written.map_err(|error| Error::new("write_disk", error, Win32::GEN_FAILURE))
    }

    fn unplug(&self, disk: DiskNumber) -> os::Result<()> {
        let detached = self.simulated.hardware().detach_disk(&self.name(disk)?);
        detached.map_err(|error| Error::new("detach_disk", error, Win32::GEN_FAILURE))
    }

    fn grow_in_place(&self, disk: DiskNumber, length: u64) -> os::Result<()> {
        let grown = self
            .simulated
            .hardware()
            .grow_disk(&self.name(disk)?, length);
        grown.map_err(|error| Error::new("grow_disk", error, Win32::GEN_FAILURE))
    }

    fn layout_bytes(&self, disk: DiskNumber) -> os::Result<Vec<u8>> {
        let code = Win32::NOT_SUPPORTED;
        Err(Error::new("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", disk, code))
    }

    fn take_share_away(&self) -> os::Result<()> {
        self.let_server(ServerHealth::Down)
    }

    fn bring_share_back(&self) -> os::Result<()> {
        self.let_server(ServerHealth::Up)
    }

    fn shared_file(&self) -> Option<SharedFile> {
        Some(SharedFile {
            share: self.share()?,
            file: FILE,
            content: CONTENT,
        })
    }

    fn chained_services(&self) -> Option<[&'static str; 2]> {
        Some([names::BASE_SERVICE, names::DEPENDENT_SERVICE])
    }

    fn socket_folder(&self) -> PathBuf {
        self.host.path().join("s")
    }

    fn is_closed_to_others(&self, folder: &Path) -> os::Result<bool> {
        platform::is_closed(folder)
    }

    fn handles(&self) -> os::Result<u64> {
        platform::handles()
    }

    fn note(&self, text: &str) {
        println!("\nnote: {text}");
    }
}

impl CaseControl for Simulator {
    fn folder(&self) -> &WinPath {
        &self.folder
    }

    fn volume(&self) -> VolumeId {
        self.volume
    }

    fn write_file(&self, path: &WinPath, content: &[u8]) -> os::Result<()> {
        self.simulated.files().write_file(path, content)
    }

    fn read_file(&self, path: &WinPath) -> os::Result<Vec<u8>> {
        self.simulated.files().read_file(path)
    }

    fn set_read_only(&self, path: &WinPath) -> os::Result<()> {
        self.simulated.files().set_read_only(path)
    }

    fn create_reparse_point(&self, path: &WinPath, kind: LinkKind, data: &[u8]) -> os::Result<()> {
        let files = self.simulated.files();
        files.create_reparse_point(path, kind, data)
    }

    fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> os::Result<()> {
        self.simulated.files().become_reparse_point(directory, data)
    }

    fn raw_disk(&self) -> os::Result<DiskNumber> {
        self.plug(1 << 30)
    }

    fn share(&self) -> Option<Share> {
        Some(Share {
            path: format!(r"\\{SERVER}\{SHARE}"),
            user: USER.to_owned(),
            password: PASSWORD.to_owned(),
        })
    }

    fn listener(&self) -> Option<(String, u16)> {
        Some((SERVER.to_owned(), 445))
    }

    fn target(&self) -> Option<IscsiTarget> {
        Some(IscsiTarget {
            portal: PORTAL.to_owned(),
            name: TARGET.to_owned(),
        })
    }

    fn spanned(&self) -> Option<VolumeId> {
        let root = WinPath::of_root(Root::Drive(SPANNED.letter));
        self.node.os().volumes.mounted_at(&root).ok()
    }

    fn idle_service(&self) -> Option<&'static str> {
        Some("defragsvc")
    }
}
