//! Folders below a share, which a driver wants to be there.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use os::layer::forward::ForwardProvider;
use os::schema::smb_global_mapping as mapping;
use os::{Arguments, Deadline, Outcome, Provider, Target, Value, Win32};
use os_sim::{Effect, Rule};
use wincsi_node::api::{Cause, Condition, Error, NodeApi};
use wincsi_node::{MapOutcome, MapRequest, ResolvedPath};

use crate::shares_and_services::smb::{calls, credentials, map, mapped, remote};
use crate::shares_and_services::smb_waits::{WaitsFixture, eventually};
use crate::support::{NodeFixture, PASSWORD, SHARE, inject, path};

const LINK: &str = r"C:\var\globalmount";
const FOLDER: &str = r"\\files\share\pv\one";

fn map_for_driver(fixture: &NodeFixture) -> Result<MapOutcome, Error> {
    let (remote, credentials) = (remote(FOLDER), credentials(PASSWORD));
    let link = ResolvedPath::from(&path(LINK));
    let request = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_link(&link);
    NodeApi::smb(&fixture.node).map(&request, fixture.soon())
}

fn make_folder(fixture: &NodeFixture) {
    for folder in [r"\\files\share\pv", FOLDER] {
        fixture.os().files.create_directory(&path(folder)).unwrap();
    }
}

fn has_link(fixture: &NodeFixture) -> bool {
    fixture.os().files.entry(&path(LINK)).is_ok()
}

#[track_caller]
fn refused(fixture: &NodeFixture) {
    let error = map_for_driver(fixture).unwrap_err();
    assert!(error.is(Condition::NotFound), "{error}");
    assert!(!has_link(fixture));
}

#[test]
fn a_folder_that_the_share_lacks_is_refused_and_leaves_nothing_mapped() {
    let fixture = NodeFixture::with_server();
    refused(&fixture);
    assert_eq!(mapped(&fixture), [""; 0]);
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    make_folder(&fixture);
    fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    assert_eq!(map_for_driver(&fixture).unwrap(), MapOutcome::Made);
    assert!(has_link(&fixture));
}

/// Others work with it.
#[test]
fn a_share_that_was_mapped_before_stays_so_where_it_lacks_the_folder() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let trace = fixture.trace(|| refused(&fixture));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
    assert_eq!(mapped(&fixture), [SHARE]);
    let restarted = inject::node(&fixture, |_| {});
    fixture.change_password("new");
    let (remote, credentials) = (remote(FOLDER), credentials("new"));
    let request = MapRequest::of(&remote).with_credentials(&credentials);
    let renewed = NodeApi::smb(&restarted).map(&request, fixture.soon());
    assert!(renewed.unwrap_err().is(Condition::NotFound));
    assert_eq!(
        mapped(&fixture),
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
    let fixture = NodeFixture::with_server();
    let faults = fixture.faults();
    let denied = faults.add(look(Win32::ACCESS_DENIED));
    assert_eq!(map_for_driver(&fixture).unwrap(), MapOutcome::Made);
    faults.remove(denied);
    fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    fixture
        .filesystem()
        .remove_entry(ResolvedPath::from(&path(LINK)), fixture.soon())
        .unwrap();
    let away = faults.add(look(Win32::BAD_NETPATH));
    let error = map_for_driver(&fixture).unwrap_err();
    assert!(error.is(Condition::ServerAway), "{error}");
    assert!(!has_link(&fixture));
    faults.remove(away);
    faults.add(look(Win32::NO_SYSTEM_RESOURCES));
    let error = map_for_driver(&fixture).unwrap_err();
    assert!(!error.is(Condition::NotFound), "{error}");
    assert!(!has_link(&fixture));
}

/// A driver whose call failed unmaps nothing.
#[test]
fn a_look_at_a_folder_that_fails_leaves_no_mapping_of_its_own_call() {
    for code in [Win32::BAD_NETPATH, Win32::NO_SYSTEM_RESOURCES] {
        let reads = Rule::on("GetFileAttributesExW", Effect::fail(code)).object(FOLDER);
        let fixture = NodeFixture::with_server();
        fixture.fault(reads.clone());
        map_for_driver(&fixture).unwrap_err();
        assert_eq!(mapped(&fixture), [""; 0], "{code:?}");
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        fixture.fault(reads);
        map_for_driver(&fixture).unwrap_err();
        assert_eq!(mapped(&fixture), [SHARE], "{code:?}: others work with it");
    }
}

