use std::sync::Arc;
use std::time::Duration;

use os::{Cause, Deadline, Facility, Moment, ServiceInfo, ServiceState, Win32};
use serde::{Deserialize, Serialize};

use crate::gate::Op;
use crate::machine::{Machine, millis, moment};
use crate::shared_node::SharedNode;
use crate::spec::{ServiceSpec, Start};

/// `ERROR_CIRCULAR_DEPENDENCY`.
const CIRCULAR_DEPENDENCY: Win32 = Win32(1059);
/// `ERROR_SERVICE_DEPENDENCY_FAIL`.
const DEPENDENCY_FAILED: Win32 = Win32(1068);
/// `ERROR_SERVICE_DEPENDENCY_DELETED`: it depends on a service that there is not.
const DEPENDENCY_DELETED: Win32 = Win32(1075);

/// The service control manager.
pub(crate) struct Services(pub(crate) Arc<SharedNode>);

/// The last request to a service, and the time when it will be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Asked {
    wanted: Wanted,
    due: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wanted {
    Running,
    Stopped,
}

impl Services {
    fn run<T>(
        &self,
        operation: &'static str,
        name: &str,
        deadline: Deadline,
        act: impl FnOnce(&mut Machine, ServiceSpec) -> Result<T, Cause>,
    ) -> os::Result<T> {
        let op = Op::new(Facility::Services, operation, name);
        self.0.gate.pass_within(&op, deadline, || {
            self.0.with(|machine| {
                let service = machine.service(name).cloned();
                act(machine, service.ok_or(Win32::NO_SUCH_SERVICE)?)
            })
        })
    }
}

impl os::Services for Services {
    fn query(&self, name: &str) -> os::Result<ServiceInfo> {
        let operation = "QueryServiceStatusEx";
        self.run(operation, name, Deadline::NEVER, |machine, service| {
            let state = machine.service_state(&service);
            let start = service.start.start_type();
            let mut info = ServiceInfo::new(service.display_name, start, state);
            info.command = service.command;
            Ok(info)
        })
    }

    fn running_dependents(&self, name: &str) -> os::Result<Vec<String>> {
        let operation = "EnumDependentServicesW";
        self.run(operation, name, Deadline::NEVER, |machine, service| {
            Ok(machine.running_dependents(&service.name))
        })
    }

    fn start(&self, name: &str, deadline: Deadline) -> os::Result<()> {
        self.run("StartServiceW", name, deadline, |machine, service| {
            if service.start == Start::Disabled {
                return Err(Win32::SERVICE_DISABLED.into());
            }
            if machine.service_state(&service) != ServiceState::Stopped {
                return Err(Win32::SERVICE_ALREADY_RUNNING.into());
            }
            let mut order = Vec::new();
            machine.plan_start(&service, &mut Vec::new(), &mut order)?;
            machine.start_in_turn(&order);
            Ok(())
        })
    }

    fn stop(&self, name: &str, deadline: Deadline) -> os::Result<()> {
        self.run("ControlService", name, deadline, |machine, service| {
            match machine.service_state(&service) {
                ServiceState::Running => {}
                ServiceState::Stopped => return Err(Win32::SERVICE_NOT_ACTIVE.into()),
                _ => return Err(Win32::SERVICE_CANNOT_ACCEPT_CTRL.into()),
            }
            if !machine.running_dependents(&service.name).is_empty() {
                return Err(Win32::DEPENDENT_SERVICES_RUNNING.into());
            }
            machine.ask(&service.name, Wanted::Stopped, machine.now);
            Ok(())
        })
    }
}

impl Machine {
    /// Whether the service is forbidden to run.
    pub(crate) fn is_disabled(&self, name: &str) -> bool {
        self.service(name)
            .is_none_or(|service| service.start == Start::Disabled)
    }

    /// Whether the service runs now.
    pub(crate) fn is_service_running(&self, name: &str) -> bool {
        let service = self.service(name);
        service.is_some_and(|service| self.service_state(service) == ServiceState::Running)
    }

    /// Starts services as they start with the node.
    pub(crate) fn start_services(&mut self) {
        let now = millis(self.now);
        let services = self.spec.service.iter();
        let asked = services.map(|service| {
            let wanted = match service.start.is_at_boot() {
                true => Wanted::Running,
                false => Wanted::Stopped,
            };
            (service.name.clone(), Asked { wanted, due: now })
        });
        self.state.services = asked.collect();
    }

