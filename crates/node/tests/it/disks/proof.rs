//! A found disk is proved once by the storage provider. Before each change the kernel alone shows whether it is still the
//! one, or the provider is asked again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use os::layer::forward::{ForwardDisks, ForwardProvider};
use os::schema::disk;
use os::{Deadline, DiskAccess, DiskFacts, Disks, Instance, Provider, Query, Value, Win32};
use os_sim::{
    Address, Bus, Content, DiskSpec, IdentifierKind, IdentifierPage, NodeSpec, Op, SanPolicy,
    ServiceSpec,
};
use wincsi_node::{
    Criterion, DiskError, DiskQuery, FormatOptions, FoundDisk, NewSize, Node, Options, Page83,
    ProviderError, SerialNumber,
};

use crate::support::{DATA, GIB, NodeFixture, inject};

const OTHER: &str = "other";
const NAME: &str = "600140512345678a";

/// The check's last question, which nothing else asks.
const CHECK: &str = "IOCTL_SCSI_GET_ADDRESS";

const CHANGES: [&str; 9] = [
    "IOCTL_DISK_SET_DISK_ATTRIBUTES",
    "MSFT_Disk.CreatePartition",
    "MSFT_Disk.Initialize",
    "MSFT_Disk.Offline",
    "MSFT_Disk.Online",
    "MSFT_Disk.SetAttributes",
    "MSFT_Partition.Resize",
    "MSFT_Volume.Format",
    "SetVolumeMountPointW",
];

pub(super) type Act = fn(&Node, &FoundDisk, Deadline) -> Result<(), DiskError>;

/// What is done to a found disk.
pub(super) const ACTS: [(&str, Act); 6] = [
    ("partition", |node, found, soon| {
        node.operations().disks().partition(found, soon)
    }),
    ("set_online", |node, found, soon| {
        node.operations().disks().set_online(found, soon)
    }),
    ("bring_online", |node, found, soon| {
        node.operations().disks().bring_online(found, soon)
    }),
    ("bring_online_read_only", |node, found, soon| {
        let disks = node.operations().disks();
        disks.bring_online_read_only(found, soon)
    }),
    ("set_offline", |node, found, soon| {
        node.operations().disks().set_offline(found, soon)
    }),
    ("take_offline", |node, found, soon| {
        node.operations().disks().take_offline(found, soon)
    }),
];

fn named() -> DiskSpec {
    let spec = DiskSpec::on(Bus::Sas).serial(DATA).lun(1);
    spec.identified(IdentifierKind::Naa, NAME)
}

/// A disk in the place, or the number, of another.
struct Replacement {
    what: &'static str,
    before: fn() -> DiskSpec,
    after: fn() -> DiskSpec,
    name: &'static str,
    length: u64,
}

const REPLACEMENTS: [Replacement; 6] = [
    Replacement {
        what: "other identifiers at the same place",
        before: named,
        after: || {
            let spec = DiskSpec::on(Bus::Sas).serial(DATA).lun(1);
            spec.identified(IdentifierKind::Naa, "600140577777777b")
        },
        name: DATA,
        length: GIB,
    },
    Replacement {
        what: "another serial number at the same place",
        before: named,
        after: || named().serial(OTHER),
        name: DATA,
        length: GIB,
    },
    Replacement {
        what: "fewer bytes at the same place",
        before: named,
        after: named,
        name: DATA,
        length: GIB / 2,
    },
    Replacement {
        what: "the same names at another adapter",
        before: named,
        after: || {
            let address = Address {
                adapter: 7,
                ..named().address
            };
            DiskSpec { address, ..named() }
        },
        name: DATA,
        length: GIB,
    },
    Replacement {
        what: "the same names at another LUN",
        before: named,
        after: || named().lun(2),
        name: OTHER,
        length: GIB,
    },
    Replacement {
        what: "the same names in another namespace",
        before: || {
            let spec = DiskSpec::on(Bus::Nvme).serial(DATA).lun(4);
            spec.identified(IdentifierKind::Eui64, "0025385891b11234")
        },
        after: || {
            let spec = DiskSpec::on(Bus::Nvme).serial(DATA).lun(5);
            spec.identified(IdentifierKind::Eui64, "0025385891b11234")
        },
        name: DATA,
        length: GIB,
    },
];

