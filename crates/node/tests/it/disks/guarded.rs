//! Each reason for which a disk is never written, one at a time: to all that writes, and to all that finds a disk.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use formats::gpt::types;
use os::{Deadline, DiskNumber, Instance, PartitionEntry, PartitionNumber, Value, VolumeId, Win32};
use os_sim::{Bus, Content, DiskSpec, Effect, IdentifierKind, NodeSpec, Role, Rule, SanPolicy};
use uuid::Uuid;
use wincsi_node::{
    Criterion, DiskError, DiskGuard, DiskQuery, FormatOptions, Guarded, NewSize, Node, Options,
    Page83, Verdict, VolumeError,
};

use crate::support::{DATA, GIB, NodeFixture, inject};

const PAGE83: &str = "disk-1";

/// A mark that keeps a disk from being written.
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
fn unmarked(mark: Mark) -> NodeFixture {
    match mark {
        Mark::Mbr(_) => with_mbr_volume(),
        Mark::Role(_) | Mark::Partition(_) => {
            let fixture = NodeFixture::new();
            fixture.plug(&spec(), DATA, GIB);
            fixture.partition();
            fixture.format();
            fixture.grow(DATA, 2 * GIB);
            fixture.rescan();
            fixture
        }
    }
}

fn with_mbr_volume() -> NodeFixture {
    let fixture = NodeFixture::new();
    let fixtures = formats::fixtures::all();
    let mbr = fixtures.iter().find(|one| one.name == "mbr-sfdisk");
    let image = &mbr.unwrap().image;
    let (hardware, blank) = (fixture.hardware(), Content::blank(image.length()));
    hardware.attach_disk(DATA, &spec(), &blank).unwrap();
    for (at, bytes) in image.runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    fixture.rescan();
    fixture
}

fn mark(fixture: &NodeFixture, mark: Mark) {
    match mark {
        Mark::Role(role) => fixture.give_role(role),
        Mark::Partition(kind) => fixture.add_partition(kind, GIB, 64 << 20),
        Mark::Mbr(kind) => {
            let type_of_first_entry = 446 + 4;
            let hardware = fixture.hardware();
            hardware
                .write_disk(DATA, type_of_first_entry, &[kind])
                .unwrap();
            fixture.rescan();
        }
    }
}

