//! Each reason for which a disk is never written, one at a time: to all that writes, and to all that finds a disk.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;
use std::time::Duration;

use formats::gpt::types;
use os::{Deadline, DiskNumber, Instance, Value, VolumeId, Win32};
use os_sim::{Bus, Content, DiskSpec, Effect, IdentifierKind, NodeSpec, Role, Rule, SanPolicy};
use uuid::Uuid;
use wincsi_node::{
    Criterion, DiskError, DiskGuard, DiskQuery, FormatOptions, Guarded, NewSize, Node, Options,
    Page83, Verdict, VolumeError,
};

use crate::support::{DATA, GIB, Rig, meddle};

const PAGE83: &str = "disk-1";

/// What makes a disk one that is never written.
#[derive(Clone, Copy, Debug)]
enum Mark {
    Role(Role),
    /// A partition of this type beside the one with the volume.
    Partition(Uuid),
    /// The type of the partition with the volume, on an MBR disk.
    Mbr(u8),
}

const MARKS: [(Mark, Guarded); 4] = [
    (Mark::Role(Role::Boot), Guarded::Boot),
    (Mark::Role(Role::System), Guarded::System),
    (Mark::Role(Role::Clustered), Guarded::Clustered),
    (Mark::Partition(types::STORAGE_SPACES), Guarded::Pooled),
];

/// The storage provider leaves such a disk out.
const DYNAMIC: [Mark; 3] = [
    Mark::Partition(types::LDM_DATA),
    Mark::Partition(types::LDM_METADATA),
    Mark::Mbr(0x42),
];

fn spec() -> DiskSpec {
    DiskSpec::on(Bus::Sas)
        .serial(DATA)
        .identified(IdentifierKind::Vendor, PAGE83)
}

/// A node with a volume on a disk of the table that goes with the mark, which it does not have yet.
fn unmarked(mark: Mark) -> Rig {
    match mark {
        Mark::Mbr(_) => with_mbr_volume(),
        Mark::Role(_) | Mark::Partition(_) => {
            let rig = Rig::new();
            rig.plug(&spec(), DATA, GIB);
            rig.disks().partition(rig.disk(), rig.soon()).unwrap();
            rig.volumes().format(rig.volume(), rig.soon()).unwrap();
            rig.sim.hardware().grow_disk(DATA, 2 * GIB).unwrap();
            rig.disks().rescan(rig.soon()).unwrap();
            rig
        }
    }
}

fn with_mbr_volume() -> Rig {
    let rig = Rig::new();
    let fixtures = formats::fixtures::all();
    let mbr = fixtures.iter().find(|one| one.name == "mbr-sfdisk");
    let image = &mbr.unwrap().image;
    let (hardware, blank) = (rig.sim.hardware(), Content::blank(image.length()));
    hardware.attach_disk(DATA, &spec(), &blank).unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    rig.disks().rescan(rig.soon()).unwrap();
    rig
}

fn mark(rig: &Rig, mark: Mark) {
    match mark {
        Mark::Role(role) => rig.give_role(role),
        Mark::Partition(kind) => rig.add_partition(kind, GIB, 64 << 20),
        Mark::Mbr(kind) => {
            let type_of_first_entry = 446 + 4;
            let hardware = rig.sim.hardware();
            hardware
                .write_disk(DATA, type_of_first_entry, &[kind])
                .unwrap();
            rig.disks().rescan(rig.soon()).unwrap();
        }
    }
}

