//! Calls for SMB shares that wait for each other.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use os::Win32;
use os::schema::smb_global_mapping as mapping;
use os_sim::smb::{ServerHealth, ServerSpec};
use os_sim::{Effect, Faults, Op, Rule, RuleId};
use wincsi_node::{
    Credentials, MapOutcome, MapRequest, Node, Options, RemotePath, Server, SmbError, Waits,
};
use zeroize::Zeroizing;

use crate::support::{NodeFixture, PASSWORD, SHARE, USER, assert_says};

/// Of the real clock, which nothing here is to take.
const TIMEOUT: Duration = Duration::from_secs(60);

const LOOK: &str = "GetFileAttributesExW";

/// Counts the waits of operations that have begun and, of them, those that have not ended.
#[derive(Default)]
struct Waiting {
    begun: AtomicUsize,
    under_way: AtomicUsize,
}

#[derive(Clone, Default)]
struct Heard(Arc<Waiting>);

impl Waits for Heard {
    fn begin(&self) -> Option<Box<dyn Any>> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        self.0.under_way.fetch_add(1, Ordering::SeqCst);
        Some(Box::new(One(self.clone())))
    }
}

/// A wait, which ends with it.
struct One(Heard);

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A fault that hangs until this is dropped.
pub(crate) struct Hanging<'a>(&'a Faults, RuleId);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < TIMEOUT, "it never came to pass: {what}");
        thread::yield_now();
    }
}

/// A node whose waits are counted.
pub(crate) struct WaitsFixture {
    pub(crate) fixture: NodeFixture,
    pub(crate) node: Node,
    heard: Heard,
}

impl WaitsFixture {
    /// With a server that has two shares.
    fn new() -> Self {
        let fixture = NodeFixture::with_server();
        let other = ServerSpec::sharing("other", USER, PASSWORD).share;
        let add = |server: &mut ServerSpec| server.share.extend(other);
        fixture.servers().change_server("files", add).unwrap();
        Self::of(fixture)
    }

    pub(crate) fn of(fixture: NodeFixture) -> Self {
        let heard = Heard::default();
        let waits = Arc::new(heard.clone());
        let node = Node::in_server(
            fixture.sim.os(),
            Options::default(),
            Server {
                waits,
                ..Server::default()
            },
        );
        Self {
            fixture,
            node,
            heard,
        }
    }

    pub(crate) fn with_mapped_share() -> Self {
        let queue = Self::new();
        queue.mapper()(SHARE).unwrap();
        queue.trace();
        queue
    }

    /// With a share that another process has mapped.
    pub(crate) fn with_share_of_another() -> Self {
        let queue = Self::new();
        let alice = Credentials::new(USER, Zeroizing::new(PASSWORD.to_owned()));
        let remote = RemotePath::parse(SHARE).unwrap();
        let mapping = MapRequest::of(&remote).with_credentials(alice.as_ref());
        let fixture = &queue.fixture;
        fixture.smb().map(&mapping, fixture.soon()).unwrap();
        queue.trace();
        queue
    }

    /// Maps shares, on any thread.
    pub(crate) fn mapper(
        &self,
    ) -> impl Fn(&str) -> Result<MapOutcome, SmbError> + Copy + Send + Sync {
        self.mapper_as(USER)
    }

    /// The same, as this user.
    fn mapper_as<'a>(
        &'a self,
        user: &'a str,
    ) -> impl Fn(&str) -> Result<MapOutcome, SmbError> + Copy + Send + Sync {
        let (node, soon) = (&self.node, self.fixture.soon());
        move |share| {
            let remote = RemotePath::parse(share).unwrap();
            let password = Zeroizing::new(PASSWORD.to_owned());
            let credentials = Credentials::new(user, password).unwrap();
            let mapping = MapRequest::of(&remote).with_credentials(&credentials);
            node.operations().smb().map(&mapping, soon)
        }
    }

    /// The next operation of this name hangs.
    pub(crate) fn hang(&self, operation: &str) -> Hanging<'_> {
        let faults = self.fixture.faults();
        let rule = Rule::on(operation, Effect::Hang).times(1);
        Hanging(faults, faults.add(rule))
    }

    pub(crate) fn wait_until_one_hangs(&self) {
        let hangs = self.fixture.faults().wait_until_hanging(1, TIMEOUT);
        assert!(hangs, "nothing hangs");
    }

    pub(crate) fn wait_until_so_many_wait(&self, count: usize) {
        let under_way = &self.heard.0.under_way;
        eventually("they wait", || under_way.load(Ordering::SeqCst) == count);
    }

    pub(crate) fn trace(&self) -> Vec<Op> {
        self.fixture.take_trace()
    }

    /// While `first` hangs in this operation, `second` waits for it until it is told so.
    fn waits_in_vain(
        &self,
        operation: &str,
        first: impl FnOnce() + Send,
        second: impl FnOnce() -> Result<MapOutcome, SmbError> + Send,
        error_text: &str,
    ) {
        thread::scope(|scope| {
            let hanging = self.hang(operation);
            let first = scope.spawn(first);
            self.wait_until_one_hangs();
            let second = scope.spawn(second);
            self.wait_until_so_many_wait(1);
            self.fixture.let_pass(Duration::from_secs(90));
            assert_eq!(second.join().unwrap().unwrap_err().to_string(), error_text);
            drop(hanging);
            first.join().unwrap();
        });
    }
}

