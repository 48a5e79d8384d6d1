//! Mappings that are of no use, and which of them are made anew.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::num::NonZeroU16;
use std::thread;

use os::schema::{Build, smb_global_mapping as mapping};
use os::{Arguments, Deadline, Instance, Os, Target, Value, Win32};
use os_sim::smb::{SavedMappings, ServerSpec};
use os_sim::{Effect, NodeSpec, Rule};
use wincsi_node::{MapOutcome, MapRequest, MappingOptions, SmbError, Transport, api};

use crate::shares_and_services::smb::{
    UNREACHABLE, calls, changes, credentials, looks_fail, map, map_as, mapped, plainly, remote,
};
use crate::shares_and_services::smb_waits::{WaitsFixture, create};
use crate::support::{NodeFixture, PASSWORD, SHARE, USER, inject, path, warnings};

/// A secret that was changed: the same user comes with another. The same one would be refused again.
#[test]
fn refused_credentials_are_replaced_by_others_and_kept_for_the_same() {
    for code in [
        65, 86, 1244, 1312, 1326, 1327, 1328, 1329, 1330, 1331, 1793, 1907, 1909,
    ] {
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        looks_fail(&fixture, Win32(code), 1);
        let trace = fixture.trace(|| {
            let error = map(&fixture, SHARE, PASSWORD, None).unwrap_err();
            let error = api::Error::new("map", SHARE, error);
            assert_eq!(error.code(), Some(api::Code::Win32(Win32(code))), "{error}");
        });
        assert_eq!(changes(&trace), 0, "{code}");
        looks_fail(&fixture, Win32(code), 2);
        let restarted = inject::node(&fixture, |_| {});
        let trace = fixture.trace(|| {
            let mapped = plainly(&restarted, fixture.soon());
            assert_eq!(mapped, Ok(MapOutcome::Made), "{code}");
        });
        assert_eq!(calls(&trace, mapping::REMOVE.name), 1, "{code}");
        assert_eq!(calls(&trace, mapping::CREATE.name), 1, "{code}");
    }
}

/// A pod's own volume may not take a mapping from others.
#[test]
fn a_request_that_keeps_what_is_mapped_makes_no_mapping_anew() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    looks_fail(&fixture, Win32(1326), 2);
    let trace = fixture.trace(|| drop(keeping(&fixture, "other").unwrap_err()));
    assert_eq!(changes(&trace), 0);
    let dead = with_dead_mapping();
    let trace = dead.trace(|| drop(keeping(&dead, PASSWORD).unwrap_err()));
    assert_eq!(changes(&trace), 0);
}

fn keeping(fixture: &NodeFixture, password: &str) -> Result<MapOutcome, SmbError> {
    let restarted = inject::node(fixture, |_| {});
    let (remote, credentials) = (remote(SHARE), credentials(password));
    let request = MapRequest::of(&remote).with_credentials(&credentials);
    let smb = restarted.operations().smb();
    smb.map(&request.keeping_what_is_mapped(), fixture.soon())
}

/// Whatever it is, pods may work with the mapping; also where Windows does not call it OK.
#[test]
fn any_other_code_fails_the_call_and_removes_nothing() {
    for code in [2, 3, 8, 14, 31, 55, 87, 123, 1219, 1450, 1455, 2250].map(Win32) {
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        let let_go = inject::node(&fixture, let_go);
        looks_fail(&fixture, code, 2);
        let trace = fixture.trace(|| {
            for error in [
                map(&fixture, SHARE, "other", None).unwrap_err(),
                plainly(&let_go, fixture.soon()).unwrap_err(),
            ] {
                let error = api::Error::new("map", SHARE, error);
                assert_eq!(error.code(), Some(api::Code::Win32(code)), "{error}");
            }
        });
        assert_eq!(changes(&trace), 0, "{code:?}");
        assert_eq!(map(&fixture, SHARE, PASSWORD, None), Ok(MapOutcome::Reused));
    }
}

/// Has Windows call every mapping disconnected.
pub(crate) fn let_go(os: &mut Os) {
    fn disconnected(row: &mut Instance) {
        if let Some(value) = row.properties.get_mut(mapping::STATUS.name) {
            *value = Value::uint32(mapping::status::DISCONNECTED.value);
        }
    }
    inject::each_row(&mut os.smb, disconnected);
}

