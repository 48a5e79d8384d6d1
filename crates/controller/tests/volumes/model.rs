//! Random writes, snapshots, restores and deletes by controllers that come and go, against a model of what has to be there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use transport::Code;
use wincsi_controller::volumes::{Asked, Deleted, Error, Take, WholeSnapshot};

use crate::fixture::{
    Controller, Tree, at, clone, create, delete, dress, entries, gone, tree_at, volume,
};
use crate::server::Samba;
use crate::snapshots::{drop_snapshot, named, restored, take, take_of};

/// How many steps are taken: those of each run of the tests, unless `WINCSI_STEPS` says more.
const STEPS: u32 = 2_000;

const VOLUMES: [&str; 2] = ["v-0", "v-1"];
const SNAPSHOTS: [&str; 3] = ["snap-0", "snap-1", "snap-2"];
const RESTORED: [&str; 2] = ["r-0", "r-1"];
const PATHS: [&str; 6] = ["a", "b", "deep/a", "deep/b", "deep/er/a", "Z \u{e4}"];

/// Read-only, hidden, of the system, to be archived.
const ATTRIBUTES: u32 = 0x27;

struct Model {
    samba: Samba,
    controller: Controller,
    random: TestRng,
    /// The volume of each snapshot, what it had, and how it was answered.
    snapshots: BTreeMap<&'static str, (&'static str, Tree, WholeSnapshot)>,
    restored: BTreeMap<&'static str, (&'static str, Tree)>,
    /// All attributes that an entry of a snapshot had.
    seen: BTreeSet<u32>,
    step: u32,
}

#[test]
fn snapshots_have_what_a_model_has() {
    let steps = std::env::var("WINCSI_STEPS").ok();
    let steps = steps.map_or(STEPS, |steps| steps.parse().unwrap());
    let mut model = Model::new();
    for step in 0..steps {
        model.step = step;
        model.act();
    }
    model.check();
    // Each combination, of files and of folders.
    assert_eq!(model.seen.len(), 32, "{:x?}", model.seen);
}

impl Model {
    fn new() -> Self {
        let samba = Samba::with("store dos attributes = yes");
        let controller = Controller::new(samba.port());
        for name in VOLUMES {
            create(&controller, &volume(name, name)).unwrap();
        }
        Self {
            samba,
            controller,
            random: TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]),
            snapshots: BTreeMap::new(),
            restored: BTreeMap::new(),
            seen: BTreeSet::new(),
            step: 0,
        }
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.random.next_u32()).unwrap() % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn act(&mut self) {
        match self.below(16) {
            0..8 => self.write(),
            8..11 => self.take(),
            11..13 => self.restore(),
            13 => self.drop_snapshot(),
            14 => self.delete(),
            _ => {
                self.check();
                self.controller = Controller::new(self.samba.port());
            }
        }
    }

    fn write(&mut self) {
        let (volume, path) = (self.one(&VOLUMES), self.one(&PATHS));
        let path = at(&self.samba, volume).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        if self.below(4) > 0 {
            let size = self.one(&[0, 1, 4_096, 65_536, 65_537, 200_000]);
            let byte = self.step.to_le_bytes()[0];
            fs::write(&path, vec![byte; size]).unwrap();
        }
        let root = self.samba.root();
        let within = path.ancestors().take_while(|path| **path != root);
        for path in within.filter(|path| path.exists()) {
            // Of two versions with one time and size the copy takes the first for the second.
            let time = UNIX_EPOCH + Duration::from_millis(1_000_000_000_000 + u64::from(self.step));
            dress(path, self.random.next_u32() & ATTRIBUTES, time);
        }
    }

    fn wanted(&self, snapshot: &str, of: &str) -> Take {
        Take {
            snapshot: named(snapshot),
            volume: None,
            ..take_of(of)
        }
    }

    fn take(&mut self) {
        let (name, of) = (self.one(&SNAPSHOTS), self.one(&VOLUMES));
        let tree = tree_at(&self.samba, of);
        let taken = take(&self.controller, &self.wanted(name, of));
        match self.snapshots.get(name) {
            Some((source, _, before)) if *source == of => assert_eq!(taken.unwrap(), *before),
            Some(_) => assert_eq!(code(taken), Err(Code::AlreadyExists)),
            None => {
                assert_eq!(tree_at(&self.samba, of), tree, "{}", self.step);
                let attributes = tree.values().map(|(_, basic)| basic.attributes);
                self.seen.extend(attributes);
                self.snapshots.insert(name, (of, tree, taken.unwrap()));
            }
        }
    }

    fn restore(&mut self) {
        let (name, snapshot) = (self.one(&RESTORED), self.one(&SNAPSHOTS));
        let volume = restored(&named(snapshot), volume(name, name));
        let done = code(clone(&self.controller, &volume));
        match (self.restored.get(name), self.snapshots.get(snapshot)) {
            (None, None) => assert_eq!(done, Err(Code::NotFound)),
            (None, Some((_, tree, _))) => {
                assert_eq!(done, Ok(()));
                assert_eq!(tree_at(&self.samba, name), *tree, "{}", self.step);
                self.restored.insert(name, (snapshot, tree.clone()));
            }
            // Also if the snapshot is gone.
            (Some((source, _)), _) if *source == snapshot => assert_eq!(done, Ok(())),
            (Some(_), _) => assert_eq!(done, Err(Code::AlreadyExists)),
        }
    }

    fn drop_snapshot(&mut self) {
        let name = self.one(&SNAPSHOTS);
        drop_snapshot(&self.controller, &named(name)).unwrap();
        self.snapshots.remove(name);
    }

    /// Of what was restored, or of a volume that may have snapshots: another comes in its place.
    fn delete(&mut self) {
        let name = self.one(&[VOLUMES[0], VOLUMES[1], RESTORED[0], RESTORED[1]]);
        let deleted = delete(&self.controller, &gone(&volume(name, name)));
        assert_eq!(deleted.unwrap(), Deleted::Gone, "{}", self.step);
        self.restored.remove(name);
        if VOLUMES.contains(&name) {
            create(&self.controller, &volume(name, name)).unwrap();
        }
    }

    /// All that is there is as it was, and nothing else is.
    fn check(&self) {
        let asked = Asked {
            most: 10,
            ..Asked::default()
        };
        let base = named("x").base;
        let (listed, _) = self.controller.snapshots(&base, &asked).unwrap();
        let expected = self.snapshots.values().map(|(.., whole)| whole.clone());
        assert_eq!(listed, expected.collect::<Vec<_>>(), "{}", self.step);
        for (name, (_, tree, _)) in &self.snapshots {
            let place = tree_at(&self.samba, &format!(".wincsi/snapshots/{name}"));
            assert_eq!(place, *tree, "{} {name}", self.step);
        }
        for (name, (_, tree)) in &self.restored {
            assert_eq!(tree_at(&self.samba, name), *tree, "{} {name}", self.step);
        }
        for folder in ["clones", "deleted"] {
            assert!(entries(&self.samba, &format!(".wincsi/{folder}")).is_empty());
        }
        let places = entries(&self.samba, ".wincsi/snapshots").len();
        assert_eq!(places, 2 * self.snapshots.len(), "{}", self.step);
    }
}

fn code<T>(done: Result<T, Error>) -> Result<(), Code> {
    done.map(drop).map_err(|error| error.code())
}
