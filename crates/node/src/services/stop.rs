//! Stopping services, under their locks.

use std::collections::BTreeSet;

use os::{Deadline, ServiceState, Win32};

use super::{LIMIT, ServiceError, ServiceName, key, query};
use crate::Node;
use crate::locks::Key;
use crate::poll::until;

const OPERATION: &str = "stop service";

/// How often the dependents are counted anew because one came up that was not locked.
const ROUNDS: usize = 3;

/// Stops one service, which nothing that runs may depend on.
pub(super) fn alone(
    node: &Node,
    name: &ServiceName,
    deadline: Deadline,
) -> Result<(), ServiceError> {
    let _held = node.lock(OPERATION, [key(name.as_str())], deadline)?;
    stop(node, name.as_str(), deadline)
}

/// Stops the dependents of a service, then the service. All of them change, so all are locked; the
/// dependents are therefore looked up before the lock, and again if they differ afterwards.
pub(super) fn with_dependents(
    node: &Node,
    name: &ServiceName,
    deadline: Deadline,
) -> Result<(), ServiceError> {
    for _ in 0..ROUNDS {
        let locked = everything_above(node, name.as_str(), deadline)?;
        let keys = locked.iter().cloned().map(Key::Service);
        let _held = node.lock(OPERATION, keys, deadline)?;
        if let Descent::Done = descend(node, name.as_str(), &locked, deadline)? {
            return Ok(());
        }
    }
    Err(ServiceError::Unsteady {
        service: name.to_string(),
    })
}

/// The names, in lower case, of a service and of all that depend on it, directly or not, and run.
/// Windows lists the indirect ones as well, but does not say so.
fn everything_above(
    node: &Node,
    name: &str,
    deadline: Deadline,
) -> Result<BTreeSet<String>, ServiceError> {
    let mut found = BTreeSet::from([name.to_lowercase()]);
    let mut next = vec![name.to_owned()];
    while let Some(service) = next.pop() {
        node.check(deadline, OPERATION, &service)?;
        let above = running_dependents(node, &service)?;
        next.extend(
            above
                .into_iter()
                .filter(|name| found.insert(name.to_lowercase())),
        );
    }
    Ok(found)
}

/// How going through the dependents ended.
enum Descent {
    Done,
    /// One came up that is not locked.
    Unlocked,
}

/// Stops the dependents, each once and after those that depend on it, and the service at last.
fn descend(
    node: &Node,
    name: &str,
    locked: &BTreeSet<String>,
    deadline: Deadline,
) -> Result<Descent, ServiceError> {
    let mut seen = BTreeSet::from([name.to_lowercase()]);
    let mut stack = vec![name.to_owned()];
    while let Some(service) = stack.last() {
        let stopped = stop(node, service, deadline);
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
fn stop(node: &Node, name: &str, deadline: Deadline) -> Result<(), ServiceError> {
    let mut asked = Asked::NotYet;
    let stopped = until(&*node.os().clock, deadline, LIMIT, || {
        step(node, name, &mut asked, deadline)
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
fn step(
    node: &Node,
    name: &str,
    asked: &mut Asked,
    deadline: Deadline,
) -> Result<Option<()>, ServiceError> {
    match (query(node, name)?.state, &asked) {
        (ServiceState::Stopped, _) => return Ok(Some(())),
        (ServiceState::StopPending, _) | (_, Asked::Accepted) => {}
        (_, Asked::Declined(_) | Asked::NotYet) => {
            node.check(deadline, OPERATION, &name)?;
            *asked = ask(node, name)?;
        }
    }
    Ok(None)
}

/// A service's answer to the request to stop.
enum Asked {
    Accepted,
    /// It takes no orders at the moment.
    Declined(os::Error),
    NotYet,
}

/// Without a deadline: the caller's lock must outlast the call.
fn ask(node: &Node, name: &str) -> Result<Asked, ServiceError> {
    let Err(error) = node.os().services.stop(name, Deadline::NEVER) else {
        return Ok(Asked::Accepted);
    };
    match error.win32() {
        Some(Win32::SERVICE_NOT_ACTIVE) => Ok(Asked::NotYet),
        Some(Win32::SERVICE_CANNOT_ACCEPT_CTRL) => Ok(Asked::Declined(error)),
        Some(Win32::DEPENDENT_SERVICES_RUNNING) => {
            let running = running_dependents(node, name)?;
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

fn running_dependents(node: &Node, name: &str) -> Result<Vec<String>, ServiceError> {
    let found = node.os().services.running_dependents(name);
    found.map_err(ServiceError::query(name))
}
