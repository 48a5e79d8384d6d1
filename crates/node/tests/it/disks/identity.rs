//! Nothing is written by a number alone: kernel and provider must mean the same disk, partition and
//! volume, when an operation looks and still when it acts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use formats::fixtures::SparseImage;
use os::schema::{codes, disk, partition, volume};
use os::{DiskNumber, Extent, Instance, Os, Outcome, Value, VolumeId, Win32};
use os_sim::{
    Arrivals, Bus, Content, DiskSpec, Effect, HardwareControl, NodeSpec, Op, Rule, SanPolicy,
    SimNode,
};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FoundVolume, NamedVolume, NewSize, Node, Options,
    ProviderError, SerialNumber, VolumeError,
};

use crate::support::{DATA, GIB, NodeFixture, inject};

const OTHER: &str = "other";

fn spec(serial: &str) -> DiskSpec {
    DiskSpec::on(Bus::Sas).serial(serial)
}

/// The content of both ends of a disk of 1 GiB.
struct Ends {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Ends {
    const HEAD: usize = 4 << 20;
    const TAIL: usize = 1 << 20;
    const TAIL_AT: u64 = GIB - (1 << 20);

    fn blank() -> Self {
        Self {
            head: vec![0; Self::HEAD],
            tail: vec![0; Self::TAIL],
        }
    }

    fn of(hardware: &HardwareControl, name: &str) -> Self {
        let mut ends = Self::blank();
        hardware.read_disk(name, 0, &mut ends.head).unwrap();
        hardware
            .read_disk(name, Self::TAIL_AT, &mut ends.tail)
            .unwrap();
        ends
    }

    fn plug(&self, hardware: &HardwareControl, name: &str, spec: &DiskSpec) {
        let blank = Content::blank(GIB);
        hardware.attach_disk(name, spec, &blank).unwrap();
        hardware.write_disk(name, 0, &self.head).unwrap();
        hardware
            .write_disk(name, Self::TAIL_AT, &self.tail)
            .unwrap();
    }
}

/// The data disk is pulled out, a blank one takes its number, and it comes back under the next one; the
/// storage provider hears of nothing.
fn swap_numbers(sim: &SimNode) {
    swap_numbers_with(sim, &Ends::blank());
}

/// The same with a disk that has this at its ends.
fn swap_numbers_with(sim: &SimNode, other: &Ends) {
    let hardware = sim.hardware();
    let own = Ends::of(hardware, DATA);
    hardware.detach_disk(DATA).unwrap();
    sim.os().disks.list().unwrap();
    other.plug(hardware, OTHER, &spec(OTHER).lun(2));
    sim.os().disks.list().unwrap();
    own.plug(hardware, DATA, &spec(DATA));
    sim.os().disks.list().unwrap();
}

/// A disk with one MBR partition.
fn mbr_image() -> SparseImage {
    let mut fixtures = formats::fixtures::all().into_iter();
    let found = fixtures.find(|disk_image| disk_image.name == "mbr-sfdisk");
    found.unwrap().image
}

fn is_offline(fixture: &NodeFixture, serial: &str) -> bool {
    let disk = fixture.disk_of(serial);
    fixture.os().disks.attributes(disk).unwrap().offline
}

fn ran(trace: &[Op], method: &str) -> bool {
    trace.iter().any(|op| op.operation.ends_with(method))
}

#[test]
fn a_disk_whose_number_went_to_another_is_not_switched_in_its_place() {
    let fixture = NodeFixture::new();
    fixture.plug(&spec(DATA), DATA, GIB);
    let number = fixture.disk();
    swap_numbers(&fixture.sim);
    assert_eq!(fixture.disk_of(OTHER), number, "the number is reused");
    let disks = fixture.disks();
    let stuck = fixture.fail("*UpdateHostStorageCache", Win32::GEN_FAILURE);
    disks.set_offline(number, fixture.soon()).unwrap_err();
    assert!(!is_offline(&fixture, DATA) && !is_offline(&fixture, OTHER));
    fixture.faults().remove(stuck);
    disks.set_offline(number, fixture.soon()).unwrap();
    assert!(is_offline(&fixture, OTHER), "the kernel's disk was meant");
    assert!(!is_offline(&fixture, DATA));
    disks.set_online(number, fixture.soon()).unwrap();
    assert!(!is_offline(&fixture, OTHER));
}

#[test]
fn a_disk_that_changes_its_number_between_look_and_act_is_not_switched() {
    let fixture = NodeFixture::new();
    fixture.plug(&spec(DATA), DATA, GIB);
    let (number, sim) = (fixture.disk(), fixture.sim.clone());
    let node = inject::node(&fixture, |os| {
        inject::before(os, inject::PAGING, 1, move || swap_numbers(&sim));
    });
    let refused = node
        .operations()
        .disks()
        .set_offline(number, fixture.soon());
    assert!(
        matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number),
        "{refused:?}"
    );
    assert_eq!(fixture.disk_of(OTHER), number);
    assert!(!is_offline(&fixture, DATA) && !is_offline(&fixture, OTHER));
}

