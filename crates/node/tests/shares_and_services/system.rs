//! What a simulated node says of itself and of its boot.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{BootId, Win32};
use os_sim::{Effect, NodeSpec, Rule};
use wincsi_node::{Options, SystemError};

use crate::support::Rig;

fn boot_id(rig: &Rig) -> BootId {
    let system = rig.node.operations().system();
    system.boot_id(rig.soon()).unwrap()
}

#[test]
fn a_boot_id_outlives_the_process_and_no_boot() {
    let rig = Rig::new();
    let first = boot_id(&rig);
    let rig = rig.reopened();
    assert_eq!(boot_id(&rig), first);
    rig.sim.reboot().unwrap();
    assert_ne!(boot_id(&rig), first);
}

#[test]
fn the_computers_name_is_kubelets_of_the_node() {
    let rig = Rig::of(&NodeSpec::named("WIN-Node-1"), Options::default());
    let system = rig.node.operations().system();
    let name = system.computer_name(rig.soon());
    assert_eq!(name.as_deref(), Ok("win-node-1"));
}

#[test]
fn a_system_that_does_not_say_is_an_error() {
    let rig = Rig::new();
    let fault = |operation| Rule::on(operation, Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(fault("NtQuerySystemInformation"));
    rig.sim.faults().add(fault("GetComputerNameExW"));
    let system = rig.node.operations().system();
    let id = system.boot_id(rig.soon());
    assert!(matches!(id, Err(SystemError::BootId { .. })), "{id:?}");
    let name = system.computer_name(rig.soon());
    assert!(
        matches!(name, Err(SystemError::ComputerName { .. })),
        "{name:?}"
    );
}
