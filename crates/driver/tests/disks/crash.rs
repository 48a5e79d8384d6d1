//! The driver dies in each call, before and after each operation of the system, and in the middle of a write of its
//! record; then it starts again, and kubelet repeats the call, or deletes the pod instead.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use crate::deaths::{Done, Snapshot, deaths_in, on_all_processors};
use crate::fixture::{Fixture, Host, TARGET};

const MIB: u64 = 1 << 20;
/// Small, because it is read before each operation.
const LENGTH: u64 = 64 * MIB;
/// As little as the host grows a volume by.
const GROWN: u64 = match crate::HOST {
    Host::InProcess => LENGTH + 32 * MIB,
    Host::Pipes => LENGTH + 100 * MIB,
};

struct Scenario {
    name: &'static str,
    prepare: fn(&mut Fixture),
    call: fn(&Fixture) -> Done,
}

static SCENARIOS: [Scenario; 9] = [
    Scenario {
        name: "stage of a blank disk",
        prepare: |_| {},
        call: stage,
    },
    Scenario {
        name: "stage of a formatted disk that grew",
        prepare: |fixture| {
            stage_and_write(fixture);
            fixture.unstage().unwrap();
            fixture.grow(GROWN);
        },
        call: stage,
    },
    Scenario {
        name: "repeated stage",
        prepare: publish_and_write,
        call: stage,
    },
    Scenario {
        name: "publish",
        prepare: stage_and_write,
        call: publish,
    },
    Scenario {
        name: "publish that stages anew after a reboot",
        prepare: |fixture| {
            stage_and_write(fixture);
            fixture.unmount_behind_the_drivers_back();
            fixture.reboot();
        },
        call: publish,
    },
    Scenario {
        name: "stats",
        prepare: publish_and_write,
        call: |fixture| Ok(fixture.stats(TARGET).map(drop)?),
    },
    Scenario {
        name: "expand",
        prepare: |fixture| {
            publish_and_write(fixture);
            fixture.grow(GROWN);
        },
        call: |fixture| Ok(fixture.expand(TARGET, GROWN).map(drop)?),
    },
    Scenario {
        name: "unpublish",
        prepare: publish_and_write,
        call: |fixture| Ok(fixture.unpublish(TARGET)?),
    },
    Scenario {
        name: "unstage",
        prepare: stage_and_write,
        call: |fixture| Ok(fixture.unstage()?),
    },
];

fn stage(fixture: &Fixture) -> Done {
    Ok(fixture.stage()?)
}

fn publish(fixture: &Fixture) -> Done {
    Ok(fixture.publish(TARGET)?)
}

fn stage_and_write(fixture: &mut Fixture) {
    fixture.stage().unwrap();
    fixture.write();
}

fn publish_and_write(fixture: &mut Fixture) {
    stage_and_write(fixture);
    fixture.publish(TARGET).unwrap();
}

/// What kubelet does after a death.
#[derive(Clone, Copy, Debug)]
enum Then {
    Repeats,
    DeletesThePod,
}

/// A death, and what comes after.
struct Case<'a> {
    prepared: &'a Prepared,
    left: Snapshot,
    then: Then,
}

/// A scenario up to its call.
struct Prepared {
    scenario: &'static Scenario,
    fixture: Fixture,
    has_file: bool,
}

#[test]
fn no_death_loses_data_or_leaves_anything_behind() {
    let prepared: Vec<_> = SCENARIOS.iter().map(Prepared::new).collect();
    let mut deaths = 0;
    let mut cases = Vec::new();
    for one in &prepared {
        let left = deaths_in(&one.fixture, one.scenario.name, one.scenario.call);
        deaths += left.len();
        let distinct: BTreeSet<_> = left.into_iter().collect();
        for then in [Then::Repeats, Then::DeletesThePod] {
            let cases_of = distinct.iter().cloned().map(|left| Case {
                prepared: one,
                left,
                then,
            });
            cases.extend(cases_of);
        }
    }
    on_all_processors(&cases, Case::check);
    let ran = cases.len();
    let _ = writeln!(
        io::stderr(),
        "counted: {} cases (kubelet repeats the call, or deletes the pod, after {deaths} deaths, of which {} left \
         something different)",
        2 * deaths,
        ran / 2
    );
}

impl Prepared {
    fn new(scenario: &'static Scenario) -> Self {
        let mut fixture = Fixture::of_length(LENGTH);
        (scenario.prepare)(&mut fixture);
        // Windows has seen the disk: a rescan in the call would be on another thread.
        fixture.rescan();
        let has_file = fixture.has_volume_with_file();
        Self {
            scenario,
            fixture,
            has_file,
        }
    }
}

impl Case<'_> {
    fn check(&self) {
        let Prepared {
            scenario,
            fixture,
            has_file,
        } = self.prepared;
        let what = format!("{}, kubelet {:?}", scenario.name, self.then);
        let revived = fixture.revived(&self.left);
        match self.then {
            Then::Repeats => {
                let again = (scenario.call)(&revived);
                again.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            Then::DeletesThePod => drop(revived.reconcile()),
        }
        revived.delete_pod();
        revived.assert_put_away(&what);
        if *has_file {
            revived.stage().unwrap();
            revived.publish(TARGET).unwrap();
            assert!(revived.has_file(TARGET), "{what}: the data are gone");
        }
    }
}
