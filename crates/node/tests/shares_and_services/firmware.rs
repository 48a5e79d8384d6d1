//! The firmware's tables on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::Win32;
use os_sim::{Effect, NodeSpec, Rule};
use wincsi_node::{FirmwareError, Options};

use crate::support::Rig;

fn rig(serial: &str) -> Rig {
    let spec = NodeSpec {
        serial: serial.to_owned(),
        ..NodeSpec::named("node-1")
    };
    Rig::of(&spec, Options::default())
}

#[test]
fn weakness_37_the_serial_number_has_no_blanks_around_it() {
    let rig = rig("  VMware-56 4d 9a 3c 12 7e 88 01-b2 45 00 6f de ad be ef ");
    let serial = rig
        .node
        .operations()
        .firmware()
        .serial_number(rig.soon())
        .unwrap();
    assert_eq!(
        serial,
        "VMware-56 4d 9a 3c 12 7e 88 01-b2 45 00 6f de ad be ef"
    );
}

#[test]
fn a_machine_without_a_serial_number_is_an_error_and_not_one_that_all_share() {
    let rig = rig("   ");
    let serial = rig.node.operations().firmware().serial_number(rig.soon());
    assert_eq!(serial, Err(FirmwareError::NoSerialNumber));
}

#[test]
fn firmware_without_tables_is_an_error() {
    let rig = rig("S");
    let none = Effect::fail(Win32::INVALID_FUNCTION);
    rig.sim
        .faults()
        .add(Rule::on("GetSystemFirmwareTable", none));
    let error = rig
        .node
        .operations()
        .firmware()
        .serial_number(rig.soon())
        .unwrap_err();
    assert!(error.to_string().contains("Incorrect function."), "{error}");
}
