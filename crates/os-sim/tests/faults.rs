//! What a fault can do to an operation.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use os::{Arguments, Cause, Deadline, DiskNumber, Outcome, Query, Target, Win32};
use wincsi_os_sim::{Bus, ClockMode, Content, DiskSpec, Effect, Kill, Rule, SimNode};

use self::support::scene::{Scene, path};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn the_nth_matching_operation_is_hit_and_so_often() {
    let scene = Scene::new();
    let rule = Rule::on("FlushFileBuffers", Effect::fail(Win32::IO_DEVICE))
        .object("*Volume{*")
        .from_nth(2)
        .times(1);
    scene.node.faults().add(rule);
    let outcomes: Vec<_> = (0..3)
        .map(|_| scene.os.volumes.flush(scene.efi).is_ok())
        .collect();
    assert_eq!(outcomes, [true, false, true]);
}

#[test]
fn a_method_can_answer_in_place_of_its_effect_or_after_it() {
    let scene = Scene::new();
    let out_of_date = Outcome {
        extended: Some("out of date".to_owned()),
        ..Outcome::of(40003)
    };
    for effect in [
        Effect::Answer(out_of_date.clone()),
        Effect::AnswerAfter(out_of_date.clone()),
    ] {
        let rule = scene
            .node
            .faults()
            .add(Rule::on("MSFT_Disk.Refresh", effect));
        assert_eq!(scene.refresh(Deadline::NEVER), Ok(out_of_date.clone()));
        scene.node.faults().remove(rule);
    }
    let rule = Rule::on("FlushFileBuffers", Effect::Answer(out_of_date));
    scene.node.faults().add(rule);
    let error = scene.os.volumes.flush(scene.efi).unwrap_err();
    assert!(matches!(error.cause, Cause::Malformed(_)), "{error}");
}

#[test]
fn a_failure_comes_before_the_effect_or_after_it() {
    let scene = Scene::new();
    let faults = scene.node.faults();
    let lost: Cause = Win32::IO_DEVICE.into();
    for (effect, is_there) in [
        (Effect::Fail(lost.clone()), false),
        (Effect::FailAfter(lost), true),
    ] {
        let rule = faults.add(Rule::on("CreateDirectoryW", effect));
        assert!(scene.os.files.create_directory(&path("x")).is_err());
        faults.remove(rule);
        assert_eq!(scene.os.files.entry(&path("x")).is_ok(), is_there);
    }
}

#[test]
fn a_delay_takes_time_and_a_delay_beyond_the_deadline_ends_there() {
    let scene = Scene::new();
    let faults = scene.node.faults();
    let rule = faults.add(Rule::on("*", Effect::Delay(Duration::from_millis(700))));
    let before = scene.os.clock.now();
    scene.os.volumes.flush(scene.efi).unwrap();
    assert_eq!(
        before.until(scene.os.clock.now()),
        Duration::from_millis(700)
    );
    faults.remove(rule);

    let rule = Rule::on("MSFT_Disk.Refresh", Effect::Delay(Duration::from_secs(60)));
    faults.add(rule);
    let before = scene.os.clock.now();
    let error = scene.refresh(scene.in_a_second()).unwrap_err();
    assert_eq!(error.cause, Cause::TimedOut);
    assert_eq!(before.until(scene.os.clock.now()), Duration::from_secs(1));
}

#[test]
fn an_overrun_takes_effect_all_the_same() {
    let scene = Scene::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    let hardware = scene.node.hardware();
    hardware
        .attach_disk("data1", &spec, &Content::blank(1 << 30))
        .unwrap();
    scene
        .node
        .faults()
        .add(Rule::on("*.UpdateHostStorageCache", Effect::Overrun));
    let target = Target::Class("MSFT_StorageSetting");
    let method = "UpdateHostStorageCache";
    let none = Arguments::none();
    let done = scene
        .os
        .storage
        .invoke(target, method, &none, scene.in_a_second());
    assert_eq!(done.unwrap_err().cause, Cause::TimedOut);
    let query = Query::all("MSFT_Disk", &["Number"]);
    assert_eq!(
        scene
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
    let scene = Scene::new();
    let deadline = scene.in_a_second();
    scene.os.clock.sleep(Duration::from_secs(2));
    assert_eq!(scene.refresh(deadline).unwrap_err().cause, Cause::TimedOut);
}

#[test]
fn what_hangs_goes_on_when_it_is_released_and_holds_up_nobody_else() {
    let scene = Scene::new();
    let faults = scene.node.faults();
    let rule = faults.add(Rule::on("FlushFileBuffers", Effect::Hang));
    let (sender, receiver) = mpsc::channel();
    let (os, volume) = (scene.os.clone(), scene.efi);
    let hanging = thread::spawn(move || sender.send(os.volumes.flush(volume)));
    assert!(faults.wait_until_hanging(1, PATIENCE));
    assert!(receiver.try_recv().is_err());
    scene.os.disks.list().unwrap();
    faults.remove(rule);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Ok(())));
    hanging.join().unwrap().unwrap();
}

