//! A Samba whose shares are the files of one that a simulated node has beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::trial;

#[allow(clippy::unwrap_used, clippy::panic, reason = "it is test code")]
#[path = "../../crates/smb/tests/samba/smbd.rs"]
mod smbd;

pub(crate) use self::smbd::{PASSWORD, Samba, user as local_user};

/// The server and its share, as volumes name them.
pub(crate) const SOURCE: &str = "//127.0.0.1/encrypted";
const SERVER: [&str; 2] = ["127.0.0.1", "encrypted"];

/// A Samba, and what the node has of it.
pub(crate) struct Share(Samba);

impl Share {
    /// Starts one, and makes it a server beside the node, where it has this port; none is its own.
    pub(crate) fn beside(trial: &Path, node: &Path, port: Option<u16>) -> Result<Self> {
        let samba = Samba::start();
        let (user, port) = (user(), port.unwrap_or(samba.port()).to_string());
        let [server, share] = SERVER;
        let server = [server, share, &user, PASSWORD, "--port", &port];
        let folder = trial::make_share(trial, node, &server)?;
        fs::remove_dir(samba.root()).context("remove the share's folder")?;
        symlink(folder, samba.root()).context("put the node's in its place")?;
        Ok(Self(samba))
    }

    /// This machine's folder of the share.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.root()
    }

    /// The mount option to reach it.
    pub(crate) fn option(&self) -> String {
        format!("port={}", self.0.port())
    }

    /// Fails unless these volumes' folders are left with this in each, and nothing of a controller: neither record nor lock.
    pub(crate) fn expect_left(&self, volumes: &[&str], in_each: &[&str]) -> Result<()> {
        let root = self.0.root();
        let expect = |folder: &str, expected: &[&str]| {
            let left = trial::names(&root.join(folder))?;
            ensure!(left == expected, "{folder:?} of the share has {left:?}");
            Ok(())
        };
        expect("", &[&[".wincsi"], volumes].concat())?;
        // They stay once there was a copy; one with something in it is not removed here.
        for folder in [".wincsi/clones", ".wincsi/snapshots"] {
            let _ = fs::remove_dir(root.join(folder));
        }
        expect(".wincsi", &["deleted"])?;
        expect(".wincsi/deleted", &[])?;
        volumes
            .iter()
            .try_for_each(|volume| expect(volume, in_each))
    }
}

/// The user of the share, as the node logs on.
pub(crate) fn user() -> String {
    format!(r"FILES\{}", local_user())
}
