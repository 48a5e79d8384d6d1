//! Windows services.

mod error;
mod name;
mod start;
mod stop;

use std::time::Duration;

use os::{Deadline, ServiceInfo};

pub use self::error::ServiceError;
pub use self::name::ServiceName;
use crate::Node;
use crate::locks::Key;

/// How long a service may take to start or to stop, as in csi-proxy.
const LIMIT: Duration = Duration::from_secs(30);

/// The operations on the services of a [`Node`].
pub struct Services<'a> {
    node: &'a Node,
}

/// How [`Services::stop`] treats running services that depend on the one to be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// They are an error, which names them.
    Refuse,
    /// They are stopped first.
    Stop,
}

impl<'a> Services<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// Name for people, start type and state of a service.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn service(
        &self,
        name: &ServiceName,
        deadline: Deadline,
    ) -> Result<ServiceInfo, ServiceError> {
        self.node.check(deadline, "query service", name)?;
        query(self.node, name.as_str())
    }

    /// Starts a service and waits until it runs, 30 seconds at most. One that runs is success, one that
    /// is on its way up or down is waited for first.
    ///
    /// # Errors
    /// There is none of this name, Windows refuses, it stops again, is paused, or takes too long.
    pub fn start(&self, name: &ServiceName, deadline: Deadline) -> Result<(), ServiceError> {
        let keys = vec![key(name.as_str())];
        let _held = self.node.locks().take("start service", keys, deadline)?;
        start::start(self.node, name.as_str(), deadline)
    }

    /// Stops a service and waits until it has stopped, 30 seconds at most for it and for each that
    /// depends on it. One that is stopped is success; one that takes no orders just now is asked again
    /// meanwhile.
    ///
    /// # Errors
    /// There is none of this name, Windows refuses, others depend on it, or it takes too long.
    pub fn stop(
        &self,
        name: &ServiceName,
        dependents: Dependents,
        deadline: Deadline,
    ) -> Result<(), ServiceError> {
        match (stop::alone(self.node, name, deadline), dependents) {
            (Err(ServiceError::Dependents { .. }), Dependents::Stop) => {
                stop::with_dependents(self.node, name, deadline)
            }
            (done, _) => done,
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