    fn service(&self, name: &str) -> Option<&ServiceSpec> {
        let mut services = self.spec.service.iter();
        services.find(|service| service.name.eq_ignore_ascii_case(name))
    }

    fn service_state(&self, service: &ServiceSpec) -> ServiceState {
        let Some(asked) = self.state.services.get(&service.name) else {
            return ServiceState::Stopped;
        };
        match (asked.wanted, moment(asked.due) <= self.now) {
            (Wanted::Running, true) if service.dies_at_start => ServiceState::Stopped,
            (Wanted::Running, true) => ServiceState::Running,
            (Wanted::Running, false) => ServiceState::StartPending,
            (Wanted::Stopped, true) => ServiceState::Stopped,
            (Wanted::Stopped, false) => ServiceState::StopPending,
        }
    }

    /// The running services that depend on it, directly or not, in the order for stopping them:
    /// each before its dependencies.
    fn running_dependents(&self, name: &str) -> Vec<String> {
        let mut order = Vec::new();
        self.collect_dependents(name, &mut vec![name.to_owned()], &mut order);
        order
    }

    fn collect_dependents(&self, name: &str, seen: &mut Vec<String>, order: &mut Vec<String>) {
        for service in &self.spec.service {
            let mut depends = service.depends_on.iter();
            let is_dependent = depends.any(|other| other.eq_ignore_ascii_case(name));
            let is_running = self.service_state(service) != ServiceState::Stopped;
            if is_dependent && is_running && !seen.contains(&service.name) {
                seen.push(service.name.clone());
                self.collect_dependents(&service.name, seen, order);
                order.push(service.name.clone());
            }
        }
    }

    /// The services to start for this one, each after what it depends on.
    fn plan_start(
        &self,
        service: &ServiceSpec,
        above: &mut Vec<String>,
        order: &mut Vec<String>,
    ) -> Result<(), Win32> {
        if above.contains(&service.name) {
            return Err(CIRCULAR_DEPENDENCY);
        }
        above.push(service.name.clone());
        for name in &service.depends_on {
            let needed = self.service(name).ok_or(DEPENDENCY_DELETED)?;
            if self.service_state(needed) != ServiceState::Stopped {
                continue;
            }
            if needed.start == Start::Disabled {
                return Err(DEPENDENCY_FAILED);
            }
            self.plan_start(needed, above, order)?;
        }
        above.pop();
        if !order.contains(&service.name) {
            order.push(service.name.clone());
        }
        Ok(())
    }

    /// Each begins to start when the one before runs.
    fn start_in_turn(&mut self, order: &[String]) {
        let mut from = self.now;
        for name in order {
            from = self.ask(name, Wanted::Running, from);
        }
    }

