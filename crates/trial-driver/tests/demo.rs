//! The driver without csi-proxy, and its last lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use wincsi::sim::{ClockMode, Profile, demo};

struct Played {
    succeeded: bool,
    output: String,
    complaint: String,
}

fn play(node: &Path, more: &[String]) -> Played {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trial"));
    command
        .args(["demo", "driver", "--in-process"])
        .arg("--node")
        .arg(node);
    command.args(more);
    let ended = command.output().expect("the program starts");
    Played {
        succeeded: ended.status.success(),
        output: String::from_utf8_lossy(&ended.stdout).into_owned(),
        complaint: String::from_utf8_lossy(&ended.stderr).into_owned(),
    }
}

#[test]
fn a_whole_life_is_played_without_a_server_and_sums_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let played = play(&folder.path().join("node"), &[]);
    assert!(played.succeeded, "{}{}", played.output, played.complaint);
    assert!(played.output.starts_with("SIMULATED NODE in "));
    for call in [
        "disks.partition",
        "volumes.format",
        "volumes.mount",
        "smb.map",
        "volumes.unmount",
    ] {
        let is_its_line = |line: &&str| line.split_whitespace().nth(2) == Some(call);
        let lines = played.output.lines().filter(is_its_line).count();
        assert_eq!(lines, 1, "{call}: {}", played.output);
    }
    let verdict = played.output.lines().last();
    assert_eq!(
        verdict,
        Some("SUCCEEDED: every call did what a driver needs")
    );
}

/// The place of the driver's disk distinguishes the machines: Azure's has another disk with its
/// LUN.
#[test]
fn a_whole_life_is_played_on_each_profile() {
    for (profile, found) in [
        (
            Profile::AzureScsi,
            "disk 2, bus 0, adapter 1, port 0, target 0, LUN 1, ",
        ),
        (Profile::Ebs, "serial number vol0123456789abcdef0_00000001."),
        (Profile::HyperV, "disk 1, bus 0, adapter 2, "),
        (Profile::Vsphere, "disk 1, page 0x83 6000c29"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let flag = format!("--profile={profile}");
        let played = play(&folder.path().join("node"), &[flag]);
        assert!(played.succeeded, "{}{}", played.output, played.complaint);
        let mut lines = played.output.lines();
        let line = lines
            .find(|line| line.contains("disks.find"))
            .unwrap_or_default();
        assert!(line.contains(found), "{profile}: {line}");
    }
}

#[test]
fn a_life_that_breaks_off_says_where_and_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = folder.path().join("node");
    drop(demo::create(&node, ClockMode::Real).expect("nothing is there yet"));
    fs::remove_file(demo::disk_image(&node)).expect("the data disk's image");
    let played = play(&node, &[]);
    assert!(!played.succeeded, "{}", played.output);
    let verdict = played.output.lines().last();
    let wanted = "FAILED at: disks.find; what follows it was not played";
    assert_eq!(verdict, Some(wanted), "{}", played.complaint);
    assert!(
        played.complaint.starts_with("failed: "),
        "{}",
        played.complaint
    );
}