/// All that writes to a disk that is online, by name; the last takes it offline.
fn write(
    node: &Node,
    disk: DiskNumber,
    volume: VolumeId,
) -> [(&'static str, Result<(), VolumeError>); 5] {
    let soon = Deadline::within(&*node.os().clock, Duration::from_secs(3600));
    let operations = node.operations();
    let (disks, volumes) = (operations.disks(), operations.volumes());
    let options = FormatOptions::default();
    let ensured = volumes.ensure_formatted(volume, &options, soon).map(drop);
    let resized = volumes.resize(volume, NewSize::Maximum, soon).map(drop);
    [
        ("partition", disks.partition(disk, soon).map_err(Into::into)),
        ("format", volumes.format(volume, soon).map(drop)),
        ("ensure formatted", ensured),
        ("resize", resized),
        ("offline", disks.set_offline(disk, soon).map_err(Into::into)),
    ]
}

#[test]
fn each_mark_alone_keeps_a_disk_from_all_that_writes() {
    for (marked, reason) in MARKS {
        let rig = unmarked(marked);
        let (disk, volume) = (rig.disk(), rig.volume());
        mark(&rig, marked);
        let refused = || DiskError::Guarded { disk, reason };
        let before = rig.state();
        for (writer, done) in write(&rig.node, disk, volume) {
            assert_eq!(done, Err(refused().into()), "{writer}: {marked:?}");
        }
        assert_eq!(rig.state(), before, "{marked:?}");
        rig.force_offline();
        let online = rig.disks().set_online(disk, rig.soon());
        assert_eq!(online, Err(refused()), "online: {marked:?}");
        assert!(rig.os().disks.attributes(disk).unwrap().offline);
    }
}

/// A node whose provider lists a dynamic disk all the same.
fn listing(rig: &Rig, kind: Uuid) -> Node {
    meddle::node(rig, |os| {
        let disks = Arc::clone(&os.disks);
        os.disks = Arc::new(meddle::WithPartition { disks, kind });
    })
}

#[test]
fn a_dynamic_disk_is_left_out_and_never_written() {
    for marked in DYNAMIC {
        let rig = unmarked(marked);
        let (disk, volume) = (rig.disk(), rig.volume());
        if let Mark::Partition(kind) = marked {
            let before = rig.state();
            for (writer, done) in write(&listing(&rig, kind), disk, volume) {
                let reason = Guarded::Dynamic;
                let refused = DiskError::Guarded { disk, reason };
                assert_eq!(done, Err(refused.into()), "{writer}: {marked:?}");
            }
            assert_eq!(rig.state(), before, "{marked:?}");
        }

        mark(&rig, marked);
        assert!(!rig.disks().ids(rig.soon()).unwrap().contains_key(&disk));
        let before = rig.state();
        for (writer, done) in write(&rig.node, disk, volume) {
            assert!(done.is_err(), "{writer}: {marked:?}");
        }
        assert_eq!(rig.state(), before, "{marked:?}");
        let named = rig.disks().by_page83(PAGE83, rig.soon());
        let is_missing = matches!(named, Err(DiskError::NoSuchPage83 { .. }));
        assert!(is_missing, "{marked:?}: {named:?}");
    }
}

#[test]
fn a_disk_with_a_mark_is_found_by_no_look_up() {
    let page83 = || Criterion::Page83(Page83::parse(PAGE83).unwrap());
    let wanted = DiskQuery::all([page83()]).unwrap();
    for (marked, reason) in MARKS {
        let rig = unmarked(marked);
        let (disk, disks) = (rig.disk(), rig.disks());
        assert_eq!(disks.by_page83(PAGE83, rig.soon()), Ok(disk), "{marked:?}");
        let found = disks.find(&wanted, rig.soon()).unwrap();
        assert_eq!(found.number(), disk, "{marked:?}");
        mark(&rig, marked);
        let named = disks.by_page83(PAGE83, rig.soon());
        let is_missing = matches!(named, Err(DiskError::NoSuchPage83 { .. }));
        assert!(is_missing, "{marked:?}: {named:?}");
        let Err(DiskError::NotIdentified(none)) = disks.find(&wanted, rig.soon()) else {
            panic!("{marked:?} is found");
        };
        let guarded: Vec<_> = none.guarded().map(ToString::to_string).collect();
        let says = format!("(left out: {reason})");
        assert!(
            matches!(guarded.as_slice(), [one] if one.ends_with(&says)),
            "{marked:?}: {guarded:?}"
        );
    }
}

/// How it comes that nobody knows on which disks all page files and crash dumps are.
#[derive(Clone, Copy, Debug)]
enum Unknown {
    /// Windows reports nothing.
    All,
    /// An entry of its list has no name.
    Entry,
    /// The folder of one may not be looked at.
    Folder,
}

const UNKNOWN: [Unknown; 3] = [Unknown::All, Unknown::Entry, Unknown::Folder];

fn with_unknown(unknown: Unknown, guard: DiskGuard) -> Rig {
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files_unknown = matches!(unknown, Unknown::Entry);
    spec.page_files = vec![r"C:\closed\pagefile.sys".to_owned()];
    let mut options = Options::default();
    options.disk_guard = guard;
    let rig = Rig::of(&spec, options);
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    match unknown {
        Unknown::All => {
            let rule = Rule::on("RegGetValueW", denied).object("PagingFiles");
            rig.sim.faults().add(rule);
        }
        Unknown::Entry => {}
        Unknown::Folder => {
            let rule = Rule::on("GetFileAttributesExW", denied).object("*closed*");
            rig.sim.faults().add(rule);
        }
    }
    rig
}

#[test]
fn unknown_page_files_stop_nothing_that_is_proved_blank_or_comes_online() {
    for unknown in UNKNOWN {
        let rig = with_unknown(unknown, DiskGuard::Refuse);
        rig.plug(&spec(), DATA, GIB);
        let page83 = Criterion::Page83(Page83::parse(PAGE83).unwrap());
        let found = rig
            .disks()
            .find(&DiskQuery::all([page83]).unwrap(), rig.soon());
        assert_eq!(found.unwrap().number(), rig.disk(), "{unknown:?}");
        rig.force_offline();
        rig.disks().set_online(rig.disk(), rig.soon()).unwrap();
        rig.disks().partition(rig.disk(), rig.soon()).unwrap();
        rig.volumes().format(rig.volume(), rig.soon()).unwrap();
        let options = FormatOptions::default();
        let volumes = rig.volumes();
        volumes
            .ensure_formatted(rig.volume(), &options, rig.soon())
            .unwrap();
    }
}

#[test]
fn unknown_page_files_refuse_what_reaches_files_unless_only_a_warning_is_wanted() {
    for (unknown, guard) in UNKNOWN
        .into_iter()
        .flat_map(|it| [(it, DiskGuard::Refuse), (it, DiskGuard::Warn)])
    {
        let rig = with_unknown(unknown, guard);
        rig.plug(&spec(), DATA, GIB);
        rig.disks().partition(rig.disk(), rig.soon()).unwrap();
        rig.volumes().format(rig.volume(), rig.soon()).unwrap();
        rig.sim.hardware().grow_disk(DATA, 2 * GIB).unwrap();
        let (disk, volume) = (rig.disk(), rig.volume());
        let resized = rig.volumes().resize(volume, NewSize::Maximum, rig.soon());
        let offline = rig.disks().set_offline(disk, rig.soon());
        match guard {
            DiskGuard::Warn => {
                resized.unwrap();
                offline.unwrap();
                assert!(rig.os().disks.attributes(disk).unwrap().offline);
            }
            _ => {
                let is_unknown = |error: &DiskError| matches!(error, DiskError::Paging { .. });
                let Err(VolumeError::Disk(error)) = resized else {
                    panic!("{unknown:?}: {resized:?}");
                };
                assert!(is_unknown(&error), "{unknown:?}: {error}");
                let error = offline.unwrap_err();
                assert!(is_unknown(&error), "{unknown:?}: {error}");
                assert!(error.to_string().contains("-disk-guard=warn"), "{error}");
                assert!(!rig.os().disks.attributes(disk).unwrap().offline);
            }
        }
    }
}

/// Unknown files beside one that is known: what is known counts.
#[test]
fn a_page_file_that_is_known_guards_its_disk_whatever_else_is_unknown() {
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files_unknown = true;
    spec.page_files = vec![
        r"C:\closed\pagefile.sys".to_owned(),
        format!(r"{}\page.sys", crate::support::STAGING),
    ];
    let rig = Rig::with_mounted_volume_on(&spec);
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object("*closed*"));
    let disk = rig.disk();
    let reason = Guarded::PageFile;
    let partitioned = rig.disks().partition(disk, rig.soon());
    assert_eq!(partitioned, Err(DiskError::Guarded { disk, reason }));
}

