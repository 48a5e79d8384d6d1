//! A disk or volume that hangs delays its own callers alone, and costs one thread however often they repeat.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::time::Duration;

use os::Deadline;
use os_sim::{Effect, Op, Rule};
use wincsi_node::api::{Cause, Condition, Error, NodeApi};
use wincsi_node::{
    Criterion, DiskQuery, FormatOptions, FoundDisk, FoundVolume, NewSize, Node, Page83,
};

use crate::support::stuck::{
    BAD, HangPoint, PAGE83, Pair, StuckDiskFixture, TIMEOUT, eventually, serial,
};
use crate::support::{DATA, STAGING, inject};

/// How often the kubelet repeats its calls.
const REPEATED: usize = 25;

/// How many looks at one volume's files are under way at a time.
const ABREAST: usize = 8;

/// A call about one object.
type About = fn(&dyn NodeApi, Pair, Deadline) -> Result<(), Error>;

const ABOUT: &[(&str, HangPoint, About)] = &[
    ("size", HangPoint::Disk, |node, on, soon| {
        node.disks().size(on.disk, soon).map(drop)
    }),
    ("is_online", HangPoint::Disk, |node, on, soon| {
        node.disks().is_online(on.disk, soon).map(drop)
    }),
    ("stats", HangPoint::Volume, |node, on, soon| {
        node.volumes().stats(on.volume, soon).map(drop)
    }),
    ("is_formatted", HangPoint::Volume, |node, on, soon| {
        node.volumes().is_formatted(on.volume, soon).map(drop)
    }),
    ("disk_number", HangPoint::Volume, |node, on, soon| {
        node.volumes().disk_number(on.volume, soon).map(drop)
    }),
    ("flush", HangPoint::Cache, |node, on, soon| {
        node.volumes().flush(on.volume, soon)
    }),
    ("is_symlink", HangPoint::Root, |node, on, soon| {
        let is_symlink = node.filesystem().is_symlink(&on.folder(), soon);
        is_symlink.map(|it| assert!(it))
    }),
    ("path_exists", HangPoint::Files, |node, on, soon| {
        let exists = node.filesystem().path_exists(&on.file(), soon);
        exists.map(|it| assert!(it))
    }),
    ("create_symlink", HangPoint::Mounted, |node, on, soon| {
        let (folder, link) = (on.folder(), on.link());
        node.filesystem().create_symlink(&folder, &link, soon)
    }),
];

#[test]
fn a_call_about_what_hangs_ends_at_its_deadline_and_repeated_ones_at_once() {
    let stuck = StuckDiskFixture::new();
    for &(name, place, act) in ABOUT {
        let hang = stuck.hang(place);
        let (bad, soon) = (stuck.bad, stuck.soon());
        let first = stuck.begin(move |node| act(node, bad, soon));
        stuck.wait_for_hang(1);
        act(stuck.api(), stuck.good, soon).unwrap_or_else(|error| panic!("{name}: {error}"));
        stuck.let_pass(Duration::from_secs(7200));
        let error = stuck.answer_of(&first).unwrap_err();
        assert_eq!(error.cause, Cause::Deadline, "{name}");
        for _ in 0..REPEATED {
            let soon = stuck.soon();
            let again = stuck.at_once(move |node| act(node, bad, soon));
            let error = again.unwrap_err();
            let condition = error.condition();
            assert_eq!(condition, Some(Condition::NotAnswering), "{name}: {error}");
        }
        assert_eq!(stuck.lost(place), 1, "{name}");
        stuck.faults().remove(hang);
        eventually(name, || act(stuck.api(), bad, stuck.soon()));
    }
}

/// Kubelets do not wait for each other's calls.
#[test]
fn callers_that_come_together_wait_for_one_look_and_leave() {
    let stuck = StuckDiskFixture::new();
    let hang = stuck.hang(HangPoint::Volume);
    let (volume, soon) = (stuck.bad.volume, stuck.soon());
    let first = stuck.begin(move |node| NodeApi::volumes(node).stats(volume, soon));
    stuck.wait_for_hang(1);
    let call = |_| stuck.begin(move |node| NodeApi::volumes(node).stats(volume, soon));
    let others: Vec<_> = (0..20).map(call).collect();
    for other in others {
        let error = stuck.answer_of(&other).unwrap_err();
        assert_eq!(error.condition(), Some(Condition::NotAnswering));
    }
    assert_eq!(stuck.lost(HangPoint::Volume), 1);
    stuck.faults().remove(hang);
    stuck.answer_of(&first).unwrap();
    let stats = || stuck.api().volumes().stats(volume, stuck.soon());
    eventually("stats", stats);
}

