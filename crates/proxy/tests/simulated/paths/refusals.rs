//! Each rule has its text: a part of the wire contract.

use super::fixture::{CALLS, Hands, KUBELET, PathCall, ServerFixture};

/// Texts that drivers find in errors, and read as an answer.
pub(crate) const LOOKED_FOR: [&str; 11] = [
    "because it does not exist",
    "Target, output: ",
    "not an absolute Windows path",
    "ResourceExists",
    "No MSFT_SmbGlobalMapping objects found",
    "The system cannot find the file specified",
    "The requested access path is already in use",
    "The access path is not valid",
    "The target has already been logged in via an iSCSI session",
    "ObjectNotFound",
    "The size of the extent is less than the minimum of 1MB",
];

#[test]
fn csi_proxys_rules_are_told_in_its_order_and_words_by_every_call_that_has_them() {
    let fixture = ServerFixture::new();
    let long = format!(r"\{KUBELET}\{}", "x".repeat(260));
    let too_long = format!("path length {} exceeds maximum characters: 260", long.len());
    let outside = r"path: C:\outside\x is not within the working directories: [C:\var\lib\kubelet]";
    let cases: [(&str, &str); 8] = [
        (&long, &too_long),
        (
            r"\\host\share\a..b",
            r"invalid character \ at beginning of path: \\host\share\a..b",
        ),
        ("a..b", "path contains invalid characters: a..b"),
        ("C:/var", "path contains invalid characters: C:/var"),
        (r"C:\a*b", r"path contains invalid characters: C:\a*b"),
        ("var", "not an absolute Windows path: var"),
        (r"C:var", r"not an absolute Windows path: C:var"),
        (r"C:\outside\x", outside),
    ];
    for call in CALLS.into_iter().filter(|call| call.has_rules()) {
        for (path, text) in cases {
            assert_eq!(fixture.call(call, path), Err(text.to_owned()), "{call:?}");
        }
    }
}

#[test]
fn an_empty_path_is_told_by_each_group_in_its_words() {
    let fixture = ServerFixture::new();
    let error_of = |call| fixture.call(call, "").unwrap_err();
    assert_eq!(
        error_of(PathCall::PathExists),
        "not an absolute Windows path: "
    );
    assert_eq!(
        error_of(PathCall::IsSymlink),
        "not an absolute Windows path: "
    );
    assert_eq!(error_of(PathCall::Unmount), "target path empty");
    assert_eq!(error_of(PathCall::VolumeOf), "target path is empty");
    let mount = "MountVolumeRequest.TargetPath is empty";
    assert_eq!(error_of(PathCall::Mount), mount);
}

/// Guards: P48
#[test]
fn changes_that_csi_proxy_never_checked_are_confined_in_the_same_words() {
    let fixture = ServerFixture::new();
    let text = r"path: C:\outside\x is not within the working directories: [C:\var\lib\kubelet]";
    for call in [PathCall::Mount, PathCall::Unmount] {
        assert_eq!(fixture.call(call, r"C:\outside\x"), Err(text.to_owned()));
    }
}

#[test]
fn a_refused_link_is_told_as_one_and_reads_as_nothing_that_drivers_look_for() {
    let fixture = ServerFixture::new();
    fixture.directory(r"C:\outside\because it does not exist");
    let link = format!(r"{KUBELET}\link");
    fixture.symlink(&link, r"C:\outside\because it does not exist");
    let below = format!(r"{link}\x");
    let text =
        format!("path: {below} is refused: the link {link} leads out of the working directories");
    for call in PathCall::confined() {
        assert_eq!(fixture.call(call, &below), Err(text.clone()), "{call:?}");
    }
    for looked_for in LOOKED_FOR {
        assert!(!text.contains(looked_for));
    }
}

