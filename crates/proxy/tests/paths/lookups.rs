//! Calls that only look: anywhere on the node's own drives and volumes, and nowhere else.

use super::rig::{Call, Hands, KUBELET, Rig, Stage};

const LOCAL_VOLUMES: &str = r"C:\mnt\disks";

fn disk(name: &str) -> String {
    format!(r"{LOCAL_VOLUMES}\{name}")
}

fn with_local_volume() -> Rig {
    let rig = Rig::new();
    rig.mount(&disk("a"), rig.volume);
    rig
}

/// The local static provisioner's discovery, on a node whose csi-proxy has no flag for its folder.
#[test]
fn look_ups_go_anywhere_on_the_nodes_own_drives() {
    let rig = with_local_volume();
    rig.symlink(&disk("by-link"), &disk("a"));
    rig.junction(&disk("by-junction"), &disk("a"));
    rig.symlink(&disk("by-volume"), &rig.volume.to_string());
    rig.symlink(&format!(r"{KUBELET}\out"), &disk("by-link"));
    let volume = rig.volume.to_string();
    for path in [
        disk("a"),
        disk("by-link"),
        disk("by-junction"),
        disk("by-volume"),
        format!(r"{KUBELET}\out"),
        String::from("/mnt/disks/a"),
    ] {
        assert_eq!(rig.is_link(&path), Ok(true), "{path}");
        assert_eq!(rig.volume_of(&path), Ok(volume.clone()), "{path}");
        assert_eq!(rig.closest_volume_of(&path), Ok(volume.clone()), "{path}");
    }
    assert_eq!(rig.is_link(LOCAL_VOLUMES), Ok(false));
    let system = rig.system_volume().to_string();
    assert_eq!(rig.closest_volume_of(LOCAL_VOLUMES), Ok(system));
}

