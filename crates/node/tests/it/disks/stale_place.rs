//! Disks whose place the storage provider, or the kernel, has wrong or not at all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use os::layer::forward::ForwardDisks;
use os::{Deadline, DiskAccess, DiskFacts, DiskNumber, Disks, Win32};
use os_sim::{Address, Bus, Content, DiskSpec, Effect, IdentifierKind, PciFunction, Rule};
use wincsi_node::{Criterion, DiskError, DiskQuery, FoundDisk, Page83, SerialNumber};

use crate::support::{DATA, GIB, NodeFixture, inject};

const NAME: &str = "600140512345678a";

fn at(adapter: u8) -> DiskSpec {
    named(DATA, NAME, adapter)
}

fn named(serial: &str, name: &str, adapter: u8) -> DiskSpec {
    let spec = DiskSpec::on(Bus::Sas).serial(serial).lun(1);
    let spec = spec.identified(IdentifierKind::Naa, name);
    let address = Address {
        adapter,
        ..spec.address
    };
    DiskSpec { address, ..spec }
}

fn serial() -> Criterion {
    Criterion::Serial(SerialNumber::parse(DATA).unwrap())
}

fn find<const N: usize>(fixture: &NodeFixture, criteria: [Criterion; N]) -> FoundDisk {
    let wanted = DiskQuery::all(criteria).unwrap();
    fixture.disks().find(&wanted, fixture.soon()).unwrap()
}

/// The provider does not see the change.
fn replace(fixture: &NodeFixture, spec: &DiskSpec, length: u64) {
    let hardware = fixture.hardware();
    hardware.detach_disk(DATA).unwrap();
    fixture.sim.os().disks.list().unwrap();
    hardware
        .attach_disk(DATA, spec, &Content::blank(length))
        .unwrap();
    fixture.sim.os().disks.list().unwrap();
}

fn refuse_partition(fixture: &NodeFixture, found: &FoundDisk) {
    let refused = fixture.disks().partition(found, fixture.soon());
    assert!(
        matches!(refused, Err(DiskError::NotTheFound { .. })),
        "{refused:?}"
    );
}

/// A search by place finds it where the disk before was. The call itself has the provider look again.
#[test]
fn a_stranger_in_a_place_is_not_partitioned() {
    for rescans in [false, true] {
        let fixture = NodeFixture::new();
        fixture.plug(&at(1), DATA, GIB);
        replace(&fixture, &named("stranger", "600140577777777b", 7), 2 * GIB);
        let found = find(&fixture, [Criterion::Lun(1), Criterion::Adapter(1)]);
        if rescans {
            fixture.rescan();
        }
        refuse_partition(&fixture, &found);
    }
}

#[test]
fn a_disk_that_moved_is_not_partitioned() {
    let fixture = NodeFixture::new();
    fixture.plug(&at(1), DATA, GIB);
    replace(&fixture, &at(7), GIB);
    let found = find(&fixture, [serial(), Criterion::Adapter(1)]);
    fixture.rescan();
    refuse_partition(&fixture, &found);
}

/// The kernel knows of no slot.
#[test]
fn a_twin_in_another_pci_slot_is_not_partitioned() {
    let twin = |device| DiskSpec {
        pci: Some(PciFunction {
            bus: 0,
            device,
            function: 7,
        }),
        ..at(1)
    };
    let fixture = NodeFixture::new();
    fixture.plug(&twin(63_667), DATA, GIB);
    let found = find(&fixture, [serial(), Criterion::Device(63_667)]);
    replace(&fixture, &twin(11_111), GIB);
    fixture.rescan();
    refuse_partition(&fixture, &found);
}

#[test]
fn a_check_after_the_deadline_lets_no_step_begin() {
    let fixture = NodeFixture::new();
    fixture.plug(&at(1), DATA, GIB);
    let number = fixture.disk();
    fixture.disks().set_offline(number, fixture.soon()).unwrap();
    let disks = &fixture.sim.os().disks;
    disks.set_access(number, DiskAccess::ReadOnly).unwrap();
    let found = find(&fixture, [serial()]);
    let clock = Arc::clone(&fixture.os().clock);
    let node = inject::node(&fixture, |os| {
        let clock = Arc::clone(&clock);
        inject::after(os, "SetAttributes", move || {
            clock.sleep(Duration::from_secs(3600));
        });
    });
    fixture.take_trace();
    let deadline = Deadline::within(&*clock, Duration::from_secs(60));
    let ended = node.operations().disks().bring_online(&found, deadline);
    assert!(ended.is_err());
    let trace = fixture.take_trace();
    assert!(trace.iter().all(|op| op.operation != "MSFT_Disk.Online"));
}

/// A disk may be another node's: the provider is asked, or the deadline comes.
#[test]
fn a_service_manager_that_hangs_holds_no_disk() {
    let fixture = NodeFixture::new();
    fixture.plug(&at(1), DATA, GIB);
    let (number, found) = (fixture.disk(), find(&fixture, [serial()]));
    let faults = fixture.faults();
    let hang = faults.add(Rule::on("QueryServiceStatusEx", Effect::Hang));
    let (node, deadline) = (fixture.node.clone(), fixture.soon());
    let (sender, ended) = mpsc::channel();
    let partition = move || node.operations().disks().partition(&found, deadline);
    let call = thread::spawn(move || sender.send(partition()));
    assert!(faults.wait_until_hanging(1, Duration::from_secs(60)));
    let is_over = (0..600).any(|_| {
        let is_over = ended.recv_timeout(Duration::from_millis(20)).is_ok();
        fixture.let_pass(Duration::from_secs(1));
        is_over
    });
    assert!(is_over, "an operation holds the disk for ever");
    fixture.disks().set_offline(number, fixture.soon()).unwrap();
    faults.remove(hang);
    call.join().unwrap().unwrap();
}

struct NoDescriptor(Arc<dyn Disks>);

impl ForwardDisks for NoDescriptor {
    fn to(&self) -> &dyn Disks {
        &*self.0
    }

    fn descriptor(&self, disk: DiskNumber) -> os::Result<os::DeviceDescriptor> {
        let operation = "IOCTL_STORAGE_QUERY_PROPERTY";
        Err(os::Error::new(operation, disk, Win32::IO_DEVICE))
    }

    fn facts(&self, path: &str) -> os::Result<DiskFacts> {
        let mut facts = self.0.facts(path)?;
        facts.descriptor = ForwardDisks::descriptor(self, facts.number);
        Ok(facts)
    }
}

#[test]
fn without_a_descriptor_the_provider_is_asked() {
    let fixture = NodeFixture::new();
    fixture.plug(&at(1), DATA, GIB);
    let node = inject::node(&fixture, |os| {
        os.disks = Arc::new(NoDescriptor(Arc::clone(&os.disks)));
    });
    let page83 = Criterion::Page83(Page83::parse(NAME).unwrap());
    let wanted = DiskQuery::all([page83]).unwrap();
    let disks = || node.operations();
    let found = disks().disks().find(&wanted, fixture.soon()).unwrap();
    let partition = || disks().disks().partition(&found, fixture.soon()).unwrap();
    let trace = fixture.trace(partition);
    let asked = trace.iter().filter(|op| op.object.contains("MSFT_Disk "));
    assert!(asked.count() > 1);
}

/// The second time the provider's object is older than the partition.
#[test]
fn a_found_disk_is_partitioned_again() {
    let fixture = NodeFixture::new();
    fixture.plug(&at(1), DATA, GIB);
    let found = find(&fixture, [serial()]);
    for _ in 0..2 {
        fixture.disks().partition(&found, fixture.soon()).unwrap();
    }
}
