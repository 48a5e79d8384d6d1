//! What a blank disk is formatted with, by the attributes of its volume.

use std::time::Duration;

use wincsi::{Node, NodeApi, Options, WinPath};

use crate::driver::Driver;
use crate::kubelet::{STAGING, Volume};

const EVERYBODY: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;BU)";

/// What a volume of the simulated node has.
#[derive(Debug, PartialEq, Eq)]
struct Formatted {
    file_system: String,
    label: String,
    root_acl: String,
    allocation_unit: u32,
}

#[test]
fn a_blank_disk_is_formatted_by_the_attributes_and_one_with_a_filesystem_keeps_its_own() {
    let mut driver = Driver::start();
    let first = [
        ("allocationUnitSize", "64K"),
        ("label", "data"),
        ("rootAcl", EVERYBODY),
    ];
    let volume = Volume::new("vol-a");
    volume.stage_with(&driver, &first).unwrap();
    let expected = Formatted {
        file_system: String::from("NTFS"),
        label: String::from("data"),
        root_acl: EVERYBODY.to_owned(),
        allocation_unit: 64 << 10,
    };
    assert_eq!(formatted(&mut driver), expected);
    driver.start_again();
    volume.unstage(&driver).unwrap();
    let other = [("allocationUnitSize", "4096"), ("label", "other")];
    volume.stage_with(&driver, &other).unwrap();
    assert_eq!(formatted(&mut driver), expected);
}

/// Ends the driver, which has the node open.
fn formatted(driver: &mut Driver) -> Formatted {
    let allocation_unit = driver.allocation_unit();
    let sim = driver.end_and_open();
    let (os, node) = (sim.os(), Node::new(sim.os(), Options::default()));
    let deadline = node.deadline(Duration::from_secs(60));
    let staging: WinPath = STAGING.parse().unwrap();
    let volumes = NodeApi::volumes(&node);
    let volume = volumes.of_target(&staging, deadline).unwrap();
    let root: WinPath = volume.to_string().parse().unwrap();
    let seen = os.volumes.file_system(volume).unwrap().unwrap();
    Formatted {
        file_system: seen.name,
        label: seen.label,
        root_acl: os.files.dacl(&root).unwrap(),
        allocation_unit,
    }
}
