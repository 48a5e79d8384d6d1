//! Every mutating operation on services, cut off at every operation of the system that it makes, and called
//! again; how is in `support::crash`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use os_sim::Start;
use wincsi_node::{Dependents, ServiceName};

use crate::support::NodeFixture;
use crate::support::crash::{Scenario, check, with_text_error};

#[test]
fn start_a_service_and_what_it_needs() {
    check(&Scenario {
        name: "start service",
        prepare: || NodeFixture::with_diamond(Start::Manual),
        act: |fixture| with_text_error(fixture.services().start(&service("top"), fixture.soon())),
        done_already: &[],
    });
}

#[test]
fn stop_a_service() {
    check(&Scenario {
        name: "stop service",
        prepare: || NodeFixture::with_diamond(Start::Automatic),
        act: |fixture| stop(fixture, "top", Dependents::Refuse),
        done_already: &[],
    });
}

#[test]
fn stop_a_service_and_what_depends_on_it() {
    check(&Scenario {
        name: "stop service with dependents",
        prepare: || NodeFixture::with_diamond(Start::Automatic),
        act: |fixture| stop(fixture, "base", Dependents::Stop),
        done_already: &[],
    });
}

fn stop(fixture: &NodeFixture, name: &str, dependents: Dependents) -> Result<(), String> {
    let services = fixture.services();
    with_text_error(services.stop(&service(name), dependents, fixture.soon()))
}

fn service(name: &str) -> ServiceName {
    ServiceName::parse(name).unwrap()
}
