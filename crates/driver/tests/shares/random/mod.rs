//! Whatever happens on a node, in whatever order: after each step the mappings are those of the live records and of
//! others, and at the end nothing is left.

mod check;
mod findings;
mod rollback;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use wincsi::Win32;
use wincsi::sim::smb::{FolderMappings, ServerHealth, ServerSpec, Share};
use wincsi::sim::{Effect, Rule};
use wincsi_driver::record::Lifetime;

use self::steps::{FOLDERS, Mode, OTHER_USER, OTHERS, PODS, Random, SERVERS, SPECS, Secret, Step};
use crate::deaths::die_at;
use crate::fixture::{Fixture, PASSWORD, USER, Volume, path};
use crate::upstream::ByProxy;

/// How many steps are taken, unless the variable has another number.
const STEPS: usize = 20_000;
const STEPS_VARIABLE: &str = "WINCSI_SMB_STEPS";

/// The node that comes first: a red one is played again alone, with the steps of one node.
const FROM_VARIABLE: &str = "WINCSI_SMB_FROM";

/// Steps on one node: a new one has no history.
const STEPS_OF_A_NODE: usize = 500;

/// What happened so far.
struct World {
    fixture: Fixture,
    boot: String,
    password: String,
    passwords: usize,
    /// What others mapped, and the passwords that they had.
    others: BTreeMap<usize, usize>,
    /// Since which passwords each share is mapped.
    mapped: BTreeMap<String, usize>,
    /// What was of an old password once: this driver has mapped it again, most likely.
    renewed: BTreeSet<String>,
    /// What Windows let go since it was mapped last.
    let_go: BTreeSet<String>,
    /// What came through a reboot, and was not seen connected since.
    outlived: BTreeSet<String>,
    /// The servers that are not up.
    ill: BTreeSet<&'static str>,
    /// Those of them whose port takes no connection.
    down: BTreeSet<&'static str>,
    /// How often the doctor looked at a node with nothing wrong.
    healthy: usize,
    /// Folders that the servers refuse.
    refused: BTreeSet<usize>,
    /// Volumes that were served, and that nobody but this driver can have cut since.
    served: BTreeSet<usize>,
    /// Volumes that were staged and not mapped after the last step.
    unreached: BTreeSet<String>,
    /// What was mapped after the last step.
    seen: BTreeSet<String>,
    /// csi-driver-smb's mode, while it has the node.
    upstream: Option<Mode>,
    /// csi-driver-smb in a container, once it was there.
    proxy: Option<ByProxy>,
    /// What was mapped while csi-driver-smb had the node.
    theirs: BTreeSet<String>,
    /// What others mapped, and by what csi-driver-smb staged volumes: it may have made that in place of this driver's.
    lasting: BTreeSet<String>,
    /// What csi-driver-smb left behind.
    left: BTreeSet<String>,
}

