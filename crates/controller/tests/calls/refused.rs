//! What is answered without a server.

use std::time::{Duration, Instant};

use transport::Code;
use wire::csi::v1::VolumeContentSource;
use wire::csi::v1::controller::{ControllerExpandVolume, ControllerGetCapabilities, CreateVolume};
use wire::csi::v1::volume_capability::{AccessType, BlockVolume};
use wire::csi::v1::volume_content_source;
use wire::csi::v1::{ControllerGetCapabilitiesRequest, CreateVolumeRequest, VolumeCapability};

use crate::fixture::{
    Change, Fixture, NOWHERE, UUID, capability, clone_of, growth, map, range, request, secret,
    secrets, set,
};

/// What is changed in a request, and a part of the text that refuses it.
const CREATES: &[(Change, &str)] = &[
    (|it| it.name.clear(), "name is missing"),
    (|it| it.name.push('#'), "'#'"),
    (|it| it.name.push_str("/b"), "separator"),
    (|it| it.name.push('.'), "the path of a share"),
    (|it| it.volume_capabilities.clear(), "capability is missing"),
    (|it| it.volume_capabilities = vec![block()], "volumeMode"),
    (nothing, "content source"),
    (bare_clone, "a clone needs a Secret"),
    (|it| set(it, "subDirr", "x"), "\"subDirr\""),
    (
        |it| it.mutable_parameters = map(&[("iops", "1")]),
        "\"iops\"",
    ),
    (|it| set(it, "Source", "//a/b"), "twice"),
    (|it| it.parameters.clear(), "source is missing"),
    (|it| set(it, "onDelete", "keep"), "\"keep\""),
    (|it| bare(it, "x", "ro"), "subDir needs a Secret"),
    (|it| bare(it, "", "guest"), "guest needs a Secret"),
    (|it| drop(it.secrets.remove("username")), "no username"),
    (|it| secret(it, "username", "a\0b"), "of username"),
    (|it| options(it, "vers=3.1.1"), "port 445"),
    (|it| secret(it, "mountOptions", "port=x"), "of the Secret"),
    (|it| it.capacity_range = range(-1, 0), "negative"),
    (|it| template(it, "namespace"), "--extra-create-metadata"),
    (|it| template(it, "uid"), "subDir or source has ${"),
    (template_in_source, "subDir or source has ${"),
];

/// Sources and folders, and a part of the text that refuses them.
const PLACES: &[(&str, &str, &str)] = &[
    ("//a", "x", "is not the path of a share"),
    ("smb://a/b", "x", "is not the path of a share"),
    ("//a@b/c", "x", "server's name with '@'"),
    ("//a/IPC$", "x", "not a share with folders"),
    ("//a/pipe", "x", "not a share with folders"),
    ("//a/MailSlot/c", "x", "not a share with folders"),
    ("//a/DavWWWRoot", "x", "not a share with folders"),
    ("//a:445/b", "x", "is not the path of a share"),
    (r"\\?\UNC\a\b", "x", "is not the path of a share"),
    (r"C:\a\b", "x", "is not the path of a share"),
    ("//a/b", r"C:\x", "is not the path of a share"),
    ("//a/b", "x\ty", "is not the path of a share"),
    ("//a/b/../c", "x", "a name that is . or .."),
    ("//a/b", "..", "a name that is . or .."),
    ("//a/b", "x/../y", "a name that is . or .."),
    ("//a/b", ".", "a name that is . or .."),
    ("//a/b", "x/NUL", "is not the path of a share"),
    ("//a/b", "x.", "is not the path of a share"),
    ("//a/b", "x:y", "is not the path of a share"),
    ("//a/b", "x*", "is not the path of a share"),
    ("//a/b", " x", "blanks"),
    ("//a/b ", "x", "blanks"),
    ("//a/b", "x\u{2003}", "blanks"),
    ("//a/b", "x#y", "'#'"),
    ("//a/b#c", "x", "'#'"),
    ("//a/b", "x\u{2215}y", "'\u{2215}'"),
    ("//a/b", "x\u{2044}y", "'\u{2044}'"),
    ("//a/b\u{ff0f}c", "x", "'\u{ff0f}'"),
    ("//a/b", "x\u{ff3c}y", "'\u{ff3c}'"),
    ("//a/b", "/", "base folder itself"),
    ("//a/b", "\\", "base folder itself"),
    ("//a/b", ".wincsi", ".wincsi"),
    ("//a/b", "x/.WinCSI/y", ".wincsi"),
    ("//a/b", ".w\u{131}ncsi", ".wincsi"),
    ("//a/b/.wincsi/deleted", "x", ".wincsi"),
    ("//a/b/.w\u{131}ncsi", "x", ".wincsi"),
    ("//a/b", "archived-x", "archived-"),
    ("//a/b", "Archived-x/y", "archived-"),
];

