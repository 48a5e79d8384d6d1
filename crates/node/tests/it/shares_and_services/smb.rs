//! SMB mappings on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::thread;
use std::time::Duration;

use os::schema::smb_global_mapping as mapping;
use os::{Deadline, Facility, Files, Instance, LinkKind, Query, Win32};
use os_sim::smb::{ServerHealth, ServerSpec};
use os_sim::{Effect, Op, Rule, RuleId};
use wincsi_node::{
    Credentials, MapOutcome, MapRequest, Node, RemotePath, ResolvedPath, SmbError, api,
    driver_texts,
};
use zeroize::Zeroizing;

use crate::shares_and_services::smb_renewal::let_go;
use crate::support::{NodeFixture, PASSWORD, SHARE, USER, assert_says, inject, path};

const LINK: &str = r"C:\var\globalmount";

/// The codes of a look by which the server, the share or the network is away.
pub(crate) const UNREACHABLE: [u32; 19] = [
    51, 53, 54, 59, 64, 67, 70, 71, 121, 1222, 1225, 1231, 1232, 1233, 1234, 1236, 1256, 1311, 1460,
];

pub(crate) fn credentials(password: &str) -> Credentials {
    Credentials::new(USER, Zeroizing::new(password.to_owned())).unwrap()
}

pub(crate) fn remote(text: &str) -> RemotePath {
    RemotePath::parse(text).unwrap()
}

/// Maps as this user, or as the machine itself, without a link.
pub(crate) fn map_as(
    fixture: &NodeFixture,
    to: &str,
    user: Option<&str>,
) -> Result<MapOutcome, SmbError> {
    let password = || Zeroizing::new(PASSWORD.to_owned());
    let credentials = user.and_then(|user| Credentials::new(user, password()));
    let remote = remote(to);
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    fixture.smb().map(&mapping, fixture.soon())
}

pub(crate) fn map(
    fixture: &NodeFixture,
    to: &str,
    password: &str,
    link: Option<&str>,
) -> Result<MapOutcome, SmbError> {
    let link = link.map(|link| ResolvedPath::from(&path(link)));
    let (remote, credentials) = (remote(to), credentials(password));
    let mapping = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_link(link.as_ref());
    fixture.smb().map(&mapping, fixture.soon())
}

/// Maps the share without a link, by any node.
pub(crate) fn plainly(node: &Node, deadline: Deadline) -> Result<MapOutcome, SmbError> {
    let (remote, credentials) = (remote(SHARE), credentials(PASSWORD));
    let mapping = MapRequest::of(&remote).with_credentials(&credentials);
    node.operations().smb().map(&mapping, deadline)
}

pub(crate) fn mapped(fixture: &NodeFixture) -> Vec<String> {
    let query = Query::all(mapping::CLASS.name, &[mapping::REMOTE_PATH.name]);
    let found = fixture.os().smb.query(&query, Deadline::NEVER).unwrap();
    let remote = |row: &Instance| row.text(mapping::REMOTE_PATH.name).unwrap().to_owned();
    found.iter().map(remote).collect()
}

pub(crate) fn calls<'a>(trace: &'a [Op], method: &str) -> usize {
    let is_it = |op: &&'a Op| op.operation.ends_with(method);
    trace.iter().filter(is_it).count()
}

pub(crate) fn changes(trace: &[Op]) -> usize {
    calls(trace, mapping::CREATE.name) + calls(trace, mapping::REMOVE.name)
}

/// The next looks at the server's shares end with a code.
pub(crate) fn looks_fail(fixture: &NodeFixture, code: Win32, times: u32) -> RuleId {
    let fails = Rule::on("GetFileAttributesExW", Effect::fail(code));
    let fails = fails.object(r"\\files\*").times(times);
    fixture.fault(fails)
}

