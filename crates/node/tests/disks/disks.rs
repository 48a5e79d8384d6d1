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

use crate::support::{DATA, GIB, Rig};

const SYSTEM: DiskNumber = DiskNumber(0);

#[test]
fn a_raw_disk_becomes_one_with_a_visible_volume() {
    let rig = Rig::with_data_disk();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let layout = rig.os().disks.layout(rig.disk()).unwrap();
    assert!(matches!(layout.style, PartitionStyle::Gpt { .. }));
    assert!(rig.os().volumes.list().unwrap().contains(&rig.volume()));
}

#[test]
fn a_disk_with_a_partition_is_left_alone_and_not_read() {
    let rig = Rig::with_volume();
    let before = rig.state();
    let _ = rig.sim.take_trace();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let trace = rig.sim.take_trace();
    assert!(
        trace.iter().all(|op| op.operation != "ReadFile"),
        "{trace:?}"
    );
    assert!(
        trace.iter().all(|op| !op.operation.starts_with("MSFT_")),
        "{trace:?}"
    );
    assert_eq!(rig.state(), before);
}

/// A volume of an offline disk never comes, so nobody waits for it.
#[test]
fn nobody_waits_on_an_offline_disk() {
    let rig = Rig::with_volume();
    rig.disks().set_offline(rig.disk(), rig.soon()).unwrap();
    let before = rig.os().clock.now();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    let volumes = rig.volumes().list_on_disk(rig.disk(), None, rig.soon());
    assert_eq!(volumes, Ok(Vec::new()));
    assert_eq!(rig.os().clock.now(), before);
}

#[test]
fn a_volume_that_does_not_come_is_an_error_that_names_its_partition() {
    let spec = NodeSpec::named("slow")
        .san_policy(SanPolicy::OnlineAll)
        .volume_delay(Duration::from_secs(3600));
    let rig = Rig::of(&spec, Options::default());
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, 4 * GIB);
    let error = rig.disks().partition(rig.disk(), rig.soon()).unwrap_err();
    let text = format!("partition 2 of disk {} has no volume", rig.disk());
    assert!(error.to_string().starts_with(&text), "{error}");
}

/// The call that made the partition died before its volume was there.
#[test]
fn a_partition_that_was_there_is_waited_for_too() {
    let spec = NodeSpec::named("slow")
        .san_policy(SanPolicy::OnlineAll)
        .volume_delay(Duration::from_secs(7));
    let rig = Rig::of(&spec, Options::default());
    rig.plug(&DiskSpec::on(Bus::Sas).serial(DATA), DATA, 4 * GIB);
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    rig.sim
        .faults()
        .add(Rule::on(&create, Effect::Kill(Kill::After)));
    rig.disks().partition(rig.disk(), rig.soon()).unwrap_err();
    let rig = rig.reopened();
    let before = rig.os().volumes.list().unwrap().len();
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    assert_eq!(rig.os().volumes.list().unwrap().len(), before + 1);
}

/// A partition that is offline by itself has no volume, and csi-proxy brings it online.
#[test]
fn a_partition_that_was_there_is_brought_online() {
    let rig = Rig::with_volume();
    let volume = rig.volume();
    rig.take_partition_offline();
    assert!(!rig.os().volumes.list().unwrap().contains(&volume));
    rig.disks().partition(rig.disk(), rig.soon()).unwrap();
    assert!(rig.os().volumes.list().unwrap().contains(&volume));
}

