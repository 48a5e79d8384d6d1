//! What links on the way may do: symbolic links, junctions, mounted folders and what looks like them.

use os::Files;
use wincsi_proxy::paths::Reach;

use super::rig::{Call, Hands, KUBELET, Rig, Stage};

fn at(name: &str) -> String {
    format!(r"{KUBELET}\{name}")
}

#[test]
fn links_that_stay_inside_are_followed_in_every_position() {
    let rig = Rig::new();
    rig.directory(&at(r"real\deep"));
    rig.symlink(&at("symlink"), &at("real"));
    rig.junction(&at("junction"), &at("real"));
    rig.symlink(&at("relative"), "real");
    rig.symlink(&at("rooted"), r"\var\lib\kubelet\real");
    rig.symlink(&at("up"), r"..\kubelet\real");
    rig.symlink(&at("chain"), &at("junction"));
    rig.symlink(&at(r"real\self"), r"..\real");
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
        assert_eq!(rig.call(Call::Mkdir, &made), Ok(()), "{way}");
        let real = at(&format!(r"real\deep\made{index}"));
        assert!(rig.is_there(&real), "{way}");
        assert_eq!(rig.exists(&made), Ok(true), "{way}");
        assert_eq!(rig.call(Call::RmdirForce, &made), Ok(()), "{way}");
        assert!(!rig.is_there(&real), "{way}");
    }
    assert_eq!(rig.offences.take(), Vec::<String>::new());
}

#[test]
fn what_lies_on_a_mounted_volume_is_inside_and_its_links_are_checked_again() {
    let rig = Rig::new();
    rig.directory(r"C:\outside\x");
    rig.file(r"C:\outside\x\file");
    rig.mount(&at("mounted"), rig.volume);
    assert_eq!(rig.call(Call::Mkdir, &at(r"mounted\a\b")), Ok(()));
    assert!(rig.is_there(&format!(r"{}a\b", rig.volume)));
    assert_eq!(rig.call(Call::RmdirForce, &at(r"mounted\a")), Ok(()));
    assert!(!rig.is_there(&format!("{}a", rig.volume)));
    rig.directory(&at(r"mounted\here"));
    for (name, target) in [
        ("out", r"C:\Windows"),
        ("share", r"\\evil\share"),
        ("volume", rig.system_volume().to_string().as_str()),
    ] {
        rig.symlink(&at(&format!(r"mounted\{name}")), target);
    }
    rig.lookalike(&at(r"mounted\lookalike"), rig.system_volume());
    rig.junction(&at(r"mounted\junction"), r"C:\outside");
    rig.symlink(&at(r"mounted\near"), "here");
    rig.symlink(&at(r"mounted\back"), &at("plain"));
    rig.directory(&at("plain"));
    let before = rig.outside();
    for name in ["out", "share", "volume", "lookalike", "junction"] {
        for call in Call::confined() {
            let path = at(&format!(r"mounted\{name}\x"));
            assert!(rig.call(call, &path).is_err(), "{call:?} {path}");
        }
    }
    for name in ["near", "back"] {
        let path = at(&format!(r"mounted\{name}\made"));
        assert_eq!(rig.call(Call::Mkdir, &path), Ok(()), "{name}");
    }
    assert!(rig.is_there(&at(r"plain\made")));
    assert_eq!(rig.offences.take(), Vec::<String>::new());
    assert_eq!(rig.outside(), before);
}

/// Whoever can write in a folder can make a reparse point that names any volume.
#[test]
fn a_volume_that_is_not_mounted_inside_is_no_way() {
    let rig = Rig::new();
    let stranger = rig.another_volume();
    let there = format!("{stranger}precious");
    rig.directory(&there);
    rig.lookalike(&at("lookalike"), stranger);
    rig.symlink(&at("symlink"), &stranger.to_string());
    let refused = |path: &str| rig.call(Call::RmdirForce, &at(path)).unwrap_err();
    for link in ["lookalike", "symlink"] {
        let text = refused(&format!(r"{link}\precious"));
        assert!(
            text.contains("is not mounted inside the working directories"),
            "{text}"
        );
    }
    rig.mount(r"C:\elsewhere", stranger);
    refused(r"lookalike\precious");
    rig.sim
        .os()
        .volumes
        .delete_mount_point(&super::rig::path(r"C:\elsewhere"))
        .unwrap();
    assert!(rig.is_there(&there));
    rig.mount(&at("mounted"), stranger);
    assert_eq!(
        rig.call(Call::RmdirForce, &at(r"lookalike\precious")),
        Ok(())
    );
    assert!(
        !rig.is_there(&there),
        "it is mounted inside, so any link inside may lead there"
    );
}

