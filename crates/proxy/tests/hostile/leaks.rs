//! Calls that fail at any operation of the system: every handle opened for them is closed.

use os::{Cause, Win32};
use os_sim::{Effect, Rule};

use crate::fixture::ServerFixture;
use crate::messages::Request;
use crate::pace;

/// The most operations of a call with a fault: following more links repeats the same operations.
const MOST: u32 = 24;

/// Calls that build upon each other, so each has something to do: after failing at one operation after another, a call
/// does its work in the end. The other methods follow.
const LIFE: [(&wire::Group, &str); 13] = [
    (&wire::filesystem::v2alpha1::GROUP, "Mkdir"),
    (&wire::filesystem::v2alpha1::GROUP, "RmdirContents"),
    (&wire::volume::v2alpha1::GROUP, "MountVolume"),
    (&wire::volume::v2alpha1::GROUP, "GetVolumeIDFromTargetPath"),
    (&wire::volume::v2alpha1::GROUP, "ResizeVolume"),
    (&wire::volume::v2alpha1::GROUP, "UnmountVolume"),
    (&wire::filesystem::v2alpha1::GROUP, "IsSymlink"),
    (&wire::filesystem::v2alpha1::GROUP, "Rmdir"),
    (&wire::smb::v1::GROUP, "NewSmbGlobalMapping"),
    (&wire::smb::v1::GROUP, "RemoveSmbGlobalMapping"),
    (&wire::iscsi::v1alpha2::GROUP, "DiscoverTargetPortal"),
    (&wire::iscsi::v1alpha2::GROUP, "ConnectTarget"),
    (&wire::iscsi::v1alpha2::GROUP, "DisconnectTarget"),
];

/// Guards: P40
#[test]
fn weakness_17_nothing_stays_open_wherever_a_call_fails() {
    let fixture = ServerFixture::new();
    let mut failed = 0;
    let cause = || Cause::Win32(Win32::IO_DEVICE);
    for effect in [Effect::Fail(cause()), Effect::FailAfter(cause())] {
        for (group, name) in LIFE {
            let method = group.method(name).expect("it is there");
            failed += at_each_operation(&fixture, (group, method), &effect);
        }
        let taken = fixture.tally.take();
        let has_pins = taken
            .iter()
            .any(|(operation, _)| operation.subject == "pin");
        assert!(has_pins, "no call had anything open");
        for (turn, (group, method)) in methods().enumerate() {
            if pace::has_turn(turn) {
                failed += at_each_operation(&fixture, (group, method), &effect);
            }
        }
    }
    assert!(failed > 100, "{failed} operations failed");
}

fn methods() -> impl Iterator<Item = (&'static wire::Group, &'static wire::Method)> {
    let groups = wire::GROUPS.iter();
    groups.flat_map(|group| group.methods.iter().map(move |method| (group, method)))
}

/// Sends the request again and again until it meets no fault; returns the number of faults.
/// [`ServerFixture::send`] checks the open handles.
fn at_each_operation(
    fixture: &ServerFixture,
    (group, method): (&wire::Group, &wire::Method),
    effect: &Effect,
) -> usize {
    let message = Request::of(group, method).encode(&|leaf, field| fixture.ordinary(leaf, field));
    let meets = |nth: &u32| {
        drop(fixture.sim.take_trace());
        let rule = Rule::on("*", effect.clone()).from_nth(*nth).times(1);
        let rule = fixture.sim.faults().add(rule);
        // A call may not need the failed operation.
        let _ = fixture.send(group, method, &message);
        fixture.sim.faults().remove(rule);
        fixture.sim.take_trace().len() >= usize::try_from(*nth).expect("few")
    };
    (1..=MOST).take_while(meets).count()
}
