//! A process that may write in a folder exchanges it while a link is made there. `random_swaps.rs` has random moments.

use std::thread;

use os::{Component, Files, LinkKind};
use os_sim::{ClockMode, SimNode, demo};
use wincsi_proxy::flags::Config;
use wincsi_proxy::paths::Confinement;
use wincsi_proxy::serve;

use super::attack::{Attack, LINK, OUTSIDE, POD, Released, swapping};
use super::fixture::{Hands, NodeFixture, PathCall, path};
use crate::support::turn;

/// However long the server takes, the folder stays the same.
/// Guards: P56
#[test]
fn a_slow_server_gives_nobody_time_to_lead_a_link_out() {
    let fixture = swapping();
    let before = fixture.outside();
    let slow = fixture.hang("MSFT_SmbGlobalMapping.Create");
    thread::scope(|scope| {
        let _released = Released(&fixture);
        let mapping = scope.spawn(|| fixture.call(PathCall::MapShareAt, LINK));
        fixture.wait_for_hang(1);
        Attack::Junction.run(&fixture.sim);
        Attack::Link.run(&fixture.sim);
        fixture.faults().remove(slow);
        assert_eq!(mapping.join().unwrap(), Ok(()));
    });
    assert_eq!(fixture.outside(), before);
    assert_eq!(fixture.is_link(LINK), Ok(true));
    assert_eq!(fixture.offences.take(), Vec::<String>::new());
}

/// As with csi-proxy. The attacker needs no race, since links are followed wherever they lead.
/// Guards: P54
#[test]
fn without_confinement_a_folder_that_becomes_a_junction_leads_a_link_out() {
    let unserved = NodeFixture::new().confined_by(Confinement::Anywhere);
    unserved.directory(POD);
    unserved.directory(OUTSIDE);
    let fixture = unserved.serve();
    Attack::Junction.run(&fixture.sim);
    assert_eq!(fixture.call(PathCall::MapShareAt, LINK), Ok(()));
    assert!(fixture.has(&format!(r"{OUTSIDE}\smb")));
}

/// The link was there before. Its folder then leads to another folder with an equal link.
/// Guards: P56
#[test]
fn an_equal_link_elsewhere_is_not_taken_for_the_one_that_was_removed() {
    let fixture = swapping();
    fixture.symlink(LINK, demo::SHARE);
    fixture.symlink(&format!(r"{OUTSIDE}\smb"), demo::SHARE);
    let before = fixture.outside();
    let slow = fixture.hang("MSFT_SmbGlobalMapping.Create");
    thread::scope(|scope| {
        let _released = Released(&fixture);
        let mapping = scope.spawn(|| fixture.call(PathCall::MapShareAt, LINK));
        fixture.wait_for_hang(1);
        fixture.files().remove_directory(&path(LINK)).unwrap();
        Attack::Junction.run(&fixture.sim);
        fixture.faults().remove(slow);
        let refused = mapping.join().unwrap().unwrap_err();
        assert!(refused.contains("reparse point"), "{refused}");
    });
    assert_eq!(fixture.outside(), before);
}

/// Perhaps no call ever comes for the folder again, and kubelet cannot remove it.
/// Guards: P56
#[test]
fn the_start_removes_what_a_death_left_of_a_link() {
    const NAME: &str = ".wincsi-link-0123456789abcdef0123456789abcdef";
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("node");
    let left = path(POD).join(Component::parse(NAME).unwrap());
    let note = path(r"C:\Program Files\wincsi").join(Component::parse(NAME).unwrap());
    let before = demo::create(&home, ClockMode::Real).unwrap();
    for path in [&left, &note] {
        for depth in 1..path.components().len() {
            let _ = before.files().create_directory(&path.prefix(depth));
        }
    }
    before.files().create_directory(&left).unwrap();
    let kind = LinkKind::Directory;
    before.files().create_symlink(&note, POD, kind).unwrap();
    drop(before);
    let config = Config {
        simulate: Some(home.clone()),
        listen: folder.path().join("sockets"),
        ..Config::default()
    };
    drop(serve::start(&config).unwrap());
    let after = SimNode::open(&home, ClockMode::Real).unwrap();
    assert_eq!(after.files().list(&path(POD)), Ok(Vec::new()));
    assert!(after.files().entry(&note).is_err());
}
