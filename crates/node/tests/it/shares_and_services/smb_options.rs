//! Options of SMB mappings, on simulated nodes of several builds of Windows.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::num::NonZeroU16;

use os::schema::{Build, smb_global_mapping as mapping};
use os::{Arguments, Deadline, Instance, Query, Target, Value};
use os_sim::smb::{ServerHealth, ServerSpec};
use os_sim::{NodeSpec, Op};
use wincsi_node::api::{self, NodeApi};
use wincsi_node::{
    Credentials, MapOutcome, MapRequest, MappingOptions, MappingStatus, Node, Options, Privacy,
    RemotePath, ShareMapping, SmbError, Transport,
};
use zeroize::Zeroizing;

use crate::support::{NodeFixture, PASSWORD, SHARE, USER, inject};

fn fixture(build: Build) -> NodeFixture {
    let fixture = NodeFixture::of(&NodeSpec::default().build(build), Options::default());
    let server = ServerSpec::sharing("share", USER, PASSWORD);
    fixture.servers().add_server("files", &server).unwrap();
    fixture
}

fn asking<T>(options: MappingOptions, ask: impl FnOnce(&MapRequest<'_>) -> T) -> T {
    let credentials = Credentials::new(USER, Zeroizing::new(PASSWORD.to_owned()));
    ask(&MapRequest::of(&RemotePath::parse(SHARE).unwrap())
        .with_credentials(credentials.as_ref())
        .with_options(options))
}

fn map(node: &Node, options: MappingOptions) -> Result<MapOutcome, SmbError> {
    asking(options, |mapping| {
        node.operations()
            .smb()
            .map(mapping, NodeApi::deadline(node, A_MINUTE))
    })
}

const A_MINUTE: std::time::Duration = std::time::Duration::from_secs(60);

fn rows(fixture: &NodeFixture) -> Vec<Instance> {
    let select = [
        mapping::REQUIRE_INTEGRITY.name,
        mapping::REQUIRE_PRIVACY.name,
        mapping::USE_WRITE_THROUGH.name,
    ];
    let query = Query::all(mapping::CLASS.name, &select);
    fixture.os().smb.query(&query, Deadline::NEVER).unwrap()
}

fn nothing() -> MappingOptions {
    MappingOptions::default()
}

fn signed() -> MappingOptions {
    nothing().with_integrity(true)
}

fn without_ntlm() -> MappingOptions {
    nothing().with_block_ntlm(true)
}

fn calls(trace: &[Op], method: &str) -> usize {
    let is_it = |op: &&Op| op.operation.ends_with(method);
    trace.iter().filter(is_it).count()
}

#[test]
fn a_mapping_is_made_with_what_is_asked_for() {
    let fixture = fixture(Build::SERVER_2025);
    let options = without_ntlm()
        .with_compression(true)
        .with_deny_access(["guests"])
        .with_full_access([r"DOM\users"])
        .with_integrity(true)
        .with_persistent(false)
        .with_privacy(false)
        .with_quic_port(NonZeroU16::new(8443).unwrap())
        .with_transport(Transport::Quic)
        .with_write_through(true);
    map(&fixture.node, options).unwrap();
    let [row] = &rows(&fixture)[..] else {
        panic!("one mapping");
    };
    assert_eq!(row.bool(mapping::REQUIRE_INTEGRITY.name), Ok(true));
    assert_eq!(row.bool(mapping::REQUIRE_PRIVACY.name), Ok(false));
    assert_eq!(row.bool(mapping::USE_WRITE_THROUGH.name), Ok(true));
    fixture.reboot().unwrap();
    assert_eq!(rows(&fixture), [], "it is not persistent");
}

/// The build of Windows Server 2016 has neither `Persistent` nor `UseWriteThrough`.
#[test]
fn what_is_not_asked_for_is_neither_sent_nor_looked_up() {
    let fixture = fixture(Build::SERVER_2016);
    let trace = fixture.trace(|| assert_eq!(map(&fixture.node, nothing()), Ok(MapOutcome::Made)));
    assert_eq!(calls(&trace, mapping::CREATE.name), 1);
    assert_eq!(calls(&trace, "GetObject"), 0);
}

#[test]
fn an_option_that_the_build_does_not_know_is_named_before_anything_is_mapped() {
    for (build, options, unknown) in [
        (Build::SERVER_2022, without_ntlm(), "BlockNTLM"),
        (
            Build::SERVER_2016,
            signed().with_write_through(false),
            "UseWriteThrough",
        ),
    ] {
        let fixture = fixture(build);
        let trace = fixture.trace(|| {
            let error = map(&fixture.node, options.clone()).unwrap_err();
            assert!(
                matches!(&error, SmbError::UnknownOption { option, .. } if *option == unknown),
                "{error}"
            );
        });
        assert_eq!(calls(&trace, mapping::CREATE.name), 0);
        assert_eq!(rows(&fixture), []);
    }
}

#[test]
fn a_mapping_that_lacks_what_is_demanded_is_refused_and_stays() {
    let fixture = fixture(Build::SERVER_2022);
    map(&fixture.node, nothing()).unwrap();
    let trace = fixture.trace(|| {
        let error = map(&fixture.node, signed()).unwrap_err();
        let SmbError::OtherOptions { unmet, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(unmet, ["RequireIntegrity"]);
    });
    let changes = calls(&trace, mapping::CREATE.name) + calls(&trace, mapping::REMOVE.name);
    assert_eq!(changes, 0);
    map(&fixture.node, nothing()).unwrap();
}

#[test]
fn a_mapping_that_has_what_is_demanded_or_more_is_reused() {
    let fixture = fixture(Build::SERVER_2022);
    map(&fixture.node, signed()).unwrap();
    let unsigned = nothing().with_integrity(false);
    let private = signed().with_privacy(true);
    let trace = fixture.trace(|| {
        for options in [signed(), unsigned.clone(), private.clone(), nothing()] {
            map(&fixture.node, options).unwrap();
        }
    });
    assert_eq!(calls(&trace, mapping::CREATE.name), 0);
    assert_eq!(rows(&fixture).len(), 1);
}

/// The same node, with another demand.
fn node_with(fixture: &NodeFixture, privacy: Privacy) -> Node {
    let mut options = Options::default();
    options.privacy = privacy;
    Node::new(fixture.os().clone(), options)
}

#[test]
fn a_mapping_that_is_not_encrypted_is_not_used_where_all_are_to_be() {
    let fixture = fixture(Build::SERVER_2022);
    map(&node_with(&fixture, Privacy::Unasked), nothing()).unwrap();
    let strict = node_with(&fixture, Privacy::All);
    let trace = fixture.trace(|| {
        let error = map(&strict, nothing()).unwrap_err();
        let SmbError::OtherOptions { unmet, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(unmet, ["RequirePrivacy"]);
    });
    assert_eq!(
        calls(&trace, mapping::REMOVE.name),
        0,
        "others work with it"
    );
    let plain = nothing().with_privacy(false);
    assert_eq!(map(&strict, plain), Ok(MapOutcome::ReusedUnknown));
    let lenient = map(&node_with(&fixture, Privacy::Unasked), nothing());
    assert_eq!(lenient, Ok(MapOutcome::ReusedUnknown));
}

/// As csi-proxy's flag has it: a node that changes to us has mappings of others.
#[test]
fn what_new_mappings_are_to_have_those_that_are_there_need_not() {
    let fixture = fixture(Build::SERVER_2022);
    map(&node_with(&fixture, Privacy::Unasked), nothing()).unwrap();
    let node = node_with(&fixture, Privacy::New);
    assert_eq!(map(&node, nothing()), Ok(MapOutcome::ReusedUnknown));
    let private = nothing().with_privacy(true);
    let error = map(&node, private).unwrap_err();
    assert!(matches!(error, SmbError::OtherOptions { .. }), "{error}");
    node.operations()
        .smb()
        .unmap(&RemotePath::parse(SHARE).unwrap(), fixture.soon())
        .unwrap();
    map(&node, nothing()).unwrap();
    let strict = node_with(&fixture, Privacy::All);
    assert_eq!(
        map(&strict, nothing()),
        Ok(MapOutcome::ReusedUnknown),
        "it is encrypted"
    );
}

/// Whether Windows fills the property in, nothing has shown: if it does not, a second volume on a share must
/// not fail for it, unless its own options rely on it.
#[test]
fn a_mapping_that_does_not_tell_whether_it_is_encrypted_is_refused_to_who_asks() {
    fn silent(row: &mut Instance) {
        if let Some(value) = row.properties.get_mut(mapping::REQUIRE_PRIVACY.name) {
            *value = Value::Null;
        }
    }
    let fixture = fixture(Build::SERVER_2022);
    let node = inject::node(&fixture, |os| {
        inject::each_row(&mut os.smb, silent);
    });
    assert_eq!(map(&node, nothing()), Ok(MapOutcome::Made));
    assert_eq!(map(&node, nothing()), Ok(MapOutcome::Reused));
    let private = nothing().with_privacy(true);
    let error = map(&node, private).unwrap_err();
    assert!(matches!(error, SmbError::OtherOptions { .. }), "{error}");
}

/// An option that the node demands anyway does not differ when a caller requests it.
#[test]
fn encryption_is_one_option_of_every_caller() {
    let fixture = fixture(Build::SERVER_2022);
    assert_eq!(map(&fixture.node, nothing()), Ok(MapOutcome::Made));
    let private = nothing().with_privacy(true);
    assert_eq!(map(&fixture.node, private), Ok(MapOutcome::Reused));
    let other = map(&fixture.node, nothing().with_persistent(true));
    assert_eq!(other, Ok(MapOutcome::ReusedOtherOptions));
}

#[test]
fn all_mappings_are_listed_and_no_server_is_asked() {
    let fixture = fixture(Build::SERVER_2022);
    assert_eq!(list(&fixture), []);
    map(&fixture.node, signed()).unwrap();
    foreign(&fixture);
    fixture.set_server("files", ServerHealth::Down);
    let trace = fixture.trace(|| {
        let [letter, share] = &list(&fixture)[..] else {
            panic!("two mappings");
        };
        assert_eq!(letter.remote, r"\\FILES\share");
        assert_eq!(letter.local.as_deref(), Some("S:"));
        assert_eq!(
            (letter.integrity, letter.privacy),
            (Some(false), Some(false))
        );
        assert_eq!(share.remote, SHARE);
        assert_eq!(share.local, None);
        assert_eq!((share.integrity, share.privacy), (Some(true), Some(true)));
        assert_eq!(share.write_through, Some(false));
        assert_eq!(share.status, Some(MappingStatus::Disconnected));
        assert!(!format!("{share:?}").contains(PASSWORD));
    });
    assert_eq!(trace.len(), 1, "{trace:?}");
}

fn list(fixture: &NodeFixture) -> Vec<ShareMapping> {
    let soon = NodeApi::deadline(&fixture.node, A_MINUTE);
    api::Smb::mappings(&fixture.node, soon).unwrap()
}

/// Somebody maps the same share under a letter.
fn foreign(fixture: &NodeFixture) {
    use mapping::create;
    let credential = format!("{}:{PASSWORD}", USER.replace('\\', r"\\"));
    let arguments = Arguments::none()
        .with(create::REMOTE_PATH.name, Value::text(r"\\FILES\share"))
        .with(create::LOCAL_PATH.name, Value::text("S:"))
        .with(create::CREDENTIAL.name, Value::text(credential));
    let class = Target::Class(mapping::CLASS.name);
    let create = mapping::CREATE.name;
    let made = fixture
        .os()
        .smb
        .invoke(class, create, &arguments, Deadline::NEVER);
    assert_eq!(made.unwrap().code, 0);
}

#[test]
fn what_windows_does_not_tell_is_not_taken_for_granted() {
    fn silent(row: &mut Instance) {
        if let Some(value) = row.properties.get_mut(mapping::REQUIRE_INTEGRITY.name) {
            *value = Value::Null;
        }
    }
    let fixture = fixture(Build::SERVER_2022);
    map(&fixture.node, signed()).unwrap();
    let node = inject::node(&fixture, |os| {
        inject::each_row(&mut os.smb, silent);
    });
    let error = map(&node, signed()).unwrap_err();
    assert!(matches!(error, SmbError::OtherOptions { .. }), "{error}");
}

#[test]
fn a_driver_branches_on_conditions() {
    let fixture = fixture(Build::SERVER_2022);
    let condition = |options| {
        let soon = NodeApi::deadline(&fixture.node, A_MINUTE);
        let mapped = asking(options, |it| api::Smb::map(&fixture.node, it, soon));
        mapped.unwrap_err().condition()
    };
    let unknown = condition(without_ntlm());
    assert_eq!(unknown, Some(api::Condition::UnknownOption));
    map(&fixture.node, nothing()).unwrap();
    let other = condition(signed());
    assert_eq!(other, Some(api::Condition::OtherOptions));
}
