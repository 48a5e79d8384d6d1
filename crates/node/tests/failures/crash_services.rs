//! Every mutating operation on services, cut off at every operation of the system that it makes, and called
//! again; how is in `support::crash`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::Start;
use wincsi_node::{Dependents, ServiceName};

use crate::support::Rig;
use crate::support::crash::{Scenario, check, told};

#[test]
fn start_a_service_and_what_it_needs() {
    check(&Scenario {
        name: "start service",
        prepare: || Rig::with_diamond(Start::Manual),
        act: |rig| told(rig.services().start(&service("top"), rig.soon())),
        done_already: &[],
    });
}

#[test]
fn stop_a_service() {
    check(&Scenario {
        name: "stop service",
        prepare: || Rig::with_diamond(Start::Automatic),
        act: |rig| stop(rig, "top", Dependents::Refuse),
        done_already: &[],
    });
}

#[test]
fn stop_a_service_and_what_depends_on_it() {
    check(&Scenario {
        name: "stop service with dependents",
        prepare: || Rig::with_diamond(Start::Automatic),
        act: |rig| stop(rig, "base", Dependents::Stop),
        done_already: &[],
    });
}

fn stop(rig: &Rig, name: &str, dependents: Dependents) -> Result<(), String> {
    let services = rig.services();
    told(services.stop(&service(name), dependents, rig.soon()))
}

fn service(name: &str) -> ServiceName {
    ServiceName::parse(name).unwrap()
}