/// The other has what the disk itself has at its ends, so that it passes for it: nothing at first, and
/// later the very table that the disk was just given.
#[test]
fn disks_that_exchange_their_numbers_during_a_proof_are_both_left_alone() {
    for (proof, before, after) in [
        (1, None, disk::INITIALIZE.name),
        (2, Some(disk::INITIALIZE.name), disk::CREATE_PARTITION.name),
    ] {
        let fixture = NodeFixture::new();
        fixture.plug(&spec(DATA), DATA, GIB);
        let (number, sim) = (fixture.disk(), fixture.sim.clone());
        let node = inject::node(&fixture, |os| {
            inject::before(os, inject::PROOF, proof, move || {
                let clone = Ends::of(sim.hardware(), DATA);
                swap_numbers_with(&sim, &clone);
            });
        });
        let trace = fixture.trace(|| {
            let refused = node.operations().disks().partition(number, fixture.soon());
            let is_it =
                matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number);
            assert!(is_it, "{refused:?}");
        });
        assert_eq!(fixture.disk_of(OTHER), number);
        assert!(before.is_none_or(|method| ran(&trace, method)));
        assert!(!ran(&trace, after), "{after}");
    }
}

/// Somebody has the provider look at all disks just then: its object of the number is the other's from then on,
/// and the kernel's, while the one that was proved to be blank is not the one that would be written to.
#[test]
fn disks_that_exchange_numbers_and_objects_during_the_proof_are_both_left_alone() {
    let fixture = NodeFixture::new();
    fixture.plug(&spec(DATA), DATA, GIB);
    let (number, sim, provider) = (fixture.disk(), fixture.sim.clone(), fixture.node.clone());
    let soon = fixture.soon();
    let node = inject::node(&fixture, |os| {
        inject::before(os, inject::PROOF, 1, move || {
            swap_numbers(&sim);
            provider.operations().disks().rescan(soon).unwrap();
        });
    });
    let trace = fixture.trace(|| {
        let refused = node.operations().disks().partition(number, fixture.soon());
        let is_it = matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number);
        assert!(is_it, "{refused:?}");
    });
    assert_eq!(fixture.disk_of(OTHER), number);
    assert!(!ran(&trace, disk::INITIALIZE.name));
}

/// The table that Initialize writes is what shows whose object it was called on.
#[test]
fn a_disk_on_which_the_new_table_does_not_show_gets_no_partition() {
    let fixture = NodeFixture::with_data_disk();
    let initialize = format!("*{}", disk::INITIALIZE.name);
    let nothing = Effect::Answer(Outcome::of(codes::SUCCESS.code));
    fixture.fault(Rule::on(&initialize, nothing));
    let trace = fixture.trace(|| {
        let refused = fixture.try_partition();
        assert!(matches!(refused, Err(DiskError::Blank(_))), "{refused:?}");
    });
    assert!(!ran(&trace, disk::CREATE_PARTITION.name));
}

/// A driver that looks for a serial number is handed the disk that the kernel has under the number.
#[test]
fn a_disk_is_not_listed_with_the_serial_number_of_another() {
    let fixture = NodeFixture::new();
    fixture.plug(&spec(DATA), DATA, GIB);
    let number = fixture.disk();
    assert_eq!(
        fixture.disks().ids(fixture.soon()).unwrap()[&number].serial,
        DATA
    );
    swap_numbers(&fixture.sim);
    let ids = fixture.disks().ids(fixture.soon()).unwrap();
    assert_eq!(ids[&number].serial, OTHER);
}

