//! Each operation on disks and volumes in each version that has it: the same question and the same
//! answer, regardless of names on the wire.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use formats::location::Location;
use node::api::{Condition, NodeApi};
use node::{Criterion, DiskIds, DiskQuery, FoundVolume, NewSize, Resized, SerialNumber};
use os::{DiskNumber, PartitionNumber, Space, VolumeId, WinPath};
use transport::{Code, Status};
use wincsi_client::Node;

use crate::support::heard::{Heard, script};
use crate::support::{ProxyFolder, Script, soon};

const DISK: DiskNumber = DiskNumber(2);
const VOLUME: &str = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\";
const TARGET: &str = r"C:\var\lib\kubelet\plugins\a";

fn volume() -> VolumeId {
    VOLUME.parse().unwrap()
}

fn target() -> WinPath {
    TARGET.parse().unwrap()
}

fn location() -> Location {
    Location {
        adapter: Some("0".into()),
        target: Some("1".into()),
        lun: Some("4".into()),
        ..Location::default()
    }
}

fn ids() -> DiskIds {
    DiskIds::new("naa.6", "SERIAL")
}

/// A row of locations, whatever the type of the key.
macro_rules! located {
    ($version:ident, $key:expr) => {
        BTreeMap::from([(
            $key,
            wire::disk::$version::DiskLocation {
                adapter: "0".into(),
                bus: String::new(),
                target: "1".into(),
                lun_id: "4".into(),
            },
        )])
    };
}

macro_rules! numbered_disks {
    ($heard:expr, $version:ident) => {
        script!($heard, disk $version;
            ListDiskLocations |_request| "locations" => ListDiskLocationsResponse {
                disk_locations: located!($version, 2),
            }
            ListDiskIds |_request| "ids" => ListDiskIdsResponse {
                disk_ids: BTreeMap::from([(2, wire::disk::$version::DiskIds {
                    page83: "naa.6".into(),
                    serial_number: "  SERIAL ".into(),
                })]),
            }
            Rescan |_request| "rescan" => RescanResponse {}
            PartitionDisk |request| format!("partition {}", request.disk_number) => PartitionDiskResponse {}
            GetDiskStats |request| format!("size {}", request.disk_number) => GetDiskStatsResponse {
                total_bytes: 1 << 40,
            }
            GetDiskState |request| format!("state {}", request.disk_number) => GetDiskStateResponse {
                is_online: true,
            }
            SetDiskState |request| format!("online {}: {}", request.disk_number, request.is_online)
                => SetDiskStateResponse {}
        )
    };
}

macro_rules! named_disks {
    ($heard:expr, $version:ident) => {
        script!($heard, disk $version;
            ListDiskLocations |_request| "locations" => ListDiskLocationsResponse {
                disk_locations: located!($version, "2".to_owned()),
            }
            Rescan |_request| "rescan" => RescanResponse {}
            PartitionDisk |request| format!("partition {}", request.disk_id) => PartitionDiskResponse {}
        )
    };
}

macro_rules! with_ids {
    ($script:expr, $heard:expr, $version:ident) => {{
        let (listed, sized): (Heard, Heard) = ($heard.clone(), $heard.clone());
        $script
            .on::<wire::disk::$version::rpc::ListDiskIds>(move |_| {
                listed.note("ids");
                let identifiers = BTreeMap::from([
                    ("page83".to_owned(), "naa.6".to_owned()),
                    ("serialNumber".to_owned(), "SERIAL".to_owned()),
                ]);
                let ids = wire::disk::$version::DiskIds { identifiers };
                Ok(wire::disk::$version::ListDiskIdsResponse {
                    disk_ids: BTreeMap::from([("2".to_owned(), ids)]),
                })
            })
            .on::<wire::disk::$version::rpc::DiskStats>(move |request| {
                sized.note(format!("size {}", request.disk_id));
                Ok(wire::disk::$version::DiskStatsResponse { disk_size: 1 << 40 })
            })
    }};
}

