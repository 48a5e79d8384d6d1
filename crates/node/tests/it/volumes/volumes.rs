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

use crate::support::{DATA, GIB, NodeFixture, assert_says, inject};

const MIB: u64 = 1 << 20;

fn bytes(size: u64) -> NewSize {
    NewSize::Bytes(NonZeroU64::new(size).unwrap())
}

fn partition_length(fixture: &NodeFixture) -> u64 {
    fixture.os().volumes.extents(fixture.volume()).unwrap()[0].length
}

fn grown(to: u64) -> NodeFixture {
    let fixture = NodeFixture::with_mounted_volume();
    fixture.grow(DATA, to);
    fixture
}

/// Guards: P63
#[test]
fn a_volume_is_formatted_once() {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    let volumes = fixture.volumes();
    let volume = fixture.volume();
    assert_eq!(volumes.is_formatted(volume, fixture.soon()), Ok(false));
    assert!(
        volumes.stats(volume, fixture.soon()).is_err(),
        "no filesystem is not one of no bytes"
    );
    volumes.format(volume, fixture.soon()).unwrap();
    assert_eq!(volumes.is_formatted(volume, fixture.soon()), Ok(true));
    let stats = volumes.stats(volume, fixture.soon()).unwrap();
    assert!(stats.total > 3 * GIB && stats.free <= stats.total);
    let again = volumes.format(volume, fixture.soon()).unwrap_err();
    assert_says(&again, "NTFS filesystem at offset");
}

/// A failed read is not "not formatted": the next call would format the volume.
#[test]
fn a_volume_that_does_not_answer_is_not_unformatted() {
    let fixture = NodeFixture::with_volume();
    let volume = fixture.volume();
    fixture.fail("GetVolumeInformationW", Win32::IO_DEVICE);
    assert!(
        fixture
            .volumes()
            .is_formatted(volume, fixture.soon())
            .is_err()
    );
}

/// Guards: P42
#[test]
fn the_provider_is_asked_for_nothing_that_the_kernel_knows() {
    let fixture = NodeFixture::with_mounted_volume();
    let (volume, staging, soon) = (fixture.volume(), fixture.staging(), fixture.soon());
    let trace = fixture.trace(|| {
        let volumes = fixture.volumes();
        volumes.stats(volume, soon).unwrap();
        volumes.disk_number(volume, soon).unwrap();
        volumes.flush(volume, soon).unwrap();
        volumes.is_formatted(volume, soon).unwrap();
        volumes.of_target(&staging, soon).unwrap();
        volumes.list_on_disk(fixture.disk(), None, soon).unwrap();
        fixture.filesystem().is_symlink(&staging, soon).unwrap();
        fixture.filesystem().path_exists(&staging, soon).unwrap();
    });
    let asked = trace
        .iter()
        .filter(|op| op.facility == os::Facility::Storage);
    assert_eq!(asked.count(), 0);
}

#[test]
fn a_partition_is_asked_for_by_its_number() {
    let fixture = NodeFixture::with_volume();
    let volumes = fixture.volumes();
    let list = |number| {
        volumes.list_on_disk(
            fixture.disk(),
            Some(PartitionNumber(number)),
            fixture.soon(),
        )
    };
    assert_eq!(list(2), Ok(vec![fixture.volume()]));
    assert_eq!(
        list(1),
        Ok(Vec::new()),
        "the reserved partition is nobody's"
    );
    let error = list(3).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("disk {} has no partition 3, only 1, 2", fixture.disk())
    );
    fixture.plug(&DiskSpec::on(Bus::Sas).serial("raw").lun(9), "raw", GIB);
    let raw = volumes.list_on_disk(fixture.disk_of("raw"), None, fixture.soon());
    assert_eq!(raw, Ok(Vec::new()));
}

