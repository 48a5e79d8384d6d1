//! Every version of the disk, volume and SMB groups, called for its meaning.

use std::collections::BTreeMap;
use std::slice;

use os_sim::{Content, DiskSpec, demo};
use wire::{disk, filesystem, smb, volume};

use crate::support::{Proxy, raw_volume};

/// The demo node's data disk.
pub(crate) const DATA: u32 = 1;
const NAA: &str = "600224801234567890abcdef00000001";
const STAGING: &str = r"C:\var\lib\kubelet\plugins\globalmount";

/// A server after its storage provider noticed the data disk.
fn started() -> Proxy {
    let proxy = Proxy::start();
    proxy.answer::<disk::v1::rpc::Rescan>(&Default::default());
    proxy
}

fn volumes_on(proxy: &Proxy, disk_number: u32, partition_number: u32) -> Vec<String> {
    let request = volume::v1::ListVolumesOnDiskRequest {
        disk_number,
        partition_number,
    };
    proxy
        .answer::<volume::v1::rpc::ListVolumesOnDisk>(&request)
        .volume_ids
}

/// A node with one volume on its data disk, and the volume's id.
pub(crate) fn with_volume() -> (Proxy, String) {
    let proxy = Proxy::start();
    let volume_id = raw_volume(&proxy.client);
    (proxy, volume_id)
}

fn mkdir(proxy: &Proxy, path: &str) {
    let path = path.to_owned();
    proxy.answer::<filesystem::v1::rpc::Mkdir>(&filesystem::v1::MkdirRequest { path });
}

fn refused_ids() -> impl Iterator<Item = (&'static str, String)> {
    let refused = |id: &'static str, reason: &str| {
        (id, format!("strconv.ParseUint: parsing \"{id}\": {reason}"))
    };
    let large = ["4294967296", "4294967297", "18446744073709551617"];
    let large = large.map(|id| refused(id, "value out of range"));
    let wrong = ["", "x", "-1", "+1", "1 ", "0x1"].map(|id| refused(id, "invalid syntax"));
    large.into_iter().chain(wrong)
}

/// csi-proxy cuts 4294967297 to disk 1, and acts on that.
/// Guards: P39
#[test]
fn a_disk_id_that_does_not_fit_is_an_error_in_every_version_and_never_cut() {
    let proxy = started();
    macro_rules! partitions {
        ($($version:ident)*) => {$(
            for (id, reason) in refused_ids() {
                let request = disk::$version::PartitionDiskRequest { disk_id: id.into() };
                let text = proxy.complaint::<disk::$version::rpc::PartitionDisk>(&request);
                let version = stringify!($version);
                let field = format!("{version}.PartitionDiskRequest.DiskID");
                assert_eq!(text, format!("Failed to convert {field} to uint32: {reason}"));
            }
        )*};
    }
    partitions!(v1alpha1 v1beta1 v1beta2);
    macro_rules! others {
        ($($version:ident $rpc:ident $request:ident)*) => {$(
            for (id, reason) in refused_ids() {
                let request = disk::$version::$request { disk_id: id.into(), ..Default::default() };
                let text = proxy.complaint::<disk::$version::rpc::$rpc>(&request);
                let rpc = stringify!($rpc);
                assert_eq!(text, format!("Failed to format {rpc}Request.DiskID with err: {reason}"));
            }
        )*};
    }
    #[allow(clippy::needless_update, reason = "one of them has a field more")]
    {
        others!(
            v1beta1 DiskStats DiskStatsRequest
            v1beta2 DiskStats DiskStatsRequest
            v1beta2 SetAttachState SetAttachStateRequest
            v1beta2 GetAttachState GetAttachStateRequest
        );
    }
    macro_rules! lists {
        ($($version:ident)*) => {$(
            for (id, reason) in refused_ids() {
                let request = volume::$version::ListVolumesOnDiskRequest { disk_id: id.into() };
                let text = proxy.complaint::<volume::$version::rpc::ListVolumesOnDisk>(&request);
                assert_eq!(text, format!("Failed to parse diskId: err={reason}"));
            }
        )*};
    }
    lists!(v1alpha1 v1beta1 v1beta2);
    assert!(
        volumes_on(&proxy, DATA, 0).is_empty(),
        "disk 1 is as it was"
    );
    let request = disk::v1::GetDiskStateRequest { disk_number: DATA };
    let state = proxy.answer::<disk::v1::rpc::GetDiskState>(&request);
    assert!(state.is_online, "{state:?}");
}

