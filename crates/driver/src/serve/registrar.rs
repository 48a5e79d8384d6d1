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

/// Serves the registration.
pub(super) struct Registrar {
    pub(super) endpoint: Endpoint,
    pub(super) service: Arc<dyn Service>,
    pub(super) registration: Registration,
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
    /// Nothing.
    Missing,
    /// Something else.
    Foreign,
}

impl Registrar {
    /// Makes the socket and serves it, or tries again later: volumes need CSI also while another has the socket's path.
    pub(super) fn begin(&self) {
        if let Err(error) = self.serve() {
            self.report(format!("{error}; it is tried again"));
        }
    }

    /// Makes the socket and serves it.
    fn serve(&self) -> Result<(), BindError> {
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
        let both = self.patience.zip(self.registration.silence());
        both.map_or(PACE, |(patience, silence)| {
            PACE.min(patience.saturating_sub(silence))
        })
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
        let failure = self
            .trouble
            .lock()
            .as_ref()
            .map(|(failure, _)| failure.clone());
        Err(failure.unwrap_or_else(|| String::from("kubelet has not registered the driver")))
    }

    /// Stops serving. The file stays.
    fn end(&self) {
        let served = self.served.lock().take();
        drop(served);
    }

    /// What the registration's server holds.
    pub(super) fn usage(&self) -> Option<Usage> {
        let served = self.served.lock();
        served.as_ref().map(|served| served.server.usage())
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
        let thread = keep(&registrar);
        Self { registrar, thread }
    }

    pub(super) fn registrar(&self) -> Arc<Registrar> {
        Arc::clone(&self.registrar)
    }
}

