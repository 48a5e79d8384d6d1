//! From paths to volumes, and the texts that drivers match on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::{TargetError, VolumeError};

use crate::support::{DATA, Rig, path};

/// What aws-ebs-csi-driver takes for "nothing is mounted there", as its pattern
/// `(Get-Item -Path \S+).Target, output: , error: <nil>` and the other text say.
fn reads_as_nothing_mounted(text: &str) -> bool {
    let plain = text.split("Get-Item -Path ").skip(1).any(|rest| {
        let target = rest.split_once("Target, output: , error: <nil>");
        target.is_some_and(|(path, _)| path.len() > 1 && !path.contains(char::is_whitespace))
    });
    plain || text.contains("because it does not exist")
}

fn of_target(rig: &Rig, at: &str) -> Result<os::VolumeId, TargetError> {
    match rig.volumes().of_target(&path(at), rig.soon()) {
        Ok(volume) => Ok(volume),
        Err(VolumeError::Target(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_path_leads_to_its_volume_by_links_and_junctions() {
    let rig = Rig::with_mounted_volume();
    let link = |at: &str, target: &str| {
        rig.sim
            .files()
            .create_symlink(&path(at), target, LinkKind::Directory)
            .unwrap();
    };
    link(r"C:\var\pod", &rig.staging().to_string());
    link(r"C:\var\twice", r"C:\var\pod");
    link(r"C:\var\near", r"pod");
    link(r"C:\var\direct", &rig.volume().to_string());
    rig.junction(r"C:\var\junction", &rig.staging().to_string());
    for at in [
        r"C:\var\pod",
        r"C:\var\twice",
        r"C:\var\near",
        r"C:\var\direct",
        r"C:\var\junction",
    ] {
        assert_eq!(of_target(&rig, at), Ok(rig.volume()), "{at}");
    }
    assert_eq!(
        of_target(&rig, &rig.staging().to_string()),
        Ok(rig.volume())
    );
}

/// Each text stands for one condition: aws-ebs reads it as "nothing mounted" and detaches.
#[test]
fn nothing_mounted_is_said_of_a_plain_directory_and_a_missing_path_alone() {
    let rig = Rig::with_mounted_volume();
    let plain = of_target(&rig, r"C:\var").unwrap_err();
    assert!(matches!(plain, TargetError::PlainDirectory { .. }));
    assert!(plain.to_string().contains("not a mounted folder"));
    assert!(reads_as_nothing_mounted(&plain.to_string()), "{plain}");
    for missing in [r"C:\var\none", r"C:\var\none\below"] {
        let missing = of_target(&rig, missing).unwrap_err();
        assert!(
            matches!(missing, TargetError::Missing { .. }),
            "{missing:?}"
        );
        assert!(
            missing
                .to_string()
                .contains("The system cannot find the file specified.")
        );
        assert!(reads_as_nothing_mounted(&missing.to_string()), "{missing}");
    }
}

#[test]
fn nothing_else_reads_as_nothing_mounted() {
    let rig = Rig::with_mounted_volume();
    let link = |at: &str, target: &str| {
        rig.sim
            .files()
            .create_symlink(&path(at), target, LinkKind::Directory)
            .unwrap();
    };
    link(r"C:\var\dangling", r"C:\nowhere");
    link(r"C:\var\plain", r"C:\Windows");
    link(r"C:\var\one", r"C:\var\other");
    link(r"C:\var\other", r"C:\var\one");
    rig.write(r"C:\var\file", "");
    for (at, name) in [
        (r"C:\var\dangling", "Dangling"),
        (r"C:\var\dangling\below", "OutOfReach"),
        (r"C:\var\plain", "NotAMountedFolder"),
        (r"C:\var\one", "TooManyLinks"),
        (r"C:\var\file", "NotAMountedFolder"),
        (r"C:\var\file\below", "OutOfReach"),
        (r"Q:\var", "OutOfReach"),
    ] {
        let error = of_target(&rig, at).unwrap_err();
        assert!(format!("{error:?}").starts_with(name), "{at}: {error:?}");
        assert!(
            !reads_as_nothing_mounted(&error.to_string()),
            "{at}: {error}"
        );
    }
}

#[test]
fn what_cannot_be_reached_does_not_read_as_nothing_mounted() {
    let rig = Rig::with_mounted_volume();
    let staging = rig.staging().to_string();
    for operation in [
        "GetFileAttributesExW",
        "FSCTL_GET_REPARSE_POINT",
        "GetVolumeNameFor*",
    ] {
        for code in [Win32::ACCESS_DENIED, Win32::TIMEOUT] {
            let fault = rig
                .sim
                .faults()
                .add(Rule::on(operation, Effect::fail(code)));
            let error = of_target(&rig, &staging).unwrap_err();
            assert!(
                !reads_as_nothing_mounted(&error.to_string()),
                "{operation}: {error}"
            );
            rig.sim.faults().remove(fault);
        }
    }
    rig.sim.hardware().detach_disk(DATA).unwrap();
    for at in [staging.clone(), format!(r"{staging}\below")] {
        let error = of_target(&rig, &at).unwrap_err();
        assert!(matches!(error, TargetError::OutOfReach { .. }), "{error:?}");
        assert!(
            !reads_as_nothing_mounted(&error.to_string()),
            "{at}: {error}"
        );
    }
    let late = os::Deadline(rig.os().clock.now());
    let error = rig.volumes().of_target(&rig.staging(), late).unwrap_err();
    assert!(!reads_as_nothing_mounted(&error.to_string()), "{error}");
}

#[test]
fn every_entry_is_on_the_closest_volume() {
    let rig = Rig::with_mounted_volume();
    let staging = rig.staging();
    let closest = |at: &str| rig.volumes().closest(&path(at), rig.soon());
    let system = closest(r"C:\").unwrap();
    assert_ne!(system, rig.volume());
    assert_eq!(closest(r"C:\Windows\System32"), Ok(system));
    assert_eq!(closest(&staging.to_string()), Ok(rig.volume()));
    assert_eq!(closest(&format!(r"{staging}\data.txt")), Ok(rig.volume()));
    let files = rig.sim.files();
    files
        .create_symlink(
            &path(r"C:\var\pod"),
            &staging.to_string(),
            LinkKind::Directory,
        )
        .unwrap();
    assert_eq!(closest(r"C:\var\pod\data.txt"), Ok(rig.volume()));
    assert_eq!(closest(&rig.volume().to_string()), Ok(rig.volume()));
    let missing = closest(r"C:\var\none").unwrap_err();
    assert!(matches!(
        missing,
        VolumeError::Target(TargetError::Missing { .. })
    ));
    let share = closest(r"\\server\share").unwrap_err();
    assert!(
        matches!(share, VolumeError::Target(TargetError::NoVolume { .. })),
        "{share:?}"
    );
}
