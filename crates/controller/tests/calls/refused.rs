//! What is answered without a server.

use std::time::{Duration, Instant};

use transport::Code;
use wire::csi::v1::controller::{
    ControllerExpandVolume, ControllerGetCapabilities, CreateVolume, ValidateVolumeCapabilities,
};
use wire::csi::v1::volume_capability::{AccessType, BlockVolume};
use wire::csi::v1::volume_content_source::{self, VolumeSource};
use wire::csi::v1::{
    CapacityRange, ControllerExpandVolumeRequest, ControllerGetCapabilitiesRequest,
    CreateVolumeRequest, ValidateVolumeCapabilitiesRequest, VolumeCapability, VolumeContentSource,
};

use crate::fixture::{Fixture, NOWHERE, UUID, capability, map, request, secrets};

/// What is changed in a request that is right.
type Change = fn(&mut CreateVolumeRequest);

const CREATES: &[(&str, Code, &str, Change)] = &[
    ("right", Code::Unavailable, "connect to", |_| {}),
    ("name", Code::InvalidArgument, "name is missing", |it| {
        it.name.clear()
    }),
    ("name with #", Code::InvalidArgument, "'#'", |it| {
        it.name.push('#')
    }),
    ("two names", Code::InvalidArgument, "separator", |it| {
        it.name.push_str("/b")
    }),
    (
        "name ends in a dot",
        Code::InvalidArgument,
        "the path of a share",
        |it| {
            it.name.push('.');
        },
    ),
    (
        "no capability",
        Code::InvalidArgument,
        "capability is missing",
        |it| {
            it.volume_capabilities.clear();
        },
    ),
    ("block", Code::InvalidArgument, "volumeMode", |it| {
        it.volume_capabilities.push(VolumeCapability {
            access_type: Some(AccessType::Block(BlockVolume {})),
            access_mode: None,
        });
    }),
    ("a clone", Code::InvalidArgument, "no clone", |it| {
        let volume_id = String::from("a");
        let source = volume_content_source::Type::Volume(VolumeSource { volume_id });
        it.volume_content_source = Some(VolumeContentSource {
            r#type: Some(source),
        });
    }),
    (
        "unknown parameter",
        Code::InvalidArgument,
        "\"subDirr\"",
        |it| set(it, "subDirr", "x"),
    ),
    (
        "attributes class",
        Code::InvalidArgument,
        "\"iops\"",
        |it| {
            it.mutable_parameters = map(&[("iops", "1")]);
        },
    ),
    ("a parameter twice", Code::InvalidArgument, "twice", |it| {
        set(it, "Source", "//a/b")
    }),
    (
        "no source",
        Code::InvalidArgument,
        "source is missing",
        |it| it.parameters.clear(),
    ),
    (
        "unknown onDelete",
        Code::InvalidArgument,
        "\"keep\"",
        |it| set(it, "onDelete", "keep"),
    ),
    (
        "subDir, no Secret",
        Code::InvalidArgument,
        "subDir needs a Secret",
        |it| {
            set(it, "subDir", "x");
            it.secrets.clear();
        },
    ),
    (
        "guest, no Secret",
        Code::InvalidArgument,
        "guest needs a Secret",
        |it| {
            it.volume_capabilities = vec![capability("guest")];
            it.secrets.clear();
        },
    ),
    ("no user", Code::InvalidArgument, "no username", |it| {
        it.secrets.remove("username");
    }),
    (
        "user with a control character",
        Code::InvalidArgument,
        "of username",
        |it| {
            it.secrets
                .insert(String::from("username"), String::from("a\0b"));
        },
    ),
    ("two ports", Code::InvalidArgument, "port 445", |it| {
        it.volume_capabilities = vec![capability("vers=3.1.1")];
    }),
    ("no port", Code::InvalidArgument, "of the Secret", |it| {
        it.secrets
            .insert(String::from("mountOptions"), String::from("port=x"));
    }),
    ("negative size", Code::InvalidArgument, "negative", |it| {
        size(it, -1, 0)
    }),
    ("impossible size", Code::OutOfRange, "limit", |it| {
        size(it, 2, 1)
    }),
    (
        "a template without metadata",
        Code::InvalidArgument,
        "--extra-create-metadata",
        |it| {
            set(it, "subDir", "${pvc.metadata.namespace}/a");
        },
    ),
    (
        "an unknown template",
        Code::InvalidArgument,
        "subDir or source has ${",
        |it| {
            set(it, "subDir", "${pvc.metadata.uid}");
        },
    ),
    (
        "a template in source",
        Code::InvalidArgument,
        "subDir or source has ${",
        |it| {
            set(it, "source", "//a/b/${pvc.metadata.name}");
            set(it, "csi.storage.k8s.io/pvc/name", "claim");
        },
    ),
];