/// A slow path is not reported as silent, however many callers query it.
#[test]
fn callers_that_look_at_a_slow_path_together_are_all_told_what_is_there() {
    let stuck = StuckDiskFixture::new();
    let hang = stuck.hang(HangPoint::Files);
    let (file, soon) = (stuck.bad.file(), stuck.soon());
    let call = |_| {
        let file = file.clone();
        stuck.begin(move |node| NodeApi::filesystem(node).path_exists(&file, soon))
    };
    let callers: Vec<_> = (0..ABREAST).map(call).collect();
    stuck.wait_for_hang(ABREAST);
    stuck.let_pass(Duration::from_secs(9));
    stuck.faults().remove(hang);
    for caller in callers {
        assert!(caller.recv_timeout(TIMEOUT).unwrap().unwrap());
    }
}

#[test]
fn callers_that_look_at_the_files_of_a_dead_volume_together_cost_a_few_threads() {
    let stuck = StuckDiskFixture::new();
    let hang = stuck.hang(HangPoint::Root);
    let (folder, soon) = (stuck.bad.folder(), stuck.soon());
    let call = |_| {
        let folder = folder.clone();
        stuck.begin(move |node| NodeApi::filesystem(node).is_symlink(&folder, soon))
    };
    let first: Vec<_> = (0..ABREAST).map(call).collect();
    stuck.wait_for_hang(ABREAST);
    let others: Vec<_> = (0..REPEATED).map(call).collect();
    for other in others {
        let error = stuck.answer_of(&other).unwrap_err();
        assert_eq!(error.condition(), Some(Condition::NotAnswering), "{error}");
    }
    assert_eq!(stuck.lost(HangPoint::Root), ABREAST);
    stuck.faults().remove(hang);
    for caller in first {
        assert!(stuck.answer_of(&caller).unwrap());
    }
}

/// A call that could not read a disk releases its lock.
#[test]
fn a_change_of_a_disk_that_does_not_answer_is_refused_and_holds_nothing() {
    let stuck = StuckDiskFixture::new();
    let (disk, soon) = (stuck.bad.disk, stuck.soon());
    let bad = stuck.api().disks().find(&serial(BAD), soon).unwrap();
    let hang = stuck.hang(HangPoint::Disk);
    let first = stuck.begin(move |node| NodeApi::disks(node).size(disk, soon));
    stuck.wait_for_hang(1);
    stuck.let_pass(Duration::from_secs(7200));
    stuck.answer_of(&first).unwrap_err();
    for _ in 0..REPEATED {
        let soon = stuck.soon();
        let found = bad.clone();
        let refused = stuck.at_once(move |node| NodeApi::disks(node).take_offline(&found, soon));
        let condition = refused.unwrap_err().condition();
        assert_eq!(condition, Some(Condition::NotAnswering));
    }
    assert_eq!(stuck.lost(HangPoint::Disk), 1);
    stuck.faults().remove(hang);
    let (volume, folder) = (stuck.bad.volume, stuck.bad.folder());
    let unmount = || {
        let volumes = stuck.api().volumes();
        volumes.unmount(volume, &folder, stuck.soon())
    };
    eventually("unmount", unmount);
    let offline = || stuck.api().disks().take_offline(&bad, stuck.soon());
    eventually("take_offline", offline);
}

/// The first change to hang holds its locks, which nobody waits for in vain.
#[test]
fn changes_that_come_after_one_that_hangs_are_refused_before_their_deadlines() {
    let stuck = StuckDiskFixture::new();
    let soon = stuck.soon();
    let bad = stuck.api().disks().find(&serial(BAD), soon).unwrap();
    let online = |found: &FoundDisk| {
        let found = found.clone();
        move |node: &Node| NodeApi::disks(node).bring_online(&found, Deadline::NEVER)
    };
    let hang = stuck.hang(HangPoint::Disk);
    let first = stuck.begin(online(&bad));
    stuck.wait_for_hang(1);
    stuck.let_pass(Duration::from_secs(60));
    for _ in 0..REPEATED {
        let refused = stuck.at_once(online(&bad)).unwrap_err();
        let condition = refused.condition();
        assert_eq!(condition, Some(Condition::NotAnswering), "{refused}");
    }
    assert_eq!(stuck.lost(HangPoint::Disk), 1);
    stuck.faults().remove(hang);
    stuck.answer_of(&first).unwrap();
    eventually("bring_online", || online(&bad)(&stuck.node));
}