/// Guards: P42
#[test]
fn a_serial_number_is_listed_without_its_padding() {
    let fixture = NodeFixture::new();
    fixture.plug(&spec("  padded  "), DATA, GIB);
    let ids = fixture.disks().ids(fixture.soon()).unwrap();
    assert!(ids.values().any(|ids| ids.serial == "padded"), "{ids:?}");
}

/// On an MBR disk partitions have no GUID by which they are told, so the disks must be.
#[test]
fn a_volume_of_a_disk_whose_number_went_to_another_is_not_formatted_there() {
    let fixture = NodeFixture::new();
    let image = mbr_image();
    let hardware = fixture.hardware();
    let plug = |name: &str| {
        let content = Content::blank(image.length());
        hardware.attach_disk(name, &spec(name), &content).unwrap();
        for (at, bytes) in image.runs() {
            hardware.write_disk(name, at, bytes).unwrap();
        }
        let signature = name.as_bytes().first_chunk::<4>().unwrap();
        hardware.write_disk(name, 440, signature).unwrap();
        fixture.sim.os().disks.list().unwrap();
    };
    plug(DATA);
    fixture.rescan();
    let number = fixture.disk();
    hardware.detach_disk(DATA).unwrap();
    fixture.os().disks.list().unwrap();
    plug(OTHER);
    plug(DATA);
    assert_eq!(fixture.disk_of(OTHER), number);
    fixture.fail("*UpdateHostStorageCache", Win32::GEN_FAILURE);
    let volume = fixture
        .volumes()
        .sole_on_disk(number, fixture.soon())
        .unwrap();
    let trace = fixture.trace(|| {
        fixture
            .volumes()
            .format(volume, fixture.soon())
            .unwrap_err();
    });
    assert!(!ran(&trace, "MSFT_Volume.Format"));
    let looked = |op: &Op| op.operation.ends_with("UpdateHostStorageCache");
    assert!(trace.iter().any(looked), "the disks were told apart");
}

/// A rig with a volume of 1 GiB that has no filesystem.
fn with_raw_volume() -> (NodeFixture, VolumeId) {
    let mut node = NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll);
    // The provider does not learn of changes of the disks meanwhile.
    node.storage.arrivals = Arrivals::OnRescan;
    let fixture = NodeFixture::of(&node, Options::default());
    fixture.plug(&spec(DATA), DATA, GIB);
    fixture.partition();
    let volume = fixture.volume();
    (fixture, volume)
}

/// A node whose disks change their numbers once the provider has reported a volume: after the read of
/// its place, before the proof that it is blank, which then reads the other disk.
fn swapped_meanwhile(fixture: &NodeFixture, change: impl FnOnce(&mut Os)) -> Node {
    let sim = fixture.sim.clone();
    inject::node(fixture, |os| {
        inject::after(os, volume::CLASS.name, move || {
            swap_numbers(&sim);
            // Until the volume has come back too.
            sim.os().clock.sleep(Duration::from_secs(60));
        });
        change(os);
    })
}

/// The error of a format that did not begin.
#[track_caller]
fn unformatted<'v>(
    fixture: &NodeFixture,
    node: &Node,
    volume: impl Into<NamedVolume<'v>>,
) -> VolumeError {
    let volume = volume.into();
    let mut refused = None;
    let trace = fixture
        .trace(|| refused = Some(node.operations().volumes().format(volume, fixture.soon())));
    assert!(!ran(&trace, "MSFT_Volume.Format"));
    refused.unwrap().unwrap_err()
}

#[test]
fn a_volume_whose_disk_changes_its_number_before_the_proof_is_not_formatted() {
    let (fixture, volume) = with_raw_volume();
    let number = fixture.disk();
    let node = swapped_meanwhile(&fixture, |_| {});
    let error = unformatted(&fixture, &node, volume);
    assert!(
        matches!(error, VolumeError::Moved { from, to, .. } if from.disk == number && to.disk == fixture.disk()),
        "{error:?}"
    );
    assert_eq!(fixture.disk_of(OTHER), number);
}

