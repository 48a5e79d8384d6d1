//! What is said of volumes that hold something, and of disks that do not say what they hold.

use wire::volume;

use super::versions::{DATA, with_volume};
use crate::support::Proxy;

/// Drivers take "no volumes" for a disk that is to be partitioned.
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

/// Total and used bytes by each version that tells them.
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
