//! The effects of a fault on an operation.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use os::{Arguments, Cause, Deadline, DiskNumber, Outcome, Query, Target, Win32};
use wincsi_os_sim::{Bus, ClockMode, DiskSpec, Effect, Kill, Rule, SimNode};

use crate::support::node_fixture::{NodeFixture, path};

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn the_nth_matching_operation_is_hit_and_so_often() {
    let fixture = NodeFixture::new();
    let rule = Rule::on("FlushFileBuffers", Effect::fail(Win32::IO_DEVICE))
        .object("*Volume{*")
        .from_nth(2)
        .times(1);
    fixture.fault(rule);
    let outcomes: Vec<_> = (0..3)
        .map(|_| fixture.os.volumes.flush(fixture.efi).is_ok())
        .collect();
    assert_eq!(outcomes, [true, false, true]);
}

#[test]
fn a_method_can_answer_in_place_of_its_effect_or_after_it() {
    let fixture = NodeFixture::new();
    let out_of_date = Outcome {
        extended: Some("out of date".to_owned()),
        ..Outcome::of(40003)
    };
    for effect in [
        Effect::Answer(out_of_date.clone()),
        Effect::AnswerAfter(out_of_date.clone()),
    ] {
        let rule = fixture.fault(Rule::on("MSFT_Disk.Refresh", effect));
        assert_eq!(fixture.refresh(Deadline::NEVER), Ok(out_of_date.clone()));
        fixture.faults().remove(rule);
    }
    let rule = Rule::on("FlushFileBuffers", Effect::Answer(out_of_date));
    fixture.fault(rule);
    let error = fixture.os.volumes.flush(fixture.efi).unwrap_err();
    assert!(matches!(error.cause, Cause::Malformed(_)), "{error}");
}

#[test]
fn a_failure_comes_before_the_effect_or_after_it() {
    let fixture = NodeFixture::new();
    let faults = fixture.faults();
    let lost: Cause = Win32::IO_DEVICE.into();
    for (effect, is_there) in [
        (Effect::Fail(lost.clone()), false),
        (Effect::FailAfter(lost), true),
    ] {
        let rule = faults.add(Rule::on("CreateDirectoryW", effect));
        assert!(fixture.os.files.create_directory(&path("x")).is_err());
        faults.remove(rule);
        assert_eq!(fixture.os.files.entry(&path("x")).is_ok(), is_there);
    }
}

#[test]
fn a_delay_takes_time_and_a_delay_beyond_the_deadline_ends_there() {
    let fixture = NodeFixture::new();
    let faults = fixture.faults();
    let rule = faults.add(Rule::on("*", Effect::Delay(Duration::from_millis(700))));
    let before = fixture.os.clock.now();
    fixture.os.volumes.flush(fixture.efi).unwrap();
    assert_eq!(
        before.until(fixture.os.clock.now()),
        Duration::from_millis(700)
    );
    faults.remove(rule);

    let rule = Rule::on("MSFT_Disk.Refresh", Effect::Delay(Duration::from_secs(60)));
    faults.add(rule);
    let before = fixture.os.clock.now();
    let error = fixture.refresh(fixture.in_a_second()).unwrap_err();
    assert_eq!(error.cause, Cause::TimedOut);
    assert_eq!(before.until(fixture.os.clock.now()), Duration::from_secs(1));
}

