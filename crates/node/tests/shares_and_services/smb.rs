//! SMB mappings on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::thread;
use std::time::Duration;

use os::schema::smb_global_mapping as mapping;
use os::{Deadline, Facility, Files, Instance, LinkKind, Query, Win32};
use os_sim::smb::{Condition, ServerSpec};
use os_sim::{Effect, Op, Rule, RuleId};
use wincsi_node::{
    Credentials, MapOutcome, MapRequest, Node, RemotePath, SmbError, Way, api, texts,
};
use zeroize::Zeroizing;

use crate::smb_renewal::let_go;
use crate::support::{PASSWORD, Rig, SHARE, USER, meddle, path};

const LINK: &str = r"C:\var\globalmount";

/// The codes of a look by which the server, the share or the network is away.
pub(crate) const AWAY: [u32; 19] = [
    51, 53, 54, 59, 64, 67, 70, 71, 121, 1222, 1225, 1231, 1232, 1233, 1234, 1236, 1256, 1311, 1460,
];

pub(crate) fn credentials(password: &str) -> Credentials {
    Credentials::new(USER, Zeroizing::new(password.to_owned())).unwrap()
}

pub(crate) fn remote(text: &str) -> RemotePath {
    RemotePath::parse(text).unwrap()
}

/// Maps as this user, or as the machine itself, without a link.
pub(crate) fn map_as(rig: &Rig, to: &str, user: Option<&str>) -> Result<MapOutcome, SmbError> {
    let password = || Zeroizing::new(PASSWORD.to_owned());
    let credentials = user.and_then(|user| Credentials::new(user, password()));
    let remote = remote(to);
    let mapping = MapRequest::of(&remote).with_credentials(credentials.as_ref());
    rig.smb().map(&mapping, rig.soon())
}

pub(crate) fn map(
    rig: &Rig,
    to: &str,
    password: &str,
    link: Option<&str>,
) -> Result<MapOutcome, SmbError> {
    let link = link.map(|link| Way::from(&path(link)));
    let (remote, credentials) = (remote(to), credentials(password));
    let mapping = MapRequest::of(&remote)
        .with_credentials(&credentials)
        .with_link(link.as_ref());
    rig.smb().map(&mapping, rig.soon())
}

/// Maps the share without a link, by any node.
pub(crate) fn plainly(node: &Node, deadline: Deadline) -> Result<MapOutcome, SmbError> {
    let (remote, credentials) = (remote(SHARE), credentials(PASSWORD));
    let mapping = MapRequest::of(&remote).with_credentials(&credentials);
    node.operations().smb().map(&mapping, deadline)
}

