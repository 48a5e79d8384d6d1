//! The life of a pod with a LUN of an iSCSI target.

use anyhow::{Context, Result};

use super::life::{Life, UNSTAGED};
use super::node::DRIVER;
use super::objects::{self, LUN_CLAIM, LUN_POD, Objects};

/// A running pod with a LUN.
pub(super) struct LunPod {
    /// The PersistentVolume's name, also the driver's id of it, as democratic-csi has it.
    volume: String,
    /// The driver's publish folder from kubelet, below kubelet's root.
    pub(super) published_at: String,
}

impl Life<'_> {
    /// From a node without a session to a pod with a file on its LUN.
    pub(super) fn begin_lun(&mut self) -> Result<LunPod> {
        self.node.expect_sessions(0)?;
        let objects = Objects::read("iscsi.yaml")?;
        objects.apply(&self.plane.api)?;
        let volume = self.wait_for(LUN_CLAIM, objects::bound_to)?;
        let image = self.node.image(&volume)?;
        let pod = objects.pods.first().context("no pod")?;
        let published_at = self.begin_pod(pod, &volume)?;
        self.wait_for(LUN_POD, objects::runs)?;
        self.node.expect_sessions(1)?;
        let place = self.write_file_at(&published_at)?;
        self.done(
            "iscsi pod Running",
            &format!("on {image}, the node has one session; {place}"),
        );
        Ok(LunPod {
            volume,
            published_at,
        })
    }

    /// Ends the pod and its volume: neither session, portal nor LUN is left.
    pub(super) fn end_lun(&mut self, pod: &LunPod) -> Result<()> {
        let unstaged = self.running.times_printed(DRIVER, UNSTAGED)?;
        self.delete(LUN_POD)?;
        self.expect_unpublished(&pod.published_at)?;
        self.running.wait_for_another(DRIVER, UNSTAGED, unstaged)?;
        self.node.expect_initiator_unused()?;
        self.expect_no_password()?;
        let shown_by =
            format!("{UNSTAGED}, the node has no session and no portal, no log has the password");
        self.done("iscsi pod deleted", &shown_by);
        self.delete(LUN_CLAIM)?;
        self.wait_until_gone(&objects::volume_path(&pod.volume))?;
        self.node.expect_no_image(&pod.volume)?;
        self.done(
            "iscsi PV deleted",
            "the API has neither PVC nor PV, and the LUN is gone",
        );
        Ok(())
    }
}
