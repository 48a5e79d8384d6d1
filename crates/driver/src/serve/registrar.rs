//! The registration socket: served, made anew while kubelet does not call, and left at the end.
//!
//! Kubelet removes a driver from CSINode, and with it the node's volume limit, when the socket's file goes
//! (<https://github.com/kubernetes/kubernetes/issues/126921>). So a stop leaves the file, and the next process replaces
//! it when it is ready to answer. And kubelet can miss a socket, on Windows above all
//! (<https://github.com/kubernetes-csi/node-driver-registrar/issues/143>), where another one helps.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use transport::{
    BindError, Endpoint, Server, ServerOptions, Service, SocketAtEnd, SocketFolder, Usage,
};

use crate::admission::Admission;
use crate::flags::Patience;
use crate::kubelet::Registration;

/// Connections and calls that the registration has at once: kubelet's are one or two.
const MOST_CONNECTIONS: usize = 256;
const MOST_CALLS: usize = 128;

/// Serves the registration.
pub(super) struct Registrar {
    pub(super) endpoint: Endpoint,
    pub(super) service: Arc<dyn Service>,
    pub(super) registration: Registration,
    pub(super) admission: Arc<Admission>,
    /// How long kubelet may leave the socket alone.
    pub(super) patience: Patience,
    pub(super) server: Mutex<Option<Server>>,
}

impl Registrar {
    /// Makes the socket and serves it.
    pub(super) fn serve(&self) -> Result<(), BindError> {
        let mut options = ServerOptions::default();
        options.socket_folder = SocketFolder::Foreign;
        options.socket_at_end = SocketAtEnd::Left;
        options.max_connections = MOST_CONNECTIONS;
        options.max_process_connections = MOST_CONNECTIONS;
        options.max_running_calls = MOST_CALLS;
        options.max_process_calls = MOST_CALLS;
        let services = vec![(self.endpoint.clone(), Arc::clone(&self.service))];
        let server = Server::bind(services, options)?;
        tracing::info!("registration at {}", self.endpoint);
        *self.lock() = Some(server);
        Ok(())
    }

    /// Makes the socket anew if kubelet has not called for too long, and returns when to look again.
    pub(super) fn look(&self, patience: Duration) -> Duration {
        match self.registration.silence() {
            // A driver that is drained, or deregistered after that, is about to end.
            Some(silence) if silence >= patience && self.admission.is_open() => {
                self.renew(silence);
                patience
            }
            Some(silence) if silence < patience => patience.saturating_sub(silence),
            _ => patience,
        }
    }

    fn renew(&self, silence: Duration) {
        tracing::warn!(
            "kubelet has not called {} for {} s: the socket is made anew",
            self.endpoint,
            silence.as_secs()
        );
        self.end();
        // Also when it fails, so that the next try comes after the same time.
        self.registration.note_renewal();
        if let Err(error) = self.serve() {
            tracing::error!("registration: {error}; it is tried again");
        }
    }

    /// Stops serving. The file stays.
    fn end(&self) {
        let server = self.lock().take();
        drop(server);
    }

