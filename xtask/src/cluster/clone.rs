//! A claim is cloned, while the controller and csi-provisioner are killed.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::life::Life;
use super::node::{PROVISIONER, SHARE_CONTROLLER};
use super::objects::{self, Objects};
use crate::{process, trial};

const SOURCE: &str = "/api/v1/namespaces/default/persistentvolumeclaims/smb-delete";

/// So many files take the controller seconds.
const FILES: usize = 2_000;

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
        let half = || -> Option<usize> {
            let clone = trial::names(&clones).ok()?.pop()?;
            let copied = trial::names(&clones.join(clone).join("many")).ok()?;
            Some(copied.len()).filter(|copied| *copied > 0)
        };
        self.running.wait("a part is copied", || Ok(half()))?;
        self.running.kill(SHARE_CONTROLLER)?;
        self.running.kill(PROVISIONER)?;
        let copied = half().context("it was whole before its controller was killed")?;
        self.node.start_share_controller(self.running)?;
        self.node.start_sidecar(self.running, PROVISIONER)?;
        let clone = self.wait_for_claims(&objects)?.remove(0);
        let mut diff = Command::new("diff");
        diff.arg("--recursive")
            .arg(share.join(&source))
            .arg(share.join(&clone));
        process::capture(&mut diff, COMPARING)?.success("diff")?;
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
}
