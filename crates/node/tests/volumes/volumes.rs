//! Volumes on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use os::schema::{codes, partition, volume};
use os::{Outcome, PartitionEntry, PartitionNumber, SystemText, Win32};
use os_sim::{Bus, DiskSpec, Effect, Rule};
use uuid::Uuid;
use wincsi_node::{DiskError, NewSize, ProviderError, Resized, VisibilityError, VolumeError};

use crate::support::{DATA, GIB, Rig, meddle};

const MIB: u64 = 1 << 20;

fn bytes(size: u64) -> NewSize {
    NewSize::Bytes(NonZeroU64::new(size).unwrap())
}

fn partition_length(rig: &Rig) -> u64 {
    rig.os().volumes.extents(rig.volume()).unwrap()[0].length
}

fn grown(to: u64) -> Rig {
    let rig = Rig::with_mounted_volume();
    rig.sim.hardware().grow_disk(DATA, to).unwrap();
    rig
}

#[test]
fn a_volume_is_formatted_once() {
    let rig = Rig::with_data_disk();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let volumes = rig.volumes();
    let volume = rig.volume();
    assert_eq!(volumes.is_formatted(volume, rig.soon()), Ok(false));
    assert!(
        volumes.stats(volume, rig.soon()).is_err(),
        "no filesystem is not one of no bytes"
    );
    volumes.format(volume, rig.soon()).unwrap();
    assert_eq!(volumes.is_formatted(volume, rig.soon()), Ok(true));
    let stats = volumes.stats(volume, rig.soon()).unwrap();
    assert!(stats.total > 3 * GIB && stats.free <= stats.total);
    let again = volumes.format(volume, rig.soon()).unwrap_err();
    assert!(
        again.to_string().contains("NTFS filesystem at offset"),
        "{again}"
    );
}

/// What cannot be read is not "not formatted": the next call would format it.
#[test]
fn a_volume_that_does_not_answer_is_not_unformatted() {
    let rig = Rig::with_volume();
    let volume = rig.volume();
    rig.sim.faults().add(Rule::on(
        "GetVolumeInformationW",
        Effect::fail(Win32::IO_DEVICE),
    ));
    assert!(rig.volumes().is_formatted(volume, rig.soon()).is_err());
}

#[test]
fn the_provider_is_asked_for_nothing_that_the_kernel_knows() {
    let rig = Rig::with_mounted_volume();
    let (volume, staging, soon) = (rig.volume(), rig.staging(), rig.soon());
    let trace = rig.trace(|| {
        let volumes = rig.volumes();
        volumes.stats(volume, soon).unwrap();
        volumes.disk_number(volume, soon).unwrap();
        volumes.flush(volume, soon).unwrap();
        volumes.is_formatted(volume, soon).unwrap();
        volumes.of_target(&staging, soon).unwrap();
        volumes.list_on_disk(rig.disk(), None, soon).unwrap();
        rig.filesystem().is_symlink(&staging, soon).unwrap();
        rig.filesystem().path_exists(&staging, soon).unwrap();
    });
    let asked = trace
        .iter()
        .filter(|op| op.facility == os::Facility::Storage);
    assert_eq!(asked.count(), 0);
}

#[test]
fn a_partition_is_asked_for_by_its_number() {
    let rig = Rig::with_volume();
    let volumes = rig.volumes();
    let list = |number| volumes.list_on_disk(rig.disk(), Some(PartitionNumber(number)), rig.soon());
    assert_eq!(list(2), Ok(vec![rig.volume()]));
    assert_eq!(
        list(1),
        Ok(Vec::new()),
        "the reserved partition is nobody's"
    );
    let error = list(3).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("disk {} has no partition 3, only 1, 2", rig.disk())
    );
    rig.plug(&DiskSpec::on(Bus::Sas).serial("raw").lun(9), "raw", GIB);
    let raw = volumes.list_on_disk(rig.disk_of("raw"), None, rig.soon());
    assert_eq!(raw, Ok(Vec::new()));
}