#[test]
fn every_version_says_where_disks_are() {
    let proxy = started();
    let newest = proxy.answer::<disk::v1::rpc::ListDiskLocations>(&Default::default());
    let data = &newest.disk_locations[&DATA];
    assert_eq!(data.lun_id, "1");
    let reported = |one: &disk::v1::DiskLocation| {
        let of = [&one.adapter, &one.bus, &one.target, &one.lun_id];
        of.map(String::clone)
    };
    let newest: BTreeMap<String, _> = newest
        .disk_locations
        .iter()
        .map(|(disk, one)| (disk.to_string(), reported(one)))
        .collect();
    macro_rules! agree {
        ($($version:ident)*) => {$(
            let answer = proxy.answer::<disk::$version::rpc::ListDiskLocations>(&Default::default());
            let answer: BTreeMap<String, _> = answer
                .disk_locations
                .into_iter()
                .map(|(disk, one)| (disk.to_string(), [one.adapter, one.bus, one.target, one.lun_id]))
                .collect();
            assert_eq!(answer, newest, stringify!($version));
        )*};
    }
    agree!(v1alpha1 v1beta1 v1beta2 v1beta3);
}

#[test]
fn identifiers_of_old_are_exactly_page83_and_serial_number() {
    let proxy = started();
    let anonymous = DiskSpec::on(os_sim::Bus::Sas).lun(7);
    let hardware = proxy.hardware();
    hardware
        .attach_disk("anonymous", &anonymous, &Content::blank(1 << 30))
        .expect("it fits");
    proxy.answer::<disk::v1::rpc::Rescan>(&Default::default());
    let newest = proxy.answer::<disk::v1::rpc::ListDiskIds>(&Default::default());
    assert_eq!(newest.disk_ids[&DATA].page83, NAA);
    assert_eq!(newest.disk_ids[&DATA].serial_number, demo::DISK_SERIAL);
    let before = proxy.answer::<disk::v1beta3::rpc::ListDiskIds>(&Default::default());
    let before = &before.disk_ids[&DATA];
    let reported = (before.page83.as_str(), before.serial_number.as_str());
    assert_eq!(reported, (NAA, demo::DISK_SERIAL));
    let newest: BTreeMap<_, _> = newest
        .disk_ids
        .iter()
        .map(|(disk, ids)| {
            let both = [
                ("page83", &ids.page83),
                ("serialNumber", &ids.serial_number),
            ];
            let both = both.map(|(key, value)| (key.to_owned(), value.clone()));
            (disk.to_string(), BTreeMap::from(both))
        })
        .collect();
    assert_eq!(newest.len(), 3);
    macro_rules! agree {
        ($($version:ident)*) => {$(
            let answer = proxy.answer::<disk::$version::rpc::ListDiskIds>(&Default::default());
            let answer: BTreeMap<_, _> = answer
                .disk_ids
                .into_iter()
                .map(|(disk, ids)| (disk, ids.identifiers))
                .collect();
            assert_eq!(answer, newest, stringify!($version));
        )*};
    }
    agree!(v1beta1 v1beta2);
}

#[test]
fn a_disk_is_found_by_its_exact_name() {
    let proxy = started();
    let find = |disk_name: &str| disk::v1alpha1::GetDiskNumberByNameRequest {
        disk_name: disk_name.to_owned(),
    };
    type Find = disk::v1alpha1::rpc::GetDiskNumberByName;
    assert_eq!(proxy.answer::<Find>(&find(NAA)).disk_number, "1");
    for almost in [&NAA.to_uppercase(), &NAA[1..], "", "nobody"] {
        assert_eq!(
            proxy.complaint::<Find>(&find(almost)),
            format!("could not find disk with Page83 ID {almost}: not found")
        );
    }
}