#[test]
fn a_create_that_cannot_be_is_refused_by_name() {
    let fixture = Fixture::with(&[]);
    for (change, part) in CREATES {
        let mut wanted = request("pvc-1", NOWHERE);
        change(&mut wanted);
        let status = fixture.create(&wanted).unwrap_err();
        assert_eq!(status.code, Code::InvalidArgument, "{part}: {status:?}");
        assert!(status.message.contains(part), "{part}: {status:?}");
    }
    let mut wanted = request("pvc-1", NOWHERE);
    let status = fixture.create(&wanted).unwrap_err();
    assert_eq!(status.code, Code::Unavailable, "{status:?}");
    assert!(status.message.contains("connect to"), "{status:?}");
    wanted.capacity_range = range(2, 1);
    let status = fixture.create(&wanted).unwrap_err();
    assert_eq!(status.code, Code::OutOfRange, "{status:?}");
}

#[test]
fn no_volume_is_made_that_the_node_would_refuse() {
    let fixture = Fixture::with(&[]);
    for (source, folder, part) in PLACES {
        let mut wanted = request("pvc-1", NOWHERE);
        set(&mut wanted, "source", source);
        set(&mut wanted, "subDir", folder);
        let status = fixture.create(&wanted).unwrap_err();
        let text = format!("{source} {folder}: {}", status.message);
        assert_eq!(status.code, Code::InvalidArgument, "{text}");
        assert!(status.message.contains(part), "{text}");
    }
    for (length, names, part) in [(200, 6, "handle"), (256, 1, "longer than Windows")] {
        let mut long = request("pvc-1", NOWHERE);
        let path = vec!["a".repeat(length); names].join("/");
        set(&mut long, "subDir", &path);
        let status = fixture.create(&long).unwrap_err();
        assert!(status.message.contains(part), "{}", status.message);
    }
}

/// A row of the table, and the same that a delete finds in a handle: then nothing is touched, not even the server.
#[test]
fn a_delete_of_what_no_create_makes_is_ok() {
    let fixture = Fixture::with(&["-delete-unrecorded"]);
    let secrets = secrets(NOWHERE);
    let delete = |id: &str| fixture.delete(id, &secrets);
    assert_eq!(delete(""), Code::InvalidArgument);
    for id in ["a/b#x", "a/b#x#name", "a/b#x#name#archive"] {
        assert_eq!(delete(id), Code::Unavailable, "{id}");
    }
    let forms = "some-id a/b a/b#x#n## a/b#x#n#delete# #x## a#x##".split(' ');
    let parts = ["a/b##x#", "a/b##x##", "a/b#x#n/m#", "a/b#x#n.#"];
    for id in forms.chain(parts) {
        assert_eq!(delete(id), Code::Ok, "{id}");
    }
    let mut places = PLACES.to_vec();
    places.retain(|(source, ..)| source.starts_with("//"));
    for (source, folder, _) in places {
        let id = format!("{}#{folder}#n#", &source[2..]);
        assert_eq!(delete(&id), Code::Ok, "{id}");
    }
}

#[test]
fn a_delete_without_a_secret_leaves_the_folder() {
    let fixture = Fixture::with(&["-delete-unrecorded"]);
    for id in [format!("a/b#pvc-{UUID}##"), String::from("a/b#x#n#archive")] {
        assert_eq!(fixture.delete(&id, &map(&[])), Code::Ok);
    }
    let line = "wincsi_controller_folders_left_total{reason=\"no-secret\"} 2\n";
    assert!(fixture.metrics().contains(line), "{}", fixture.metrics());
    let password = map(&[("password", "p")]);
    assert_eq!(fixture.delete("a/b#x##", &password), Code::InvalidArgument);
}