/// A volume that cannot be looked at may be the one: a list without it would hand out another.
#[test]
fn a_volume_that_cannot_be_looked_at_hides_its_disk_alone() {
    let rig = Rig::with_volume();
    let (volume, disk) = (rig.volume(), rig.disk());
    let extents = "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS";
    let unreadable = Rule::on(extents, Effect::fail(Win32::IO_DEVICE)).object(&volume.to_string());
    rig.sim.faults().add(unreadable);
    let error = rig
        .volumes()
        .list_on_disk(disk, None, rig.soon())
        .unwrap_err();
    assert!(matches!(
        &error,
        VolumeError::Visibility(VisibilityError::NotVisible { unreadable, .. })
            if unreadable == &[volume]
    ));
    rig.plug(&DiskSpec::on(Bus::Sas).serial("other").lun(9), "other", GIB);
    let other = rig.disk_of("other");
    rig.disks().partition(other, rig.soon()).unwrap();
    assert_eq!(
        rig.volumes()
            .list_on_disk(other, None, rig.soon())
            .unwrap()
            .len(),
        1
    );
}

/// The wait is for a state that may have changed since it began.
#[test]
fn a_disk_that_goes_offline_while_its_volume_is_waited_for_has_none() {
    let rig = Rig::with_volume();
    let (disk, node) = (rig.disk(), rig.node.clone());
    let soon = rig.soon();
    let late = meddle::node(&rig, |os| {
        let volumes = Arc::clone(&os.volumes);
        os.volumes = Arc::new(meddle::Elsewhere::of(volumes, move |before, _| {
            if before == 5 {
                node.operations().disks().set_offline(disk, soon).unwrap();
            }
            Err(os::Error::new("extents", "volume", Win32::NOT_READY))
        }));
    });
    let began = rig.os().clock.now();
    assert_eq!(
        late.operations().volumes().list_on_disk(disk, None, soon),
        Ok(Vec::new())
    );
    let waited = rig.os().clock.now().0 - began.0;
    assert!(waited < Duration::from_secs(10), "{waited:?}");
}

#[test]
fn a_disk_that_goes_away_while_its_volume_is_waited_for_is_no_disk() {
    let rig = Rig::with_volume();
    let (disk, sim) = (rig.disk(), rig.sim.clone());
    let late = meddle::node(&rig, |os| {
        let volumes = Arc::clone(&os.volumes);
        os.volumes = Arc::new(meddle::Elsewhere::of(volumes, move |before, _| {
            if before == 5 {
                sim.hardware().detach_disk(DATA).unwrap();
            }
            Err(os::Error::new("extents", "volume", Win32::NOT_READY))
        }));
    });
    let gone = late
        .operations()
        .volumes()
        .list_on_disk(disk, Some(PartitionNumber(2)), rig.soon());
    assert!(
        matches!(
            gone,
            Err(VolumeError::Disk(DiskError::Provider(
                ProviderError::NotFound { .. }
            )))
        ),
        "{gone:?}"
    );
}

/// Sizes near the end of 64 bits neither wrap nor are taken for small ones.
#[test]
fn an_absurd_size_is_too_large() {
    let rig = grown(8 * GIB);
    let before = partition_length(&rig);
    for size in [i64::MAX, i64::MAX - 1, 1 << 62] {
        let size = NewSize::from_request(rig.volume(), size).unwrap();
        let error = rig.volumes().resize(rig.volume(), size, rig.soon());
        assert!(
            matches!(error, Err(VolumeError::TooLarge { .. })),
            "{error:?}"
        );
    }
    assert_eq!(partition_length(&rig), before);
}

#[test]
fn a_volume_grows_to_the_end_of_its_disk() {
    let rig = grown(8 * GIB);
    let from = partition_length(&rig);
    let resized = rig
        .volumes()
        .resize(rig.volume(), NewSize::Maximum, rig.soon());
    let to = partition_length(&rig);
    assert_eq!(resized, Ok(Resized::Grown { from, to }));
    let extent = rig.os().volumes.extents(rig.volume()).unwrap()[0];
    assert_eq!(extent.offset + extent.length, 8 * GIB - 2 * MIB);
    let stats = rig.volumes().stats(rig.volume(), rig.soon()).unwrap();
    assert!(stats.total > 8 * GIB - 32 * MIB, "{stats:?}");
    assert_eq!(rig.precious(), "precious");
}

/// A volume of 4 GiB, and this one behind a gap on the same disk of 8 GiB.
fn with_a_neighbour(kind: Uuid) -> Rig {
    let rig = grown(8 * GIB);
    rig.disks().rescan(rig.soon()).unwrap();
    rig.settle();
    rig.add_partition(kind, NEIGHBOUR, GIB);
    rig
}