#[test]
fn a_volume_within_a_volume_is_inside() {
    let rig = Rig::new();
    let inner = rig.another_volume();
    rig.mount(&at("outer"), rig.volume);
    rig.mount(&at(r"outer\inner"), inner);
    assert_eq!(rig.call(Call::Mkdir, &at(r"outer\inner\made")), Ok(()));
    assert!(rig.is_there(&format!("{inner}made")));
    assert_eq!(rig.volume_of(&at(r"outer\inner")), Ok(inner.to_string()));
    assert_eq!(rig.offences.take(), Vec::<String>::new());
}

/// csi-driver-smb's staging: the call is about the link, and no packet leaves the node for it.
#[test]
fn staging_by_a_link_to_a_share_works_and_the_share_is_not_looked_at() {
    let rig = Rig::new();
    let (staging, target) = (at(r"plugins\globalmount"), at(r"pods\mount"));
    rig.directory(&at("plugins"));
    rig.directory(&at("pods"));
    assert_eq!(rig.call(Call::MapShareAt, &staging), Ok(()));
    assert_eq!(rig.exists(&staging), Ok(true));
    let _ = rig.sim.take_trace();
    assert_eq!(rig.is_link(&staging), Ok(true));
    assert_eq!(rig.link(&staging, &target), Ok(()));
    assert_eq!(rig.is_link(&target), Ok(true));
    let seen = rig.sim.take_trace();
    let packets = seen.iter().filter(|op| op.object.contains("fileserver"));
    assert_eq!(packets.count(), 0, "{seen:?}");
    let link = rig.sim.files().entry(&super::rig::path(&target)).unwrap();
    assert!(
        link.is_directory(),
        "the link to the link is one to a directory"
    );
    assert_eq!(rig.call(Call::RmdirForce, &target), Ok(()));
    assert_eq!(rig.call(Call::RmdirForce, &staging), Ok(()));
    assert!(!rig.is_there(&staging));
}

/// csi-driver-smb opens what is called a link, and fails its NodeStageVolume for one that leads nowhere; what is not
/// called one is staged anew in the same call.
#[test]
fn a_link_to_a_share_that_is_not_mapped_is_none_and_the_share_is_not_looked_at() {
    for reach in [Reach::WorkingDirs, Reach::Anywhere] {
        let rig = Stage::new().reaching(reach).serve();
        let staging = at(r"plugins\globalmount");
        rig.directory(&at("plugins"));
        assert_eq!(rig.call(Call::MapShareAt, &staging), Ok(()));
        assert_eq!(rig.is_link(&staging), Ok(true));
        assert_eq!(rig.unmap_share(), Ok(()));
        let _ = rig.sim.take_trace();
        assert_eq!(rig.is_link(&staging), Ok(false));
        let seen = rig.sim.take_trace();
        let packets = seen.iter().filter(|op| op.object.contains("fileserver"));
        assert_eq!(packets.count(), 0, "{seen:?}");
        assert_eq!(rig.call(Call::MapShareAt, &staging), Ok(()));
        assert_eq!(rig.is_link(&staging), Ok(true));
    }
}

#[test]
fn a_working_folder_is_not_removed_by_any_of_its_names() {
    let inner = at(r"a\b");
    let stage = Stage::new().roots(&[KUBELET, &inner]);
    stage.directory(&inner);
    stage.symlink(&at("to-a"), &at("a"));
    let rig = stage.serve();
    for path in [at("a"), at(r"to-a\b"), at(r"A\B")] {
        for call in [Call::Rmdir, Call::RmdirForce, Call::RmdirContents] {
            let refused = rig.call(call, &path).unwrap_err();
            assert!(
                refused.contains("is a working directory"),
                "{path}: {refused}"
            );
        }
    }
    assert!(rig.is_there(&inner));
}

/// Dozens of nodes, and links in long chains: under Wine they take minutes.
#[cfg(not(windows))]
mod many {
    use super::*;
    use crate::rig::CALLS;

