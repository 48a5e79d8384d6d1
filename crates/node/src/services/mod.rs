//! Windows services.

mod control;
mod error;
mod name;

use os::{Deadline, ServiceInfo};

use self::control::Control;
pub use self::error::ServiceError;
pub use self::name::ServiceName;
use crate::locks::Key;
use crate::{Node, Services};

/// How [`Services::stop`] treats running services that depend on the one to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// They are an error, which names them.
    Refuse,
    /// They are stopped first.
    Stop,
}

#[allow(missing_docs, reason = "documented in `api::System`")]
impl<'a> Services<'a> {
    pub fn service(
        &self,
        name: &ServiceName,
        deadline: Deadline,
    ) -> Result<ServiceInfo, ServiceError> {
        self.node.check(deadline, "query service", name)?;
        query(self.node, name.as_str())
    }

    pub fn start(&self, name: &ServiceName, deadline: Deadline) -> Result<(), ServiceError> {
        let keys = [key(name.as_str())];
        let _held = self.node.lock("start service", keys, deadline)?;
        self.control(deadline).start(name.as_str())
    }

    pub fn stop(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<(), ServiceError> {
        let control = self.control(deadline);
        match (control.stop_alone(name), dependents) {
            (Err(ServiceError::Dependents { .. }), Dependents::Stop) => {
                control.stop_with_dependents(name)
            }
            (done, _) => done,
        }
    }

    fn control(&self, deadline: Deadline) -> Control<'a> {
        Control {
            node: self.node,
            deadline,
        }
    }
}

/// Names of services are compared without regard to case.
fn key(name: &str) -> Key {
    Key::Service(name.to_lowercase())
}

fn query(node: &Node, name: &str) -> Result<ServiceInfo, ServiceError> {
    let found = node.os().services.query(name);
    found.map_err(ServiceError::query(name))
}
