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

use crate::support::{DATA, GIB, Rig, meddle};

const OTHER: &str = "other";

fn spec(serial: &str) -> DiskSpec {
    DiskSpec::on(Bus::Sas).serial(serial)
}

/// What is at both ends of a disk of 1 GiB.
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
    let found = fixtures.find(|fixture| fixture.name == "mbr-sfdisk");
    found.unwrap().image
}

fn is_offline(rig: &Rig, serial: &str) -> bool {
    let disk = rig.disk_of(serial);
    rig.os().disks.attributes(disk).unwrap().offline
}

fn ran(trace: &[Op], method: &str) -> bool {
    trace.iter().any(|op| op.operation.ends_with(method))
}

#[test]
fn a_disk_whose_number_went_to_another_is_not_switched_in_its_place() {
    let rig = Rig::new();
    rig.plug(&spec(DATA), DATA, GIB);
    let number = rig.disk();
    swap_numbers(&rig.sim);
    assert_eq!(rig.disk_of(OTHER), number, "the number is reused");
    let disks = rig.disks();
    let rescan = Rule::on("*UpdateHostStorageCache", Effect::fail(Win32::GEN_FAILURE));
    let stuck = rig.sim.faults().add(rescan);
    disks.set_offline(number, rig.soon()).unwrap_err();
    assert!(!is_offline(&rig, DATA) && !is_offline(&rig, OTHER));
    rig.sim.faults().remove(stuck);
    disks.set_offline(number, rig.soon()).unwrap();
    assert!(is_offline(&rig, OTHER), "the kernel's disk was meant");
    assert!(!is_offline(&rig, DATA));
    disks.set_online(number, rig.soon()).unwrap();
    assert!(!is_offline(&rig, OTHER));
}

#[test]
fn a_disk_that_changes_its_number_between_look_and_act_is_not_switched() {
    let rig = Rig::new();
    rig.plug(&spec(DATA), DATA, GIB);
    let (number, sim) = (rig.disk(), rig.sim.clone());
    let node = meddle::node(&rig, |os| {
        meddle::before(os, meddle::PAGING, 1, move || swap_numbers(&sim));
    });
    let refused = node.operations().disks().set_offline(number, rig.soon());
    assert!(
        matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number),
        "{refused:?}"
    );
    assert_eq!(rig.disk_of(OTHER), number);
    assert!(!is_offline(&rig, DATA) && !is_offline(&rig, OTHER));
}

/// The other has what the disk itself has at its ends, so that it passes for it: nothing at first, and
/// later the very table that the disk was just given.
#[test]
fn disks_that_exchange_their_numbers_during_a_proof_are_both_left_alone() {
    for (proof, before, after) in [
        (1, None, disk::INITIALIZE.name),
        (2, Some(disk::INITIALIZE.name), disk::CREATE_PARTITION.name),
    ] {
        let rig = Rig::new();
        rig.plug(&spec(DATA), DATA, GIB);
        let (number, sim) = (rig.disk(), rig.sim.clone());
        let node = meddle::node(&rig, |os| {
            meddle::before(os, meddle::PROOF, proof, move || {
                let clone = Ends::of(sim.hardware(), DATA);
                swap_numbers_with(&sim, &clone);
            });
        });
        let trace = rig.trace(|| {
            let refused = node.operations().disks().partition(number, rig.soon());
            let is_it =
                matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number);
            assert!(is_it, "{refused:?}");
        });
        assert_eq!(rig.disk_of(OTHER), number);
        assert!(before.is_none_or(|method| ran(&trace, method)));
        assert!(!ran(&trace, after), "{after}");
    }
}

/// Somebody has the provider look at all disks just then: its object of the number is the other's from then on,
/// and the kernel's, while the one that was proved to be blank is not the one that would be written to.
#[test]
fn disks_that_exchange_numbers_and_objects_during_the_proof_are_both_left_alone() {
    let rig = Rig::new();
    rig.plug(&spec(DATA), DATA, GIB);
    let (number, sim, provider) = (rig.disk(), rig.sim.clone(), rig.node.clone());
    let soon = rig.soon();
    let node = meddle::node(&rig, |os| {
        meddle::before(os, meddle::PROOF, 1, move || {
            swap_numbers(&sim);
            provider.operations().disks().rescan(soon).unwrap();
        });
    });
    let trace = rig.trace(|| {
        let refused = node.operations().disks().partition(number, rig.soon());
        let is_it = matches!(refused, Err(DiskError::ViewsDiffer { disk, .. }) if disk == number);
        assert!(is_it, "{refused:?}");
    });
    assert_eq!(rig.disk_of(OTHER), number);
    assert!(!ran(&trace, disk::INITIALIZE.name));
}

