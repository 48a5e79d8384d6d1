//! The registration socket: served, made anew when it is gone or kubelet does not call, and left at the end.
//!
//! Kubelet removes a driver from CSINode, and with it the node's volume limit, when the socket's file goes
//! (<https://github.com/kubernetes/kubernetes/issues/126921>). So a stop leaves the file, and the next process replaces
//! it when it is ready to answer. And kubelet can miss a socket, on Windows above all
//! (<https://github.com/kubernetes-csi/node-driver-registrar/issues/143>), where another one helps.
//!
//! The file can also go while the driver is registered, for example when `plugins_registry` is cleared. Kubelet then
//! removes the driver, and only another file brings it back. A socket of another process in its place is left as long as
//! that process serves it: `transport` dials a socket before it replaces it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use transport::{
    BindError, Endpoint, Server, ServerOptions, Service, SocketAtEnd, SocketFolder, SocketId, Usage,
};

use crate::admission::Admission;
use crate::kubelet::Registration;
use crate::unpoisoned::Unpoisoned;

/// Connections and calls that the registration has at once: kubelet's are one or two.
const MOST_CONNECTIONS: usize = 256;
const MOST_CALLS: usize = 128;

/// How often the socket's file is looked at.
const PACE: Duration = Duration::from_secs(10);

/// How often a failure that lasts is logged again.
const SELDOM: Duration = Duration::from_secs(600);

pub(super) struct Registrar {
    pub(super) endpoint: Endpoint,
    pub(super) service: Arc<dyn Service>,
    pub(super) registration: Arc<Registration>,
    pub(super) admission: Arc<Admission>,
    /// How long kubelet may leave the socket alone; none is for ever.
    pub(super) patience: Option<Duration>,
    pub(super) served: Unpoisoned<Option<Served>>,
    /// What has failed since the socket was last served, and when it was logged.
    pub(super) trouble: Unpoisoned<Option<(String, Instant)>>,
}

/// A socket that is served.
pub(super) struct Served {
    server: Server,
    /// None of a port.
    socket: Option<SocketId>,
}

/// What has the path of the registration.
#[derive(Debug, Eq, PartialEq)]
enum File {
    /// The socket that is served here, or a port, which has no file.
    Own,
    Missing,
    Foreign,
}

impl Registrar {
    /// Makes the socket and serves it, or tries again later: volumes need CSI also while another has the socket's path.
    pub(super) fn begin(&self) {
        if let Err(error) = self.serve() {
            self.report(format!("{error}; it is tried again"));
        }
    }

    fn serve(&self) -> Result<(), BindError> {
        let mut options = ServerOptions::default();
        options.quiet_clients = true;
        options.socket_folder = SocketFolder::Foreign;
        options.socket_at_end = SocketAtEnd::Left;
        options.max_connections = MOST_CONNECTIONS;
        options.max_process_connections = MOST_CONNECTIONS;
        options.max_running_calls = MOST_CALLS;
        options.max_process_calls = MOST_CALLS;
        let services = vec![(self.endpoint.clone(), Arc::clone(&self.service))];
        let server = Server::bind(services, options)?;
        tracing::info!("registration at {}", self.endpoint);
        let socket = self.endpoint.socket_id().ok().flatten();
        *self.served.lock() = Some(Served { server, socket });
        *self.trouble.lock() = None;
        Ok(())
    }

    /// Makes the socket anew if its file is gone or kubelet has not called for too long, and returns when to look again.
    pub(super) fn look(&self) -> Duration {
        // A driver that is drained, or deregistered after that, is about to end.
        if !self.admission.is_open() {
            return PACE;
        }
        let file = self.file();
        if file == File::Foreign && self.registration.is_registered() {
            tracing::warn!("{} is another's now: it is left", self.endpoint);
            self.registration.note_loss();
        }
        let reason = match file {
            File::Missing => Some(String::from("its file is gone")),
            _ if self.served.lock().is_none() => Some(String::from("it could not be served")),
            File::Own | File::Foreign => self.overlong_silence(),
        };
        if let Some(reason) = reason {
            self.renew(&reason);
        }
        self.pause()
    }

    fn file(&self) -> File {
        if !matches!(self.endpoint, Endpoint::Socket(_)) {
            return File::Own;
        }
        let now = self.endpoint.socket_id();
        let own = self.served.lock().as_ref().and_then(|served| served.socket);
        match now {
            Ok(None) => File::Missing,
            Ok(now) if now == own => File::Own,
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                self.report(format!("{}: {error}", self.endpoint));
                File::Own
            }
            Ok(_) | Err(_) => File::Foreign,
        }
    }

    fn overlong_silence(&self) -> Option<String> {
        let (patience, silence) = self.patience.zip(self.registration.silence())?;
        (silence >= patience).then(|| format!("kubelet has not called for {} s", silence.as_secs()))
    }

    /// Until the file is looked at again, or the silence is too long.
    fn pause(&self) -> Duration {
        match (self.patience, self.registration.silence()) {
            (Some(patience), Some(silence)) => PACE.min(patience.saturating_sub(silence)),
            _ => PACE,
        }
    }

    fn renew(&self, reason: &str) {
        self.end();
        // Before kubelet can find the new one.
        self.registration.note_loss();
        match self.serve() {
            Ok(()) => {
                tracing::warn!("{}: {reason}: the socket is made anew", self.endpoint);
                self.registration.note_renewal();
            }
            Err(error) => self.report(format!("{error}; it is tried again")),
        }
    }

    /// Logs a failure when it begins, and seldom while it lasts.
    fn report(&self, failure: String) {
        let now = self.registration.now();
        let mut trouble = self.trouble.lock();
        let is_known = trouble.as_ref().is_some_and(|(known, logged)| {
            *known == failure && now.saturating_duration_since(*logged) < SELDOM
        });
        if !is_known {
            tracing::error!("registration: {failure}");
            *trouble = Some((failure, now));
        }
    }

    /// Otherwise the reason is what failed last, or that kubelet has not come.
    pub(super) fn require_registered(&self) -> Result<(), String> {
        if self.registration.is_registered() {
            return Ok(());
        }
        Err(match &*self.trouble.lock() {
            Some((failure, _)) => failure.clone(),
            None => String::from("kubelet has not registered the driver"),
        })
    }

    /// Stops serving. The file stays.
    fn end(&self) {
        let served = self.served.lock().take();
        drop(served);
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let served = self.served.lock();
        served.as_ref().map(|served| served.server.usage())
    }
}

/// Looks after a registrar until it is dropped.
pub(super) struct Keeper {
    pub(super) registrar: Arc<Registrar>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Keeper {
    pub(super) fn of(registrar: Registrar) -> Self {
        let registrar = Arc::new(registrar);
        let (sender, end) = mpsc::channel();
        let kept = Arc::clone(&registrar);
        let look = move || {
            let mut wait = kept.pause();
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = kept.look();
            }
        };
        let thread = thread::Builder::new().name(String::from("registration"));
        let spawned = thread.spawn(look).inspect_err(|error| {
            tracing::error!("the registration is not watched: no thread: {error}");
        });
        let thread = spawned.ok().map(|thread| (sender, thread));
        Self { registrar, thread }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.thread.take() {
            drop(sender);
            // It may be making the socket anew, which must not come after the end below.
            let _ = thread.join();
        }
        self.registrar.end();
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests;
