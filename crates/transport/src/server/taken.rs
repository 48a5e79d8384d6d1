//! Endpoints served by another process.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Binding, EndpointFailure, Groups};
use crate::sys::{self, Listener};
use crate::{Endpoint, ServerOptions, Service};

/// The endpoints of a starting server: served, taken or failed.
pub(super) struct Attempt {
    pub(super) groups: Groups,
    pub(super) bound: Vec<(Arc<Binding>, Listener)>,
    pub(super) failures: Vec<(Arc<Binding>, io::Error)>,
}

impl Attempt {
    pub(super) fn at(services: Vec<(Endpoint, Arc<dyn Service>)>, options: &ServerOptions) -> Self {
        let mut attempt = Self {
            groups: Groups::default(),
            bound: Vec::new(),
            failures: Vec::new(),
        };
        for (endpoint, service) in services {
            let bound = sys::listen(&endpoint, options);
            let binding = Arc::new(Binding::new(endpoint, service, &mut attempt.groups));
            match bound {
                Ok(listeners) => {
                    let with_binding = |listener| (Arc::clone(&binding), listener);
                    attempt
                        .bound
                        .extend(listeners.into_iter().map(with_binding));
                }
                Err(error) => attempt.failures.push((binding, error)),
            }
        }
        attempt
    }

    /// Whether some endpoint is free, and all failures are taken names.
    pub(super) fn is_worth_serving(&self) -> bool {
        let is_taken = |(_, error): &(_, io::Error)| is_taken(error);
        self.failures.is_empty() || !self.bound.is_empty() && self.failures.iter().all(is_taken)
    }

    pub(super) fn failures(self) -> Vec<EndpointFailure> {
        let failure = |(binding, source): (Arc<Binding>, _)| EndpointFailure {
            endpoint: binding.endpoint.clone(),
            source,
        };
        self.failures.into_iter().map(failure).collect()
    }
}

/// The endpoints of a server that other processes still serve.
#[derive(Debug, Default)]
pub(super) struct Taken(Mutex<Vec<Arc<Binding>>>);

impl Taken {
    pub(super) fn new(failures: Vec<(Arc<Binding>, io::Error)>) -> Self {
        let bindings = failures.into_iter().map(|(binding, _)| binding);
        Self(Mutex::new(bindings.collect()))
    }

    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        self.lock().iter().map(|one| one.endpoint.clone()).collect()
    }

    /// Has `join` serve the endpoints that are free by now, and returns them. Any failure leaves an endpoint for the
    /// next try: nobody could receive a report here.
    pub(super) fn retry(
        &self,
        options: &ServerOptions,
        join: impl Fn(&Arc<Binding>, Vec<Listener>) -> io::Result<()>,
    ) -> Vec<Endpoint> {
        let mut free = Vec::new();
        // A caller of `taken` does not wait for the tries.
        let taken = self.lock().clone();
        for binding in taken {
            let joined = sys::listen(&binding.endpoint, options)
                .and_then(|listeners| join(&binding, listeners));
            match joined {
                Ok(()) => {
                    self.lock().retain(|other| !Arc::ptr_eq(other, &binding));
                    free.push(binding.endpoint.clone());
                }
                Err(error) => {
                    tracing::debug!(endpoint = %binding.endpoint, %error, "still not served");
                }
            }
        }
        free
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Binding>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether binding failed because the name is taken: by a served pipe or socket, or by a file of the socket's name.
fn is_taken(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrInUse | io::ErrorKind::AlreadyExists
    )
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;
    use std::{io, thread};

    use super::Taken;
    use crate::server::{Binding, Groups};
    use crate::{Call, Endpoint, ServerOptions, Service, Status};

    struct Nothing;

    impl Service for Nothing {
        fn call(&self, _: &Call) -> Result<Vec<u8>, Status> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn what_is_taken_can_be_asked_while_an_endpoint_is_tried() {
        let home = tempfile::tempdir().unwrap();
        let endpoint = Endpoint::local(home.path(), "wincsi-test-taken").unwrap();
        let binding = Binding::new(endpoint.clone(), Arc::new(Nothing), &mut Groups::default());
        let error = io::ErrorKind::AddrInUse.into();
        let taken = Arc::new(Taken::new(vec![(Arc::new(binding), error)]));
        let served = taken.retry(&ServerOptions::default(), |_, _| {
            let (sender, answer) = mpsc::channel();
            let taken = Arc::clone(&taken);
            thread::spawn(move || sender.send(taken.endpoints()));
            let answer = answer.recv_timeout(Duration::from_secs(10));
            assert_eq!(answer, Ok(vec![endpoint.clone()]));
            Ok(())
        });
        assert_eq!(served, [endpoint]);
        assert_eq!(taken.endpoints(), []);
    }
}