/// Somebody else's call, in which the bad disk is looked at as well.
type Beside = fn(&Node, Good, Deadline) -> Result<(), Error>;

/// The part of a fixture that such a call uses.
#[derive(Clone)]
struct Good {
    pair: Pair,
    found: FoundDisk,
    raw: FoundDisk,
}

const BESIDE: &[(&str, HangPoint, Beside)] = &[
    ("ids", HangPoint::Disk, ids),
    ("find", HangPoint::Disk, find),
    ("find", HangPoint::Path, find),
    ("by_page83", HangPoint::Disk, |node, good, soon| {
        let found = NodeApi::disks(node).by_page83(PAGE83, soon)?;
        assert_eq!(found, good.raw.number());
        Ok(())
    }),
    ("list_on_disk", HangPoint::Volume, |node, good, soon| {
        let found = NodeApi::volumes(node).list_on_disk(good.pair.disk, None, soon)?;
        assert_eq!(found, [good.pair.volume]);
        Ok(())
    }),
    ("find_on", HangPoint::Volume, |node, good, soon| {
        let found = NodeApi::volumes(node).find_on(&good.found, soon)?;
        assert_eq!(found.id(), good.pair.volume);
        Ok(())
    }),
    ("partition", HangPoint::Volume, |node, good, soon| {
        NodeApi::disks(node).partition(&good.raw, soon)
    }),
];

fn ids(node: &Node, good: Good, soon: Deadline) -> Result<(), Error> {
    let ids = NodeApi::disks(node).ids(soon)?;
    assert!(ids.contains_key(&good.pair.disk));
    assert_eq!(ids[&good.raw.number()].page83, PAGE83);
    Ok(())
}

fn find(node: &Node, good: Good, soon: Deadline) -> Result<(), Error> {
    let found = NodeApi::disks(node).find(&serial(DATA), soon)?;
    assert_eq!(found.number(), good.pair.disk);
    Ok(())
}

/// Already the first of them is answered, long before its deadline.
#[test]
fn a_disk_that_hangs_is_left_out_where_others_are_meant() {
    for &(name, place, act) in BESIDE {
        let stuck = StuckDiskFixture::new();
        let good = Good {
            pair: stuck.good,
            found: stuck.found.clone(),
            raw: stuck.raw.clone(),
        };
        let hang = stuck.hang(place);
        let (about, soon) = (good.clone(), stuck.soon());
        let first = stuck.begin(move |node| act(node, about, soon));
        stuck.wait_for_hang(1);
        let answer = stuck.answer_of(&first);
        answer.unwrap_or_else(|error| panic!("{name}: {error}"));
        for _ in 0..REPEATED {
            let (about, soon) = (good.clone(), stuck.soon());
            let answer = stuck.at_once(move |node| act(node, about, soon));
            answer.unwrap_or_else(|error| panic!("{name} again: {error}"));
        }
        assert_eq!(stuck.lost(place), 1, "{name}, {place:?}");
        stuck.faults().remove(hang);
        let all = || {
            let ids = stuck.api().disks().ids(stuck.soon())?;
            let is_listed = ids.contains_key(&stuck.bad.disk);
            let timed_out = || Error::new("ids", stuck.bad.disk, Cause::Deadline);
            is_listed.then_some(()).ok_or_else(timed_out)
        };
        eventually(name, all);
    }
}

/// It may be the one that is meant, when nothing that is known of it says otherwise.
#[test]
fn a_look_up_is_uncertain_of_a_disk_that_hangs() {
    let stuck = StuckDiskFixture::new();
    let page83 = Page83::parse(PAGE83).unwrap();
    let wanted = DiskQuery::all([Criterion::Page83(page83)]).unwrap();
    let hang = stuck.hang(HangPoint::Disk);
    let (query, soon) = (wanted.clone(), stuck.soon());
    let first = stuck.begin(move |node| NodeApi::disks(node).find(&query, soon));
    stuck.wait_for_hang(1);
    let uncertain = Some(Condition::Uncertain);
    let error = stuck.answer_of(&first).unwrap_err();
    assert_eq!(error.condition(), uncertain, "{error}");
    let find = || stuck.api().disks().find(&wanted, stuck.soon());
    let (query, soon) = (wanted.clone(), stuck.soon());
    let again = stuck.at_once(move |node| NodeApi::disks(node).find(&query, soon));
    assert_eq!(again.unwrap_err().condition(), uncertain);
    stuck.faults().remove(hang);
    assert_eq!(eventually("find", find).number(), stuck.raw.number());
}