pub(crate) fn mapped(rig: &Rig) -> Vec<String> {
    let query = Query::all(mapping::CLASS.name, &[mapping::REMOTE_PATH.name]);
    let found = rig.os().smb.query(&query, Deadline::NEVER).unwrap();
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
pub(crate) fn looks_fail(rig: &Rig, code: Win32, times: u32) -> RuleId {
    let fails = Rule::on("GetFileAttributesExW", Effect::fail(code));
    let fails = fails.object(r"\\files\*").times(times);
    rig.sim.faults().add(fails)
}

#[test]
fn a_share_is_mapped_and_linked_with_all_of_its_path() {
    let rig = Rig::with_server();
    map(&rig, "//Files/Share/Sub Dir", PASSWORD, Some(LINK)).unwrap();
    assert_eq!(mapped(&rig), [SHARE]);
    let data = rig.sim.files().reparse_data(&path(LINK)).unwrap();
    let formats::reparse::Reparse::Symlink { names, .. } =
        formats::reparse::Reparse::parse(&data).unwrap()
    else {
        panic!("not a symbolic link");
    };
    assert_eq!(names.print, r"\\Files\Share\Sub Dir\");
    assert_eq!(names.substitute, r"\??\UNC\Files\Share\Sub Dir\");
}

#[test]
fn a_mapping_that_answers_is_reused_whatever_the_password() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let trace = rig.trace(|| {
        let mapped = map(&rig, SHARE, "wrong", Some(LINK));
        assert_eq!(mapped, Ok(MapOutcome::ReusedWithOther));
    });
    assert_eq!(changes(&trace), 0);
    assert_eq!(mapped(&rig), [SHARE]);
    map(&rig, SHARE, PASSWORD, Some(LINK)).unwrap();
}

#[test]
fn a_mapping_that_does_not_answer_is_made_anew() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    rig.change_password("new");
    let trace = rig.trace(|| assert_eq!(map(&rig, SHARE, "new", None), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert!(rig.os().files.entry(&path(SHARE)).is_ok());
}

/// Removing a mapping closes what other pods have open, and a new one would need the same server.
#[test]
fn a_mapping_whose_server_is_away_stays_and_the_code_is_told() {
    for code in AWAY.map(Win32) {
        let rig = Rig::with_server();
        map(&rig, SHARE, PASSWORD, None).unwrap();
        let away = looks_fail(&rig, code, u32::MAX);
        let trace = rig.trace(|| {
            let error = map(&rig, SHARE, PASSWORD, None).unwrap_err();
            assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
            let error = api::Error::new("map", SHARE, error);
            assert_eq!(error.condition(), Some(api::Condition::ServerAway));
            assert_eq!(error.code(), Some(api::Code::Win32(code)), "{error}");
        });
        assert_eq!(changes(&trace), 0, "{code:?}");
        rig.sim.faults().remove(away);
        assert_eq!(map(&rig, SHARE, PASSWORD, None), Ok(MapOutcome::Reused));
    }
}

/// A server that is back is found in the same call, as by csi-proxy, which makes a new mapping for it.
#[test]
fn a_connection_that_was_lost_is_tried_once_more() {
    for (code, looks) in [(59, 2), (64, 2), (1236, 2), (53, 1), (121, 1)] {
        let rig = Rig::with_server();
        map(&rig, SHARE, PASSWORD, None).unwrap();
        looks_fail(&rig, Win32(code), 1);
        let trace = rig.trace(|| {
            let mapped = map(&rig, SHARE, PASSWORD, None);
            assert_eq!(mapped.is_ok(), looks == 2, "{code}: {mapped:?}");
        });
        assert_eq!(calls(&trace, "GetFileAttributesExW"), looks, "{code}");
        assert_eq!(changes(&trace), 0, "{code}");
    }
}

#[test]
fn a_mapping_works_again_when_its_server_does() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let silent = |server: &mut ServerSpec| server.tcp_ports.clear();
    rig.servers().change_server("files", silent).unwrap();
    for condition in [
        Condition::Down,
        Condition::Dropping,
        Condition::Failing,
        Condition::Paused,
        Condition::Unavailable,
    ] {
        rig.servers().set_condition("files", condition).unwrap();
        let trace = rig.trace(|| {
            let error = map(&rig, SHARE, "other", None).unwrap_err();
            assert!(matches!(error, SmbError::ServerAway { .. }), "{error}");
        });
        assert_eq!(changes(&trace), 0, "{condition:?}");
        rig.servers().set_condition("files", Condition::Up).unwrap();
        assert!(rig.os().files.entry(&path(SHARE)).is_ok());
        let again = map(&rig, SHARE, PASSWORD, None);
        assert_eq!(again, Ok(MapOutcome::Reused), "{condition:?}");
    }
}

#[test]
fn whoever_asks_for_a_mapping_learns_how_it_came_about() {
    let rig = Rig::with_server();
    let ask = |password| map(&rig, SHARE, password, None);
    assert_eq!(ask(PASSWORD), Ok(MapOutcome::Made));
    assert_eq!(ask(PASSWORD), Ok(MapOutcome::Reused));
    assert_eq!(ask("other"), Ok(MapOutcome::ReusedWithOther));
    let restarted = meddle::node(&rig, |_| {});
    let asked = || plainly(&restarted, rig.soon());
    assert_eq!(asked(), Ok(MapOutcome::ReusedUnknown));
    rig.change_password("new");
    assert_eq!(ask("new"), Ok(MapOutcome::Made));
    assert_eq!(ask("new"), Ok(MapOutcome::Reused));
    rig.smb().unmap(&remote(SHARE), rig.soon()).unwrap();
    assert_eq!(ask("new"), Ok(MapOutcome::Made));
}

#[test]
fn a_refusal_of_access_is_taken_for_a_changed_password_by_others() {
    let rig = Rig::with_server();
    map(&rig, SHARE, "old", None).unwrap_err();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object(r"\\files\*"));
    let restarted = meddle::node(&rig, |_| {});
    let trace = rig.trace(|| assert_eq!(plainly(&restarted, rig.soon()), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(
        plainly(&restarted, rig.soon()),
        Ok(MapOutcome::Reused),
        "what it made itself"
    );
    rig.change_password("new");
    let trace = rig.trace(|| assert_eq!(map(&rig, SHARE, "new", None), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(map(&rig, SHARE, "new", None), Ok(MapOutcome::Reused));
}

/// Each volume's account has access to its own folder alone, as csi-driver-smb's users set it up.
#[test]
fn a_refusal_of_access_to_the_root_removes_nothing_unless_the_folder_is_denied_as_well() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let folder = format!(r"{SHARE}\pv");
    rig.os().files.create_directory(&path(&folder)).unwrap();
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object(&format!(r"{SHARE}\")));
    let trace = rig.trace(|| {
        let reused = map(&rig, &folder, "other", None);
        assert_eq!(reused, Ok(MapOutcome::ReusedWithOther));
    });
    assert_eq!(changes(&trace), 0);
    let away = Rule::on("GetFileAttributesExW", Effect::fail(Win32::BAD_NETPATH));
    rig.sim.faults().add(away.object(&folder));
    let trace = rig.trace(|| drop(map(&rig, &folder, "other", None).unwrap_err()));
    assert_eq!(changes(&trace), 0);
}

/// Else the volume of one user would cut the open files of another's off, and the next of that one its own.
#[test]
fn a_folder_that_is_denied_to_the_user_of_a_mapping_cuts_that_user_not_off() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object(r"\\files\*"));
    let folder = format!(r"{SHARE}\pv");
    for (to, user) in [
        (folder.as_str(), Some(r"FILES\bob")),
        (SHARE, Some(r"FILES\bob")),
        (folder.as_str(), None),
    ] {
        let trace = rig.trace(|| {
            let error = map_as(&rig, to, user).unwrap_err();
            let share = SHARE.to_owned();
            assert_eq!(error, SmbError::OtherUser { share }, "{to} {user:?}");
            let error = api::Error::new("map", to, error);
            let condition = Some(api::Condition::CredentialsConflict);
            assert_eq!(error.condition(), condition);
        });
        assert_eq!(changes(&trace), 0, "{to} {user:?}");
    }
    assert_eq!(map(&rig, SHARE, PASSWORD, None), Ok(MapOutcome::Reused));
}

#[test]
fn a_mapping_that_is_gone_is_not_known_any_more() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let other = meddle::node(&rig, |_| {});
    other
        .operations()
        .smb()
        .unmap(&remote(SHARE), rig.soon())
        .unwrap();
    let gone = rig.smb().unmap(&remote(SHARE), rig.soon());
    assert!(matches!(gone, Err(SmbError::NotMapped { .. })), "{gone:?}");
    assert_eq!(plainly(&other, rig.soon()), Ok(MapOutcome::Made));
    let again = map(&rig, SHARE, PASSWORD, None);
    assert_eq!(again, Ok(MapOutcome::ReusedUnknown));
}

#[test]
fn a_refusal_of_access_is_an_answer_to_who_mapped_it() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object(r"\\files\*"));
    let trace = rig.trace(|| assert_eq!(map(&rig, SHARE, PASSWORD, None), Ok(MapOutcome::Reused)));
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
}

/// A look at a dead share hangs for long. It is not waited for, and its mapping stays: other pods may
/// have files open there.
#[test]
fn a_share_that_hangs_is_neither_waited_for_nor_unmapped() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let _ = rig.sim.take_trace();
    let hang = Rule::on("GetFileAttributesExW", Effect::Hang)
        .object(r"\\files\*")
        .times(1);
    let hang = rig.sim.faults().add(hang);
    let _ = rig.sim.take_trace();
    let (node, soon) = (rig.node.clone(), rig.soon());
    let mapper = thread::spawn(move || plainly(&node, soon));
    assert!(
        rig.sim
            .faults()
            .wait_until_hanging(1, Duration::from_secs(60))
    );
    rig.os().clock.sleep(Duration::from_secs(60));
    let error = mapper.join().unwrap().unwrap_err();
    assert!(error.to_string().contains(SHARE), "{error}");
    let trace = rig.sim.take_trace();
    assert_eq!(calls(&trace, mapping::REMOVE.name), 0);
    assert_eq!(mapped(&rig), [SHARE]);
    rig.sim.faults().remove(hang);
    map(&rig, SHARE, PASSWORD, None).unwrap();
}