/// Guards: P82
#[test]
fn a_share_is_mapped_and_linked_with_all_of_its_path() {
    let fixture = NodeFixture::with_server();
    map(&fixture, "//Files/Share/Sub Dir", PASSWORD, Some(LINK)).unwrap();
    assert_eq!(mapped(&fixture), [SHARE]);
    let data = fixture.files().reparse_data(&path(LINK)).unwrap();
    let formats::reparse::Reparse::Symlink { names, .. } =
        formats::reparse::Reparse::parse(&data).unwrap()
    else {
        panic!("not a symbolic link");
    };
    assert_eq!(names.print, r"\\Files\Share\Sub Dir\");
    assert_eq!(names.substitute, r"\??\UNC\Files\Share\Sub Dir\");
}

/// Guards: P74
#[test]
fn a_mapping_that_answers_is_reused_whatever_the_password() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let trace = fixture.trace(|| {
        let mapped = map(&fixture, SHARE, "wrong", Some(LINK));
        assert_eq!(mapped, Ok(MapOutcome::ReusedOtherSecret));
    });
    assert_eq!(changes(&trace), 0);
    assert_eq!(mapped(&fixture), [SHARE]);
    map(&fixture, SHARE, PASSWORD, Some(LINK)).unwrap();
}

#[test]
fn a_mapping_that_does_not_answer_is_made_anew() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    fixture.change_password("new");
    let trace =
        fixture.trace(|| assert_eq!(map(&fixture, SHARE, "new", None), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert!(fixture.os().files.entry(&path(SHARE)).is_ok());
}

/// Removing a mapping closes what other pods have open, and a new one would need the same server.
#[test]
fn a_mapping_whose_server_is_away_stays_and_the_code_is_told() {
    for code in UNREACHABLE.map(Win32) {
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        let away = looks_fail(&fixture, code, u32::MAX);
        let trace = fixture.trace(|| {
            let error = map(&fixture, SHARE, PASSWORD, None).unwrap_err();
            assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
            let error = api::Error::new("map", SHARE, error);
            assert_eq!(error.condition(), Some(api::Condition::ServerAway));
            assert_eq!(error.code(), Some(api::Code::Win32(code)), "{error}");
        });
        assert_eq!(changes(&trace), 0, "{code:?}");
        fixture.faults().remove(away);
        assert_eq!(map(&fixture, SHARE, PASSWORD, None), Ok(MapOutcome::Reused));
    }
}

/// A server that is back is found in the same call, as by csi-proxy, which makes a new mapping for it.
#[test]
fn a_connection_that_was_lost_is_tried_once_more() {
    for (code, reads) in [(59, 2), (64, 2), (1236, 2), (53, 1), (121, 1)] {
        let fixture = NodeFixture::with_server();
        map(&fixture, SHARE, PASSWORD, None).unwrap();
        looks_fail(&fixture, Win32(code), 1);
        let trace = fixture.trace(|| {
            let mapped = map(&fixture, SHARE, PASSWORD, None);
            assert_eq!(mapped.is_ok(), reads == 2, "{code}: {mapped:?}");
        });
        assert_eq!(calls(&trace, "GetFileAttributesExW"), reads, "{code}");
        assert_eq!(changes(&trace), 0, "{code}");
    }
}

#[test]
fn a_mapping_works_again_when_its_server_does() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let silent = |server: &mut ServerSpec| server.tcp_ports.clear();
    fixture.servers().change_server("files", silent).unwrap();
    for condition in [
        ServerHealth::Down,
        ServerHealth::Dropping,
        ServerHealth::Failing,
        ServerHealth::Paused,
        ServerHealth::Unavailable,
    ] {
        fixture.set_server("files", condition);
        let trace = fixture.trace(|| {
            let error = map(&fixture, SHARE, "other", None).unwrap_err();
            assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
        });
        assert_eq!(changes(&trace), 0, "{condition:?}");
        fixture.set_server("files", ServerHealth::Up);
        assert!(fixture.os().files.entry(&path(SHARE)).is_ok());
        let again = map(&fixture, SHARE, PASSWORD, None);
        assert_eq!(again, Ok(MapOutcome::Reused), "{condition:?}");
    }
}

/// Guards: P74
#[test]
fn each_caller_learns_how_the_mapping_was_made() {
    let fixture = NodeFixture::with_server();
    let ask = |password| map(&fixture, SHARE, password, None);
    assert_eq!(ask(PASSWORD), Ok(MapOutcome::Made));
    assert_eq!(ask(PASSWORD), Ok(MapOutcome::Reused));
    assert_eq!(ask("other"), Ok(MapOutcome::ReusedOtherSecret));
    for other in [Some(r"FILES\bob"), None] {
        let mapped = map_as(&fixture, SHARE, other);
        assert_eq!(mapped, Ok(MapOutcome::ReusedOtherUser));
    }
    let restarted = inject::node(&fixture, |_| {});
    let asked = || plainly(&restarted, fixture.soon());
    assert_eq!(asked(), Ok(MapOutcome::ReusedUnknown));
    fixture.change_password("new");
    assert_eq!(ask("new"), Ok(MapOutcome::Made));
    assert_eq!(ask("new"), Ok(MapOutcome::Reused));
    fixture.smb().unmap(&remote(SHARE), fixture.soon()).unwrap();
    assert_eq!(ask("new"), Ok(MapOutcome::Made));
}

#[test]
fn a_refusal_of_access_is_taken_for_a_changed_password_by_others() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, "old", None).unwrap_err();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    fixture.fail_on("GetFileAttributesExW", r"\\files\*", Win32::ACCESS_DENIED);
    let restarted = inject::node(&fixture, |_| {});
    let trace =
        fixture.trace(|| assert_eq!(plainly(&restarted, fixture.soon()), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(
        plainly(&restarted, fixture.soon()),
        Ok(MapOutcome::Reused),
        "what it made itself"
    );
    fixture.change_password("new");
    let trace =
        fixture.trace(|| assert_eq!(map(&fixture, SHARE, "new", None), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(map(&fixture, SHARE, "new", None), Ok(MapOutcome::Reused));
}

/// Each volume's account has access to its own folder alone, as csi-driver-smb's users set it up.
#[test]
fn a_refusal_of_access_to_the_root_removes_nothing_unless_the_folder_is_denied_as_well() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let folder = format!(r"{SHARE}\pv");
    fixture.os().files.create_directory(&path(&folder)).unwrap();
    fixture.fail_on(
        "GetFileAttributesExW",
        &format!(r"{SHARE}\"),
        Win32::ACCESS_DENIED,
    );
    let trace = fixture.trace(|| {
        let reused = map(&fixture, &folder, "other", None);
        assert_eq!(reused, Ok(MapOutcome::ReusedOtherSecret));
    });
    assert_eq!(changes(&trace), 0);
    fixture.fail_on("GetFileAttributesExW", &folder, Win32::BAD_NETPATH);
    let trace = fixture.trace(|| drop(map(&fixture, &folder, "other", None).unwrap_err()));
    assert_eq!(changes(&trace), 0);
}

/// Else the volume of one user would cut the open files of another's off, and the next of that one its own.
/// Guards: P74
#[test]
fn a_denied_folder_does_not_unmap_the_share() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    fixture.fail_on("GetFileAttributesExW", r"\\files\*", Win32::ACCESS_DENIED);
    let folder = format!(r"{SHARE}\pv");
    for (to, user) in [
        (folder.as_str(), Some(r"FILES\bob")),
        (SHARE, Some(r"FILES\bob")),
        (folder.as_str(), None),
    ] {
        let trace = fixture.trace(|| {
            let error = map_as(&fixture, to, user).unwrap_err();
            let share = SHARE.to_owned();
            assert_eq!(error, SmbError::OtherUser { share }, "{to} {user:?}");
            let error = api::Error::new("map", to, error);
            let condition = Some(api::Condition::CredentialsConflict);
            assert_eq!(error.condition(), condition);
        });
        assert_eq!(changes(&trace), 0, "{to} {user:?}");
    }
    assert_eq!(map(&fixture, SHARE, PASSWORD, None), Ok(MapOutcome::Reused));
}

#[test]
fn a_mapping_that_is_gone_is_not_known_any_more() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let other = inject::node(&fixture, |_| {});
    other
        .operations()
        .smb()
        .unmap(&remote(SHARE), fixture.soon())
        .unwrap();
    let gone = fixture.smb().unmap(&remote(SHARE), fixture.soon());
    assert!(matches!(gone, Err(SmbError::NotMapped { .. })), "{gone:?}");
    assert_eq!(plainly(&other, fixture.soon()), Ok(MapOutcome::Made));
    let again = map(&fixture, SHARE, PASSWORD, None);
    assert_eq!(again, Ok(MapOutcome::ReusedUnknown));
}

#[test]
fn a_refusal_of_access_is_an_answer_to_who_mapped_it() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    fixture.fail_on("GetFileAttributesExW", r"\\files\*", Win32::ACCESS_DENIED);
    let trace =
        fixture.trace(|| assert_eq!(map(&fixture, SHARE, PASSWORD, None), Ok(MapOutcome::Reused)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
}

/// A look at a dead share hangs for long. It is not waited for, and its mapping stays: other pods may
/// have files open there.
#[test]
fn a_share_that_hangs_is_neither_waited_for_nor_unmapped() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let _ = fixture.take_trace();
    let hang = Rule::on("GetFileAttributesExW", Effect::Hang)
        .object(r"\\files\*")
        .times(1);
    let hang = fixture.fault(hang);
    let _ = fixture.take_trace();
    let (node, soon) = (fixture.node.clone(), fixture.soon());
    let mapper = thread::spawn(move || plainly(&node, soon));
    fixture.wait_for_hang(1);
    fixture.let_pass(Duration::from_secs(60));
    let error = mapper.join().unwrap().unwrap_err();
    assert!(error.to_string().contains(SHARE), "{error}");
    let trace = fixture.take_trace();
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
    assert_eq!(mapped(&fixture), [SHARE]);
    fixture.faults().remove(hang);
    map(&fixture, SHARE, PASSWORD, None).unwrap();
}

#[test]
fn what_has_the_links_name_refuses_before_anything_is_mapped() {
    let fixture = NodeFixture::with_server();
    fixture.make_directory(LINK);
    let error = map(&fixture, SHARE, PASSWORD, Some(LINK)).unwrap_err();
    let text = format!(
        r"creating link {LINK} to {SHARE}\ failed with error: Cannot create a file when that file already exists. (ResourceExists)"
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(mapped(&fixture), Vec::<String>::new());
}

/// democratic-csi takes that text and a link for its own link, wherever that leads.
#[test]
fn a_link_that_leads_elsewhere_is_not_called_an_existing_resource() {
    let fixture = NodeFixture::with_server();
    let foreign = path(LINK);
    for target in [r"\\files\other\", r"C:\var", r"C:\nowhere"] {
        fixture
            .files()
            .create_symlink(&foreign, target, LinkKind::Directory)
            .unwrap();
        let error = map(&fixture, SHARE, PASSWORD, Some(LINK)).unwrap_err();
        assert!(
            matches!(error, SmbError::LinksElsewhere { .. }),
            "{error:?}"
        );
        assert!(
            !error.to_string().contains(driver_texts::NAME_TAKEN),
            "{error}"
        );
        fixture.files().remove_directory(&foreign).unwrap();
    }
    assert_eq!(mapped(&fixture), Vec::<String>::new());
}

/// csi-proxy takes a look-up that fails for "not mapped", and maps over what is there.
/// Guards: P73
#[test]
fn a_look_up_that_fails_is_not_taken_for_unmapped() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let failing = Rule::on("*", Effect::fail(Win32::GEN_FAILURE)).in_facility(Facility::Smb);
    let failing = fixture.fault(failing.times(1));
    let trace = fixture.trace(|| {
        map(&fixture, SHARE, PASSWORD, None).unwrap_err();
    });
    assert_eq!(calls(&trace, mapping::CREATE.name), 0);
    fixture.faults().remove(failing);
    fixture.fault(
        Rule::on("*", Effect::fail(Win32::GEN_FAILURE))
            .in_facility(Facility::Smb)
            .times(1),
    );
    let removed = fixture.smb().unmap(&remote(SHARE), fixture.soon());
    let text = removed.unwrap_err().to_string();
    assert!(!text.contains(driver_texts::NOT_MAPPED), "{text}");
    assert_eq!(mapped(&fixture), [SHARE]);
}

/// A status is what Windows saw last; the look at the share says how it is.
#[test]
fn a_mapping_of_a_bad_status_that_answers_is_reused() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let node = inject::node(&fixture, let_go);
    let trace = fixture.trace(|| {
        assert_eq!(
            plainly(&node, fixture.soon()),
            Ok(MapOutcome::ReusedUnknown)
        )
    });
    assert_eq!(changes(&trace), 0);
    fixture.change_password("new");
    let (remote, credentials) = (remote(SHARE), credentials("new"));
    let wanted = MapRequest::of(&remote).with_credentials(&credentials);
    let trace = fixture.trace(|| {
        assert_eq!(
            node.operations().smb().map(&wanted, fixture.soon()),
            Ok(MapOutcome::Made)
        )
    });
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
}