pub(crate) fn create() -> String {
    format!("{}.{}", mapping::CLASS.name, mapping::CREATE.name)
}

fn remove() -> String {
    format!("{}.{}", mapping::CLASS.name, mapping::REMOVE.name)
}

fn creates(trace: &[Op]) -> usize {
    trace.iter().filter(|op| op.operation == create()).count()
}

fn reads(trace: &[Op]) -> usize {
    let is_look = |op: &&Op| op.operation == LOOK && op.object.starts_with(r"\\files");
    trace.iter().filter(is_look).count()
}

#[test]
fn a_hundred_calls_for_a_share_that_is_slow_look_at_it_twice() {
    let queue = WaitsFixture::with_mapped_share();
    let map = queue.mapper();
    thread::scope(|scope| {
        let hanging = queue.hang(LOOK);
        let first = scope.spawn(move || map(SHARE));
        queue.wait_until_one_hangs();
        let mut calls = vec![first];
        calls.extend((0..99).map(|_| scope.spawn(move || map(SHARE))));
        queue.wait_until_so_many_wait(99);
        drop(hanging);
        for call in calls {
            assert_eq!(call.join().unwrap(), Ok(MapOutcome::Reused));
        }
    });
    assert_eq!(reads(&queue.trace()), 2, "the one they came to, and theirs");
}

#[test]
fn a_look_that_does_not_end_answers_all_who_wait_for_it() {
    let queue = WaitsFixture::with_mapped_share();
    let map = queue.mapper();
    let clock = &queue.fixture.os().clock;
    thread::scope(|scope| {
        let hanging = queue.hang(LOOK);
        let mut calls = vec![scope.spawn(move || map(SHARE))];
        queue.wait_until_one_hangs();
        calls.extend((0..20).map(|_| scope.spawn(move || map(SHARE))));
        queue.wait_until_so_many_wait(20);
        clock.sleep(Duration::from_secs(31));
        // One of those goes on, and waits for the look that hangs, now for all others.
        let begun = &queue.heard.0.begun;
        eventually("one goes on", || begun.load(Ordering::SeqCst) == 21);
        clock.sleep(Duration::from_secs(31));
        eventually("all are answered", || {
            calls.iter().all(ScopedJoinHandle::is_finished)
        });
        drop(hanging);
        for call in calls {
            let error_text = call.join().unwrap().unwrap_err().to_string();
            assert!(error_text.starts_with("look at share"), "{error_text}");
        }
    });
}

/// The state of an old mapping proves nothing about the new one in its place.
#[test]
fn a_mapping_that_was_made_anew_is_looked_at_anew_by_those_who_waited() {
    let queue = WaitsFixture::with_share_of_another();
    let (fixture, map) = (&queue.fixture, queue.mapper());
    thread::scope(|scope| {
        let hanging = queue.hang(LOOK);
        let first = scope.spawn(move || map(SHARE));
        queue.wait_until_one_hangs();
        let others = [(); 2].map(|()| scope.spawn(move || map(SHARE)));
        queue.wait_until_so_many_wait(2);
        let refused = Rule::on(LOOK, Effect::fail(Win32::LOGON_FAILURE)).object(r"\\files\*");
        fixture.fault(refused.times(2));
        drop(hanging);
        assert_eq!(first.join().unwrap(), Ok(MapOutcome::ReusedUnknown));
        let mut came_about = others.map(|other| other.join().unwrap().unwrap());
        came_about.sort_by_key(|mapped| *mapped == MapOutcome::Reused);
        assert_eq!(came_about, [MapOutcome::Made, MapOutcome::Reused]);
    });
    assert_eq!(reads(&queue.trace()), 4);
}

/// Which of two users a server's shares are mapped as is decided by the first, and not by how their calls cross.
#[test]
fn two_users_mappings_of_one_server_are_not_made_at_once_and_those_of_another_are() {
    let queue = WaitsFixture::new();
    let other = ServerSpec::sharing("share", USER, PASSWORD);
    queue.fixture.servers().add_server("other", &other).unwrap();
    let map = queue.mapper();
    thread::scope(|scope| {
        let hanging = queue.hang(&create());
        let first = scope.spawn(move || map(SHARE));
        queue.wait_until_one_hangs();
        queue.trace();
        let bob = queue.mapper_as(r"FILES\bob");
        let second = scope.spawn(move || bob(r"\\files\other"));
        eventually("it waits or is done", || {
            queue.heard.0.under_way.load(Ordering::SeqCst) == 1 || second.is_finished()
        });
        assert_eq!(creates(&queue.trace()), 0, "the first is not done");
        assert_eq!(map(r"\\other\share"), Ok(MapOutcome::Made));
        drop(hanging);
        assert_eq!(first.join().unwrap(), Ok(MapOutcome::Made));
        let refused = second.join().unwrap().unwrap_err().to_string();
        let conflict = Win32::SESSION_CREDENTIAL_CONFLICT.to_string();
        assert!(refused.contains(&conflict), "{refused}");
    });
}

