//! Volume handles, which are texts of others: each is itself, and its record has a plain name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use transport::Code;

use crate::driver::Driver;
use crate::kubelet::Volume;

const LONGEST: usize = 1024;

fn handles() -> Vec<String> {
    let texts = [
        "vol-a",
        "VOL-A",
        "vol-a ",
        " vol-a",
        "vol-a.",
        "vol-ä",
        "vol-a\u{308}",
        "\u{202e}vol",
        "line\nbreak",
        "nul\0nul",
        "../../../../Windows/System32",
        r"..\..\..\..\Windows\System32",
        r"C:\Windows",
        "CON",
        "vol:stream",
        "server.example.com/share#pvc-1#default",
        "server.example.com/share#pvc-1##default",
        "${jndi:x}",
    ];
    let mut handles: Vec<_> = texts.map(str::to_owned).into();
    handles.push("x".repeat(LONGEST));
    handles
}

#[test]
fn each_handle_is_a_volume_of_its_own() {
    let driver = Driver::start();
    let before = driver.entries();
    let handles = handles();
    let staging = |number| {
        format!(r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\wincsi.io\{number}\globalmount")
    };
    let volumes = handles.iter().enumerate().map(|(number, handle)| Volume {
        staging: staging(number),
        ..Volume::new(handle)
    });
    let volumes: Vec<_> = volumes.collect();
    for volume in &volumes {
        let staged = volume.stage(&driver);
        staged.unwrap_or_else(|status| panic!("{:.40?}: {status}", volume.handle));
    }
    check_records(&driver, &handles);
    let after = driver.entries();
    // The other is where the library makes links before it moves them to their place.
    let is_kubelets = |path: &&PathBuf| {
        path.iter()
            .any(|name| name == "var" || name == "$WinCSI.Staging")
    };
    let (made, outside): (Vec<_>, Vec<_>) = after.difference(&before).partition(is_kubelets);
    assert!(!made.is_empty() && outside.is_empty(), "{outside:?}");
    for volume in &volumes {
        volume.unstage(&driver).unwrap();
    }
    assert_eq!(driver.records(), []);
}

/// A record for each, under a name that nothing takes for another, and with the handle in it.
fn check_records(driver: &Driver, handles: &[String]) {
    let records = driver.records();
    assert_eq!(records.len(), handles.len());
    let folded: BTreeSet<_> = records
        .iter()
        .map(|(name, _)| name.to_lowercase())
        .collect();
    assert_eq!(folded.len(), handles.len());
    for (name, _) in &records {
        let stem = name.strip_suffix(".json").unwrap();
        let is_plain = |c: char| c.is_ascii_hexdigit() || c == '-';
        assert!(stem.len() == 36 && stem.chars().all(is_plain), "{name}");
    }
}

#[test]
fn no_handle_and_a_too_long_one_are_refused_in_each_call() {
    let driver = Driver::start();
    for handle in ["", &"x".repeat(LONGEST + 1)] {
        refuse_in_each_call(&driver, &Volume::new(handle));
    }
    assert_eq!(driver.records(), []);
}

fn refuse_in_each_call(driver: &Driver, volume: &Volume) {
    for (call, done) in [
        ("stage", volume.stage(driver)),
        ("publish", volume.publish(driver)),
        ("stats", volume.stats(driver).map(drop)),
        ("expand", volume.expand(driver, 0).map(drop)),
        ("unpublish", volume.unpublish(driver)),
        ("unstage", volume.unstage(driver)),
    ] {
        let status = done.unwrap_err();
        assert_eq!(status.code, Code::InvalidArgument, "{call}: {status}");
    }
}