/// Sources and folders, and a part of the text that refuses them.
const PLACES: &[(&str, &str, &str)] = &[
    ("//a", "x", "is not the path of a share"),
    ("smb://a/b", "x", "is not the path of a share"),
    ("//a@b/c", "x", "server's name with '@'"),
    ("//a/IPC$", "x", "not a share with folders"),
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
    for (case, code, part, change) in CREATES {
        let mut wanted = request("pvc-1", NOWHERE);
        change(&mut wanted);
        let status = fixture.create(&wanted).unwrap_err();
        assert_eq!(status.code, *code, "{case}: {}", status.message);
        assert!(status.message.contains(part), "{case}: {}", status.message);
    }
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
    let mut long = request("pvc-1", NOWHERE);
    set(&mut long, "subDir", &vec!["a".repeat(200); 6].join("/"));
    let status = fixture.create(&long).unwrap_err();
    assert!(status.message.contains("handle"), "{}", status.message);
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
    let forms = [
        "some-id",
        "a/b",
        "a/b#x#n##",
        "a/b#x#n#delete#",
        "#x##",
        "a#x##",
    ];
    let parts = ["a/b#x##", "a/b##x#", "a/b##x##", "a/b#x#n/m#", "a/b#x#n.#"];
    for id in forms.into_iter().chain(parts).filter(|id| *id != "a/b#x##") {
        assert_eq!(delete(id), Code::Ok, "{id}");
    }
    for (source, folder, _) in PLACES
        .iter()
        .filter(|(source, ..)| source.starts_with("//"))
    {
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
    let expand = |id: &str, range: Option<(i64, i64)>| {
        let range = range.map(|(required_bytes, limit_bytes)| CapacityRange {
            required_bytes,
            limit_bytes,
        });
        let mut request = ControllerExpandVolumeRequest::default();
        request.volume_id = id.to_owned();
        request.capacity_range = range;
        request.secrets = secrets(NOWHERE);
        let answer = fixture.call::<ControllerExpandVolume>(&request);
        answer.map(|it| (it.capacity_bytes, it.node_expansion_required))
    };
    assert_eq!(expand("a/b#x##", Some((7, 0))).unwrap(), (7, false));
    for (id, range, code) in [
        ("", Some((7, 0)), Code::InvalidArgument),
        ("a/b#x##", None, Code::InvalidArgument),
        ("a/b#x##", Some((-7, 0)), Code::InvalidArgument),
        ("a/b#x##", Some((7, 6)), Code::OutOfRange),
    ] {
        assert_eq!(expand(id, range).unwrap_err().code, code, "{id} {range:?}");
    }
}

#[test]
fn capabilities_are_confirmed_of_folders_alone() {
    let fixture = Fixture::with(&[]);
    let validate = |id: &str, secret: bool, block: bool| {
        let mut request = ValidateVolumeCapabilitiesRequest::default();
        request.volume_id = id.to_owned();
        request.volume_capabilities = vec![capability("ro")];
        if block {
            request.volume_capabilities[0].access_type = Some(AccessType::Block(BlockVolume {}));
        }
        if secret {
            request.secrets = secrets(NOWHERE);
        }
        let answer = fixture.call::<ValidateVolumeCapabilities>(&request);
        answer
            .map(|it| it.confirmed.is_some())
            .map_err(|it| it.code)
    };
    assert_eq!(validate("a/b#x##", false, false), Ok(true));
    assert_eq!(validate("a/b#x##", false, true), Ok(false));
    assert_eq!(validate("a/b#x##", true, false), Err(Code::Unavailable));
    assert_eq!(validate("", false, false), Err(Code::InvalidArgument));
    assert_eq!(validate("some-id", false, false), Err(Code::NotFound));
}

#[test]
fn no_other_call_is_announced() {
    let fixture = Fixture::with(&[]);
    let request = ControllerGetCapabilitiesRequest {};
    let answer = fixture.call::<ControllerGetCapabilities>(&request);
    // Create and delete, expand, one writer of several.
    let numbers: Vec<_> = answer
        .unwrap()
        .capabilities
        .into_iter()
        .map(number)
        .collect();
    assert_eq!(numbers, [1, 9, 13]);
}

fn number(capability: wire::csi::v1::ControllerServiceCapability) -> i32 {
    use wire::csi::v1::controller_service_capability::Type;
    let Some(Type::Rpc(rpc)) = capability.r#type else {
        panic!("no operation");
    };
    rpc.r#type
}

fn set(request: &mut CreateVolumeRequest, key: &str, value: &str) {
    request.parameters.insert(key.to_owned(), value.to_owned());
}

fn size(request: &mut CreateVolumeRequest, required_bytes: i64, limit_bytes: i64) {
    request.capacity_range = Some(CapacityRange {
        required_bytes,
        limit_bytes,
    });
}