/// A volume that cannot be looked at may be the one: a list without it would hand out another.
#[test]
fn a_volume_that_cannot_be_looked_at_hides_its_disk_alone() {
    let fixture = NodeFixture::with_volume();
    let (volume, disk) = (fixture.volume(), fixture.disk());
    let extents = "IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS";
    let unreadable = Rule::on(extents, Effect::fail(Win32::IO_DEVICE)).object(&volume.to_string());
    fixture.fault(unreadable);
    let error = fixture
        .volumes()
        .list_on_disk(disk, None, fixture.soon())
        .unwrap_err();
    assert!(matches!(
        &error,
        VolumeError::Visibility(VisibilityError::NotVisible { unreadable, .. })
            if unreadable == &[volume]
    ));
    fixture.plug(&DiskSpec::on(Bus::Sas).serial("other").lun(9), "other", GIB);
    let other = fixture.disk_of("other");
    fixture.disks().partition(other, fixture.soon()).unwrap();
    assert_eq!(
        fixture
            .volumes()
            .list_on_disk(other, None, fixture.soon())
            .unwrap()
            .len(),
        1
    );
}

/// The wait is for a state that may have changed since it began.
#[test]
fn a_disk_that_goes_offline_while_its_volume_is_waited_for_has_none() {
    let fixture = NodeFixture::with_volume();
    let (disk, node) = (fixture.disk(), fixture.node.clone());
    let soon = fixture.soon();
    let late = inject::node(&fixture, |os| {
        let volumes = Arc::clone(&os.volumes);
        os.volumes = Arc::new(inject::Elsewhere::of(volumes, move |before, _| {
            if before == 5 {
                node.operations().disks().set_offline(disk, soon).unwrap();
            }
            Err(os::Error::new("extents", "volume", Win32::NOT_READY))
        }));
    });
    let began = fixture.os().clock.now();
    assert_eq!(
        late.operations().volumes().list_on_disk(disk, None, soon),
        Ok(Vec::new())
    );
    let waited = fixture.os().clock.now().0 - began.0;
    assert!(waited < Duration::from_secs(10), "{waited:?}");
}

