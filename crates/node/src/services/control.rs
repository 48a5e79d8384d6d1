//! Starting and stopping services, under their locks.

use std::collections::BTreeSet;
use std::time::Duration;

use os::{Deadline, ServiceState, Win32};

use super::{ServiceError, ServiceName, key, query};
use crate::Node;
use crate::locks::Key;
use crate::poll::until;

const STOP: &str = "stop service";

/// How long a service may take to start or to stop, as in csi-proxy.
const LIMIT: Duration = Duration::from_secs(30);

/// How often the dependents are counted anew because one came up that was not locked.
const ROUNDS: usize = 3;

/// One start or stop.
pub(super) struct Control<'a> {
    pub(super) node: &'a Node,
    pub(super) deadline: Deadline,
}

impl Control<'_> {
    pub(super) fn start(&self, name: &str) -> Result<(), ServiceError> {
        let mut is_asked = false;
        let running = until(&*self.node.os().clock, self.deadline, LIMIT, || {
            self.step_to_run(name, &mut is_asked)
        })?;
        running.ok_or_else(|| ServiceError::StartTimedOut {
            service: name.to_owned(),
        })
    }

    /// Asks the service to start when it is stopped, once; `Some` when it runs.
    fn step_to_run(&self, name: &str, is_asked: &mut bool) -> Result<Option<()>, ServiceError> {
        let service = || name.to_owned();
        match query(self.node, name)?.state {
            ServiceState::Running => return Ok(Some(())),
            // Windows has it start pending from the first moment, so it gave up.
            ServiceState::Stopped if *is_asked => {
                return Err(ServiceError::DidNotStart { service: service() });
            }
            ServiceState::Stopped => {
                self.node.check(self.deadline, "start service", &name)?;
                *is_asked = self.ask_to_start(name)?;
            }
            ServiceState::Paused => return Err(ServiceError::Paused { service: service() }),
            ServiceState::ContinuePending
            | ServiceState::PausePending
            | ServiceState::StartPending
            | ServiceState::StopPending => {}
        }
        Ok(None)
    }

    /// Whether it was us who started it. Without a deadline: the caller's lock must outlast the call.
    fn ask_to_start(&self, name: &str) -> Result<bool, ServiceError> {
        match self.node.os().services.start(name, Deadline::NEVER) {
            Ok(()) => Ok(true),
            Err(error) if error.win32() == Some(Win32::SERVICE_ALREADY_RUNNING) => Ok(false),
            Err(error) => Err(ServiceError::refused("start", name, error)),
        }
    }

    /// Stops one service, which nothing that runs may depend on.
    pub(super) fn stop_alone(&self, name: &ServiceName) -> Result<(), ServiceError> {
        let keys = [key(name.as_str())];
        let _held = self.node.lock(STOP, keys, self.deadline)?;
        self.stop_locked(name.as_str())
    }

    /// Stops the dependents of a service, then the service. All of them change, so all are locked; the
    /// dependents are therefore looked up before the lock, and again if they differ afterwards.
    pub(super) fn stop_with_dependents(&self, name: &ServiceName) -> Result<(), ServiceError> {
        for _ in 0..ROUNDS {
            let locked = self.everything_above(name.as_str())?;
            let keys = locked.iter().cloned().map(Key::Service);
            let _held = self.node.lock(STOP, keys, self.deadline)?;
            if let Descent::Done = self.descend(name.as_str(), &locked)? {
                return Ok(());
            }
        }
        Err(ServiceError::Unsteady {
            service: name.to_string(),
        })
    }

    /// The names, in lower case, of a service and of all that depend on it, directly or not, and run.
    /// Windows lists the indirect ones as well, but does not say so.
    fn everything_above(&self, name: &str) -> Result<BTreeSet<String>, ServiceError> {
        let mut found = BTreeSet::from([name.to_lowercase()]);
        let mut next = vec![name.to_owned()];
        while let Some(service) = next.pop() {
            self.node.check(self.deadline, STOP, &service)?;
            let above = self.running_dependents(&service)?;
            next.extend(
                above
                    .into_iter()
                    .filter(|name| found.insert(name.to_lowercase())),
            );
        }
        Ok(found)
    }

    /// Stops the dependents, each once and after those that depend on it, and the service at last.
    fn descend(&self, name: &str, locked: &BTreeSet<String>) -> Result<Descent, ServiceError> {
        let mut seen = BTreeSet::from([name.to_lowercase()]);
        let mut stack = vec![name.to_owned()];
        while let Some(service) = stack.last() {
            let stopped = self.stop_locked(service);
            let Err(ServiceError::Dependents { service, running }) = stopped else {
                stopped?;
                stack.pop();
                continue;
            };
            if running
                .iter()
                .any(|name| !locked.contains(&name.to_lowercase()))
            {
                return Ok(Descent::Unlocked);
            }
            let before = stack.len();
            // The first of the list is to be stopped first.
            let new = running.iter().rev();
            stack.extend(new.filter(|name| seen.insert(name.to_lowercase())).cloned());
            if stack.len() == before {
                // They depend on each other.
                return Err(ServiceError::Dependents { service, running });
            }
        }
        Ok(Descent::Done)
    }

    /// Stops one service that is locked and waits for it.
    fn stop_locked(&self, name: &str) -> Result<(), ServiceError> {
        let mut asked = Asked::NotYet;
        let stopped = until(&*self.node.os().clock, self.deadline, LIMIT, || {
            self.step_to_stop(name, &mut asked)
        })?;
        match (stopped, asked) {
            (Some(()), _) => Ok(()),
            (None, Asked::Declined(source)) => Err(ServiceError::refused("stop", name, source)),
            (None, Asked::Accepted | Asked::NotYet) => Err(ServiceError::StopTimedOut {
                service: name.to_owned(),
            }),
        }
    }

    /// Asks the service to stop, unless it has accepted that already; `Some` when it has stopped.
    fn step_to_stop(&self, name: &str, asked: &mut Asked) -> Result<Option<()>, ServiceError> {
        match (query(self.node, name)?.state, &asked) {
            (ServiceState::Stopped, _) => return Ok(Some(())),
            (ServiceState::StopPending, _) | (_, Asked::Accepted) => {}
            (_, Asked::Declined(_) | Asked::NotYet) => {
                self.node.check(self.deadline, STOP, &name)?;
                *asked = self.ask_to_stop(name)?;
            }
        }
        Ok(None)
    }

    /// Without a deadline: the caller's lock must outlast the call.
    fn ask_to_stop(&self, name: &str) -> Result<Asked, ServiceError> {
        let Err(error) = self.node.os().services.stop(name, Deadline::NEVER) else {
            return Ok(Asked::Accepted);
        };
        match error.win32() {
            Some(Win32::SERVICE_NOT_ACTIVE) => Ok(Asked::NotYet),
            Some(Win32::SERVICE_CANNOT_ACCEPT_CTRL) => Ok(Asked::Declined(error)),
            Some(Win32::DEPENDENT_SERVICES_RUNNING) => {
                let running = self.running_dependents(name)?;
                match running.is_empty() {
                    // They have stopped meanwhile.
                    true => Ok(Asked::NotYet),
                    false => Err(ServiceError::Dependents {
                        service: name.to_owned(),
                        running,
                    }),
                }
            }
            _ => Err(ServiceError::refused("stop", name, error)),
        }
    }

    fn running_dependents(&self, name: &str) -> Result<Vec<String>, ServiceError> {
        let found = self.node.os().services.running_dependents(name);
        found.map_err(ServiceError::query(name))
    }
}

/// How going through the dependents ended.
enum Descent {
    Done,
    /// One came up that is not locked.
    Unlocked,
}

/// A service's answer to the request to stop.
enum Asked {
    Accepted,
    /// It takes no orders at the moment.
    Declined(os::Error),
    NotYet,
}