#[test]
fn a_link_that_cannot_be_made_leaves_no_mapping_of_its_own_call() {
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    let rule = Rule::on("CreateSymbolicLinkW", denied);
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    make_folder(&fixture);
    fixture.fault(rule);
    let error = map_for_driver(&fixture).unwrap_err();
    assert!(error.is(Condition::AccessDenied), "{error}");
    assert_eq!(mapped(&fixture), [SHARE], "others work with it");
    fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    let error = map_for_driver(&fixture).unwrap_err();
    assert!(error.is(Condition::AccessDenied), "{error}");
    assert_eq!(mapped(&fixture), [""; 0]);
}

/// A driver drops the record of a share after a final failure.
#[test]
fn a_failure_that_leaves_a_mapping_of_its_own_call_says_so_and_is_no_final_one() {
    let fixture = NodeFixture::with_server();
    fixture.fail("MSFT_SmbGlobalMapping.Remove", Win32::ACCESS_DENIED);
    let error = map_for_driver(&fixture).unwrap_err();
    assert!(error.is(Condition::NotReady), "{error}");
    let text = error.to_string();
    let both = ["no such folder", "stays mapped"];
    assert!(both.iter().all(|part| text.contains(part)), "{text}");
    assert_eq!(mapped(&fixture), [SHARE]);
}

#[test]
fn a_mapping_that_is_in_use_by_now_is_left_to_those_who_use_it() {
    for code in [Win32::OPEN_FILES, Win32::DEVICE_IN_USE] {
        let fixture = NodeFixture::with_server();
        fixture.fail("MSFT_SmbGlobalMapping.Remove", code);
        refused(&fixture);
        assert_eq!(mapped(&fixture), [SHARE], "{code:?}");
    }
}

#[test]
fn a_look_at_a_folder_that_outlives_its_call_leaves_no_mapping_of_that_call() {
    let queue = WaitsFixture::with_share_of_another();
    let fixture = &queue.fixture;
    fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    let ten_seconds = Deadline::within(&*fixture.os().clock, Duration::from_secs(10));
    let node = &fixture.node;
    let error = thread::scope(|scope| {
        let hanging = queue.hang("GetFileAttributesExW");
        let call = scope.spawn(move || {
            let (remote, credentials) = (remote(FOLDER), credentials(PASSWORD));
            let request = MapRequest::of(&remote).with_credentials(&credentials);
            NodeApi::smb(node).map(&request, ten_seconds)
        });
        queue.wait_until_one_hangs();
        fixture.let_pass(Duration::from_secs(11));
        let error = call.join().unwrap().unwrap_err();
        drop(hanging);
        error
    });
    assert_eq!(error.cause, Cause::Deadline, "{error}");
    // The call goes on without its caller, with the share's lock.
    eventually("the share is not mapped", || mapped(fixture).is_empty());
}

/// Another process may have begun to work with it.
#[test]
fn files_that_are_open_keep_a_mapping_that_was_made_in_vain() {
    let fixture = NodeFixture::with_server();
    let forced = Arc::new(Mutex::new(Vec::new()));
    let node = inject::node(&fixture, |os| {
        let (provider, forced) = (Arc::clone(&os.smb), Arc::clone(&forced));
        os.smb = Arc::new(Removals { provider, forced });
    });
    let (remote, credentials) = (remote(FOLDER), credentials(PASSWORD));
    let request = MapRequest::of(&remote).with_credentials(&credentials);
    NodeApi::smb(&node)
        .map(&request, fixture.soon())
        .unwrap_err();
    assert_eq!(*forced.lock().unwrap(), [false]);
}

/// Keeps whether files that are open are to be closed with a mapping.
struct Removals {
    provider: Arc<dyn Provider>,
    forced: Arc<Mutex<Vec<bool>>>,
}

impl ForwardProvider for Removals {
    fn to(&self) -> &dyn Provider {
        &*self.provider
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> os::Result<Outcome> {
        if method == mapping::REMOVE.name {
            let force = arguments.0.get(mapping::remove::FORCE.name);
            let is_forced = force == Some(&Value::Bool(true));
            self.forced.lock().unwrap().push(is_forced);
        }
        self.provider.invoke(target, method, arguments, deadline)
    }
}

/// csi-proxy maps and links whatever it is asked for.
#[test]
fn csi_proxys_call_maps_and_links_a_folder_that_the_share_lacks() {
    let fixture = NodeFixture::with_server();
    assert_eq!(
        map(&fixture, FOLDER, PASSWORD, Some(LINK)),
        Ok(MapOutcome::Made)
    );
    assert_eq!(mapped(&fixture), [SHARE]);
    assert!(has_link(&fixture));
}
