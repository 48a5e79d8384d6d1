//! The disks that sessions bring, whose bytes are the server's images.
//!
//! What is plugged in follows from the sessions and the servers, and is brought about before every
//! operation: a server that goes down takes its disks along, and a process that is killed in between
//! leaves nothing that the next one does not mend.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use os::VolumeId;

use super::control::IscsiControl;
use super::initiator::Initiator;
use super::server::ServerSpec;
use super::state::IscsiState;
use crate::hardware::{DiskSpec, HardwareControl, HardwareError};
use crate::machine::Machine;

/// From what the disks of sessions follow: while it is the same, they are.
#[derive(Debug)]
pub(crate) struct Settled {
    servers: Vec<Arc<ServerSpec>>,
    state: IscsiState,
    is_running: bool,
}

/// Lets the initiator do what is due, and plugs disks in and out accordingly.
pub(crate) fn reconcile(machine: &mut Machine) -> io::Result<()> {
    if machine.state.iscsi.is_at_rest() {
        return Ok(());
    }
    let (servers, is_running) = (
        servers(machine)?,
        machine.is_service_running(super::SERVICE),
    );
    if let Some(settled) = &machine.iscsi_settled
        && settled.is_running == is_running
        && settled.state == machine.state.iscsi
        && is_same(&settled.servers, &servers)
    {
        return Ok(());
    }
    let mut initiator = initiator_among(machine, servers.clone());
    if is_running {
        initiator.come_up();
    }
    if let Some(arrays) = &machine.arrays {
        initiator.state.plugged = plug(arrays, &machine.hardware, &initiator);
    }
    let state = initiator.state.clone();
    keep(machine, initiator);
    machine.iscsi_settled = Some(Settled {
        servers,
        state,
        is_running,
    });
    Ok(())
}

/// A file whose text is the same is parsed once.
fn is_same(some: &[Arc<ServerSpec>], others: &[Arc<ServerSpec>]) -> bool {
    let mut pairs = some.iter().zip(others);
    some.len() == others.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
}

/// Restarts the initiator with the node. What the registry holds is there again, and the disks too if
/// the initiator service starts by itself.
pub(crate) fn restart(machine: &mut Machine) -> io::Result<()> {
    machine.state.iscsi.restart();
    reconcile(machine)
}

/// The node's initiator, with the servers as they are now.
pub(super) fn initiator(machine: &Machine) -> io::Result<Initiator> {
    Ok(initiator_among(machine, servers(machine)?))
}

/// The servers as they are now. A node in memory has none.
fn servers(machine: &Machine) -> io::Result<Vec<Arc<ServerSpec>>> {
    let arrays = machine.arrays.as_ref();
    arrays.map_or(Ok(Vec::new()), IscsiControl::servers)
}

fn initiator_among(machine: &Machine, servers: Vec<Arc<ServerSpec>>) -> Initiator {
    let state = machine.state.iscsi.clone();
    let disks = state.plugged.iter();
    let busy = disks.filter(|disk| machine.is_disk_held(disk)).cloned();
    Initiator {
        busy: busy.collect(),
        is_multipath: machine.spec.storage.multipath,
        servers,
        state,
    }
}

/// Keeps what the initiator did. The state is written whenever it was touched, so it is touched only
/// for a change.
pub(super) fn keep(machine: &mut Machine, initiator: Initiator) {
    if initiator.state != machine.state.iscsi {
        machine.state.iscsi = initiator.state;
    }
}

/// Brings the node's disks in line; returns the names of those that are plugged in now. A disk that
/// was pulled out stays out until its session is made again.
fn plug(
    arrays: &IscsiControl,
    hardware: &HardwareControl,
    initiator: &Initiator,
) -> BTreeSet<String> {
    let known = &initiator.state.plugged;
    let luns = initiator.luns();
    let luns = luns.map(|(session, lun)| (session.disk_name(lun), (session, lun)));
    let wanted: BTreeMap<_, _> = luns.collect();
    for name in known.iter().filter(|name| !wanted.contains_key(*name)) {
        match hardware.detach_disk(name) {
            Ok(()) | Err(HardwareError::Missing(_)) => {}
            Err(error) => tracing::warn!(name, %error, "an iSCSI disk does not go"),
        }
    }
    let plugged = wanted.into_iter().filter(|(name, (session, lun))| {
        let spec = || DiskSpec {
            multipath: initiator.is_multipath,
            ..session.disk_spec(lun)
        };
        known.contains(name)
            || hardware
                .attach_image(name, &spec(), &arrays.image(&lun.image))
                .inspect_err(|error| tracing::warn!(name, %error, "an iSCSI disk does not come"))
                .is_ok()
    });
    plugged.map(|(name, _)| name).collect()
}

impl Machine {
    /// Whether somebody has something open on a volume of the disk. Another path to it has no volumes.
    fn is_disk_held(&self, name: &str) -> bool {
        let table = self.present.get(name).map(|present| &present.table);
        let partitions = table.into_iter().flat_map(|table| &table.partitions);
        let own = partitions.map(|partition| VolumeId(partition.id));
        let own = own.filter(|volume| self.home(*volume).is_ok_and(|home| home.disk == name));
        let mut volumes = own.chain(self.spanned_on(name));
        volumes.any(|volume| self.holds.contains_key(&volume) || self.locked.contains(&volume))
    }
}