#[test]
fn an_overrun_takes_effect_all_the_same() {
    let fixture = NodeFixture::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    fixture.attach("data1", &spec, 1 << 30);
    fixture.fault(Rule::on("*.UpdateHostStorageCache", Effect::Overrun));
    let target = Target::Class("MSFT_StorageSetting");
    let method = "UpdateHostStorageCache";
    let none = Arguments::none();
    let done = fixture
        .os
        .storage
        .invoke(target, method, &none, fixture.in_a_second());
    assert_eq!(done.unwrap_err().cause, Cause::TimedOut);
    let query = Query::all("MSFT_Disk", &["Number"]);
    assert_eq!(
        fixture
            .os
            .storage
            .query(&query, Deadline::NEVER)
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_deadline_that_has_passed_lets_nothing_begin() {
    let fixture = NodeFixture::new();
    let deadline = fixture.in_a_second();
    fixture.let_pass(Duration::from_secs(2));
    assert_eq!(
        fixture.refresh(deadline).unwrap_err().cause,
        Cause::TimedOut
    );
}

#[test]
fn what_hangs_goes_on_when_it_is_released_and_holds_up_nobody_else() {
    let fixture = NodeFixture::new();
    let faults = fixture.faults();
    let rule = faults.add(Rule::on("FlushFileBuffers", Effect::Hang));
    let (sender, receiver) = mpsc::channel();
    let (os, volume) = (fixture.os.clone(), fixture.efi);
    let hanging = thread::spawn(move || sender.send(os.volumes.flush(volume)));
    fixture.wait_for_hang(1);
    assert!(receiver.try_recv().is_err());
    fixture.os.disks.list().unwrap();
    faults.remove(rule);
    assert_eq!(receiver.recv_timeout(TIMEOUT), Ok(Ok(())));
    hanging.join().unwrap().unwrap();
}

#[test]
fn what_hangs_in_a_process_that_is_killed_fails() {
    let fixture = NodeFixture::new();
    fixture.hang("CreateDirectoryW");
    let os = fixture.os.clone();
    let hanging = thread::spawn(move || os.files.create_directory(&path("x")));
    fixture.wait_for_hang(1);
    fixture.kill();
    assert!(hanging.join().unwrap().is_err());
    let again = SimNode::open(&fixture.folder(), ClockMode::Virtual).unwrap();
    assert!(again.os().files.entry(&path("x")).is_err());
}

#[test]
fn a_kill_comes_before_the_effect_or_after_it_and_is_for_good() {
    for (kill, is_there) in [(Kill::Before, false), (Kill::After, true)] {
        let fixture = NodeFixture::new();
        let rule = Rule::on("CreateDirectoryW", Effect::Kill(kill));
        fixture.fault(rule);
        assert!(fixture.os.files.create_directory(&path("x")).is_err());
        assert!(fixture.is_killed());
        assert!(fixture.os.disks.list().is_err());
        let again = SimNode::open(&fixture.folder(), ClockMode::Virtual).unwrap();
        assert_eq!(
            again.os().files.entry(&path("x")).is_ok(),
            is_there,
            "{kill:?}"
        );
    }
}

#[test]
fn a_disk_can_go_just_before_it_is_asked() {
    let fixture = NodeFixture::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    fixture.attach("data1", &spec, 1 << 30);
    let disk = DiskNumber(1);
    assert_eq!(fixture.os.disks.length(disk), Ok(1 << 30));
    let gone = Effect::DetachDisk("data1".to_owned());
    fixture.fault(Rule::on("IOCTL_DISK_GET_LENGTH_INFO", gone).times(1));
    assert!(fixture.os.disks.length(disk).unwrap_err().is_not_found());
}

#[test]
fn a_script_is_followed_whenever_it_changes() {
    let fixture = NodeFixture::new();
    let script = fixture.folder().join("faults.toml");
    let write = |code: u32| {
        let text = format!(
            "[[fault]]\noperation = \"Flush*\"\neffect = {{ fail = {{ win32 = {code} }} }}"
        );
        std::fs::write(&script, text).unwrap();
    };
    let flush = || {
        fixture
            .os
            .volumes
            .flush(fixture.efi)
            .map_err(|error| error.win32())
    };
    assert_eq!(flush(), Ok(()));
    write(1117);
    assert_eq!(flush(), Err(Some(Win32::IO_DEVICE)));
    write(21);
    assert_eq!(flush(), Err(Some(Win32::NOT_READY)));
    std::fs::write(&script, "[[fault]]\nefect = 1").unwrap();
    assert_eq!(flush(), Err(Some(Win32::NOT_READY)));
    std::fs::remove_file(&script).unwrap();
    assert_eq!(flush(), Ok(()));
}

#[test]
fn a_script_can_have_a_disk_disappear() {
    let fixture = NodeFixture::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    fixture.attach("data1", &spec, 1 << 30);
    assert_eq!(fixture.os.disks.length(DiskNumber(1)), Ok(1 << 30));
    let script = r#"
        [[fault]]
        operation = "IOCTL_DISK_GET_LENGTH_INFO"
        from-nth = 2
        times = 1
        effect = { detach-disk = "data1" }
    "#;
    std::fs::write(fixture.folder().join("faults.toml"), script).unwrap();
    assert_eq!(fixture.os.disks.length(DiskNumber(1)), Ok(1 << 30));
    let gone = fixture.os.disks.length(DiskNumber(1)).unwrap_err();
    assert!(gone.is_not_found(), "{gone}");
    assert_eq!(fixture.os.disks.list(), Ok(vec![DiskNumber(0)]));
}

#[test]
fn a_hang_ends_when_its_script_goes() {
    let fixture = NodeFixture::new();
    let script = fixture.folder().join("faults.toml");
    let text = "[[fault]]\noperation = \"Flush*\"\neffect = \"hang\"";
    std::fs::write(&script, text).unwrap();
    thread::scope(|scope| {
        let flush = scope.spawn(|| fixture.os.volumes.flush(fixture.efi));
        let faults = fixture.faults();
        assert!(faults.wait_until_hanging(1, Duration::from_secs(30)));
        std::fs::remove_file(&script).unwrap();
        assert_eq!(flush.join().unwrap(), Ok(()));
    });
}
