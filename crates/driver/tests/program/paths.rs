//! Paths that a driver must not take for others.

use transport::Code;

use crate::driver::Driver;
use crate::kubelet::{STAGING, TARGET, Volume};

/// What is no path of the node, whatever it is wanted for.
const REFUSED: [&str; 34] = [
    "",
    "relative",
    r"relative\path",
    ".",
    "C:",
    "C:foo",
    r"C:\",
    "/",
    r"\",
    r"\\?\C:\",
    r"C:\a\..\b",
    r"C:\var\lib\kubelet\..\..\..\Windows",
    "C:/var/../Windows",
    r"C:\a\.\b",
    r"\\.\C:\a",
    r"\\.\PhysicalDrive0",
    r"\\?\GLOBALROOT\Device\HarddiskVolume1\a",
    r"\\?\PhysicalDrive0",
    r"\??\C:\a",
    r"\\server\share",
    r"\\server\share\a",
    r"\\?\UNC\server\share\a",
    r"\\?\Volume{6a5cbf4c-0bd5-4d1a-8c6b-64a0ef0f4b9e}\a",
    r"C:\a:b",
    r"C:\a\b:$DATA",
    r"C:\CON",
    r"C:\a\NUL.txt",
    r"C:\a\com1",
    r"C:\a\trailing.",
    r"C:\a\trailing ",
    r"C:\a\q?",
    "C:\\a\nb",
    "C:\\a\0b",
    "1:\\a",
];

#[test]
fn what_is_no_path_is_refused_in_each_call_and_touches_nothing() {
    let driver = Driver::start();
    let good = Volume::new("good");
    good.stage(&driver).unwrap();
    good.publish(&driver).unwrap();
    let (before, records) = (driver.entries(), driver.records());
    for text in REFUSED {
        refused_at_staging(&driver, text);
        refused_at_target(&driver, &good, text);
    }
    assert_eq!(driver.entries(), before);
    assert_eq!(driver.records(), records);
    good.stats(&driver).unwrap();
}

fn refused_at_staging(driver: &Driver, text: &str) {
    let volume = Volume {
        staging: text.to_owned(),
        ..Volume::new("bad")
    };
    let expected = match text {
        // The specification asks for it: a staging path that a publish lacks is of a volume that is not staged.
        "" => Code::FailedPrecondition,
        _ => Code::InvalidArgument,
    };
    for (call, done, expected) in [
        ("stage", volume.stage(driver), Code::InvalidArgument),
        ("publish", volume.publish(driver), expected),
        ("unstage", volume.unstage(driver), Code::InvalidArgument),
    ] {
        let status = done.expect_err(text);
        assert_eq!(status.code, expected, "{call} {text:?}: {status}");
    }
}

fn refused_at_target(driver: &Driver, good: &Volume, text: &str) {
    let volume = Volume {
        target: text.to_owned(),
        ..good.clone()
    };
    for (call, done) in [
        ("publish", volume.publish(driver)),
        ("unpublish", volume.unpublish(driver)),
    ] {
        let status = done.expect_err(text);
        assert_eq!(
            status.code,
            Code::InvalidArgument,
            "{call} {text:?}: {status}"
        );
    }
    // The volume is there, and none of these is its path.
    let is_missing = text.is_empty();
    let status = volume.stats(driver).expect_err(text);
    let expected = match is_missing {
        true => Code::InvalidArgument,
        false => Code::NotFound,
    };
    assert_eq!(status.code, expected, "stats {text:?}: {status}");
    let status = volume.expand(driver, 0).expect_err(text);
    let expected = match is_missing {
        true => Code::InvalidArgument,
        false => Code::Unavailable,
    };
    assert_eq!(status.code, expected, "expand {text:?}: {status}");
}

/// What looks like another path and is none: names, and nothing else.
#[test]
fn look_alikes_are_names_as_they_are_written() {
    let driver = Driver::start();
    let before = driver.entries();
    for name in [
        "a\u{2215}b",
        "a\u{ff0f}b",
        "a\u{ff3c}b",
        "\u{2024}\u{2024}",
        "\u{202e}txt",
        "CO\u{ff2e}",
        "$(x)",
        "%TEMP%",
        "~1",
    ] {
        let volume = Volume {
            target: format!(r"C:\var\lib\kubelet\pods\{name}\mount"),
            ..Volume::new("vol")
        };
        volume.stage(&driver).unwrap();
        volume.publish(&driver).unwrap();
        let entries = driver.entries();
        let is_there = entries.difference(&before).any(|path| {
            let parent = path.parent().and_then(|parent| parent.file_name());
            path.ends_with("mount") && parent.is_some_and(|parent| parent == name)
        });
        assert!(is_there, "{name}: {entries:?}");
        volume.stats(&driver).unwrap();
        volume.unpublish(&driver).unwrap();
    }
}

/// Kubelet writes its paths with either separator, and without a drive where its folder is configured so.
#[test]
fn the_forms_of_a_path_are_one_path() {
    let driver = Driver::start();
    let forms: [fn(&str) -> String; 4] = [
        forward,
        rooted,
        |path| forward(&rooted(path)),
        |path| format!(r"\\?\{path}"),
    ];
    let volume = Volume::new("vol");
    volume.stage(&driver).unwrap();
    volume.publish(&driver).unwrap();
    for form in forms {
        let same = Volume {
            handle: volume.handle.clone(),
            staging: form(STAGING),
            target: form(TARGET),
        };
        same.stage(&driver).unwrap();
        same.publish(&driver).unwrap();
        same.stats(&driver).unwrap();
        same.expand(&driver, 0).unwrap();
    }
    volume.unpublish(&driver).unwrap();
    volume.unstage(&driver).unwrap();
}

fn forward(path: &str) -> String {
    path.replace('\\', "/")
}

fn rooted(path: &str) -> String {
    path.replacen("C:", "", 1)
}

#[test]
fn a_path_that_is_too_long_fails_and_leaves_nothing() {
    let driver = Driver::start();
    let before = driver.entries();
    let long = format!(r"C:\{}", "a".repeat(40_000));
    let deep = format!(r"C:{}", r"\name".repeat(8_000));
    for staging in [long, deep] {
        let volume = Volume {
            staging,
            ..Volume::new("vol")
        };
        let status = volume.stage(&driver).unwrap_err();
        assert_eq!(
            status.code,
            Code::InvalidArgument,
            "{:.200}",
            status.to_string()
        );
    }
    assert_eq!(driver.entries(), before);
    assert_eq!(driver.records(), []);
    assert!(driver.is_disk_blank());
}
