use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use os::schema::Build;
use os::{Cause, Clock, Result};

use crate::clock::NodeClock;
use crate::folder;
use crate::gate::{Gate, MachineActions, Op};
use crate::hardware::HardwareControl;
use crate::iscsi::{self, IscsiControl};
use crate::machine::{Machine, millis};
use crate::smb::{ServerHealth, SmbControl};

/// A node in one process: what all its facilities share.
pub(crate) struct SharedNode {
    pub(crate) clock: Arc<NodeClock>,
    pub(crate) gate: Gate,
    machine: Mutex<Machine>,
    name: String,
    build: Build,
    state_file: Option<PathBuf>,
}

impl SharedNode {
    pub(crate) fn new(
        clock: Arc<NodeClock>,
        gate: Gate,
        machine: Machine,
        state_file: Option<PathBuf>,
    ) -> Self {
        Self {
            clock,
            gate,
            name: machine.spec.name.clone(),
            build: Build(machine.spec.build),
            machine: Mutex::new(machine),
            state_file,
        }
    }

    /// Takes an operation through the gate and gives its effect the machine.
    pub(crate) fn run<T>(
        &self,
        op: &Op,
        act: impl FnOnce(&mut Machine) -> std::result::Result<T, Cause>,
    ) -> Result<T> {
        self.gate.pass(op, || self.with(act))
    }

    /// Gives `act` the current machine, and saves the changes of `act`. No gate: for parts of an
    /// operation that has passed it.
    pub(crate) fn with<T>(
        &self,
        act: impl FnOnce(&mut Machine) -> std::result::Result<T, Cause>,
    ) -> std::result::Result<T, Cause> {
        let mut machine = self.locked();
        machine.now = self.clock.now();
        iscsi::reconcile(&mut machine).map_err(out_of_reach)?;
        machine.notice_hardware().map_err(out_of_reach)?;
        let done = act(&mut machine);
        self.save(&mut machine).map_err(out_of_reach)?;
        done
    }

    /// The node's name, which never changes.
    pub(crate) fn node_name(&self) -> &str {
        &self.name
    }

    /// The build of Windows, which never changes.
    pub(crate) fn build(&self) -> Build {
        self.build
    }

    fn save(&self, machine: &mut Machine) -> io::Result<()> {
        let Some(file) = &self.state_file else {
            return Ok(());
        };
        if !machine.state.take_dirt() {
            return Ok(());
        }
        machine.state.elapsed_ms = millis(machine.now);
        machine.state.take_dirt();
        let text = serde_json::to_vec_pretty(&*machine.state)?;
        folder::replace(file, &text)
    }

    fn locked(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The host failed the simulator: nothing that Windows would say.
fn out_of_reach(error: io::Error) -> Cause {
    Cause::Malformed(format!("the simulated node's folder: {error}"))
}

impl MachineActions for HardwareControl {
    fn detach_disk(&self, name: &str) {
        if let Err(error) = Self::detach_disk(self, name) {
            tracing::warn!(%error, "a fault could not pull the disk out");
        }
    }

    fn take_server_down(&self, name: &str) {
        let node = self.folder();
        let smb = node.map(|node| SmbControl::at(node).set_condition(name, ServerHealth::Down));
        let iscsi = node.map(|node| IscsiControl::at(node).set_down(name, true));
        if ![smb, iscsi].iter().any(|down| matches!(down, Some(Ok(())))) {
            tracing::warn!(name, "a fault could not take the server down");
        }
    }
}