fn fixture(spec: &DiskSpec) -> NodeFixture {
    let fixture = NodeFixture::new();
    fixture.plug(spec, DATA, GIB);
    fixture
}

fn serial() -> Criterion {
    Criterion::Serial(SerialNumber::parse(DATA).unwrap())
}

fn find(fixture: &NodeFixture, node: &Node, criterion: Criterion) -> FoundDisk {
    let wanted = DiskQuery::all([criterion]).unwrap();
    let found = node.operations().disks().find(&wanted, fixture.soon());
    found.unwrap()
}

/// For an act that brings a disk online, it is offline, and read-only unless that is to be seen to.
fn prepared(spec: &DiskSpec, act: &str) -> NodeFixture {
    let fixture = fixture(spec);
    if act.contains("_online") {
        take_down(&fixture);
    }
    if act.ends_with("_online") {
        let access = DiskAccess::ReadOnly;
        fixture
            .os()
            .disks
            .set_access(fixture.disk(), access)
            .unwrap();
    }
    fixture
}

fn take_down(fixture: &NodeFixture) {
    let number = fixture.disk();
    fixture.disks().set_offline(number, fixture.soon()).unwrap();
}

/// A node whose provider's rows of disks are rewritten.
fn with_rows(fixture: &NodeFixture, rewrite: fn(&mut Instance)) -> Node {
    inject::node(fixture, |os| {
        inject::each_row(&mut os.storage, rewrite);
    })
}

/// Another disk takes the number, and the provider lists it.
fn replace(fixture: &NodeFixture, by: &'static Replacement) -> impl Fn() + Send + Sync + use<> {
    let (sim, node) = (fixture.sim.clone(), fixture.node.clone());
    let (number, soon) = (fixture.disk(), fixture.soon());
    move || {
        let disks = &sim.os().disks;
        sim.hardware().detach_disk(DATA).unwrap();
        disks.list().unwrap();
        let content = Content::blank(by.length);
        let spec = (by.after)();
        sim.hardware()
            .attach_disk(by.name, &spec, &content)
            .unwrap();
        assert!(disks.list().unwrap().contains(&number));
        node.operations().disks().rescan(soon).unwrap();
        let _ = sim.take_trace();
    }
}

#[track_caller]
fn refused(ended: &Result<(), DiskError>, trace: &[Op], case: &str) {
    // A new table is looked for on the other disk, too.
    let is_refused = matches!(
        ended,
        Err(DiskError::NotTheFound { .. } | DiskError::ViewsDiffer { .. } | DiskError::Blank(_))
    );
    assert!(is_refused, "{case}: {ended:?}");
    let changed = trace.iter().find(|op| CHANGES.contains(&op.operation));
    assert!(changed.is_none(), "{case}: {changed:?}");
}

#[test]
fn a_disk_replaced_before_the_act_is_left_alone() {
    for by in &REPLACEMENTS {
        for (name, act) in ACTS {
            let fixture = prepared(&(by.before)(), name);
            let found = find(&fixture, &fixture.node, serial());
            replace(&fixture, by)();
            let case = format!("{name}, {}", by.what);
            let mut ended = Ok(());
            let mut run = || ended = act(&fixture.node, &found, fixture.soon());
            // It is online, and `set_online` alone asks nothing of such a disk.
            if name != "set_online" {
                let trace = fixture.trace(&mut run);
                refused(&ended, &trace, &case);
            }
            let mut run = || ended = act(&fixture.node, &found, fixture.soon());
            if name.contains("_online") {
                let number = found.number();
                fixture.disks().set_offline(number, fixture.soon()).unwrap();
                let trace = fixture.trace(&mut run);
                refused(&ended, &trace, &case);
            }
        }
    }
}

/// Before each check, before page files are looked for, and before a proof that the disk is blank.
#[test]
fn a_disk_replaced_within_the_act_is_left_alone() {
    let moments = ["Disks::facts", inject::PAGING, inject::PROOF];
    for by in &REPLACEMENTS {
        for (name, act) in ACTS {
            for moment in moments {
                let nth = (1..).find(|nth| !is_replaced(by, (name, act), (moment, *nth)));
                let is_swept = nth > Some(1) || moment == inject::PROOF && name != "partition";
                assert!(is_swept, "{name} {moment}");
            }
        }
    }
}

