//! LUNs of two arrays, and all that may happen to them, in any order: after each step the sessions are those of live
//! records and of strangers, and each disk was written for its own volumes alone.

mod check;
mod findings;
mod steps;
mod strangers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use wincsi::NodeApi;
use wincsi::iscsi::Authentication;
use wincsi::sim::iscsi::ServerSpec;
use wincsi::sim::testing::TestNode;
use wincsi::sim::{ClockMode, Inventory, NodeSpec, SimNode, Start};
use wincsi::volumes::VolumeId;
use wincsi_driver::kinds::{self, Row, share};
use wincsi_driver::life::CallError;

use self::check::Seen;
use self::steps::{
    ARRAYS, LUNS, PORTALS, SECRETS, Step, VOLUMES, WITH_CHAP, address, array_spec, draw, iqn,
    places, portal, target_of,
};
use crate::deaths::die_at;
use crate::support::requests::{map, request_at, volume};
use crate::support::{DriverFixture, Setup, path};

/// How many steps are taken, unless the variable has another number.
const STEPS: usize = 20_000;
const STEPS_VARIABLE: &str = "WINCSI_ISCSI_STEPS";
/// The node that comes first: a red one is played again alone, with the steps of one node.
const FROM_VARIABLE: &str = "WINCSI_ISCSI_FROM";
/// Steps on one node: a new one has no history.
const STEPS_OF_A_NODE: usize = 250;

/// What happened so far.
struct World {
    fixture: DriverFixture,
    /// The image behind each LUN's number.
    images: [char; LUNS],
    answers: [bool; PORTALS],
    /// Volumes that pods may have.
    published: BTreeSet<usize>,
    /// Volumes that were staged in this boot, and not unstaged since.
    staged: BTreeSet<usize>,
    /// Sessions of strangers, and their targets.
    theirs: BTreeMap<String, usize>,
    /// Targets that strangers log in to at each boot, and where that is to come in this one.
    lasting: BTreeSet<usize>,
    due: BTreeSet<usize>,
    their_portals: BTreeSet<usize>,
    /// Targets whose session may stay, as a disk of it was or may have been in use.
    kept: BTreeSet<usize>,
    kept_portals: BTreeSet<usize>,
    /// Targets whose lease may stay for such a session.
    left: BTreeSet<usize>,
    /// Images that were unstaged while they were away: they come back online, and then keep a session.
    online: BTreeSet<String>,
    /// The Windows volume of each image.
    contents: BTreeMap<String, VolumeId>,
    seen: Seen,
}

/// Guards: P84, P86
#[test]
fn sessions_are_of_live_records_and_strangers() {
    let number = |variable| env::var(variable).ok().map(|text| text.parse().unwrap());
    let (steps, from) = (
        number(STEPS_VARIABLE).unwrap_or(STEPS),
        number(FROM_VARIABLE).unwrap_or(0),
    );
    let nodes = steps.div_ceil(STEPS_OF_A_NODE);
    // Calls wait for threads of their own half of the time.
    let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
    let healthy = AtomicUsize::new(0);
    thread::scope(|scope| {
        for first in 0..threads {
            let healthy = &healthy;
            scope.spawn(move || {
                for node in (first..nodes).step_by(threads) {
                    let steps = STEPS_OF_A_NODE.min(steps - node * STEPS_OF_A_NODE);
                    let looks = World::new(from + node).live(from + node, steps);
                    healthy.fetch_add(looks, Ordering::Relaxed);
                }
            });
        }
    });
    let healthy = healthy.into_inner();
    println!("{healthy} looks at a node with nothing wrong");
    assert!(healthy > steps / 7, "{healthy}");
}

impl World {
    /// On every second node the initiator starts with the node.
    fn new(node: usize) -> Self {
        let mut spec = NodeSpec::named("n");
        let mut services = spec.service.iter_mut();
        let initiator = services.find(|service| service.name == "MSiSCSI").unwrap();
        initiator.start = [Start::Manual, Start::Automatic][node % 2];
        // In memory, which takes half of the time.
        let sim = TestNode::by(tempfile::tempdir().unwrap(), |folder| {
            fs::create_dir(folder).unwrap();
            SimNode::in_memory_with_files(&spec, Inventory::of(0), ClockMode::Virtual, folder)
        });
        for (array, name) in ARRAYS.into_iter().enumerate() {
            for lun in array * 4..array * 4 + 4 {
                for image in ['a', 'b'] {
                    sim.array()
                        .set_image(&format!("{lun}{image}"), 64 << 20)
                        .unwrap();
                }
            }
            let server = array_spec(array, ['a'; LUNS], [true; PORTALS]);
            sim.array().add_server(name, &server).unwrap();
        }
        let setup = Setup { name: "i", kinds };
        let mut world = Self {
            fixture: DriverFixture::on(sim, setup),
            images: ['a'; LUNS],
            answers: [true; PORTALS],
            published: BTreeSet::new(),
            staged: BTreeSet::new(),
            theirs: BTreeMap::new(),
            lasting: BTreeSet::new(),
            due: BTreeSet::new(),
            their_portals: BTreeSet::new(),
            kept: BTreeSet::new(),
            kept_portals: BTreeSet::new(),
            left: BTreeSet::new(),
            online: BTreeSet::new(),
            contents: BTreeMap::new(),
            seen: Seen::default(),
        };
        world.seen = world.look();
        world
    }