/// Guards: P37
#[test]
fn two_calls_for_one_share_make_one_mapping() {
    let fixture = NodeFixture::with_server();
    let (node, soon) = (fixture.node.clone(), fixture.soon());
    let trace = fixture.trace(|| {
        thread::scope(|scope| {
            let call = || plainly(&node, soon);
            let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
            for call in calls {
                call.join().unwrap().unwrap();
            }
        });
    });
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert_eq!(mapped(&fixture), [SHARE]);
}

/// A dead share is looked at once, however often the kubelet repeats its call.
#[test]
fn one_look_at_a_server_is_under_way_at_a_time() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let hang = Rule::on("GetFileAttributesExW", Effect::Hang).object(r"\\files\*");
    let hang = fixture.fault(hang);
    let _ = fixture.take_trace();
    for _ in 0..3 {
        let (node, soon) = (fixture.node.clone(), fixture.soon());
        let call = thread::spawn(move || plainly(&node, soon));
        fixture.wait_for_hang(1);
        while !call.is_finished() {
            fixture.let_pass(Duration::from_secs(60));
            thread::yield_now();
        }
        call.join().unwrap().unwrap_err();
    }
    fixture.faults().remove(hang);
    map(&fixture, SHARE, PASSWORD, None).unwrap();
    let trace = fixture.take_trace();
    assert_eq!(
        calls(&trace, "GetFileAttributesExW"),
        2,
        "the look that hung, and the last"
    );
}

