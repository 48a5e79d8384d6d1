//! The volume that holds an entry, by whatever links its path goes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind, VolumeId, Win32};
use wincsi_node::{TargetError, VolumeError};

use crate::support::{DATA, NodeFixture, path};

fn closest(fixture: &NodeFixture, at: &str) -> Result<VolumeId, TargetError> {
    match fixture.volumes().closest(&path(at), fixture.soon()) {
        Ok(volume) => Ok(volume),
        Err(VolumeError::Target(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

fn link(fixture: &NodeFixture, at: &str, target: &str) {
    let kind = LinkKind::Directory;
    let files = fixture.files();
    files.create_symlink(&path(at), target, kind).unwrap();
}

/// csi-proxy refuses links that are no mount points, or looks for a volume in the wrong place.
#[test]
fn links_that_are_no_mounted_folders_are_followed_to_the_end() {
    let fixture = NodeFixture::with_mounted_volume();
    let staging = fixture.staging();
    let deep = staging.join(os::Component::parse("deep").unwrap());
    fixture
        .filesystem()
        .make_directory(&deep, fixture.soon())
        .unwrap();
    link(&fixture, r"C:\var\absolute", &deep.to_string());
    link(
        &fixture,
        r"C:\var\relative",
        r"lib\kubelet\plugins\globalmount\deep",
    );
    link(&fixture, r"C:\var\rooted", r"\var\absolute");
    fixture.junction(r"C:\var\junction", &deep.to_string());
    for at in ["absolute", "relative", "rooted", "junction"] {
        assert_eq!(
            closest(&fixture, &format!(r"C:\var\{at}")),
            Ok(fixture.volume())
        );
    }
    link(&fixture, &format!(r"{deep}\out"), r"C:\Windows");
    let system = closest(&fixture, r"c:\").unwrap();
    assert_eq!(closest(&fixture, &format!(r"{deep}\out")), Ok(system));
    assert_eq!(
        closest(&fixture, r"c:\WINDOWS"),
        Ok(system),
        "letters have no case"
    );
}

#[test]
fn links_without_an_end_are_given_up() {
    let fixture = NodeFixture::with_mounted_volume();
    link(&fixture, r"C:\var\one", r"C:\var\other");
    link(&fixture, r"C:\var\other", r"C:\var\one");
    let trace = fixture.trace(|| {
        let endless = closest(&fixture, r"C:\var\one");
        assert!(
            matches!(endless, Err(TargetError::TooManyLinks { .. })),
            "{endless:?}"
        );
    });
    assert!(trace.len() <= 3 * 256, "{}", trace.len());
}

/// csi-proxy takes the first character of any root for a drive's letter.
#[test]
fn what_is_on_no_volume_of_the_node_is_said_to_be() {
    let fixture = NodeFixture::with_mounted_volume();
    link(&fixture, r"C:\var\share", r"\\server\share\");
    for at in [r"\\server\share", r"C:\var\share"] {
        let nowhere = closest(&fixture, at);
        assert!(
            matches!(
                nowhere,
                Err(TargetError::NoVolume { .. } | TargetError::OutOfReach { .. })
            ),
            "{at}: {nowhere:?}"
        );
    }
}

/// csi-proxy swallows what it could not read, and goes on with an empty path.
/// Guards: P41
#[test]
fn what_cannot_be_read_is_an_error_and_not_the_volume_above() {
    let fixture = NodeFixture::with_mounted_volume();
    let staging = fixture.staging().to_string();
    link(&fixture, r"C:\var\dangling", r"C:\nowhere\x");
    let dangling = closest(&fixture, r"C:\var\dangling");
    assert!(
        matches!(dangling, Err(TargetError::Dangling { .. })),
        "{dangling:?}"
    );
    for operation in ["GetFileAttributesExW", "FSCTL_GET_REPARSE_POINT"] {
        let denied = fixture.fail(operation, Win32::ACCESS_DENIED);
        let error = closest(&fixture, &staging);
        assert!(
            matches!(error, Err(TargetError::OutOfReach { .. })),
            "{operation}: {error:?}"
        );
        fixture.faults().remove(denied);
    }
    fixture.hardware().detach_disk(DATA).unwrap();
    let gone = closest(&fixture, &format!(r"{staging}\data.txt"));
    assert!(
        matches!(gone, Err(TargetError::OutOfReach { .. })),
        "{gone:?}"
    );
}
