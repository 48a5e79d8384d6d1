//! Several calls and several controllers at a time, and many volumes.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use smb::{Share, SharePath};
use transport::Code;
use wincsi_controller::volumes::{Connected, Connector, Created, Deleted, Error, Left};

use crate::fixture::{
    Controller, Port, archive, at, create, creating, delete, entries, fill, gone, keep, start,
    volume,
};
use crate::proxy::{Attack, From, Instead, between, unchanged};
use crate::server::Samba;

#[test]
fn two_controllers_make_and_delete_one_volume() {
    let samba = Samba::start();
    let volume = volume("pvc-1", "data");
    for _ in 0..10 {
        let both = |call: &(dyn Fn(&Controller) + Sync)| {
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| call(&Controller::new(samba.port())));
                }
            });
        };
        both(&|controller| assert_eq!(create(controller, &volume).unwrap(), Created::Made));
        fs::write(at(&samba, "data/file"), b"x").unwrap();
        both(&|controller| assert_eq!(delete(controller, &gone(&volume)).unwrap(), Deleted::Gone));
        assert_eq!(entries(&samba, ""), [".wincsi"]);
    }
}

#[test]
fn of_two_volumes_at_once_one_makes_the_folder() {
    let samba = Samba::start();
    for round in 0..10 {
        let path = format!("data-{round}");
        let volumes = ["pvc-1", "pvc-2"].map(|name| volume(&format!("{name}-{round}"), &path));
        let created: Vec<Created> = thread::scope(|scope| {
            let calls = volumes.each_ref().map(|volume| {
                scope.spawn(|| create(&Controller::new(samba.port()), volume).unwrap())
            });
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        let made = created.iter().filter(|created| **created == Created::Made);
        assert_eq!(made.count(), 1, "{created:?}");
        for volume in &volumes {
            delete(&Controller::new(samba.port()), &gone(volume)).unwrap();
        }
    }
}

/// Counts connections in use: now, and the most.
struct Counted(Port, Arc<[AtomicUsize; 2]>);

impl Connector for Counted {
    fn open(&self, folders: &[SharePath], by: Instant) -> smb::Result<Connected> {
        let [now, most] = &*self.1;
        most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
        self.0.open(folders, by)
    }

    fn give_back(&self, connection: Box<dyn Share + Send>) {
        self.1[0].fetch_sub(1, SeqCst);
        self.0.give_back(connection);
    }
}

#[test]
fn many_calls_of_one_process_share_a_base_folder() {
    let (samba, controller) = start();
    let count = Arc::<[AtomicUsize; 2]>::default();
    let counted = Counted(Port::plain(samba.port()), Arc::clone(&count));
    let controller = controller.with(counted);
    thread::scope(|scope| {
        for worker in 0..16 {
            let controller = &controller;
            scope.spawn(move || {
                for round in 0..2 {
                    let name = format!("pvc-{worker}-{round}");
                    let volume = volume(&name, &name);
                    assert_eq!(controller.create(&volume).unwrap(), Created::Made);
                    assert_eq!(controller.delete(&gone(&volume)).unwrap(), Deleted::Gone);
                }
            });
        }
    });
    assert!(count[1].load(SeqCst) <= 4);
    assert_eq!(entries(&samba, ".wincsi"), ["deleted"]);
}

/// At each request once a controller hangs with what it has locked. Others are refused until its connection ends.
#[test]
fn a_controller_that_hangs_keeps_others_out() {
    let samba = Samba::start();
    let (volume, other) = (volume("pvc-1", "pvc-1"), volume("pvc-2", "pvc-2"));
    let mut refused = [0, 0];
    for number in 4.. {
        let (hold, attack) = held(|_| Instead::End, move |n| n == number);
        let (port, _) = between(samba.port(), attack);
        let done = thread::scope(|scope| {
            let hanging = scope.spawn(|| Controller::new(port).create(&volume));
            let is_held = hold.0.recv().is_ok();
            let direct = Controller::new(samba.port());
            // The volume's lock is refused at once, the base folder's at the deadline.
            for (volume, count) in [&volume, &other].into_iter().zip(&mut refused) {
                let by = Instant::now() + Duration::from_secs(3);
                let class = direct.create_by(volume, by).map_err(|failed| failed.code());
                *count += usize::from(is_held && class == Err(Code::Aborted));
            }
            drop(hold);
            hanging.join().unwrap()
        });
        let direct = Controller::new(samba.port());
        for volume in [&volume, &other] {
            assert_eq!(create(&direct, volume).unwrap(), Created::Made);
            assert_eq!(delete(&direct, &gone(volume)).unwrap(), Deleted::Gone);
        }
        if done.is_ok() {
            break;
        }
    }
    assert!(refused[0] > refused[1] && refused[1] > 3, "{refused:?}");
}

#[test]
fn a_long_delete_goes_on_and_is_joined() {
    let (samba, controller) = start();
    let volume = volume("pvc-1", "data");
    fill(&samba, &volume);
    let [moved, lock] = ["deleted/pvc-1", "lock"].map(|name| at(&samba, ".wincsi").join(name));
    let (hold, attack) = held(unchanged, move |_| moved.exists() && !lock.exists());
    let slow = controller.with(Port::plain(between(samba.port(), attack).0));
    let short = || Instant::now() + Duration::from_millis(100);
    thread::scope(|scope| {
        let by = Instant::now() + Duration::from_secs(3);
        let (slow, volume) = (&slow, &volume);
        let first = scope.spawn(move || slow.delete_by(&gone(volume), by));
        hold.0.recv().unwrap();
        let error = first.join().unwrap().unwrap_err();
        assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
    });
    let again = controller.delete_by(&gone(&volume), short()).unwrap_err();
    assert!(matches!(again, Error::GoesOn(_)), "{again}");
    let other = controller.delete(&archive(&volume)).unwrap_err();
    assert_eq!(other.code(), Code::Aborted);
    let failed = controller.create(&volume).unwrap_err();
    assert_eq!(failed.code(), Code::Aborted);
    let joined = thread::scope(|scope| {
        let joined = scope.spawn(|| controller.delete(&gone(&volume)));
        drop(hold);
        joined.join().unwrap()
    });
    assert_eq!(joined.unwrap(), Deleted::Gone);
    assert!(!at(&samba, "data").exists());
    assert_eq!(entries(&samba, ".wincsi"), ["deleted"]);
}

#[test]
fn a_long_delete_keeps_no_other_call_waiting() {
    let (samba, controller) = start();
    let long = volume("pvc-long", "data");
    controller.create(&long).unwrap();
    for n in 0..1_100 {
        fs::write(at(&samba, &format!("data/{n}")), b"").unwrap();
    }
    let moved = at(&samba, ".wincsi/deleted/pvc-long");
    let left = move || moved.read_dir().map_or(usize::MAX, Iterator::count);
    let (hold, attack) = held(unchanged, move |_| left() <= 100);
    let slow = controller.with(Port::plain(between(samba.port(), attack).0));
    thread::scope(|scope| {
        let deleting = scope.spawn(|| slow.delete(&gone(&long)));
        hold.0.recv().unwrap();
        for number in 0..16 {
            let volume = volume(&format!("pvc-{number}"), &format!("pvc-{number}"));
            assert_eq!(controller.create(&volume).unwrap(), Created::Made);
        }
        drop(hold);
        assert_eq!(deleting.join().unwrap().unwrap(), Deleted::Gone);
    });
}

/// What a call may send once the records are known, and while each is read.
const KNOWN: usize = 60;
const UNKNOWN: usize = 5_000 + 100;

/// A process, the most that its call may send, and the call.
type Bound<'a> = (&'a Controller, usize, &'a dyn Fn(&Controller));

#[test]
fn requests_are_bounded_with_5000_volumes() {
    let (samba, controller) = start();
    let [volume, tilde] = ["new", "n~1"].map(|name| volume("pvc-1", &format!("ns/{name}")));
    write_records(&samba);
    let deleted = |it: &Controller, deletion| assert!(it.delete(&deletion).is_ok());
    let make = |it: &Controller| assert!(it.create(&volume).is_ok());
    let remove = |it: &Controller| deleted(it, gone(&volume));
    let archive = |it: &Controller| deleted(it, archive(&volume));
    let retain = |it: &Controller| deleted(it, keep(&volume, Left::Retained));
    let look = |it: &Controller| assert!(it.exists(&volume).unwrap());
    let make_tilde = |it: &Controller| assert!(it.create(&tilde).is_ok());
    let remove_tilde = |it: &Controller| deleted(it, gone(&tilde));
    let new = Controller::new(samba.port());
    let rows: [Bound<'_>; 13] = [
        (&controller, UNKNOWN, &make),
        (&controller, KNOWN, &remove),
        (&controller, KNOWN, &make),
        (&controller, KNOWN, &archive),
        (&controller, KNOWN, &make),
        (&new, KNOWN, &look),
        (&new, KNOWN, &retain),
        (&controller, KNOWN, &make),
        (&new, UNKNOWN, &remove),
        (&new, KNOWN, &make),
        (&new, KNOWN, &remove),
        (&new, KNOWN, &make_tilde),
        (&new, UNKNOWN, &remove_tilde),
    ];
    for (number, (controller, most, call)) in rows.into_iter().enumerate() {
        let (port, count) = between(samba.port(), Box::new(|_, _, message| unchanged(message)));
        call(&controller.with(Port::plain(port)));
        let count = *count.lock().unwrap();
        assert!(count < most, "call {number}: {count} requests");
    }
}

/// The records of 4,999 volumes, of which half are still being made.
fn write_records(samba: &Samba) {
    fill(samba, &volume("pvc-10000", "ns/data"));
    let text = fs::read_to_string(at(samba, ".wincsi/pvc-10000.volume")).unwrap();
    let creating = creating(&text);
    for n in 10_001..15_000 {
        let name = format!("pvc-{n}");
        let record = if n % 2 == 0 { &text } else { &creating };
        let record = record
            .replace("pvc-10000", &name)
            .replace("ns/data", &format!("ns/{n}"))
            .replace("\"id\":", &format!("\"id\":{n}"));
        fs::write(at(samba, &format!(".wincsi/{name}.volume")), record).unwrap();
    }
}

/// The first has a word once a message is held, which goes on when the second is dropped.
pub(crate) type Hold = (Receiver<()>, Sender<()>);

/// Holds the first request of which this is true. Afterwards it goes on, or something else does.
pub(crate) fn held(
    after: fn(&[u8]) -> Instead,
    mut when: impl FnMut(usize) -> bool + Send + 'static,
) -> (Hold, Attack) {
    let (reach, reached) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    let mut held = Some(reach);
    let attack = move |from, n, message: &[u8]| {
        if from == From::Client && held.is_some() && when(n) {
            let _ = held.take().map(|reach| reach.send(()));
            let _ = waits.recv();
            return after(message);
        }
        unchanged(message)
    };
    ((reached, go_on), Box::new(attack))
}