/// Whether there was such a moment.
fn is_replaced(
    by: &'static Replacement,
    (name, act): (&str, Act),
    (moment, nth): (&'static str, u32),
) -> bool {
    let fixture = prepared(&(by.before)(), name);
    let found = find(&fixture, &fixture.node, serial());
    let is_replaced = Arc::new(AtomicBool::new(false));
    let happened = Arc::clone(&is_replaced);
    let replace = replace(&fixture, by);
    let node = inject::node(&fixture, |os| {
        inject::before(os, moment, nth, move || {
            replace();
            happened.store(true, Ordering::SeqCst);
        });
    });
    let ended = act(&node, &found, fixture.soon());
    let is_replaced = is_replaced.load(Ordering::SeqCst);
    let case = format!("{name}, {}, {moment} {nth}", by.what);
    match is_replaced {
        true => refused(&ended, &fixture.take_trace(), &case),
        false => ended.expect(&case),
    }
    is_replaced
}

fn disks_asked(trace: &[Op]) -> usize {
    let of_disk = |op: &&Op| op.object.contains("MSFT_Disk ");
    trace.iter().filter(of_disk).count()
}

/// From blank to mounted, grown and offline again.
fn whole_life(fixture: &NodeFixture, node: &Node, found: &FoundDisk) {
    let (soon, options) = (fixture.soon(), FormatOptions::default());
    let (disks, volumes) = (node.operations().disks(), node.operations().volumes());
    disks.bring_online(found, soon).unwrap();
    disks.partition(found, soon).unwrap();
    let volume = volumes.find_on(found, soon).unwrap();
    volumes.ensure_formatted(&volume, &options, soon).unwrap();
    let staging = fixture.staging();
    let files = node.operations().filesystem();
    files.make_directory(&staging, soon).unwrap();
    volumes.mount_over_stale(&volume, &staging, soon).unwrap();
    let smaller = NewSize::Bytes((GIB / 4).try_into().unwrap());
    volumes.resize(&volume, smaller, soon).unwrap();
    volumes.unmount(volume.id(), &staging, soon).unwrap();
    disks.take_offline(found, soon).unwrap();
    disks.set_online(found, soon).unwrap();
}

#[test]
fn each_change_follows_a_check_of_its_own() {
    let fixture = fixture(&named());
    take_down(&fixture);
    let found = find(&fixture, &fixture.node, serial());
    let trace = fixture.trace(|| whole_life(&fixture, &fixture.node, &found));
    let mut is_checked = false;
    let mut changes = Vec::new();
    for op in &trace {
        match op.operation {
            CHECK => is_checked = true,
            change if CHANGES.contains(&change) => {
                assert!(std::mem::take(&mut is_checked), "{op:?}: {trace:?}");
                changes.push(change);
            }
            _ => {}
        }
    }
    for change in [
        "MSFT_Disk.Initialize",
        "MSFT_Volume.Format",
        "SetVolumeMountPointW",
    ] {
        assert!(changes.contains(&change), "{changes:?}");
    }
    // It is known, but for the reason why the disk was offline.
    assert_eq!(disks_asked(&trace), 1, "{trace:?}");
}

#[test]
fn too_little_of_the_kernel_asks_the_provider() {
    fn without_path(row: &mut Instance) {
        if let Some(path) = row.properties.get_mut(disk::PATH.name) {
            *path = Value::Null;
        }
    }
    let nameless = || DiskSpec::on(Bus::Sas).lun(1);
    let silent = || named().answering(IdentifierPage::Failing);
    let in_a_file = || DiskSpec::on(Bus::Vhd).serial(DATA);
    let by_size = Criterion::Size(GIB);
    let place = [Criterion::Adapter(1), Criterion::Lun(1)];
    for (spec, criteria) in [
        (nameless(), place.to_vec()),
        (silent(), vec![serial(), by_size]),
        (in_a_file(), vec![serial()]),
    ] {
        let fixture = fixture(&spec);
        let wanted = DiskQuery::all(criteria).unwrap();
        let found = fixture.disks().find(&wanted, fixture.soon()).unwrap();
        assert_asked(&fixture, &fixture.node, &found);
    }
    let fixture = fixture(&named());
    let pathless = with_rows(&fixture, without_path);
    assert_asked(&fixture, &pathless, &find(&fixture, &pathless, serial()));
    let by_number = inject::node(&fixture, |os| {
        let disks = Arc::clone(&os.disks);
        let is_asked = AtomicBool::new(false);
        os.disks = Arc::new(FirstWithoutFacts { disks, is_asked });
    });
    assert_asked(&fixture, &by_number, &find(&fixture, &by_number, serial()));
}

/// Disks whose paths did not open for reading when they were searched.
struct FirstWithoutFacts {
    disks: Arc<dyn Disks>,
    is_asked: AtomicBool,
}

impl ForwardDisks for FirstWithoutFacts {
    fn to(&self) -> &dyn Disks {
        &*self.disks
    }

    fn facts(&self, path: &str) -> os::Result<DiskFacts> {
        let facts = self.disks.facts(path)?;
        let is_it = facts
            .descriptor
            .as_ref()
            .is_ok_and(|it| it.serial.as_deref() == Some(DATA));
        match is_it && !self.is_asked.swap(true, Ordering::SeqCst) {
            true => Err(os::Error::new("CreateFileW", path, Win32::ACCESS_DENIED)),
            false => Ok(facts),
        }
    }
}

/// Once before the change and once to find the object, at least.
#[track_caller]
fn assert_asked(fixture: &NodeFixture, node: &Node, found: &FoundDisk) {
    let soon = fixture.soon();
    let trace = fixture.trace(|| node.operations().disks().partition(found, soon).unwrap());
    assert!(disks_asked(&trace) > 1, "{found:?}: {trace:?}");
}

/// It may join a cluster at any time, of which the provider alone tells.
#[test]
fn on_a_node_of_a_cluster_the_provider_is_asked() {
    fn joined(row: &mut Instance) {
        if let Some(mark) = row.properties.get_mut(disk::IS_CLUSTERED.name) {
            *mark = Value::Bool(true);
        }
    }
    let mut clustered = NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll);
    clustered.service.push(ServiceSpec {
        name: "ClusSvc".to_owned(),
        ..ServiceSpec::default()
    });
    for (name, act) in ACTS {
        let fixture = NodeFixture::of(&clustered, Options::default());
        fixture.plug(&named(), DATA, GIB);
        if name.contains("_online") {
            take_down(&fixture);
        }
        let page83 = Criterion::Page83(Page83::parse(NAME).unwrap());
        let found = find(&fixture, &fixture.node, page83);
        let node = with_rows(&fixture, joined);
        let mut ended = Ok(());
        let trace = fixture.trace(|| ended = act(&node, &found, fixture.soon()));
        assert!(ended.is_err(), "{name}");
        let changed = trace.iter().find(|op| CHANGES.contains(&op.operation));
        assert!(changed.is_none(), "{name}: {changed:?}");
    }
}

