//! Disks on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use os::schema::disk;
use os::{Cause, Deadline, DiskNumber, PartitionStyle, Win32};
use os_sim::{
    Arrives, Bus, Content, DiskSpec, Effect, IdentifierKind, Kill, NodeSpec, Rule, SanPolicy,
};
use wincsi_node::{DiskError, Guarded, Options, Unfinished, VolumeError};

use crate::support::{DATA, GIB, NodeFixture};

const SYSTEM: DiskNumber = DiskNumber(0);

#[test]
fn a_raw_disk_becomes_one_with_a_visible_volume() {
    let fixture = NodeFixture::with_data_disk();
    fixture.partition();
    let layout = fixture.layout();
    assert!(matches!(layout.style, PartitionStyle::Gpt { .. }));
    assert!(
        fixture
            .os()
            .volumes
            .list()
            .unwrap()
            .contains(&fixture.volume())
    );
}

#[test]
fn a_disk_with_a_partition_is_left_alone_and_not_read() {
    let fixture = NodeFixture::with_volume();
    let before = fixture.state();
    let _ = fixture.take_trace();
    fixture.partition();
    let trace = fixture.take_trace();
    assert!(
        trace.iter().all(|op| op.operation != "ReadFile"),
        "{trace:?}"
    );
    assert!(
        trace.iter().all(|op| !op.operation.starts_with("MSFT_")),
        "{trace:?}"
    );
    assert_eq!(fixture.state(), before);
}

/// A volume of an offline disk never comes, so nobody waits for it.
#[test]
fn nobody_waits_on_an_offline_disk() {
    let fixture = NodeFixture::with_volume();
    fixture.set_offline();
    let before = fixture.os().clock.now();
    fixture.partition();
    let volumes = fixture
        .volumes()
        .list_on_disk(fixture.disk(), None, fixture.soon());
    assert_eq!(volumes, Ok(Vec::new()));
    assert_eq!(fixture.os().clock.now(), before);
}

#[test]
fn a_volume_that_does_not_come_is_an_error_that_names_its_partition() {
    let spec = NodeSpec::named("slow")
        .san_policy(SanPolicy::OnlineAll)
        .volume_delay(Duration::from_secs(3600));
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, 4 * GIB);
    let error = fixture.try_partition().unwrap_err();
    let text = format!("partition 2 of disk {} has no volume", fixture.disk());
    assert!(error.to_string().starts_with(&text), "{error}");
}

/// The call that made the partition died before its volume was there.
#[test]
fn a_partition_that_was_there_is_waited_for_too() {
    let spec = NodeSpec::named("slow")
        .san_policy(SanPolicy::OnlineAll)
        .volume_delay(Duration::from_secs(7));
    let fixture = NodeFixture::of(&spec, Options::default());
    fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, 4 * GIB);
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    fixture.fault(Rule::on(&create, Effect::Kill(Kill::After)));
    fixture.try_partition().unwrap_err();
    let fixture = fixture.reopened();
    let before = fixture.os().volumes.list().unwrap().len();
    fixture.partition();
    assert_eq!(fixture.os().volumes.list().unwrap().len(), before + 1);
}

/// A partition that is offline by itself has no volume, and csi-proxy brings it online.
#[test]
fn a_partition_that_was_there_is_brought_online() {
    let fixture = NodeFixture::with_volume();
    let volume = fixture.volume();
    fixture.take_partition_offline();
    assert!(!fixture.os().volumes.list().unwrap().contains(&volume));
    fixture.partition();
    assert!(fixture.os().volumes.list().unwrap().contains(&volume));
}