/// It took 217 s on a node that was sick (azurefile-csi-driver#1925).
#[test]
fn a_share_whose_removal_takes_long_keeps_no_other_of_its_server_waiting() {
    let queue = WaitsFixture::with_mapped_share();
    let (map, remote) = (queue.mapper(), RemotePath::parse(SHARE).unwrap());
    let (remove, soon) = (remove(), queue.fixture.soon());
    thread::scope(|scope| {
        let hanging = queue.hang(&remove);
        let smb = queue.node.operations().smb();
        let removal = scope.spawn(move || smb.unmap(&remote, soon));
        queue.wait_until_one_hangs();
        assert_eq!(map(r"\\files\other"), Ok(MapOutcome::Made));
        assert_eq!(map(r"\\files\other"), Ok(MapOutcome::Reused));
        drop(hanging);
        assert_eq!(removal.join().unwrap(), Ok(()));
    });
}

/// A driver gives its call up after 110 s, and learns nothing then.
#[test]
fn a_wait_for_a_share_that_times_out_names_the_holder() {
    let queue = WaitsFixture::with_mapped_share();
    let (map, soon) = (queue.mapper(), queue.fixture.soon());
    let remote = RemotePath::parse(SHARE).unwrap();
    let smb = queue.node.operations().smb();
    let error_text = r"map share SMB share \\files\share: unmap share has had it for 90 s";
    queue.waits_in_vain(
        &remove(),
        || drop(smb.unmap(&remote, soon)),
        || map(SHARE),
        error_text,
    );
}

#[test]
fn who_waits_too_long_for_a_server_is_told_what_has_it() {
    let queue = WaitsFixture::new();
    let map = queue.mapper();
    let error_text = "map share SMB server files: map share has had it for 90 s";
    queue.waits_in_vain(
        &create(),
        || drop(map(SHARE)),
        || map(r"\\files\other"),
        error_text,
    );
}

const MANY: usize = 25;

/// A server with as many shares that are mapped as are not. It takes a minute to fail what is asked of it, and
/// all together may take no longer than a look.
#[test]
fn fifty_shares_of_a_dead_server_fail_in_the_time_of_one_look() {
    let queue = WaitsFixture::new();
    let share = |index: usize| format!(r"\\files\s{index}");
    let all = |server: &mut ServerSpec| {
        let names = (0..2 * MANY).map(|index| format!("s{index}"));
        let shares = names.flat_map(|name| ServerSpec::sharing(&name, USER, PASSWORD).share);
        server.share.extend(shares);
    };
    queue.fixture.servers().change_server("files", all).unwrap();
    let (map, clock) = (queue.mapper(), &queue.fixture.os().clock);
    for index in 0..MANY {
        map(&share(index)).unwrap();
    }
    let down = |server: &mut ServerSpec| server.condition = ServerHealth::Down;
    queue
        .fixture
        .servers()
        .change_server("files", down)
        .unwrap();
    queue.trace();
    let begun = clock.now();
    thread::scope(|scope| {
        let faults = queue.fixture.faults();
        let hang = |operation: &str| {
            let rule = Rule::on(operation, Effect::Hang);
            Hanging(faults, faults.add(rule))
        };
        let hanging = [hang(LOOK), hang(&create())];
        let calls: Vec<_> = (0..2 * MANY)
            .map(|index| scope.spawn(move || map(&share(index))))
            .collect();
        assert!(
            faults.wait_until_hanging(MANY + 1, TIMEOUT),
            "all look at once"
        );
        queue.wait_until_so_many_wait(MANY - 1);
        clock.sleep(Duration::from_secs(21));
        drop(hanging);
        for call in calls {
            let error_text = call.join().unwrap().unwrap_err().to_string();
            assert_says(&error_text, "The network path was not found.");
        }
    });
    assert_eq!(begun.until(clock.now()), Duration::from_secs(21));
    assert_eq!(creates(&queue.trace()), 1, "for all that are not mapped");
}

/// A missing share proves nothing about the others.
#[test]
fn a_share_that_is_not_there_ends_the_wait_of_no_other() {
    let queue = WaitsFixture::new();
    let map = queue.mapper();
    thread::scope(|scope| {
        let hanging = queue.hang(&create());
        let missing = scope.spawn(move || map(r"\\files\missing"));
        queue.wait_until_one_hangs();
        let second = scope.spawn(move || map(SHARE));
        queue.wait_until_so_many_wait(1);
        drop(hanging);
        missing.join().unwrap().unwrap_err();
        assert_eq!(second.join().unwrap(), Ok(MapOutcome::Made));
    });
}
