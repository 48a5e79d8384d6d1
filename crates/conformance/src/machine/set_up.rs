use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use node::api::NodeApi;
use node::{Node, Options};
use os::{VolumeId, WinPath};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::disks::Disk;
use super::{Lock, clean_up, services};
use crate::arguments::Arguments;
use crate::real::{self, NewUser, VirtualDisks};
use crate::{IscsiTarget, SharedFile, cases, names};

/// The size of the suite's own volume: room for the cases' files, in a growing file.
const LENGTH: u64 = 4 << 30;

/// More than formatting takes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The shared folder of the suite's volume.
const SHARED: &str = "shared";
const FILE: &str = "found";
const CONTENT: &[u8] = b"read through the share";

/// This machine, with its fixtures for the time of a run. Dropping it detaches the volume;
/// [`clean_up`](super::clean_up()) removes everything with a name.
pub struct Machine {
    pub(super) node: Node,
    pub(super) functions: VirtualDisks,
    pub(super) root: WinPath,
    pub(super) volume: VolumeId,
    folder: PathBuf,
    next: AtomicU32,
    share: Result<Shared, String>,
    services: Result<(), String>,
    target: Option<(String, String)>,
    /// After all its users: fields are dropped in this order.
    _volume_disk: Disk,
}

/// A share of this machine, and its user.
struct Shared {
    path: String,
    user: String,
    password: Zeroizing<String>,
}

impl Machine {
    /// Removes a former run's leftovers, then makes the suite's volume, and share, user and services. Failing to make
    /// one of the last three is a shortage: the cases that need it fail, and the others run. The lock has to outlive
    /// the machine; it is not the machine's own because a case that does not end keeps the machine.
    ///
    /// # Errors
    /// A leftover cannot be removed, or there is no volume.
    pub fn set_up(arguments: &Arguments, lock: &Lock) -> Result<Self, String> {
        let folder = lock.folder().to_owned();
        clean_up::refuse_remains(lock)?;
        let functions = VirtualDisks::load().map_err(text)?;
        let native = os_windows::node(names::EVENT_SOURCE);
        let node = Node::new(native, Options::default());
        let file = folder.join(names::disk_file(0));
        let plugged = Disk::plug(functions, file, LENGTH, &node);
        let (disk, number) = plugged.map_err(text)?;
        let (root, volume) = volume_on(&node, number).map_err(text)?;
        Ok(Self {
            share: share(&node, &root),
            services: services::install().map_err(text),
            node,
            functions,
            root,
            volume,
            folder,
            next: AtomicU32::new(1),
            target: arguments
                .iscsi_portal
                .clone()
                .zip(arguments.iscsi_target.clone()),
            _volume_disk: disk,
        })
    }

    /// Fixtures that could not be made, and why.
    #[must_use]
    pub fn shortages(&self) -> Vec<String> {
        let share = self.share.as_ref().err();
        let share = share.map(|why| format!("no share: {why}"));
        let services = self.services.as_ref().err();
        let services = services.map(|why| format!("no services: {why}"));
        share.into_iter().chain(services).collect()
    }

    /// A number unique in this run.
    pub(super) fn next(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// The file of a disk to be made.
    pub(super) fn disk_file(&self) -> PathBuf {
        self.folder.join(names::disk_file(self.next()))
    }

    pub(super) fn shared_file(&self) -> Option<SharedFile> {
        let shared = self.share.as_ref().ok()?;
        Some(SharedFile {
            share: crate::Share {
                path: shared.path.clone(),
                user: shared.user.clone(),
                password: shared.password.as_str().to_owned(),
            },
            file: FILE,
            content: CONTENT,
        })
    }

    pub(super) fn has_services(&self) -> bool {
        self.services.is_ok()
    }

    pub(super) fn target(&self) -> Option<IscsiTarget> {
        let (portal, name) = self.target.clone()?;
        Some(IscsiTarget { portal, name })
    }
}

/// The share as this machine and others name it.
pub(super) fn share_path() -> os::Result<String> {
    let computer = real::computer_name()?;
    Ok(format!(r"\\{computer}\{}", names::SHARE))
}

/// Partitions and formats the disk through the operations under test, and gives its volume a free letter, because some
/// behaviour needs paths with one.
fn volume_on(node: &Node, disk: os::DiskNumber) -> Result<(WinPath, VolumeId), String> {
    let api: &dyn NodeApi = node;
    let deadline = api.deadline(TIMEOUT);
    let found = cases::found(api, disk, deadline).map_err(text)?;
    api.disks().partition(&found, deadline).map_err(text)?;
    let volume = api.volumes().find_on(&found, deadline).map_err(text)?;
    api.volumes().format(&volume, deadline).map_err(text)?;
    let volume = volume.id();
    let letter = real::free_drive().ok_or("no drive letter is free")?;
    let root: WinPath = format!(r"{letter}:\").parse().map_err(text)?;
    node.os()
        .volumes
        .set_mount_point(&root, volume)
        .map_err(text)?;
    Ok((root, volume))
}

fn share(node: &Node, root: &WinPath) -> Result<Shared, String> {
    let folder: WinPath = format!(r"{root}\{SHARED}").parse().map_err(text)?;
    node.os().files.create_directory(&folder).map_err(text)?;
    let file: WinPath = format!(r"{folder}\{FILE}").parse().map_err(text)?;
    fs::write(file.to_verbatim(), CONTENT).map_err(text)?;
    let password = password();
    let user = NewUser {
        name: names::USER,
        password: &password,
        comment: names::REMARK,
    };
    real::add_user(&user).map_err(text)?;
    real::add_share(names::SHARE, &folder.to_string(), names::REMARK).map_err(text)?;
    let computer = real::computer_name().map_err(text)?;
    Ok(Shared {
        path: share_path().map_err(text)?,
        user: format!(r"{computer}\{}", names::USER),
        password,
    })
}

/// 122 random bits, and a character of every kind that a policy may require.
fn password() -> Zeroizing<String> {
    let mut random = Zeroizing::new([0_u8; 36]);
    let text = Uuid::new_v4()
        .hyphenated()
        .encode_lower(&mut *random)
        .to_owned();
    let text = Zeroizing::new(text);
    Zeroizing::new(format!("Aa1-{}", text.as_str()))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