#[test]
fn the_disks_that_windows_runs_from_are_never_written() {
    let rig = Rig::with_mounted_volume();
    let disks = rig.disks();
    let refused = |done: Result<(), DiskError>| match done {
        Err(DiskError::Guarded {
            disk: SYSTEM,
            reason,
        }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(disks.partition(SYSTEM, rig.soon())), Guarded::Boot);
    assert_eq!(
        refused(disks.set_offline(SYSTEM, rig.soon())),
        Guarded::Boot
    );
    disks.set_online(SYSTEM, rig.soon()).unwrap();
    let volume = rig
        .volumes()
        .closest(&crate::support::path(r"C:\Windows"), rig.soon())
        .unwrap();
    let guarded = |done: Result<(), VolumeError>| match done {
        Err(VolumeError::Disk(DiskError::Guarded {
            disk: SYSTEM,
            reason,
        })) => reason,
        other => panic!("{other:?}"),
    };
    let volumes = rig.volumes();
    assert_eq!(
        guarded(volumes.format(volume, rig.soon()).map(drop)),
        Guarded::Boot
    );
    let grow = wincsi_node::NewSize::Maximum;
    assert_eq!(
        guarded(volumes.resize(volume, grow, rig.soon()).map(drop)),
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
        let rig = Rig::with_mounted_volume_on(&spec);
        let refused = rig.disks().set_offline(rig.disk(), rig.soon());
        let reason = expected;
        let disk = rig.disk();
        assert_eq!(refused, Err(DiskError::Guarded { disk, reason }));
    }
}

#[test]
fn a_disk_that_nobody_knows_is_not_found() {
    let rig = Rig::with_data_disk();
    let disks = rig.disks();
    let text = "failed to query disk 77. error: not found";
    let nobody = DiskNumber(77);
    for error in [
        disks.partition(nobody, rig.soon()).unwrap_err(),
        disks.set_online(nobody, rig.soon()).unwrap_err(),
        disks.set_offline(nobody, rig.soon()).unwrap_err(),
        disks.is_online(nobody, rig.soon()).unwrap_err(),
        disks.size(nobody, rig.soon()).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), text);
    }
    let volumes = rig.volumes().list_on_disk(nobody, None, rig.soon());
    assert_eq!(volumes.unwrap_err().to_string(), text);
}

/// The provider learns of a disk by a rescan, and of its size by a refresh.
#[test]
fn a_disk_shows_after_a_rescan() {
    let rig = Rig::new();
    let spec = DiskSpec::on(Bus::Sas)
        .serial(DATA)
        .lun(7)
        .identified(IdentifierKind::Vendor, "disk-7");
    rig.sim
        .hardware()
        .attach_disk(DATA, &spec, &Content::blank(GIB))
        .unwrap();
    let disks = rig.disks();
    assert_eq!(disks.ids(rig.soon()).unwrap().len(), 1);
    disks.rescan(rig.soon()).unwrap();
    let ids = &disks.ids(rig.soon()).unwrap()[&rig.disk()];
    assert_eq!((ids.serial.as_str(), ids.page83.as_str()), (DATA, "disk-7"));
    let location = &disks.locations(rig.soon()).unwrap()[&rig.disk()];
    assert_eq!(location.lun.as_deref(), Some("7"));
    assert_eq!(disks.by_page83("disk-7", rig.soon()), Ok(rig.disk()));
    assert_eq!(disks.size(rig.disk(), rig.soon()), Ok(GIB));
    rig.sim.hardware().grow_disk(DATA, 2 * GIB).unwrap();
    disks.rescan(rig.soon()).unwrap();
    assert_eq!(disks.size(rig.disk(), rig.soon()), Ok(2 * GIB));
}

#[test]
fn an_identifier_that_several_disks_have_names_none() {
    let rig = Rig::new();
    for name in ["one", "two"] {
        let spec = DiskSpec::on(Bus::Sas)
            .serial(name)
            .identified(IdentifierKind::Vendor, "twin");
        rig.plug(&spec, name, GIB);
    }
    let disks = rig.disks();
    let found = disks.by_page83("twin", rig.soon()).unwrap_err();
    assert!(matches!(found, DiskError::SeveralPage83 { disks, .. } if disks.len() == 2));
    let error = disks.by_page83("nobody", rig.soon()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not find disk with Page83 ID nobody: not found"
    );
}

#[test]
fn one_dead_disk_does_not_hide_the_others() {
    let rig = Rig::with_data_disk();
    let disk = rig.disk();
    rig.sim.faults().add(
        Rule::on(
            "IOCTL_STORAGE_QUERY_PROPERTY",
            Effect::fail(Win32::IO_DEVICE),
        )
        .object("*0"),
    );
    let ids = rig.disks().ids(rig.soon()).unwrap();
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
        let rig = Rig::with_data_disk();
        let disk = rig.disk();
        let rule = Rule::on("IOCTL_STORAGE_QUERY_PROPERTY", Effect::fail(code));
        rig.sim.faults().add(rule.object(&format!("*{disk}")));
        let ids = rig.disks().ids(rig.soon()).unwrap();
        let page83 = ids.get(&disk).map(|ids| ids.page83.as_str());
        assert_eq!(page83, Some(""), "{code:?}");
    }
}