fn with_state(script: Script, heard: &Heard) -> Script {
    use wire::disk::v1beta2;
    let (asked, set) = (heard.clone(), heard.clone());
    script
        .on::<v1beta2::rpc::GetAttachState>(move |request| {
            asked.note(format!("state {}", request.disk_id));
            Ok(v1beta2::GetAttachStateResponse { is_online: true })
        })
        .on::<v1beta2::rpc::SetAttachState>(move |request| {
            set.note(format!("online {}: {}", request.disk_id, request.is_online));
            Ok(v1beta2::SetAttachStateResponse {})
        })
}

fn every_disk_operation(node: &Node) {
    let (disks, deadline) = (node.disks(), soon(node));
    let locations = BTreeMap::from([(DISK, location())]);
    assert_eq!(disks.locations(deadline), Ok(locations));
    disks.rescan(deadline).unwrap();
}

fn every_disk_look(node: &Node) {
    let (disks, deadline) = (node.disks(), soon(node));
    assert_eq!(disks.ids(deadline), Ok(BTreeMap::from([(DISK, ids())])));
    assert_eq!(disks.by_page83("naa.6", deadline), Ok(DISK));
    assert_eq!(disks.size(DISK, deadline), Ok(1 << 40));
}

fn every_disk_state(node: &Node) {
    let (disks, deadline) = (node.disks(), soon(node));
    assert_eq!(disks.is_online(DISK, deadline), Ok(true));
    let found = disks.find(&at(4), deadline).unwrap();
    disks.bring_online(&found, deadline).unwrap();
}

/// How much of the group a version has.
type Steps = &'static [fn(&Node)];

fn disk_versions(heard: &Heard) -> Vec<(Script, Steps)> {
    let all: Steps = &[every_disk_operation, every_disk_look, every_disk_state];
    let beta1 = with_ids!(named_disks!(heard, v1beta1), heard, v1beta1);
    let beta2 = with_ids!(named_disks!(heard, v1beta2), heard, v1beta2);
    vec![
        (numbered_disks!(heard, v1), all),
        (numbered_disks!(heard, v1beta3), all),
        (with_state(beta2, heard), all),
        (beta1, &[every_disk_operation, every_disk_look]),
        (named_disks!(heard, v1alpha1), &[every_disk_operation]),
    ]
}

#[test]
fn disks_are_the_same_in_every_version() {
    let expected = [
        "locations",
        "rescan",
        "ids",
        "ids",
        "size 2",
        "state 2",
        "locations",
        "ids",
        "locations",
        "ids",
        "online 2: true",
    ];
    let heard = Heard::default();
    for (script, steps) in disk_versions(&heard) {
        let place = ProxyFolder::new();
        let _proxy = place.serve([script]);
        let node = place.node();
        steps.iter().for_each(|step| step(&node));
        let heard = heard.take();
        assert_eq!(heard, expected[..heard.len()]);
        assert_eq!(heard.len(), [0, 2, 5, 11][steps.len()]);
    }
}

fn at(lun: u32) -> DiskQuery {
    DiskQuery::all([Criterion::Adapter(0), Criterion::Lun(lun)]).unwrap()
}

/// Properties that the version does not list are not used, and those that it lists are checked
/// again.
#[test]
fn a_disk_that_was_found_is_partitioned_in_every_version() {
    let heard = Heard::default();
    for (script, steps) in disk_versions(&heard) {
        let place = ProxyFolder::new();
        let _proxy = place.serve([script]);
        let (node, wanted) = (place.node(), at(4));
        let found = node.disks().find(&wanted, soon(&node)).unwrap();
        assert_eq!(found.number(), DISK);
        node.disks().partition(&found, soon(&node)).unwrap();
        let mut look = vec!["locations"];
        look.extend((steps.len() > 1).then_some("ids"));
        let expected = [&look[..], &look, &["partition 2"]].concat();
        assert_eq!(heard.take(), expected);
    }
}

