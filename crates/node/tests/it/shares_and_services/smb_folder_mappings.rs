//! Folders that are mapped themselves, as other drivers map them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use wincsi_node::api::{Condition, Error, NodeApi};
use wincsi_node::{MapOutcome, MapRequest, RemotePath, ResolvedPath, SmbError, UnmapOutcome};

use crate::shares_and_services::smb::{credentials, map, mapped, remote};
use crate::support::{NodeFixture, PASSWORD, SHARE, path};

const LINK: &str = r"C:\var\globalmount";
const FOLDER: &str = r"\\files\share\pv";
const BELOW: &str = r"\\files\share\pv\one";

fn with_folders() -> NodeFixture {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    for folder in [FOLDER, BELOW] {
        fixture.os().files.create_directory(&path(folder)).unwrap();
    }
    fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    fixture
}

fn map_for_driver(fixture: &NodeFixture, remote: &RemotePath) -> Result<MapOutcome, Error> {
    let (link, credentials) = (ResolvedPath::from(&path(LINK)), credentials(PASSWORD));
    let request = MapRequest::of(remote)
        .with_credentials(&credentials)
        .with_link(&link);
    NodeApi::smb(&fixture.node).map(&request, fixture.soon())
}

#[test]
fn a_folder_is_mapped_and_unmapped_itself_and_its_share_is_none_of_it() {
    let fixture = with_folders();
    let folder = remote(FOLDER).folder_itself();
    assert_eq!(map_for_driver(&fixture, &folder).unwrap(), MapOutcome::Made);
    assert_eq!(
        map_for_driver(&fixture, &folder).unwrap(),
        MapOutcome::Reused
    );
    assert_eq!(mapped(&fixture), [FOLDER]);
    let share = fixture.smb().unmap(&remote(SHARE), fixture.soon());
    assert!(
        matches!(share, Err(SmbError::NotMapped { .. })),
        "{share:?}"
    );
    let unmap = |is_used: bool| {
        fixture
            .smb()
            .unmap_unless(&folder, || is_used, fixture.soon())
    };
    assert_eq!(unmap(true), Ok(UnmapOutcome::InUse));
    assert_eq!(mapped(&fixture), [FOLDER]);
    assert_eq!(unmap(false), Ok(UnmapOutcome::Unmapped));
    assert_eq!(mapped(&fixture), [""; 0]);
}

#[test]
fn what_lies_below_a_mapped_folder_is_reached_through_its_mapping() {
    let fixture = with_folders();
    let folder = remote(FOLDER).folder_itself();
    map_for_driver(&fixture, &folder).unwrap();
    fixture.os().files.remove_directory(&path(LINK)).unwrap();
    let below = remote(BELOW).through(&folder).unwrap();
    assert_eq!(
        map_for_driver(&fixture, &below).unwrap(),
        MapOutcome::Reused
    );
    assert_eq!(mapped(&fixture), [FOLDER]);
    fixture.smb().unmap(&below, fixture.soon()).unwrap();
    assert_eq!(mapped(&fixture), [""; 0]);
}

#[test]
fn a_folder_that_the_share_lacks_is_not_mapped_itself() {
    let fixture = with_folders();
    let missing = remote(r"\\files\share\none").folder_itself();
    let error = map_for_driver(&fixture, &missing).unwrap_err();
    assert!(error.is(Condition::NotFound), "{error}");
    assert_eq!(mapped(&fixture), [""; 0]);
}

#[test]
fn a_folder_beside_its_mapped_share_conflicts() {
    let fixture = with_folders();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let error = map_for_driver(&fixture, &remote(FOLDER).folder_itself()).unwrap_err();
    assert!(error.is(Condition::CredentialsConflict), "{error}");
    assert_eq!(mapped(&fixture), [SHARE]);
}