#[test]
fn an_answer_comes_before_the_callers_deadline() {
    let fixture = Fixture::with(&[]);
    // Takes what is sent and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let (began, left) = (Instant::now(), Duration::from_secs(3));
    let answer = fixture.call_within::<CreateVolume>(&request("pvc-1", port), left);
    assert_eq!(answer.unwrap_err().code, Code::DeadlineExceeded);
    assert!(began.elapsed() < left, "{:?}", began.elapsed());
}

#[test]
fn an_expansion_is_granted_and_writes_nothing() {
    let fixture = Fixture::with(&[]);
    let expand = |id: &str, range| {
        let request = growth(id, range, secrets(NOWHERE));
        let answer = fixture.call::<ControllerExpandVolume>(&request);
        answer.map(|it| (it.capacity_bytes, it.node_expansion_required))
    };
    assert_eq!(expand("a/b#x##", range(7, 0)).unwrap(), (7, false));
    for (id, range, code) in [
        ("", range(7, 0), Code::InvalidArgument),
        ("a/b#x##", None, Code::InvalidArgument),
        ("a/b#x##", range(-7, 0), Code::InvalidArgument),
        ("a/b#x##", range(7, 6), Code::OutOfRange),
    ] {
        assert_eq!(expand(id, range).unwrap_err().code, code, "{id} {range:?}");
    }
}

#[test]
fn capabilities_are_confirmed_of_folders_alone() {
    let fixture = Fixture::with(&[]);
    let mount = || capability("ro");
    for (id, secrets, capability, answer) in [
        ("a/b#x##", map(&[]), mount(), Ok(true)),
        ("a/b#x##", map(&[]), block(), Ok(false)),
        ("a/b#x##", secrets(NOWHERE), mount(), Err(Code::Unavailable)),
        ("", map(&[]), mount(), Err(Code::InvalidArgument)),
        ("some-id", map(&[]), mount(), Err(Code::NotFound)),
    ] {
        assert_eq!(fixture.validate(id, secrets, capability), answer, "{id}");
    }
}

#[test]
fn no_other_call_is_announced() {
    let fixture = Fixture::with(&[]);
    let request = ControllerGetCapabilitiesRequest {};
    let answer = fixture.call::<ControllerGetCapabilities>(&request);
    // Create and delete, clone, snapshots and their list, expand, one writer of several.
    let all = answer.unwrap().capabilities.into_iter();
    assert_eq!(Vec::from_iter(all.map(number)), [1, 7, 5, 6, 9, 13]);
}

fn number(capability: wire::csi::v1::ControllerServiceCapability) -> i32 {
    use wire::csi::v1::controller_service_capability::Type;
    let Some(Type::Rpc(rpc)) = capability.r#type else {
        panic!("no operation");
    };
    rpc.r#type
}

/// Without a Secret.
fn bare(request: &mut CreateVolumeRequest, folder: &str, flags: &str) {
    request.secrets.clear();
    set(request, "subDir", folder);
    options(request, flags);
}

fn options(request: &mut CreateVolumeRequest, flags: &str) {
    request.volume_capabilities = vec![capability(flags)];
}

fn block() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Block(BlockVolume {})),
        access_mode: None,
    }
}

fn template(request: &mut CreateVolumeRequest, of: &str) {
    set(request, "subDir", &format!("${{pvc.metadata.{of}}}/a"));
}

fn template_in_source(request: &mut CreateVolumeRequest) {
    set(request, "source", "//a/b/${pvc.metadata.name}");
    set(request, "csi.storage.k8s.io/pvc/name", "claim");
}

fn nothing(request: &mut CreateVolumeRequest) {
    content(request, None);
}

fn bare_clone(request: &mut CreateVolumeRequest) {
    clone_of(request, "127.0.0.1/encrypted#a##");
    bare(request, "", "ro");
}

fn content(request: &mut CreateVolumeRequest, r#type: Option<volume_content_source::Type>) {
    request.volume_content_source = Some(VolumeContentSource { r#type });
}