/// A proxy leaves out of its list of names a disk that does not answer, which may be the one that is meant.
#[test]
fn a_disk_that_one_list_leaves_out_keeps_others_from_being_taken() {
    use wire::disk::v1;
    let row = |lun: &str| v1::DiskLocation {
        adapter: "0".into(),
        bus: "0".into(),
        target: "0".into(),
        lun_id: lun.into(),
    };
    let disk_locations = BTreeMap::from([(1, row("1")), (2, row("2"))]);
    let place = ProxyFolder::new();
    let _proxy = place.serve([Script::of(&v1::GROUP)
        .on::<v1::rpc::ListDiskLocations>(move |_| {
            let disk_locations = disk_locations.clone();
            Ok(v1::ListDiskLocationsResponse { disk_locations })
        })
        .on::<v1::rpc::ListDiskIds>(|_| {
            let ids = v1::DiskIds {
                page83: String::new(),
                serial_number: "SERIAL".into(),
            };
            let disk_ids = BTreeMap::from([(2, ids)]);
            Ok(v1::ListDiskIdsResponse { disk_ids })
        })]);
    let node = place.node();
    let serial = Criterion::Serial(SerialNumber::parse("SERIAL").unwrap());
    let wanted = DiskQuery::all([serial.clone()]).unwrap();
    let error = node.disks().find(&wanted, soon(&node)).unwrap_err();
    let condition = Some(Condition::Uncertain);
    assert_eq!(error.condition(), condition, "{error}");
    let wanted = DiskQuery::all([serial, Criterion::Lun(2)]).unwrap();
    let found = node.disks().find(&wanted, soon(&node)).unwrap();
    assert_eq!(found.number(), DISK);
}

/// It may have the length that is asked for.
#[test]
fn a_disk_that_does_not_tell_its_length_keeps_others_from_being_taken() {
    use wire::disk::v1;
    let place = ProxyFolder::new();
    let _proxy = place.serve([Script::of(&v1::GROUP)
        .on::<v1::rpc::ListDiskLocations>(|_| {
            let disk_locations = [1, 2].map(|disk| (disk, located!(v1, 0).remove(&0).unwrap()));
            let disk_locations = disk_locations.into();
            Ok(v1::ListDiskLocationsResponse { disk_locations })
        })
        .on::<v1::rpc::ListDiskIds>(|_| Ok(v1::ListDiskIdsResponse::default()))
        .on::<v1::rpc::GetDiskStats>(|request| match request.disk_number {
            1 => Err(Status::new(Code::Unknown, "the device does not answer")),
            _ => Ok(v1::GetDiskStatsResponse { total_bytes: 4096 }),
        })]);
    let (node, size) = (place.node(), Criterion::Size(4096));
    let wanted = [Criterion::Adapter(0), Criterion::Lun(4), size];
    let wanted = DiskQuery::all(wanted).unwrap();
    let error = node.disks().find(&wanted, soon(&node)).unwrap_err();
    let condition = Some(Condition::Uncertain);
    assert_eq!(error.condition(), condition, "{error}");
}

#[test]
fn the_first_version_finds_a_disk_by_its_page83() {
    let heard = Heard::default();
    let place = ProxyFolder::new();
    let _proxy = place.serve([script!(heard, disk v1alpha1;
        GetDiskNumberByName |request| request.disk_name => GetDiskNumberByNameResponse {
            disk_number: "2".into(),
        }
    )]);
    let node = place.node();
    assert_eq!(node.disks().by_page83("naa.6", soon(&node)), Ok(DISK));
    assert_eq!(heard.take(), ["naa.6"]);
}

#[test]
fn a_disk_is_never_the_first_of_several() {
    let place = ProxyFolder::new();
    let _proxy = place.serve([Script::of(&wire::disk::v1::GROUP)
        .on::<wire::disk::v1::rpc::ListDiskIds>(|_| {
            let same = wire::disk::v1::DiskIds {
                page83: "naa.6".into(),
                serial_number: String::new(),
            };
            Ok(wire::disk::v1::ListDiskIdsResponse {
                disk_ids: BTreeMap::from([(1, same.clone()), (2, same)]),
            })
        })]);
    let node = place.node();
    let several = node.disks().by_page83("naa.6", soon(&node)).unwrap_err();
    assert_eq!(several.condition(), Some(Condition::Ambiguous));
    let none = node.disks().by_page83("naa.7", soon(&node)).unwrap_err();
    assert_eq!(none.condition(), Some(Condition::NotFound));
}

