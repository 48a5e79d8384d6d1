//! Somebody who may write in a folder exchanges it while a link is made there.

use std::thread;
use std::time::Duration;

use formats::reparse::{Names, Reparse};
use os::{Component, Files, LinkKind, WinPath};
use os_sim::{ClockMode, Effect, Rule, SimNode, demo};
use proptest::prelude::*;
use proptest::test_runner;
use wincsi_proxy::flags::Config;
use wincsi_proxy::serve;

use super::rig::{Call, Hands, Rig, path, turn};

const POD: &str = r"C:\var\lib\kubelet\pods\p";
const LINK: &str = r"C:\var\lib\kubelet\pods\p\smb";
const OUTSIDE: &str = r"C:\ProgramData\sentry";

fn scene() -> Rig {
    let rig = Rig::new();
    rig.directory(POD);
    rig.directory(OUTSIDE);
    rig
}

/// What somebody with leave to write in [`POD`] tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attack {
    /// Empties it and makes it a junction in place.
    Junction,
    /// Makes junctions of what is in it.
    JunctionsWithin,
    /// Puts something into what is in it.
    Fill,
    /// Takes it away, and puts a link in its place.
    Link,
    /// Takes the link's name.
    TakeName,
}

fn junction() -> Vec<u8> {
    let names = Names {
        substitute: format!(r"\??\{OUTSIDE}"),
        print: String::new(),
    };
    Reparse::MountPoint(names).encode().unwrap()
}

impl Attack {
    /// What the system refuses stays undone.
    fn run(self, sim: &SimNode) {
        let (tree, pod) = (sim.files(), path(POD));
        match self {
            Self::Junction => {
                empty(sim);
                let _ = tree.become_reparse_point(&pod, &junction());
            }
            Self::JunctionsWithin => within(sim, |entry| {
                let _ = tree.become_reparse_point(entry, &junction());
            }),
            Self::Fill => within(sim, |entry| {
                let name = Component::parse("full").unwrap();
                let _ = tree.create_directory(&entry.join(name));
            }),
            Self::Link => {
                empty(sim);
                let _ = tree.remove_directory(&pod);
                let _ = tree.create_symlink(&pod, OUTSIDE, LinkKind::Directory);
            }
            Self::TakeName if is_plain(sim) => drop(tree.create_directory(&path(LINK))),
            Self::TakeName => {}
        }
    }
}

fn is_plain(sim: &SimNode) -> bool {
    let pod = sim.files().entry(&path(POD));
    pod.is_ok_and(|pod| pod.tag.is_none())
}

/// What leads on is left alone: the attacker may not write there.
fn within(sim: &SimNode, act: impl Fn(&WinPath)) {
    let pod = path(POD);
    if !is_plain(sim) {
        return;
    }
    for found in sim.files().list(&pod).unwrap() {
        if found.entry.tag.is_none() {
            act(&pod.join(Component::listed(found.name).unwrap()));
        }
    }
}

fn empty(sim: &SimNode) {
    within(sim, |entry| {
        let _ = sim.files().remove_directory(entry);
        let _ = sim.files().remove_file(entry);
    });
}

/// Releases what hangs, so that a scope whose own part panics can end: it waits for its threads.
struct Released<'a>(&'a Rig);

impl Drop for Released<'_> {
    fn drop(&mut self) {
        self.0.sim.faults().clear();
    }
}

/// However long the server takes, the folder stays what it was.
#[test]
fn a_slow_server_gives_nobody_time_to_lead_a_link_out() {
    let rig = scene();
    let before = rig.outside();
    let slow = Rule::on("MSFT_SmbGlobalMapping.Create", Effect::Hang);
    let slow = rig.sim.faults().add(slow);
    thread::scope(|scope| {
        let _released = Released(&rig);
        let mapping = scope.spawn(|| rig.call(Call::MapShareAt, LINK));
        let patience = Duration::from_secs(60);
        assert!(rig.sim.faults().wait_until_hanging(1, patience));
        Attack::Junction.run(&rig.sim);
        Attack::Link.run(&rig.sim);
        rig.sim.faults().remove(slow);
        assert_eq!(mapping.join().unwrap(), Ok(()));
    });
    assert_eq!(rig.outside(), before);
    assert_eq!(rig.is_link(LINK), Ok(true));
    assert_eq!(rig.offences.take(), Vec::<String>::new());
}

/// Nobody may ever ask for anything in the folder again, and kubelet cannot remove it.
#[test]
fn the_start_removes_what_a_death_left_of_a_link() {
    const NAME: &str = ".wincsi-link-0123456789abcdef0123456789abcdef";
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("node");
    let left = path(POD).join(Component::parse(NAME).unwrap());
    let note = path(r"C:\Program Files\wincsi").join(Component::parse(NAME).unwrap());
    let before = demo::create(&home, ClockMode::Real).unwrap();
    for path in [&left, &note] {
        for depth in 1..path.components().len() {
            let _ = before.files().create_directory(&path.prefix(depth));
        }
    }
    before.files().create_directory(&left).unwrap();
    let kind = LinkKind::Directory;
    before.files().create_symlink(&note, POD, kind).unwrap();
    drop(before);
    let config = Config {
        simulate: Some(home.clone()),
        listen: folder.path().join("sockets"),
        ..Config::default()
    };
    drop(serve::start(&config).unwrap());
    let after = SimNode::open(&home, ClockMode::Real).unwrap();
    assert_eq!(after.files().list(&path(POD)), Ok(Vec::new()));
    assert!(after.files().entry(&note).is_err());
}

/// Somebody exchanges things before these operations of the system, counted from the first of the call.
fn attacks() -> impl Strategy<Value = Vec<(u32, Attack)>> {
    let attack = prop::sample::select(vec![
        Attack::Junction,
        Attack::Junction,
        Attack::JunctionsWithin,
        Attack::Fill,
        Attack::Link,
        Attack::TakeName,
    ]);
    prop::collection::vec((1_u32..30, attack), 1..5).prop_map(|mut attacks| {
        attacks.sort_by_key(|(nth, _)| *nth);
        attacks.dedup_by_key(|(nth, _)| *nth);
        attacks
    })
}

/// Makes the call, and attacks each time that it comes to such an operation.
fn call_under(rig: &Rig, call: Call, attacks: &[(u32, Attack)]) {
    let faults = rig.sim.faults();
    let armed: Vec<_> = attacks
        .iter()
        .map(|(nth, attack)| {
            let rule = Rule::on("*", Effect::Hang).from_nth(*nth).times(1);
            (faults.add(rule), *attack)
        })
        .collect();
    thread::scope(|scope| {
        let _released = Released(rig);
        let caller = scope.spawn(|| rig.call(call, LINK));
        for (rule, attack) in armed {
            let patience = Duration::from_millis(10);
            while !caller.is_finished() && !faults.wait_until_hanging(1, patience) {}
            attack.run(&rig.sim);
            faults.remove(rule);
        }
        let _ = caller.join().unwrap();
    });
}

proptest! {
    #![proptest_config(test_runner::Config {
        cases: test_runner::Config::default().cases / 10,
        max_shrink_iters: 100,
        ..test_runner::Config::default()
    })]

    #[test]
    fn no_link_is_made_outside_at_whichever_moment_a_folder_is_exchanged(
        call in prop::sample::select(vec![Call::MapShareAt, Call::SymlinkAt]),
        attacks in attacks(),
    ) {
        let rig = scene();
        let before = rig.outside();
        call_under(&rig, call, &attacks);
        prop_assert_eq!(rig.outside(), before);
    }
}
