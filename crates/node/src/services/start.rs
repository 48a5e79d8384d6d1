//! Starting a service, under its lock.

use os::{Deadline, ServiceState, Win32};

use super::{Control, LIMIT, ServiceError, query};
use crate::poll::until;

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
}