macro_rules! volumes_now {
    ($heard:expr, $version:ident) => {
        script!($heard, volume $version;
            ListVolumesOnDisk |request| format!("list {} {}", request.disk_number, request.partition_number)
                => ListVolumesOnDiskResponse { volume_ids: vec![VOLUME.into()] }
            MountVolume |request| format!("mount {} {}", request.volume_id, request.target_path)
                => MountVolumeResponse {}
            UnmountVolume |request| format!("unmount {} {}", request.volume_id, request.target_path)
                => UnmountVolumeResponse {}
            IsVolumeFormatted |request| format!("formatted {}", request.volume_id)
                => IsVolumeFormattedResponse { formatted: false }
            FormatVolume |request| format!("format {}", request.volume_id) => FormatVolumeResponse {}
            ResizeVolume |request| format!("resize {} {}", request.volume_id, request.size_bytes)
                => ResizeVolumeResponse {}
            GetVolumeStats |request| format!("stats {}", request.volume_id)
                => GetVolumeStatsResponse { total_bytes: 10, used_bytes: 4 }
            GetDiskNumberFromVolumeId |request| format!("disk {}", request.volume_id)
                => GetDiskNumberFromVolumeIdResponse { disk_number: 2 }
            GetVolumeIdFromTargetPath |request| format!("at {}", request.target_path)
                => GetVolumeIdFromTargetPathResponse { volume_id: VOLUME.into() }
            WriteVolumeCache |request| format!("flush {}", request.volume_id)
                => WriteVolumeCacheResponse {}
        )
    };
}

macro_rules! volumes_first {
    ($heard:expr, $version:ident; $($more:tt)*) => {
        script!($heard, volume $version;
            ListVolumesOnDisk |request| format!("list {} 0", request.disk_id)
                => ListVolumesOnDiskResponse { volume_ids: vec![String::new(), VOLUME.into()] }
            MountVolume |request| format!("mount {} {}", request.volume_id, request.path)
                => MountVolumeResponse {}
            DismountVolume |request| format!("unmount {} {}", request.volume_id, request.path)
                => DismountVolumeResponse {}
            IsVolumeFormatted |request| format!("formatted {}", request.volume_id)
                => IsVolumeFormattedResponse { formatted: false }
            FormatVolume |request| format!("format {}", request.volume_id) => FormatVolumeResponse {}
            ResizeVolume |request| format!("resize {} {}", request.volume_id, request.size)
                => ResizeVolumeResponse {}
            $($more)*
        )
    };
}

macro_rules! volumes_then {
    ($heard:expr, $version:ident; $($more:tt)*) => {
        volumes_first!($heard, $version;
            VolumeStats |request| format!("stats {}", request.volume_id)
                => VolumeStatsResponse { volume_size: 10, volume_used_size: 4 }
            GetVolumeDiskNumber |request| format!("disk {}", request.volume_id)
                => VolumeDiskNumberResponse { disk_number: 2 }
            GetVolumeIdFromMount |request| format!("at {}", request.mount)
                => VolumeIdFromMountResponse { volume_id: VOLUME.into() }
            $($more)*
        )
    };
}

fn every_volume_change(node: &Node) {
    let (volumes, deadline) = (node.volumes(), soon(node));
    let listed = volumes.list_on_disk(DISK, None, deadline);
    assert_eq!(listed, Ok(vec![volume()]));
    volumes.unmount(volume(), &target(), deadline).unwrap();
    assert_eq!(volumes.is_formatted(volume(), deadline), Ok(false));
}

