//! Starting a service, under its lock.

use os::{Deadline, ServiceState, Win32};

use super::{LIMIT, ServiceError, query};
use crate::Node;
use crate::poll::until;

pub(super) fn start(node: &Node, name: &str, deadline: Deadline) -> Result<(), ServiceError> {
    let mut is_asked = false;
    let running = until(&*node.os().clock, deadline, LIMIT, || {
        step(node, name, &mut is_asked, deadline)
    })?;
    running.ok_or_else(|| ServiceError::StartTimedOut {
        service: name.to_owned(),
    })
}

/// Asks the service to start when it is stopped, once; `Some` when it runs.
fn step(
    node: &Node,
    name: &str,
    is_asked: &mut bool,
    deadline: Deadline,
) -> Result<Option<()>, ServiceError> {
    let service = || name.to_owned();
    match query(node, name)?.state {
        ServiceState::Running => return Ok(Some(())),
        // Windows has it start pending from the first moment, so it gave up.
        ServiceState::Stopped if *is_asked => {
            return Err(ServiceError::DidNotStart { service: service() });
        }
        ServiceState::Stopped => {
            node.check(deadline, "start service", &name)?;
            *is_asked = ask(node, name)?;
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
fn ask(node: &Node, name: &str) -> Result<bool, ServiceError> {
    match node.os().services.start(name, Deadline::NEVER) {
        Ok(()) => Ok(true),
        Err(error) if error.win32() == Some(Win32::SERVICE_ALREADY_RUNNING) => Ok(false),
        Err(error) => Err(ServiceError::refused("start", name, error)),
    }
}