const NEIGHBOUR: u64 = 6 * GIB;

#[test]
fn a_volume_grows_up_to_the_next_partition_and_no_further() {
    let rig = with_a_neighbour(PartitionEntry::BASIC_DATA);
    let (volumes, volume) = (rig.volumes(), rig.volume());
    let extent = || rig.os().volumes.extents(volume).unwrap()[0];
    let neighbour = || rig.os().disks.layout(rig.disk()).unwrap().partitions[2].clone();
    let (from, before) = (extent(), neighbour());
    let room = NEIGHBOUR - from.offset;
    let error = volumes.resize(volume, bytes(room + MIB), rig.soon());
    assert!(
        matches!(error, Err(VolumeError::TooLarge { maximum, .. }) if maximum == room),
        "{error:?}"
    );
    assert_eq!(extent(), from);
    let resized = volumes.resize(volume, NewSize::Maximum, rig.soon());
    let grown = Resized::Grown {
        from: from.length,
        to: room,
    };
    assert_eq!(resized, Ok(grown));
    assert_eq!(extent().offset + extent().length, NEIGHBOUR);
    assert_eq!(neighbour(), before);
    assert_eq!(rig.precious(), "precious");
}

/// azuredisk has the volume of a disk resized, which it names by the disk's number alone.
#[test]
fn a_disk_with_two_volumes_has_no_volume_that_is_meant() {
    let rig = with_a_neighbour(PartitionEntry::BASIC_DATA);
    let (disk, first) = (rig.disk(), rig.volume());
    let error = rig.volumes().sole_on_disk(disk, rig.soon());
    let Err(VolumeError::NotOneVolume { disk: of, volumes }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((of, volumes.len(), volumes[0]), (disk, 2, first));
}

/// csi-proxy's rule: growth of less than 100 MiB is none, and nothing shrinks.
#[test]
fn small_growth_and_shrinking_are_nothing() {
    let rig = grown(8 * GIB);
    let before = partition_length(&rig);
    let volumes = rig.volumes();
    for size in [1, before, before + 100 * MIB - 1] {
        let trace = rig.trace(|| {
            let resized = volumes.resize(rig.volume(), bytes(size), rig.soon());
            assert_eq!(resized, Ok(Resized::Unchanged { size: before }));
        });
        assert!(
            trace.iter().all(|op| !op.operation.ends_with(".Resize")),
            "{size}"
        );
        assert_eq!(partition_length(&rig), before);
    }
    let (from, to) = (before, before + 100 * MIB);
    let resized = volumes.resize(rig.volume(), bytes(to), rig.soon());
    assert_eq!(resized, Ok(Resized::Grown { from, to }));
    assert_eq!(partition_length(&rig), to);
    let error = volumes
        .resize(rig.volume(), bytes(9 * GIB), rig.soon())
        .unwrap_err();
    assert!(matches!(error, VolumeError::TooLarge { maximum, .. } if maximum < 8 * GIB));
}

/// The partition grew, its filesystem did not: that call died, or the provider failed half way.
#[test]
fn a_filesystem_fills_its_partition_also_when_that_need_not_grow() {
    let rig = grown(8 * GIB);
    let resize = format!("*{}", partition::RESIZE.name);
    let half_way = rig.sim.faults().add(Rule::on(&resize, Effect::HalfWay));
    rig.sim
        .faults()
        .add(Rule::on("FSCTL_EXTEND_VOLUME", Effect::fail(Win32::IO_DEVICE)).times(1));
    let volumes = rig.volumes();
    volumes
        .resize(rig.volume(), NewSize::Maximum, rig.soon())
        .unwrap_err();
    rig.sim.faults().remove(half_way);
    assert!(partition_length(&rig) > 7 * GIB);
    assert!(volumes.stats(rig.volume(), rig.soon()).unwrap().total < 5 * GIB);
    let size = partition_length(&rig);
    let resized = volumes.resize(rig.volume(), bytes(1), rig.soon());
    assert_eq!(resized, Ok(Resized::Filled { size }));
    assert!(volumes.stats(rig.volume(), rig.soon()).unwrap().total > 7 * GIB);
    assert_eq!(rig.precious(), "precious");
}

#[test]
fn the_kernel_grows_what_the_provider_fails_to_without_a_reason() {
    let resize = format!("*{}", partition::RESIZE.name);
    let answer = |code: u32| Rule::on(&resize, Effect::Answer(Outcome::of(code)));
    let rig = grown(8 * GIB);
    rig.sim.faults().add(answer(codes::FAILED.code));
    rig.volumes()
        .resize(rig.volume(), NewSize::Maximum, rig.soon())
        .unwrap();
    assert!(rig.volumes().stats(rig.volume(), rig.soon()).unwrap().total > 7 * GIB);
    let rig = grown(8 * GIB);
    rig.sim.faults().add(answer(codes::VOLUME_HAS_ERRORS.code));
    let error = rig
        .volumes()
        .resize(rig.volume(), NewSize::Maximum, rig.soon())
        .unwrap_err();
    assert!(
        matches!(error, VolumeError::Provider(ProviderError::Refused { .. })),
        "{error:?}"
    );
    assert!(partition_length(&rig) < 4 * GIB);
}

/// aws-ebs-csi-driver#2877: without the defragmenter the supported size is not known.
#[test]
fn growing_needs_no_defragmenter() {
    let rig = grown(8 * GIB);
    let trace = rig.trace(|| {
        rig.volumes()
            .resize(rig.volume(), NewSize::Maximum, rig.soon())
            .unwrap();
    });
    let asked = trace
        .iter()
        .any(|op| op.operation.ends_with(partition::GET_SUPPORTED_SIZE.name));
    assert!(!asked);
}

#[test]
fn a_refresh_that_fails_does_not_undo_a_resize() {
    let rig = grown(8 * GIB);
    rig.sim.faults().add(Rule::on(
        "MSFT_Disk.Refresh",
        Effect::fail(Win32::GEN_FAILURE),
    ));
    rig.volumes()
        .resize(rig.volume(), NewSize::Maximum, rig.soon())
        .unwrap();
    assert!(partition_length(&rig) > 7 * GIB);
}

#[test]
fn a_format_that_windows_refuses_says_why() {
    let rig = Rig::with_data_disk();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let refused = Outcome {
        extended: Some("computer says no".to_owned()),
        ..Outcome::of(codes::NO_QUICK_FORMAT.code)
    };
    let format = format!("*{}", volume::FORMAT.name);
    rig.sim
        .faults()
        .add(Rule::on(&format, Effect::Answer(refused)));
    let error = rig.volumes().format(rig.volume(), rig.soon()).unwrap_err();
    let text = format!(
        "WMI MSFT_Volume.Format failed (target=volume {}): code=43002: the volume cannot be quick \
         formatted",
        rig.volume()
    );
    assert_eq!(error.to_string(), text);
    let said = SystemText::of(&error).map(SystemText::as_str);
    assert_eq!(said, Some("computer says no"));
}

/// A step of Windows's own may have been done when the call failed.
#[test]
fn what_windows_did_by_halves_is_done_by_the_next_call() {
    let rig = Rig::with_data_disk();
    let half_way = |method: &str| {
        let rule = Rule::on(&format!("*{method}"), Effect::HalfWay).times(1);
        rig.sim.faults().add(rule);
    };
    half_way(os::schema::disk::INITIALIZE.name);
    rig.disks().partition(rig.disk(), rig.soon()).unwrap_err();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    half_way(volume::FORMAT.name);
    let volumes = rig.volumes();
    volumes.format(rig.volume(), rig.soon()).unwrap_err();
    assert_eq!(volumes.is_formatted(rig.volume(), rig.soon()), Ok(false));
    volumes.format(rig.volume(), rig.soon()).unwrap();
}

/// Partitions are whole MiB long: neither the provider nor the kernel is asked for less.
#[test]
fn an_odd_size_is_taken_down_to_whole_mib_on_both_paths() {
    let resize = format!("*{}", partition::RESIZE.name);
    for provider_fails in [false, true] {
        let rig = grown(8 * GIB);
        if provider_fails {
            let failed = Effect::Answer(Outcome::of(codes::FAILED.code));
            rig.sim.faults().add(Rule::on(&resize, failed));
        }
        let before = partition_length(&rig);
        assert_eq!(before % MIB, 0);
        let volumes = rig.volumes();
        let target = 6 * GIB + 12_345;
        for _ in 0..2 {
            volumes
                .resize(rig.volume(), bytes(target), rig.soon())
                .unwrap();
            assert_eq!(partition_length(&rig), 6 * GIB);
        }
    }
}
