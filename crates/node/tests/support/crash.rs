//! Runs an operation with a fault, or a death, at each operation of the system that it makes.

use os::Facility;
use os::Outcome;
use os::Win32;
use os::schema::codes;
use os_meter::Counts;
use os_sim::Effect;
use os_sim::Kill;
use os_sim::Op;
use os_sim::Rule;

use super::Rig;

pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn() -> Rig,
    pub(crate) act: fn(&Rig) -> Result<(), String>,
    /// What a second call may answer when the first had done its work: csi-proxy answers so, too.
    pub(crate) done_already: &'static [&'static str],
}

pub(crate) fn told<T, E: std::error::Error>(done: Result<T, E>) -> Result<T, String> {
    done.map_err(|error| error.to_string())
}

/// What Windows may refuse for good, and the operation goes on without: clearing read-only where the
/// hardware protects a disk.
const MAY_REFUSE: &str = "MSFT_Disk.SetAttributes";

/// What goes wrong in a case.
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

/// What may take effect although its caller was told that it had not ended.
fn is_method(op: &Op) -> bool {
    let is_order = ["StartServiceW", "ControlService"].contains(&op.operation);
    has_code(op) || is_order
}

/// What answers with a code of its own.
fn has_code(op: &Op) -> bool {
    let is_provider = matches!(
        op.facility,
        Facility::Iscsi | Facility::Smb | Facility::Storage
    );
    is_provider && !op.operation.contains("Exec")
}

pub(crate) fn check(scenario: &Scenario) {
    let calm = (scenario.prepare)();
    calm.settle();
    (scenario.act)(&calm).unwrap_or_else(|error| panic!("{}: {error}", scenario.name));
    let operations = calm.sim.take_trace();
    let expected = calm.reopened().state();
    let mut cases = 0;
    for (mode, effect, applies) in MODES {
        for (index, op) in operations.iter().enumerate().filter(|(_, op)| applies(op)) {
            let what = format!("{}: {mode} at operation {index}, {op}", scenario.name);
            disturbed(scenario, &what, index, effect.clone(), &expected);
            cases += 1;
        }
    }
    let refusable = |op: &Op| has_code(op) && !op.operation.ends_with(MAY_REFUSE);
    for (index, op) in operations
        .iter()
        .enumerate()
        .filter(|(_, op)| refusable(op))
    {
        let what = format!("{}: is refused at operation {index}, {op}", scenario.name);
        let refused = Effect::Answer(Outcome::of(codes::FAILED.code));
        disturbed(scenario, &what, index, refused, &expected);
        cases += 1;
    }
    println!(
        "{}: {} operations, {cases} cases",
        scenario.name,
        operations.len()
    );
    assert!(cases > 0, "{}: the trace is empty", scenario.name);
}

fn disturbed(scenario: &Scenario, what: &str, index: usize, effect: Effect, expected: &str) {
    let is_kill = matches!(effect, Effect::Kill(_));
    let mut rig = (scenario.prepare)();
    rig.settle();
    let nth = u32::try_from(index + 1).unwrap();
    rig.sim
        .faults()
        .add(Rule::on("*", effect).from_nth(nth).times(1));
    let first = (scenario.act)(&rig);
    assert_eq!(rig.open(), Counts::default(), "{what}: leaks");
    if is_kill {
        assert!(rig.sim.is_killed(), "{what}: was not reached");
        rig = rig.reopened();
    }
    rig.sim.faults().clear();
    if let Err(error) = (scenario.act)(&rig) {
        let is_done = scenario
            .done_already
            .iter()
            .any(|text| error.contains(text));
        assert!(is_done, "{what}: {first:?}, then {error}");
    }
    assert_eq!(rig.open(), Counts::default(), "{what}: the retry leaks");
    let state = rig.reopened().state();
    assert_eq!(state, expected, "{what}: {first:?}");
}