    /// Returns how often the doctor looked at a node with nothing wrong.
    fn live(mut self, node: usize, steps: usize) -> usize {
        let mut seed = [9; 32];
        seed[..8].copy_from_slice(&u64::try_from(node).unwrap().to_le_bytes());
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut below = |limit: usize| usize::try_from(random.next_u32()).unwrap() % limit;
        let (mut taken, mut healthy) = (Vec::new(), 0);
        for _ in 0..steps {
            let step = draw(&mut below);
            let dies_at = (below(12) == 0).then(|| below(90));
            taken.push((step, dies_at));
            let taken_well = self.take(step, dies_at);
            // A look costs as much as a step: one that finds what is sick is not taken each time.
            let is_healthy = self.is_healthy();
            let looks = is_healthy || taken.len().is_multiple_of(8);
            healthy += usize::from(is_healthy);
            let looked = taken_well.and_then(|()| match looks {
                true => self.check_findings(),
                false => Ok(()),
            });
            if let Err(broken) = looked {
                let last = taken[taken.len().saturating_sub(40)..].iter();
                let last = Vec::from_iter(last.map(|step| format!("{step:?}"))).join("\n");
                panic!("node {node}, step {}: {broken}\n{last}", taken.len());
            }
        }
        self.answers = [true; PORTALS];
        self.set_arrays();
        let ended = self.take(Step::UnstageAll, None);
        ended.unwrap_or_else(|broken| panic!("node {node}, at the end: {broken}"));
        assert_eq!(self.seen.records.len(), 0, "node {node}");
        healthy
    }

    fn take(&mut self, step: Step, dies_at: Option<usize>) -> Result<(), String> {
        match step {
            Step::Stage(of, _) | Step::Publish(of) | Step::Unpublish(of) | Step::Unstage(of) => {
                return self.call(step, of, dies_at);
            }
            Step::UnstageAll => {
                for of in 0..VOLUMES {
                    self.call(Step::Unpublish(of), of, None)?;
                    self.call(Step::Unstage(of), of, None)?;
                }
                return Ok(());
            }
            Step::Reconcile => drop(self.fixture.reconcile()),
            Step::Restart => self.fixture.restart_driver(),
            Step::Reboot => {
                self.fixture.reboot();
                self.theirs.clear();
                self.staged.clear();
                self.kept.clear();
                self.due.clone_from(&self.lasting);
            }
            Step::Portal(portal, answers) => {
                self.answers[portal] = answers;
                self.set_arrays();
            }
            Step::Exchange(lun) => {
                self.images[lun] = if self.images[lun] == 'a' { 'b' } else { 'a' };
                self.set_arrays();
            }
            Step::LogIn(target, is_lasting) => self.log_in(target, is_lasting),
            Step::LogOut(index) => self.log_out(index),
            Step::AddPortal(at) if !self.seen.portals.contains(&at) => {
                let (iscsi, soon) = (NodeApi::iscsi(self.node()), self.fixture.soon());
                if iscsi
                    .add_portal(&portal(at), &Authentication::None, soon)
                    .is_ok()
                {
                    self.their_portals.insert(at);
                }
            }
            Step::RemovePortal(at) if self.their_portals.remove(&at) => {
                let (iscsi, soon) = (NodeApi::iscsi(self.node()), self.fixture.soon());
                iscsi.remove_portal(&portal(at), soon).unwrap();
            }
            Step::AddPortal(_) | Step::RemovePortal(_) => {}
            Step::TimePasses => self.fixture.let_pass(Duration::from_secs(31)),
        }
        self.check(step, None)
    }

