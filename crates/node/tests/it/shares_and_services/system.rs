//! A simulated node's information about itself and its boot.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{BootId, Win32};
use os_sim::{Effect, NodeSpec, ProcessSpec, Rule};
use wincsi_node::{Options, SystemError};

use crate::support::NodeFixture;

fn boot_id(fixture: &NodeFixture) -> BootId {
    let system = fixture.node.operations().system();
    system.boot_id(fixture.soon()).unwrap()
}

#[test]
fn a_boot_id_outlives_the_process_and_no_boot() {
    let fixture = NodeFixture::new();
    let first = boot_id(&fixture);
    let fixture = fixture.reopened();
    assert_eq!(boot_id(&fixture), first);
    fixture.reboot().unwrap();
    assert_ne!(boot_id(&fixture), first);
}

#[test]
fn the_computers_name_is_kubelets_of_the_node() {
    let fixture = NodeFixture::of(&NodeSpec::named("WIN-Node-1"), Options::default());
    let system = fixture.node.operations().system();
    let name = system.computer_name(fixture.soon());
    assert_eq!(name.as_deref(), Ok("win-node-1"));
}

#[test]
fn command_lines_are_those_of_one_program() {
    let process = |name: &str, command: Option<&str>| ProcessSpec {
        name: name.to_owned(),
        command: command.map(str::to_owned),
    };
    let spec = NodeSpec {
        process: vec![
            process("kubelet.exe", Some("kubelet.exe -v=2")),
            process("rke2.exe", Some("rke2.exe agent")),
            process("Kubelet.exe", None),
        ],
        ..NodeSpec::default()
    };
    let fixture = NodeFixture::of(&spec, Options::default());
    let system = fixture.node.operations().system();
    let lines = |program| system.command_lines(program, fixture.soon()).unwrap();
    let expected = [Some("kubelet.exe -v=2".to_owned()), None];
    assert_eq!(lines("kubelet.exe"), expected);
    assert_eq!(lines("kubelet"), []);
}

#[test]
fn a_system_that_does_not_say_is_an_error() {
    let fixture = NodeFixture::new();
    let fault = |operation| Rule::on(operation, Effect::fail(Win32::ACCESS_DENIED));
    fixture.fault(fault("NtQuerySystemInformation"));
    fixture.fault(fault("GetComputerNameExW"));
    let system = fixture.node.operations().system();
    let id = system.boot_id(fixture.soon());
    assert!(matches!(id, Err(SystemError::BootId { .. })), "{id:?}");
    fixture.fault(fault("IWbemServices.ExecQuery"));
    let lines = system.command_lines("kubelet.exe", fixture.soon());
    assert!(
        matches!(lines, Err(SystemError::CommandLines { .. })),
        "{lines:?}"
    );
    let name = system.computer_name(fixture.soon());
    assert!(
        matches!(name, Err(SystemError::ComputerName { .. })),
        "{name:?}"
    );
}
