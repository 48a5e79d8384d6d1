//! Random trees with random links: no call touches anything outside.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use super::fixture::{CALLS, Hands, KUBELET, PathCall, ServerFixture, path};

/// An entry planted below the kubelet's folder.
#[derive(Debug, Clone)]
enum Plant {
    Directory,
    File,
    Junction(String),
    Lookalike(Whose),
    Mount,
    Stranger,
    Symlink(String),
}

#[derive(Debug, Clone, Copy)]
enum Whose {
    Data,
    System,
}

/// Few names, so that paths and links meet.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn inside() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..5).prop_map(|names| format!(r"{KUBELET}\{}", names.join(r"\")))
}

fn target() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        KUBELET,
        r"C:\outside",
        r"C:\outside\a",
        r"C:\",
        r"C:\var\lib\kubelet-evil",
        r"C:\Windows",
        r"C:\var\lib",
        r"Q:\x",
    ]);
    prop_oneof![3 => inside(), 2 => fixed.prop_map(str::to_owned)]
}

fn symlink_target() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        r"\\evil\share",
        r"\\?\UNC\evil\share\a",
        r"..",
        r"..\..",
        r"..\..\..\outside",
        r"\outside\a",
        r"a",
        r"..\b",
        r"..\..\..\..\..\..\..\outside",
        r"\??\C:\outside",
    ]);
    prop_oneof![target(), odd.prop_map(str::to_owned)]
}

fn plant() -> impl Strategy<Value = Plant> {
    prop_oneof![
        3 => Just(Plant::Directory),
        1 => Just(Plant::File),
        2 => target().prop_map(Plant::Junction),
        1 => prop::sample::select(vec![Whose::Data, Whose::System]).prop_map(Plant::Lookalike),
        1 => Just(Plant::Mount),
        1 => Just(Plant::Stranger),
        3 => symlink_target().prop_map(Plant::Symlink),
    ]
}

/// An event: a plant or a call.
#[derive(Debug, Clone)]
enum Event {
    Calls(PathCall, String),
    Plants(String, Plant),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => (inside(), plant()).prop_map(|(at, plant)| Event::Plants(at, plant)),
        2 => (prop::sample::select(CALLS.to_vec()), inside())
            .prop_map(|(call, path)| Event::Calls(call, path)),
    ]
}

/// Existing entries stay: a plant is a try, as a call is.
fn put(fixture: &ServerFixture, at: &str, plant: &Plant) {
    use formats::reparse::{Names, Reparse};
    use os::{Files, LinkKind};
    let (tree, path) = (fixture.files(), path(at));
    let point = |content: Reparse| {
        let data = content.encode().unwrap();
        let _ = tree.create_reparse_point(&path, LinkKind::Directory, &data);
    };
    match plant {
        Plant::Directory => drop(tree.create_directory(&path)),
        // A write would follow a link at the end.
        Plant::File if tree.entry(&path).is_ok() => {}
        Plant::File => drop(tree.write_file(&path, b"x")),
        Plant::Junction(target) => point(Reparse::MountPoint(Names {
            substitute: format!(r"\??\{target}"),
            print: String::new(),
        })),
        Plant::Lookalike(whose) => {
            let volume = match whose {
                Whose::Data => fixture.volume,
                Whose::System => fixture.system_volume(),
            };
            point(Reparse::MountPoint(Names::volume(volume.0)));
        }
        Plant::Mount => drop(
            fixture
                .sim
                .os()
                .volumes
                .set_mount_point(&path, fixture.volume),
        ),
        Plant::Stranger => point(Reparse::Other {
            tag: formats::reparse::Tag(0x8000_0123),
            owner: None,
            data: vec![0; 8],
        }),
        Plant::Symlink(target) => drop(tree.create_symlink(&path, target, LinkKind::Directory)),
    }
}

/// A hand writes only where it may: its plants must not be led out themselves.
fn may_be_planted(fixture: &ServerFixture, at: &str) -> bool {
    let path = path(at);
    let Some(directory) = path.parent() else {
        return false;
    };
    let tree = fixture.files();
    let host = |path: &os::WinPath| tree.host_path(path).ok();
    let places = [
        super::fixture::path(KUBELET),
        super::fixture::path(&fixture.volume.to_string()),
    ];
    match host(&directory) {
        Some(there) => places
            .iter()
            .filter_map(host)
            .any(|place| there.starts_with(place)),
        None => false,
    }
}

fn happen(fixture: &ServerFixture, events: &[Event]) -> Result<(), TestCaseError> {
    for event in events {
        match event {
            Event::Plants(at, plant) if may_be_planted(fixture, at) => put(fixture, at, plant),
            Event::Plants(..) => {}
            Event::Calls(call, path) => {
                let _ = fixture.call(*call, path);
                prop_assert_eq!(
                    fixture.offences.take_of(*call),
                    Vec::<String>::new(),
                    "{:?}",
                    event
                );
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config {
        cases: Config::default().cases / 10,
        max_shrink_iters: 200,
        ..Config::default()
    })]

    /// Guards: P48, P58
    #[test]
    fn no_call_touches_anything_outside(events in prop::collection::vec(event(), 60..160)) {
        let fixture = ServerFixture::new();
        fixture.directory(r"C:\outside\a\b\c");
        fixture.directory(r"C:\var\lib\kubelet-evil\a");
        fixture.file(r"C:\outside\a\file");
        fixture.file(r"C:\outside\b");
        let before = fixture.outside();
        happen(&fixture, &events)?;
        prop_assert_eq!(fixture.outside(), before);
    }
}
