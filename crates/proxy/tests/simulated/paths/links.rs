//! Links on the path: symbolic links, junctions, mounted folders and their lookalikes.

use os::Files;
use wincsi_proxy::paths::Confinement;

use super::fixture::{Hands, KUBELET, NodeFixture, PathCall, ServerFixture, path};

fn at(name: &str) -> String {
    format!(r"{KUBELET}\{name}")
}

/// Guards: P50
#[test]
fn links_that_stay_inside_are_followed_in_every_position() {
    let fixture = ServerFixture::new();
    fixture.directory(&at(r"real\deep"));
    fixture.symlink(&at("symlink"), &at("real"));
    fixture.junction(&at("junction"), &at("real"));
    fixture.symlink(&at("relative"), "real");
    fixture.symlink(&at("rooted"), r"\var\lib\kubelet\real");
    fixture.symlink(&at("up"), r"..\kubelet\real");
    fixture.symlink(&at("chain"), &at("junction"));
    fixture.symlink(&at(r"real\self"), r"..\real");
    for (index, way) in [
        "symlink",
        "junction",
        "relative",
        "rooted",
        "up",
        "chain",
        r"symlink\self",
        r"chain\self\self\self",
    ]
    .into_iter()
    .enumerate()
    {
        let made = at(&format!(r"{way}\deep\made{index}"));
        assert_eq!(fixture.call(PathCall::Mkdir, &made), Ok(()), "{way}");
        let real = at(&format!(r"real\deep\made{index}"));
        assert!(fixture.has(&real), "{way}");
        assert_eq!(fixture.exists(&made), Ok(true), "{way}");
        assert_eq!(fixture.call(PathCall::RmdirForce, &made), Ok(()), "{way}");
        assert!(!fixture.has(&real), "{way}");
    }
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
}

/// Guards: P50
#[test]
fn what_lies_on_a_mounted_volume_is_inside_and_its_links_are_checked_again() {
    let fixture = ServerFixture::new();
    fixture.directory(r"C:\outside\x");
    fixture.file(r"C:\outside\x\file");
    fixture.mount(&at("mounted"), fixture.volume);
    assert_eq!(fixture.call(PathCall::Mkdir, &at(r"mounted\a\b")), Ok(()));
    assert!(fixture.has(&format!(r"{}a\b", fixture.volume)));
    assert_eq!(
        fixture.call(PathCall::RmdirForce, &at(r"mounted\a")),
        Ok(())
    );
    assert!(!fixture.has(&format!("{}a", fixture.volume)));
    fixture.directory(&at(r"mounted\here"));
    for (name, target) in [
        ("out", r"C:\Windows"),
        ("share", r"\\evil\share"),
        ("volume", fixture.system_volume().to_string().as_str()),
    ] {
        fixture.symlink(&at(&format!(r"mounted\{name}")), target);
    }
    fixture.lookalike(&at(r"mounted\lookalike"), fixture.system_volume());
    fixture.junction(&at(r"mounted\junction"), r"C:\outside");
    fixture.symlink(&at(r"mounted\near"), "here");
    fixture.symlink(&at(r"mounted\back"), &at("plain"));
    fixture.directory(&at("plain"));
    let before = fixture.outside();
    for name in ["out", "share", "volume", "lookalike", "junction"] {
        for call in PathCall::confined() {
            let path = at(&format!(r"mounted\{name}\x"));
            assert!(fixture.call(call, &path).is_err(), "{call:?} {path}");
        }
    }
    for name in ["near", "back"] {
        let path = at(&format!(r"mounted\{name}\made"));
        assert_eq!(fixture.call(PathCall::Mkdir, &path), Ok(()), "{name}");
    }
    assert!(fixture.has(&at(r"plain\made")));
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
    assert_eq!(fixture.outside(), before);
}

