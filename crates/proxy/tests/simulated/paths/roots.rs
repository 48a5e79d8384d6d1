//! The working folders themselves.

use wincsi_proxy::paths::Confinement;

use super::fixture::{Hands, KUBELET, NodeFixture, PathCall, ServerFixture, path};

const PLACE: &str = r"C:\data\kubelet";

fn at(name: &str) -> String {
    format!(r"{KUBELET}\{name}")
}

/// The kubelet's folder is often a junction to another drive.
fn with_junction() -> ServerFixture {
    let unserved = NodeFixture::new();
    unserved
        .sim
        .os()
        .files
        .remove_directory(&path(KUBELET))
        .unwrap();
    unserved.directory(PLACE);
    unserved.junction(KUBELET, PLACE);
    unserved.serve_watching(&[PLACE])
}

/// Guards: P48
#[test]
fn a_folder_that_is_a_junction_counts_by_both_its_names() {
    let fixture = with_junction();
    assert_eq!(fixture.call(PathCall::Mkdir, &at(r"a\b")), Ok(()));
    assert!(fixture.has(&format!(r"{PLACE}\a\b")));
    assert_eq!(fixture.exists(&format!(r"{PLACE}\a\b")), Ok(true));
    assert_eq!(fixture.call(PathCall::Mount, &at(r"a\b")), Ok(()));
    let volume = fixture.volume.to_string();
    assert_eq!(
        fixture.volume_of(&format!(r"{PLACE}\a\b")),
        Ok(volume.clone())
    );
    fixture.symlink(&at("by-name"), &at("a"));
    fixture.symlink(&at("by-place"), &format!(r"{PLACE}\a"));
    for link in ["by-name", "by-place"] {
        assert_eq!(
            fixture.volume_of(&at(&format!(r"{link}\b"))),
            Ok(volume.clone())
        );
    }
    assert_eq!(
        fixture.call(PathCall::Mkdir, &at(r"a\b\on-the-volume")),
        Ok(())
    );
    for folder in [KUBELET, PLACE] {
        let refused = fixture.call(PathCall::RmdirForce, folder).unwrap_err();
        assert!(refused.contains("is a working directory"), "{refused}");
    }
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
}

/// Guards: P48
#[test]
fn a_folder_that_is_led_elsewhere_later_stays_where_it_was() {
    let fixture = with_junction();
    fixture.directory(r"C:\outside");
    fixture
        .sim
        .os()
        .files
        .remove_directory(&path(KUBELET))
        .unwrap();
    fixture.junction(KUBELET, r"C:\outside");
    assert_eq!(fixture.call(PathCall::Mkdir, &at("made")), Ok(()));
    assert!(fixture.has(&format!(r"{PLACE}\made")));
    assert!(!fixture.has(r"C:\outside\made"));
    assert!(fixture.exists(r"C:\outside\x").is_err());
}

/// Guards: P51
#[test]
fn a_folder_that_became_a_link_is_not_entered() {
    let fixture = ServerFixture::new();
    fixture.directory(r"C:\outside\x");
    fixture
        .sim
        .os()
        .files
        .remove_directory(&path(KUBELET))
        .unwrap();
    fixture.symlink(KUBELET, r"C:\outside");
    for call in [
        PathCall::Mkdir,
        PathCall::Rmdir,
        PathCall::RmdirContents,
        PathCall::Mount,
    ] {
        assert!(fixture.call(call, &at("x")).is_err(), "{call:?}");
    }
    assert!(fixture.has(r"C:\outside\x"));
}

#[test]
fn a_folder_on_a_mounted_volume_counts() {
    let unserved = NodeFixture::new().roots(&[r"C:\mnt\work"]);
    unserved.mount(r"C:\mnt", unserved.volume);
    unserved.directory(r"C:\mnt\work");
    let volume = unserved.volume;
    let fixture = unserved.serve_watching(&[]);
    assert_eq!(fixture.call(PathCall::Mkdir, r"C:\mnt\work\a"), Ok(()));
    assert!(fixture.has(&format!(r"{volume}work\a")));
    assert!(fixture.call(PathCall::Mkdir, r"C:\mnt\other").is_err());
}