/// Guards: P59
#[test]
fn the_disks_that_windows_runs_from_are_never_written() {
    let fixture = NodeFixture::with_mounted_volume();
    let disks = fixture.disks();
    let refused = |done: Result<(), DiskError>| match done {
        Err(DiskError::Guarded {
            disk: SYSTEM,
            reason,
        }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(disks.partition(SYSTEM, fixture.soon())),
        Guarded::Boot
    );
    assert_eq!(
        refused(disks.set_offline(SYSTEM, fixture.soon())),
        Guarded::Boot
    );
    disks.set_online(SYSTEM, fixture.soon()).unwrap();
    let volume = fixture
        .volumes()
        .closest(&crate::support::path(r"C:\Windows"), fixture.soon())
        .unwrap();
    let guarded = |done: Result<(), VolumeError>| match done {
        Err(VolumeError::Disk(DiskError::Guarded {
            disk: SYSTEM,
            reason,
        })) => reason,
        other => panic!("{other:?}"),
    };
    let volumes = fixture.volumes();
    assert_eq!(
        guarded(volumes.format(volume, fixture.soon()).map(drop)),
        Guarded::Boot
    );
    let grow = wincsi_node::NewSize::Maximum;
    assert_eq!(
        guarded(volumes.resize(volume, grow, fixture.soon()).map(drop)),
        Guarded::Boot
    );
}

#[test]
fn a_disk_with_a_page_file_or_a_crash_dump_is_never_written() {
    let mut spec = NodeSpec::named("paging").san_policy(SanPolicy::OnlineAll);
    spec.page_files = vec![
        r"C:\pagefile.sys".to_owned(),
        r"C:\mnt\data\page.sys".to_owned(),
    ];
    for (page_file, crash_dump, expected) in [
        (
            r"C:\var\lib\kubelet\plugins\globalmount\page.sys",
            None,
            Guarded::PageFile,
        ),
        (
            r"C:\pagefile.sys",
            Some(r"C:\var\lib\kubelet\plugins\globalmount\dump.dmp"),
            Guarded::CrashDump,
        ),
    ] {
        spec.page_files = vec![page_file.to_owned()];
        spec.crash_dump = crash_dump.map(str::to_owned);
        let fixture = NodeFixture::with_mounted_volume_on(&spec);
        let refused = fixture.try_set_offline();
        let reason = expected;
        let disk = fixture.disk();
        assert_eq!(refused, Err(DiskError::Guarded { disk, reason }));
    }
}

#[test]
fn a_disk_that_nobody_knows_is_not_found() {
    let fixture = NodeFixture::with_data_disk();
    let disks = fixture.disks();
    let text = "failed to query disk 77. error: not found";
    let nobody = DiskNumber(77);
    for error in [
        disks.partition(nobody, fixture.soon()).unwrap_err(),
        disks.set_online(nobody, fixture.soon()).unwrap_err(),
        disks.set_offline(nobody, fixture.soon()).unwrap_err(),
        disks.is_online(nobody, fixture.soon()).unwrap_err(),
        disks.size(nobody, fixture.soon()).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), text);
    }
    let volumes = fixture.volumes().list_on_disk(nobody, None, fixture.soon());
    assert_eq!(volumes.unwrap_err().to_string(), text);
}

/// The provider learns of a disk by a rescan, and of its size by a refresh.
#[test]
fn a_disk_shows_after_a_rescan() {
    let fixture = NodeFixture::new();
    let spec = DiskSpec::on(Bus::Sas)
        .serial(DATA)
        .lun(7)
        .identified(IdentifierKind::Vendor, "disk-7");
    fixture.attach(DATA, &spec, GIB);
    let disks = fixture.disks();
    assert_eq!(disks.ids(fixture.soon()).unwrap().len(), 1);
    disks.rescan(fixture.soon()).unwrap();
    let ids = &disks.ids(fixture.soon()).unwrap()[&fixture.disk()];
    assert_eq!((ids.serial.as_str(), ids.page83.as_str()), (DATA, "disk-7"));
    let location = &disks.locations(fixture.soon()).unwrap()[&fixture.disk()];
    assert_eq!(location.lun.as_deref(), Some("7"));
    assert_eq!(
        disks.by_page83("disk-7", fixture.soon()),
        Ok(fixture.disk())
    );
    assert_eq!(disks.size(fixture.disk(), fixture.soon()), Ok(GIB));
    fixture.grow(DATA, 2 * GIB);
    disks.rescan(fixture.soon()).unwrap();
    assert_eq!(disks.size(fixture.disk(), fixture.soon()), Ok(2 * GIB));
}

#[test]
fn an_identifier_that_several_disks_have_names_none() {
    let fixture = NodeFixture::new();
    for name in ["one", "two"] {
        let spec = DiskSpec::on(Bus::Sas)
            .serial(name)
            .identified(IdentifierKind::Vendor, "twin");
        fixture.plug(&spec, name, GIB);
    }
    let disks = fixture.disks();
    let found = disks.by_page83("twin", fixture.soon()).unwrap_err();
    assert!(matches!(found, DiskError::SeveralPage83 { disks, .. } if disks.len() == 2));
    let error = disks.by_page83("nobody", fixture.soon()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not find disk with Page83 ID nobody: not found"
    );
}

/// Guards: P41
#[test]
fn one_dead_disk_does_not_hide_the_others() {
    let fixture = NodeFixture::with_data_disk();
    let disk = fixture.disk();
    fixture.fault(
        Rule::on(
            "IOCTL_STORAGE_QUERY_PROPERTY",
            Effect::fail(Win32::IO_DEVICE),
        )
        .object("*0"),
    );
    let ids = fixture.disks().ids(fixture.soon()).unwrap();
    assert_eq!(ids.keys().collect::<Vec<_>>(), [&disk]);
}