#[test]
fn every_version_partitions_measures_and_switches_disks() {
    let proxy = started();
    let length = 2 << 30;
    macro_rules! texts {
        ($($version:ident)*) => {$(
            let id = DATA.to_string();
            let request = disk::$version::PartitionDiskRequest { disk_id: id };
            proxy.answer::<disk::$version::rpc::PartitionDisk>(&request);
            proxy.answer::<disk::$version::rpc::Rescan>(&Default::default());
            assert_eq!(volumes_on(&proxy, DATA, 0).len(), 1);
        )*};
    }
    texts!(v1alpha1 v1beta1 v1beta2);
    macro_rules! stats {
        ($($version:ident)*) => {$(
            let request = disk::$version::DiskStatsRequest { disk_id: DATA.to_string() };
            let answer = proxy.answer::<disk::$version::rpc::DiskStats>(&request);
            assert_eq!(answer.disk_size, length);
        )*};
    }
    stats!(v1beta1 v1beta2);
    macro_rules! numbers {
        ($($version:ident)*) => {$(
            let request = disk::$version::PartitionDiskRequest { disk_number: DATA };
            proxy.answer::<disk::$version::rpc::PartitionDisk>(&request);
            proxy.answer::<disk::$version::rpc::Rescan>(&Default::default());
            let request = disk::$version::GetDiskStatsRequest { disk_number: DATA };
            let answer = proxy.answer::<disk::$version::rpc::GetDiskStats>(&request);
            assert_eq!(answer.total_bytes, length);
            for is_online in [false, true] {
                let request = disk::$version::SetDiskStateRequest { disk_number: DATA, is_online };
                proxy.answer::<disk::$version::rpc::SetDiskState>(&request);
                let request = disk::$version::GetDiskStateRequest { disk_number: DATA };
                let answer = proxy.answer::<disk::$version::rpc::GetDiskState>(&request);
                assert_eq!(answer.is_online, is_online);
            }
        )*};
    }
    numbers!(v1beta3 v1);
    for is_online in [false, true] {
        let disk_id = DATA.to_string();
        let request = disk::v1beta2::SetAttachStateRequest { disk_id, is_online };
        proxy.answer::<disk::v1beta2::rpc::SetAttachState>(&request);
        let disk_id = DATA.to_string();
        let request = disk::v1beta2::GetAttachStateRequest { disk_id };
        let answer = proxy.answer::<disk::v1beta2::rpc::GetAttachState>(&request);
        assert_eq!(answer.is_online, is_online);
    }
}

/// csi-proxy adds nothing to failures of forwarded disk calls.
#[test]
fn a_disk_that_is_missing_is_not_found_in_every_version() {
    let proxy = started();
    let text = "failed to query disk 99. error: not found";
    macro_rules! missing {
        ($($version:ident $rpc:ident $request:ident)*) => {$(
            let request = disk::$version::$request { disk_id: "99".into(), ..Default::default() };
            assert_eq!(proxy.complaint::<disk::$version::rpc::$rpc>(&request), text);
        )*};
    }
    #[allow(clippy::needless_update, reason = "one of them has a field more")]
    {
        missing!(
            v1alpha1 PartitionDisk PartitionDiskRequest
            v1beta1 DiskStats DiskStatsRequest
            v1beta2 PartitionDisk PartitionDiskRequest
            v1beta2 GetAttachState GetAttachStateRequest
            v1beta2 SetAttachState SetAttachStateRequest
        );
    }
}

macro_rules! forwarded_life {
    ($proxy:expr, $version:ident, $volume_id:expr) => {{
        use volume::$version::*;
        let (proxy, volume_id): (&Proxy, String) = ($proxy, $volume_id);
        let list = ListVolumesOnDiskRequest {
            disk_id: DATA.to_string(),
        };
        let listed = proxy.answer::<rpc::ListVolumesOnDisk>(&list);
        assert_eq!(listed.volume_ids, slice::from_ref(&volume_id));
        let absent = ListVolumesOnDiskRequest {
            disk_id: "99".into(),
        };
        let listed = proxy.answer::<rpc::ListVolumesOnDisk>(&absent);
        assert_eq!(listed.volume_ids, Vec::<String>::new());
        let request = IsVolumeFormattedRequest {
            volume_id: volume_id.clone(),
        };
        if !proxy.answer::<rpc::IsVolumeFormatted>(&request).formatted {
            let volume_id = volume_id.clone();
            proxy.answer::<rpc::FormatVolume>(&FormatVolumeRequest { volume_id });
        }
        assert!(proxy.answer::<rpc::IsVolumeFormatted>(&request).formatted);
        let request = MountVolumeRequest {
            volume_id: volume_id.clone(),
            path: STAGING.into(),
        };
        proxy.answer::<rpc::MountVolume>(&request);
        proxy.answer::<rpc::MountVolume>(&request);
        for volume_id in [volume_id.clone(), DATA.to_string()] {
            proxy.answer::<rpc::ResizeVolume>(&ResizeVolumeRequest { volume_id, size: 0 });
        }
        let request = DismountVolumeRequest {
            volume_id,
            path: STAGING.into(),
        };
        proxy.answer::<rpc::DismountVolume>(&request);
        let again = proxy.complaint::<rpc::DismountVolume>(&request);
        assert!(again.starts_with("Forward to UnmountVolume failed, err=unmount volume"));
    }};
}