/// Guards: P51
#[test]
fn a_folder_that_does_not_exist_yet_is_taken_when_it_appears_as_a_directory() {
    let fixture = NodeFixture::new()
        .roots(&[r"C:\later\work"])
        .serve_watching(&[r"C:\later"]);
    assert_eq!(fixture.exists(r"C:\later\work\x"), Ok(false));
    assert!(fixture.call(PathCall::Rmdir, r"C:\later\work\x").is_err());
    assert_eq!(
        fixture.call(PathCall::RmdirForce, r"C:\later\work\x"),
        Ok(())
    );
    assert_eq!(fixture.call(PathCall::Mkdir, r"C:\later\work\x"), Ok(()));
    assert!(fixture.has(r"C:\later\work\x"));
}

/// Anybody may create folders at the root of a drive.
/// Guards: P51
#[test]
fn a_folder_that_does_not_exist_yet_is_not_taken_when_it_appears_as_a_link() {
    for junction in [r"C:\later", r"C:\later\work"] {
        let fixture = NodeFixture::new().roots(&[r"C:\later\work"]).serve();
        fixture.directory(r"C:\outside\work\x");
        fixture.directory(r"C:\later");
        let target = match junction {
            r"C:\later" => {
                fixture
                    .sim
                    .os()
                    .files
                    .remove_directory(&path(junction))
                    .unwrap();
                r"C:\outside"
            }
            _ => r"C:\outside\work",
        };
        fixture.junction(junction, target);
        for call in PathCall::confined().filter(|call| *call != PathCall::SymlinkTo) {
            let refused = fixture.call(call, r"C:\later\work\x").expect_err(junction);
            assert!(
                refused.contains("was not there when"),
                "{call:?}: {refused}"
            );
        }
        assert!(fixture.has(r"C:\outside\work\x"));
    }
}

#[test]
fn a_folder_within_another_may_be_a_link_to_elsewhere() {
    let inner = at("inner");
    let unserved = NodeFixture::new().roots(&[KUBELET, &inner]);
    unserved.directory(r"C:\elsewhere");
    unserved.symlink(&inner, r"C:\elsewhere");
    unserved.symlink(&at("to-inner"), &inner);
    let fixture = unserved.serve_watching(&[KUBELET, r"C:\elsewhere"]);
    for (index, way) in [inner, at("to-inner")].iter().enumerate() {
        assert_eq!(
            fixture.call(PathCall::Mkdir, &format!(r"{way}\{index}")),
            Ok(())
        );
        assert!(fixture.has(&format!(r"C:\elsewhere\{index}")));
    }
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
}

/// Guards: P48
#[test]
fn without_confinement_the_reach_is_csi_proxys() {
    let fixture = NodeFixture::new()
        .confined_by(Confinement::Anywhere)
        .serve();
    fixture.directory(r"C:\outside\x");
    fixture.symlink(&at("link"), r"C:\outside");
    assert_eq!(fixture.exists(&at(r"link\x")), Ok(true));
    assert_eq!(fixture.call(PathCall::Mkdir, &at(r"link\made")), Ok(()));
    assert!(fixture.has(r"C:\outside\made"));
    assert_eq!(fixture.is_link(r"C:\outside\x"), Ok(false));
    assert_eq!(fixture.call(PathCall::Mount, r"C:\outside\made"), Ok(()));
    assert_eq!(
        fixture.volume_of("/outside/made"),
        Ok(fixture.volume.to_string())
    );
    let outside = fixture.exists(r"C:\outside\x").unwrap_err();
    assert!(
        outside.contains("is not within the working directories"),
        "{outside}"
    );
}
