//! Look-ups: anywhere on the node's own drives and volumes, and nowhere else.

use super::fixture::{Hands, KUBELET, NodeFixture, PathCall, ServerFixture};

const LOCAL_VOLUMES: &str = r"C:\mnt\disks";

fn disk(name: &str) -> String {
    format!(r"{LOCAL_VOLUMES}\{name}")
}

fn with_local_volume() -> ServerFixture {
    let fixture = ServerFixture::new();
    fixture.mount(&disk("a"), fixture.volume);
    fixture
}

/// The local static provisioner's discovery, on a node without a flag for its folder.
/// Guards: P58
#[test]
fn look_ups_go_anywhere_on_the_nodes_own_drives() {
    let fixture = with_local_volume();
    fixture.symlink(&disk("by-link"), &disk("a"));
    fixture.junction(&disk("by-junction"), &disk("a"));
    fixture.symlink(&disk("by-volume"), &fixture.volume.to_string());
    fixture.symlink(&format!(r"{KUBELET}\out"), &disk("by-link"));
    let volume = fixture.volume.to_string();
    for path in [
        disk("a"),
        disk("by-link"),
        disk("by-junction"),
        disk("by-volume"),
        format!(r"{KUBELET}\out"),
        String::from("/mnt/disks/a"),
    ] {
        assert_eq!(fixture.is_link(&path), Ok(true), "{path}");
        assert_eq!(fixture.volume_of(&path), Ok(volume.clone()), "{path}");
        assert_eq!(
            fixture.closest_volume_of(&path),
            Ok(volume.clone()),
            "{path}"
        );
    }
    assert_eq!(fixture.is_link(LOCAL_VOLUMES), Ok(false));
    let system = fixture.system_volume().to_string();
    assert_eq!(fixture.closest_volume_of(LOCAL_VOLUMES), Ok(system));
}