/// A node that was restarted, and whose mapping stays dead though the server lives.
fn with_dead_mapping() -> NodeFixture {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    leave_dead(&fixture);
    fixture
}

/// Restarts the node, and leaves the server's mappings dead.
fn leave_dead(fixture: &NodeFixture) {
    saved_mappings(fixture, SavedMappings::StayDead);
    fixture.reboot().unwrap();
}

fn saved_mappings(fixture: &NodeFixture, fare: SavedMappings) {
    let change = |server: &mut ServerSpec| server.saved_mappings = fare;
    fixture.servers().change_server("files", change).unwrap();
}

/// azurefile-csi-driver#3416, csi-driver-smb#1219: seen on Windows Server 2025 after a restart. Another mapping beside
/// it is refused.
#[test]
fn a_mapping_that_windows_leaves_dead_is_made_anew() {
    let fixture = with_dead_mapping();
    assert!(fixture.os().files.entry(&path(SHARE)).is_err());
    let restarted = inject::node(&fixture, |_| {});
    let trace = fixture.trace(|| {
        let logged = warnings::captured(|| {
            assert_eq!(plainly(&restarted, fixture.soon()), Ok(MapOutcome::Made));
        });
        assert!(logged.contains("nobody known"), "{logged}");
    });
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert!(fixture.os().files.entry(&path(SHARE)).is_ok());
    assert_eq!(plainly(&restarted, fixture.soon()), Ok(MapOutcome::Reused));
    assert_eq!(restarted.operations().smb().failed_renewals(), 0);
}

#[test]
fn a_mapping_that_is_not_ok_is_renewed_if_its_server_answers() {
    for code in UNREACHABLE {
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        let node = inject::node(&fixture, let_go);
        // Two looks, each of which a lost connection has made twice.
        looks_fail(&fixture, Win32(code), 4);
        assert_eq!(
            plainly(&node, fixture.soon()),
            Ok(MapOutcome::Made),
            "{code}"
        );
    }
}

#[test]
fn a_mapping_of_another_user_is_not_made_anew_and_one_of_the_same_is() {
    let fixture = with_dead_mapping();
    let trace = fixture.trace(|| {
        let error = map_as(&fixture, SHARE, Some(r"FILES\bob")).unwrap_err();
        assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
    });
    assert_eq!(changes(&trace), 0);
    assert_eq!(map(&fixture, SHARE, PASSWORD, None), Ok(MapOutcome::Made));
}

/// The mapping would be all that others have, if the server were away indeed.
#[test]
fn without_an_answer_at_the_transports_own_port_no_mapping_is_made_anew() {
    let spec = NodeSpec::named("node-1").build(Build::SERVER_2025);
    let fixture = NodeFixture::with_server_on(&spec);
    let elsewhere = |server: &mut ServerSpec| {
        server.saved_mappings = SavedMappings::StayDead;
        server.tcp_ports = vec![1445];
    };
    fixture.servers().change_server("files", elsewhere).unwrap();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    fixture.reboot().unwrap();
    let trace = fixture.trace(|| {
        let error = map(&fixture, SHARE, PASSWORD, None).unwrap_err();
        assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
    });
    assert_eq!((calls(&trace, "connect"), changes(&trace)), (1, 0));
    let (remote, credentials) = (remote(SHARE), credentials(PASSWORD));
    let odd = MappingOptions::default().with_tcp_port(NonZeroU16::new(1445).unwrap());
    let mapping = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_options(odd);
    assert_eq!(
        fixture.smb().map(&mapping, fixture.soon()),
        Ok(MapOutcome::Made)
    );
}

/// Nobody can be asked there whether the server answers.
#[test]
fn over_quic_no_mapping_is_removed_for_a_server_that_is_away() {
    let spec = NodeSpec::named("node-1").build(Build::SERVER_2025);
    let fixture = NodeFixture::with_server_on(&spec);
    let (remote, credentials) = (remote(SHARE), credentials(PASSWORD));
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let node = inject::node(&fixture, let_go);
    looks_fail(&fixture, Win32::BAD_NETPATH, 1);
    let quic = MappingOptions::default().with_transport(Transport::Quic);
    let mapping = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_options(quic);
    let trace = fixture.trace(|| {
        let error = node.operations().smb().map(&mapping, fixture.soon());
        let error = error.unwrap_err();
        assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
    });
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
    assert_eq!(calls(&trace, "connect"), 0);
}

