//! The choice of version: the newest available, and an older one for operations that it lacks.

use std::time::Duration;

use node::api::{Cause, Needs, NodeApi, Unreachable};
use os::{DiskNumber, PartitionNumber};
use wire::{disk, filesystem, volume};

use crate::support::{Counter, ProxyFolder, Script, options, soon};

/// A script whose version shows in the size of its disks.
macro_rules! disk_of_size {
    ($version:ident, $size:expr) => {
        Script::of(&disk::$version::GROUP).on::<disk::$version::rpc::GetDiskStats>(|_| {
            Ok(disk::$version::GetDiskStatsResponse { total_bytes: $size })
        })
    };
}

fn old_disk_of_size(size: i64) -> Script {
    Script::of(&disk::v1beta2::GROUP).on::<disk::v1beta2::rpc::DiskStats>(move |_| {
        Ok(disk::v1beta2::DiskStatsResponse { disk_size: size })
    })
}

fn size(node: &wincsi_client::Node) -> Result<u64, Cause> {
    let size = node.disks().size(DiskNumber(1), soon(node));
    size.map_err(|error| error.cause)
}

#[test]
fn the_newest_version_that_there_is_is_asked() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([
        old_disk_of_size(2),
        disk_of_size!(v1beta3, 13),
        disk_of_size!(v1, 100),
    ]);
    assert_eq!(size(&place.node()), Ok(100));
}

#[test]
fn an_older_version_is_asked_when_there_is_no_newer_pipe() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([old_disk_of_size(2)]);
    assert_eq!(size(&place.node()), Ok(2));
}

#[test]
fn an_older_version_is_asked_when_the_newer_lacks_the_method() {
    let place = ProxyFolder::new();
    let asked = Counter::default();
    let count = asked.clone();
    let empty = Script::of(&disk::v1::GROUP)
        .on::<disk::v1::rpc::Rescan>(|_| Ok(disk::v1::RescanResponse {}))
        .on_call::<disk::v1::rpc::GetDiskStats>(move |call| {
            count.add();
            Err(transport::Status::unimplemented(&call.method))
        });
    let _proxy = place.serve([disk_of_size!(v1beta3, 13), empty]);
    let node = place.node();
    assert_eq!(size(&node), Ok(13));
    assert_eq!(size(&node), Ok(13));
    assert_eq!(asked.count(), 1, "what was found is remembered");
    node.disks().rescan(soon(&node)).unwrap();
}

#[test]
fn a_method_that_no_version_serves_is_unimplemented() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([
        Script::of(&disk::v1::GROUP),
        Script::of(&disk::v1beta2::GROUP),
    ]);
    let node = place.node();
    assert!(matches!(size(&node), Err(Cause::Unimplemented { .. })));
    assert!(matches!(size(&node), Err(Cause::Unimplemented { .. })));
}

#[test]
fn an_operation_that_came_later_says_in_which_version() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([
        Script::of(&disk::v1alpha1::GROUP),
        Script::of(&filesystem::v1::GROUP),
        Script::of(&volume::v1beta2::GROUP),
    ]);
    let node = place.node();
    let needs = |rpc: &str, group, needed: &str, found: &str| Cause::Unsupported {
        operation: rpc.to_owned(),
        needs: Needs::Version {
            group,
            needed: needed.to_owned(),
            found: found.to_owned(),
        },
    };
    assert_eq!(
        size(&node),
        Err(needs("DiskStats", "disk", "v1beta1", "v1alpha1"))
    );
    let path = r"C:\var\lib\kubelet\a".parse().unwrap();
    let error = node.filesystem().remove_contents(&path, soon(&node));
    assert_eq!(
        error.unwrap_err().cause,
        needs("RmdirContents", "filesystem", "v2alpha1", "v1")
    );
    let one = Some(PartitionNumber(1));
    let error = node.volumes().list_on_disk(DiskNumber(1), one, soon(&node));
    let error = error.unwrap_err();
    assert_eq!(
        error.cause,
        needs("ListVolumesOnDisk", "volume", "v1beta3", "v1beta2")
    );
    assert!(
        error.to_string().contains("needs volume/v1beta3"),
        "{error}"
    );
}

/// Guards: P29
#[test]
fn what_was_found_is_remembered_until_it_is_time_to_look_again() {
    let place = ProxyFolder::new();
    let remembering = place.node();
    let mut impatient = options();
    impatient.look_again = Duration::ZERO;
    let looking = place.node_with(impatient);
    let _old = place.serve([old_disk_of_size(2)]);
    assert_eq!((size(&remembering), size(&looking)), (Ok(2), Ok(2)));
    let _new = place.serve([disk_of_size!(v1, 100)]);
    assert_eq!((size(&remembering), size(&looking)), (Ok(2), Ok(100)));
}

#[test]
fn a_proxy_of_another_version_may_come_back() {
    let place = ProxyFolder::new();
    let node = place.node();
    let versions: [fn() -> Script; 3] = [
        || disk_of_size!(v1, 100),
        || old_disk_of_size(2),
        || disk_of_size!(v1beta3, 13),
    ];
    for (version, answer) in versions.iter().zip([100, 2, 13]) {
        let proxy = place.serve([version()]);
        assert_eq!(size(&node), Ok(answer));
        drop(proxy);
    }
}

#[test]
fn without_a_proxy_the_pipe_is_named_at_once() {
    let place = ProxyFolder::new();
    match size(&place.node()) {
        Err(Cause::Unreachable { endpoint, reason }) => {
            assert_eq!(reason, Unreachable::NoPipe);
            assert!(endpoint.contains("disk-v1"), "{endpoint}");
        }
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn a_group_does_not_suffer_from_another_groups_absence() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([disk_of_size!(v1, 100)]);
    let node = place.node();
    let absent = node.system().serial_number(soon(&node)).unwrap_err();
    assert!(
        matches!(absent.cause, Cause::Unreachable { .. }),
        "{absent}"
    );
    assert_eq!(size(&node), Ok(100));
}