fn keep(registrar: &Arc<Registrar>) -> Option<(Sender<()>, JoinHandle<()>)> {
    let (sender, end) = mpsc::channel();
    let registrar = Arc::clone(registrar);
    let look = move || {
        let mut wait = registrar.pause();
        while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            wait = registrar.look();
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

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};

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
            Self::observed(|_| {})
        }

        /// `asked` gets the socket's path whenever the time is asked for.
        fn observed(asked: impl Fn(&Path) + Send + Sync + 'static) -> Self {
            let home = tempfile::tempdir().unwrap();
            let folder = home.path().join("plugins_registry");
            fs::create_dir(&folder).unwrap();
            let path = folder.join("d-reg.sock");
            let (start, seconds) = (Instant::now(), Arc::new(AtomicU64::new(0)));
            let (moved, at) = (Arc::clone(&seconds), path.clone());
            let clock = move || {
                asked(&at);
                start + Duration::from_secs(moved.load(Ordering::SeqCst))
            };
            let registration = Registration::timed_by(Arc::new(clock), "d", "/csi.sock");
            let mut router = Router::counting(&Arc::default());
            registration.register(&mut router);
            let registrar = Registrar {
                endpoint: Endpoint::socket(&path),
                service: Arc::new(router),
                registration,
                admission: Arc::default(),
                patience: Some(PATIENCE),
                served: Unpoisoned::default(),
                trouble: Unpoisoned::default(),
            };
            registrar.begin();
            Self {
                _home: home,
                path,
                seconds,
                registrar,
            }
        }

        fn look_after(&self, seconds: u64) -> Duration {
            self.seconds.fetch_add(seconds, Ordering::SeqCst);
            self.registrar.look()
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

        fn is_registered(&self) -> bool {
            self.registrar.registration.is_registered()
        }

        fn seconds_since_logged(&self) -> Option<u64> {
            let now = self.registrar.registration.now();
            let trouble = self.registrar.trouble.lock();
            let (_, logged) = trouble.as_ref()?;
            Some((now - *logged).as_secs())
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
        assert_eq!(fixture.look_after(1), PACE);
        assert_eq!(fixture.renewals(), "1");
        assert_ne!(made(&fixture.path), first);
        fixture.call::<GetInfo>(&InfoRequest {});
        assert!(!fixture.is_registered());
    }

    #[test]
    fn a_path_that_another_has_is_served_once_it_is_free() {
        let mut fixture = Fixture::new();
        fixture.registrar.patience = None;
        fixture.registrar.end();
        fs::remove_file(&fixture.path).unwrap();
        fs::create_dir(&fixture.path).unwrap();
        fixture.registrar.begin();
        assert_eq!(fixture.seconds_since_logged(), Some(0));
        fixture.look_after(1);
        assert_eq!(fixture.renewals(), "0");
        fs::remove_dir(&fixture.path).unwrap();
        fixture.look_after(1);
        fixture.call::<GetInfo>(&InfoRequest {});
        assert_eq!(fixture.seconds_since_logged(), None);
    }

    #[test]
    fn a_registered_driver_keeps_its_socket() {
        let fixture = Fixture::new();
        fixture.notify(true);
        fixture.look_after(600);
        assert_eq!(fixture.renewals(), "0");
        fixture.notify(false);
        assert_eq!(fixture.look_after(55), Duration::from_secs(5));
        fixture.look_after(5);
        assert_eq!(fixture.renewals(), "1");
    }

    #[test]
    fn a_registered_driver_whose_file_is_gone_gets_another_and_has_to_be_registered_again() {
        let mut fixture = Fixture::new();
        fixture.registrar.patience = None;
        fixture.notify(true);
        fs::remove_file(&fixture.path).unwrap();
        assert_eq!(fixture.look_after(1), PACE);
        assert_eq!(fixture.renewals(), "1");
        assert!(!fixture.is_registered());
        fixture.notify(true);
        assert!(fixture.is_registered());
    }

    /// Kubelet may register the driver at the new one at once.
    #[test]
    fn a_loss_is_noted_before_the_new_socket_is_there() {
        let (sender, sockets) = mpsc::channel();
        let fixture = Fixture::observed(move |path| {
            let _ = sender.send(path.exists());
        });
        fixture.notify(true);
        fs::remove_file(&fixture.path).unwrap();
        sockets.try_iter().for_each(drop);
        fixture.look_after(1);
        assert!(!fixture.is_registered() && fixture.path.exists());
        assert_eq!(sockets.try_iter().next(), Some(false));
    }

    #[test]
    fn a_folder_that_is_gone_has_the_socket_once_it_is_back() {
        let fixture = Fixture::new();
        fixture.notify(true);
        let folder = fixture.path.parent().unwrap();
        fs::remove_dir_all(folder).unwrap();
        fixture.look_after(1);
        assert_eq!(fixture.renewals(), "0");
        fs::create_dir(folder).unwrap();
        fixture.look_after(1);
        assert_eq!(fixture.renewals(), "1");
        fixture.call::<GetInfo>(&InfoRequest {});
    }

    #[test]
    fn a_folder_that_is_gone_is_logged_when_it_goes_and_seldom_after_that() {
        let fixture = Fixture::new();
        let folder = fixture.path.parent().unwrap();
        let seldom = SELDOM.as_secs();
        for (seconds, logged_before) in [(1, 0), (10, 10), (10, 20), (seldom, 0), (10, 10)] {
            let _ = fs::remove_dir_all(folder);
            fixture.look_after(seconds);
            assert_eq!(fixture.seconds_since_logged(), Some(logged_before));
        }
        fs::create_dir(folder).unwrap();
        fixture.look_after(10);
        assert_eq!(fixture.seconds_since_logged(), None);
        fs::remove_dir_all(folder).unwrap();
        fixture.look_after(10);
        assert_eq!(fixture.seconds_since_logged(), Some(0));
    }

    #[test]
    fn the_socket_of_another_process_is_left_until_that_has_ended() {
        let fixture = Fixture::new();
        fixture.notify(true);
        fs::remove_file(&fixture.path).unwrap();
        let other = UnixListener::bind(&fixture.path).unwrap();
        let of_other = made(&fixture.path);
        fixture.look_after(1);
        assert!(!fixture.is_registered());
        fixture.look_after(60);
        assert_eq!(made(&fixture.path), of_other);
        assert_eq!(fixture.renewals(), "0");
        // It leaves its file, as one that is killed does.
        drop(other);
        fixture.look_after(60);
        assert_eq!(fixture.renewals(), "1");
        fixture.call::<GetInfo>(&InfoRequest {});
    }

    #[test]
    fn a_call_of_kubelet_begins_the_wait_anew() {
        let fixture = Fixture::new();
        fixture.seconds.fetch_add(50, Ordering::SeqCst);
        fixture.call::<GetInfo>(&InfoRequest {});
        assert_eq!(fixture.look_after(53), Duration::from_secs(7));
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
