//! A claim is cloned, while the controller and csi-provisioner are killed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::life::Life;
use super::node::{PROVISIONER, SHARE_CONTROLLER};
use super::objects::{self, Objects};
use crate::{process, trial};

pub(super) const SOURCE: &str = "/api/v1/namespaces/default/persistentvolumeclaims/smb-delete";

/// So many files take the controller seconds.
pub(super) const FILES: usize = 2_000;

const COMPARING: Duration = Duration::from_secs(60);

impl Life<'_> {
    /// Clones a claim of many files. Both are killed once a part is copied; then the clone gets whole.
    pub(super) fn clone_claim(&mut self) -> Result<()> {
        let source = self.wait_for(SOURCE, objects::bound_to)?;
        let share = self.node.samba.root();
        let many = share.join(&source).join("many");
        fs::create_dir(&many)?;
        for number in 0..FILES {
            fs::write(many.join(number.to_string()), number.to_string().repeat(99))?;
        }
        let objects = Objects::read("clone.yaml")?;
        objects.apply(&self.plane.api)?;
        let clones = share.join(".wincsi/clones");
        self.wait_for_half()?;
        self.running.kill(SHARE_CONTROLLER)?;
        self.running.kill(PROVISIONER)?;
        let copied = half(&share).context("it was whole before its controller was killed")?;
        self.node.start_share_controller(self.running)?;
        self.node.start_sidecar(self.running, PROVISIONER)?;
        let clone = self.wait_for_claims(&objects)?.remove(0);
        expect_same(&share.join(&source), &share.join(&clone))?;
        ensure!(
            trial::names(&many)?.len() == FILES,
            "the source has lost files"
        );
        let left = trial::names(&clones)?;
        ensure!(left.is_empty(), "{left:?} is left in .wincsi/clones");
        for path in objects.paths() {
            self.delete(&path)?;
        }
        self.wait_until_gone(&objects::volume_path(&clone))?;
        ensure!(!share.join(&clone).exists(), "the clone's folder is left");
        let shown_by = format!(
            "controller and csi-provisioner were killed at {copied} of {FILES} files; the clone has \
             its source's names and bytes, and was deleted again"
        );
        self.done("smb claim cloned", &shown_by);
        Ok(())
    }

    /// Waits until the controller copies, and has copied some of the files.
    pub(super) fn wait_for_half(&mut self) -> Result<()> {
        let share = self.node.samba.root();
        self.running
            .wait("a part is copied", || Ok(half(&share)))
            .map(drop)
    }
}

/// How many of the files the copy has that is not whole yet.
pub(super) fn half(share: &Path) -> Option<usize> {
    let copies = share.join(".wincsi/clones");
    let mut names = trial::names(&copies).ok()?.into_iter();
    let copied = |copy: String| trial::names(&copies.join(copy).join("many")).ok();
    let copied = names.find_map(copied)?.len();
    (copied > 0).then_some(copied)
}

/// Fails unless two folders have the same names and bytes.
pub(super) fn expect_same(one: &Path, other: &Path) -> Result<()> {
    let mut diff = Command::new("diff");
    diff.arg("--recursive").arg(one).arg(other);
    let same = process::capture(&mut diff, COMPARING)?;
    same.success("diff").map(drop)
}