fn found_volume(fixture: &NodeFixture) -> FoundVolume {
    let serial = SerialNumber::parse(DATA).unwrap();
    let query = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    let disk = fixture.disks().find(&query, fixture.soon()).unwrap();
    fixture.volumes().find_on(&disk, fixture.soon()).unwrap()
}

#[test]
fn a_volume_whose_disk_changed_its_number_since_it_was_found_is_not_formatted() {
    let (fixture, volume) = with_raw_volume();
    let (found, number) = (found_volume(&fixture), fixture.disk());
    swap_numbers(&fixture.sim);
    // The volume comes back by itself, the provider hears of nothing.
    fixture.sim.let_pass(Duration::from_secs(60));
    fixture.rescan();
    let error = unformatted(&fixture, &fixture.node, &found);
    let expected = VolumeError::OnAnotherDisk {
        volume,
        found: number,
        disk: fixture.disk(),
    };
    assert_eq!(error, expected);
    assert_eq!(fixture.disk_of(OTHER), number);
}

#[test]
fn a_found_volume_whose_disk_changes_its_number_before_the_proof_is_not_formatted() {
    let (fixture, _) = with_raw_volume();
    let (found, number) = (found_volume(&fixture), fixture.disk());
    let node = swapped_meanwhile(&fixture, |_| {});
    let error = unformatted(&fixture, &node, &found);
    assert!(
        matches!(&error, VolumeError::Disk(DiskError::NotTheFound { now, .. }) if now.number == number),
        "{error:?}"
    );
    assert_ne!(fixture.disk(), number);
}

/// The place that the volume reported is older than the swap.
#[test]
fn a_volume_on_a_disk_of_another_number_than_the_providers_is_not_formatted() {
    let (fixture, volume) = with_raw_volume();
    let (number, extents) = (fixture.disk(), fixture.os().volumes.extents(volume));
    let node = swapped_meanwhile(&fixture, |os| {
        let volumes = Arc::clone(&os.volumes);
        let say = move |_, now: os::Result<Vec<Extent>>| match now {
            Ok(now) if now.iter().all(|one| one.disk == DiskNumber(0)) => Ok(now),
            _ => extents.clone(),
        };
        os.volumes = Arc::new(inject::Elsewhere::of(volumes, say));
    });
    let error = unformatted(&fixture, &node, volume);
    assert!(
        matches!(error, VolumeError::Disk(DiskError::ViewsDiffer { disk, .. }) if disk == number),
        "{error:?}"
    );
}

#[test]
fn a_volume_that_is_elsewhere_after_the_proof_is_not_formatted() {
    fn on_the_next_disk(extent: &mut Extent) {
        extent.disk = DiskNumber(extent.disk.0 + 1);
    }
    fn behind_itself(extent: &mut Extent) {
        extent.offset += extent.length;
    }
    fn longer(extent: &mut Extent) {
        extent.length += 1 << 20;
    }
    let (fixture, volume) = with_raw_volume();
    for change in [on_the_next_disk, behind_itself, longer] {
        let node = inject::node(&fixture, |os| {
            let volumes = Arc::clone(&os.volumes);
            let own = fixture.disk();
            os.volumes = Arc::new(inject::Elsewhere::of(volumes, move |before, extents| {
                let mut extents = extents?;
                let mine = extents
                    .iter_mut()
                    .filter(|one| one.disk == own && before > 0);
                mine.for_each(change);
                Ok(extents)
            }));
        });
        let error = unformatted(&fixture, &node, volume);
        assert!(matches!(error, VolumeError::Moved { .. }), "{error:?}");
    }
}

/// The provider has another partition in mind at this place.
#[test]
fn a_partition_of_another_guid_is_not_resized() {
    fn other_guid(row: &mut Instance) {
        if let Some(guid) = row.properties.get_mut(partition::GUID.name) {
            *guid = Value::text("{00000000-0000-0000-0000-000000000001}");
        }
    }
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    let volume = fixture.volume();
    let node = inject::node(&fixture, |os| {
        inject::each_row(&mut os.storage, other_guid);
    });
    let trace = fixture.trace(|| {
        fixture.grow(DATA, 8 * GIB);
        let done = node
            .operations()
            .volumes()
            .resize(volume, NewSize::Maximum, fixture.soon());
        let is_it = matches!(done, Err(VolumeError::Disk(DiskError::ViewsDiffer { .. })));
        assert!(is_it, "{done:?}");
    });
    assert!(!ran(&trace, "MSFT_Partition.Resize"));
}

