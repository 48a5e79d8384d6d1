//! The node that demonstrations and first experiments play on.

use std::io;
use std::path::{Path, PathBuf};

use os::WinPath;

use crate::iscsi::{self, IscsiControl, TargetSpec};
use crate::smb::{ServerSpec, SmbControl};
use crate::{
    Arrives, Bus, ClockMode, Content, CreateError, DiskSpec, HardwareError, IdentifierKind,
    NodeSpec, Profile, SimNode,
};

/// The serial number of the data disk.
pub const DISK_SERIAL: &str = "WINCSIDEMO0001";

/// The page 0x83 identifier of the data disk.
pub const DISK_PAGE83: &str = "600224801234567890abcdef00000001";

/// The name of the one SMB server near the node.
pub const SMB_SERVER: &str = "fileserver";

/// The one share near the node.
pub const SHARE: &str = r"\\fileserver\share";

/// The user of the share.
pub const SMB_USER: &str = r"DOMAIN\user";

/// The user's password. It opens nothing but a simulated share.
pub const SMB_PASSWORD: &str = "password";

/// The name of the one iSCSI server near the node.
pub const ISCSI_SERVER: &str = "array";

/// Where the one iSCSI server near the node listens, on port 3260.
pub const ISCSI_ADDRESS: &str = "10.0.0.9";

/// Its target that asks for nothing, with one disk.
pub const ISCSI_TARGET: &str = "iqn.2026-01.com.example:open";

/// Its target that asks for CHAP and can prove itself, with one disk.
pub const ISCSI_GUARDED_TARGET: &str = "iqn.2026-01.com.example:guarded";

/// The user of the guarded target.
pub const ISCSI_USER: &str = "node";

/// The user's secret. It opens nothing but a simulated target.
pub const ISCSI_SECRET: &str = "0123456789ab";

/// By what the guarded target proves itself to a node.
pub const ISCSI_PROOF: &str = "ba9876543210";

const KUBELET: &str = r"C:\var\lib\kubelet";

/// The name of the data disk among the hardware.
pub const DISK: &str = "data";

const DISK_LENGTH: u64 = 2 << 30;

const ISCSI_DISK_LENGTH: u64 = 1 << 30;

/// The place of a profile's data disk among such disks.
pub const DISK_UNIT: u8 = 1;

/// The cloud's name for the data disk of a profile.
#[must_use]
pub fn disk_identity(profile: Profile) -> &'static str {
    match profile {
        Profile::AzureScsi | Profile::HyperV => DISK_PAGE83,
        Profile::Ebs => "vol-0123456789abcdef0",
        Profile::Vsphere => "6000c291234567890abcdef000000001",
    }
}

/// Makes a node in a folder: drive C, one raw data disk of 2 GiB that is online, one SMB and one iSCSI
/// server. The node's initiator service does not run, as on a new Windows.
///
/// # Errors
/// The folder holds a node already, or cannot be written.
pub fn create(folder: &Path, clock: ClockMode) -> Result<SimNode, CreateError> {
    let data = DiskSpec::on(Bus::Sas)
        .serial(DISK_SERIAL)
        .lun(DISK_UNIT)
        .identified(IdentifierKind::Naa, DISK_PAGE83)
        .arriving(Arrives::Online);
    furnished(folder, &NodeSpec::named("demo"), &data, clock)
}

/// As [`create`], a node and a data disk of this profile. The disk arrives as on such a machine.
///
/// # Errors
/// As [`create`].
pub fn create_on(
    profile: Profile,
    folder: &Path,
    clock: ClockMode,
) -> Result<SimNode, CreateError> {
    let node = NodeSpec::named("demo").profile(profile);
    let data = profile.disk(DISK_UNIT, disk_identity(profile));
    furnished(folder, &node, &data, clock)
}

fn furnished(
    folder: &Path,
    node: &NodeSpec,
    data: &DiskSpec,
    clock: ClockMode,
) -> Result<SimNode, CreateError> {
    let node = SimNode::create(folder, node, clock)?;
    node.hardware()
        .attach_disk(DISK, data, &Content::blank(DISK_LENGTH))?;
    let server = ServerSpec::sharing("share", SMB_USER, SMB_PASSWORD);
    SmbControl::at(folder).add_server(SMB_SERVER, &server)?;
    prepare_targets(&IscsiControl::at(folder))?;
    prepare_kubelet(&node).map_err(|source| CreateError::File {
        path: folder.to_owned(),
        source,
    })?;
    Ok(node)
}

fn prepare_targets(servers: &IscsiControl) -> Result<(), HardwareError> {
    let disk = |digit| {
        let disk = DiskSpec::on(Bus::Iscsi).serial(&format!("WINCSIDEMO000{digit}"));
        disk.identified(IdentifierKind::Naa, &format!("6001405{digit:0>25}"))
    };
    let open = TargetSpec::named(ISCSI_TARGET).with_disk("open", disk(2));
    let guarded = TargetSpec::named(ISCSI_GUARDED_TARGET)
        .with_disk("guarded", disk(3))
        .asking(ISCSI_USER, ISCSI_SECRET)
        .proving(ISCSI_PROOF);
    for image in ["open", "guarded"] {
        servers.set_image(image, ISCSI_DISK_LENGTH)?;
    }
    let server = iscsi::ServerSpec::at(ISCSI_ADDRESS);
    servers.add_server(ISCSI_SERVER, &server.offering(open).offering(guarded))
}

/// A node that runs pods has the kubelet's folder.
fn prepare_kubelet(node: &SimNode) -> io::Result<()> {
    let files = node.os().files;
    let kubelet: WinPath = KUBELET.parse().map_err(io::Error::other)?;
    for depth in 1..=kubelet.components().len() {
        let folder = kubelet.prefix(depth);
        files.create_directory(&folder).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The image of the data disk; making it longer grows the disk.
#[must_use]
pub fn disk_image(folder: &Path) -> PathBuf {
    folder.join("disks").join(format!("{DISK}.img"))
}