#[test]
fn a_link_to_a_drive_leads_to_its_volume() {
    let fixture = ServerFixture::new();
    fixture.directory(LOCAL_VOLUMES);
    fixture.symlink(&disk("c"), r"C:\");
    assert_eq!(fixture.is_link(&disk("c")), Ok(true));
    let system = fixture.system_volume().to_string();
    assert_eq!(fixture.volume_of(&disk("c")), Ok(system));
    assert!(
        fixture.volume_of(r"C:\").is_err(),
        "the drive itself is no mounted folder"
    );
}

/// Guards: P48
#[test]
fn all_other_calls_stay_within_the_working_folders() {
    let fixture = with_local_volume();
    fixture.directory(&disk("plain"));
    let before = fixture.outside();
    for path in [disk("a"), disk("plain"), disk("new")] {
        for call in PathCall::confined() {
            let refused = fixture.call(call, &path).expect_err(&path);
            let text = "is not within the working directories";
            assert!(refused.contains(text), "{call:?} {path}: {refused}");
        }
    }
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
    assert_eq!(fixture.outside(), before);
}

/// A node that follows a link to a share logs on to its server; `Z:` stands for a network drive's letter, unknown to
/// the mount manager.
/// Guards: P58
#[test]
fn a_lookup_opens_no_remote_path() {
    let fixture = ServerFixture::new();
    fixture.directory(&disk("a"));
    let elsewhere = [
        (r"\\evil\share", "share"),
        (r"\\?\UNC\evil\share\d", "unc"),
        (r"Z:\evil", "drive"),
        (r"Z:\", "drive-root"),
    ];
    for (target, name) in elsewhere {
        fixture.symlink(&disk(name), target);
    }
    fixture.junction(&disk("device"), r"GLOBALROOT\Device\Mup\evil\share");
    let behind = ["share", "unc", "drive", "drive-root", "device"];
    let behind = behind.map(|name| disk(&format!(r"{name}\x"))).into_iter();
    let direct = [
        r"\\evil\share\x",
        r"Z:\evil\x",
        r"\\?\UNC\evil\share\x",
        r"\\?\GLOBALROOT\Device\Mup\evil\share\x",
        r"\\.\Mup\evil\share\x",
    ]
    .map(str::to_owned);
    let _ = fixture.take_trace();
    for path in behind.chain(direct) {
        for refused in [
            fixture.is_link(&path).map(drop),
            fixture.volume_of(&path).map(drop),
            fixture.closest_volume_of(&path).map(drop),
        ] {
            let text = refused.expect_err(&path);
            let is_refused = text.contains("on no drive or volume of this node");
            let is_none = [
                "not an absolute Windows path",
                "path contains invalid characters",
            ]
            .iter()
            .any(|none| text == format!("{none}: {path}"));
            assert!(
                is_refused || is_none || path.contains("device"),
                "{path}: {text}"
            );
            let known = crate::paths::refusals::LOOKED_FOR;
            assert!(
                is_none || !known.iter().any(|known| text.contains(known)),
                "{text}"
            );
        }
    }
    assert_eq!(fixture.opened_away(), None);
}

/// The end of a path is followed to a volume, hop by hop, and no hop leaves the node.
/// Guards: P58
#[test]
fn a_link_at_the_end_leads_no_look_up_away() {
    let fixture = ServerFixture::new();
    fixture.directory(LOCAL_VOLUMES);
    fixture.symlink(&disk("away"), r"\\evil\share");
    fixture.symlink(&disk("drive"), r"Z:\evil");
    fixture.symlink(&disk("hop"), &disk("away"));
    let _ = fixture.take_trace();
    for name in ["away", "drive", "hop"] {
        let path = disk(name);
        match (name, fixture.is_link(&path)) {
            ("drive", refused) => assert!(refused.is_err(), "{refused:?}"),
            // An unmapped share, and a link to one.
            (_, is_link) => assert_eq!(is_link, Ok(name == "hop"), "{name}"),
        }
        for refused in [fixture.volume_of(&path), fixture.closest_volume_of(&path)] {
            let text = refused.expect_err(name);
            assert!(
                text.contains("on no drive or volume of this node"),
                "{text}"
            );
        }
    }
    assert_eq!(fixture.opened_away(), None);
}

/// Entries on the path within the kubelet's folder cost no query of the mount manager.
/// Guards: P58
#[test]
fn a_path_in_a_working_folder_is_local_without_a_question() {
    let fixture = ServerFixture::new();
    let at = format!(r"{KUBELET}\mounted");
    fixture.mount(&at, fixture.volume);
    let _ = fixture.take_trace();
    assert_eq!(fixture.volume_of(&at), Ok(fixture.volume.to_string()));
    let asked = fixture.take_trace();
    let lists = asked.iter().filter(|op| op.operation == "FindFirstVolumeW");
    assert_eq!(lists.count(), 0, "{asked:?}");
}

/// Guards: P48
#[test]
fn a_volume_dir_is_for_mount_and_unmount_only() {
    let unserved = NodeFixture::new().volume_dir(LOCAL_VOLUMES);
    unserved.directory(&disk("a"));
    unserved.directory(r"C:\outside\x");
    unserved.symlink(&disk("out"), r"C:\outside");
    let fixture = unserved.serve_watching(&[KUBELET, LOCAL_VOLUMES]);
    assert_eq!(fixture.call(PathCall::Mount, &disk("a")), Ok(()));
    assert_eq!(
        fixture.volume_of(&disk("a")),
        Ok(fixture.volume.to_string())
    );
    assert_eq!(fixture.call(PathCall::Unmount, &disk("a")), Ok(()));
    let others =
        PathCall::confined().filter(|call| ![PathCall::Mount, PathCall::Unmount].contains(call));
    for call in others {
        let refused = fixture.call(call, &disk("a")).unwrap_err();
        let text = r"is not within the working directories: [C:\var\lib\kubelet]";
        assert!(refused.contains(text), "{call:?}: {refused}");
    }
    for call in [PathCall::Mount, PathCall::Unmount] {
        let refused = fixture.call(call, &disk(r"out\x")).unwrap_err();
        assert!(
            refused.contains("leads out of the working directories"),
            "{refused}"
        );
    }
}

impl ServerFixture {
    /// The first remote open since the trace was taken.
    fn opened_away(&self) -> Option<os_sim::Op> {
        let places = ["evil", "GLOBALROOT", "Mup"];
        let mut opened = self.take_trace().into_iter();
        opened.find(|op| {
            op.object.starts_with('Z') || places.iter().any(|place| op.object.contains(place))
        })
    }
}