macro_rules! forwarded_look_ups {
    ($proxy:expr, $version:ident, $volume_id:expr) => {{
        use volume::$version::*;
        let (proxy, volume_id): (&Proxy, String) = ($proxy, $volume_id);
        let request = VolumeStatsRequest {
            volume_id: volume_id.clone(),
        };
        let stats = proxy.answer::<rpc::VolumeStats>(&request);
        assert!(stats.volume_size > 1 << 30);
        let request = VolumeDiskNumberRequest {
            volume_id: volume_id.clone(),
        };
        let disk = proxy.answer::<rpc::GetVolumeDiskNumber>(&request);
        assert_eq!(disk.disk_number, i64::from(DATA));
        let mount = volume::v1::MountVolumeRequest {
            volume_id: volume_id.clone(),
            target_path: STAGING.into(),
        };
        proxy.answer::<volume::v1::rpc::MountVolume>(&mount);
        let request = VolumeIdFromMountRequest {
            mount: STAGING.into(),
        };
        let found = proxy.answer::<rpc::GetVolumeIdFromMount>(&request);
        assert_eq!(found.volume_id, volume_id);
        let unmount = volume::v1::UnmountVolumeRequest {
            volume_id,
            target_path: STAGING.into(),
        };
        proxy.answer::<volume::v1::rpc::UnmountVolume>(&unmount);
        let none = proxy.complaint::<rpc::VolumeStats>(&Default::default());
        assert_eq!(
            none,
            "Forward to GetVolumeStats failed, err=volume id empty"
        );
        let none = proxy.complaint::<rpc::GetVolumeDiskNumber>(&Default::default());
        let text = "Forward to GetDiskNumberFromVolumeID failed, err=volume id empty";
        assert_eq!(none, text);
        let none = proxy.complaint::<rpc::GetVolumeIdFromMount>(&Default::default());
        let text = "Forward to GetVolumeIDFromTargetPath failed, err=target path is empty";
        assert_eq!(none, text);
    }};
}

#[test]
fn a_volume_lives_in_every_version_of_old() {
    let (proxy, volume_id) = with_volume();
    mkdir(&proxy, STAGING);
    forwarded_life!(&proxy, v1alpha1, volume_id.clone());
    forwarded_life!(&proxy, v1beta1, volume_id.clone());
    forwarded_life!(&proxy, v1beta2, volume_id.clone());
    forwarded_look_ups!(&proxy, v1beta1, volume_id.clone());
    forwarded_look_ups!(&proxy, v1beta2, volume_id.clone());
    let request = volume::v1beta2::WriteVolumeCacheRequest { volume_id };
    proxy.answer::<volume::v1beta2::rpc::WriteVolumeCache>(&request);
}