/// A process that can write in a folder can make a reparse point that names any volume.
/// Guards: P50
#[test]
fn a_link_to_a_volume_not_mounted_inside_is_refused() {
    let fixture = ServerFixture::new();
    let other_volume = fixture.another_volume();
    let there = format!("{other_volume}precious");
    fixture.directory(&there);
    fixture.lookalike(&at("lookalike"), other_volume);
    fixture.symlink(&at("symlink"), &other_volume.to_string());
    let refused = |path: &str| fixture.call(PathCall::RmdirForce, &at(path)).unwrap_err();
    for link in ["lookalike", "symlink"] {
        let text = refused(&format!(r"{link}\precious"));
        assert!(
            text.contains("is not mounted inside the working directories"),
            "{text}"
        );
    }
    fixture.mount(r"C:\elsewhere", other_volume);
    refused(r"lookalike\precious");
    fixture
        .sim
        .os()
        .volumes
        .delete_mount_point(&path(r"C:\elsewhere"))
        .unwrap();
    assert!(fixture.has(&there));
    fixture.mount(&at("mounted"), other_volume);
    assert_eq!(
        fixture.call(PathCall::RmdirForce, &at(r"lookalike\precious")),
        Ok(())
    );
    assert!(
        !fixture.has(&there),
        "it is mounted inside, so any link inside may lead there"
    );
}

#[test]
fn a_volume_within_a_volume_is_inside() {
    let fixture = ServerFixture::new();
    let inner = fixture.another_volume();
    fixture.mount(&at("outer"), fixture.volume);
    fixture.mount(&at(r"outer\inner"), inner);
    assert_eq!(
        fixture.call(PathCall::Mkdir, &at(r"outer\inner\made")),
        Ok(())
    );
    assert!(fixture.has(&format!("{inner}made")));
    assert_eq!(
        fixture.volume_of(&at(r"outer\inner")),
        Ok(inner.to_string())
    );
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
}

/// csi-driver-smb's staging: the call is about the link, and no packet leaves the node for it.
/// Guards: P52
#[test]
fn staging_by_a_link_to_a_share_works_and_the_share_is_not_looked_at() {
    let fixture = ServerFixture::new();
    let (staging, target) = (at(r"plugins\globalmount"), at(r"pods\mount"));
    fixture.directory(&at("plugins"));
    fixture.directory(&at("pods"));
    assert_eq!(fixture.call(PathCall::MapShareAt, &staging), Ok(()));
    assert_eq!(fixture.exists(&staging), Ok(true));
    let _ = fixture.take_trace();
    assert_eq!(fixture.is_link(&staging), Ok(true));
    assert_eq!(fixture.link(&staging, &target), Ok(()));
    assert_eq!(fixture.is_link(&target), Ok(true));
    let seen = fixture.take_trace();
    let packets = seen.iter().filter(|op| op.object.contains("fileserver"));
    assert_eq!(packets.count(), 0, "{seen:?}");
    let link = fixture.files().entry(&path(&target)).unwrap();
    assert!(
        link.is_directory(),
        "the link to the link is one to a directory"
    );
    assert_eq!(fixture.call(PathCall::RmdirForce, &target), Ok(()));
    assert_eq!(fixture.call(PathCall::RmdirForce, &staging), Ok(()));
    assert!(!fixture.has(&staging));
}

/// csi-driver-smb opens a reported link, and fails its NodeStageVolume for one that leads nowhere; if no link is
/// reported, the same call stages again.
/// Guards: P52
#[test]
fn a_link_to_a_share_that_is_not_mapped_is_none_and_the_share_is_not_looked_at() {
    for confinement in [Confinement::WorkingDirs, Confinement::Anywhere] {
        let fixture = NodeFixture::new().confined_by(confinement).serve();
        let staging = at(r"plugins\globalmount");
        fixture.directory(&at("plugins"));
        assert_eq!(fixture.call(PathCall::MapShareAt, &staging), Ok(()));
        assert_eq!(fixture.is_link(&staging), Ok(true));
        assert_eq!(fixture.unmap_share(), Ok(()));
        let _ = fixture.take_trace();
        assert_eq!(fixture.is_link(&staging), Ok(false));
        let seen = fixture.take_trace();
        let packets = seen.iter().filter(|op| op.object.contains("fileserver"));
        assert_eq!(packets.count(), 0, "{seen:?}");
        assert_eq!(fixture.call(PathCall::MapShareAt, &staging), Ok(()));
        assert_eq!(fixture.is_link(&staging), Ok(true));
    }
}