/// The table that Initialize writes is what shows whose object it was called on.
#[test]
fn a_disk_on_which_the_new_table_does_not_show_gets_no_partition() {
    let rig = Rig::with_data_disk();
    let initialize = format!("*{}", disk::INITIALIZE.name);
    let nothing = Effect::Answer(Outcome::of(codes::SUCCESS.code));
    rig.sim.faults().add(Rule::on(&initialize, nothing));
    let trace = rig.trace(|| {
        let refused = rig.disks().partition(rig.disk(), rig.soon());
        assert!(matches!(refused, Err(DiskError::Blank(_))), "{refused:?}");
    });
    assert!(!ran(&trace, disk::CREATE_PARTITION.name));
}

/// A driver that looks for a serial number is handed the disk that the kernel has under the number.
#[test]
fn a_disk_is_not_listed_with_the_serial_number_of_another() {
    let rig = Rig::new();
    rig.plug(&spec(DATA), DATA, GIB);
    let number = rig.disk();
    assert_eq!(rig.disks().ids(rig.soon()).unwrap()[&number].serial, DATA);
    swap_numbers(&rig.sim);
    let ids = rig.disks().ids(rig.soon()).unwrap();
    assert_eq!(ids[&number].serial, OTHER);
}

#[test]
fn a_serial_number_is_listed_without_its_padding() {
    let rig = Rig::new();
    rig.plug(&spec("  padded  "), DATA, GIB);
    let ids = rig.disks().ids(rig.soon()).unwrap();
    assert!(ids.values().any(|ids| ids.serial == "padded"), "{ids:?}");
}

/// On an MBR disk partitions have no GUID by which they are told, so the disks must be.
#[test]
fn a_volume_of_a_disk_whose_number_went_to_another_is_not_formatted_there() {
    let rig = Rig::new();
    let image = mbr_image();
    let hardware = rig.sim.hardware();
    let plug = |name: &str| {
        let content = Content::blank(image.length());
        hardware.attach_disk(name, &spec(name), &content).unwrap();
        for (at, bytes) in image.runs() {
            hardware.write_disk(name, at, bytes).unwrap();
        }
        let signature = name.as_bytes().first_chunk::<4>().unwrap();
        hardware.write_disk(name, 440, signature).unwrap();
        rig.sim.os().disks.list().unwrap();
    };
    plug(DATA);
    rig.disks().rescan(rig.soon()).unwrap();
    let number = rig.disk();
    hardware.detach_disk(DATA).unwrap();
    rig.os().disks.list().unwrap();
    plug(OTHER);
    plug(DATA);
    assert_eq!(rig.disk_of(OTHER), number);
    let rescan = Rule::on("*UpdateHostStorageCache", Effect::fail(Win32::GEN_FAILURE));
    rig.sim.faults().add(rescan);
    let volume = rig.volumes().sole_on_disk(number, rig.soon()).unwrap();
    let trace = rig.trace(|| {
        rig.volumes().format(volume, rig.soon()).unwrap_err();
    });
    assert!(!ran(&trace, "MSFT_Volume.Format"));
    let looked = |op: &Op| op.operation.ends_with("UpdateHostStorageCache");
    assert!(trace.iter().any(looked), "the disks were told apart");
}

/// A rig with a volume of 1 GiB that has no filesystem.
fn with_raw_volume() -> (Rig, VolumeId) {
    let mut node = NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll);
    // What happens to the disks meanwhile the provider does not hear of.
    node.storage.arrivals = Arrivals::OnRescan;
    let rig = Rig::of(&node, Options::default());
    rig.plug(&spec(DATA), DATA, GIB);
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let volume = rig.volume();
    (rig, volume)
}

/// A node whose disks change their numbers once the provider has told of a volume: after the look at its
/// place, before the proof that it is blank, which is then one of the other disk.
fn swapped_meanwhile(rig: &Rig, change: impl FnOnce(&mut Os)) -> Node {
    let sim = rig.sim.clone();
    meddle::node(rig, |os| {
        meddle::after(os, volume::CLASS.name, move || {
            swap_numbers(&sim);
            // Until the volume has come back too.
            sim.os().clock.sleep(Duration::from_secs(60));
        });
        change(os);
    })
}

