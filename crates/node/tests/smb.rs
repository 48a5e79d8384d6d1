//! SMB mappings on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod support;

use os::Deadline;
use os::Files;
use os::Query;
use os::Win32;
use os::schema::smb_global_mapping as mapping;
use os_sim::Effect;
use os_sim::Op;
use os_sim::Rule;
use os_sim::smb::Condition;
use support::PASSWORD;
use support::Rig;
use support::SHARE;
use support::USER;
use support::path;
use wincsi_node::Credentials;
use wincsi_node::Mapping;
use wincsi_node::RemotePath;
use wincsi_node::SmbError;
use wincsi_node::Way;
use zeroize::Zeroizing;

const LINK: &str = r"C:\var\globalmount";

fn credentials(password: &str) -> Credentials {
    Credentials::new(USER, Zeroizing::new(password.to_owned())).unwrap()
}

fn remote(text: &str) -> RemotePath {
    RemotePath::parse(text).unwrap()
}

fn map(rig: &Rig, to: &str, password: &str, link: Option<&str>) -> Result<(), SmbError> {
    let link = link.map(|link| Way::from(&path(link)));
    let mapping = Mapping {
        remote: &remote(to),
        credentials: Some(&credentials(password)),
        link: link.as_ref(),
    };
    rig.node.smb().map(&mapping, rig.soon())
}

fn mapped(rig: &Rig) -> Vec<String> {
    let query = Query::all(mapping::CLASS.name, &[mapping::REMOTE_PATH.name]);
    let found = rig.os().smb.query(&query, Deadline::NEVER).unwrap();
    let remote = |row: &os::Instance| row.text(mapping::REMOTE_PATH.name).unwrap().to_owned();
    found.iter().map(remote).collect()
}

fn calls<'a>(trace: &'a [Op], method: &str) -> usize {
    let is_it = |op: &&'a Op| op.operation.ends_with(method);
    trace.iter().filter(is_it).count()
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
    let trace = rig.trace(|| map(&rig, SHARE, "wrong", Some(LINK)).unwrap());
    assert_eq!(
        calls(&trace, mapping::CREATE.name) + calls(&trace, mapping::REMOVE.name),
        0
    );
    assert_eq!(mapped(&rig), [SHARE]);
    map(&rig, SHARE, PASSWORD, Some(LINK)).unwrap();
}

#[test]
fn a_mapping_that_does_not_answer_is_made_anew() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    rig.change_password("new");
    let trace = rig.trace(|| map(&rig, SHARE, "new", None).unwrap());
    assert_eq!(calls(&trace, mapping::REMOVE.name), 1);
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert!(rig.os().files.entry(&path(SHARE)).is_ok());
}

#[test]
fn a_refusal_of_access_is_an_answer() {
    let rig = Rig::with_server();
    map(&rig, SHARE, PASSWORD, None).unwrap();
    let denied = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
    rig.sim.faults().add(denied.object(r"\\files\*"));
    let trace = rig.trace(|| map(&rig, SHARE, PASSWORD, None).unwrap());
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
    let mapper = std::thread::spawn(move || {
        let mapping = Mapping {
            remote: &remote(SHARE),
            credentials: Some(&credentials(PASSWORD)),
            link: None,
        };
        node.smb().map(&mapping, soon)
    });
    assert!(
        rig.sim
            .faults()
            .wait_until_hanging(1, std::time::Duration::from_secs(60))
    );
    rig.os().clock.sleep(std::time::Duration::from_secs(60));
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
    rig.node
        .filesystem()
        .make_directory(&path(LINK), rig.soon())
        .unwrap();
    let error = map(&rig, SHARE, PASSWORD, Some(LINK)).unwrap_err();
    let text = format!(
        r"creating link {LINK} to {SHARE}\ failed with error: Cannot create a file when that file already exists. (ResourceExists)"
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(mapped(&rig), Vec::<String>::new());
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
    rig.node
        .smb()
        .unmap(&remote(r"\\FILES\share\sub"), rig.soon())
        .unwrap();
    assert_eq!(mapped(&rig), Vec::<String>::new());
    assert!(rig.sim.files().entry(&path(LINK)).is_ok());
    let again = rig
        .node
        .smb()
        .unmap(&remote(SHARE), rig.soon())
        .unwrap_err();
    assert!(
        again
            .to_string()
            .contains("No MSFT_SmbGlobalMapping objects found"),
        "{again}"
    );
}