    /// The moment at which it will be so.
    fn ask(&mut self, name: &str, wanted: Wanted, from: Moment) -> Moment {
        let done = from.after(Duration::from_millis(self.spec.service_delay_ms));
        let due = millis(done);
        let asked = Asked { wanted, due };
        self.state.services.insert(name.to_owned(), asked);
        done
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use os::{Deadline, Os, ServiceState, Win32};
    use tempfile::TempDir;

    use super::{CIRCULAR_DEPENDENCY, DEPENDENCY_DELETED, DEPENDENCY_FAILED};
    use crate::{ClockMode, NodeSpec, ServiceSpec, SimNode, Start};

    const DELAY: Duration = Duration::from_millis(100);

    /// A node with only these services, each with its dependencies.
    fn node(services: &[(&str, Start, &[&str])]) -> (TempDir, Os) {
        let service = |&(name, start, depends_on): &(&str, Start, &[&str])| ServiceSpec {
            command: None,
            name: name.to_owned(),
            display_name: name.to_owned(),
            start,
            depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
            dies_at_start: name == "frail",
        };
        let spec = NodeSpec {
            service: services.iter().map(service).collect(),
            service_delay_ms: 100,
            ..NodeSpec::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let node = SimNode::create(folder.path(), &spec, ClockMode::Virtual).unwrap();
        (folder, node.os())
    }

    fn state(os: &Os, name: &str) -> ServiceState {
        os.services.query(name).unwrap().state
    }

    fn start(os: &Os, name: &str) -> Option<Win32> {
        let started = os.services.start(name, Deadline::NEVER);
        started.err().and_then(|error| error.win32())
    }

    fn stop(os: &Os, name: &str) -> Option<Win32> {
        let stopped = os.services.stop(name, Deadline::NEVER);
        stopped.err().and_then(|error| error.win32())
    }

    #[test]
    fn a_service_takes_its_time_and_no_orders_meanwhile() {
        let (_folder, os) = node(&[("a", Start::Manual, &[])]);
        assert_eq!(stop(&os, "a"), Some(Win32::SERVICE_NOT_ACTIVE));
        assert_eq!(start(&os, "A"), None);
        assert_eq!(state(&os, "a"), ServiceState::StartPending);
        assert_eq!(start(&os, "a"), Some(Win32::SERVICE_ALREADY_RUNNING));
        assert_eq!(stop(&os, "a"), Some(Win32::SERVICE_CANNOT_ACCEPT_CTRL));
        os.clock.sleep(DELAY);
        assert_eq!(state(&os, "a"), ServiceState::Running);
        assert_eq!(stop(&os, "a"), None);
        assert_eq!(state(&os, "a"), ServiceState::StopPending);
        assert_eq!(stop(&os, "a"), Some(Win32::SERVICE_CANNOT_ACCEPT_CTRL));
        os.clock.sleep(DELAY);
        assert_eq!(state(&os, "a"), ServiceState::Stopped);
    }

    #[test]
    fn a_service_that_dies_at_start_is_pending_first() {
        let (_folder, os) = node(&[("frail", Start::Manual, &[])]);
        assert_eq!(start(&os, "frail"), None);
        assert_eq!(state(&os, "frail"), ServiceState::StartPending);
        os.clock.sleep(DELAY);
        assert_eq!(state(&os, "frail"), ServiceState::Stopped);
    }

    #[test]
    fn a_disabled_service_and_one_that_needs_it_do_not_start() {
        let (_folder, os) = node(&[
            ("off", Start::Disabled, &[]),
            ("a", Start::Manual, &["off"]),
            ("b", Start::Manual, &["none"]),
        ]);
        assert_eq!(start(&os, "off"), Some(Win32::SERVICE_DISABLED));
        assert_eq!(start(&os, "a"), Some(DEPENDENCY_FAILED));
        assert_eq!(start(&os, "b"), Some(DEPENDENCY_DELETED));
        assert_eq!(start(&os, "none"), Some(Win32::NO_SUCH_SERVICE));
        assert_eq!(state(&os, "a"), ServiceState::Stopped);
    }

    #[test]
    fn a_service_starts_after_what_it_depends_on() {
        let (_folder, os) = node(&[
            ("top", Start::Manual, &["middle", "base"]),
            ("middle", Start::Manual, &["base"]),
            ("base", Start::Manual, &[]),
        ]);
        assert_eq!(start(&os, "top"), None);
        let states = || ["base", "middle", "top"].map(|name| state(&os, name));
        let (running, pending) = (ServiceState::Running, ServiceState::StartPending);
        assert_eq!(states(), [pending, pending, pending]);
        os.clock.sleep(DELAY);
        assert_eq!(states(), [running, pending, pending]);
        os.clock.sleep(DELAY);
        assert_eq!(states(), [running, running, pending]);
        os.clock.sleep(DELAY);
        assert_eq!(states(), [running, running, running]);
    }

    #[test]
    fn a_service_is_stopped_after_what_depends_on_it() {
        let (_folder, os) = node(&[
            ("top", Start::Automatic, &["middle", "base"]),
            ("middle", Start::Automatic, &["base"]),
            ("base", Start::Automatic, &[]),
            ("idle", Start::Manual, &["base"]),
        ]);
        assert_eq!(stop(&os, "base"), Some(Win32::DEPENDENT_SERVICES_RUNNING));
        let dependents = os.services.running_dependents("base").unwrap();
        assert_eq!(dependents, ["top", "middle"]);
        for name in dependents {
            assert_eq!(stop(&os, &name), None);
            os.clock.sleep(DELAY);
        }
        assert_eq!(stop(&os, "base"), None);
    }

    #[test]
    fn services_that_need_each_other_do_not_start() {
        let (_folder, os) = node(&[("a", Start::Manual, &["b"]), ("b", Start::Manual, &["a"])]);
        assert_eq!(start(&os, "a"), Some(CIRCULAR_DEPENDENCY));
        assert_eq!(
            os.services.running_dependents("a").unwrap(),
            Vec::<String>::new()
        );
    }
}
