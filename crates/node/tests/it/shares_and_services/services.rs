//! Windows services on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use os::{Cause, Deadline, Error, Facility, ServiceInfo, ServiceState, StartType, Win32};
use os_sim::{Effect, NodeSpec, Op, Rule, ServiceSpec, Start};
use wincsi_node::{Dependents, Node, Options, ServiceError, ServiceName};

use crate::support::NodeFixture;

fn name(text: &str) -> ServiceName {
    ServiceName::parse(text).unwrap()
}

fn start(fixture: &NodeFixture, service: &str) -> Result<(), ServiceError> {
    fixture.services().start(&name(service), fixture.soon())
}

fn stop(fixture: &NodeFixture, service: &str, dependents: Dependents) -> Result<(), ServiceError> {
    let services = fixture.services();
    services.stop(&name(service), dependents, fixture.soon())
}

fn orders(trace: &[Op], order: &str) -> Vec<String> {
    let are_it = trace.iter().filter(|op| op.operation == order);
    are_it.map(|op| op.object.clone()).collect()
}

/// A node with these services and a disk, where each takes so long.
fn node(delay: Duration, services: &[(&str, Start, &[&str])]) -> NodeFixture {
    let mut spec = NodeSpec::named("node-1");
    spec.service_delay_ms = u64::try_from(delay.as_millis()).unwrap();
    let service = |&(name, start, depends_on): &(&str, Start, &[&str])| ServiceSpec {
        name: name.to_owned(),
        start,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        dies_at_start: name == "frail",
        ..ServiceSpec::default()
    };
    spec.service.extend(services.iter().map(service));
    NodeFixture::of(&spec, Options::default())
}

#[test]
fn a_service_is_reported_as_windows_has_it() {
    let fixture = NodeFixture::with_diamond(Start::Automatic);
    let services = fixture.services();
    let found = services.service(&name("msiscsi"), fixture.soon()).unwrap();
    assert_eq!(
        found,
        ServiceInfo::new(
            "Microsoft iSCSI Initiator Service",
            StartType::Automatic,
            ServiceState::Running
        )
    );
}

#[test]
fn a_missing_service_has_csi_proxys_text_and_a_silent_manager_has_not() {
    let fixture = NodeFixture::with_diamond(Start::Manual);
    let services = fixture.services();
    let missing = services.service(&name("none"), fixture.soon()).unwrap_err();
    let text = "failed to get service none. error: failed to query service none: not found";
    assert_eq!(missing.to_string(), text);
    assert_eq!(start(&fixture, "none").unwrap_err().to_string(), text);
    let stopped = stop(&fixture, "none", Dependents::Stop).unwrap_err();
    assert_eq!(stopped.to_string(), text);
    fixture.fail("QueryServiceStatusEx", Win32::ACCESS_DENIED);
    let denied = services.service(&name("none"), fixture.soon()).unwrap_err();
    assert!(!denied.to_string().ends_with(": not found"), "{denied}");
}

/// Guards: P44
#[test]
fn weakness_28_a_running_service_is_not_started_and_not_waited_for() {
    let fixture = NodeFixture::with_diamond(Start::Automatic);
    let trace = fixture.trace(|| start(&fixture, "top").unwrap());
    let made: Vec<_> = trace.iter().map(|op| op.operation).collect();
    assert_eq!(made, ["QueryServiceStatusEx"]);
}

/// Guards: P44
#[test]
fn weakness_29_services_are_asked_of_their_manager_and_no_provider() {
    let fixture = NodeFixture::with_diamond(Start::Manual);
    let trace = fixture.trace(|| {
        start(&fixture, "top").unwrap();
        stop(&fixture, "base", Dependents::Stop).unwrap();
    });
    let is_known = |op: &Op| matches!(op.facility, Facility::Services | Facility::Clock);
    assert!(trace.iter().all(is_known), "{trace:?}");
}

#[test]
fn a_service_that_another_process_starts_is_waited_for() {
    let fixture = node(Duration::from_secs(5), &[("slow", Start::Manual, &[])]);
    fixture
        .os()
        .services
        .start("slow", Deadline::NEVER)
        .unwrap();
    let trace = fixture.trace(|| start(&fixture, "slow").unwrap());
    assert_eq!(orders(&trace, "StartServiceW"), Vec::<String>::new());
    assert_eq!(fixture.state_of("slow"), ServiceState::Running);
}

#[test]
fn a_service_on_its_way_down_is_started_once_it_is_there() {
    let fixture = node(Duration::from_secs(5), &[("slow", Start::Automatic, &[])]);
    fixture.os().services.stop("slow", Deadline::NEVER).unwrap();
    start(&fixture, "slow").unwrap();
    assert_eq!(fixture.state_of("slow"), ServiceState::Running);
}

