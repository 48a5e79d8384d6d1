//! Whatever happens on a node, in whatever order: after each step the mappings are those of the live records and of
//! others, and at the end nothing is left.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, thread};

use proptest::test_runner::{RngAlgorithm, TestRng};
use wincsi::sim::smb::{ServerHealth, ServerSpec, Share};
use wincsi::sim::{Effect, Rule};
use wincsi_driver::record::Lifetime;

use crate::deaths::{GLANCE, hang};
use crate::fixture::{Fixture, PASSWORD, USER, Volume};

/// How many steps are taken, unless the variable has another number.
const STEPS: usize = 5_000;
const STEPS_VARIABLE: &str = "WINCSI_SMB_STEPS";

/// Steps on one node: a new one has no history.
const STEPS_OF_A_NODE: usize = 500;

const OTHER_USER: &str = r"FILES\others";
const PODS: [&str; 2] = ["pod-1", "pod-2"];
const SERVERS: [&str; 2] = ["files", "nas"];
/// Which others map, and as whom.
const OTHERS: [(&str, &str); 2] = [(r"\\files\more", USER), (r"\\nas\data", OTHER_USER)];

struct Spec {
    handle: &'static str,
    remote: &'static str,
    user: &'static str,
    lifetime: Lifetime,
}

const SPECS: [Spec; 8] = [
    persistent("root", r"\\files\data", USER),
    persistent("a", r"\\files\data\a", USER),
    persistent("b", r"\\FILES\Data\b", USER),
    persistent("more", r"\\files\more", USER),
    persistent("nas", r"\\nas\data", USER),
    persistent("second user", r"\\files\data\a", OTHER_USER),
    inline("inline", r"\\files\data\a", USER),
    inline("inline of another", r"\\nas\data", OTHER_USER),
];

const fn persistent(handle: &'static str, remote: &'static str, user: &'static str) -> Spec {
    Spec {
        handle,
        remote,
        user,
        lifetime: Lifetime::Persistent,
    }
}

const fn inline(handle: &'static str, remote: &'static str, user: &'static str) -> Spec {
    Spec {
        lifetime: Lifetime::Inline,
        ..persistent(handle, remote, user)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Stage(usize, Secret),
    Publish(usize, usize, Secret),
    Unpublish(usize, usize),
    Unstage(usize),
    Stats(usize, usize),
    Restart,
    Reboot,
    SetServer(usize, ServerHealth),
    ChangePassword,
    OthersMap(usize),
    OthersUnmap(usize),
    /// Windows lets a mapping of ours go.
    LetGo(usize),
}

#[derive(Clone, Copy, Debug)]
enum Secret {
    Right,
    Wrong,
    None,
}

/// What happened so far.
struct World {
    fixture: Fixture,
    password: String,
    passwords: usize,
    /// What others mapped, and the passwords that they had.
    others: BTreeMap<usize, usize>,
    /// Since which passwords each share is mapped.
    mapped: BTreeMap<String, usize>,
    /// What Windows let go since it was mapped last.
    let_go: BTreeSet<String>,
}

#[test]
fn mappings_are_those_of_live_records_and_of_others_after_each_step() {
    let steps = env::var(STEPS_VARIABLE)
        .ok()
        .map(|steps| steps.parse().unwrap());
    let steps: usize = steps.unwrap_or(STEPS);
    let nodes = steps.div_ceil(STEPS_OF_A_NODE);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for first in 0..processors {
            scope.spawn(move || {
                for node in (first..nodes).step_by(processors) {
                    let steps = STEPS_OF_A_NODE.min(steps - node * STEPS_OF_A_NODE);
                    World::new().live(node, steps);
                }
            });
        }
    });
}

impl World {
    fn new() -> Self {
        let fixture = Fixture::new();
        for server in SERVERS {
            fixture.smb().remove_server(server).ok();
            fixture.add_server(server, &spec(PASSWORD));
        }
        fixture.make_folder("a");
        fixture.make_folder("b");
        Self {
            fixture,
            password: PASSWORD.to_owned(),
            passwords: 0,
            others: BTreeMap::new(),
            mapped: BTreeMap::new(),
            let_go: BTreeSet::new(),
        }
    }