macro_rules! life {
    ($proxy:expr, $version:ident, $volume_id:expr) => {{
        use volume::$version::*;
        let (proxy, volume_id): (&Proxy, String) = ($proxy, $volume_id);
        let list = ListVolumesOnDiskRequest {
            disk_number: DATA,
            partition_number: 0,
        };
        let listed = proxy.answer::<rpc::ListVolumesOnDisk>(&list);
        assert_eq!(listed.volume_ids, slice::from_ref(&volume_id));
        let request = IsVolumeFormattedRequest {
            volume_id: volume_id.clone(),
        };
        if !proxy.answer::<rpc::IsVolumeFormatted>(&request).formatted {
            let volume_id = volume_id.clone();
            proxy.answer::<rpc::FormatVolume>(&FormatVolumeRequest { volume_id });
        }
        let mount = MountVolumeRequest {
            volume_id: volume_id.clone(),
            target_path: STAGING.into(),
        };
        proxy.answer::<rpc::MountVolume>(&mount);
        let request = GetVolumeIdFromTargetPathRequest {
            target_path: STAGING.into(),
        };
        let found = proxy.answer::<rpc::GetVolumeIdFromTargetPath>(&request);
        assert_eq!(found.volume_id, volume_id);
        for volume_id in [volume_id.clone(), DATA.to_string()] {
            let size_bytes = 0;
            proxy.answer::<rpc::ResizeVolume>(&ResizeVolumeRequest {
                volume_id,
                size_bytes,
            });
        }
        let request = GetVolumeStatsRequest {
            volume_id: volume_id.clone(),
        };
        let stats = proxy.answer::<rpc::GetVolumeStats>(&request);
        assert!(stats.total_bytes > 1 << 30);
        let request = GetDiskNumberFromVolumeIdRequest {
            volume_id: volume_id.clone(),
        };
        let disk = proxy.answer::<rpc::GetDiskNumberFromVolumeId>(&request);
        assert_eq!(disk.disk_number, DATA);
        let request = WriteVolumeCacheRequest {
            volume_id: volume_id.clone(),
        };
        proxy.answer::<rpc::WriteVolumeCache>(&request);
        let request = UnmountVolumeRequest {
            volume_id,
            target_path: STAGING.into(),
        };
        proxy.answer::<rpc::UnmountVolume>(&request);
    }};
}

#[test]
fn a_volume_lives_in_every_version_of_today() {
    let (proxy, volume_id) = with_volume();
    mkdir(&proxy, STAGING);
    life!(&proxy, v1beta3, volume_id.clone());
    life!(&proxy, v1, volume_id.clone());
    life!(&proxy, v2alpha1, volume_id);
}

#[test]
fn the_closest_volume_is_that_of_the_mounted_folder_above() {
    let (proxy, volume_id) = with_volume();
    proxy.answer::<volume::v1::rpc::FormatVolume>(&volume::v1::FormatVolumeRequest {
        volume_id: volume_id.clone(),
    });
    mkdir(&proxy, STAGING);
    proxy.answer::<volume::v1::rpc::MountVolume>(&volume::v1::MountVolumeRequest {
        volume_id: volume_id.clone(),
        target_path: STAGING.into(),
    });
    mkdir(&proxy, &format!(r"{STAGING}\a\b"));
    let link = r"C:\var\lib\kubelet\pod";
    proxy.answer::<filesystem::v1::rpc::CreateSymlink>(&filesystem::v1::CreateSymlinkRequest {
        source_path: STAGING.into(),
        target_path: link.into(),
    });
    type Closest = volume::v2alpha1::rpc::GetClosestVolumeIdFromTargetPath;
    let closest = |target_path: &str| volume::v2alpha1::GetClosestVolumeIdFromTargetPathRequest {
        target_path: target_path.to_owned(),
    };
    for inside in [STAGING, &format!(r"{STAGING}\a\b"), link] {
        let found = proxy.answer::<Closest>(&closest(inside));
        assert_eq!(found.volume_id, volume_id, "{inside}");
    }
    let system = proxy.answer::<Closest>(&closest(r"c:\var\lib\kubelet"));
    assert_eq!(volumes_on(&proxy, 0, 0), [system.volume_id]);
    let missing = proxy.complaint::<Closest>(&closest(r"C:\var\lib\kubelet\none"));
    let text = r"error getting the closest volume for the path=C:\var\lib\kubelet\none, err=";
    assert!(missing.starts_with(text), "{missing}");
    let empty = proxy.complaint::<Closest>(&closest(""));
    assert_eq!(empty, "target path is empty");
}

/// Drivers take the first of the list, so no reserved partition and no empty text comes first.
#[test]
fn a_disk_or_partition_that_does_not_exist_has_no_volumes() {
    let (proxy, volume_id) = with_volume();
    assert_eq!(volumes_on(&proxy, DATA, 0), slice::from_ref(&volume_id));
    assert_eq!(volumes_on(&proxy, DATA, 1), Vec::<String>::new());
    assert_eq!(volumes_on(&proxy, DATA, 2), [volume_id]);
    assert_eq!(volumes_on(&proxy, DATA, 3), Vec::<String>::new());
    assert_eq!(volumes_on(&proxy, 99, 0), Vec::<String>::new());
    assert_eq!(volumes_on(&proxy, u32::MAX, u32::MAX), Vec::<String>::new());
}