/// A provider with a second object of the disk, which says that Windows boots from it.
struct Doubled(Arc<dyn Provider>);

impl ForwardProvider for Doubled {
    fn to(&self) -> &dyn Provider {
        &*self.0
    }

    fn query(&self, query: &Query<'_>, deadline: Deadline) -> os::Result<Vec<Instance>> {
        let mut rows = self.0.query(query, deadline)?;
        let is_it = |row: &&Instance| row.text(disk::SERIAL_NUMBER.name).ok() == Some(DATA);
        if let Some(mut second) = rows.iter().find(is_it).cloned() {
            let is_boot = disk::IS_BOOT.name.to_owned();
            second.properties.insert(is_boot, Value::Bool(true));
            rows.push(second);
        }
        Ok(rows)
    }
}

#[test]
fn of_two_objects_of_one_number_neither_is_used() {
    let fixture = fixture(&named());
    let node = inject::node(&fixture, |os| {
        os.storage = Arc::new(Doubled(Arc::clone(&os.storage)));
    });
    let found = find(&fixture, &node, serial());
    let mut ended = Ok(());
    let soon = fixture.soon();
    let trace = fixture.trace(|| ended = node.operations().disks().partition(&found, soon));
    let is_several = matches!(
        ended,
        Err(DiskError::Provider(ProviderError::Several { .. }))
    );
    assert!(is_several, "{ended:?}");
    assert!(!trace.iter().any(|op| CHANGES.contains(&op.operation)));
}
