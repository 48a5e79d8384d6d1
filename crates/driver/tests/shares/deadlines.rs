//! Calls of clients that wait less long than a call may last.

use std::time::Duration;

use transport::Code;
use wincsi::Win32;
use wincsi::sim::{Effect, Rule};
use wincsi_driver::life::CallError;
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, POD, ROOT, Volume, volume};

/// How long the client waits.
const SHORT: Duration = Duration::from_secs(30);

/// How long each operation of the node takes.
const STEP: Duration = Duration::from_secs(9);

type Call = fn(&Fixture) -> Result<(), CallError>;

const CALLS: [(&str, Call); 6] = [
    ("stage", |fixture| fixture.stage_again(&other())),
    ("inline", |fixture| fixture.publish_inline(&inline(), POD)),
    ("renewal", |fixture| {
        fixture.publish_with_secret(&volume("pv"), POD)
    }),
    ("publish", |fixture| fixture.publish(&volume("pv"), "2")),
    ("stats", |fixture| {
        fixture.stats(&volume("pv"), POD).map(drop)
    }),
    ("unstage", |fixture| fixture.unstage(&other())),
];

fn other() -> Volume<'static> {
    Volume {
        remote: r"\\files\data\folder",
        ..volume("other")
    }
}

fn inline() -> Volume<'static> {
    Volume {
        lifetime: Lifetime::Inline,
        ..volume("inline")
    }
}

#[test]
fn a_call_ends_when_its_client_waits_no_more() {
    for client in [SHORT, Duration::ZERO] {
        for (name, call) in CALLS {
            let fixture = Fixture::new();
            fixture.make_folder("folder");
            fixture.stage(&volume("pv")).unwrap();
            fixture.publish(&volume("pv"), POD).unwrap();
            match name {
                "renewal" => assert!(fixture.try_unmap_by_hand(ROOT)),
                "unstage" => fixture.stage(&other()).unwrap(),
                _ => {}
            }
            let mut fixture = fixture.with_client(client);
            let faults = fixture.faults();
            faults.add(Rule::on("*", Effect::Delay(STEP)));
            let began = fixture.sim.os().clock.now();
            let ended = call(&fixture);
            let took = began.until(fixture.sim.os().clock.now());
            let is_in_time = took < client + STEP;
            assert!(is_in_time, "{name} within {client:?}: {took:?}");
            match ended {
                // It needed less.
                Ok(()) => assert_eq!(client, SHORT, "{name}"),
                Err(refused) => {
                    assert_eq!(refused.code(), Code::DeadlineExceeded, "{name}: {refused}");
                }
            }
            faults.clear();
            fixture = fixture.with_client(Duration::MAX);
            for volume in [&volume("pv"), &other()] {
                fixture.unpublish(volume, POD).unwrap();
                fixture.unpublish(volume, "2").unwrap();
                fixture.unstage(volume).unwrap();
            }
            fixture.unpublish(&inline(), POD).unwrap();
            assert_eq!(
                (fixture.records(), fixture.mappings().len()),
                (0, 0),
                "{name}"
            );
        }
    }
}

#[test]
fn a_short_call_has_time_for_steps_and_for_its_undo() {
    let fixture = Fixture::new().with_client(SHORT);
    let faults = fixture.faults();
    let slow = Effect::Delay(SHORT * 7 / 10);
    faults.add(Rule::on("IWbemServices.ExecQuery", slow).times(1));
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    faults.add(Rule::on("MSFT_SmbGlobalMapping.Create", denied));
    let refused = fixture.stage(&volume("pv")).unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
    assert_eq!(fixture.records(), 0);
}