/// The error of a format that did not begin.
#[track_caller]
fn unformatted<'v>(rig: &Rig, node: &Node, volume: impl Into<NamedVolume<'v>>) -> VolumeError {
    let volume = volume.into();
    let mut refused = None;
    let trace =
        rig.trace(|| refused = Some(node.operations().volumes().format(volume, rig.soon())));
    assert!(!ran(&trace, "MSFT_Volume.Format"));
    refused.unwrap().unwrap_err()
}

#[test]
fn a_volume_whose_disk_changes_its_number_before_the_proof_is_not_formatted() {
    let (rig, volume) = with_raw_volume();
    let number = rig.disk();
    let node = swapped_meanwhile(&rig, |_| {});
    let error = unformatted(&rig, &node, volume);
    assert!(
        matches!(error, VolumeError::Moved { from, to, .. } if from.disk == number && to.disk == rig.disk()),
        "{error:?}"
    );
    assert_eq!(rig.disk_of(OTHER), number);
}

fn found_volume(rig: &Rig) -> FoundVolume {
    let serial = SerialNumber::parse(DATA).unwrap();
    let query = DiskQuery::all([Criterion::Serial(serial)]).unwrap();
    let disk = rig.disks().find(&query, rig.soon()).unwrap();
    rig.volumes().find_on(&disk, rig.soon()).unwrap()
}

#[test]
fn a_volume_whose_disk_changed_its_number_since_it_was_found_is_not_formatted() {
    let (rig, volume) = with_raw_volume();
    let (found, number) = (found_volume(&rig), rig.disk());
    swap_numbers(&rig.sim);
    // The volume comes back by itself, the provider hears of nothing.
    rig.sim.os().clock.sleep(Duration::from_secs(60));
    rig.disks().rescan(rig.soon()).unwrap();
    let error = unformatted(&rig, &rig.node, &found);
    let expected = VolumeError::OnAnotherDisk {
        volume,
        found: number,
        disk: rig.disk(),
    };
    assert_eq!(error, expected);
    assert_eq!(rig.disk_of(OTHER), number);
}

#[test]
fn a_found_volume_whose_disk_changes_its_number_before_the_proof_is_not_formatted() {
    let (rig, _) = with_raw_volume();
    let (found, number) = (found_volume(&rig), rig.disk());
    let node = swapped_meanwhile(&rig, |_| {});
    let error = unformatted(&rig, &node, &found);
    assert!(
        matches!(&error, VolumeError::Disk(DiskError::NotTheFound { now, .. }) if now.number == number),
        "{error:?}"
    );
    assert_ne!(rig.disk(), number);
}