#[test]
fn what_has_the_links_name_refuses_before_anything_is_mapped() {
    let rig = Rig::with_server();
    rig.filesystem()
        .make_directory(&path(LINK), rig.soon())
        .unwrap();
    let error = map(&rig, SHARE, PASSWORD, Some(LINK)).unwrap_err();
    let text = format!(
        r"creating link {LINK} to {SHARE}\ failed with error: Cannot create a file when that file already exists. (ResourceExists)"
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(mapped(&rig), Vec::<String>::new());
}

/// democratic-csi takes that text and a link for its own link, wherever that leads.
#[test]
fn a_link_that_leads_elsewhere_is_not_called_an_existing_resource() {
    let rig = Rig::with_server();
    let foreign = path(LINK);
    for target in [r"\\files\other\", r"C:\var", r"C:\nowhere"] {
        rig.sim
            .files()
            .create_symlink(&foreign, target, LinkKind::Directory)
            .unwrap();
        let error = map(&rig, SHARE, PASSWORD, Some(LINK)).unwrap_err();
        assert!(
            matches!(error, SmbError::LinksElsewhere { .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains(texts::NAME_TAKEN), "{error}");
        rig.sim.files().remove_directory(&foreign).unwrap();
    }
    assert_eq!(mapped(&rig), Vec::<String>::new());
}

/// csi-proxy takes a look-up that fails for "not mapped", and maps over what is there.
#[test]
fn a_look_up_that_fails_is_not_taken_for_unmapped() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let failing = Rule::on("*", Effect::fail(Win32::GEN_FAILURE)).in_facility(Facility::Smb);
    let failing = rig.sim.faults().add(failing.times(1));
    let trace = rig.trace(|| {
        map(&rig, SHARE, PASSWORD, None).unwrap_err();
    });
    assert_eq!(calls(&trace, mapping::CREATE.name), 0);
    rig.sim.faults().remove(failing);
    rig.sim.faults().add(
        Rule::on("*", Effect::fail(Win32::GEN_FAILURE))
            .in_facility(Facility::Smb)
            .times(1),
    );
    let removed = rig.smb().unmap(&remote(SHARE), rig.soon());
    let text = removed.unwrap_err().to_string();
    assert!(!text.contains(texts::NOT_MAPPED), "{text}");
    assert_eq!(mapped(&rig), [SHARE]);
}

/// A status is what Windows saw last; the look at the share says how it is.
#[test]
fn a_mapping_of_a_bad_status_that_answers_is_reused() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let node = meddle::node(&rig, let_go);
    let trace = rig.trace(|| assert_eq!(plainly(&node, rig.soon()), Ok(MapOutcome::ReusedUnknown)));
    assert_eq!(changes(&trace), 0);
    rig.change_password("new");
    let (remote, credentials) = (remote(SHARE), credentials("new"));
    let wanted = MapRequest::of(&remote).with_credentials(&credentials);
    let trace = rig.trace(|| {
        assert_eq!(
            node.operations().smb().map(&wanted, rig.soon()),
            Ok(MapOutcome::Made)
        )
    });
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
}

#[test]
fn two_calls_for_one_share_make_one_mapping() {
    let rig = Rig::with_server();
    let (node, soon) = (rig.node.clone(), rig.soon());
    let trace = rig.trace(|| {
        thread::scope(|scope| {
            let call = || plainly(&node, soon);
            let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
            for call in calls {
                call.join().unwrap().unwrap();
            }
        });
    });
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert_eq!(mapped(&rig), [SHARE]);
}

/// A dead share is looked at once, however often the kubelet repeats its call.
#[test]
fn one_look_at_a_server_is_under_way_at_a_time() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let hang = Rule::on("GetFileAttributesExW", Effect::Hang).object(r"\\files\*");
    let hang = rig.sim.faults().add(hang);
    let _ = rig.sim.take_trace();
    for _ in 0..3 {
        let (node, soon) = (rig.node.clone(), rig.soon());
        let call = thread::spawn(move || plainly(&node, soon));
        assert!(
            rig.sim
                .faults()
                .wait_until_hanging(1, Duration::from_secs(60))
        );
        while !call.is_finished() {
            rig.os().clock.sleep(Duration::from_secs(60));
            thread::yield_now();
        }
        call.join().unwrap().unwrap_err();
    }
    rig.sim.faults().remove(hang);
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let trace = rig.sim.take_trace();
    assert_eq!(
        calls(&trace, "GetFileAttributesExW"),
        2,
        "the look that hung, and the last"
    );
}

#[test]
fn what_the_server_says_reaches_the_caller() {
    let rig = Rig::with_server();
    let wrong = map(&rig, SHARE, "wrong", None).unwrap_err();
    assert!(
        wrong
            .to_string()
            .contains("user name or password is incorrect"),
        "{wrong}"
    );
    rig.servers()
        .set_condition("files", Condition::Down)
        .unwrap();
    let down = map(&rig, SHARE, PASSWORD, None).unwrap_err();
    assert!(
        down.to_string().contains("The network path was not found."),
        "{down}"
    );
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
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, Some(LINK)).unwrap();
    rig.smb()
        .unmap(&remote(r"\\FILES\share\sub"), rig.soon())
        .unwrap();
    assert_eq!(mapped(&rig), Vec::<String>::new());
    assert!(rig.sim.files().entry(&path(LINK)).is_ok());
    let again = rig.smb().unmap(&remote(SHARE), rig.soon()).unwrap_err();
    assert!(
        again
            .to_string()
            .contains("No MSFT_SmbGlobalMapping objects found"),
        "{again}"
    );
}
