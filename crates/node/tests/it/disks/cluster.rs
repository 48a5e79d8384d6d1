//! A node whose storage provider lists another node's objects as well, and leaves out whose partitions are.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::{Bus, DiskSpec, NodeSpec, SanPolicy};
use wincsi_node::{DiskError, NewSize, Node, Options, ProviderError};

use crate::support::{DATA, GIB, NodeFixture, inject};

const NEIGHBOUR: &str = "node-2";

fn clustered() -> NodeFixture {
    let mut spec = NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll);
    spec.storage.neighbour = Some(NEIGHBOUR.to_owned());
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, GIB);
    fixture
}

/// From a raw disk to one that is offline, with a volume that grew.
fn live(fixture: &NodeFixture, node: &Node) {
    let (disk, soon) = (fixture.disk(), fixture.soon());
    let (disks, volumes) = (node.operations().disks(), node.operations().volumes());
    disks.partition(disk, soon).unwrap();
    let volume = fixture.volume();
    volumes.format(volume, soon).unwrap();
    fixture.grow(DATA, 4 * GIB);
    volumes.resize(volume, NewSize::Maximum, soon).unwrap();
    disks.set_offline(disk, soon).unwrap();
}

#[test]
fn a_volume_lives_beside_the_objects_of_another_node() {
    let fixture = clustered();
    let trace = fixture.trace(|| live(&fixture, &fixture.node));
    let foreign = format!(r"{{1}}\\\\{NEIGHBOUR}\\");
    assert!(trace.iter().any(|op| op.operation == "MSFT_Volume.Format"));
    assert!(!trace.iter().any(|op| op.object.contains(&foreign)));
}

/// It has the number and the device path of a disk here, which is not listed itself.
/// Guards: P59
#[test]
fn the_row_of_another_node_is_not_taken_for_a_disk_here() {
    let fixture = clustered();
    let node = inject::node(&fixture, |os| {
        inject::rows(&mut os.storage, |rows| {
            rows.retain(|row| row.path.0.contains(NEIGHBOUR))
        });
    });
    let trace = fixture.trace(|| {
        let refused = node
            .operations()
            .disks()
            .set_offline(fixture.disk(), fixture.soon());
        let not_found = Err(DiskError::Provider(ProviderError::NotFound {
            object: format!("disk {}", fixture.disk()),
        }));
        assert_eq!(refused, not_found);
        assert!(
            node.operations()
                .disks()
                .ids(fixture.soon())
                .unwrap()
                .is_empty()
        );
    });
    assert!(!trace.iter().any(|op| op.operation.starts_with("MSFT_")));
}

/// StorageDsc#224.
#[test]
fn partitions_without_the_number_of_their_disk_are_found_by_their_disk() {
    let fixture = NodeFixture::new();
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, GIB);
    let node = inject::node(&fixture, |os| {
        inject::rows(&mut os.storage, |rows| {
            rows.retain(|row| row.class != "MSFT_Partition")
        });
    });
    live(&fixture, &node);
}