/// Neither flag nor proof lets a disk be changed of which the marks cannot be read.
#[test]
fn what_a_disk_is_refuses_in_every_mode_where_it_cannot_be_read() {
    for guard in [DiskGuard::Refuse, DiskGuard::Warn] {
        for (property, rewrite) in NULLS {
            let mut rig = with_unknown(Unknown::Entry, guard);
            rig.plug(&spec(), DATA, GIB);
            let disk = rig.disk();
            let (mut os, options) = (rig.os().clone(), *rig.node.options());
            let provider = Arc::clone(&os.storage);
            os.storage = Arc::new(meddle::Rewritten { provider, rewrite });
            rig.node = Node::new(os, options);
            let before = rig.state();
            assert_refused(&rig, disk, property);
            assert_eq!(rig.state(), before, "{property}");
        }
        let rig = with_unknown(Unknown::Entry, guard);
        rig.plug(&spec(), DATA, GIB);
        let disk = rig.disk();
        let unread = Rule::on(
            "IOCTL_DISK_GET_DRIVE_LAYOUT_EX",
            Effect::fail(Win32::IO_DEVICE),
        );
        let before = rig.state();
        let unread = unread.object(&format!("disk {disk}"));
        let unread = rig.sim.faults().add(unread);
        assert_refused(&rig, disk, "the layout");
        rig.sim.faults().remove(unread);
        assert_eq!(rig.state(), before);
    }
}