/// Guards: P57
#[test]
fn a_working_folder_is_not_removed_by_any_of_its_names() {
    let inner = at(r"a\b");
    let unserved = NodeFixture::new().roots(&[KUBELET, &inner]);
    unserved.directory(&inner);
    unserved.symlink(&at("to-a"), &at("a"));
    let fixture = unserved.serve();
    for path in [at("a"), at(r"to-a\b"), at(r"A\B")] {
        for call in [
            PathCall::Rmdir,
            PathCall::RmdirForce,
            PathCall::RmdirContents,
        ] {
            let refused = fixture.call(call, &path).unwrap_err();
            assert!(
                refused.contains("is a working directory"),
                "{path}: {refused}"
            );
        }
    }
    assert!(fixture.has(&inner));
}

/// Dozens of nodes, and links in long chains: under Wine they take minutes.
#[cfg(not(windows))]
mod many {
    use super::*;
    use crate::paths::fixture::CALLS;

    /// Links with an end outside, each planted at `name` below the kubelet's folder.
    fn lead_out(fixture: &ServerFixture, name: &str, how: &str) {
        let link = at(name);
        match how {
            "symlink" => fixture.symlink(&link, r"C:\outside"),
            "relative symlink" => fixture.symlink(&link, r"..\..\..\outside"),
            "rooted symlink" => fixture.symlink(&link, r"\outside"),
            "junction" => fixture.junction(&link, r"C:\outside"),
            "symlink to a share" => fixture.symlink(&link, r"\\evil\share"),
            "junction to a share" => fixture.junction(&link, r"UNC\evil\share"),
            "symlink to the system's volume" => {
                fixture.symlink(&link, &format!("{}outside", fixture.system_volume()));
            }
            "junction to the system's volume" => {
                let volume = fixture.system_volume().to_string().replace(r"\\?\", "");
                fixture.junction(&link, &format!("{volume}outside"));
            }
            "lookalike of a mounted folder" => fixture.lookalike(&link, fixture.system_volume()),
            "symlink to a sibling" => fixture.symlink(&link, r"C:\var\lib\kubelet-evil"),
            "symlink above" => fixture.symlink(&link, r"C:\var\lib"),
            "chain" => {
                fixture.symlink(&at(&format!("{name}-1")), r"C:\outside");
                fixture.junction(&at(&format!("{name}-2")), &at(&format!("{name}-1")));
                fixture.symlink(&link, &at(&format!("{name}-2")));
            }
            "out and back" => {
                fixture.symlink(r"C:\outside\back", KUBELET);
                fixture.symlink(&link, r"C:\outside\back");
            }
            "unknown reparse point" => fixture.unknown_reparse_point(&link),
            "socket of the object manager" => fixture.junction(&link, r"GLOBALROOT\Device\x"),
            other => panic!("{other}"),
        }
    }

    const WAYS_OUT: [&str; 15] = [
        "symlink",
        "relative symlink",
        "rooted symlink",
        "junction",
        "symlink to a share",
        "junction to a share",
        "symlink to the system's volume",
        "junction to the system's volume",
        "lookalike of a mounted folder",
        "symlink to a sibling",
        "symlink above",
        "chain",
        "out and back",
        "unknown reparse point",
        "socket of the object manager",
    ];

    /// The places of a path where a link may stand, all but the last.
    const BEHIND: [&str; 4] = [
        "link\\x",
        "link\\outside\\x",
        "a\\link\\x",
        "a\\b\\link\\x\\y",
    ];

    /// Guards: P50, P52
    #[test]
    fn a_link_in_the_middle_leads_no_call_out() {
        for how in WAYS_OUT {
            let fixture = ServerFixture::new();
            fixture.directory(r"C:\outside\x\y");
            fixture.file(r"C:\outside\x\file");
            fixture.directory(r"C:\var\lib\kubelet-evil\x");
            fixture.directory(&at(r"a\b"));
            for path in BEHIND {
                let (link, _) = path.split_once("link").unwrap();
                if !fixture.has(&at(&format!("{link}link"))) && how != "out and back" {
                    let relative = how == "relative symlink" && !link.is_empty();
                    lead_out(
                        &fixture,
                        &format!("{link}link"),
                        if relative { "symlink" } else { how },
                    );
                }
            }
            if how == "out and back" {
                lead_out(&fixture, "link", how);
            }
            let before = fixture.outside();
            for path in BEHIND
                .iter()
                .filter(|path| how != "out and back" || path.starts_with("link"))
            {
                for call in PathCall::confined() {
                    let refused = fixture.call(call, &at(path)).expect_err(path);
                    let reads = crate::paths::refusals::LOOKED_FOR
                        .iter()
                        .find(|text| refused.contains(*text));
                    assert_eq!(reads, None, "{how}, {call:?} {path}: {refused}");
                    assert!(refused.contains(&at("").to_lowercase()) || refused.contains(KUBELET));
                }
            }
            assert_eq!(fixture.offences.take(), Vec::<String>::new(), "{how}");
            assert_eq!(fixture.outside(), before, "{how}");
        }
    }

    /// Guards: P53
    #[test]
    fn a_link_at_the_end_is_what_the_call_is_about() {
        for how in WAYS_OUT {
            let fixture = ServerFixture::new();
            fixture.directory(r"C:\outside\x");
            fixture.file(r"C:\outside\file");
            fixture.directory(r"C:\var\lib\kubelet-evil\x");
            lead_out(&fixture, "link", how);
            let (link, before) = (at("link"), fixture.outside());
            assert_eq!(fixture.exists(&link), Ok(true), "{how}");
            for call in [
                PathCall::Mkdir,
                PathCall::RmdirContents,
                PathCall::SymlinkAt,
                PathCall::Mount,
                PathCall::Unmount,
                PathCall::VolumeOf,
                PathCall::MapShareAt,
            ] {
                let is_taken = fixture.call(call, &link).is_ok();
                // Only of these does the link itself say that it leads to a directory or volume.
                let by_its_word = match call {
                    PathCall::Mkdir => ["to a share", "lookalike", "unknown"]
                        .iter()
                        .any(|kind| how.contains(kind)),
                    PathCall::VolumeOf => how.contains("lookalike"),
                    _ => false,
                };
                assert_eq!(is_taken, by_its_word, "{how} {call:?}");
                assert_eq!(
                    fixture.offences.take_of(call),
                    Vec::<String>::new(),
                    "{how}"
                );
            }
            let _ = fixture.is_link(&link);
            let offences = fixture.offences.take_of(PathCall::IsSymlink);
            assert_eq!(offences, Vec::<String>::new(), "{how}");
            let _ = fixture.link(&link, &at("link-to-it"));
            assert_eq!(fixture.offences.take(), Vec::<String>::new(), "{how}");
            assert_eq!(fixture.call(PathCall::RmdirForce, &link), Ok(()), "{how}");
            assert!(!fixture.has(&link), "{how}");
            assert_eq!(fixture.outside(), before, "{how}");
        }
    }

    /// Guards: P50
    #[test]
    fn links_without_an_end_are_refused() {
        let fixture = ServerFixture::new();
        fixture.symlink(&at("one"), &at("other"));
        fixture.junction(&at("other"), &at("one"));
        fixture.symlink(&at("self"), &at(r"self\x"));
        for index in 0..70 {
            fixture.symlink(
                &at(&format!("step{index}")),
                &at(&format!("step{}", index + 1)),
            );
        }
        let text = "is refused: it leads from link to link without an end";
        // From the sixth on they are 64.
        for path in [r"one\x", r"self\y", r"step0\x", r"step6\x"] {
            for call in CALLS {
                let refused = fixture.call(call, &at(path)).expect_err(path);
                assert!(refused.contains(text), "{call:?} {path}: {refused}");
            }
        }
        let most = fixture.call(PathCall::PathExists, &at(r"step7\x"));
        assert!(!most.is_err_and(|refused| refused.contains(text)));
        assert!(
            fixture
                .volume_of(&at("one"))
                .unwrap_err()
                .contains("without an end")
        );
    }
}