#[test]
fn a_volume_without_a_filesystem_has_no_size() {
    let (proxy, volume_id) = with_volume();
    let request = volume::v1::GetVolumeStatsRequest { volume_id };
    let stats = proxy.answer::<volume::v1::rpc::GetVolumeStats>(&request);
    assert_eq!((stats.total_bytes, stats.used_bytes), (0, 0));
    let gone = r"\\?\Volume{00000000-0000-0000-0000-000000000009}\".to_owned();
    let request = volume::v1::GetVolumeStatsRequest { volume_id: gone };
    proxy.complaint::<volume::v1::rpc::GetVolumeStats>(&request);
}

/// azuredisk sends the disk number when it has staged a volume.
#[test]
fn a_volume_id_of_digits_is_the_number_of_a_disk_with_one_volume() {
    let (proxy, volume_id) = with_volume();
    type Resize = volume::v1::rpc::ResizeVolume;
    let resize = |volume_id: &str, size_bytes| volume::v1::ResizeVolumeRequest {
        volume_id: volume_id.to_owned(),
        size_bytes,
    };
    proxy.answer::<Resize>(&resize("1", 0));
    let text = proxy.complaint::<Resize>(&resize("1", -5));
    assert_eq!(
        text,
        format!("invalid negative size -5 for volume ({volume_id})")
    );
    let text = proxy.complaint::<Resize>(&resize("4294967297", 0));
    let range = "strconv.ParseUint: parsing \"4294967297\": value out of range";
    assert_eq!(text, format!("volume id: {range}"));
    let text = proxy.complaint::<Resize>(&resize("99", 0));
    assert_eq!(text, "failed to query disk 99. error: not found");
    for no_number in ["+1", "1 ", "0x1", "-1"] {
        let text = proxy.complaint::<Resize>(&resize(no_number, 0));
        assert!(text.ends_with(": not found"), "{text}");
    }
    let text = proxy.complaint::<Resize>(&resize("", 0));
    assert_eq!(text, "volume id empty");
}

#[test]
fn a_share_is_mapped_and_removed_in_every_version() {
    let proxy = started();
    macro_rules! life {
        ($($version:ident)*) => {$(
            use smb::$version as api;
            let link = concat!(r"C:\var\lib\kubelet\", stringify!($version)).to_owned();
            let request = api::NewSmbGlobalMappingRequest {
                remote_path: r"//fileserver/share/sub".into(),
                local_path: link.clone(),
                username: demo::SMB_USER.into(),
                password: demo::SMB_PASSWORD.into(),
            };
            let first = proxy.answer::<api::rpc::NewSmbGlobalMapping>(&request);
            let again = proxy.answer::<api::rpc::NewSmbGlobalMapping>(&request);
            assert_eq!((&first, &again), (&Default::default(), &Default::default()));
            let remove = api::RemoveSmbGlobalMappingRequest {
                remote_path: r"\\FILESERVER\share".into(),
            };
            proxy.answer::<api::rpc::RemoveSmbGlobalMapping>(&remove);
            let text = proxy.complaint::<api::rpc::RemoveSmbGlobalMapping>(&remove);
            assert!(text.contains("No MSFT_SmbGlobalMapping objects found"), "{text}");
            let empty = proxy.complaint::<api::rpc::NewSmbGlobalMapping>(&Default::default());
            assert_eq!(empty, "remote path is empty");
        )*};
    }
    {
        life!(v1alpha1);
    }
    {
        life!(v1beta1);
    }
    {
        life!(v1beta2);
    }
    {
        life!(v1);
    }
}

/// csi-proxy maps first and checks the link's path after that.
/// Guards: P73
#[test]
fn a_link_path_that_is_refused_maps_nothing() {
    let proxy = started();
    for local_path in [r"C:\Windows\x", "link", r"C:\var\lib\kubelet\..\x"] {
        let request = smb::v1::NewSmbGlobalMappingRequest {
            remote_path: demo::SHARE.into(),
            local_path: local_path.into(),
            username: demo::SMB_USER.into(),
            password: demo::SMB_PASSWORD.into(),
        };
        proxy.complaint::<smb::v1::rpc::NewSmbGlobalMapping>(&request);
        let remove = smb::v1::RemoveSmbGlobalMappingRequest {
            remote_path: demo::SHARE.into(),
        };
        let text = proxy.complaint::<smb::v1::rpc::RemoveSmbGlobalMapping>(&remove);
        assert!(text.contains("No MSFT_SmbGlobalMapping"), "{text}");
    }
}