type Rewrite = fn(&mut Instance);

/// What makes a null of one property of each disk.
const NULLS: [(&str, Rewrite); 3] = [
    ("IsBoot", |row| null(row, "IsBoot")),
    ("IsSystem", |row| null(row, "IsSystem")),
    ("IsClustered", |row| null(row, "IsClustered")),
];

fn null(row: &mut Instance, property: &str) {
    if let Some(value) = row.properties.get_mut(property) {
        *value = Value::Null;
    }
}

fn assert_refused(rig: &Rig, disk: DiskNumber, what: &str) {
    assert!(rig.disks().partition(disk, rig.soon()).is_err(), "{what}");
    assert!(rig.disks().set_offline(disk, rig.soon()).is_err(), "{what}");
    let verdicts = rig.disks().verdicts(rig.soon()).unwrap();
    let verdict = &verdicts[&disk];
    assert!(matches!(verdict, Verdict::Unread(_)), "{what}: {verdict:?}");
}

#[test]
fn the_verdict_of_each_disk_is_what_becomes_of_its_changes() {
    let rig = with_unknown(Unknown::Entry, DiskGuard::Refuse);
    rig.plug(&spec(), DATA, GIB);
    let verdicts = rig.disks().verdicts(rig.soon()).unwrap();
    let system = verdicts[&DiskNumber(0)].to_string();
    assert_eq!(system, "is never written: it holds the boot volume");
    let data = &verdicts[&rig.disk()];
    assert!(matches!(data, Verdict::PagingUnknown(_)), "{data:?}");
    let rig = Rig::new();
    rig.plug(&spec(), DATA, GIB);
    let verdicts = rig.disks().verdicts(rig.soon()).unwrap();
    assert_eq!(verdicts[&rig.disk()], Verdict::Allowed);
}