fn volume_changes_by_path(node: &Node) {
    let (volumes, deadline) = (node.volumes(), soon(node));
    let size = NewSize::Bytes(NonZeroU64::new(1 << 40).unwrap());
    let found = volumes.find_at(&target(), deadline).unwrap();
    assert_eq!(found, FoundVolume::mounted_at(volume(), target()));
    volumes.mount(&found, &target(), deadline).unwrap();
    volumes.format(&found, deadline).unwrap();
    for size in [NewSize::Maximum, size] {
        let resized = volumes.resize(&found, size, deadline);
        assert_eq!(resized, Ok(Resized::Unreported));
    }
}

fn every_volume_look(node: &Node) {
    let (volumes, deadline) = (node.volumes(), soon(node));
    let space = Space {
        total: 10,
        free: 6,
        available: 6,
    };
    assert_eq!(volumes.stats(volume(), deadline), Ok(space));
    assert_eq!(volumes.disk_number(volume(), deadline), Ok(DISK));
    assert_eq!(volumes.of_target(&target(), deadline), Ok(volume()));
}

fn volume_flush(node: &Node) {
    node.volumes().flush(volume(), soon(node)).unwrap();
}

fn volume_versions(heard: &Heard) -> Vec<(Script, Steps)> {
    let all: Steps = &[
        every_volume_change,
        every_volume_look,
        volume_changes_by_path,
        volume_flush,
    ];
    vec![
        (volumes_now!(heard, v2alpha1), all),
        (volumes_now!(heard, v1), all),
        (volumes_now!(heard, v1beta3), all),
        (
            volumes_then!(heard, v1beta2;
                WriteVolumeCache |request| format!("flush {}", request.volume_id)
                    => WriteVolumeCacheResponse {}
            ),
            all,
        ),
        (
            volumes_then!(heard, v1beta1;),
            &[
                every_volume_change,
                every_volume_look,
                volume_changes_by_path,
            ],
        ),
        (volumes_first!(heard, v1alpha1;), &[every_volume_change]),
    ]
}

#[test]
fn volumes_are_the_same_in_every_version() {
    let expected = [
        "list 2 0".to_owned(),
        format!("unmount {VOLUME} {TARGET}"),
        format!("formatted {VOLUME}"),
        format!("stats {VOLUME}"),
        format!("disk {VOLUME}"),
        format!("at {TARGET}"),
        format!("at {TARGET}"),
        format!("at {TARGET}"),
        format!("mount {VOLUME} {TARGET}"),
        format!("formatted {VOLUME}"),
        format!("at {TARGET}"),
        format!("format {VOLUME}"),
        format!("at {TARGET}"),
        format!("resize {VOLUME} 0"),
        format!("at {TARGET}"),
        format!("resize {VOLUME} {}", 1u64 << 40),
        format!("flush {VOLUME}"),
    ];
    let heard = Heard::default();
    for (script, steps) in volume_versions(&heard) {
        let place = ProxyFolder::new();
        let _proxy = place.serve([script]);
        let node = place.node();
        steps.iter().for_each(|step| step(&node));
        let heard = heard.take();
        assert_eq!(heard, expected[..heard.len()]);
        assert_eq!(heard.len(), [0, 3, 6, 16, 17][steps.len()]);
    }
}

#[test]
fn one_partition_and_the_closest_volume_are_asked_for() {
    let heard = Heard::default();
    let place = ProxyFolder::new();
    let _proxy = place.serve([script!(heard, volume v2alpha1;
        ListVolumesOnDisk |request| format!("partition {}", request.partition_number)
            => ListVolumesOnDiskResponse { volume_ids: Vec::new() }
        GetClosestVolumeIdFromTargetPath |request| format!("closest {}", request.target_path)
            => GetClosestVolumeIdFromTargetPathResponse { volume_id: VOLUME.into() }
    )]);
    let (node, one) = (place.node(), Some(PartitionNumber(1)));
    let (volumes, deadline) = (node.volumes(), soon(&node));
    assert_eq!(volumes.list_on_disk(DISK, one, deadline), Ok(Vec::new()));
    assert_eq!(volumes.closest(&target(), deadline), Ok(volume()));
    assert_eq!(
        heard.take(),
        ["partition 1".to_owned(), format!("closest {TARGET}")]
    );
}

