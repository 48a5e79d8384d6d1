//! The working folders themselves.

use wincsi_proxy::paths::Reach;

use super::rig::{Call, Hands, KUBELET, Rig, Stage};

const PLACE: &str = r"C:\data\kubelet";

fn at(name: &str) -> String {
    format!(r"{KUBELET}\{name}")
}

/// The kubelet's folder is often a junction to another drive.
fn with_junction() -> Rig {
    let stage = Stage::new();
    stage
        .sim()
        .os()
        .files
        .remove_directory(&super::rig::path(KUBELET))
        .unwrap();
    stage.directory(PLACE);
    stage.junction(KUBELET, PLACE);
    stage.serve_watching(&[PLACE])
}

#[test]
fn a_folder_that_is_a_junction_counts_by_both_its_names() {
    let rig = with_junction();
    assert_eq!(rig.call(Call::Mkdir, &at(r"a\b")), Ok(()));
    assert!(rig.is_there(&format!(r"{PLACE}\a\b")));
    assert_eq!(rig.exists(&format!(r"{PLACE}\a\b")), Ok(true));
    assert_eq!(rig.call(Call::Mount, &at(r"a\b")), Ok(()));
    let volume = rig.volume.to_string();
    assert_eq!(rig.volume_of(&format!(r"{PLACE}\a\b")), Ok(volume.clone()));
    rig.symlink(&at("by-name"), &at("a"));
    rig.symlink(&at("by-place"), &format!(r"{PLACE}\a"));
    for link in ["by-name", "by-place"] {
        assert_eq!(
            rig.volume_of(&at(&format!(r"{link}\b"))),
            Ok(volume.clone())
        );
    }
    assert_eq!(rig.call(Call::Mkdir, &at(r"a\b\on-the-volume")), Ok(()));
    for folder in [KUBELET, PLACE] {
        let refused = rig.call(Call::RmdirForce, folder).unwrap_err();
        assert!(refused.contains("is a working directory"), "{refused}");
    }
    assert_eq!(rig.offences.take(), Vec::<String>::new());
}

#[test]
fn a_folder_that_is_led_elsewhere_later_stays_where_it_was() {
    let rig = with_junction();
    rig.directory(r"C:\outside");
    rig.sim
        .os()
        .files
        .remove_directory(&super::rig::path(KUBELET))
        .unwrap();
    rig.junction(KUBELET, r"C:\outside");
    assert_eq!(rig.call(Call::Mkdir, &at("made")), Ok(()));
    assert!(rig.is_there(&format!(r"{PLACE}\made")));
    assert!(!rig.is_there(r"C:\outside\made"));
    assert!(rig.exists(r"C:\outside\x").is_err());
}

#[test]
fn a_folder_that_became_a_link_is_not_entered() {
    let rig = Rig::new();
    rig.directory(r"C:\outside\x");
    rig.sim
        .os()
        .files
        .remove_directory(&super::rig::path(KUBELET))
        .unwrap();
    rig.symlink(KUBELET, r"C:\outside");
    for call in [Call::Mkdir, Call::Rmdir, Call::RmdirContents, Call::Mount] {
        assert!(rig.call(call, &at("x")).is_err(), "{call:?}");
    }
    assert!(rig.is_there(r"C:\outside\x"));
}

#[test]
fn a_folder_on_a_mounted_volume_counts() {
    let stage = Stage::new().roots(&[r"C:\mnt\work"]);
    stage.mount(r"C:\mnt", stage.volume);
    stage.directory(r"C:\mnt\work");
    let volume = stage.volume;
    let rig = stage.serve_watching(&[]);
    assert_eq!(rig.call(Call::Mkdir, r"C:\mnt\work\a"), Ok(()));
    assert!(rig.is_there(&format!(r"{volume}work\a")));
    assert!(rig.call(Call::Mkdir, r"C:\mnt\other").is_err());
}

#[test]
fn a_folder_that_does_not_exist_yet_is_taken_when_it_appears_as_a_directory() {
    let rig = Stage::new()
        .roots(&[r"C:\later\work"])
        .serve_watching(&[r"C:\later"]);
    assert_eq!(rig.exists(r"C:\later\work\x"), Ok(false));
    assert!(rig.call(Call::Rmdir, r"C:\later\work\x").is_err());
    assert_eq!(rig.call(Call::RmdirForce, r"C:\later\work\x"), Ok(()));
    assert_eq!(rig.call(Call::Mkdir, r"C:\later\work\x"), Ok(()));
    assert!(rig.is_there(r"C:\later\work\x"));
}

/// Anybody may create folders at the root of a drive.
#[test]
fn a_folder_that_does_not_exist_yet_is_not_taken_when_it_appears_as_a_link() {
    for junction in [r"C:\later", r"C:\later\work"] {
        let rig = Stage::new().roots(&[r"C:\later\work"]).serve();
        rig.directory(r"C:\outside\work\x");
        rig.directory(r"C:\later");
        let target = match junction {
            r"C:\later" => {
                rig.sim
                    .os()
                    .files
                    .remove_directory(&super::rig::path(junction))
                    .unwrap();
                r"C:\outside"
            }
            _ => r"C:\outside\work",
        };
        rig.junction(junction, target);
        for call in Call::confined().filter(|call| *call != Call::SymlinkTo) {
            let refused = rig.call(call, r"C:\later\work\x").expect_err(junction);
            assert!(
                refused.contains("was not there when"),
                "{call:?}: {refused}"
            );
        }
        assert!(rig.is_there(r"C:\outside\work\x"));
    }
}

#[test]
fn a_folder_within_another_may_be_a_link_to_elsewhere() {
    let inner = at("inner");
    let stage = Stage::new().roots(&[KUBELET, &inner]);
    stage.directory(r"C:\elsewhere");
    stage.symlink(&inner, r"C:\elsewhere");
    stage.symlink(&at("to-inner"), &inner);
    let rig = stage.serve_watching(&[KUBELET, r"C:\elsewhere"]);
    for (index, way) in [inner, at("to-inner")].iter().enumerate() {
        assert_eq!(rig.call(Call::Mkdir, &format!(r"{way}\{index}")), Ok(()));
        assert!(rig.is_there(&format!(r"C:\elsewhere\{index}")));
    }
    assert_eq!(rig.offences.take(), Vec::<String>::new());
}

#[test]
fn without_confinement_the_reach_is_csi_proxys() {
    let rig = Stage::new().reaching(Reach::Anywhere).serve();
    rig.directory(r"C:\outside\x");
    rig.symlink(&at("link"), r"C:\outside");
    assert_eq!(rig.exists(&at(r"link\x")), Ok(true));
    assert_eq!(rig.call(Call::Mkdir, &at(r"link\made")), Ok(()));
    assert!(rig.is_there(r"C:\outside\made"));
    assert_eq!(rig.is_link(r"C:\outside\x"), Ok(false));
    assert_eq!(rig.call(Call::Mount, r"C:\outside\made"), Ok(()));
    assert_eq!(rig.volume_of("/outside/made"), Ok(rig.volume.to_string()));
    let outside = rig.exists(r"C:\outside\x").unwrap_err();
    assert!(
        outside.contains("is not within the working directories"),
        "{outside}"
    );
}
