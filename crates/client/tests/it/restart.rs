//! The proxy goes and comes back: between calls, and while they are on their way.

use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use node::api::{Cause, NodeApi, Unreachable};
use os::DiskNumber;
use transport::Server;
use wincsi_client::Node;
use wire::Group;
use wire::disk::v1::{self, rpc};
use wire::disk::v1beta1;

use crate::support::{Counter, ProxyFolder, Script, options, soon};

const DISK: DiskNumber = DiskNumber(1);

/// A proxy whose calls do not end by themselves.
struct Hanging {
    proxy: Server,
    entered: Counter,
    release: Counter,
}

impl Hanging {
    fn new(place: &ProxyFolder) -> Self {
        let (entered, release) = (Counter::default(), Counter::default());
        let hang = |entered: &Counter, release: &Counter| {
            let (entered, release) = (entered.clone(), release.clone());
            move || {
                entered.add();
                release.wait_for(1);
            }
        };
        let (looking, changing) = (hang(&entered, &release), hang(&entered, &release));
        let script = Script::of(&v1::GROUP)
            .on::<rpc::GetDiskStats>(move |_| {
                looking();
                Ok(v1::GetDiskStatsResponse { total_bytes: 1 })
            })
            .on::<rpc::Rescan>(move |_| {
                changing();
                Ok(v1::RescanResponse {})
            });
        Self {
            proxy: place.serve([script]),
            entered,
            release,
        }
    }

    /// Dies with a call in flight.
    fn die(self) {
        self.entered.wait_for(1);
        drop(self.proxy);
        self.release.add();
    }
}

/// A proxy that answers, and counts.
fn answering(place: &ProxyFolder, asked: &Counter) -> Server {
    let (looked, changed) = (asked.clone(), asked.clone());
    place.serve([Script::of(&v1::GROUP)
        .on::<rpc::GetDiskStats>(move |_| {
            looked.add();
            Ok(v1::GetDiskStatsResponse { total_bytes: 2 })
        })
        .on::<rpc::Rescan>(move |_| {
            changed.add();
            Ok(v1::RescanResponse {})
        })])
}

#[test]
fn calls_go_on_after_a_restart() {
    let place = ProxyFolder::new();
    let node = place.node();
    let asked = Counter::default();
    for round in 1..=3 {
        let _proxy = answering(&place, &asked);
        node.disks().rescan(soon(&node)).unwrap();
        assert_eq!(node.disks().size(DISK, soon(&node)), Ok(2));
        assert_eq!(asked.count(), 2 * round);
    }
}

#[test]
fn a_call_waits_for_the_proxy_to_come_back() {
    let place = ProxyFolder::new();
    let node = place.node();
    let asked = Counter::default();
    drop({
        let proxy = answering(&place, &asked);
        node.disks().rescan(soon(&node)).unwrap();
        proxy
    });
    let began = Counter::default();
    let begin = began.clone();
    let caller = thread::spawn(move || {
        begin.add();
        node.disks().rescan(soon(&node))
    });
    began.wait_for(1);
    let _proxy = answering(&place, &asked);
    caller.join().unwrap().unwrap();
    assert_eq!(asked.count(), 2);
}

#[test]
fn a_proxy_that_stays_away_is_unreachable_when_patience_ends() {
    let place = ProxyFolder::new();
    let mut impatient = options();
    impatient.patience = Duration::from_millis(50);
    let node = place.node_with(impatient);
    let asked = Counter::default();
    drop({
        let proxy = answering(&place, &asked);
        node.disks().rescan(soon(&node)).unwrap();
        proxy
    });
    let error = node.disks().rescan(soon(&node)).unwrap_err();
    assert!(
        matches!(
            error.cause,
            Cause::Unreachable {
                reason: Unreachable::NoPipe,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_change_that_was_on_its_way_is_not_repeated() {
    let place = ProxyFolder::new();
    let node = place.node();
    let old = Hanging::new(&place);
    let caller = thread::spawn({
        let node = node.clone();
        move || node.disks().rescan(soon(&node))
    });
    old.die();
    let error = caller.join().unwrap().unwrap_err();
    assert!(matches!(error.cause, Cause::Lost { .. }), "{error}");
    let asked = Counter::default();
    let _proxy = answering(&place, &asked);
    assert_eq!(asked.count(), 0);
    node.disks().rescan(soon(&node)).unwrap();
    assert_eq!(asked.count(), 1);
}

#[test]
fn a_look_that_was_on_its_way_is_asked_once_more() {
    let place = ProxyFolder::new();
    let node = place.node();
    let old = Hanging::new(&place);
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let node = node.clone();
            thread::spawn(move || node.disks().size(DISK, soon(&node)))
        })
        .collect();
    old.entered.wait_for(4);
    old.die();
    let asked = Counter::default();
    let _proxy = answering(&place, &asked);
    for caller in callers {
        assert_eq!(caller.join().unwrap(), Ok(2));
    }
    assert_eq!(asked.count(), 4);
}

/// It starts when the oldest version is looked for, and has the newest, which was looked for before.
#[test]
fn a_proxy_that_comes_while_its_versions_are_tried_is_found() {
    let place = Arc::new(ProxyFolder::new());
    let (proxy, asked) = (Arc::new(OnceLock::new()), Counter::default());
    let endpoints = {
        let (place, proxy, asked) = (Arc::clone(&place), Arc::clone(&proxy), asked.clone());
        move |group: &Group| {
            if group.version == v1beta1::GROUP.version {
                proxy.get_or_init(|| Mutex::new(answering(&place, &asked)));
            }
            place.endpoint(group)
        }
    };
    let mut options = options();
    options.look_again = Duration::ZERO;
    let node = Node::at(endpoints, options);
    assert_eq!(node.disks().size(DISK, soon(&node)), Ok(2));
    assert_eq!(asked.count(), 1);
}

#[test]
fn a_look_is_not_repeated_for_ever() {
    let place = ProxyFolder::new();
    let node = place.node();
    let first = Hanging::new(&place);
    let caller = thread::spawn(move || node.disks().size(DISK, soon(&node)));
    first.die();
    Hanging::new(&place).die();
    let error = caller.join().unwrap().unwrap_err();
    assert!(matches!(error.cause, Cause::Lost { .. }), "{error}");
}