/// A bus without such a page is no dead disk.
#[test]
fn a_disk_that_does_not_know_the_question_has_no_identifier() {
    let none = [
        Win32::INVALID_FUNCTION,
        Win32::INVALID_PARAMETER,
        Win32::NOT_SUPPORTED,
    ];
    for code in none {
        let fixture = NodeFixture::with_data_disk();
        let disk = fixture.disk();
        fixture.fail_on("IOCTL_STORAGE_QUERY_PROPERTY", &format!("*{disk}"), code);
        let ids = fixture.disks().ids(fixture.soon()).unwrap();
        let page83 = ids.get(&disk).map(|ids| ids.page83.as_str());
        assert_eq!(page83, Some(""), "{code:?}");
    }
}

/// csi-proxy gives the search up at the first disk that does not answer.
#[test]
fn a_disk_that_does_not_say_its_identifier_does_not_end_the_search() {
    let fixture = NodeFixture::new();
    for name in ["dead", "alive"] {
        let spec = DiskSpec::on(Bus::Sas)
            .serial(name)
            .identified(IdentifierKind::Vendor, name);
        fixture.plug(&spec, name, GIB);
    }
    let (dead, alive) = (fixture.disk_of("dead"), fixture.disk_of("alive"));
    assert!(dead < alive);
    fixture.fail_on(
        "IOCTL_STORAGE_QUERY_PROPERTY",
        &format!("*{dead}"),
        Win32::IO_DEVICE,
    );
    let disks = fixture.disks();
    assert_eq!(disks.by_page83("alive", fixture.soon()), Ok(alive));
    let missing = disks.by_page83("dead", fixture.soon());
    assert!(
        matches!(missing, Err(DiskError::NoSuchPage83 { .. })),
        "{missing:?}"
    );
}

/// The identifier is compared exactly, and that of a disk without one is not the empty text.
#[test]
fn an_identifier_that_is_almost_that_of_a_disk_finds_none() {
    let fixture = NodeFixture::new();
    let spec = DiskSpec::on(Bus::Sas)
        .serial("named")
        .identified(IdentifierKind::Vendor, "Name");
    fixture.plug(&spec, "named", GIB);
    fixture.plug(&DiskSpec::on(Bus::Sas).serial("nameless"), "nameless", GIB);
    let disks = fixture.disks();
    assert_eq!(
        disks.by_page83("Name", fixture.soon()),
        Ok(fixture.disk_of("named"))
    );
    for almost in ["name", "Nam", "Name ", ""] {
        let error = disks.by_page83(almost, fixture.soon()).unwrap_err();
        let text = format!("could not find disk with Page83 ID {almost}: not found");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_cloned_disk_comes_online_and_writable() {
    let fixture = NodeFixture::new();
    fixture.plug(
        &DiskSpec::on(Bus::Sas)
            .serial(DATA)
            .arriving(Arrives::Offline),
        DATA,
        GIB,
    );
    let disks = fixture.disks();
    let attributes = || fixture.attributes();
    assert!(attributes().offline && attributes().read_only);
    assert_eq!(disks.is_online(fixture.disk(), fixture.soon()), Ok(false));
    disks.set_online(fixture.disk(), fixture.soon()).unwrap();
    assert!(!attributes().offline && !attributes().read_only);
    assert_eq!(disks.is_online(fixture.disk(), fixture.soon()), Ok(true));
    disks.set_offline(fixture.disk(), fixture.soon()).unwrap();
    assert!(attributes().offline);
}

#[test]
fn an_offline_disk_gets_no_partition_and_says_so() {
    let fixture = NodeFixture::with_data_disk();
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    let failing = fixture.fail(&create, Win32::GEN_FAILURE);
    fixture.try_partition().unwrap_err();
    fixture.faults().remove(failing);
    fixture.set_offline();
    let error = fixture.try_partition().unwrap_err();
    let text = format!(
        "WMI MSFT_Disk.CreatePartition failed (target=disk {}): code=41003: the disk is offline",
        fixture.disk()
    );
    assert!(error.to_string().starts_with(&text), "{error}");
}

/// Two calls for one disk: the second waits, then finds the partition.
/// Guards: P37
#[test]
fn two_calls_for_one_disk_make_one_partition() {
    let fixture = NodeFixture::with_data_disk();
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let (node, disk, soon) = (fixture.node.clone(), fixture.disk(), fixture.soon());
            thread::spawn(move || node.operations().disks().partition(disk, soon))
        })
        .collect();
    for call in calls {
        call.join().unwrap().unwrap();
    }
    let layout = fixture.layout();
    assert_eq!(
        layout.partitions.len(),
        2,
        "the reserved one and one of ours"
    );
}

