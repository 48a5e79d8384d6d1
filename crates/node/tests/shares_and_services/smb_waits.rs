//! Calls for SMB shares that wait for each other.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use os::Win32;
use os::schema::smb_global_mapping as mapping;
use os_sim::smb::ServerSpec;
use os_sim::{Effect, Faults, Op, Rule, RuleId};
use wincsi_node::{
    Credentials, Mapped, Mapping, Node, Options, RemotePath, Server, SmbError, Waits,
};
use zeroize::Zeroizing;

use crate::support::{PASSWORD, Rig, SHARE, USER};

/// Of the real clock, which nothing here is to take.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// What hangs, until this is dropped.
struct Hanging<'a>(&'a Faults, RuleId);

impl Drop for Hanging<'_> {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to pass: {what}");
        thread::yield_now();
    }
}

/// A node whose waits are counted, with a server that has two shares.
struct Stand {
    rig: Rig,
    node: Node,
    heard: Heard,
}

impl Stand {
    fn new() -> Self {
        let rig = Rig::with_server();
        let other = ServerSpec::sharing("other", USER, PASSWORD).share;
        let add = |server: &mut ServerSpec| server.share.extend(other);
        rig.servers().change_server("files", add).unwrap();
        let heard = Heard::default();
        let waits = Arc::new(heard.clone());
        let node = Node::in_server(
            rig.sim.os(),
            Options::default(),
            Server {
                waits,
                ..Server::default()
            },
        );
        Self { rig, node, heard }
    }

    fn with_mapped_share() -> Self {
        let stand = Self::new();
        stand.mapper()(SHARE).unwrap();
        stand.trace();
        stand
    }

    /// Maps shares, on any thread.
    fn mapper(&self) -> impl Fn(&str) -> Result<Mapped, SmbError> + Copy + Send + Sync {
        let (node, soon) = (&self.node, self.rig.soon());
        move |share| {
            let remote = RemotePath::parse(share).unwrap();
            let password = Zeroizing::new(PASSWORD.to_owned());
            let credentials = Credentials::new(USER, password).unwrap();
            let mapping = Mapping::of(&remote).with_credentials(&credentials);
            node.operations().smb().map(&mapping, soon)
        }
    }

    /// The next operation of this name hangs.
    fn hang(&self, operation: &str) -> Hanging<'_> {
        let faults = self.rig.sim.faults();
        let rule = Rule::on(operation, Effect::Hang).times(1);
        Hanging(faults, faults.add(rule))
    }

    fn wait_until_one_hangs(&self) {
        let hangs = self.rig.sim.faults().wait_until_hanging(1, PATIENCE);
        assert!(hangs, "nothing hangs");
    }

    fn wait_until_so_many_wait(&self, count: usize) {
        let under_way = &self.heard.0.under_way;
        eventually("they wait", || under_way.load(Ordering::SeqCst) == count);
    }

    fn trace(&self) -> Vec<Op> {
        self.rig.sim.take_trace()
    }
}

fn create() -> String {
    format!("{}.{}", mapping::CLASS.name, mapping::CREATE.name)
}

fn looks(trace: &[Op]) -> usize {
    let is_look = |op: &&Op| op.operation == LOOK && op.object.starts_with(r"\\files");
    trace.iter().filter(is_look).count()
}

#[test]
fn a_hundred_calls_for_a_share_that_is_slow_look_at_it_twice() {
    let stand = Stand::with_mapped_share();
    let map = stand.mapper();
    thread::scope(|scope| {
        let hanging = stand.hang(LOOK);
        let first = scope.spawn(move || map(SHARE));
        stand.wait_until_one_hangs();
        let mut calls = vec![first];
        calls.extend((0..99).map(|_| scope.spawn(move || map(SHARE))));
        stand.wait_until_so_many_wait(99);
        drop(hanging);
        for call in calls {
            assert_eq!(call.join().unwrap(), Ok(Mapped::Reused));
        }
    });
    assert_eq!(looks(&stand.trace()), 2, "the one they came to, and theirs");
}

#[test]
fn a_look_that_does_not_end_answers_all_who_wait_for_it() {
    let stand = Stand::with_mapped_share();
    let map = stand.mapper();
    let clock = &stand.rig.os().clock;
    thread::scope(|scope| {
        let hanging = stand.hang(LOOK);
        let mut calls = vec![scope.spawn(move || map(SHARE))];
        stand.wait_until_one_hangs();
        calls.extend((0..20).map(|_| scope.spawn(move || map(SHARE))));
        stand.wait_until_so_many_wait(20);
        clock.sleep(Duration::from_secs(31));
        // One of those goes on, and waits for the look that hangs, now for all others.
        let begun = &stand.heard.0.begun;
        eventually("one goes on", || begun.load(Ordering::SeqCst) == 21);
        clock.sleep(Duration::from_secs(31));
        eventually("all are answered", || {
            calls.iter().all(ScopedJoinHandle::is_finished)
        });
        drop(hanging);
        for call in calls {
            let told = call.join().unwrap().unwrap_err().to_string();
            assert!(told.starts_with("look at share"), "{told}");
        }
    });
}

/// What was seen of a mapping says nothing of the one in its place.
#[test]
fn a_mapping_that_was_made_anew_is_looked_at_anew_by_those_who_waited() {
    let stand = Stand::with_mapped_share();
    let broken = Rule::on(LOOK, Effect::fail(Win32::LOGON_FAILURE)).object(r"\\files\*");
    stand.rig.sim.faults().add(broken.times(1));
    let map = stand.mapper();
    thread::scope(|scope| {
        let hanging = stand.hang(&create());
        let first = scope.spawn(move || map(r"\\files\other"));
        stand.wait_until_one_hangs();
        let others = [(); 2].map(|()| scope.spawn(move || map(SHARE)));
        stand.wait_until_so_many_wait(2);
        drop(hanging);
        assert_eq!(first.join().unwrap(), Ok(Mapped::Made));
        let mut came_about = others.map(|other| other.join().unwrap().unwrap());
        came_about.sort_by_key(|mapped| *mapped == Mapped::Reused);
        assert_eq!(came_about, [Mapped::Made, Mapped::Reused]);
    });
    assert_eq!(looks(&stand.trace()), 2);
}

#[test]
fn two_shares_of_a_server_are_not_mapped_at_once_and_one_of_another_is() {
    let stand = Stand::new();
    let other = ServerSpec::sharing("share", USER, PASSWORD);
    stand.rig.servers().add_server("other", &other).unwrap();
    let map = stand.mapper();
    thread::scope(|scope| {
        let hanging = stand.hang(&create());
        let first = scope.spawn(move || map(SHARE));
        stand.wait_until_one_hangs();
        stand.trace();
        let second = scope.spawn(move || map(r"\\files\other"));
        stand.wait_until_so_many_wait(1);
        assert_eq!(stand.trace(), [], "it does not even look");
        assert_eq!(map(r"\\other\share"), Ok(Mapped::Made));
        drop(hanging);
        assert_eq!(first.join().unwrap(), Ok(Mapped::Made));
        assert_eq!(second.join().unwrap(), Ok(Mapped::Made));
    });
}