#[test]
fn a_disk_that_goes_away_while_its_volume_is_waited_for_is_no_disk() {
    let fixture = NodeFixture::with_volume();
    let (disk, sim) = (fixture.disk(), fixture.sim.clone());
    let late = inject::node(&fixture, |os| {
        let volumes = Arc::clone(&os.volumes);
        os.volumes = Arc::new(inject::Elsewhere::of(volumes, move |before, _| {
            if before == 5 {
                sim.hardware().detach_disk(DATA).unwrap();
            }
            Err(os::Error::new("extents", "volume", Win32::NOT_READY))
        }));
    });
    let gone =
        late.operations()
            .volumes()
            .list_on_disk(disk, Some(PartitionNumber(2)), fixture.soon());
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
/// Guards: P39
#[test]
fn an_absurd_size_is_too_large() {
    let fixture = grown(8 * GIB);
    let before = partition_length(&fixture);
    for size in [i64::MAX, i64::MAX - 1, 1 << 62] {
        let size = NewSize::from_request(fixture.volume(), size).unwrap();
        let error = fixture.resize(size);
        assert!(
            matches!(error, Err(VolumeError::TooLarge { .. })),
            "{error:?}"
        );
    }
    assert_eq!(partition_length(&fixture), before);
}

#[test]
fn a_volume_grows_to_the_end_of_its_disk() {
    let fixture = grown(8 * GIB);
    let from = partition_length(&fixture);
    let resized = fixture.resize(NewSize::Maximum);
    let to = partition_length(&fixture);
    assert_eq!(resized, Ok(Resized::Grown { from, to }));
    let extent = fixture.os().volumes.extents(fixture.volume()).unwrap()[0];
    assert_eq!(extent.offset + extent.length, 8 * GIB - 2 * MIB);
    let stats = fixture.stats().unwrap();
    assert!(stats.total > 8 * GIB - 32 * MIB, "{stats:?}");
    assert_eq!(fixture.precious(), "precious");
}

/// A volume of 4 GiB, and this one behind a gap on the same disk of 8 GiB.
fn with_a_neighbour(kind: Uuid) -> NodeFixture {
    let fixture = grown(8 * GIB);
    fixture.rescan();
    fixture.settle();
    fixture.add_partition(kind, NEIGHBOUR, GIB);
    fixture
}

const NEIGHBOUR: u64 = 6 * GIB;

#[test]
fn a_volume_grows_up_to_the_next_partition_and_no_further() {
    let fixture = with_a_neighbour(PartitionEntry::BASIC_DATA);
    let (volumes, volume) = (fixture.volumes(), fixture.volume());
    let extent = || fixture.os().volumes.extents(volume).unwrap()[0];
    let neighbour = || fixture.layout().partitions[2].clone();
    let (from, before) = (extent(), neighbour());
    let room = NEIGHBOUR - from.offset;
    let error = volumes.resize(volume, bytes(room + MIB), fixture.soon());
    assert!(
        matches!(error, Err(VolumeError::TooLarge { maximum, .. }) if maximum == room),
        "{error:?}"
    );
    assert_eq!(extent(), from);
    let resized = volumes.resize(volume, NewSize::Maximum, fixture.soon());
    let grown = Resized::Grown {
        from: from.length,
        to: room,
    };
    assert_eq!(resized, Ok(grown));
    assert_eq!(extent().offset + extent().length, NEIGHBOUR);
    assert_eq!(neighbour(), before);
    assert_eq!(fixture.precious(), "precious");
}

/// azuredisk has the volume of a disk resized, which it names by the disk's number alone.
#[test]
fn a_disk_with_two_volumes_has_no_volume_that_is_meant() {
    let fixture = with_a_neighbour(PartitionEntry::BASIC_DATA);
    let (disk, first) = (fixture.disk(), fixture.volume());
    let error = fixture.volumes().sole_on_disk(disk, fixture.soon());
    let Err(VolumeError::NotOneVolume { disk: of, volumes }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((of, volumes.len(), volumes[0]), (disk, 2, first));
}

/// csi-proxy's rule: growth of less than 100 MiB is none, and nothing shrinks.
#[test]
fn small_growth_and_shrinking_are_nothing() {
    let fixture = grown(8 * GIB);
    let before = partition_length(&fixture);
    let volumes = fixture.volumes();
    for size in [1, before, before + 100 * MIB - 1] {
        let trace = fixture.trace(|| {
            let resized = volumes.resize_by_much(fixture.volume(), bytes(size), fixture.soon());
            assert_eq!(resized, Ok(Resized::Unchanged { size: before }));
        });
        assert!(
            trace.iter().all(|op| !op.operation.ends_with(".Resize")),
            "{size}"
        );
        assert_eq!(partition_length(&fixture), before);
    }
    let (from, to) = (before, before + 100 * MIB);
    let resized = volumes.resize_by_much(fixture.volume(), bytes(to), fixture.soon());
    assert_eq!(resized, Ok(Resized::Grown { from, to }));
    assert_eq!(partition_length(&fixture), to);
    let error = volumes
        .resize_by_much(fixture.volume(), bytes(9 * GIB), fixture.soon())
        .unwrap_err();
    assert!(matches!(error, VolumeError::TooLarge { maximum, .. } if maximum < 8 * GIB));
}

/// The partition grew, its filesystem did not: that call died, or the provider failed half way.
#[test]
fn a_filesystem_fills_its_partition_also_when_that_need_not_grow() {
    let fixture = grown(8 * GIB);
    let resize = format!("*{}", partition::RESIZE.name);
    let half_way = fixture.fault(Rule::on(&resize, Effect::HalfWay));
    fixture.fault(Rule::on("FSCTL_EXTEND_VOLUME", Effect::fail(Win32::IO_DEVICE)).times(1));
    let volumes = fixture.volumes();
    volumes
        .resize(fixture.volume(), NewSize::Maximum, fixture.soon())
        .unwrap_err();
    fixture.faults().remove(half_way);
    assert!(partition_length(&fixture) > 7 * GIB);
    assert!(
        volumes
            .stats(fixture.volume(), fixture.soon())
            .unwrap()
            .total
            < 5 * GIB
    );
    let size = partition_length(&fixture);
    let resized = volumes.resize(fixture.volume(), bytes(1), fixture.soon());
    assert_eq!(resized, Ok(Resized::Filled { size }));
    assert!(
        volumes
            .stats(fixture.volume(), fixture.soon())
            .unwrap()
            .total
            > 7 * GIB
    );
    assert_eq!(fixture.precious(), "precious");
}

#[test]
fn the_kernel_grows_what_the_provider_fails_to_without_a_reason() {
    let resize = format!("*{}", partition::RESIZE.name);
    let answer = |code: u32| Rule::on(&resize, Effect::Answer(Outcome::of(code)));
    let fixture = grown(8 * GIB);
    fixture.fault(answer(codes::FAILED.code));
    fixture.resize(NewSize::Maximum).unwrap();
    assert!(fixture.stats().unwrap().total > 7 * GIB);
    let fixture = grown(8 * GIB);
    fixture.fault(answer(codes::VOLUME_HAS_ERRORS.code));
    let error = fixture.resize(NewSize::Maximum).unwrap_err();
    assert!(
        matches!(error, VolumeError::Provider(ProviderError::Refused { .. })),
        "{error:?}"
    );
    assert!(partition_length(&fixture) < 4 * GIB);
}

/// aws-ebs-csi-driver#2877: without the defragmenter the supported size is not known.
#[test]
fn growing_needs_no_defragmenter() {
    let fixture = grown(8 * GIB);
    let trace = fixture.trace(|| {
        fixture.resize(NewSize::Maximum).unwrap();
    });
    let asked = trace
        .iter()
        .any(|op| op.operation.ends_with(partition::GET_SUPPORTED_SIZE.name));
    assert!(!asked);
}

/// Guards: P39
#[test]
fn a_refresh_that_fails_does_not_undo_a_resize() {
    let fixture = grown(8 * GIB);
    fixture.fail("MSFT_Disk.Refresh", Win32::GEN_FAILURE);
    fixture.resize(NewSize::Maximum).unwrap();
    assert!(partition_length(&fixture) > 7 * GIB);
}

/// Guards: P23
#[test]
fn a_format_that_windows_refuses_says_why() {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    let refused = Outcome {
        extended: Some("computer says no".to_owned()),
        ..Outcome::of(codes::NO_QUICK_FORMAT.code)
    };
    let format = format!("*{}", volume::FORMAT.name);
    fixture.fault(Rule::on(&format, Effect::Answer(refused)));
    let error = fixture.try_format().unwrap_err();
    let text = format!(
        "WMI MSFT_Volume.Format failed (target=volume {}): code=43002: the volume cannot be quick \
         formatted",
        fixture.volume()
    );
    assert_eq!(error.to_string(), text);
    let system_text = SystemText::of(&error).map(SystemText::as_str);
    assert_eq!(system_text, Some("computer says no"));
}

/// A step of Windows's own may have been done when the call failed.
#[test]
fn what_windows_did_by_halves_is_done_by_the_next_call() {
    let fixture = NodeFixture::with_data_disk();
    let half_way = |method: &str| {
        let rule = Rule::on(&format!("*{method}"), Effect::HalfWay).times(1);
        fixture.fault(rule);
    };
    half_way(os::schema::disk::INITIALIZE.name);
    fixture.try_partition().unwrap_err();
    fixture.partition();
    half_way(volume::FORMAT.name);
    let volumes = fixture.volumes();
    volumes
        .format(fixture.volume(), fixture.soon())
        .unwrap_err();
    assert_eq!(
        volumes.is_formatted(fixture.volume(), fixture.soon()),
        Ok(false)
    );
    volumes.format(fixture.volume(), fixture.soon()).unwrap();
}

/// Partitions are whole MiB long: neither the provider nor the kernel is asked for less.
#[test]
fn an_odd_size_is_taken_down_to_whole_mib_on_both_paths() {
    let resize = format!("*{}", partition::RESIZE.name);
    for provider_fails in [false, true] {
        let fixture = grown(8 * GIB);
        if provider_fails {
            let failed = Effect::Answer(Outcome::of(codes::FAILED.code));
            fixture.fault(Rule::on(&resize, failed));
        }
        let before = partition_length(&fixture);
        assert_eq!(before % MIB, 0);
        let volumes = fixture.volumes();
        let target = 6 * GIB + 12_345;
        for _ in 0..2 {
            volumes
                .resize(fixture.volume(), bytes(target), fixture.soon())
                .unwrap();
            assert_eq!(partition_length(&fixture), 6 * GIB);
        }
    }
}
