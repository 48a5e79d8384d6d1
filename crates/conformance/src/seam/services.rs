//! The contract of [`os::Services`].

use std::time::Duration;

use os::{Deadline, Facility, ServiceState, Services, Win32};

use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::{CaseResult, Failure, Fixture};

declare!("services", &[Facility::Clock, Facility::Services];
    a_service_is_found_without_regard_to_case,
    a_service_that_is_not_there_is_no_such_service,
    an_idle_service_starts_and_stops_on_request,
    an_idle_service_has_no_running_dependents,
    dependents_are_services_and_each_is_listed_once,
);

/// Every Windows has it.
const USUAL: &str = "RpcSs";

fn a_service_is_found_without_regard_to_case(fixture: &Fixture) -> CaseResult {
    let services = fixture.services();
    let found = services.query(USUAL)?;
    holds("it has a name for people", !found.display_name.is_empty())?;
    same(
        "upper case",
        &services.query(&USUAL.to_uppercase())?,
        &found,
    )
}

fn a_service_that_is_not_there_is_no_such_service(fixture: &Fixture) -> CaseResult {
    let services = fixture.services();
    let missing = Win32::NO_SUCH_SERVICE;
    // The longest name of a service, and a longer one.
    for name in ["wincsi-no-such-service", &"x".repeat(256), &"x".repeat(257)] {
        refused("query", services.query(name), missing)?;
        let dependents = services.running_dependents(name);
        refused("running_dependents", dependents, missing)?;
        refused("start", services.start(name, Deadline::NEVER), missing)?;
        refused("stop", services.stop(name, Deadline::NEVER), missing)?;
    }
    Ok(())
}

fn an_idle_service_starts_and_stops_on_request(fixture: &Fixture) -> CaseResult {
    let services = fixture.services();
    let name = idle(fixture)?;
    bring_to_rest(fixture, services, name)?;
    let stopped = services.stop(name, Deadline::NEVER);
    refused("stop", stopped, Win32::SERVICE_NOT_ACTIVE)?;
    services.start(name, Deadline::NEVER)?;
    wait_for(fixture, services, name, ServiceState::Running)?;
    let started = services.start(name, Deadline::NEVER);
    refused("start", started, Win32::SERVICE_ALREADY_RUNNING)?;
    services.stop(name, Deadline::NEVER)?;
    wait_for(fixture, services, name, ServiceState::Stopped)
}

fn an_idle_service_has_no_running_dependents(fixture: &Fixture) -> CaseResult {
    let dependents = fixture.services().running_dependents(idle(fixture)?)?;
    same("dependents", &dependents, &Vec::new())
}

/// On Windows most services depend on this one, also indirectly. One may be removed meanwhile, and some refuse every
/// query.
fn dependents_are_services_and_each_is_listed_once(fixture: &Fixture) -> CaseResult {
    let services = fixture.services();
    let mut names = services.running_dependents(USUAL)?;
    for name in &names {
        match services.query(name) {
            Err(error) if is_closed_or_gone(&error) => {}
            found => {
                let display_name = found?.display_name;
                holds("it has a name for people", !display_name.is_empty())?;
            }
        }
    }
    names.sort_unstable();
    holds(
        "each is listed once",
        names.is_sorted_by(|left, right| left < right),
    )?;
    holds(
        "it is none of its own",
        !names.iter().any(|name| name == USUAL),
    )
}

fn is_closed_or_gone(error: &os::Error) -> bool {
    let codes = [Win32::ACCESS_DENIED, Win32::NO_SUCH_SERVICE];
    error.win32().is_some_and(|code| codes.contains(&code))
}

fn idle(fixture: &Fixture) -> CaseResult<&'static str> {
    let service = fixture.control().idle_service();
    service.ok_or(Failure::Unequipped("service to start"))
}

/// An unneeded service may have been started all the same. A pending state is waited for.
fn bring_to_rest(fixture: &Fixture, services: &dyn Services, name: &str) -> CaseResult {
    let found = services.query(name)?.state;
    if found == ServiceState::StartPending {
        wait_for(fixture, services, name, ServiceState::Running)?;
    }
    match services.query(name)?.state {
        ServiceState::Stopped => return Ok(()),
        ServiceState::Running => services.stop(name, Deadline::NEVER)?,
        _ => {}
    }
    wait_for(fixture, services, name, ServiceState::Stopped)
}

/// The service control manager gives a service half a minute.
fn wait_for(
    fixture: &Fixture,
    services: &dyn Services,
    name: &str,
    wanted: ServiceState,
) -> CaseResult {
    let clock = fixture.clock();
    let limit = Deadline::within(clock, Duration::from_secs(30));
    loop {
        let state = services.query(name)?.state;
        if state == wanted || limit.left(clock).is_none() {
            return same("state", &state, &wanted);
        }
        clock.sleep(Duration::from_millis(20));
    }
}