#[test]
fn what_the_server_says_reaches_the_caller() {
    let fixture = NodeFixture::with_server();
    let wrong = map(&fixture, SHARE, "wrong", None).unwrap_err();
    assert_says(&wrong, "user name or password is incorrect");
    fixture.set_server("files", ServerHealth::Down);
    let down = map(&fixture, SHARE, PASSWORD, None).unwrap_err();
    assert_says(&down, "The network path was not found.");
    for error in [wrong, down] {
        let printed = format!("{error} {error:?}");
        assert!(
            !printed.contains(PASSWORD) && !printed.contains("wrong"),
            "{printed}"
        );
    }
}

#[test]
fn a_share_is_unmapped_and_its_link_stays() {
    let fixture = NodeFixture::with_server();
    map(&fixture, SHARE, PASSWORD, Some(LINK)).unwrap();
    fixture
        .smb()
        .unmap(&remote(r"\\FILES\share\sub"), fixture.soon())
        .unwrap();
    assert_eq!(mapped(&fixture), Vec::<String>::new());
    assert!(fixture.has(LINK));
    let again = fixture
        .smb()
        .unmap(&remote(SHARE), fixture.soon())
        .unwrap_err();
    assert_says(&again, "No MSFT_SmbGlobalMapping objects found");
}

/// Two spellings are one server, with one mapping of its share.
#[test]
fn a_server_that_is_named_by_an_ipv6_address_is_mapped_by_its_name() {
    const NAME: &str = "fe80--1s3.ipv6-literal.net";
    let fixture = NodeFixture::with_server();
    let server = ServerSpec::sharing("share", USER, PASSWORD);
    fixture.servers().add_server(NAME, &server).unwrap();
    let made = map(&fixture, "//[fe80::1%3]/share", PASSWORD, Some(LINK));
    assert_eq!(made, Ok(MapOutcome::Made));
    let again = map(&fixture, r"\\FE80:0::1%3\Share", PASSWORD, Some(LINK));
    assert_eq!(again, Ok(MapOutcome::Reused));
    assert_eq!(mapped(&fixture), [format!(r"\\{NAME}\share")]);
}