#[test]
fn a_service_that_is_too_slow_times_out_with_csi_proxys_texts() {
    let fixture = node(Duration::from_secs(31), &[("slow", Start::Manual, &[])]);
    let began = fixture.os().clock.now();
    let text = start(&fixture, "slow").unwrap_err().to_string();
    assert_eq!(text, "timed out waiting for service slow to become running");
    let waited = began.until(fixture.os().clock.now());
    assert_eq!(waited.as_secs(), 30);
    start(&fixture, "slow").unwrap();
    let text = stop(&fixture, "slow", Dependents::Refuse)
        .unwrap_err()
        .to_string();
    assert_eq!(text, "timed out waiting for service slow to stop");
    stop(&fixture, "slow", Dependents::Refuse).unwrap();
}

#[test]
fn nobody_waits_beyond_the_callers_deadline() {
    let fixture = node(Duration::from_secs(20), &[("slow", Start::Manual, &[])]);
    let began = fixture.os().clock.now();
    let deadline = Deadline::within(&*fixture.os().clock, Duration::from_secs(2));
    let started = fixture.services().start(&name("slow"), deadline);
    assert!(
        matches!(started, Err(ServiceError::StartTimedOut { .. })),
        "{started:?}"
    );
    assert_eq!(
        began.until(fixture.os().clock.now()),
        Duration::from_secs(2)
    );
    let late = fixture
        .services()
        .stop(&name("slow"), Dependents::Refuse, deadline);
    assert!(matches!(late, Err(ServiceError::Unfinished(_))), "{late:?}");
}

#[test]
fn a_service_that_dies_while_it_starts_is_an_error_at_once() {
    let fixture = node(Duration::from_secs(1), &[("frail", Start::Manual, &[])]);
    let error = start(&fixture, "frail").unwrap_err();
    let service = "frail".to_owned();
    assert_eq!(error, ServiceError::DidNotStart { service });
}

#[test]
fn a_refusal_to_start_says_why() {
    let fixture = node(
        Duration::ZERO,
        &[
            ("off", Start::Disabled, &[]),
            ("needy", Start::Manual, &["off"]),
        ],
    );
    let off = start(&fixture, "off").unwrap_err().to_string();
    assert!(off.starts_with("failed to start service off: "), "{off}");
    assert!(start(&fixture, "needy").is_err());
}

#[test]
fn a_stopped_service_is_not_stopped_again() {
    let fixture = NodeFixture::with_diamond(Start::Manual);
    let trace = fixture.trace(|| stop(&fixture, "base", Dependents::Stop).unwrap());
    assert_eq!(orders(&trace, "ControlService"), Vec::<String>::new());
}

#[test]
fn dependents_are_named_and_left_alone_unless_they_may_be_stopped() {
    let fixture = NodeFixture::with_diamond(Start::Automatic);
    let error = stop(&fixture, "base", Dependents::Refuse).unwrap_err();
    let ServiceError::Dependents { service, running } = &error else {
        panic!("{error}");
    };
    assert_eq!(service, "base");
    assert_eq!(running, &["top", "left", "right"]);
    for name in ["base", "left", "right", "top"] {
        assert_eq!(fixture.state_of(name), ServiceState::Running);
    }
}

/// Guards: P44
#[test]
fn weakness_28_a_diamond_is_stopped_in_order_and_each_once() {
    let fixture = NodeFixture::with_diamond(Start::Automatic);
    let trace = fixture.trace(|| stop(&fixture, "base", Dependents::Stop).unwrap());
    let mut stopped = orders(&trace, "ControlService");
    // The base refuses first, alone and under the locks of all.
    stopped.retain(|name| name != "base");
    assert_eq!(stopped, ["top", "left", "right"]);
    for name in ["base", "left", "right", "top"] {
        assert_eq!(fixture.state_of(name), ServiceState::Stopped);
    }
}

/// Guards: P44
#[test]
fn weakness_28_a_cycle_ends() {
    let fixture = node(
        Duration::ZERO,
        &[
            ("hen", Start::Automatic, &["egg"]),
            ("egg", Start::Automatic, &["hen"]),
        ],
    );
    let trace = fixture.trace(|| {
        let error = stop(&fixture, "hen", Dependents::Stop).unwrap_err();
        assert!(matches!(error, ServiceError::Dependents { .. }), "{error}");
    });
    assert!(trace.len() < 20, "{} operations", trace.len());
}