#[test]
fn a_renewal_whose_create_fails_is_counted_and_the_next_call_tries_again() {
    let fixture = with_dead_mapping();
    let (create, failing) = (create(), Effect::fail(Win32::NETNAME_DELETED));
    fixture.fault(Rule::on(&create, failing).times(1));
    let logged = warnings::captured(|| {
        let error = map(&fixture, SHARE, PASSWORD, None).unwrap_err();
        let error = api::Error::new("map", SHARE, error);
        assert_eq!(error.code(), Some(api::Code::Win32(Win32::NETNAME_DELETED)));
    });
    assert!(logged.contains("could not be made anew"), "{logged}");
    assert_eq!(fixture.smb().failed_renewals(), 1);
    assert_eq!(mapped(&fixture), Vec::<String>::new());
    assert_eq!(map(&fixture, SHARE, PASSWORD, None), Ok(MapOutcome::Made));
    assert_eq!(fixture.smb().failed_renewals(), 1);
}

/// The result of a call for a share that waited for the lock of its server before it removed a mapping, and went
/// on after `meanwhile`; and how many mappings it removed.
fn outcome_after(
    queue: &WaitsFixture,
    share: &str,
    meanwhile: impl FnOnce(&NodeFixture),
) -> (Result<MapOutcome, SmbError>, usize) {
    let map = queue.mapper();
    let outcome = thread::scope(|scope| {
        let hanging = queue.hang(&create());
        let ahead = scope.spawn(move || map(r"\\files\other"));
        queue.wait_until_one_hangs();
        let renewal = scope.spawn(move || map(share));
        queue.wait_until_so_many_wait(1);
        meanwhile(&queue.fixture);
        drop(hanging);
        // Beside one whose user is saved it is refused (1219), which proves nothing about the
        // server.
        drop(ahead.join().unwrap());
        renewal.join().unwrap()
    });
    (outcome, calls(&queue.trace(), mapping::REMOVE.name))
}

/// The same of a mapping that is dead.
fn renewed_after(meanwhile: impl FnOnce(&NodeFixture)) -> (Result<MapOutcome, SmbError>, usize) {
    let queue = WaitsFixture::with_mapped_share();
    leave_dead(&queue.fixture);
    outcome_after(&queue, SHARE, meanwhile)
}

/// The same of a mapping that another process made, and that is refused access.
fn replaced_after(meanwhile: impl FnOnce(&NodeFixture)) -> (Result<MapOutcome, SmbError>, usize) {
    let queue = WaitsFixture::with_share_of_another();
    looks_fail(&queue.fixture, Win32::ACCESS_DENIED, 1);
    outcome_after(&queue, SHARE, meanwhile)
}

fn use_again(fixture: &NodeFixture) {
    saved_mappings(fixture, SavedMappings::Reconnect);
    fixture.os().files.entry(&path(SHARE)).unwrap();
}

/// The result of a call for a dead mapping while whose server's port is asked this happens, and how often it changed a
/// mapping.
fn asked_beside(meanwhile: impl FnOnce(&NodeFixture)) -> (Result<MapOutcome, SmbError>, usize) {
    let queue = WaitsFixture::with_mapped_share();
    leave_dead(&queue.fixture);
    let map = queue.mapper();
    let mapped = thread::scope(|scope| {
        let hanging = queue.hang("connect");
        let renewal = scope.spawn(move || map(SHARE));
        queue.wait_until_one_hangs();
        meanwhile(&queue.fixture);
        drop(hanging);
        renewal.join().unwrap()
    });
    (mapped, changes(&queue.trace()))
}

#[test]
fn a_mapping_that_is_ok_once_its_servers_port_has_answered_is_reused() {
    assert_eq!(asked_beside(use_again), (Ok(MapOutcome::Reused), 0));
}

/// Windows calls it disconnected until somebody uses it.
#[test]
fn a_mapping_that_came_back_unused_while_its_servers_port_was_asked_is_not_removed() {
    let found = asked_beside(|fixture| saved_mappings(fixture, SavedMappings::Reconnect));
    assert_eq!(found, (Ok(MapOutcome::Reused), 0));
}

