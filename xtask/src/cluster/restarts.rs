//! Deaths and restarts below a pod that runs: of the driver, of kubelet, of the whole node; and a loss of the driver's
//! registration socket.

use std::time::Duration;

use anyhow::Result;

use super::gap::CsiNodeWatch;
use super::life::{Life, Pod};
use super::node::{DRIVER, KUBELET_PROGRAM};
use crate::host::Host;

/// What the driver says when kubelet has registered it, and of calls.
const REGISTERED: &str = "kubelet registered";
const STAGED: &str = "NodeStageVolume: OK";
const PUBLISHED: &str = "NodePublishVolume: OK";

/// The storage service is away (RPC_S_SERVER_UNAVAILABLE).
const NO_STORAGE_SERVICE: &str = "[[fault]]\n\
    operation = \"IWbemServices.ExecQuery\"\n\
    object = \"*MSFT_Disk *\"\n\
    effect = { fail = { hresult = 0x800706BA } }\n";

impl Life<'_> {
    /// Ends the driver, kubelet and the node below a pod, and starts them again.
    pub(super) fn restart(&mut self, pod: &Pod) -> Result<()> {
        self.kill_driver(pod)?;
        // Under Wine a signal kills, and there is no socket.
        if let Host::Linux = self.node.host {
            self.update_driver(pod)?;
            self.remove_registration(pod)?;
        }
        self.kill_kubelet(pod)?;
        self.reboot(pod)
    }

    fn kill_driver(&mut self, pod: &Pod) -> Result<()> {
        let watch = CsiNodeWatch::start(self.running, &self.plane.api)?;
        self.running.kill(DRIVER)?;
        let place = self.read_file(pod)?;
        self.node.start_driver(self.running)?;
        let gap = self.registered_again(watch, 0)?;
        self.driver_has_done("NodeGetVolumeStats")?;
        let shown_by = format!("{gap}; its successor reports the volume's figures; {place}");
        self.done("driver killed", &shown_by);
        Ok(())
    }

    /// The old process ends when it is asked to, and then the new one starts.
    fn update_driver(&mut self, pod: &Pod) -> Result<()> {
        let watch = CsiNodeWatch::start(self.running, &self.plane.api)?;
        let took = self.running.stop(DRIVER)?;
        self.node.start_driver(self.running)?;
        let gap = self.registered_again(watch, 0)?;
        let (took, place) = (seconds(took), self.read_file(pod)?);
        let shown_by = format!("SIGTERM ended it in {took}; {gap}; {place}");
        self.done("driver updated", &shown_by);
        Ok(())
    }

    /// The socket's file goes from under a driver that kubelet has registered.
    fn remove_registration(&mut self, pod: &Pod) -> Result<()> {
        let watch = CsiNodeWatch::start(self.running, &self.plane.api)?;
        let registered = self.running.times_printed(DRIVER, REGISTERED)?;
        self.node.remove_registration()?;
        let gap = self.registered_again(watch, registered)?;
        let place = self.read_file(pod)?;
        let shown_by = format!("the driver made another socket; {gap}; {place}");
        self.done("socket removed", &shown_by);
        Ok(())
    }

    /// Waits until kubelet has registered the driver that runs more than so many times.
    fn registered_again(&mut self, watch: CsiNodeWatch, than: usize) -> Result<String> {
        self.running.wait_for_another(DRIVER, REGISTERED, than)?;
        let gap = watch.end(self.running, &self.plane.api)?;
        Ok(format!("CSINode lacked it for {}", seconds(gap)))
    }

    /// Kubelet starts without a memory, and stages and publishes what is staged and published: here while the storage
    /// service is away, which a volume that is live does without. The pod has its files open.
    fn kill_kubelet(&mut self, pod: &Pod) -> Result<()> {
        let staged = self.running.times_printed(DRIVER, STAGED)?;
        let published = self.running.times_printed(DRIVER, PUBLISHED)?;
        self.node.inject(NO_STORAGE_SERVICE)?;
        self.running.kill(KUBELET_PROGRAM)?;
        self.node.start_kubelet(self.running)?;
        self.running.wait_for_another(DRIVER, STAGED, staged)?;
        self.running
            .wait_for_another(DRIVER, PUBLISHED, published)?;
        self.node.inject("")?;
        let place = self.read_file(pod)?;
        let shown_by = format!("{STAGED}, {PUBLISHED} without the storage service; {place}");
        self.done("kubelet killed", &shown_by);
        Ok(())
    }

    fn reboot(&mut self, pod: &Pod) -> Result<()> {
        self.running.kill(KUBELET_PROGRAM)?;
        self.running.kill(DRIVER)?;
        let boot = self.node.reboot()?;
        self.node.start_driver(self.running)?;
        self.node.start_kubelet(self.running)?;
        for line in [REGISTERED, STAGED, PUBLISHED] {
            self.running.wait_for_line(DRIVER, line)?;
        }
        let place = self.read_file(pod)?;
        let shown_by = format!("its boot {boot}; {STAGED}, {PUBLISHED}; {place}");
        self.done("node rebooted", &shown_by);
        Ok(())
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f32())
}