    /// Links whose end is outside, each planted at `name` below the kubelet's folder.
    fn lead_out(rig: &Rig, name: &str, how: &str) {
        let link = at(name);
        match how {
            "symlink" => rig.symlink(&link, r"C:\outside"),
            "relative symlink" => rig.symlink(&link, r"..\..\..\outside"),
            "rooted symlink" => rig.symlink(&link, r"\outside"),
            "junction" => rig.junction(&link, r"C:\outside"),
            "symlink to a share" => rig.symlink(&link, r"\\evil\share"),
            "junction to a share" => rig.junction(&link, r"UNC\evil\share"),
            "symlink to the system's volume" => {
                rig.symlink(&link, &format!("{}outside", rig.system_volume()));
            }
            "junction to the system's volume" => {
                let volume = rig.system_volume().to_string().replace(r"\\?\", "");
                rig.junction(&link, &format!("{volume}outside"));
            }
            "lookalike of a mounted folder" => rig.lookalike(&link, rig.system_volume()),
            "symlink to a sibling" => rig.symlink(&link, r"C:\var\lib\kubelet-evil"),
            "symlink above" => rig.symlink(&link, r"C:\var\lib"),
            "chain" => {
                rig.symlink(&at(&format!("{name}-1")), r"C:\outside");
                rig.junction(&at(&format!("{name}-2")), &at(&format!("{name}-1")));
                rig.symlink(&link, &at(&format!("{name}-2")));
            }
            "out and back" => {
                rig.symlink(r"C:\outside\back", KUBELET);
                rig.symlink(&link, r"C:\outside\back");
            }
            "unknown reparse point" => rig.stranger(&link),
            "socket of the object manager" => rig.junction(&link, r"GLOBALROOT\Device\x"),
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

    #[test]
    fn a_link_in_the_middle_leads_no_call_out() {
        for how in WAYS_OUT {
            let rig = Rig::new();
            rig.directory(r"C:\outside\x\y");
            rig.file(r"C:\outside\x\file");
            rig.directory(r"C:\var\lib\kubelet-evil\x");
            rig.directory(&at(r"a\b"));
            for path in BEHIND {
                let (link, _) = path.split_once("link").unwrap();
                if !rig.is_there(&at(&format!("{link}link"))) && how != "out and back" {
                    let relative = how == "relative symlink" && !link.is_empty();
                    lead_out(
                        &rig,
                        &format!("{link}link"),
                        if relative { "symlink" } else { how },
                    );
                }
            }
            if how == "out and back" {
                lead_out(&rig, "link", how);
            }
            let before = rig.outside();
            for path in BEHIND
                .iter()
                .filter(|path| how != "out and back" || path.starts_with("link"))
            {
                for call in Call::confined() {
                    let refused = rig.call(call, &at(path)).expect_err(path);
                    let reads = crate::texts::LOOKED_FOR
                        .iter()
                        .find(|text| refused.contains(*text));
                    assert_eq!(reads, None, "{how}, {call:?} {path}: {refused}");
                    assert!(refused.contains(&at("").to_lowercase()) || refused.contains(KUBELET));
                }
            }
            assert_eq!(rig.offences.take(), Vec::<String>::new(), "{how}");
            assert_eq!(rig.outside(), before, "{how}");
        }
    }

    #[test]
    fn a_link_at_the_end_is_what_the_call_is_about() {
        for how in WAYS_OUT {
            let rig = Rig::new();
            rig.directory(r"C:\outside\x");
            rig.file(r"C:\outside\file");
            rig.directory(r"C:\var\lib\kubelet-evil\x");
            lead_out(&rig, "link", how);
            let (link, before) = (at("link"), rig.outside());
            assert_eq!(rig.exists(&link), Ok(true), "{how}");
            for call in [
                Call::Mkdir,
                Call::RmdirContents,
                Call::SymlinkAt,
                Call::Mount,
                Call::Unmount,
                Call::VolumeOf,
                Call::MapShareAt,
            ] {
                let is_taken = rig.call(call, &link).is_ok();
                // Of these alone the link itself says that it leads to a directory, or to a volume.
                let by_its_word = match call {
                    Call::Mkdir => ["to a share", "lookalike", "unknown"]
                        .iter()
                        .any(|kind| how.contains(kind)),
                    Call::VolumeOf => how.contains("lookalike"),
                    _ => false,
                };
                assert_eq!(is_taken, by_its_word, "{how} {call:?}");
                assert_eq!(rig.offences.take_of(call), Vec::<String>::new(), "{how}");
            }
            let _ = rig.is_link(&link);
            let offences = rig.offences.take_of(Call::IsSymlink);
            assert_eq!(offences, Vec::<String>::new(), "{how}");
            let _ = rig.link(&link, &at("link-to-it"));
            assert_eq!(rig.offences.take(), Vec::<String>::new(), "{how}");
            assert_eq!(rig.call(Call::RmdirForce, &link), Ok(()), "{how}");
            assert!(!rig.is_there(&link), "{how}");
            assert_eq!(rig.outside(), before, "{how}");
        }
    }

    #[test]
    fn links_without_an_end_are_refused() {
        let rig = Rig::new();
        rig.symlink(&at("one"), &at("other"));
        rig.junction(&at("other"), &at("one"));
        rig.symlink(&at("self"), &at(r"self\x"));
        for index in 0..70 {
            rig.symlink(
                &at(&format!("step{index}")),
                &at(&format!("step{}", index + 1)),
            );
        }
        for path in [r"one\x", r"self\y", r"step0\x"] {
            for call in CALLS {
                let refused = rig.call(call, &at(path)).expect_err(path);
                let text = "is refused: it leads from link to link without an end";
                assert!(refused.contains(text), "{call:?} {path}: {refused}");
            }
        }
        assert!(
            rig.volume_of(&at("one"))
                .unwrap_err()
                .contains("without an end")
        );
    }
}