/// What the volume says of its place is older than the swap.
#[test]
fn a_volume_on_a_disk_of_another_number_than_the_providers_is_not_formatted() {
    let (rig, volume) = with_raw_volume();
    let (number, extents) = (rig.disk(), rig.os().volumes.extents(volume));
    let node = swapped_meanwhile(&rig, |os| {
        let volumes = Arc::clone(&os.volumes);
        let say = move |_, now: os::Result<Vec<Extent>>| match now {
            Ok(now) if now.iter().all(|one| one.disk == DiskNumber(0)) => Ok(now),
            _ => extents.clone(),
        };
        os.volumes = Arc::new(meddle::Elsewhere::of(volumes, say));
    });
    let error = unformatted(&rig, &node, volume);
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
    let (rig, volume) = with_raw_volume();
    for change in [on_the_next_disk, behind_itself, longer] {
        let node = meddle::node(&rig, |os| {
            let volumes = Arc::clone(&os.volumes);
            let own = rig.disk();
            os.volumes = Arc::new(meddle::Elsewhere::of(volumes, move |before, extents| {
                let mut extents = extents?;
                let mine = extents
                    .iter_mut()
                    .filter(|one| one.disk == own && before > 0);
                mine.for_each(change);
                Ok(extents)
            }));
        });
        let error = unformatted(&rig, &node, volume);
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
    let rig = Rig::with_data_disk();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let volume = rig.volume();
    let node = meddle::node(&rig, |os| {
        let (provider, rewrite) = (Arc::clone(&os.storage), other_guid);
        os.storage = Arc::new(meddle::Rewritten { provider, rewrite });
    });
    let trace = rig.trace(|| {
        rig.sim.hardware().grow_disk(DATA, 8 * GIB).unwrap();
        let done = node
            .operations()
            .volumes()
            .resize(volume, NewSize::Maximum, rig.soon());
        let is_it = matches!(done, Err(VolumeError::Disk(DiskError::ViewsDiffer { .. })));
        assert!(is_it, "{done:?}");
    });
    assert!(!ran(&trace, "MSFT_Partition.Resize"));
}

#[test]
fn a_volume_that_moves_to_another_disk_while_it_is_resized_is_left_alone() {
    let rig = Rig::with_volume();
    rig.sim.hardware().grow_disk(DATA, 8 * GIB).unwrap();
    let (volume, from) = (rig.volume(), rig.disk());
    let to = DiskNumber(from.0 + 1);
    let node = meddle::node(&rig, |os| {
        let volumes = Arc::clone(&os.volumes);
        os.volumes = Arc::new(meddle::Elsewhere::of(volumes, move |before, extents| {
            let mut extents = extents?;
            if before > 0 {
                extents.iter_mut().for_each(|extent| extent.disk = to);
            }
            Ok(extents)
        }));
    });
    let trace = rig.trace(|| {
        let moved = node
            .operations()
            .volumes()
            .resize(volume, NewSize::Maximum, rig.soon());
        let is_it = matches!(&moved, Err(VolumeError::Moved { from: was, to: is, .. })
            if (was.disk, is.disk) == (from, to));
        assert!(is_it, "{moved:?}");
    });
    assert!(!ran(&trace, "MSFT_Partition.Resize"));
}

/// csi-proxy reads a null as zero, which is the style of a raw disk.
#[test]
fn a_style_that_the_provider_leaves_unsaid_is_not_raw() {
    fn unsaid(row: &mut Instance) {
        if let Some(style) = row.properties.get_mut(disk::PARTITION_STYLE.name) {
            *style = Value::Null;
        }
    }
    let rig = Rig::with_data_disk();
    let node = meddle::node(&rig, |os| {
        let (provider, rewrite) = (Arc::clone(&os.storage), unsaid);
        os.storage = Arc::new(meddle::Rewritten { provider, rewrite });
    });
    let trace = rig.trace(|| {
        let refused = node.operations().disks().partition(rig.disk(), rig.soon());
        refused.unwrap_err();
    });
    assert!(!ran(&trace, disk::INITIALIZE.name));
}

/// A null number is no disk 0.
#[test]
fn a_disk_that_the_provider_gives_no_number_is_not_disk_0() {
    fn unsaid(row: &mut Instance) {
        if let Some(number) = row.properties.get_mut(disk::NUMBER.name) {
            *number = Value::Null;
        }
    }
    let rig = Rig::with_data_disk();
    let node = meddle::node(&rig, |os| {
        let (provider, rewrite) = (Arc::clone(&os.storage), unsaid);
        os.storage = Arc::new(meddle::Rewritten { provider, rewrite });
    });
    assert!(
        node.operations()
            .disks()
            .ids(rig.soon())
            .unwrap()
            .is_empty()
    );
    assert!(
        node.operations()
            .disks()
            .locations(rig.soon())
            .unwrap()
            .is_empty()
    );
}

/// csi-proxy asks for partitions whose GPT type is not the reserved one; on an MBR disk the type is
/// null, which no comparison meets, and it would create a second partition.
#[test]
fn an_mbr_disk_with_a_partition_is_left_alone() {
    let rig = Rig::new();
    let image = mbr_image();
    let hardware = rig.sim.hardware();
    hardware
        .attach_disk(DATA, &spec(DATA), &Content::blank(image.length()))
        .unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    rig.disks().rescan(rig.soon()).unwrap();
    let before = rig.os().disks.layout(rig.disk()).unwrap();
    assert_eq!(before.partitions.len(), 1);
    let trace = rig.trace(|| {
        rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    });
    assert!(!ran(&trace, disk::CREATE_PARTITION.name));
    assert_eq!(rig.os().disks.layout(rig.disk()), Ok(before));
}

/// csi-proxy wraps an error that is none, and takes whichever partition comes first.
#[test]
fn a_partition_that_does_not_appear_is_said_to_be_missing() {
    let rig = Rig::with_data_disk();
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    let nothing = Effect::Answer(Outcome::of(codes::SUCCESS.code));
    rig.sim.faults().add(Rule::on(&create, nothing));
    let error = rig.disks().partition(rig.disk(), rig.soon());
    let error = error.unwrap_err();
    assert!(
        matches!(error, DiskError::Provider(ProviderError::NotFound { .. })),
        "{error:?}"
    );
    let text = format!(
        "failed to query partition of disk {}. error: not found",
        rig.disk()
    );
    assert_eq!(error.to_string(), text);
}
