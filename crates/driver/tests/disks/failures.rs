//! Each operation of the system fails in each call, where it comes first and last: once, also after it took effect, or with
//! those that come after it. What is left then agrees with the code, and when the node is well again, the call comes
//! through.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use transport::Code;
use wincsi::Win32;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::record::Access;

use crate::deaths::{Mortal as _, Snapshot, on_all_processors};
use crate::fixture::{Fixture, STAGING, TARGET};

/// Small, because each case has a copy.
const LENGTH: u64 = 64 << 20;

struct Scenario {
    name: &'static str,
    prepare: fn() -> Fixture,
    call: fn(&Fixture) -> Result<(), Failed>,
    left: Left,
}

/// What a failed call may leave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Nothing if its code is final: the volume was not staged before.
    Nothing,
    /// The record or the mount from before, and no code is final.
    Something,
    /// The same, and the pod's files are there throughout.
    Files,
}

/// What a call failed with.
struct Failed {
    code: Code,
    text: String,
}

static SCENARIOS: [Scenario; 12] = [
    Scenario {
        name: "stage of a blank disk",
        prepare: blank,
        call: stage,
        left: Left::Nothing,
    },
    Scenario {
        name: "stage of a disk with files",
        prepare: with_files,
        call: stage,
        left: Left::Nothing,
    },
    Scenario {
        name: "stage of a disk with files that Windows had online",
        prepare: || {
            let fixture = with_files();
            fixture.bring_online();
            fixture
        },
        call: stage,
        left: Left::Nothing,
    },
    Scenario {
        name: "stage for readers",
        prepare: || with_files().for_readers(Access::SharedReadOnly),
        call: stage,
        left: Left::Nothing,
    },
    Scenario {
        name: "repeated stage",
        prepare: published,
        call: stage,
        left: Left::Files,
    },
    Scenario {
        name: "repeated stage for readers",
        prepare: || {
            let fixture = with_files().for_readers(Access::SharedReadOnly);
            fixture.stage().unwrap();
            fixture.publish(TARGET).unwrap();
            fixture
        },
        call: stage,
        left: Left::Files,
    },
    Scenario {
        name: "stage of a volume whose record is lost",
        prepare: || {
            let mut fixture = published();
            fixture.forget();
            fixture
        },
        call: stage,
        left: Left::Files,
    },
    Scenario {
        name: "publish",
        prepare: staged,
        call: publish,
        left: Left::Something,
    },
    Scenario {
        name: "repeated publish",
        prepare: published,
        call: publish,
        left: Left::Files,
    },
    Scenario {
        name: "publish that stages anew after a reboot",
        prepare: || {
            let mut fixture = staged();
            fixture.unmount_behind_the_drivers_back();
            fixture.reboot();
            fixture
        },
        call: publish,
        left: Left::Something,
    },
    Scenario {
        name: "unpublish",
        prepare: published,
        call: |fixture| {
            let unpublished = fixture.unpublish(TARGET);
            unpublished.map_err(|error| Failed::new(error.code(), &error))
        },
        left: Left::Something,
    },
    Scenario {
        name: "unstage",
        prepare: staged,
        call: |fixture| {
            let unstaged = fixture.unstage();
            unstaged.map_err(|error| Failed::new(error.code(), &error))
        },
        left: Left::Something,
    },
];

fn blank() -> Fixture {
    Fixture::of_length(LENGTH)
}

fn staged() -> Fixture {
    let fixture = blank();
    fixture.stage().unwrap();
    fixture.write();
    fixture
}

fn published() -> Fixture {
    let fixture = staged();
    fixture.publish(TARGET).unwrap();
    fixture
}

fn with_files() -> Fixture {
    let fixture = staged();
    fixture.unstage().unwrap();
    fixture
}

fn stage(fixture: &Fixture) -> Result<(), Failed> {
    let staged = fixture.stage();
    staged.map_err(|error| Failed::new(error.code(), &error))
}

fn publish(fixture: &Fixture) -> Result<(), Failed> {
    let published = fixture.publish(TARGET);
    published.map_err(|error| Failed::new(error.code(), &error))
}

/// So many, and not all, since time stands still where each sleep fails.
const THOSE_THAT_FOLLOW: u32 = 40;

/// How the operation fails.
#[derive(Clone, Copy, Debug)]
enum How {
    Once,
    AfterItsEffect,
    WithThoseThatFollow,
}

/// One that does not go away by itself, and one that does.
fn codes(is_first: bool) -> &'static [Win32] {
    match is_first {
        true => &[Win32::ACCESS_DENIED, Win32::NOT_READY],
        false => &[Win32::ACCESS_DENIED],
    }
}

/// A scenario up to its call.
struct Prepared {
    scenario: &'static Scenario,
    fixture: Fixture,
    before: Snapshot,
    was_online: bool,
    has_file: bool,
    /// What failed calls left so far.
    left: Mutex<BTreeSet<Snapshot>>,
}

struct Case<'a> {
    prepared: &'a Prepared,
    /// Which operation of the call fails, from 1.
    nth: u32,
    how: How,
    code: Win32,
}