    fn live(mut self, node: usize, steps: usize) {
        let mut seed = [7; 32];
        seed[..8].copy_from_slice(&u64::try_from(node).unwrap().to_le_bytes());
        let mut random = Random(TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let mut taken = Vec::new();
        for _ in 0..steps {
            let step = random.step();
            let dies_at = random.one_of(25).then(|| random.below(14));
            taken.push((step, dies_at));
            self.take(step, dies_at);
            if let Err(broken) = self.check() {
                let last = &taken[taken.len().saturating_sub(25)..];
                let last: Vec<_> = last.iter().map(|step| format!("{step:?}")).collect();
                panic!(
                    "node {node}, step {}: {broken}\n{}",
                    taken.len(),
                    last.join("\n")
                );
            }
        }
        self.end(node);
    }

    fn take(&mut self, step: Step, dies_at: Option<usize>) {
        match step {
            Step::Restart => self.fixture.restart(),
            Step::Reboot => {
                self.fixture.reboot();
                // One that this driver renewed for its volumes ends with the boot, as all that it makes.
                let mappings = self.fixture.mappings();
                self.others
                    .retain(|index, _| mappings.contains(&OTHERS[*index].0.to_owned()));
            }
            Step::SetServer(server, health) => {
                self.fixture
                    .smb()
                    .set_condition(SERVERS[server], health)
                    .unwrap();
            }
            Step::ChangePassword => self.change_password(),
            Step::OthersMap(index) => self.others_map(index),
            Step::OthersUnmap(index) => {
                if self.others.remove(&index).is_some()
                    && self.fixture.try_unmap_by_hand(OTHERS[index].0)
                {
                    self.let_go.insert(OTHERS[index].0.to_owned());
                }
            }
            Step::LetGo(volume) => self.let_go(volume),
            Step::Stage(index, _) => {
                let volume = self.volume(index, Secret::Right);
                if volume.lifetime == Lifetime::Persistent {
                    self.fixture.make_staging_folder(&volume);
                }
                self.call_or_die(step, dies_at);
            }
            _ => self.call_or_die(step, dies_at),
        }
    }

    fn call_or_die(&mut self, step: Step, dies_at: Option<usize>) {
        match dies_at {
            None => self.call(step),
            Some(at) => self.die_in(step, at),
        }
    }

    fn call(&self, step: Step) {
        let fixture = &self.fixture;
        match step {
            Step::Stage(index, secret) => {
                let volume = self.volume(index, secret);
                let staged = match volume.lifetime {
                    Lifetime::Persistent => fixture.stage_again(&volume),
                    Lifetime::Inline => fixture.publish_inline(&volume, PODS[0]),
                };
                let is_wrong = matches!(secret, Secret::Wrong);
                match staged {
                    Ok(()) if is_wrong && volume.lifetime == Lifetime::Inline => {
                        panic!("an inline volume was served without its password");
                    }
                    Err(error) if wincsi_driver::code::is_final(error.code()) => {
                        assert!(
                            !fixture.has_record(&volume),
                            "a final code left a record: {error}"
                        );
                    }
                    _ => {}
                }
            }
            Step::Publish(index, pod, secret) => {
                let volume = self.volume(index, secret);
                let _ = match secret {
                    Secret::None => fixture.publish(&volume, PODS[pod]),
                    _ => fixture.publish_with_secret(&volume, PODS[pod]),
                };
            }
            Step::Unpublish(index, pod) => {
                let _ = fixture.unpublish(&self.volume(index, Secret::Right), PODS[pod]);
            }
            Step::Unstage(index) => {
                let _ = fixture.unstage(&self.volume(index, Secret::Right));
            }
            Step::Stats(index, pod) => {
                let _ = fixture.stats(&self.volume(index, Secret::Right), PODS[pod]);
            }
            _ => {}
        }
    }

    /// The driver is killed before one operation of the call, and starts again.
    fn die_in(&mut self, step: Step, at: usize) {
        let faults = self.fixture.sim.faults();
        let records = thread::scope(|scope| {
            let mut held = faults.add(hang());
            let running = scope.spawn(|| self.call(step));
            let mut operations = 0;
            while !running.is_finished() {
                if !faults.wait_until_hanging(1, GLANCE) {
                    continue;
                }
                if operations == at {
                    let records = self.fixture.copy_of_records();
                    faults.add(Rule::on("*", Effect::fail(wincsi::Win32::GEN_FAILURE)));
                    faults.remove(held);
                    return Some(records);
                }
                operations += 1;
                let next = faults.add(hang());
                faults.remove(held);
                held = next;
            }
            faults.remove(held);
            None
        });
        faults.clear();
        if let Some(records) = records {
            // A record may tell of a mapping that its driver was about to make anew.
            if let Step::Stage(index, _) | Step::Publish(index, ..) = step {
                self.let_go.insert(share_of(SPECS[index].remote));
            }
            self.fixture.restart_with(&records);
        }
    }

    fn change_password(&mut self) {
        self.passwords += 1;
        self.password = format!("{PASSWORD} {}", self.passwords);
        for server in SERVERS {
            let changed = spec(&self.password);
            let change = |server: &mut ServerSpec| server.user = changed.user;
            self.fixture.smb().change_server(server, change).unwrap();
        }
    }

    fn others_map(&mut self, index: usize) {
        let (remote, user) = OTHERS[index];
        // A mapping tells nobody who made it, or when.
        let is_free =
            !self.fixture.mappings().contains(&remote.to_owned()) && !self.fixture.is_ours(remote);
        if is_free && self.fixture.try_map_by_hand(remote, user, &self.password) {
            self.others.insert(index, self.passwords);
        }
    }

    fn let_go(&mut self, index: usize) {
        let share = share_of(SPECS[index].remote);
        let is_others = self.others.keys().any(|other| OTHERS[*other].0 == share);
        if !is_others && self.fixture.try_unmap_by_hand(&share) {
            self.let_go.insert(share);
        }
    }

    fn volume(&self, index: usize, secret: Secret) -> Volume<'_> {
        let spec = &SPECS[index];
        Volume {
            handle: spec.handle,
            remote: spec.remote,
            server: None,
            user: spec.user,
            password: match secret {
                Secret::Wrong => "wrong",
                _ => &self.password,
            },
            lifetime: spec.lifetime,
        }
    }