/// Twice the disk is made sure of: before its volumes are asked for, and before it goes.
#[test]
fn a_disk_is_taken_offline_after_its_volumes_are_flushed_in_every_version() {
    let heard = Heard::default();
    let with_state = |disks| with_state(disks, &heard);
    let flush = |request: &str| format!("flush {request}");
    let versions = [
        [numbered_disks!(heard, v1), volumes_now!(heard, v1)],
        [
            numbered_disks!(heard, v1beta3),
            volumes_now!(heard, v1beta3),
        ],
        [
            with_state(with_ids!(named_disks!(heard, v1beta2), heard, v1beta2)),
            volumes_then!(heard, v1beta2;
                WriteVolumeCache |request| flush(&request.volume_id) => WriteVolumeCacheResponse {}
            ),
        ],
    ];
    for scripts in versions {
        let place = ProxyFolder::new();
        let _proxy = place.serve(scripts);
        let node = place.node();
        let found = node.disks().find(&at(4), soon(&node)).unwrap();
        let _ = heard.take();
        node.disks().take_offline(&found, soon(&node)).unwrap();
        let flushed = format!("flush {VOLUME}");
        let expected = [
            "locations",
            "ids",
            "state 2",
            "list 2 0",
            &flushed,
            "locations",
            "ids",
            "online 2: false",
        ];
        assert_eq!(heard.take(), expected);
    }
}

/// A read-only volume has nothing cached; one whose flush fails otherwise may have.
#[test]
fn a_disk_stays_online_when_what_is_cached_cannot_be_written() {
    use wire::volume::v1;
    for (text, goes) in [
        ("The media is write protected.", true),
        ("The device is not ready.", false),
    ] {
        let heard = Heard::default();
        let place = ProxyFolder::new();
        let volumes = Script::of(&v1::GROUP)
            .on::<v1::rpc::ListVolumesOnDisk>(|_| {
                let volume_ids = vec![VOLUME.to_owned()];
                Ok(v1::ListVolumesOnDiskResponse { volume_ids })
            })
            .on::<v1::rpc::IsVolumeFormatted>(|_| {
                Ok(v1::IsVolumeFormattedResponse { formatted: true })
            })
            .on::<v1::rpc::WriteVolumeCache>(move |_| Err(Status::new(Code::Unknown, text)));
        let _proxy = place.serve([numbered_disks!(heard, v1), volumes]);
        let node = place.node();
        let found = node.disks().find(&at(4), soon(&node)).unwrap();
        let taken = node.disks().take_offline(&found, soon(&node));
        assert_eq!(taken.is_ok(), goes, "{taken:?}");
        let has_gone = heard.take().contains(&"online 2: false".to_owned());
        assert_eq!(has_gone, goes, "{text}");
    }
}

/// csi-proxy 1.1 and 1.2 answer so, and success is what all other versions answer.
#[test]
fn a_volume_that_has_nothing_to_grow_is_no_failure() {
    use wire::volume::v1;
    let place = ProxyFolder::new();
    let volumes = Script::of(&v1::GROUP)
        .on::<v1::rpc::GetVolumeIdFromTargetPath>(|_| {
            let volume_id = VOLUME.to_owned();
            Ok(v1::GetVolumeIdFromTargetPathResponse { volume_id })
        })
        .on::<v1::rpc::ResizeVolume>(|_| {
            let text = "Resize-Partition : The size of the extent is less than the minimum of 1MB.";
            Err(Status::new(Code::Unknown, text))
        });
    let _proxy = place.serve([volumes]);
    let node = place.node();
    let found = node.volumes().find_at(&target(), soon(&node)).unwrap();
    let resized = node.volumes().resize(&found, NewSize::Maximum, soon(&node));
    assert_eq!(resized, Ok(Resized::Unreported));
}
