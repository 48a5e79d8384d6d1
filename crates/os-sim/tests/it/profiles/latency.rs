//! How long operations take on a node that was asked to take as long as real ones.

use std::time::Duration;

use formats::fixtures::field;
use os::{Arguments, Deadline, ObjectPath, Os, Query, Target};
use wincsi_os_sim::{Latency, NodeSpec};

use crate::profiles::machine::Machine;

type SeamCall = (&'static str, fn(&Os));

/// The measured call, and the operation that does its work. Whether it succeeds does not matter.
const CALLS: [SeamCall; 5] = [
    ("FormatVolume", |os| {
        invoke(&*os.storage, "MSFT_Volume", "Format")
    }),
    ("IsVolumeFormatted", |os| {
        let _ = os
            .storage
            .query(&Query::all("MSFT_Volume", &[]), Deadline::NEVER);
    }),
    ("GetVolumeIDFromTargetPath", |os| {
        let _ = os.volumes.mounted_at(&r"C:\".parse().unwrap());
    }),
    ("NewSmbGlobalMapping", |os| {
        invoke(&*os.smb, "MSFT_SmbGlobalMapping", "Create")
    }),
    ("RemoveSmbGlobalMapping", |os| {
        invoke(&*os.smb, "MSFT_SmbGlobalMapping", "Remove")
    }),
];

#[test]
fn an_operation_takes_the_time_that_was_recorded_and_none_unless_it_is_asked_for() {
    let own = Machine::of(NodeSpec::named("node-1"));
    let recorded = Machine::of(NodeSpec {
        latency: Latency::Recorded,
        ..NodeSpec::named("node-1")
    });
    let times = field::objects("Call");
    assert_eq!(times.len(), CALLS.len());
    for (call, act) in CALLS {
        let (_, object) = times
            .iter()
            .find(|(_, object)| object.name == call)
            .unwrap();
        let time = Duration::from_micros(object.number("Microseconds").unwrap());
        assert_eq!(took(&recorded, act), time, "{call}");
        assert_eq!(took(&own, act), Duration::ZERO, "{call}");
    }
}

fn took(machine: &Machine, act: fn(&Os)) -> Duration {
    let before = machine.os.clock.now();
    act(&machine.os);
    machine.os.clock.now().0 - before.0
}

fn invoke(provider: &dyn os::Provider, class: &str, method: &'static str) {
    let nobody = ObjectPath(format!("{class}.ObjectId=\"nobody\""));
    let _ = provider.invoke(
        Target::Instance(&nobody),
        method,
        &Arguments::none(),
        Deadline::NEVER,
    );
}