/// csi-proxy gives the search up at the first disk that does not answer.
#[test]
fn a_disk_that_does_not_say_its_identifier_does_not_end_the_search() {
    let rig = Rig::new();
    for name in ["dead", "alive"] {
        let spec = DiskSpec::on(Bus::Sas)
            .serial(name)
            .identified(IdentifierKind::Vendor, name);
        rig.plug(&spec, name, GIB);
    }
    let (dead, alive) = (rig.disk_of("dead"), rig.disk_of("alive"));
    assert!(dead < alive);
    let query = Rule::on(
        "IOCTL_STORAGE_QUERY_PROPERTY",
        Effect::fail(Win32::IO_DEVICE),
    );
    rig.sim.faults().add(query.object(&format!("*{dead}")));
    let disks = rig.disks();
    assert_eq!(disks.by_page83("alive", rig.soon()), Ok(alive));
    let missing = disks.by_page83("dead", rig.soon());
    assert!(
        matches!(missing, Err(DiskError::NoSuchPage83 { .. })),
        "{missing:?}"
    );
}

/// The identifier is compared exactly, and that of a disk without one is not the empty text.
#[test]
fn an_identifier_that_is_almost_that_of_a_disk_finds_none() {
    let rig = Rig::new();
    let spec = DiskSpec::on(Bus::Sas)
        .serial("named")
        .identified(IdentifierKind::Vendor, "Name");
    rig.plug(&spec, "named", GIB);
    rig.plug(&DiskSpec::on(Bus::Sas).serial("nameless"), "nameless", GIB);
    let disks = rig.disks();
    assert_eq!(
        disks.by_page83("Name", rig.soon()),
        Ok(rig.disk_of("named"))
    );
    for almost in ["name", "Nam", "Name ", ""] {
        let error = disks.by_page83(almost, rig.soon()).unwrap_err();
        let text = format!("could not find disk with Page83 ID {almost}: not found");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn a_cloned_disk_comes_online_and_writable() {
    let rig = Rig::new();
    rig.plug(
        &DiskSpec::on(Bus::Sas)
            .serial(DATA)
            .arriving(Arrives::Offline),
        DATA,
        GIB,
    );
    let disks = rig.disks();
    let attributes = || rig.os().disks.attributes(rig.disk()).unwrap();
    assert!(attributes().offline && attributes().read_only);
    assert_eq!(disks.is_online(rig.disk(), rig.soon()), Ok(false));
    disks.set_online(rig.disk(), rig.soon()).unwrap();
    assert!(!attributes().offline && !attributes().read_only);
    assert_eq!(disks.is_online(rig.disk(), rig.soon()), Ok(true));
    disks.set_offline(rig.disk(), rig.soon()).unwrap();
    assert!(attributes().offline);
}

#[test]
fn an_offline_disk_gets_no_partition_and_says_so() {
    let rig = Rig::with_data_disk();
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    let failing = rig
        .sim
        .faults()
        .add(Rule::on(&create, Effect::fail(Win32::GEN_FAILURE)));
    rig.disks().partition(rig.disk(), rig.soon()).unwrap_err();
    rig.sim.faults().remove(failing);
    rig.disks().set_offline(rig.disk(), rig.soon()).unwrap();
    let error = rig.disks().partition(rig.disk(), rig.soon()).unwrap_err();
    let text = format!(
        "WMI MSFT_Disk.CreatePartition failed (target=disk {}): code=41003: the disk is offline",
        rig.disk()
    );
    assert!(error.to_string().starts_with(&text), "{error}");
}

/// Two calls for one disk: the second waits, then finds the partition.
#[test]
fn two_calls_for_one_disk_make_one_partition() {
    let rig = Rig::with_data_disk();
    let calls: Vec<_> = (0..2)
        .map(|_| {
            let (node, disk, soon) = (rig.node.clone(), rig.disk(), rig.soon());
            thread::spawn(move || node.operations().disks().partition(disk, soon))
        })
        .collect();
    for call in calls {
        call.join().unwrap().unwrap();
    }
    let layout = rig.os().disks.layout(rig.disk()).unwrap();
    assert_eq!(
        layout.partitions.len(),
        2,
        "the reserved one and one of ours"
    );
}

/// The caller goes at its deadline; the disk stays locked until Windows is done.
#[test]
fn a_lock_outlives_the_deadline_of_its_call() {
    let rig = Rig::with_data_disk();
    let disk = rig.disk();
    let create = format!("*{}", disk::CREATE_PARTITION.name);
    let hang = rig.sim.faults().add(Rule::on(&create, Effect::Hang));
    let (answered, answer) = mpsc::channel();
    let (node, soon) = (rig.node.clone(), rig.soon());
    thread::spawn(move || {
        let done = node.bounded("partition disk", soon, move |node| {
            node.operations().disks().partition(disk, Deadline::NEVER)
        });
        answered.send(done).unwrap();
    });
    let patience = Duration::from_secs(60);
    assert!(rig.sim.faults().wait_until_hanging(1, patience));
    rig.os().clock.sleep(Duration::from_secs(7200));
    let gone = answer.recv_timeout(patience).unwrap();
    assert!(
        matches!(
            gone,
            Err(DiskError::Unfinished(Unfinished::Deadline { .. }))
        ),
        "{gone:?}"
    );
    let later = Deadline::within(&*rig.os().clock, Duration::from_secs(1));
    let node = rig.node.clone();
    let waiting = thread::spawn(move || node.operations().disks().set_offline(disk, later));
    rig.os().clock.sleep(Duration::from_secs(2));
    let refused = waiting.join().unwrap();
    assert!(
        matches!(refused, Err(DiskError::Unfinished(_))),
        "{refused:?}"
    );
    rig.sim.faults().remove(hang);
    rig.disks().partition(disk, rig.soon()).unwrap();
    assert_eq!(rig.os().disks.layout(disk).unwrap().partitions.len(), 2);
}

/// Kernel and provider never come to agree: nothing is written on either's word.
#[test]
fn a_disk_of_two_minds_is_left_alone() {
    let rig = Rig::with_volume();
    rig.sim.faults().add(Rule::on(
        &format!("*{}", disk::REFRESH.name),
        Effect::Fail(Cause::Win32(Win32::GEN_FAILURE)),
    ));
    for offset in [0, 4 * GIB - (1 << 20)] {
        rig.sim
            .hardware()
            .write_disk(DATA, offset, &[0; 1 << 20])
            .unwrap();
    }
    rig.os().disks.update_properties(rig.disk()).unwrap();
    let refused = rig.disks().partition(rig.disk(), rig.soon());
    assert!(
        matches!(refused, Err(DiskError::ViewsDiffer { .. })),
        "{refused:?}"
    );
}

/// The provider still has the number for a disk that came back with another, and would write there.
#[test]
fn a_disk_whose_number_went_to_another_is_not_written_in_its_place() {
    let rig = Rig::new();
    let spec = |serial: &str| DiskSpec::on(Bus::Sas).serial(serial);
    let hardware = rig.sim.hardware();
    rig.plug(&spec(DATA), DATA, GIB);
    let number = rig.disk();
    let ext4 = formats::fixtures::all()
        .into_iter()
        .find(|fixture| fixture.name.contains("ext4"))
        .unwrap();
    hardware.detach_disk(DATA).unwrap();
    rig.os().disks.list().unwrap();
    hardware
        .attach_disk("blank", &spec("blank").lun(2), &Content::blank(GIB))
        .unwrap();
    assert_eq!(rig.disk_of("blank"), number, "the number is reused");
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
    let rescan = Rule::on("*UpdateHostStorageCache", Effect::fail(Win32::GEN_FAILURE));
    let stuck = rig.sim.faults().add(rescan);
    rig.disks().partition(number, rig.soon()).unwrap_err();
    assert!(before == head(), "the filesystem survives");
    rig.sim.faults().remove(stuck);
    rig.disks().partition(number, rig.soon()).unwrap();
    assert!(before == head(), "the filesystem survives");
    let blank = rig.os().disks.layout(number).unwrap();
    assert_eq!(blank.partitions.len(), 2, "the kernel's disk was meant");
}