    /// Kubelet calls, if it would.
    fn call(&mut self, step: Step, of: usize, dies_at: Option<usize>) -> Result<(), String> {
        let is_due = match step {
            Step::Publish(_) => self.seen.records.contains_key(&of),
            Step::Unpublish(_) => self.published.contains(&of),
            Step::Unstage(_) => !self.published.contains(&of),
            _ => true,
        };
        if !is_due {
            return Ok(());
        }
        let is_in_place = self.note_kept(step, of);
        match step {
            Step::Publish(_) => drop(self.published.insert(of)),
            Step::Unstage(_) => drop(self.staged.remove(&of)),
            _ => {}
        }
        drop(self.fixture.sim.take_trace());
        let done = match dies_at {
            Some(at) => self.die_in(step, of, at),
            None => Some(self.ask(step, of)),
        };
        if !is_in_place {
            self.check_untouched()?;
        }
        match (step, done) {
            (Step::Stage(..), Some(Ok(()))) => {
                self.staged.insert(of);
                self.check_content(of)?;
            }
            (Step::Unpublish(_), Some(Ok(()))) => drop(self.published.remove(&of)),
            (Step::Unstage(_) | Step::Unpublish(_), Some(Err(error)))
                if self.answers == [true; PORTALS] =>
            {
                return Err(format!("volume {of} is stuck: {error}"));
            }
            _ => {}
        }
        self.check(step, Some(of))
    }

    /// Whether a disk of the target is or may be in use, so that its session may stay. Returns whether the volume's own disk
    /// is behind the number of its LUN, as far as a record tells.
    fn note_kept(&mut self, step: Step, of: usize) -> bool {
        let target = target_of(of);
        let bound = self.seen.records.get(&of).cloned().flatten();
        let is_in_place = bound
            .as_ref()
            .is_none_or(|bound| *bound == self.image_of(of));
        let sessions = self.seen.sessions.iter().flat_map(BTreeMap::values);
        let sessions = Vec::from_iter(sessions.filter(|session| session.target == target));
        let is_there = is_in_place
            && sessions.len() == 1
            && sessions.iter().all(|session| session.is_connected);
        let luns = [target * 2, target * 2 + 1].map(|lun| self.image_of(lun));
        if !is_in_place || sessions.len() > 1 || luns.iter().any(|lun| self.online.contains(lun)) {
            self.kept.insert(target);
        }
        match (step, bound) {
            (Step::Unstage(_), Some(bound)) if is_there => drop(self.online.remove(&bound)),
            (Step::Unstage(_), Some(bound)) => drop(self.online.insert(bound)),
            _ => {}
        }
        is_in_place
    }

    /// The driver is killed before one operation of the call, and starts again.
    fn die_in(&mut self, step: Step, of: usize, at: usize) -> Option<Result<(), CallError>> {
        let call = || drop(self.ask(step, of));
        let left = || self.fixture.copy_of_records();
        let left = die_at(&self.fixture.sim, at, call, left);
        self.fixture.faults().clear();
        if let Some(records) = left {
            self.fixture.restart_with(&records);
        }
        None
    }

    fn ask(&self, step: Step, of: usize) -> Result<(), CallError> {
        let (target, call) = (target_of(of), self.fixture.call());
        let [staging, pod] = places(of);
        // The volumes of a target try its portals in one order.
        let [first, second] = [target % 2, 1 - target % 2].map(|way| address(target / 2 * 2 + way));
        let (iqn, lun) = (iqn(target), (of % 2).to_string());
        let context = map(&[
            ("node_attach_driver", "iscsi"),
            ("portal", &first),
            ("portals", &second),
            ("iqn", &iqn),
            ("lun", &lun),
        ]);
        let mut secrets = BTreeMap::new();
        if let (Step::Stage(_, secret), WITH_CHAP) = (step, target) {
            secrets = map(&[
                ("node-db.node.session.auth.username", "node"),
                ("node-db.node.session.auth.password", SECRETS[secret]),
            ]);
        }
        let handle = format!("v{of}");
        match step {
            Step::Unpublish(_) => call.unpublish(&volume(&handle), &path(&pod).into()),
            Step::Unstage(_) => call.unstage(&volume(&handle), &path(&staging).into()),
            _ => request_at(
                &handle,
                [&staging, &pod],
                &context,
                &secrets,
                |request| match step {
                    Step::Stage(..) => call.stage(request),
                    _ => call.publish(request),
                },
            ),
        }
    }

    fn set_arrays(&self) {
        for (array, name) in ARRAYS.into_iter().enumerate() {
            let spec = array_spec(array, self.images, self.answers);
            let change = |server: &mut ServerSpec| *server = spec;
            self.fixture.array().change_server(name, change).unwrap();
        }
    }

    fn image_of(&self, of: usize) -> String {
        let lun = of % LUNS;
        format!("{lun}{}", self.images[lun])
    }
}

fn kinds(_: &SimNode) -> Vec<Row> {
    let mut settings = kinds::Settings::default();
    settings.iscsi.hashes = share::Hashes::QUICK;
    kinds::table(settings)
}
