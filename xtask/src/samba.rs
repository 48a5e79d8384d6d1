//! A Samba whose shares are the files of one that a simulated node has beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::trial;

#[allow(clippy::unwrap_used, clippy::panic, reason = "it is test code")]
#[path = "../../crates/smb/tests/samba/smbd.rs"]
mod smbd;

pub(crate) use self::smbd::{PASSWORD, Samba};

/// The server and its share, as volumes name them.
const SERVER: &str = "127.0.0.1";
const SHARE: &str = "encrypted";

/// Its user, as the node logs on.
pub(crate) fn user() -> String {
    format!(r"FILES\{}", smbd::user())
}

/// Starts one, and makes it a server beside the node, at its port.
pub(crate) fn beside(trial: &Path, node: &Path) -> Result<Samba> {
    let samba = Samba::start();
    let (user, port) = (user(), samba.port().to_string());
    let server = [SERVER, SHARE, &user, PASSWORD, "--port", &port];
    let share = trial::make_share(trial, node, &server)?;
    fs::remove_dir(samba.root()).context("remove the share's folder")?;
    symlink(share, samba.root()).context("put the node's in its place")?;
    Ok(samba)
}

/// Fails unless the share has these folders of volumes and nothing of a controller: neither record nor lock.
pub(crate) fn expect_folders(samba: &Samba, volumes: &[&str]) -> Result<()> {
    let records = samba.root().join(".wincsi");
    let own = names(&records)?;
    let being_deleted = names(&records.join("deleted"))?;
    ensure!(
        own == ["deleted"] && being_deleted.is_empty(),
        "the controller left {own:?}, {being_deleted:?}"
    );
    let left = names(&samba.root())?;
    let expected = [&[".wincsi"], volumes].concat();
    ensure!(left == expected, "the share has {left:?}");
    Ok(())
}

/// What a folder has, in order.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}