/// A partition whose own volume hangs has none that could be named.
#[test]
fn the_volumes_of_the_disk_that_hangs_are_not_told() {
    let stuck = StuckDiskFixture::new();
    let hang = stuck.hang(HangPoint::Volume);
    let (disk, soon) = (stuck.bad.disk, stuck.soon());
    let list = move |node: &Node| NodeApi::volumes(node).list_on_disk(disk, None, soon);
    let first = stuck.begin(list);
    stuck.wait_for_hang(1);
    let error = stuck.answer_of(&first).unwrap_err();
    let volume = stuck.bad.volume.to_string();
    assert!(error.to_string().contains(&volume), "{error}");
    assert_eq!(stuck.lost(HangPoint::Volume), 1);
    stuck.faults().remove(hang);
    let again = || stuck.api().volumes().list_on_disk(disk, None, stuck.soon());
    assert_eq!(eventually("list_on_disk", again), [stuck.bad.volume]);
}

#[test]
fn a_mounted_folder_that_hangs_costs_one_thread() {
    let stuck = StuckDiskFixture::new();
    let folder = stuck.staging();
    let mounted_at = Rule::on("GetVolumeNameForVolumeMountPointW", Effect::Hang);
    let _ = stuck.take_trace();
    let hang = stuck.fault(mounted_at.object(STAGING));
    let (at, soon) = (folder.clone(), stuck.soon());
    let first = stuck.begin(move |node| NodeApi::volumes(node).find_at(&at, soon));
    stuck.wait_for_hang(1);
    stuck.let_pass(Duration::from_secs(7200));
    let error = stuck.answer_of(&first).unwrap_err();
    assert_eq!(error.cause, Cause::Deadline);
    let find = || stuck.api().volumes().find_at(&folder, stuck.soon());
    for _ in 0..REPEATED {
        let (at, soon) = (folder.clone(), stuck.soon());
        let again = stuck.at_once(move |node| NodeApi::volumes(node).find_at(&at, soon));
        again.unwrap_err();
    }
    let trace = stuck.take_trace();
    let asked = |op: &&Op| op.operation == "GetVolumeNameForVolumeMountPointW";
    assert_eq!(trace.iter().filter(asked).count(), 1);
    stuck.faults().remove(hang);
    let there = FoundVolume::mounted_at(stuck.good.volume, folder.clone());
    assert_eq!(eventually("find_at", find), there);
}

/// It may be on the disk that is to be changed. The caller holds that disk's lock, and lets it go. What a proof of
/// blankness covers goes on.
#[test]
fn a_page_file_on_a_disk_that_hangs_keeps_other_volumes_from_growing_and_locks_none() {
    let mut stuck = StuckDiskFixture::new();
    stuck.fixture.node = inject::node(&stuck.fixture, |os| {
        let file = format!(r"{}pagefile.sys", stuck.bad.volume);
        inject::paging(&mut os.boot, move |paging| {
            paging.page_files = vec![file.parse().unwrap()]
        });
    });
    let volume = FoundVolume::on_disk(stuck.good.volume, stuck.found.clone());
    let blank = volume.clone();
    let change = move |node: &Node, soon| {
        let grown = NodeApi::volumes(node).resize(&volume, NewSize::Maximum, soon);
        grown.map(drop)
    };
    let options = FormatOptions::default();
    let format =
        move |node: &Node, soon| NodeApi::volumes(node).ensure_formatted(&blank, &options, soon);
    change(&stuck.node, stuck.soon()).unwrap();
    let hang = stuck.hang(HangPoint::Volume);
    let (once, soon) = (change.clone(), stuck.soon());
    let first = stuck.begin(move |node| once(node, soon));
    stuck.wait_for_hang(1);
    let error = stuck.answer_of(&first).unwrap_err();
    assert_eq!(error.condition(), Some(Condition::NotAnswering));
    for _ in 0..REPEATED {
        let (once, soon) = (change.clone(), stuck.soon());
        let refused = stuck.at_once(move |node| once(node, soon)).unwrap_err();
        assert!(refused.to_string().contains("page file"), "{refused}");
        assert_eq!(refused.condition(), Some(Condition::NotAnswering));
    }
    let soon = stuck.soon();
    stuck.at_once(move |node| format(node, soon)).unwrap();
    assert_eq!(stuck.lost(HangPoint::Volume), 1);
    stuck.faults().remove(hang);
    let again = || change(&stuck.node, stuck.soon());
    eventually("resize", again);
}