    /// Each mapping is another's, or that of a share which a record names.
    fn check(&mut self) -> Result<(), String> {
        self.check_mapped()?;
        let mappings = self.fixture.mappings();
        let records = self.fixture.shares_of_records();
        let others = self.others.keys().map(|index| OTHERS[*index].0.to_owned());
        let others: BTreeSet<_> = others.collect();
        let mut counted = BTreeMap::<&String, usize>::new();
        mappings
            .iter()
            .for_each(|one| *counted.entry(one).or_default() += 1);
        for (mapping, count) in counted {
            if count > 1 {
                return Err(format!("{mapping} is mapped {count} times"));
            }
            if !others.contains(mapping) && !records.contains(mapping) {
                return Err(format!(
                    "{mapping} leaked: records {records:?}, others {others:?}"
                ));
            }
        }
        // One of an old password is of no use to anybody, and may be made anew, in vain too.
        let good = self
            .others
            .iter()
            .filter(|(_, password)| **password == self.passwords);
        let mut good = good.map(|(index, _)| OTHERS[*index].0.to_owned());
        match good.find(|other| !mappings.contains(other)) {
            Some(gone) => Err(format!("{gone} was another's, and is gone")),
            None => Ok(()),
        }
    }

    /// Each share that a staged volume of this boot has is mapped, unless it was let go, or its password is an old one.
    fn check_mapped(&mut self) -> Result<(), String> {
        let mappings = self.fixture.mappings();
        for mapping in &mappings {
            self.let_go.remove(mapping);
            self.mapped.entry(mapping.clone()).or_insert(self.passwords);
        }
        for share in self.fixture.shares_staged_in_this_boot() {
            let is_old = self
                .mapped
                .get(&share)
                .is_some_and(|since| *since != self.passwords);
            if mappings.contains(&share) || self.let_go.contains(&share) {
                continue;
            }
            if !is_old {
                return Err(format!("{share} is not mapped, and a volume needs it"));
            }
            self.let_go.insert(share);
        }
        self.mapped.retain(|share, _| mappings.contains(share));
        Ok(())
    }