/// Guards: P79
#[test]
fn mappings_are_those_of_live_records_and_of_others_after_each_step() {
    let steps = number(STEPS_VARIABLE).unwrap_or(STEPS);
    let from = number(FROM_VARIABLE).unwrap_or(0);
    let nodes = steps.div_ceil(STEPS_OF_A_NODE);
    let healthy = AtomicUsize::new(0);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for first in 0..processors {
            let healthy = &healthy;
            scope.spawn(move || {
                for node in (first..nodes).step_by(processors) {
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

fn number(variable: &str) -> Option<usize> {
    env::var(variable).ok().map(|text| text.parse().unwrap())
}

impl World {
    /// On every second node Windows refuses to map a share beside its folders.
    fn new(node: usize) -> Self {
        let fixture = Fixture::in_memory();
        for server in SERVERS {
            let mut spec = spec(PASSWORD);
            if node % 2 == 1 {
                spec.folder_mappings = FolderMappings::InTheWay;
            }
            fixture.add_server(server, &spec);
        }
        fixture.make_folder("a");
        fixture.make_folder("b");
        Self {
            boot: fixture.boot(),
            fixture,
            password: PASSWORD.to_owned(),
            passwords: 0,
            others: BTreeMap::new(),
            mapped: BTreeMap::new(),
            renewed: BTreeSet::new(),
            let_go: BTreeSet::new(),
            outlived: BTreeSet::new(),
            ill: BTreeSet::new(),
            down: BTreeSet::new(),
            healthy: 0,
            refused: BTreeSet::new(),
            served: BTreeSet::new(),
            unreached: BTreeSet::new(),
            seen: BTreeSet::new(),
            upstream: None,
            proxy: None,
            theirs: BTreeSet::new(),
            lasting: BTreeSet::new(),
            left: BTreeSet::new(),
        }
    }

    fn live(mut self, node: usize, steps: usize) -> usize {
        let mut random = Random::of(node);
        let mut taken = Vec::new();
        for _ in 0..steps {
            let step = match self.upstream {
                Some(_) if random.one_of(6) => Step::Forward,
                _ => random.step(),
            };
            let dies_at = random.one_of(25).then(|| random.below(14));
            taken.push((step, dies_at));
            self.take(step, dies_at);
            let checked = self.check(step, dies_at.is_some());
            // A look costs as much as a step: one that finds what is sick is not taken each time.
            let looks = self.is_healthy() || taken.len().is_multiple_of(4);
            let looked = checked.and_then(|()| match looks {
                true => self.check_findings(),
                false => Ok(()),
            });
            if let Err(broken) = looked {
                let last = &taken[taken.len().saturating_sub(40)..];
                let last: Vec<_> = last.iter().map(|step| format!("{step:?}")).collect();
                panic!(
                    "node {node}, step {}: {broken}\n{}",
                    taken.len(),
                    last.join("\n")
                );
            }
        }
        let healthy = self.healthy;
        self.end(node);
        healthy
    }

    fn take(&mut self, step: Step, dies_at: Option<usize>) {
        match step {
            Step::Rollback(mode) => self.roll_back(mode),
            Step::Forward => self.come_forward(),
            Step::Restart => self.restart(),
            Step::Reboot => self.reboot(),
            Step::SetServer(server, health) => {
                let smb = self.fixture.servers();
                smb.set_condition(SERVERS[server], health).unwrap();
                match health {
                    ServerHealth::Up => self.ill.remove(SERVERS[server]),
                    _ => self.ill.insert(SERVERS[server]),
                };
                match health {
                    ServerHealth::Down => self.down.insert(SERVERS[server]),
                    _ => self.down.remove(SERVERS[server]),
                };
                self.refuse_folders();
            }
            Step::Refuse(folder) => {
                self.refused.insert(folder);
                self.refuse_folders();
            }
            Step::Allow(folder) => {
                self.refused.remove(&folder);
                self.refuse_folders();
            }
            Step::ChangePassword => {
                self.change_password();
                self.served.clear();
            }
            Step::OthersMap(index) => self.others_map(index),
            Step::OthersUnmap(index) => {
                if self.others.remove(&index).is_some()
                    && self.fixture.try_unmap_by_hand(OTHERS[index].0)
                {
                    self.note_let_go(OTHERS[index].0.to_owned());
                }
            }
            Step::LetGo(volume) => self.let_go(volume),
            _ => match self.upstream {
                Some(mode) => self.call_upstream(mode, step),
                None => self.call_or_die(step, dies_at),
            },
        }
    }

    fn refuse_folders(&self) {
        let faults = self.fixture.faults();
        faults.clear();
        // A server that is ill refuses nothing by name.
        let folders = self.refused.iter().map(|folder| FOLDERS[*folder]);
        for (_, folder) in folders.filter(|(server, _)| !self.ill.contains(server)) {
            let look = Rule::on("GetFileAttributesExW", Effect::fail(Win32::ACCESS_DENIED));
            faults.add(look.object(folder));
        }
    }

    fn restart(&mut self) {
        match self.upstream {
            Some(_) => self.restart_upstream(),
            None => self.fixture.restart(),
        }
    }

    fn reboot(&mut self) {
        self.fixture.sim.reboot().unwrap();
        self.served.clear();
        self.boot = self.fixture.boot();
        // So does the service csi-proxy.
        self.proxy = None;
        if self.upstream.is_none() {
            self.fixture.restart_driver();
        }
        // One that this driver renewed for its volumes ends with the boot, as all that it makes.
        let mappings = self.fixture.mappings();
        self.others
            .retain(|index, _| mappings.contains(&OTHERS[*index].0.to_owned()));
        self.note_what_outlived(&mappings);
        self.outlived = mappings.into_iter().collect();
    }

    /// Kubelet's part before a call; whether it makes the call.
    fn prepare(&self, step: Step) -> bool {
        match step {
            Step::Stage(index, _) if SPECS[index].lifetime == Lifetime::Persistent => {
                let volume = self.volume(index, Secret::Right);
                self.fixture.make_staging_folder(&volume);
                true
            }
            Step::Unstage(index) => self.is_unpublished(&self.volume(index, Secret::Right)),
            _ => true,
        }
    }

    fn call_or_die(&mut self, step: Step, dies_at: Option<usize>) {
        if !self.prepare(step) {
            return;
        }
        match (dies_at, step) {
            (Some(at), _) => self.die_in(step, at),
            (None, Step::Stage(index, _) | Step::Publish(index, ..)) if self.call(step) => {
                self.note_served(index);
            }
            _ => drop(self.call(step)),
        }
        match step {
            Step::Unpublish(index, _) if SPECS[index].lifetime == Lifetime::Persistent => {}
            Step::Unstage(index) | Step::Unpublish(index, _) => drop(self.served.remove(&index)),
            _ => {}
        }
    }

    /// Whether it succeeds.
    fn call(&self, step: Step) -> bool {
        let fixture = &self.fixture;
        let called = match step {
            Step::Stage(index, secret) => {
                let volume = self.volume(index, secret);
                let staged = match volume.lifetime {
                    Lifetime::Persistent => fixture.stage_again(&volume),
                    Lifetime::Inline => fixture.publish_inline(&volume, PODS[0]),
                };
                let is_wrong = matches!(secret, Secret::Wrong);
                match &staged {
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
                staged
            }
            Step::Publish(index, pod, secret) => {
                let volume = self.volume(index, secret);
                match secret {
                    Secret::None => fixture.publish(&volume, PODS[pod]),
                    _ => fixture.publish_with_secret(&volume, PODS[pod]),
                }
            }
            Step::Unpublish(index, pod) => {
                fixture.unpublish(&self.volume(index, Secret::Right), PODS[pod])
            }
            Step::Unstage(index) => fixture.unstage(&self.volume(index, Secret::Right)),
            Step::Stats(index, pod) => {
                let stats = fixture.stats(&self.volume(index, Secret::Right), PODS[pod]);
                stats.map(drop)
            }
            _ => return false,
        };
        called.is_ok()
    }

    /// The driver is killed before one operation of the call, and starts again.
    fn die_in(&mut self, step: Step, at: usize) {
        let records = die_at(
            &self.fixture.sim,
            at,
            || _ = self.call(step),
            || self.fixture.copy_of_records(),
        );
        self.refuse_folders();
        if let Some(records) = records {
            self.fixture.restart_with(&records);
            // A record may tell of a mapping that its driver was about to make anew.
            if let Step::Stage(index, _) | Step::Publish(index, ..) = step {
                self.let_go.insert(SPECS[index].share());
                self.let_go.extend(self.recorded_share(index));
            }
        }
    }

    fn change_password(&mut self) {
        self.passwords += 1;
        self.password = format!("{PASSWORD} {}", self.passwords);
        for server in SERVERS {
            let changed = spec(&self.password);
            let change = |server: &mut ServerSpec| server.user = changed.user;
            self.fixture
                .servers()
                .change_server(server, change)
                .unwrap();
        }
    }

    fn others_map(&mut self, index: usize) {
        let (remote, user) = OTHERS[index];
        // A mapping tells nobody who made it, or when.
        let is_free =
            !self.fixture.mappings().contains(&remote.to_owned()) && !self.is_recorded(remote);
        if is_free && self.fixture.try_map_by_hand(remote, user, &self.password) {
            self.others.insert(index, self.passwords);
            self.lasting.insert(remote.to_owned());
        }
    }

    fn let_go(&mut self, index: usize) {
        let share = SPECS[index].share();
        let is_others = self.others.keys().any(|other| OTHERS[*other].0 == share);
        if !is_others && self.fixture.try_unmap_by_hand(&share) {
            self.note_let_go(share);
        }
    }

    fn note_let_go(&mut self, share: String) {
        self.served.retain(|index| SPECS[*index].share() != share);
        self.let_go.insert(share);
    }

    fn volume(&self, index: usize, secret: Secret) -> Volume<'_> {
        SPECS[index].volume(secret, &self.password)
    }

    /// Kubelet unstages a volume when no pod has it any more. What a driver knows of its pods, it refuses.
    fn is_unpublished(&self, volume: &Volume<'_>) -> bool {
        let targets = PODS.iter().map(|pod| volume.target(pod));
        let mut there = targets.filter(|target| self.fixture.has_entry(target));
        there.all(|target| {
            let is_of_record = |record: &serde_json::Value| {
                let published = record["published"].as_array().unwrap().iter();
                let mut paths = published.filter_map(|one| one.as_str());
                record["volume"] == volume.handle && paths.any(|one| path(one) == path(&target))
            };
            self.fixture.parsed_records().iter().any(is_of_record)
        })
    }

    /// All comes back, and kubelet takes all down.
    fn end(mut self, node: usize) {
        self.come_forward();
        for server in SERVERS {
            self.fixture.set_server(server, ServerHealth::Up);
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
        for left in &self.left {
            self.fixture.try_unmap_by_hand(left);
        }
        assert_eq!(self.fixture.mappings(), [""; 0], "node {node}");
    }
}

fn fixture_unpublishes(fixture: &Fixture, volume: &Volume<'_>, pod: &str) {
    let unpublished = fixture.unpublish(volume, pod);
    unpublished.unwrap_or_else(|error| panic!("{}: {error}", volume.handle));
    assert!(!fixture.exists(&volume.target(pod)));
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