/// Disks of either table have two types of partitions that Storage Spaces make.
#[test]
fn each_type_of_storage_spaces_keeps_a_disk_from_all_that_writes() {
    let reason = Guarded::Pooled;
    for marked in [Mark::Mbr(0xE7), Mark::Mbr(0xD7)] {
        let fixture = unmarked(marked);
        let disk = fixture.disk();
        mark(&fixture, marked);
        let before = fixture.state();
        let refused = Err(DiskError::Guarded { disk, reason });
        let disks = fixture.disks();
        assert_eq!(disks.partition(disk, fixture.soon()), refused, "{marked:?}");
        assert_eq!(
            disks.set_offline(disk, fixture.soon()),
            refused,
            "{marked:?}"
        );
        assert_eq!(fixture.state(), before, "{marked:?}");
        fixture.force_offline();
        assert_eq!(
            disks.set_online(disk, fixture.soon()),
            refused,
            "{marked:?}"
        );
    }
    let kind = types::STORAGE_SPACES_DATA;
    let fixture = unmarked(Mark::Partition(kind));
    let disk = fixture.disk();
    for (writer, done) in write(&listing(&fixture, kind), disk, fixture.volume()) {
        let refused = DiskError::Guarded { disk, reason };
        assert_eq!(done, Err(refused.into()), "{writer}");
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

/// Guards: P59
#[test]
fn each_mark_alone_keeps_a_disk_from_all_that_writes() {
    for (marked, reason) in MARKS {
        let fixture = unmarked(marked);
        let (disk, volume) = (fixture.disk(), fixture.volume());
        mark(&fixture, marked);
        let refused = || DiskError::Guarded { disk, reason };
        let before = fixture.state();
        for (writer, done) in write(&fixture.node, disk, volume) {
            assert_eq!(done, Err(refused().into()), "{writer}: {marked:?}");
        }
        assert_eq!(fixture.state(), before, "{marked:?}");
        fixture.force_offline();
        let online = fixture.disks().set_online(disk, fixture.soon());
        assert_eq!(online, Err(refused()), "online: {marked:?}");
        assert!(fixture.os().disks.attributes(disk).unwrap().offline);
    }
}

/// A node whose provider lists a dynamic disk all the same.
fn listing(fixture: &NodeFixture, kind: Uuid) -> Node {
    inject::node(fixture, |os| {
        inject::layouts(&mut os.disks, move |layout| {
            if let Some(last) = layout.partitions.last().cloned() {
                layout.partitions.push(PartitionEntry {
                    number: PartitionNumber(last.number.0 + 1),
                    offset: last.offset + last.length,
                    length: 1 << 20,
                    kind,
                    mbr_type: None,
                    id: kind,
                });
            }
        });
    })
}

#[test]
fn a_dynamic_disk_is_left_out_and_never_written() {
    for marked in DYNAMIC {
        let fixture = unmarked(marked);
        let (disk, volume) = (fixture.disk(), fixture.volume());
        if let Mark::Partition(kind) = marked {
            let before = fixture.state();
            for (writer, done) in write(&listing(&fixture, kind), disk, volume) {
                let reason = Guarded::Dynamic;
                let refused = DiskError::Guarded { disk, reason };
                assert_eq!(done, Err(refused.into()), "{writer}: {marked:?}");
            }
            assert_eq!(fixture.state(), before, "{marked:?}");
        }

        mark(&fixture, marked);
        assert!(
            !fixture
                .disks()
                .ids(fixture.soon())
                .unwrap()
                .contains_key(&disk)
        );
        let before = fixture.state();
        for (writer, done) in write(&fixture.node, disk, volume) {
            assert!(done.is_err(), "{writer}: {marked:?}");
        }
        assert_eq!(fixture.state(), before, "{marked:?}");
        let named = fixture.disks().by_page83(PAGE83, fixture.soon());
        let is_missing = matches!(named, Err(DiskError::NoSuchPage83 { .. }));
        assert!(is_missing, "{marked:?}: {named:?}");
    }
}

#[test]
fn a_disk_with_a_mark_is_found_by_no_look_up() {
    let page83 = || Criterion::Page83(Page83::parse(PAGE83).unwrap());
    let wanted = DiskQuery::all([page83()]).unwrap();
    for (marked, reason) in MARKS {
        let fixture = unmarked(marked);
        let (disk, disks) = (fixture.disk(), fixture.disks());
        assert_eq!(
            disks.by_page83(PAGE83, fixture.soon()),
            Ok(disk),
            "{marked:?}"
        );
        let found = disks.find(&wanted, fixture.soon()).unwrap();
        assert_eq!(found.number(), disk, "{marked:?}");
        mark(&fixture, marked);
        let named = disks.by_page83(PAGE83, fixture.soon());
        let is_missing = matches!(named, Err(DiskError::NoSuchPage83 { .. }));
        assert!(is_missing, "{marked:?}: {named:?}");
        let Err(DiskError::NotIdentified(none)) = disks.find(&wanted, fixture.soon()) else {
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

fn with_unknown(unknown: Unknown, guard: DiskGuard) -> NodeFixture {
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files_unknown = matches!(unknown, Unknown::Entry);
    spec.page_files = vec![r"C:\closed\pagefile.sys".to_owned()];
    let mut options = Options::default();
    options.disk_guard = guard;
    let fixture = NodeFixture::of(&spec, options);
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    match unknown {
        Unknown::All => {
            let rule = Rule::on("RegGetValueW", denied).object("PagingFiles");
            fixture.fault(rule);
        }
        Unknown::Entry => {}
        Unknown::Folder => {
            let rule = Rule::on("GetFileAttributesExW", denied).object("*closed*");
            fixture.fault(rule);
        }
    }
    fixture
}

/// Guards: P60
#[test]
fn unknown_page_files_stop_nothing_that_is_proved_blank_or_comes_online() {
    for unknown in UNKNOWN {
        let fixture = with_unknown(unknown, DiskGuard::Refuse);
        fixture.plug(&spec(), DATA, GIB);
        let page83 = Criterion::Page83(Page83::parse(PAGE83).unwrap());
        let found = fixture
            .disks()
            .find(&DiskQuery::all([page83]).unwrap(), fixture.soon());
        assert_eq!(found.unwrap().number(), fixture.disk(), "{unknown:?}");
        fixture.force_offline();
        fixture
            .disks()
            .set_online(fixture.disk(), fixture.soon())
            .unwrap();
        fixture.partition();
        fixture.format();
        let options = FormatOptions::default();
        let volumes = fixture.volumes();
        volumes
            .ensure_formatted(fixture.volume(), &options, fixture.soon())
            .unwrap();
    }
}

/// Guards: P60
#[test]
fn unknown_page_files_refuse_what_reaches_files_unless_only_a_warning_is_wanted() {
    for (unknown, guard) in UNKNOWN
        .into_iter()
        .flat_map(|it| [(it, DiskGuard::Refuse), (it, DiskGuard::Warn)])
    {
        let fixture = with_unknown(unknown, guard);
        fixture.plug(&spec(), DATA, GIB);
        fixture.partition();
        fixture.format();
        fixture.grow(DATA, 2 * GIB);
        let (disk, volume) = (fixture.disk(), fixture.volume());
        let resized = fixture
            .volumes()
            .resize(volume, NewSize::Maximum, fixture.soon());
        let offline = fixture.disks().set_offline(disk, fixture.soon());
        match guard {
            DiskGuard::Warn => {
                resized.unwrap();
                offline.unwrap();
                assert!(fixture.os().disks.attributes(disk).unwrap().offline);
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
                assert!(!fixture.os().disks.attributes(disk).unwrap().offline);
            }
        }
    }
}

/// Unknown files beside one that is known: what is known counts.
/// Guards: P60
#[test]
fn a_page_file_that_is_known_guards_its_disk_whatever_else_is_unknown() {
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files_unknown = true;
    spec.page_files = vec![
        r"C:\closed\pagefile.sys".to_owned(),
        format!(r"{}\page.sys", crate::support::STAGING),
    ];
    let fixture = NodeFixture::with_mounted_volume_on(&spec);
    fixture.fail_on("GetFileAttributesExW", "*closed*", Win32::ACCESS_DENIED);
    let disk = fixture.disk();
    let reason = Guarded::PageFile;
    let partitioned = fixture.disks().partition(disk, fixture.soon());
    assert_eq!(partitioned, Err(DiskError::Guarded { disk, reason }));
}

/// Neither flag nor proof lets a disk be changed of which the marks cannot be read.
/// Guards: P59
#[test]
fn what_a_disk_is_refuses_in_every_mode_where_it_cannot_be_read() {
    for guard in [DiskGuard::Refuse, DiskGuard::Warn] {
        for (property, rewrite) in NULLS {
            let mut fixture = with_unknown(Unknown::Entry, guard);
            fixture.plug(&spec(), DATA, GIB);
            let disk = fixture.disk();
            let (mut os, options) = (fixture.os().clone(), *fixture.node.options());
            inject::each_row(&mut os.storage, rewrite);
            fixture.node = Node::new(os, options);
            let before = fixture.state();
            assert_refused(&fixture, disk, property);
            assert_eq!(fixture.state(), before, "{property}");
        }
        let fixture = with_unknown(Unknown::Entry, guard);
        fixture.plug(&spec(), DATA, GIB);
        let disk = fixture.disk();
        let unread = Rule::on(
            "IOCTL_DISK_GET_DRIVE_LAYOUT_EX",
            Effect::fail(Win32::IO_DEVICE),
        );
        let before = fixture.state();
        let unread = unread.object(&format!("disk {disk}"));
        let unread = fixture.fault(unread);
        assert_refused(&fixture, disk, "the layout");
        fixture.faults().remove(unread);
        assert_eq!(fixture.state(), before);
    }
}

type Rewrite = fn(&mut Instance);

/// Turns one property of each disk into a null.
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

fn assert_refused(fixture: &NodeFixture, disk: DiskNumber, what: &str) {
    assert!(
        fixture.disks().partition(disk, fixture.soon()).is_err(),
        "{what}"
    );
    assert!(
        fixture.disks().set_offline(disk, fixture.soon()).is_err(),
        "{what}"
    );
    let verdicts = fixture.disks().verdicts(fixture.soon()).unwrap();
    let verdict = &verdicts[&disk];
    assert!(matches!(verdict, Verdict::Unread(_)), "{what}: {verdict:?}");
}

#[test]
fn the_verdict_of_each_disk_is_what_becomes_of_its_changes() {
    let fixture = with_unknown(Unknown::Entry, DiskGuard::Refuse);
    fixture.plug(&spec(), DATA, GIB);
    let verdicts = fixture.disks().verdicts(fixture.soon()).unwrap();
    let system = verdicts[&DiskNumber(0)].to_string();
    assert_eq!(system, "is never written: it holds the boot volume");
    let data = &verdicts[&fixture.disk()];
    assert!(matches!(data, Verdict::PagingUnknown(_)), "{data:?}");
    let fixture = NodeFixture::new();
    fixture.plug(&spec(), DATA, GIB);
    let verdicts = fixture.disks().verdicts(fixture.soon()).unwrap();
    assert_eq!(verdicts[&fixture.disk()], Verdict::Allowed);
}
