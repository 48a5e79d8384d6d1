//! Runs an operation with a fault, or a death, at each operation of the system that it makes.

use std::fmt;

use os::schema::codes;
use os::{Facility, Outcome, Win32};
use os_meter::Counts;
use os_sim::{Effect, Kill, Op, Rule};
use wincsi_node::driver_texts;

use super::{NodeFixture, Reach, counted};

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn() -> NodeFixture,
    pub(crate) act: Act,
    /// The errors that a second call may return if the first had done its work: csi-proxy returns
    /// them, too.
    pub(crate) done_already: &'static [&'static str],
}

/// The calls of a client, each path resolved anew.
type Act = fn(&NodeFixture) -> Result<(), String>;

pub(crate) fn with_text_error<T, E: std::error::Error>(done: Result<T, E>) -> Result<T, String> {
    done.map_err(|error| error.to_string())
}

/// With the paths of clients confined to the working folder, as they are served.
pub(crate) fn check(scenario: &Scenario) {
    Sweep {
        scenario,
        reach: Reach::WorkingFolder,
    }
    .run();
}

/// As [`check`], and once more with paths that nobody confines.
pub(crate) fn check_with_any_reach(scenario: &Scenario) {
    for reach in [Reach::WorkingFolder, Reach::Everywhere] {
        Sweep { scenario, reach }.run();
    }
}

/// A scenario, and how far the paths in it may lead.
struct Sweep<'a> {
    scenario: &'a Scenario,
    reach: Reach,
}

impl Sweep<'_> {
    fn run(&self) {
        let original = self.prepared();
        let calm = original.copied();
        let Scenario { name, act, .. } = self.scenario;
        act(&calm).unwrap_or_else(|error| panic!("{name}: {error}"));
        let operations = calm.take_trace();
        let expected = calm.reopened().state();
        let cases = cases(&operations);
        for case in &cases {
            self.disturbed(case, original.copied(), &expected);
        }
        assert!(!cases.is_empty(), "{name}: the trace is empty");
        let (reach, operations) = (self.reach, operations.len());
        let about = format!("{name}, {reach:?}: {operations} operations");
        counted(cases.len(), "cases", &about);
    }

    /// A node as the operation finds it.
    fn prepared(&self) -> NodeFixture {
        (self.scenario.prepare)().reaching(self.reach)
    }

    fn disturbed(&self, case: &Case<'_>, fixture: NodeFixture, expected: &str) {
        let Self { scenario, reach } = self;
        let what = format!("{}, {reach:?}: {case}", scenario.name);
        let first = case.inject_crash(&fixture, scenario.act);
        refuse_texts_of_other_failures(&what, &first);
        assert_eq!(fixture.open(), Counts::default(), "{what}: leaks");
        let fixture = match case.effect {
            Effect::Kill(_) => {
                assert!(fixture.is_killed(), "{what}: was not reached");
                fixture.reopened()
            }
            _ => fixture,
        };
        if let Err(error) = (scenario.act)(&fixture) {
            let mut texts = scenario.done_already.iter();
            let is_done = texts.any(|text| error.contains(text));
            assert!(is_done, "{what}: {first:?}, then {error}");
        }
        assert_eq!(fixture.open(), Counts::default(), "{what}: the retry leaks");
        let state = fixture.reopened().state();
        assert_eq!(state, expected, "{what}: {first:?}");
    }
}

/// A refusal of Windows after which the operation goes on: clearing read-only if the hardware
/// protects a disk.
const MAY_REFUSE: &str = "MSFT_Disk.SetAttributes";

/// The faults of a case.
const MODES: [(&str, Effect, Applies); 5] = [
    (
        "fails",
        Effect::Fail(os::Cause::Win32(Win32::IO_DEVICE)),
        |_| true,
    ),
    (
        "fails after",
        Effect::FailAfter(os::Cause::Win32(Win32::IO_DEVICE)),
        |_| true,
    ),
    ("dies before", Effect::Kill(Kill::Before), |_| true),
    ("dies after", Effect::Kill(Kill::After), |_| true),
    ("overruns", Effect::Overrun, is_method),
];

type Applies = fn(&Op) -> bool;

/// Operations that may take effect although their caller got a timeout.
fn is_method(op: &Op) -> bool {
    let is_order = ["StartServiceW", "ControlService"].contains(&op.operation);
    has_code(op) || is_order
}

/// Operations that return a code of their own.
fn has_code(op: &Op) -> bool {
    let is_provider = matches!(
        op.facility,
        Facility::Iscsi | Facility::Smb | Facility::Storage
    );
    is_provider && !op.operation.contains("Exec")
}

fn is_refusable(op: &Op) -> bool {
    has_code(op) && !op.operation.ends_with(MAY_REFUSE)
}

/// Drivers read such a text as "already done", and the failures here do not mean that.
fn refuse_texts_of_other_failures(what: &str, first: &Result<(), String>) {
    let error_text = first.as_ref().err().map_or("", String::as_str);
    let read = driver_texts::ALL
        .iter()
        .find(|text| error_text.contains(text.words));
    assert_eq!(read, None, "{what}: {error_text}");
}

/// One operation of the system, and what goes wrong there.
struct Case<'a> {
    mode: &'static str,
    index: usize,
    op: &'a Op,
    effect: Effect,
}

impl Case<'_> {
    /// The outcome of `act` under this fault.
    fn inject_crash(&self, fixture: &NodeFixture, act: Act) -> Result<(), String> {
        let nth = u32::try_from(self.index + 1).unwrap();
        let rule = Rule::on("*", self.effect.clone()).from_nth(nth).times(1);
        let faults = fixture.faults();
        faults.add(rule);
        let outcome = act(fixture);
        faults.clear();
        outcome
    }
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at operation {}, {}", self.mode, self.index, self.op)
    }
}

/// Everything that can go wrong at each of the operations. A death before one is a death after the one before it: in
/// between nothing takes effect.
fn cases(operations: &[Op]) -> Vec<Case<'_>> {
    let refused = Effect::Answer(Outcome::of(codes::FAILED.code));
    let modes = MODES.into_iter();
    modes
        .chain([("is refused", refused, is_refusable as Applies)])
        .flat_map(|(mode, effect, applies)| {
            let numbered = operations.iter().enumerate();
            let hit = numbered.filter(move |(_, op)| applies(op));
            hit.map(move |(index, op)| Case {
                mode,
                index,
                op,
                effect: effect.clone(),
            })
        })
        .filter(|case| case.index == 0 || case.effect != Effect::Kill(Kill::Before))
        .collect()
}