    /// What the registration's server holds.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.lock().as_ref().map(Server::usage)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Server>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after a registrar until it is dropped.
pub(super) struct Keeper {
    registrar: Arc<Registrar>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Keeper {
    pub(super) fn of(registrar: Registrar) -> Self {
        let registrar = Arc::new(registrar);
        let thread = match registrar.patience {
            Patience::Endless => None,
            Patience::Limited(patience) => keep(&registrar, patience),
        };
        Self { registrar, thread }
    }

    pub(super) fn registrar(&self) -> Arc<Registrar> {
        Arc::clone(&self.registrar)
    }
}

fn keep(registrar: &Arc<Registrar>, patience: Duration) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, end) = mpsc::channel();
    let registrar = Arc::clone(registrar);
    let look = move || {
        let mut wait = patience;
        while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = registrar.look(patience);
        }
    };
    let thread = thread::Builder::new().name(String::from("registration"));
    let spawned = thread.spawn(look).inspect_err(|error| {
        tracing::error!("the registration is not watched: no thread: {error}");
    });
    spawned.ok().map(|thread| (sender, thread))
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

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Instant;

    use prost::Message as _;
    use tempfile::TempDir;
    use transport::{Channel, ChannelOptions};
    use wire::Rpc;
    use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};
    use wire::pluginregistration::v1::{InfoRequest, RegistrationStatus};

    use super::*;
    use crate::kubelet::Router;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A registrar whose clock the test moves.
    struct Fixture {
        _home: TempDir,
        path: PathBuf,
        seconds: Arc<AtomicU64>,
        registrar: Registrar,
    }

    impl Fixture {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("d-reg.sock");
            let (start, seconds) = (Instant::now(), Arc::new(AtomicU64::new(0)));
            let moved = Arc::clone(&seconds);
            let clock = move || start + Duration::from_secs(moved.load(Ordering::SeqCst));
            let registration = Registration::timed_by(Arc::new(clock), "d", "/csi.sock");
            let mut router = Router::counting(&Arc::default());
            registration.register(&mut router);
            let registrar = Registrar {
                endpoint: Endpoint::socket(&path),
                service: Arc::new(router),
                registration,
                admission: Arc::default(),
                patience: Patience::Limited(PATIENCE),
                server: Mutex::default(),
            };
            registrar.serve().unwrap();
            Self {
                _home: home,
                path,
                seconds,
                registrar,
            }
        }

        fn look_after(&self, seconds: u64) -> Duration {
            self.seconds.fetch_add(seconds, Ordering::SeqCst);
            self.registrar.look(PATIENCE)
        }

        fn call<R: Rpc>(&self, request: &R::Request) {
            let options = ChannelOptions::default();
            let channel = Channel::connect(self.registrar.endpoint.clone(), options).unwrap();
            let deadline = Instant::now() + PATIENCE;
            channel
                .call(R::PATH, &request.encode_to_vec(), deadline)
                .unwrap();
        }

        fn notify(&self, plugin_registered: bool) {
            let error = String::new();
            self.call::<NotifyRegistrationStatus>(&RegistrationStatus {
                plugin_registered,
                error,
            });
        }

        fn renewals(&self) -> String {
            let mut page = program::metrics::Exposition::default();
            self.registrar.registration.render(&mut page);
            let text = page.into_text();
            let mut lines = text.lines();
            let line =
                lines.find_map(|line| line.strip_prefix("wincsi_registration_renewals_total "));
            line.unwrap().to_owned()
        }
    }

    fn made(path: &Path) -> (u64, i64, i64) {
        let meta = path.metadata().unwrap();
        (meta.ino(), meta.ctime(), meta.ctime_nsec())
    }

    #[test]
    fn a_dial_is_no_registration_and_the_socket_is_made_anew() {
        let fixture = Fixture::new();
        let first = made(&fixture.path);
        drop(UnixStream::connect(&fixture.path).unwrap());
        assert_eq!(fixture.look_after(59), Duration::from_secs(1));
        assert_eq!(
            (fixture.renewals().as_str(), made(&fixture.path)),
            ("0", first)
        );
        assert_eq!(fixture.look_after(1), PATIENCE);
        assert_eq!(fixture.renewals(), "1");
        assert_ne!(made(&fixture.path), first);
        fixture.call::<GetInfo>(&InfoRequest {});
        assert!(!fixture.registrar.registration.is_registered());
    }

    #[test]
    fn a_registered_driver_keeps_its_socket() {
        let fixture = Fixture::new();
        fixture.notify(true);
        fixture.look_after(600);
        assert_eq!(fixture.renewals(), "0");
        fixture.notify(false);
        assert_eq!(fixture.look_after(20), Duration::from_secs(40));
        fixture.look_after(40);
        assert_eq!(fixture.renewals(), "1");
    }

    #[test]
    fn a_call_of_kubelet_begins_the_wait_anew() {
        let fixture = Fixture::new();
        fixture.seconds.fetch_add(50, Ordering::SeqCst);
        fixture.call::<GetInfo>(&InfoRequest {});
        assert_eq!(fixture.look_after(50), Duration::from_secs(10));
    }

    #[test]
    fn a_drained_driver_makes_no_socket() {
        let fixture = Fixture::new();
        fixture.registrar.admission.drain(Duration::ZERO);
        fixture.registrar.endpoint.remove_socket().unwrap();
        fixture.look_after(600);
        assert!(!fixture.path.exists());
    }

    #[test]
    fn an_end_leaves_the_socket() {
        let fixture = Fixture::new();
        let Fixture {
            registrar,
            path,
            _home,
            ..
        } = fixture;
        drop(Keeper::of(registrar));
        assert!(path.exists());
        assert!(UnixStream::connect(&path).is_err());
    }
}
