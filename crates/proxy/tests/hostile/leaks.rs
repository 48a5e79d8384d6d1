//! Calls that fail at any operation of the system: whatever the node had opened for them is let go.

use os::{Cause, Win32};
use os_sim::{Effect, Rule};

use crate::messages::Request;
use crate::pace;
use crate::rig::Rig;

/// At how many operations of a call there is a fault, at most: what follows more than that many links does
/// the same over and over.
const MOST: u32 = 24;

/// Calls that build upon each other, so that each has something to do: a call that fails at one operation
/// after another does its work in the end. The rest of the methods come after them, as they are.
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

#[test]
fn weakness_17_nothing_stays_open_wherever_a_call_fails() {
    let rig = Rig::new();
    let mut failed = 0;
    let cause = || Cause::Win32(Win32::IO_DEVICE);
    for effect in [Effect::Fail(cause()), Effect::FailAfter(cause())] {
        for (group, name) in LIFE {
            let method = group.method(name).expect("it is there");
            failed += at_each_operation(&rig, (group, method), &effect);
        }
        let told = rig.tally.take();
        let has_pins = told.iter().any(|(operation, _)| operation.subject == "pin");
        assert!(has_pins, "no call had anything open");
        for (turn, (group, method)) in methods().enumerate() {
            if pace::has_turn(turn) {
                failed += at_each_operation(&rig, (group, method), &effect);
            }
        }
    }
    assert!(failed > 100, "{failed} operations failed");
}

fn methods() -> impl Iterator<Item = (&'static wire::Group, &'static wire::Method)> {
    let groups = wire::GROUPS.iter();
    groups.flat_map(|group| group.methods.iter().map(move |method| (group, method)))
}

/// Sends the request again and again until it meets no fault; at how many operations it met one.
/// [`Rig::send`] looks at what is open.
fn at_each_operation(
    rig: &Rig,
    (group, method): (&wire::Group, &wire::Method),
    effect: &Effect,
) -> usize {
    let message = Request::of(group, method).encode(&|leaf, field| rig.ordinary(leaf, field));
    let meets = |nth: &u32| {
        drop(rig.sim.take_trace());
        let rule = Rule::on("*", effect.clone()).from_nth(*nth).times(1);
        let rule = rig.sim.faults().add(rule);
        // A call may do without what failed.
        let _ = rig.send(group, method, &message);
        rig.sim.faults().remove(rule);
        rig.sim.take_trace().len() >= usize::try_from(*nth).expect("few")
    };
    (1..=MOST).take_while(meets).count()
}