#[test]
fn what_hangs_in_a_process_that_is_killed_fails() {
    let scene = Scene::new();
    scene
        .node
        .faults()
        .add(Rule::on("CreateDirectoryW", Effect::Hang));
    let os = scene.os.clone();
    let hanging = thread::spawn(move || os.files.create_directory(&path("x")));
    assert!(scene.node.faults().wait_until_hanging(1, PATIENCE));
    scene.node.kill();
    assert!(hanging.join().unwrap().is_err());
    let again = SimNode::open(scene.folder.path(), ClockMode::Virtual).unwrap();
    assert!(again.os().files.entry(&path("x")).is_err());
}

#[test]
fn a_kill_comes_before_the_effect_or_after_it_and_is_for_good() {
    for (kill, is_there) in [(Kill::Before, false), (Kill::After, true)] {
        let scene = Scene::new();
        let rule = Rule::on("CreateDirectoryW", Effect::Kill(kill));
        scene.node.faults().add(rule);
        assert!(scene.os.files.create_directory(&path("x")).is_err());
        assert!(scene.node.is_killed());
        assert!(scene.os.disks.list().is_err());
        let again = SimNode::open(scene.folder.path(), ClockMode::Virtual).unwrap();
        assert_eq!(
            again.os().files.entry(&path("x")).is_ok(),
            is_there,
            "{kill:?}"
        );
    }
}

#[test]
fn a_disk_can_go_just_before_it_is_asked() {
    let scene = Scene::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    let hardware = scene.node.hardware();
    hardware
        .attach_disk("data1", &spec, &Content::blank(1 << 30))
        .unwrap();
    let disk = DiskNumber(1);
    assert_eq!(scene.os.disks.length(disk), Ok(1 << 30));
    let gone = Effect::DetachDisk("data1".to_owned());
    scene
        .node
        .faults()
        .add(Rule::on("IOCTL_DISK_GET_LENGTH_INFO", gone).times(1));
    assert!(scene.os.disks.length(disk).unwrap_err().is_not_found());
}

#[test]
fn a_script_is_followed_whenever_it_changes() {
    let scene = Scene::new();
    let script = scene.folder.path().join("faults.toml");
    let write = |code: u32| {
        let text = format!(
            "[[fault]]\noperation = \"Flush*\"\neffect = {{ fail = {{ win32 = {code} }} }}"
        );
        std::fs::write(&script, text).unwrap();
    };
    let flush = || {
        scene
            .os
            .volumes
            .flush(scene.efi)
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
    let scene = Scene::new();
    let spec = DiskSpec::on(Bus::Sas).lun(1);
    let content = Content::blank(1 << 30);
    let hardware = scene.node.hardware();
    hardware.attach_disk("data1", &spec, &content).unwrap();
    assert_eq!(scene.os.disks.length(DiskNumber(1)), Ok(1 << 30));
    let script = r#"
        [[fault]]
        operation = "IOCTL_DISK_GET_LENGTH_INFO"
        from-nth = 2
        times = 1
        effect = { detach-disk = "data1" }
    "#;
    std::fs::write(scene.folder.path().join("faults.toml"), script).unwrap();
    assert_eq!(scene.os.disks.length(DiskNumber(1)), Ok(1 << 30));
    let gone = scene.os.disks.length(DiskNumber(1)).unwrap_err();
    assert!(gone.is_not_found(), "{gone}");
    assert_eq!(scene.os.disks.list(), Ok(vec![DiskNumber(0)]));
}

#[test]
fn a_hang_ends_when_its_script_goes() {
    let scene = Scene::new();
    let script = scene.folder.path().join("faults.toml");
    let text = "[[fault]]\noperation = \"Flush*\"\neffect = \"hang\"";
    std::fs::write(&script, text).unwrap();
    thread::scope(|scope| {
        let flush = scope.spawn(|| scene.os.volumes.flush(scene.efi));
        let faults = scene.node.faults();
        assert!(faults.wait_until_hanging(1, Duration::from_secs(30)));
        std::fs::remove_file(&script).unwrap();
        assert_eq!(flush.join().unwrap(), Ok(()));
    });
}