#[test]
fn a_link_to_a_drive_leads_to_its_volume() {
    let rig = Rig::new();
    rig.directory(LOCAL_VOLUMES);
    rig.symlink(&disk("c"), r"C:\");
    assert_eq!(rig.is_link(&disk("c")), Ok(true));
    let system = rig.system_volume().to_string();
    assert_eq!(rig.volume_of(&disk("c")), Ok(system));
    assert!(
        rig.volume_of(r"C:\").is_err(),
        "the drive itself is no mounted folder"
    );
}

#[test]
fn all_other_calls_stay_within_the_working_folders() {
    let rig = with_local_volume();
    rig.directory(&disk("plain"));
    let before = rig.outside();
    for path in [disk("a"), disk("plain"), disk("new")] {
        for call in Call::confined() {
            let refused = rig.call(call, &path).expect_err(&path);
            let text = "is not within the working directories";
            assert!(refused.contains(text), "{call:?} {path}: {refused}");
        }
    }
    assert_eq!(rig.offences.take(), Vec::<String>::new());
    assert_eq!(rig.outside(), before);
}

/// A node that follows a link to a share logs on to its server; `Z:` stands for the letter of a network
/// drive, which the mount manager does not know.
#[test]
fn nothing_is_opened_for_what_is_not_local() {
    let rig = Rig::new();
    rig.directory(&disk("a"));
    let elsewhere = [
        (r"\\evil\share", "share"),
        (r"\\?\UNC\evil\share\d", "unc"),
        (r"Z:\evil", "drive"),
        (r"Z:\", "drive-root"),
    ];
    for (target, name) in elsewhere {
        rig.symlink(&disk(name), target);
    }
    rig.junction(&disk("device"), r"GLOBALROOT\Device\Mup\evil\share");
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
    let _ = rig.sim.take_trace();
    for path in behind.chain(direct) {
        for refused in [
            rig.is_link(&path).map(drop),
            rig.volume_of(&path).map(drop),
            rig.closest_volume_of(&path).map(drop),
        ] {
            let text = refused.expect_err(&path);
            let is_told = text.contains("on no drive or volume of this node");
            let is_none = [
                "not an absolute Windows path",
                "path contains invalid characters",
            ]
            .iter()
            .any(|none| text == format!("{none}: {path}"));
            assert!(
                is_told || is_none || path.contains("device"),
                "{path}: {text}"
            );
            let known = crate::texts::LOOKED_FOR;
            assert!(
                is_none || !known.iter().any(|known| text.contains(known)),
                "{text}"
            );
        }
    }
    assert_eq!(rig.opened_away(), None);
}

/// The end of a path is followed to a volume, hop by hop, and no hop leaves the node.
#[test]
fn a_link_at_the_end_leads_no_look_up_away() {
    let rig = Rig::new();
    rig.directory(LOCAL_VOLUMES);
    rig.symlink(&disk("away"), r"\\evil\share");
    rig.symlink(&disk("drive"), r"Z:\evil");
    rig.symlink(&disk("hop"), &disk("away"));
    let _ = rig.sim.take_trace();
    for name in ["away", "drive", "hop"] {
        let path = disk(name);
        match (name, rig.is_link(&path)) {
            ("drive", refused) => assert!(refused.is_err(), "{refused:?}"),
            // A share that is not mapped; and a link that leads to such a one.
            (_, is_link) => assert_eq!(is_link, Ok(name == "hop"), "{name}"),
        }
        for refused in [rig.volume_of(&path), rig.closest_volume_of(&path)] {
            let text = refused.expect_err(name);
            assert!(
                text.contains("on no drive or volume of this node"),
                "{text}"
            );
        }
    }
    assert_eq!(rig.opened_away(), None);
}

/// What is on the way within the kubelet's folder costs no question to the mount manager.
#[test]
fn a_path_in_a_working_folder_is_local_without_a_question() {
    let rig = Rig::new();
    let at = format!(r"{KUBELET}\mounted");
    rig.mount(&at, rig.volume);
    let _ = rig.sim.take_trace();
    assert_eq!(rig.volume_of(&at), Ok(rig.volume.to_string()));
    let asked = rig.sim.take_trace();
    let lists = asked.iter().filter(|op| op.operation == "FindFirstVolumeW");
    assert_eq!(lists.count(), 0, "{asked:?}");
}

#[test]
fn a_volume_dir_is_for_mount_and_unmount_only() {
    let stage = Stage::new().volume_dir(LOCAL_VOLUMES);
    stage.directory(&disk("a"));
    stage.directory(r"C:\outside\x");
    stage.symlink(&disk("out"), r"C:\outside");
    let rig = stage.serve_watching(&[KUBELET, LOCAL_VOLUMES]);
    assert_eq!(rig.call(Call::Mount, &disk("a")), Ok(()));
    assert_eq!(rig.volume_of(&disk("a")), Ok(rig.volume.to_string()));
    assert_eq!(rig.call(Call::Unmount, &disk("a")), Ok(()));
    let others = Call::confined().filter(|call| ![Call::Mount, Call::Unmount].contains(call));
    for call in others {
        let refused = rig.call(call, &disk("a")).unwrap_err();
        let text = r"is not within the working directories: [C:\var\lib\kubelet]";
        assert!(refused.contains(text), "{call:?}: {refused}");
    }
    for call in [Call::Mount, Call::Unmount] {
        let refused = rig.call(call, &disk(r"out\x")).unwrap_err();
        assert!(
            refused.contains("leads out of the working directories"),
            "{refused}"
        );
    }
}

impl Rig {
    /// What was opened since the trace was taken that is not on this node.
    fn opened_away(&self) -> Option<os_sim::Op> {
        let places = ["evil", "GLOBALROOT", "Mup"];
        let mut opened = self.sim.take_trace().into_iter();
        opened.find(|op| {
            op.object.starts_with('Z') || places.iter().any(|place| op.object.contains(place))
        })
    }
}
