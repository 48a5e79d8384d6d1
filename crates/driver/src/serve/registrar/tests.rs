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
        let registration = Arc::new(Registration::new(Arc::new(clock), "d", "/csi.sock"));
        let mut router = Router::default();
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
        let line = lines.find_map(|line| line.strip_prefix("wincsi_registration_renewals_total "));
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