#[test]
fn a_volume_that_moves_to_another_disk_while_it_is_resized_is_left_alone() {
    let fixture = NodeFixture::with_volume();
    fixture.grow(DATA, 8 * GIB);
    let (volume, from) = (fixture.volume(), fixture.disk());
    let to = DiskNumber(from.0 + 1);
    let node = inject::node(&fixture, |os| {
        let volumes = Arc::clone(&os.volumes);
        os.volumes = Arc::new(inject::Elsewhere::of(volumes, move |before, extents| {
            let mut extents = extents?;
            if before > 0 {
                extents.iter_mut().for_each(|extent| extent.disk = to);
            }
            Ok(extents)
        }));
    });
    let trace = fixture.trace(|| {
        let moved = node
            .operations()
            .volumes()
            .resize(volume, NewSize::Maximum, fixture.soon());
        let is_it = matches!(&moved, Err(VolumeError::Moved { from: was, to: is, .. })
            if (was.disk, is.disk) == (from, to));
        assert!(is_it, "{moved:?}");
    });
    assert!(!ran(&trace, "MSFT_Partition.Resize"));
}

/// csi-proxy reads a null as zero, which is the style of a raw disk.
/// Guards: P42
#[test]
fn a_style_that_the_provider_leaves_unsaid_is_not_raw() {
    fn set_null(row: &mut Instance) {
        if let Some(style) = row.properties.get_mut(disk::PARTITION_STYLE.name) {
            *style = Value::Null;
        }
    }
    let fixture = NodeFixture::with_data_disk();
    let node = inject::node(&fixture, |os| {
        inject::each_row(&mut os.storage, set_null);
    });
    let trace = fixture.trace(|| {
        let refused = node
            .operations()
            .disks()
            .partition(fixture.disk(), fixture.soon());
        refused.unwrap_err();
    });
    assert!(!ran(&trace, disk::INITIALIZE.name));
}

/// A null number is no disk 0.
/// Guards: P39
#[test]
fn a_disk_that_the_provider_gives_no_number_is_not_disk_0() {
    fn set_null(row: &mut Instance) {
        if let Some(number) = row.properties.get_mut(disk::NUMBER.name) {
            *number = Value::Null;
        }
    }
    let fixture = NodeFixture::with_data_disk();
    let node = inject::node(&fixture, |os| {
        inject::each_row(&mut os.storage, set_null);
    });
    assert!(
        node.operations()
            .disks()
            .ids(fixture.soon())
            .unwrap()
            .is_empty()
    );
    assert!(
        node.operations()
            .disks()
            .locations(fixture.soon())
            .unwrap()
            .is_empty()
    );
}

/// csi-proxy queries partitions whose GPT type is not the reserved one. On an MBR disk the type is
/// null, which matches no comparison, so it would create a second partition.
/// Guards: P42
#[test]
fn an_mbr_disk_with_a_partition_is_left_alone() {
    let fixture = NodeFixture::new();
    let image = mbr_image();
    let hardware = fixture.hardware();
    hardware
        .attach_disk(DATA, &spec(DATA), &Content::blank(image.length()))
        .unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    fixture.rescan();
    let before = fixture.layout();
    assert_eq!(before.partitions.len(), 1);
    let trace = fixture.trace(|| {
        fixture.partition();
    });
    assert!(!ran(&trace, disk::CREATE_PARTITION.name));
    assert_eq!(fixture.os().disks.layout(fixture.disk()), Ok(before));
}

/// csi-proxy wraps an error that is none, and takes whichever partition comes first.
#[test]
fn a_partition_that_does_not_appear_is_said_to_be_missing() {
    let fixture = NodeFixture::with_data_disk();
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    let nothing = Effect::Answer(Outcome::of(codes::SUCCESS.code));
    fixture.fault(Rule::on(&create, nothing));
    let error = fixture.try_partition();
    let error = error.unwrap_err();
    assert!(
        matches!(error, DiskError::Provider(ProviderError::NotFound { .. })),
        "{error:?}"
    );
    let text = format!(
        "failed to query partition of disk {}. error: not found",
        fixture.disk()
    );
    assert_eq!(error.to_string(), text);
}
