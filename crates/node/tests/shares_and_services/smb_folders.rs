//! Folders below a share, which a driver wants to be there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os::Win32;
use os::schema::smb_global_mapping as mapping;
use os_sim::{Effect, Rule};
use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{MapOutcome, MapRequest, Way};

use crate::smb::{calls, credentials, map, mapped, remote};
use crate::support::{PASSWORD, Rig, SHARE, meddle, path};

const LINK: &str = r"C:\var\globalmount";
const FOLDER: &str = r"\\files\share\pv\one";

fn map_for_driver(rig: &Rig) -> Result<MapOutcome, Error> {
    let (remote, credentials) = (remote(FOLDER), credentials(PASSWORD));
    let link = Way::from(&path(LINK));
    let request = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_link(&link);
    NodeApi::smb(&rig.node).map(&request, rig.soon())
}

fn make_folder(rig: &Rig) {
    for folder in [r"\\files\share\pv", FOLDER] {
        rig.os().files.create_directory(&path(folder)).unwrap();
    }
}

fn has_link(rig: &Rig) -> bool {
    rig.os().files.entry(&path(LINK)).is_ok()
}

#[track_caller]
fn refused(rig: &Rig) {
    let error = map_for_driver(rig).unwrap_err();
    assert!(error.is(Condition::NotFound), "{error}");
    assert!(!has_link(rig));
}

#[test]
fn a_folder_that_the_share_lacks_is_refused_and_leaves_nothing_mapped() {
    let rig = Rig::with_server();
    refused(&rig);
    assert_eq!(mapped(&rig), [""; 0]);
    map(&rig, SHARE, PASSWORD, None).unwrap();
    make_folder(&rig);
    rig.smb().unmap(&remote(SHARE), rig.soon()).unwrap();
    assert_eq!(map_for_driver(&rig).unwrap(), MapOutcome::Made);
    assert!(has_link(&rig));
}

/// Others work with it.
#[test]
fn a_share_that_was_mapped_before_stays_so_where_it_lacks_the_folder() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let trace = rig.trace(|| refused(&rig));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
    assert_eq!(mapped(&rig), [SHARE]);
    let restarted = meddle::node(&rig, |_| {});
    rig.change_password("new");
    let (remote, credentials) = (remote(FOLDER), credentials("new"));
    let request = MapRequest::of(&remote).with_credentials(&credentials);
    let renewed = NodeApi::smb(&restarted).map(&request, rig.soon());
    assert!(renewed.unwrap_err().is(Condition::NotFound));
    assert_eq!(
        mapped(&rig),
        [SHARE],
        "one that was of no use is made anew and kept"
    );
}

/// Only what is missing is refused: an account may be denied a look, and use what is below.
#[test]
fn a_folder_that_does_not_say_whether_it_is_there_is_no_missing_one() {
    let look = |code| {
        let fails = Rule::on("GetFileAttributesExW", Effect::fail(code));
        fails.object(FOLDER)
    };
    let rig = Rig::with_server();
    let faults = rig.sim.faults();
    let denied = faults.add(look(Win32::ACCESS_DENIED));
    assert_eq!(map_for_driver(&rig).unwrap(), MapOutcome::Made);
    faults.remove(denied);
    rig.smb().unmap(&remote(SHARE), rig.soon()).unwrap();
    rig.filesystem()
        .remove_entry(Way::from(&path(LINK)), rig.soon())
        .unwrap();
    faults.add(look(Win32::BAD_NETPATH));
    let away = map_for_driver(&rig).unwrap_err();
    assert!(away.is(Condition::ServerAway), "{away}");
    assert_eq!(mapped(&rig), [SHARE]);
    assert!(!has_link(&rig));
}

/// csi-proxy maps and links whatever it is asked for.
#[test]
fn csi_proxys_call_maps_and_links_a_folder_that_the_share_lacks() {
    let rig = Rig::with_server();
    assert_eq!(
        map(&rig, FOLDER, PASSWORD, Some(LINK)),
        Ok(MapOutcome::Made)
    );
    assert_eq!(mapped(&rig), [SHARE]);
    assert!(has_link(&rig));
}
