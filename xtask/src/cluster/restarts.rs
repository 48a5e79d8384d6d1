//! Deaths and restarts below running pods: of the driver, of kubelet, of the whole node; and a loss of the driver's
//! registration socket.

use std::time::Duration;

use anyhow::Result;

use super::gap::CsiNodeWatch;
use super::life::{Life, Pods};
use super::node::{DRIVER, KUBELET_PROGRAM};
use crate::host::Host;

/// The driver's log lines after its registration by kubelet, and of calls.
const REGISTERED: &str = "kubelet registered";
const STAGED: &str = "NodeStageVolume: OK";
const PUBLISHED: &str = "NodePublishVolume: OK";

/// The storage service is away (RPC_S_SERVER_UNAVAILABLE).
const NO_STORAGE_SERVICE: &str = "[[fault]]\n\
    operation = \"IWbemServices.ExecQuery\"\n\
    object = \"*MSFT_Disk *\"\n\
    effect = { fail = { hresult = 0x800706BA } }\n";

impl Life<'_> {
    /// Ends the driver, kubelet and the node below the pods, and starts them again.
    pub(super) fn restart(&mut self, pods: &Pods) -> Result<()> {
        self.kill_driver(pods)?;
        // Under Wine a signal kills, and there is no socket.
        if let Host::Linux = self.node.host {
            self.update_driver(pods)?;
            self.remove_registration(pods)?;
        }
        self.kill_kubelet(pods)?;
        self.reboot(pods)
    }

    fn kill_driver(&mut self, pods: &Pods) -> Result<()> {
        let watch = CsiNodeWatch::start(&self.plane.api);
        self.running.kill(DRIVER)?;
        let place = self.read_files(pods)?;
        self.node.start_driver(self.running)?;
        let gap = self.registered_again(watch, 0)?;
        self.driver_has_done("NodeGetVolumeStats")?;
        let shown_by = format!("{gap}; its successor reports the volume's figures; {place}");
        self.done("driver killed", &shown_by);
        Ok(())
    }

    /// The old process ends on request, and then the new one starts.
    fn update_driver(&mut self, pods: &Pods) -> Result<()> {
        let watch = CsiNodeWatch::start(&self.plane.api);
        let took = self.running.stop(DRIVER)?;
        self.node.start_driver(self.running)?;
        let gap = self.registered_again(watch, 0)?;
        let (took, place) = (seconds(took), self.read_files(pods)?);
        let shown_by = format!("SIGTERM ended it in {took}; {gap}; {place}");
        self.done("driver updated", &shown_by);
        Ok(())
    }

    /// The socket's file of a registered driver is removed.
    fn remove_registration(&mut self, pods: &Pods) -> Result<()> {
        let watch = CsiNodeWatch::start(&self.plane.api);
        let registered = self.running.times_printed(DRIVER, REGISTERED)?;
        self.node.sockets.remove_registration()?;
        let gap = self.registered_again(watch, registered)?;
        let place = self.read_files(pods)?;
        let shown_by = format!("the driver made another socket; {gap}; {place}");
        self.done("socket removed", &shown_by);
        Ok(())
    }

    /// Waits until kubelet has registered the running driver more than so many times.
    fn registered_again(&mut self, watch: CsiNodeWatch, than: usize) -> Result<String> {
        self.running.wait_for_another(DRIVER, REGISTERED, than)?;
        let gap = watch.end()?;
        Ok(format!("CSINode lacked it for {}", seconds(gap)))
    }

    /// Kubelet starts without a memory, and stages and publishes staged and published volumes again: here while the
    /// storage service is away, not needed by a live volume. The pods have their files open.
    fn kill_kubelet(&mut self, pods: &Pods) -> Result<()> {
        let staged = self.running.times_printed(DRIVER, STAGED)?;
        let published = self.running.times_printed(DRIVER, PUBLISHED)?;
        self.node.inject(NO_STORAGE_SERVICE)?;
        self.running.kill(KUBELET_PROGRAM)?;
        self.node.start_kubelet(self.running)?;
        self.wait_for_volumes(pods, staged, published)?;
        self.node.inject("")?;
        let place = self.read_files(pods)?;
        let shown_by = format!("{STAGED}, {PUBLISHED} without the storage service; {place}");
        self.done("kubelet killed", &shown_by);
        Ok(())
    }

    fn reboot(&mut self, pods: &Pods) -> Result<()> {
        self.running.kill(KUBELET_PROGRAM)?;
        self.running.kill(DRIVER)?;
        let boot = self.node.reboot()?;
        self.node.expect_no_mapping()?;
        self.node.expect_sessions(0)?;
        self.node.start_driver(self.running)?;
        self.node.start_kubelet(self.running)?;
        self.running.wait_for_line(DRIVER, REGISTERED)?;
        self.wait_for_volumes(pods, 0, 0)?;
        let place = self.read_files(pods)?;
        let shown_by =
            format!("its boot {boot}; {STAGED}, {PUBLISHED}; mapped and logged in again; {place}");
        self.done("node rebooted", &shown_by);
        Ok(())
    }

    /// Waits until the driver has staged and published each volume once more than so many calls.
    fn wait_for_volumes(&mut self, pods: &Pods, staged: usize, published: usize) -> Result<()> {
        let (staged, published) = (staged + pods.staged(), published + pods.published());
        self.running.wait_for_another(DRIVER, STAGED, staged - 1)?;
        self.running
            .wait_for_another(DRIVER, PUBLISHED, published - 1)
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f32())
}
