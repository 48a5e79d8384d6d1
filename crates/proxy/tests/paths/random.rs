//! Random trees with random links: whatever is called, nothing outside is touched.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};

use super::rig::{CALLS, Call, Hands, KUBELET, Rig};

/// What a hand plants below the kubelet's folder.
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

/// Something that happens: somebody plants, or somebody calls.
#[derive(Debug, Clone)]
enum Event {
    Calls(Call, String),
    Plants(String, Plant),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => (inside(), plant()).prop_map(|(at, plant)| Event::Plants(at, plant)),
        2 => (prop::sample::select(CALLS.to_vec()), inside())
            .prop_map(|(call, path)| Event::Calls(call, path)),
    ]
}

/// What is in the way stays: a plant is a try, as a call is.
fn put(rig: &Rig, at: &str, plant: &Plant) {
    use formats::reparse::{Names, Reparse};
    use os::{Files, LinkKind};
    let (tree, path) = (rig.sim.files(), super::rig::path(at));
    let point = |content: Reparse| {
        let data = content.encode().unwrap();
        let _ = tree.create_reparse_point(&path, LinkKind::Directory, &data);
    };
    match plant {
        Plant::Directory => drop(tree.create_directory(&path)),
        // What is written goes through a link at the end.
        Plant::File if tree.entry(&path).is_ok() => {}
        Plant::File => drop(tree.write_file(&path, b"x")),
        Plant::Junction(target) => point(Reparse::MountPoint(Names {
            substitute: format!(r"\??\{target}"),
            print: String::new(),
        })),
        Plant::Lookalike(whose) => {
            let volume = match whose {
                Whose::Data => rig.volume,
                Whose::System => rig.system_volume(),
            };
            point(Reparse::MountPoint(Names::volume(volume.0)));
        }
        Plant::Mount => drop(rig.sim.os().volumes.set_mount_point(&path, rig.volume)),
        Plant::Stranger => point(Reparse::Other {
            tag: formats::reparse::Tag(0x8000_0123),
            owner: None,
            data: vec![0; 8],
        }),
        Plant::Symlink(target) => drop(tree.create_symlink(&path, target, LinkKind::Directory)),
    }
}

/// A hand writes only where it may: its plants must not be led out themselves.
fn may_be_planted(rig: &Rig, at: &str) -> bool {
    let path = super::rig::path(at);
    let Some(directory) = path.parent() else {
        return false;
    };
    let tree = rig.sim.files();
    let host = |path: &os::WinPath| tree.host_path(path).ok();
    let places = [
        super::rig::path(KUBELET),
        super::rig::path(&rig.volume.to_string()),
    ];
    match host(&directory) {
        Some(there) => places
            .iter()
            .filter_map(host)
            .any(|place| there.starts_with(place)),
        None => false,
    }
}

fn happen(rig: &Rig, events: &[Event]) -> Result<(), TestCaseError> {
    for event in events {
        match event {
            Event::Plants(at, plant) if may_be_planted(rig, at) => put(rig, at, plant),
            Event::Plants(..) => {}
            Event::Calls(call, path) => {
                let _ = rig.call(*call, path);
                prop_assert_eq!(
                    rig.offences.take_of(*call),
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

    #[test]
    fn no_call_touches_anything_outside(events in prop::collection::vec(event(), 60..160)) {
        let rig = Rig::new();
        rig.directory(r"C:\outside\a\b\c");
        rig.directory(r"C:\var\lib\kubelet-evil\a");
        rig.file(r"C:\outside\a\file");
        rig.file(r"C:\outside\b");
        let before = rig.outside();
        happen(&rig, &events)?;
        prop_assert_eq!(rig.outside(), before);
    }
}