    /// All comes back, and kubelet takes all down.
    fn end(mut self, node: usize) {
        for server in SERVERS {
            self.fixture
                .smb()
                .set_condition(server, ServerHealth::Up)
                .unwrap();
        }
        for index in 0..SPECS.len() {
            let volume = self.volume(index, Secret::Right);
            for pod in PODS {
                fixture_unpublishes(&self.fixture, &volume, pod);
            }
            if volume.lifetime == Lifetime::Persistent {
                let unstaged = self.fixture.unstage(&volume);
                unstaged.unwrap_or_else(|error| panic!("node {node}: {error}"));
                assert!(!self.fixture.exists(&volume.staging()), "node {node}");
            }
        }
        assert_eq!(self.fixture.records(), 0, "node {node}");
        for index in std::mem::take(&mut self.others).into_keys() {
            self.fixture.try_unmap_by_hand(OTHERS[index].0);
        }
        assert_eq!(self.fixture.mappings(), [""; 0], "node {node}");
    }
}

fn fixture_unpublishes(fixture: &Fixture, volume: &Volume<'_>, pod: &str) {
    let unpublished = fixture.unpublish(volume, pod);
    unpublished.unwrap_or_else(|error| panic!("{}: {error}", volume.handle));
    assert!(!fixture.exists(&volume.target(pod)));
}

fn share_of(remote: &str) -> String {
    let names: Vec<_> = remote.split('\\').take(4).collect();
    names.join("\\").to_lowercase()
}

/// A server with two shares and two users.
fn spec(password: &str) -> ServerSpec {
    let mut spec = ServerSpec::sharing("data", USER, password);
    let more = ServerSpec::sharing("more", OTHER_USER, password);
    let share = |share: &Share| share.clone();
    spec.share.extend(more.share.iter().map(share));
    spec.user.extend(more.user);
    spec
}

struct Random(TestRng);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        use proptest::prelude::Rng as _;
        usize::try_from(self.0.next_u32()).unwrap() % limit
    }

    fn one_of(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn step(&mut self) -> Step {
        let (volume, pod) = (self.below(SPECS.len()), self.below(PODS.len()));
        match self.below(40) {
            0..=11 => Step::Stage(volume, self.secret()),
            12..=18 => Step::Publish(volume, pod, self.secret()),
            19..=22 => Step::Unpublish(volume, pod),
            23..=28 => Step::Unstage(volume),
            29..=30 => Step::Stats(volume, pod),
            31 => Step::Restart,
            32 => Step::Reboot,
            33 => Step::SetServer(self.below(SERVERS.len()), ServerHealth::Down),
            34 | 35 => Step::SetServer(self.below(SERVERS.len()), ServerHealth::Up),
            36 => Step::ChangePassword,
            37 => Step::OthersMap(self.below(OTHERS.len())),
            38 => Step::OthersUnmap(self.below(OTHERS.len())),
            _ => Step::LetGo(volume),
        }
    }

    fn secret(&mut self) -> Secret {
        match self.below(8) {
            0 => Secret::Wrong,
            1 => Secret::None,
            _ => Secret::Right,
        }
    }
}
