//! Answers for volumes with content, and for disks with an unreadable table.

use std::path::Path;

use os_sim::{ClockMode, NodeSpec, SimNode, SpannedSpec};
use wire::{disk, volume};

use super::versions::{DATA, with_volume};
use crate::support::Proxy;

/// Drivers partition a disk that has "no volumes".
#[test]
fn a_disk_whose_table_cannot_be_read_is_not_one_without_volumes() {
    let (proxy, _) = with_volume();
    proxy.break_operation("IOCTL_DISK_GET_DRIVE_LAYOUT_EX", 1117);
    for partition_number in [0, 2] {
        let request = volume::v1::ListVolumesOnDiskRequest {
            disk_number: DATA,
            partition_number,
        };
        let text = proxy.complaint::<volume::v1::rpc::ListVolumesOnDisk>(&request);
        assert!(text.contains("IOCTL_DISK_GET_DRIVE_LAYOUT_EX"), "{text}");
    }
}

/// Total and used bytes in each version that reports them.
fn stats_of_every_version(proxy: &Proxy, volume_id: &str) -> [(i64, i64); 5] {
    macro_rules! forwarded {
        ($version:ident) => {{
            let volume_id = volume_id.to_owned();
            let request = volume::$version::VolumeStatsRequest { volume_id };
            let stats = proxy.answer::<volume::$version::rpc::VolumeStats>(&request);
            (stats.volume_size, stats.volume_used_size)
        }};
    }
    macro_rules! own {
        ($version:ident) => {{
            let volume_id = volume_id.to_owned();
            let request = volume::$version::GetVolumeStatsRequest { volume_id };
            let stats = proxy.answer::<volume::$version::rpc::GetVolumeStats>(&request);
            (stats.total_bytes, stats.used_bytes)
        }};
    }
    [
        forwarded!(v1beta1),
        forwarded!(v1beta2),
        own!(v1beta3),
        own!(v1),
        own!(v2alpha1),
    ]
}

#[test]
fn what_is_written_to_a_volume_is_what_every_version_says_is_used_of_it() {
    const WRITTEN: i64 = 64 << 20;
    let (proxy, volume_id) = with_volume();
    let format = volume::v1::FormatVolumeRequest {
        volume_id: volume_id.clone(),
    };
    proxy.answer::<volume::v1::rpc::FormatVolume>(&format);
    let fresh = stats_of_every_version(&proxy, &volume_id);
    let (total, used) = fresh[0];
    assert!(total > 1 << 30 && used < total / 8, "{fresh:?}");
    assert_eq!(fresh, [(total, used); 5]);
    proxy.fill(&volume_id, WRITTEN.unsigned_abs());
    let filled = stats_of_every_version(&proxy, &volume_id);
    assert_eq!(filled, [(total, used + WRITTEN); 5]);
}

fn make_spanned(node: &Path) {
    let spanned = SpannedSpec {
        letter: 'S',
        disks: 2,
        disk_bytes: 64 << 20,
    };
    let spec = NodeSpec::named("spanned").spanned(spanned);
    SimNode::create(node, &spec, ClockMode::Virtual).expect("a simulated node can be made");
}

/// Its disks are in no list of disks, and a call about one disk names both.
#[test]
fn a_spanned_volume_is_listed_on_each_of_its_disks_and_never_written() {
    let proxy = Proxy::start_on(make_spanned);
    let ids = proxy.answer::<disk::v1::rpc::ListDiskIds>(&Default::default());
    let numbers: Vec<_> = ids.disk_ids.keys().copied().collect();
    assert_eq!(numbers, [0]);
    let target = volume::v2alpha1::GetClosestVolumeIdFromTargetPathRequest {
        target_path: r"S:\".to_owned(),
    };
    let found = proxy.answer::<volume::v2alpha1::rpc::GetClosestVolumeIdFromTargetPath>(&target);
    let volume_id = found.volume_id;
    for disk_number in [1, 2] {
        let request = volume::v1::ListVolumesOnDiskRequest {
            disk_number,
            partition_number: 0,
        };
        let listed = proxy.answer::<volume::v1::rpc::ListVolumesOnDisk>(&request);
        assert_eq!(listed.volume_ids, [volume_id.as_str()]);
        assert_names_both(&resized(&proxy, &disk_number.to_string()));
        let set = disk::v1::SetDiskStateRequest {
            disk_number,
            is_online: false,
        };
        proxy.complaint::<disk::v1::rpc::SetDiskState>(&set);
        let partition = disk::v1::PartitionDiskRequest { disk_number };
        proxy.complaint::<disk::v1::rpc::PartitionDisk>(&partition);
    }
    assert_names_both(&resized(&proxy, &volume_id));
    let request = volume::v1::FormatVolumeRequest {
        volume_id: volume_id.clone(),
    };
    assert_names_both(&proxy.complaint::<volume::v1::rpc::FormatVolume>(&request));
    let request = volume::v1::GetDiskNumberFromVolumeIdRequest {
        volume_id: volume_id.clone(),
    };
    let text = proxy.complaint::<volume::v1::rpc::GetDiskNumberFromVolumeId>(&request);
    assert_names_both(&text);
    let request = volume::v1::WriteVolumeCacheRequest { volume_id };
    proxy.answer::<volume::v1::rpc::WriteVolumeCache>(&request);
}

fn resized(proxy: &Proxy, volume_id: &str) -> String {
    let request = volume::v1::ResizeVolumeRequest {
        volume_id: volume_id.to_owned(),
        size_bytes: 0,
    };
    proxy.complaint::<volume::v1::rpc::ResizeVolume>(&request)
}

fn assert_names_both(text: &str) {
    assert!(text.contains("has 2 extents on disks 1, 2"), "{text}");
}
