//! A simulated node with all that the behaviour suite needs.

use os::{
    Arguments, Deadline, DiskNumber, Error, LinkKind, Result, Root, Target, VolumeId, Win32,
    WinPath,
};
use os_sim::iscsi::{self, IscsiControl, TargetSpec};
use os_sim::smb::{ServerSpec, SmbControl};
use os_sim::{Bus, ClockMode, Content, DiskSpec, NodeSpec, SimNode, SpannedSpec, Start};
use tempfile::TempDir;
use wincsi_conformance::{CaseControl, IscsiTarget, Share};

const PORTAL: &str = "10.0.0.9";
const SMB_PASSWORD: &str = "pass:word";
const SMB_SERVER: &str = "files";
const SMB_USER: &str = r"FILES\alice";
const TARGET: &str = "iqn.2026-01.com.example:data";

const SPANNED: SpannedSpec = SpannedSpec {
    letter: 'S',
    disks: 2,
    disk_bytes: 64 << 20,
};

/// A node with a spanned volume, whose initiator service starts by itself.
fn spec() -> NodeSpec {
    let mut spec = NodeSpec::default().spanned(SPANNED);
    let mut services = spec.service.iter_mut();
    if let Some(initiator) = services.find(|service| service.name == "MSiSCSI") {
        initiator.start = Start::Automatic;
    }
    spec
}

pub(crate) struct SimulatorFixture {
    pub(crate) node: SimNode,
    folder: WinPath,
    volume: VolumeId,
    host: TempDir,
}

impl SimulatorFixture {
    pub(crate) fn new() -> std::result::Result<Self, Box<dyn std::error::Error>> {
        let host = tempfile::tempdir()?;
        let node = SimNode::create(host.path(), &spec(), ClockMode::Virtual)?;
        let share = ServerSpec::sharing("data", SMB_USER, SMB_PASSWORD);
        SmbControl::at(host.path()).add_server(SMB_SERVER, &share)?;
        let target = TargetSpec::named(TARGET).with_disk("data", DiskSpec::on(Bus::Iscsi));
        let portal = iscsi::ServerSpec::at(PORTAL).offering(target);
        IscsiControl::at(host.path()).add_server("array", &portal)?;
        IscsiControl::at(host.path()).set_image("data", 1 << 30)?;
        let folder: WinPath = r"C:\case".parse()?;
        let os = node.os();
        os.files.create_directory(&folder)?;
        let volume = os.volumes.mounted_at(&r"C:\".parse()?)?;
        Ok(Self {
            folder,
            node,
            volume,
            host,
        })
    }
}

impl CaseControl for SimulatorFixture {
    fn folder(&self) -> &WinPath {
        &self.folder
    }

    fn volume(&self) -> VolumeId {
        self.volume
    }

    fn write_file(&self, path: &WinPath, content: &[u8]) -> Result<()> {
        self.node.files().write_file(path, content)
    }

    fn read_file(&self, path: &WinPath) -> Result<Vec<u8>> {
        self.node.files().read_file(path)
    }

    fn set_read_only(&self, path: &WinPath) -> Result<()> {
        self.node.files().set_read_only(path)
    }

    fn raw_disk(&self) -> Result<DiskNumber> {
        let spec = DiskSpec::on(Bus::Sas).lun(1);
        let disks = self.host.path().join("disks");
        let plugged = self
            .node
            .hardware()
            .attach_disk("raw", &spec, &Content::blank(1 << 30));
        plugged.map_err(|_| Error::new("attach_disk", disks.display(), Win32::DISK_FULL))?;
        let os = self.node.os();
        let target = Target::Class("MSFT_StorageSetting");
        let method = "UpdateHostStorageCache";
        let none = Arguments::none();
        os.storage.invoke(target, method, &none, Deadline::NEVER)?;
        Ok(DiskNumber(1 + u32::from(SPANNED.disks)))
    }

    fn create_reparse_point(&self, path: &WinPath, kind: LinkKind, data: &[u8]) -> Result<()> {
        self.node.files().create_reparse_point(path, kind, data)
    }

    fn become_reparse_point(&self, directory: &WinPath, data: &[u8]) -> Result<()> {
        self.node.files().become_reparse_point(directory, data)
    }

    fn share(&self) -> Option<Share> {
        Some(Share {
            path: format!(r"\\{SMB_SERVER}\data"),
            user: SMB_USER.to_owned(),
            password: SMB_PASSWORD.to_owned(),
        })
    }

    fn listener(&self) -> Option<(String, u16)> {
        Some((SMB_SERVER.to_owned(), 445))
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
