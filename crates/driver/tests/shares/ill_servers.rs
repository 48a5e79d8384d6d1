//! Calls of others while a volume is live and its server is ill: they may fail, and cut nothing.

use wincsi::Win32;
use wincsi::sim::smb::ServerHealth::{self, Down, Dropping, Failing, Paused, Unavailable};
use wincsi::sim::{Effect, Rule};
use wincsi_driver::life::CallError;

use crate::fixture::{Fixture, POD, ROOT, SERVER, Volume, volume};

const OTHER_POD: &str = "2";

/// Guards: P78
#[test]
fn no_call_cuts_live_volumes_of_an_ill_server() {
    // The last is of a cluster that moves the share to another server: it answers at its port.
    let moves = (Paused, Some(Win32::BAD_NET_NAME));
    let ill = [Down, Dropping, Failing, Paused, Unavailable].map(|health| (health, None));
    for (health, says) in ill.into_iter().chain([moves]) {
        for (name, call) in calls_of_others() {
            for restarts in [false, true] {
                let mut fixture = Fixture::new();
                fixture.stage(&volume("pv")).unwrap();
                fixture.publish(&volume("pv"), POD).unwrap();
                if restarts {
                    fixture.restart();
                }
                fixture.smb().set_condition(SERVER, health).unwrap();
                if let Some(code) = says {
                    let look = Rule::on("GetFileAttributesExW", Effect::fail(code));
                    fixture.sim.faults().add(look.object(r"\\files\data\"));
                }
                let _ = call(&fixture);
                fixture.sim.faults().clear();
                fixture
                    .smb()
                    .set_condition(SERVER, ServerHealth::Up)
                    .unwrap();
                let case = format!("{name} while {health:?}, {says:?}, restarts: {restarts}");
                assert_eq!(fixture.mappings(), [ROOT], "{case}");
                fixture.write(&volume("pv").target(POD), "still there");
                fixture.stats(&volume("pv"), POD).unwrap();
            }
        }
    }
}

type CallOfOthers = fn(&Fixture) -> Result<(), CallError>;

/// What may come while a volume is live, by the right password and a wrong one.
fn calls_of_others() -> [(&'static str, CallOfOthers); 8] {
    fn wrong(handle: &str) -> Volume<'_> {
        Volume {
            password: "wrong",
            ..volume(handle)
        }
    }
    [
        ("a stage of another volume", |fixture| {
            fixture.stage(&volume("other"))
        }),
        ("the same, by a wrong password", |fixture| {
            fixture.stage(&wrong("other"))
        }),
        ("a repeated stage", |fixture| fixture.stage(&volume("pv"))),
        ("the same, by a wrong password", |fixture| {
            fixture.stage(&wrong("pv"))
        }),
        ("another publish", |fixture| {
            fixture.publish_with_secret(&volume("pv"), OTHER_POD)
        }),
        ("the same, by a wrong password", |fixture| {
            fixture.publish_with_secret(&wrong("pv"), OTHER_POD)
        }),
        ("an inline volume", |fixture| {
            fixture.publish_inline(&volume("inline"), OTHER_POD)
        }),
        ("the same, by a wrong password", |fixture| {
            fixture.publish_inline(&wrong("inline"), OTHER_POD)
        }),
    ]
}

/// A stage replaces a mapping whose password was changed. If its server goes away just then, the mapping is made as soon as
/// kubelet asks for the figures of a volume that it served.
/// Guards: P78
#[test]
fn a_mapping_that_was_removed_in_vain_is_owed() {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    fixture.change_password("new");
    let goes_away = Rule::on(
        "MSFT_SmbGlobalMapping.Create",
        Effect::fail(Win32::NETNAME_DELETED),
    );
    let away = fixture.sim.faults().add(goes_away);
    let other = Volume {
        password: "new",
        ..volume("other")
    };
    fixture.stage(&other).unwrap_err();
    assert_eq!(fixture.mappings(), [""; 0]);
    fixture.stats(&volume("pv"), POD).unwrap_err();
    assert_eq!(fixture.mappings(), [""; 0], "its server is away");
    fixture.sim.faults().remove(away);
    fixture.stats(&volume("pv"), POD).unwrap();
    fixture.write(&volume("pv").target(POD), "served again");
    fixture.stage(&other).unwrap();
    for volume in [volume("pv"), other] {
        fixture.delete_pod(&volume);
    }
    assert_eq!(fixture.mappings(), [""; 0], "it is this driver's");
}