/// Windows calls it disconnected until somebody uses it, and pods may be about to.
#[test]
fn a_mapping_that_came_back_while_its_servers_lock_was_waited_for_is_reused() {
    let back = renewed_after(|fixture| saved_mappings(fixture, SavedMappings::Reconnect));
    assert_eq!(back, (Ok(MapOutcome::Reused), 0));
    assert_eq!(renewed_after(use_again), (Ok(MapOutcome::Reused), 0));
}

#[test]
fn a_mapping_that_is_still_dead_after_the_wait_for_its_servers_lock_is_made_anew() {
    assert_eq!(renewed_after(|_| {}), (Ok(MapOutcome::Made), 1));
}

#[test]
fn what_a_look_after_the_wait_for_a_servers_lock_does_not_call_dead_is_not_removed() {
    for code in [5, 1326, 1450] {
        let (failed, removed) = renewed_after(|fixture| {
            looks_fail(fixture, Win32(code), 1);
        });
        let error = api::Error::new("map", SHARE, failed.unwrap_err());
        assert_eq!(error.code(), Some(api::Code::Win32(Win32(code))), "{error}");
        assert_eq!(removed, 0, "{code}");
    }
    let ok_and_away = |fixture: &NodeFixture| {
        use_again(fixture);
        looks_fail(fixture, Win32::BAD_NETPATH, 1);
    };
    let silent = |fixture: &NodeFixture| {
        let silent = |server: &mut ServerSpec| server.tcp_ports.clear();
        fixture.servers().change_server("files", silent).unwrap();
    };
    for (failed, removed) in [renewed_after(ok_and_away), renewed_after(silent)] {
        let error = failed.unwrap_err();
        assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
        assert_eq!(removed, 0);
    }
}

/// The look may be another's, from while this call waited for the lock of the share.
#[test]
fn a_refused_mapping_that_answers_under_the_servers_lock_is_not_removed() {
    let queue = WaitsFixture::with_share_of_another();
    looks_fail(&queue.fixture, Win32::LOGON_FAILURE, 1);
    let mapped = queue.mapper()(SHARE);
    assert_eq!(mapped, Ok(MapOutcome::ReusedUnknown));
    assert_eq!(changes(&queue.trace()), 0);
}

/// A password was changed, say, and another process has made the mapping anew with the new one.
#[test]
fn a_refused_mapping_that_answers_after_the_wait_for_its_servers_lock_is_not_removed() {
    assert_eq!(replaced_after(|_| {}), (Ok(MapOutcome::ReusedUnknown), 0));
}

#[test]
fn a_refused_mapping_whose_folder_answers_after_the_wait_for_its_servers_lock_is_not_removed() {
    let queue = WaitsFixture::with_share_of_another();
    let folder = format!(r"{SHARE}\pv");
    queue
        .fixture
        .os()
        .files
        .create_directory(&path(&folder))
        .unwrap();
    looks_fail(&queue.fixture, Win32::ACCESS_DENIED, 2);
    let meanwhile = |fixture: &NodeFixture| {
        looks_fail(fixture, Win32::ACCESS_DENIED, 1);
    };
    let back = outcome_after(&queue, &folder, meanwhile);
    assert_eq!(back, (Ok(MapOutcome::ReusedUnknown), 0));
}

#[test]
fn a_mapping_that_is_refused_still_after_the_wait_for_its_servers_lock_is_made_anew() {
    let refused = |fixture: &NodeFixture| {
        looks_fail(fixture, Win32::LOGON_FAILURE, 1);
    };
    assert_eq!(replaced_after(refused), (Ok(MapOutcome::Made), 1));
}

#[test]
fn a_refused_mapping_whose_next_look_ends_otherwise_is_not_removed() {
    for code in [Win32::BAD_NETPATH, Win32::NO_SYSTEM_RESOURCES] {
        let (failed, removed) = replaced_after(|fixture| {
            looks_fail(fixture, code, 1);
        });
        let error = api::Error::new("map", SHARE, failed.unwrap_err());
        assert_eq!(error.code(), Some(api::Code::Win32(code)), "{error}");
        assert_eq!(removed, 0, "{code}");
    }
}

/// Another process has unmapped it.
#[test]
fn a_refused_mapping_that_is_gone_after_the_wait_for_its_servers_lock_is_made() {
    let (made, removed) = replaced_after(|fixture| {
        fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    });
    assert_eq!(
        (made, removed),
        (Ok(MapOutcome::Made), 1),
        "the other's removal"
    );
}

