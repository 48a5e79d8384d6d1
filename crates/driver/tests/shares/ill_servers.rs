//! Calls of others while a volume is live and its server is ill: they may fail, and cut nothing.

use std::thread;

use wincsi::Win32;
use wincsi::sim::smb::ServerHealth::{self, Down, Dropping, Failing, Paused, Unavailable};
use wincsi_driver::life::CallError;
use wincsi_driver::record::Lifetime;

use crate::fixture::{Fixture, PASSWORD, POD, ROOT, SERVER, Volume, volume};
use crate::takeover::{A, node, of};
use crate::upstream::{HostProcess, Upstream as _};

const CREATE: &str = "MSFT_SmbGlobalMapping.Create";

const OTHER_POD: &str = "2";

/// Each call comes alone, and twenty at once.
/// Guards: P78
#[test]
fn no_call_cuts_live_volumes_of_an_ill_server() {
    // The last two answer at their port: one moves the share to another server, the other looks like a dead mapping.
    let codes = [Win32::BAD_NET_NAME, Win32::BAD_NETPATH].map(|code| (Paused, Some(code)));
    let ill = [Down, Dropping, Failing, Paused, Unavailable].map(|health| (health, None));
    for (health, says) in ill.into_iter().chain(codes) {
        for (name, call) in calls_of_others() {
            for (restarts, at_once) in [(false, 1), (true, 1), (false, 20), (true, 20)] {
                let mut fixture = Fixture::new();
                fixture.stage(&volume("pv")).unwrap();
                fixture.publish(&volume("pv"), POD).unwrap();
                if restarts {
                    fixture.restart();
                }
                fixture.set_server(SERVER, health);
                if let Some(code) = says {
                    fixture.fail_on("GetFileAttributesExW", r"\\files\data\", code);
                }
                thread::scope(|scope| {
                    for one in 0..at_once {
                        let fixture = &fixture;
                        scope.spawn(move || call(fixture, &one.to_string()));
                    }
                });
                fixture.heal();
                fixture.set_server(SERVER, ServerHealth::Up);
                let case = format!("{name} while {health:?}, {says:?}, {restarts}, {at_once}");
                assert_eq!(fixture.mappings(), [ROOT], "{case}");
                fixture.write(&volume("pv").target(POD), "still there");
                fixture.stats(&volume("pv"), POD).unwrap();
            }
        }
    }
}

/// They were staged by csi-driver-smb, which maps folders, and another volume has the share since.
/// Guards: P78
#[test]
fn a_repeated_call_cuts_no_mapped_folder() {
    let in_folder = |lifetime, password| Volume {
        lifetime,
        password,
        ..of("a", A)
    };
    let wrong = in_folder(Lifetime::Inline, "wrong");
    let [right, a] = [Lifetime::Inline, Lifetime::Persistent].map(|one| in_folder(one, "new"));
    let [right, wrong] = [right, wrong].map(|inline| Volume {
        handle: "i",
        ..inline
    });
    let calls = [&wrong, &right, &a].into_iter();
    for (call, is_ill) in calls.flat_map(|one| [(one, true), (one, false)]) {
        let fixture = node();
        HostProcess.stage(&fixture, &of("a", A)).unwrap();
        fixture.change_password("new");
        fixture.stage_again(&a).unwrap();
        if call.lifetime == Lifetime::Inline {
            fixture.publish_inline(&right, POD).unwrap();
            fixture.unstage(&a).unwrap();
        }
        let root = Volume {
            password: "new",
            ..volume("root")
        };
        fixture.stage(&root).unwrap();
        assert_eq!(fixture.mappings(), [ROOT, A]);
        if is_ill {
            fixture.set_server(SERVER, Dropping);
        }
        let _ = match call.lifetime {
            Lifetime::Inline => fixture.publish_inline(call, POD),
            Lifetime::Persistent => fixture.stage_again(call),
        };
        fixture.set_server(SERVER, ServerHealth::Up);
        assert_eq!(fixture.mappings(), [ROOT, A], "{} {is_ill}", call.handle);
    }
}

/// With the name of its volume or pod.
type CallOfOthers = fn(&Fixture, &str) -> Result<(), CallError>;

/// What may come while a volume is live, by the right password and a wrong one.
fn calls_of_others() -> [(&'static str, CallOfOthers); 8] {
    fn wrong(handle: &str) -> Volume<'_> {
        Volume {
            password: "wrong",
            ..volume(handle)
        }
    }
    [
        ("a stage of another volume", |fixture, one| {
            fixture.stage(&volume(one))
        }),
        ("the same, by a wrong password", |fixture, one| {
            fixture.stage(&wrong(one))
        }),
        ("a repeated stage", |fixture, _| {
            fixture.stage_again(&volume("pv"))
        }),
        ("the same, by a wrong password", |fixture, _| {
            fixture.stage_again(&wrong("pv"))
        }),
        ("another publish", |fixture, one| {
            fixture.publish_with_secret(&volume("pv"), one)
        }),
        ("the same, by a wrong password", |fixture, one| {
            fixture.publish_with_secret(&wrong("pv"), one)
        }),
        ("an inline volume", |fixture, one| {
            fixture.publish_inline(&inline(volume(one)), OTHER_POD)
        }),
        ("the same, by a wrong password", |fixture, one| {
            fixture.publish_inline(&inline(wrong(one)), OTHER_POD)
        }),
    ]
}

/// A stage replaces a mapping whose password was changed. If its server goes away just then, the mapping is made as soon as
/// kubelet asks for the figures of a volume that it served, with all that a stage would have noted.
/// Guards: P78
#[test]
fn a_mapping_that_was_removed_in_vain_is_owed() {
    for by in ["other", "pv"] {
        let fixture = removed_in_vain(by, "new");
        // Its server is away.
        fixture.stats(&volume("pv"), POD).unwrap_err();
        assert_eq!(fixture.mappings(), [""; 0], "by {by}");
        fixture.heal();
        fixture.stats(&volume("pv"), POD).unwrap();
        fixture.write(&volume("pv").target(POD), "served again");
        let inline = inline(by_new("inline"));
        fixture.publish_inline(&inline, OTHER_POD).unwrap();
        fixture.unpublish(&inline, OTHER_POD).unwrap();
        fixture.delete_pod(&volume("pv"));
        assert_eq!(fixture.mappings(), [""; 0], "it is this driver's, by {by}");
    }
}

/// A password that the server refuses may lock the account, and what a stage made since is owed no more.
#[test]
fn a_mapping_is_owed_by_no_refused_password_and_once() {
    let refused = removed_in_vain("other", "wrong");
    refused.heal();
    refused.take_trace();
    for _ in 0..2 {
        refused.stats(&volume("pv"), POD).unwrap_err();
    }
    assert_eq!(creations(&refused), 1);

    let made = removed_in_vain("other", "new");
    made.heal();
    made.stage(&by_new("other")).unwrap();
    assert!(made.try_unmap_by_hand(ROOT));
    made.take_trace();
    made.stats(&volume("pv"), POD).unwrap_err();
    assert_eq!(creations(&made), 0);
}

/// What a server refuses to the mapping it refuses to the same credential: also where nothing but its hash is known.
/// Guards: P78
#[test]
fn the_old_password_takes_no_mapping_from_live_volumes() {
    let mut fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    fixture.restart();
    fixture.change_password("new");
    fixture.stage(&volume("other")).unwrap_err();
    fixture.change_password(PASSWORD);
    fixture.write(&volume("pv").target(POD), "still there");
}

/// A live volume whose password was changed, and whose mapping a stage removed while the server went away.
fn removed_in_vain(by: &str, password: &'static str) -> Fixture {
    let fixture = Fixture::new();
    fixture.stage(&volume("pv")).unwrap();
    fixture.publish(&volume("pv"), POD).unwrap();
    fixture.change_password("new");
    fixture.fail(CREATE, Win32::NETNAME_DELETED);
    let volume = Volume {
        password,
        ..volume(by)
    };
    fixture.stage_again(&volume).unwrap_err();
    assert_eq!(fixture.mappings(), [""; 0]);
    fixture
}

fn inline(volume: Volume<'_>) -> Volume<'_> {
    Volume {
        lifetime: Lifetime::Inline,
        ..volume
    }
}

fn by_new(handle: &str) -> Volume<'_> {
    Volume {
        password: "new",
        ..volume(handle)
    }
}

/// How often a mapping was made, or tried, since the last look at the trace.
fn creations(fixture: &Fixture) -> usize {
    let trace = fixture.take_trace().into_iter();
    trace.filter(|op| op.operation == CREATE).count()
}