#[test]
fn a_final_code_leaves_nothing_and_never_comes_where_something_was_before() {
    let prepared: Vec<_> = SCENARIOS.iter().map(Prepared::new).collect();
    let cases: Vec<_> = prepared.iter().flat_map(Prepared::cases).collect();
    let (failed, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    on_all_processors(&cases, |case| {
        let Err(Failed { code, .. }) = case.check() else {
            return;
        };
        failed.fetch_add(1, Ordering::Relaxed);
        ended.fetch_add(usize::from(is_final(code)), Ordering::Relaxed);
    });
    let (failed, ended) = (failed.into_inner(), ended.into_inner());
    let _ = writeln!(
        io::stderr(),
        "counted: {} cases (an operation fails: {failed} calls fail, {ended} of them with a final code)",
        cases.len()
    );
    assert!(0 < ended && ended < failed && failed < cases.len());
}

impl Prepared {
    fn new(scenario: &'static Scenario) -> Self {
        let fixture = (scenario.prepare)();
        // Windows has seen the disk: a rescan in the call would be on another thread.
        fixture.rescan();
        Self {
            scenario,
            before: fixture.snapshot(),
            was_online: fixture.is_online(),
            has_file: fixture.has_volume_with_file(),
            left: Mutex::default(),
            fixture,
        }
    }

    /// Whether no call before left the node and the records so.
    fn is_new(&self, fixture: &Fixture) -> bool {
        self.left.lock().unwrap().insert(fixture.snapshot())
    }

    fn cases(&self) -> Vec<Case<'_>> {
        let fixture = self.fixture.revived(&self.before);
        fixture.take_trace();
        let done = (self.scenario.call)(&fixture);
        assert!(done.is_ok(), "{}", self.scenario.name);
        let trace = fixture.take_trace();
        let mut cases = Vec::new();
        for (at, op) in trace.iter().enumerate() {
            let is_first = !trace[..at].contains(op);
            if !is_first && trace[at + 1..].contains(op) {
                continue;
            }
            let nth = u32::try_from(at + 1).unwrap();
            for how in How::of(op.operation) {
                cases.extend(codes(is_first).iter().map(|code| Case {
                    prepared: self,
                    nth,
                    how: *how,
                    code: *code,
                }));
            }
        }
        cases
    }
}

impl How {
    /// One that only reads fails in one way.
    fn of(operation: &str) -> &'static [Self] {
        let changes = [
            "MSFT_",
            "SetVolume",
            "DeleteVolume",
            "CreateDirectory",
            "FSCTL_",
        ];
        match changes.iter().any(|change| operation.starts_with(change)) {
            true => &[Self::Once, Self::AfterItsEffect, Self::WithThoseThatFollow],
            false => &[Self::Once],
        }
    }
}

impl Case<'_> {
    /// What the call answered.
    fn check(&self) -> Result<(), Failed> {
        let Prepared {
            scenario, fixture, ..
        } = self.prepared;
        let fixture = fixture.revived(&self.prepared.before);
        fixture.take_trace();
        fixture.fault(self.fault());
        let answer = (scenario.call)(&fixture);
        fixture.heal();
        let answered = answer
            .as_ref()
            .map_or_else(Failed::to_string, |()| String::from("done"));
        let what = self.what(&fixture, &answered);
        if let Err(failed) = &answer {
            self.check_left(&fixture, failed, &what);
        }
        if self.prepared.is_new(&fixture) {
            self.check_rest_of_life(&fixture, answer.is_ok(), &what);
        }
        answer
    }

    /// The node is well again.
    fn check_rest_of_life(&self, fixture: &Fixture, has_ended: bool, what: &str) {
        let Prepared {
            scenario, has_file, ..
        } = self.prepared;
        // The unstage ended, as a disk that Windows does not take offline is in use.
        let in_use = has_ended && fixture.records() == 0 && fixture.is_online();
        let again = (scenario.call)(fixture);
        again.unwrap_or_else(|error| panic!("{what}; again: {error}"));
        fixture.delete_pod();
        if !in_use {
            fixture.assert_put_away(what);
        }
        if *has_file {
            fixture.stage().unwrap();
            fixture.publish(TARGET).unwrap();
            assert!(fixture.has_file(TARGET), "{what}: the data are gone");
        }
    }

    fn fault(&self) -> Rule {
        let effect = match self.how {
            How::Once | How::WithThoseThatFollow => Effect::Fail(self.code.into()),
            How::AfterItsEffect => Effect::FailAfter(self.code.into()),
        };
        let times = match self.how {
            How::Once | How::AfterItsEffect => 1,
            How::WithThoseThatFollow => THOSE_THAT_FOLLOW,
        };
        Rule::on("*", effect).from_nth(self.nth).times(times)
    }

    fn what(&self, fixture: &Fixture, answered: &str) -> String {
        let trace = fixture.take_trace();
        let operation = trace.get(usize::try_from(self.nth - 1).unwrap());
        let operation = operation.map_or("", |op| op.operation);
        let Self { how, code, nth, .. } = self;
        let name = self.prepared.scenario.name;
        format!("{name}: {operation} ({nth}) fails {how:?} with {code:?}; {answered}")
    }

    fn check_left(&self, fixture: &Fixture, failed: &Failed, what: &str) {
        let is_final = is_final(failed.code);
        match self.prepared.scenario.left {
            Left::Nothing if is_final => {
                assert_eq!(fixture.records(), 0, "{what}");
                assert!(!fixture.exists(STAGING), "{what}");
                assert_eq!(fixture.is_online(), self.prepared.was_online, "{what}");
            }
            Left::Nothing => {}
            Left::Something => assert!(!is_final, "{what}"),
            Left::Files => {
                assert!(!is_final, "{what}");
                assert!(
                    fixture.has_mount_entry() && fixture.has_link_entry(),
                    "{what}"
                );
                assert!(fixture.has_file(TARGET), "{what}");
            }
        }
    }
}

/// Kubelet may forget the volume after it.
fn is_final(code: Code) -> bool {
    !matches!(
        code,
        Code::Unavailable | Code::DeadlineExceeded | Code::Aborted
    )
}

impl Failed {
    fn new(code: Code, error: &impl ToString) -> Self {
        let text = error.to_string();
        Self { code, text }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { code, text } = self;
        write!(f, "{code:?}: {text}")
    }
}