/// Guards: P44
#[test]
fn weakness_28_a_service_that_rejects_stop_is_not_reported_stopped() {
    let fixture = NodeFixture::with_diamond(Start::Automatic);
    let busy = Effect::fail(Win32::SERVICE_CANNOT_ACCEPT_CTRL);
    let rule = fixture.fault(Rule::on("ControlService", busy.clone()));
    let error = stop(&fixture, "top", Dependents::Refuse)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "failed to stop service top: The service cannot accept control messages at this time."
    );
    assert_eq!(fixture.state_of("top"), ServiceState::Running);
    fixture.faults().remove(rule);
    fixture.fault(Rule::on("ControlService", busy).times(3));
    let trace = fixture.trace(|| stop(&fixture, "top", Dependents::Refuse).unwrap());
    assert_eq!(
        orders(&trace, "ControlService").len(),
        4,
        "asked until it listens"
    );
}

#[test]
fn a_start_and_a_stop_of_one_service_do_not_mix() {
    let fixture = NodeFixture::with_diamond(Start::Manual);
    let hang = Rule::on("StartServiceW", Effect::Hang).times(1);
    let hanging = fixture.fault(hang);
    let (node, soon) = (fixture.node.clone(), fixture.soon());
    let starting = thread::spawn(move || node.operations().services().start(&name("TOP"), soon));
    fixture.wait_for_hang(1);
    let (node, soon) = (fixture.node.clone(), fixture.soon());
    let stopping = thread::spawn(move || {
        node.operations()
            .services()
            .stop(&name("top"), Dependents::Refuse, soon)
    });
    assert_eq!(
        start(&fixture, "vds"),
        Ok(()),
        "another service waits for nobody"
    );
    fixture.faults().remove(hanging);
    assert_eq!(starting.join().unwrap(), Ok(()));
    assert_eq!(stopping.join().unwrap(), Ok(()));
    assert_eq!(fixture.state_of("top"), ServiceState::Stopped);
}

#[test]
fn a_paused_service_does_not_start_and_is_stopped() {
    let fixture = NodeFixture::with_diamond(Start::Manual);
    let (node, paused) = scripted(&fixture, ServiceState::Paused, Vec::new());
    let soon = fixture.soon();
    let started = node.operations().services().start(&name("s"), soon);
    assert!(
        matches!(started, Err(ServiceError::Paused { .. })),
        "{started:?}"
    );
    let stopped = node
        .operations()
        .services()
        .stop(&name("s"), Dependents::Refuse, soon);
    assert_eq!(stopped, Ok(()));
    assert_eq!(*paused.stopped.lock().unwrap(), ["s"]);
}

#[test]
fn dependents_that_change_all_the_time_are_an_error() {
    let fixture = NodeFixture::with_diamond(Start::Manual);
    let (node, scripted) = scripted(&fixture, ServiceState::Running, vec!["s"]);
    let stopped = node
        .operations()
        .services()
        .stop(&name("s"), Dependents::Stop, fixture.soon());
    assert!(
        matches!(stopped, Err(ServiceError::Unsteady { .. })),
        "{stopped:?}"
    );
    assert!(scripted.stopped.lock().unwrap().is_empty());
}

/// Operations over a service control manager that has one service in this state, and finds a new
/// dependent of these whenever it is asked.
fn scripted(
    fixture: &NodeFixture,
    state: ServiceState,
    needed: Vec<&'static str>,
) -> (Node, Arc<Scripted>) {
    let scripted = Arc::new(Scripted {
        state: Mutex::new(state),
        needed,
        asked: Mutex::default(),
        stopped: Mutex::default(),
    });
    let mut os = fixture.os().clone();
    os.services = Arc::clone(&scripted) as Arc<dyn os::Services>;
    (Node::new(os, Options::default()), scripted)
}

struct Scripted {
    state: Mutex<ServiceState>,
    needed: Vec<&'static str>,
    asked: Mutex<u32>,
    stopped: Mutex<Vec<String>>,
}

impl os::Services for Scripted {
    fn query(&self, _: &str) -> os::Result<ServiceInfo> {
        let state = *self.state.lock().unwrap();
        Ok(ServiceInfo::new("", StartType::Manual, state))
    }

    fn running_dependents(&self, name: &str) -> os::Result<Vec<String>> {
        if !self.needed.contains(&name) {
            return Ok(Vec::new());
        }
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        Ok(vec![format!("dependent-{asked}")])
    }

    fn start(&self, name: &str, _: Deadline) -> os::Result<()> {
        Err(Error::new(
            "StartServiceW",
            name,
            Win32::SERVICE_ALREADY_RUNNING,
        ))
    }

    fn stop(&self, name: &str, _: Deadline) -> os::Result<()> {
        if self.needed.contains(&name) {
            let cause = Cause::Win32(Win32::DEPENDENT_SERVICES_RUNNING);
            return Err(Error::new("ControlService", name, cause));
        }
        *self.state.lock().unwrap() = ServiceState::Stopped;
        self.stopped.lock().unwrap().push(name.to_owned());
        Ok(())
    }
}