/// A process that writes in a folder names its entries, and makes links there.
/// Guards: P20
#[test]
fn a_link_behind_another_is_named_in_no_text() {
    let fixture = ServerFixture::new();
    let planted = format!(r"{KUBELET}\because it does not exist");
    fixture.directory(&planted);
    fixture.directory(r"C:\outside");
    fixture.symlink(&format!(r"{KUBELET}\hop"), &planted);
    fixture.symlink(&format!(r"{planted}\out"), r"C:\outside");
    fixture.symlink(&format!(r"{planted}\nowhere"), r"C:\a.\b");
    fixture.lookalike(&format!(r"{planted}\volume"), fixture.system_volume());
    for name in ["out", "nowhere", "volume"] {
        let below = format!(r"{KUBELET}\hop\{name}\x");
        for call in CALLS {
            let text = fixture.call(call, &below).expect_err(name);
            assert!(!text.contains("because"), "{call:?}: {text}");
            assert!(text.contains(&below), "{call:?}: {text}");
        }
    }
}

/// Guards: P20
#[test]
fn what_a_link_says_is_in_no_text() {
    let fixture = ServerFixture::new();
    for (name, target) in [
        ("file", r"C:\var\lib\kubelet\because it does not exist"),
        ("share", r"\\because it does not exist\share"),
        ("drive", r"Q:\because it does not exist"),
        ("dot", r"C:\var\lib\kubelet\because it does not exist."),
    ] {
        let link = format!(r"{KUBELET}\{name}");
        fixture.symlink(&link, target);
        for path in [link.clone(), format!(r"{link}\x")] {
            for call in [
                PathCall::IsSymlink,
                PathCall::VolumeOf,
                PathCall::PathExists,
                PathCall::Mkdir,
            ] {
                if let Err(text) = fixture.call(call, &path) {
                    assert!(!text.contains("because it"), "{call:?} {path}: {text}");
                }
            }
        }
    }
}

/// Each text stands for one condition: aws-ebs reads it as "nothing is mounted" and detaches.
/// Guards: P23
#[test]
fn nothing_is_mounted_is_said_of_a_missing_path_and_a_plain_directory_alone() {
    let fixture = ServerFixture::new();
    let at = |name: &str| format!(r"{KUBELET}\{name}");
    fixture.directory(&at("plain"));
    fixture.symlink(&at("dangling"), &at("nowhere"));
    fixture.symlink(&at("loop"), &at("loop"));
    fixture.symlink(&at("to-plain"), &at("plain"));
    fixture.symlink(&at("out"), r"C:\Windows");
    fixture.symlink(&at("share"), r"\\evil\share");
    fixture.unknown_reparse_point(&at("stranger"));
    fixture.mount(&at("mounted"), fixture.volume);
    fixture.symlink(&at(r"mounted\out"), r"C:\Windows");
    let missing = fixture.volume_of(&at("none")).unwrap_err();
    assert!(missing.contains("because it does not exist"), "{missing}");
    let plain = fixture.volume_of(&at("plain")).unwrap_err();
    assert!(plain.contains("Target, output: , error: <nil>"), "{plain}");
    let others = [
        "dangling",
        r"dangling\x",
        "loop",
        r"loop\x",
        "to-plain",
        r"to-plain\none",
        "out",
        r"out\x",
        "share",
        r"share\x",
        "stranger",
        r"stranger\x",
        r"mounted\out",
        r"mounted\out\x",
    ];
    for other in others {
        let text = fixture.volume_of(&at(other)).unwrap_err();
        let reads = LOOKED_FOR.iter().find(|known| text.contains(*known));
        assert_eq!(reads, None, "{other}: {text}");
    }
    fixture.hardware().detach_disk("data").unwrap();
    for gone in ["mounted", r"mounted\x"] {
        let text = fixture.volume_of(&at(gone)).unwrap_err();
        assert!(!text.contains("because it"), "{gone}: {text}");
        assert!(!text.contains("Target, output"), "{gone}: {text}");
    }
}
