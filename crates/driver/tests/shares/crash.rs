//! The driver dies in each call; then it starts again, and kubelet repeats the call, or deletes the pod instead.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use wincsi::Feature;
use wincsi_driver::record::Lifetime;

use crate::deaths::{Done, Snapshot, deaths_in, on_all_processors};
use crate::fixture::{Fixture, KUBELET, PASSWORD, POD, ROOT, USER, Volume, volume};
use crate::upstream::{HostProcess, Upstream as _};

struct Scenario {
    name: &'static str,
    prepare: fn(&mut Fixture),
    call: fn(&Fixture) -> Done,
    /// What not each host has.
    needs: Option<Feature>,
    /// The volumes that are left when kubelet deletes the pod.
    others: &'static [&'static str],
}

const INLINE: Volume<'static> = Volume {
    handle: "pv",
    remote: ROOT,
    server: None,
    user: USER,
    password: PASSWORD,
    lifetime: Lifetime::Inline,
    kubelet: KUBELET,
};

static SCENARIOS: [Scenario; 14] = [
    Scenario {
        name: "stage",
        needs: None,
        prepare: |fixture| fixture.make_staging_folder(&volume("pv")),
        call: |fixture| Ok(fixture.stage_again(&volume("pv"))?),
        others: &[],
    },
    Scenario {
        name: "stage beside another volume",
        needs: None,
        prepare: |fixture| {
            fixture.stage(&volume("other")).unwrap();
            fixture.make_staging_folder(&volume("pv"));
        },
        call: |fixture| Ok(fixture.stage_again(&volume("pv"))?),
        others: &["other"],
    },
    Scenario {
        name: "stage after a reboot",
        needs: None,
        prepare: |fixture| {
            fixture.stage(&volume("pv")).unwrap();
            fixture.reboot();
        },
        call: |fixture| Ok(fixture.stage_again(&volume("pv"))?),
        others: &[],
    },
    Scenario {
        name: "publish",
        needs: None,
        prepare: |fixture| fixture.stage(&volume("pv")).unwrap(),
        call: |fixture| Ok(fixture.publish(&volume("pv"), POD)?),
        others: &[],
    },
    Scenario {
        name: "publish that maps anew",
        needs: None,
        prepare: |fixture| {
            fixture.stage(&volume("pv")).unwrap();
            fixture.reboot();
        },
        call: |fixture| Ok(fixture.publish_with_secret(&volume("pv"), POD)?),
        others: &[],
    },
    Scenario {
        name: "publish of an inline volume",
        needs: Some(Feature::MappingList),
        prepare: |_| {},
        call: |fixture| Ok(fixture.publish_inline(&INLINE, POD)?),
        others: &[],
    },
    Scenario {
        name: "unpublish",
        needs: None,
        prepare: |fixture| {
            fixture.stage(&volume("pv")).unwrap();
            fixture.publish(&volume("pv"), POD).unwrap();
        },
        call: |fixture| Ok(fixture.unpublish(&volume("pv"), POD)?),
        others: &[],
    },
    Scenario {
        name: "unstage",
        needs: None,
        prepare: |fixture| fixture.stage(&volume("pv")).unwrap(),
        call: |fixture| Ok(fixture.unstage(&volume("pv"))?),
        others: &[],
    },
    Scenario {
        name: "unstage beside another volume",
        needs: None,
        prepare: |fixture| {
            fixture.stage(&volume("pv")).unwrap();
            fixture.stage(&volume("other")).unwrap();
        },
        call: |fixture| Ok(fixture.unstage(&volume("pv"))?),
        others: &["other"],
    },
    Scenario {
        name: "stage of a staged volume",
        needs: None,
        prepare: |fixture| fixture.stage(&volume("pv")).unwrap(),
        call: |fixture| Ok(fixture.stage_again(&volume("pv"))?),
        others: &[],
    },
    Scenario {
        name: "stats",
        needs: Some(Feature::SpaceByPath),
        prepare: |fixture| {
            fixture.stage(&volume("pv")).unwrap();
            fixture.publish(&volume("pv"), POD).unwrap();
        },
        call: |fixture| Ok(fixture.stats(&volume("pv"), POD).map(drop)?),
        others: &[],
    },
    Scenario {
        name: "unpublish of an inline volume",
        needs: Some(Feature::MappingList),
        prepare: |fixture| fixture.publish_inline(&INLINE, POD).unwrap(),
        call: |fixture| Ok(fixture.unpublish(&INLINE, POD)?),
        others: &[],
    },
    Scenario {
        name: "unstage of a volume that csi-driver-smb staged",
        needs: Some(Feature::EntryLooks),
        prepare: |fixture| HostProcess.stage(fixture, &volume("pv")).unwrap(),
        call: |fixture| Ok(fixture.unstage(&volume("pv"))?),
        others: &[],
    },
    Scenario {
        name: "stage of a volume that csi-driver-smb staged",
        needs: Some(Feature::EntryLooks),
        prepare: |fixture| HostProcess.stage(fixture, &volume("pv")).unwrap(),
        call: |fixture| Ok(fixture.stage_again(&volume("pv"))?),
        others: &[],
    },
];

/// What kubelet does after a death.
#[derive(Clone, Copy, Debug)]
enum Then {
    Repeats,
    DeletesThePod,
}

struct Case<'a> {
    scenario: &'static Scenario,
    fixture: &'a Fixture,
    left: Snapshot,
    then: Then,
}

/// Guards: P79
#[test]
fn no_death_leaves_a_mapping_or_takes_one_from_another_volume() {
    let prepare = |scenario: &'static Scenario| {
        let mut fixture = Fixture::new();
        (scenario.prepare)(&mut fixture);
        (scenario, fixture)
    };
    let fixture = Fixture::new();
    let runs_here = |one: &&Scenario| one.needs.is_none_or(|one| fixture.host_supports(one));
    let prepared: Vec<_> = SCENARIOS.iter().filter(runs_here).map(prepare).collect();
    let (mut cases, mut deaths) = (Vec::new(), 0);
    for (scenario, fixture) in &prepared {
        let left = deaths_in(fixture, scenario.name, scenario.call);
        deaths += left.len();
        for left in BTreeSet::from_iter(left) {
            for then in [Then::Repeats, Then::DeletesThePod] {
                let left = left.clone();
                cases.push(Case {
                    scenario,
                    fixture,
                    left,
                    then,
                });
            }
        }
    }
    on_all_processors(&cases, Case::check);
    let _ = writeln!(
        io::stderr(),
        "counted: {} cases after {deaths} deaths",
        cases.len()
    );
}

impl Case<'_> {
    fn check(&self) {
        let what = format!("{}, kubelet {:?}", self.scenario.name, self.then);
        let mut revived = self.fixture.revived(&self.left);
        match self.then {
            Then::Repeats => {
                let again = (self.scenario.call)(&revived);
                again.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            Then::DeletesThePod => revived.restart(),
        }
        revived.delete_pod(&volume("pv"));
        for other in self.scenario.others {
            assert_eq!(revived.mappings(), [ROOT], "{what}");
            revived.write(&volume(other).staging(), "of the other");
            revived.unstage(&volume(other)).unwrap();
        }
        assert_eq!(revived.mappings(), [""; 0], "{what}");
        assert_eq!(revived.records(), 0, "{what}");
        for at in [volume("pv").staging(), volume("pv").target(POD)] {
            assert!(!revived.exists(&at), "{what}: {at}");
        }
    }
}
