//! The node that demonstrations and first experiments play on.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use os::WinPath;

use crate::Arrives;
use crate::Bus;
use crate::ClockMode;
use crate::Content;
use crate::CreateError;
use crate::DiskSpec;
use crate::IdentifierKind;
use crate::NodeSpec;
use crate::SimNode;
use crate::smb::ServerSpec;
use crate::smb::SmbControl;

/// The serial number of the data disk.
pub const DISK_SERIAL: &str = "WINCSIDEMO0001";

/// The one share near the node.
pub const SHARE: &str = r"\\fileserver\share";

/// Who may use the share.
pub const SMB_USER: &str = r"DOMAIN\user";

/// The user's password. It opens nothing but a simulated share.
pub const SMB_PASSWORD: &str = "password";

const KUBELET: &str = r"C:\var\lib\kubelet";

const SMB_SERVER: &str = "fileserver";

/// The name of the data disk among the hardware.
const DISK: &str = "data";

const DISK_LENGTH: u64 = 2 << 30;

/// Makes a node in a folder: drive C, one raw data disk of 2 GiB that is online, and one SMB server.
///
/// # Errors
/// The folder holds a node already, or cannot be written.
pub fn create(folder: &Path, clock: ClockMode) -> Result<SimNode, CreateError> {
    let node = SimNode::create(folder, &NodeSpec::named("demo"), clock)?;
    let data = DiskSpec::on(Bus::Sas)
        .serial(DISK_SERIAL)
        .lun(1)
        .identified(IdentifierKind::Naa, "600224801234567890abcdef00000001")
        .arriving(Arrives::Online);
    node.hardware()
        .attach_disk(DISK, &data, &Content::blank(DISK_LENGTH))?;
    let server = ServerSpec::sharing("share", SMB_USER, SMB_PASSWORD);
    SmbControl::at(folder).add_server(SMB_SERVER, &server)?;
    prepare_kubelet(&node).map_err(|source| CreateError::File {
        path: folder.to_owned(),
        source,
    })?;
    Ok(node)
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
