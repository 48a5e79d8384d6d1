//! The volume that holds an entry, by whatever links its path goes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::{Files, LinkKind, VolumeId, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::{TargetError, VolumeError};

use crate::support::{DATA, Rig, path};

fn closest(rig: &Rig, at: &str) -> Result<VolumeId, TargetError> {
    match rig.volumes().closest(&path(at), rig.soon()) {
        Ok(volume) => Ok(volume),
        Err(VolumeError::Target(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

fn link(rig: &Rig, at: &str, target: &str) {
    let kind = LinkKind::Directory;
    let files = rig.sim.files();
    files.create_symlink(&path(at), target, kind).unwrap();
}

/// csi-proxy refuses links that are no mount points, or looks for a volume in the wrong place.
#[test]
fn links_that_are_no_mounted_folders_are_followed_to_the_end() {
    let rig = Rig::with_mounted_volume();
    let staging = rig.staging();
    let deep = staging.join(os::Component::parse("deep").unwrap());
    rig.filesystem().make_directory(&deep, rig.soon()).unwrap();
    link(&rig, r"C:\var\absolute", &deep.to_string());
    link(
        &rig,
        r"C:\var\relative",
        r"lib\kubelet\plugins\globalmount\deep",
    );
    link(&rig, r"C:\var\rooted", r"\var\absolute");
    rig.junction(r"C:\var\junction", &deep.to_string());
    for at in ["absolute", "relative", "rooted", "junction"] {
        assert_eq!(closest(&rig, &format!(r"C:\var\{at}")), Ok(rig.volume()));
    }
    link(&rig, &format!(r"{deep}\out"), r"C:\Windows");
    let system = closest(&rig, r"c:\").unwrap();
    assert_eq!(closest(&rig, &format!(r"{deep}\out")), Ok(system));
    assert_eq!(
        closest(&rig, r"c:\WINDOWS"),
        Ok(system),
        "letters have no case"
    );
}

#[test]
fn links_without_an_end_are_given_up() {
    let rig = Rig::with_mounted_volume();
    link(&rig, r"C:\var\one", r"C:\var\other");
    link(&rig, r"C:\var\other", r"C:\var\one");
    let trace = rig.trace(|| {
        let endless = closest(&rig, r"C:\var\one");
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
    let rig = Rig::with_mounted_volume();
    link(&rig, r"C:\var\share", r"\\server\share\");
    for at in [r"\\server\share", r"C:\var\share"] {
        let nowhere = closest(&rig, at);
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
#[test]
fn what_cannot_be_read_is_an_error_and_not_the_volume_above() {
    let rig = Rig::with_mounted_volume();
    let staging = rig.staging().to_string();
    link(&rig, r"C:\var\dangling", r"C:\nowhere\x");
    let dangling = closest(&rig, r"C:\var\dangling");
    assert!(
        matches!(dangling, Err(TargetError::Dangling { .. })),
        "{dangling:?}"
    );
    for operation in ["GetFileAttributesExW", "FSCTL_GET_REPARSE_POINT"] {
        let denied = Rule::on(operation, Effect::fail(Win32::ACCESS_DENIED));
        let denied = rig.sim.faults().add(denied);
        let error = closest(&rig, &staging);
        assert!(
            matches!(error, Err(TargetError::OutOfReach { .. })),
            "{operation}: {error:?}"
        );
        rig.sim.faults().remove(denied);
    }
    rig.sim.hardware().detach_disk(DATA).unwrap();
    let gone = closest(&rig, &format!(r"{staging}\data.txt"));
    assert!(
        matches!(gone, Err(TargetError::OutOfReach { .. })),
        "{gone:?}"
    );
}