/// The caller goes at its deadline; the disk stays locked until Windows is done.
/// Guards: P37
#[test]
fn a_lock_outlives_the_deadline_of_its_call() {
    let fixture = NodeFixture::with_data_disk();
    let disk = fixture.disk();
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    let hang = fixture.hang(&create);
    let (answered, answer) = mpsc::channel();
    let (node, soon) = (fixture.node.clone(), fixture.soon());
    thread::spawn(move || {
        let done = node.bounded("partition disk", soon, move |node| {
            node.operations().disks().partition(disk, Deadline::NEVER)
        });
        answered.send(done).unwrap();
    });
    let patience = Duration::from_secs(60);
    fixture.wait_for_hang(1);
    fixture.let_pass(Duration::from_secs(7200));
    let gone = answer.recv_timeout(patience).unwrap();
    assert!(
        matches!(
            gone,
            Err(DiskError::Unfinished(Unfinished::Deadline { .. }))
        ),
        "{gone:?}"
    );
    let later = Deadline::within(&*fixture.os().clock, Duration::from_secs(1));
    let node = fixture.node.clone();
    let waiting = thread::spawn(move || node.operations().disks().set_offline(disk, later));
    fixture.let_pass(Duration::from_secs(2));
    let refused = waiting.join().unwrap();
    assert!(
        matches!(refused, Err(DiskError::Unfinished(_))),
        "{refused:?}"
    );
    fixture.faults().remove(hang);
    fixture.disks().partition(disk, fixture.soon()).unwrap();
    assert_eq!(fixture.os().disks.layout(disk).unwrap().partitions.len(), 2);
}

/// Kernel and provider never come to agree: nothing is written on either's word.
#[test]
fn a_disk_of_two_minds_is_left_alone() {
    let fixture = NodeFixture::with_volume();
    fixture.fault(Rule::on(
        &format!("*{}", disk::REFRESH.name),
        Effect::Fail(Cause::Win32(Win32::GEN_FAILURE)),
    ));
    for offset in [0, 4 * GIB - (1 << 20)] {
        fixture.overwrite(DATA, offset, &[0; 1 << 20]);
    }
    fixture.update_properties();
    let refused = fixture.try_partition();
    assert!(
        matches!(refused, Err(DiskError::ViewsDiffer { .. })),
        "{refused:?}"
    );
}

/// The provider still has the number for a disk that came back with another, and would write there.
/// Guards: P61
#[test]
fn a_disk_whose_number_went_to_another_is_not_written_in_its_place() {
    let fixture = NodeFixture::new();
    let spec = |serial: &str| DiskSpec::on(Bus::Sas).serial(serial);
    let hardware = fixture.hardware();
    fixture.plug(&spec(DATA), DATA, GIB);
    let number = fixture.disk();
    let ext4 = formats::fixtures::all()
        .into_iter()
        .find(|disk_image| disk_image.name.contains("ext4"))
        .unwrap();
    hardware.detach_disk(DATA).unwrap();
    fixture.os().disks.list().unwrap();
    hardware
        .attach_disk("blank", &spec("blank").lun(2), &Content::blank(GIB))
        .unwrap();
    assert_eq!(fixture.disk_of("blank"), number, "the number is reused");
    hardware
        .attach_disk(DATA, &spec(DATA), &Content::blank(GIB))
        .unwrap();
    for (at, bytes) in ext4.image.resized(GIB).runs() {
        hardware.write_disk(DATA, at, bytes).unwrap();
    }
    let head = || {
        let mut head = vec![0; 4 << 20];
        hardware.read_disk(DATA, 0, &mut head).unwrap();
        head
    };
    let before = head();
    let stuck = fixture.fail("*UpdateHostStorageCache", Win32::GEN_FAILURE);
    fixture
        .disks()
        .partition(number, fixture.soon())
        .unwrap_err();
    assert!(before == head(), "the filesystem survives");
    fixture.faults().remove(stuck);
    fixture.disks().partition(number, fixture.soon()).unwrap();
    assert!(before == head(), "the filesystem survives");
    let blank = fixture.os().disks.layout(number).unwrap();
    assert_eq!(blank.partitions.len(), 2, "the kernel's disk was meant");
}
