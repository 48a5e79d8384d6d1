//! From paths to volumes, and the texts that drivers match on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind, Win32};
use wincsi_node::{TargetError, VolumeError};

use crate::support::{DATA, NodeFixture, path};

/// The texts that aws-ebs-csi-driver reads as "nothing is mounted there", by its pattern `(Get-Item
/// -Path \S+).Target, output: , error: <nil>` and the other text.
fn reads_as_nothing_mounted(text: &str) -> bool {
    let plain = text.split("Get-Item -Path ").skip(1).any(|rest| {
        let target = rest.split_once("Target, output: , error: <nil>");
        target.is_some_and(|(path, _)| path.len() > 1 && !path.contains(char::is_whitespace))
    });
    plain || text.contains("because it does not exist")
}

fn of_target(fixture: &NodeFixture, at: &str) -> Result<os::VolumeId, TargetError> {
    match fixture.volumes().of_target(&path(at), fixture.soon()) {
        Ok(volume) => Ok(volume),
        Err(VolumeError::Target(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

/// Guards: P50
#[test]
fn a_path_leads_to_its_volume_by_links_and_junctions() {
    let fixture = NodeFixture::with_mounted_volume();
    let link = |at: &str, target: &str| {
        fixture.symlink(at, target);
    };
    link(r"C:\var\pod", &fixture.staging().to_string());
    link(r"C:\var\twice", r"C:\var\pod");
    link(r"C:\var\near", r"pod");
    link(r"C:\var\direct", &fixture.volume().to_string());
    fixture.junction(r"C:\var\junction", &fixture.staging().to_string());
    for at in [
        r"C:\var\pod",
        r"C:\var\twice",
        r"C:\var\near",
        r"C:\var\direct",
        r"C:\var\junction",
    ] {
        assert_eq!(of_target(&fixture, at), Ok(fixture.volume()), "{at}");
    }
    assert_eq!(
        of_target(&fixture, &fixture.staging().to_string()),
        Ok(fixture.volume())
    );
}

/// Each text stands for one condition: aws-ebs reads it as "nothing mounted" and detaches.
#[test]
fn nothing_mounted_is_said_of_a_plain_directory_and_a_missing_path_alone() {
    let fixture = NodeFixture::with_mounted_volume();
    let plain = of_target(&fixture, r"C:\var").unwrap_err();
    assert!(matches!(plain, TargetError::PlainDirectory { .. }));
    assert!(plain.to_string().contains("not a mounted folder"));
    assert!(reads_as_nothing_mounted(&plain.to_string()), "{plain}");
    for missing in [r"C:\var\none", r"C:\var\none\below"] {
        let missing = of_target(&fixture, missing).unwrap_err();
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
    let fixture = NodeFixture::with_mounted_volume();
    let link = |at: &str, target: &str| {
        fixture.symlink(at, target);
    };
    link(r"C:\var\dangling", r"C:\nowhere");
    link(r"C:\var\plain", r"C:\Windows");
    link(r"C:\var\one", r"C:\var\other");
    link(r"C:\var\other", r"C:\var\one");
    fixture.write(r"C:\var\file", "");
    for (at, name) in [
        (r"C:\var\dangling", "Dangling"),
        (r"C:\var\dangling\below", "OutOfReach"),
        (r"C:\var\plain", "NotAMountedFolder"),
        (r"C:\var\one", "TooManyLinks"),
        (r"C:\var\file", "NotAMountedFolder"),
        (r"C:\var\file\below", "OutOfReach"),
        (r"Q:\var", "OutOfReach"),
    ] {
        let error = of_target(&fixture, at).unwrap_err();
        assert!(format!("{error:?}").starts_with(name), "{at}: {error:?}");
        assert!(
            !reads_as_nothing_mounted(&error.to_string()),
            "{at}: {error}"
        );
    }
}

#[test]
fn what_cannot_be_reached_does_not_read_as_nothing_mounted() {
    let fixture = NodeFixture::with_mounted_volume();
    let staging = fixture.staging().to_string();
    for operation in [
        "GetFileAttributesExW",
        "FSCTL_GET_REPARSE_POINT",
        "GetVolumeNameFor*",
    ] {
        for code in [Win32::ACCESS_DENIED, Win32::TIMEOUT] {
            let fault = fixture.fail(operation, code);
            let error = of_target(&fixture, &staging).unwrap_err();
            assert!(
                !reads_as_nothing_mounted(&error.to_string()),
                "{operation}: {error}"
            );
            fixture.faults().remove(fault);
        }
    }
    fixture.hardware().detach_disk(DATA).unwrap();
    for at in [staging.clone(), format!(r"{staging}\below")] {
        let error = of_target(&fixture, &at).unwrap_err();
        assert!(matches!(error, TargetError::OutOfReach { .. }), "{error:?}");
        assert!(
            !reads_as_nothing_mounted(&error.to_string()),
            "{at}: {error}"
        );
    }
    let late = os::Deadline(fixture.os().clock.now());
    let error = fixture
        .volumes()
        .of_target(&fixture.staging(), late)
        .unwrap_err();
    assert!(!reads_as_nothing_mounted(&error.to_string()), "{error}");
}

#[test]
fn every_entry_is_on_the_closest_volume() {
    let fixture = NodeFixture::with_mounted_volume();
    let staging = fixture.staging();
    let closest = |at: &str| fixture.volumes().closest(&path(at), fixture.soon());
    let system = closest(r"C:\").unwrap();
    assert_ne!(system, fixture.volume());
    assert_eq!(closest(r"C:\Windows\System32"), Ok(system));
    assert_eq!(closest(&staging.to_string()), Ok(fixture.volume()));
    assert_eq!(
        closest(&format!(r"{staging}\data.txt")),
        Ok(fixture.volume())
    );
    let files = fixture.files();
    files
        .create_symlink(
            &path(r"C:\var\pod"),
            &staging.to_string(),
            LinkKind::Directory,
        )
        .unwrap();
    assert_eq!(closest(r"C:\var\pod\data.txt"), Ok(fixture.volume()));
    assert_eq!(closest(&fixture.volume().to_string()), Ok(fixture.volume()));
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
