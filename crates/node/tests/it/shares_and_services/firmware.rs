//! The firmware's tables on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::Win32;
use os_sim::NodeSpec;
use wincsi_node::{FirmwareError, Identity, Options};

use crate::support::NodeFixture;

fn fixture(serial: &str) -> NodeFixture {
    let spec = NodeSpec {
        serial: serial.to_owned(),
        ..NodeSpec::named("node-1")
    };
    NodeFixture::of(&spec, Options::default())
}

#[test]
fn weakness_37_the_serial_number_has_no_blanks_around_it() {
    let fixture = fixture("  VMware-56 4d 9a 3c 12 7e 88 01-b2 45 00 6f de ad be ef ");
    let serial = fixture
        .node
        .operations()
        .firmware()
        .serial_number(fixture.soon())
        .unwrap();
    assert_eq!(
        serial,
        "VMware-56 4d 9a 3c 12 7e 88 01-b2 45 00 6f de ad be ef"
    );
}

#[test]
fn a_machine_without_a_serial_number_is_an_error_and_not_one_that_all_share() {
    let fixture = fixture("   ");
    let serial = fixture
        .node
        .operations()
        .firmware()
        .serial_number(fixture.soon());
    let wanted = Identity::SerialNumber;
    assert_eq!(serial, Err(FirmwareError::Missing { wanted }));
    let expected = "failed to get the BIOS serial number: the firmware gives none";
    assert_eq!(serial.unwrap_err().to_string(), expected);
}

#[test]
fn the_uuid_is_spelt_as_windows_spells_it() {
    let uuid = uuid::Uuid::from_u128(0xd0df_4c54_4ecb_4a4b_9954_5bdf_3ed5_c3b8);
    let identity_of = |uuid| {
        let spec = NodeSpec {
            uuid,
            ..NodeSpec::named("node-1")
        };
        let fixture = NodeFixture::of(&spec, Options::default());
        let uuid = fixture.node.operations().firmware().uuid(fixture.soon());
        uuid.map_err(|error| error.to_string())
    };
    let expected = "D0DF4C54-4ECB-4A4B-9954-5BDF3ED5C3B8";
    assert_eq!(identity_of(uuid), Ok(expected.to_owned()));
    let none = "failed to get the BIOS UUID: the firmware gives none";
    assert_eq!(identity_of(uuid::Uuid::nil()), Err(none.to_owned()));
}

#[test]
fn firmware_without_tables_is_an_error() {
    let fixture = fixture("S");
    fixture.fail("GetSystemFirmwareTable", Win32::INVALID_FUNCTION);
    let error = fixture
        .node
        .operations()
        .firmware()
        .serial_number(fixture.soon())
        .unwrap_err();
    assert!(error.to_string().contains("Incorrect function."), "{error}");
}