/// A person maps the share with a drive letter, and Windows calls that mapping disconnected, or ours.
#[test]
fn of_several_mappings_of_a_share_the_one_that_is_ok_is_used_and_the_others_are_left() {
    fn only_lettered(row: &mut Instance) {
        set_status(row, |letter| letter.is_empty());
    }
    fn only_ours(row: &mut Instance) {
        set_status(row, |letter| !letter.is_empty());
    }
    fn set_status(row: &mut Instance, is_dead: fn(&str) -> bool) {
        let letter = row.text(mapping::LOCAL_PATH.name).unwrap_or_default();
        let dead = is_dead(letter);
        if let Some(value) = row
            .properties
            .get_mut(mapping::STATUS.name)
            .filter(|_| dead)
        {
            *value = Value::uint32(mapping::status::DISCONNECTED.value);
        }
    }
    for (rewrite, left) in [
        (only_lettered as fn(&mut Instance), ""),
        (only_ours as fn(&mut Instance), "X:"),
    ] {
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        map_with_letter(&fixture, "X:");
        let node = inject::node(&fixture, |os| {
            inject::each_row(&mut os.smb, rewrite);
        });
        looks_fail(&fixture, Win32::BAD_NETPATH, 1);
        let trace = fixture.trace(|| {
            let error = plainly(&node, fixture.soon()).unwrap_err();
            assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
        });
        assert_eq!(changes(&trace), 0, "there is one that is OK");
        let smb = node.operations().smb();
        smb.unmap(&remote(SHARE), fixture.soon()).unwrap();
        let rest = smb.mappings(fixture.soon()).unwrap();
        let letters: Vec<_> = rest.iter().map(|it| it.local.as_deref()).collect();
        assert_eq!(letters, [Some(left).filter(|letter| !letter.is_empty())]);
    }
}

/// Maps the share as a person would who wants a drive.
fn map_with_letter(fixture: &NodeFixture, letter: &str) {
    let credential = format!("{}:{PASSWORD}", USER.replace('\\', r"\\"));
    let arguments = Arguments::none()
        .with(mapping::create::REMOTE_PATH.name, Value::text(SHARE))
        .with(mapping::create::LOCAL_PATH.name, Value::text(letter))
        .with(mapping::create::CREDENTIAL.name, Value::text(credential));
    let class = Target::Class(mapping::CLASS.name);
    let create = mapping::CREATE.name;
    let smb = &fixture.os().smb;
    smb.invoke(class, create, &arguments, Deadline::NEVER)
        .unwrap();
}

/// A mapping that could not be removed still exists, and so do its user's files.
#[test]
fn a_mapping_that_could_not_be_removed_is_its_users_still() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let remove = format!("{}.{}", mapping::CLASS.name, mapping::REMOVE.name);
    let failing = Rule::on(&remove, Effect::fail(Win32::GEN_FAILURE)).times(1);
    fixture.fault(failing);
    fixture
        .smb()
        .unmap(&remote(SHARE), fixture.soon())
        .unwrap_err();
    looks_fail(&fixture, Win32::ACCESS_DENIED, 1);
    let trace = fixture.trace(|| {
        let error = map_as(&fixture, SHARE, Some(r"FILES\bob")).unwrap_err();
        assert!(matches!(error, SmbError::OtherUser { .. }), "{error}");
    });
    assert_eq!(changes(&trace), 0);
}

/// The dead one is there all the time.
#[test]
fn a_mapping_beside_a_dead_one_is_not_taken_for_made_without_a_code() {
    let spec = NodeSpec::named("node-1").build(Build::SERVER_2025);
    let fixture = NodeFixture::with_server_on(&spec);
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let node = inject::node(&fixture, let_go);
    looks_fail(&fixture, Win32::BAD_NETPATH, 1);
    let null = Effect::Answer(os::Outcome::of(os::Returned::Null));
    fixture.fault(Rule::on(&create(), null));
    let (remote, credentials) = (remote(SHARE), credentials(PASSWORD));
    let mapping = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_options(MappingOptions::default().with_transport(Transport::Quic));
    let made = node.operations().smb().map(&mapping, fixture.soon());
    assert!(made.is_err(), "{made:?}");
}
