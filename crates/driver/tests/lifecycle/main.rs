//! The program as kubelet and an operator see it: registered, crowded, drained, deregistered, ended, started again.

// Signals, and sockets with paths: Wine has neither.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod doctor;
mod fixture;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use transport::{CallError, Code, Endpoint};
use wire::Rpc;
use wire::csi::v1::identity::Probe;
use wire::csi::v1::node::{NodeGetInfo, NodeStageVolume};
use wire::csi::v1::{NodeGetInfoRequest, ProbeRequest};
use wire::pluginregistration::v1::InfoRequest;
use wire::pluginregistration::v1::registration::GetInfo;

use self::fixture::{Driver, Kubelet, SECRET, call, late_disk, stage_of_disk};

/// Connections at each service.
const CROWD: usize = 100;

/// How long an update is observed: only a test that has failed already gets there.
const LONGEST: Duration = Duration::from_secs(60);

/// Threads of the two pools, that of CSI and that of the registration, while nothing blocks: a busy machine may make
/// them a few more than their handful.
const FEW_THREADS: u64 = 64;

#[test]
fn a_driver_is_ready_once_kubelet_has_registered_it() {
    let kubelet = Kubelet::new();
    let driver = Driver::start(&kubelet);
    assert_eq!(driver.get("/healthz"), (200, String::from("ok\n")));
    let (status, reason) = driver.get("/readyz");
    assert_eq!(status, 503);
    assert!(reason.contains("has not registered"), "{reason}");
    // Kubelet sees on Windows whether a file is a socket by a dial.
    drop(UnixStream::connect(kubelet.registration_path()).unwrap());
    assert_eq!(driver.figure("wincsi_registered"), 0);
    assert_eq!(kubelet.register(), "node-1");
    assert_eq!(driver.figure("wincsi_registered"), 1);
    driver.wait_for_line("records compared");
    assert_eq!(driver.get("/readyz"), (200, String::from("ok\n")));
    assert_eq!(driver.figure("wincsi_registration_renewals_total"), 0);
    assert_eq!(driver.figure("wincsi_reconciled"), 1);
}

#[test]
fn all_pages_are_served_for_probes_too() {
    let kubelet = Kubelet::new();
    let flags = ["-metrics-address=", "-health-address=127.0.0.1:0"];
    let driver = Driver::spawned(&kubelet, "health.log", &flags);
    let pages = ["/healthz", "/readyz", "/metrics"].map(|page| driver.get(page).0);
    assert_eq!(pages, [200, 503, 200]);
}

#[test]
fn an_update_leaves_the_registration_socket_until_the_next_process_answers() {
    let kubelet = Kubelet::new();
    let mut driver = Driver::start(&kubelet);
    kubelet.register();
    let file = kubelet.registration_file();
    let is_over = AtomicBool::new(false);
    let observed = thread::scope(|scope| {
        let observer = scope.spawn(|| Observed::until(&is_over, &kubelet));
        let asked = Instant::now();
        assert_eq!(driver.terminate(), Some(0));
        let ended = asked.elapsed();
        // The next one starts and is not ready: it has no records yet.
        let records = kubelet.lock_records();
        driver = Driver::spawned(&kubelet, "new.log", &["-drain-timeout=60"]);
        driver.wait_for_line("waiting 62s for its end");
        assert_eq!(
            kubelet.registration_file(),
            file,
            "kubelet would remove the driver"
        );
        assert!(UnixStream::connect(kubelet.registration_path()).is_err());
        drop(records);
        driver.wait_for_line("] ready");
        assert_eq!(kubelet.register(), "node-1");
        println!("SIGTERM to the end of the process: {ended:?}");
        is_over.store(true, Ordering::SeqCst);
        observer.join().unwrap()
    });
    let Observed {
        unreachable,
        absent,
        dials,
    } = observed;
    println!(
        "registration unreachable for {unreachable:?}, its file absent at {absent} of {dials} dials"
    );
}

/// The registration, dialled again and again while the driver is replaced.
struct Observed {
    unreachable: Duration,
    absent: usize,
    dials: usize,
}

impl Observed {
    fn until(is_over: &AtomicBool, kubelet: &Kubelet) -> Self {
        let mut observed = Self {
            unreachable: Duration::ZERO,
            absent: 0,
            dials: 0,
        };
        let began = Instant::now();
        let mut answered = began;
        while !is_over.load(Ordering::SeqCst) && began.elapsed() < LONGEST {
            observed.dials += 1;
            observed.absent += usize::from(!kubelet.registration_path().exists());
            if call::<GetInfo>(&kubelet.registration(), &InfoRequest {}).is_ok() {
                observed.unreachable = observed.unreachable.max(answered.elapsed());
                answered = Instant::now();
            }
        }
        observed
    }
}

#[test]
fn a_killed_driver_is_replaced_where_its_sockets_are_left() {
    let kubelet = Kubelet::new();
    drop(Driver::start(&kubelet));
    assert!(kubelet.registration_path().exists());
    let _driver = Driver::start(&kubelet);
    assert_eq!(kubelet.register(), "node-1");
}

#[test]
fn a_second_driver_takes_nothing_from_the_first() {
    let kubelet = Kubelet::new();
    let _first = Driver::start(&kubelet);
    let second = kubelet.run(&["node"], &["-metrics-address=", "-drain-timeout=0"]);
    assert_eq!(second.code, Some(1), "{}", second.output);
    assert!(second.output.contains("-state-dir"), "{}", second.output);
    assert_eq!(kubelet.register(), "node-1");
}

#[test]
fn a_driver_that_starts_waits_for_the_end_of_the_one_before_it() {
    let kubelet = Kubelet::new();
    let mut old = Driver::start(&kubelet);
    let new = Driver::spawned(&kubelet, "new.log", &["-drain-timeout=60"]);
    new.wait_for_line("waiting 62s for its end");
    assert_eq!(kubelet.register(), "node-1");
    assert_eq!(old.terminate(), Some(0));
    new.wait_for_line("] ready");
    assert_eq!(kubelet.register(), "node-1");
}

#[test]
fn a_hundred_connections_at_each_service_share_a_bounded_pool() {
    let kubelet = Kubelet::new();
    let driver = Driver::start(&kubelet);
    let opened = Arc::new(Barrier::new(3 * CROWD + 1));
    let counted = Arc::new(Barrier::new(3 * CROWD + 1));
    thread::scope(|scope| {
        for _ in 0..CROWD {
            let crowd = (&*opened, &*counted);
            let (csi, registration) = (kubelet.csi(), kubelet.registration());
            let of_csi = csi.clone();
            scope.spawn(move || stay::<Probe>(&of_csi, &ProbeRequest {}, crowd));
            scope.spawn(move || stay::<NodeGetInfo>(&csi, &NodeGetInfoRequest {}, crowd));
            scope.spawn(move || stay::<GetInfo>(&registration, &InfoRequest {}, crowd));
        }
        opened.wait();
        let figures = [
            "wincsi_connections",
            "wincsi_pool_threads",
            "wincsi_turned_away_connections_total",
            "wincsi_refused_calls_total",
        ]
        .map(|name| driver.figure(name));
        counted.wait();
        let [connections, threads, turned_away, refused] = figures;
        println!("{connections} connections, {threads} threads");
        assert_eq!((connections, turned_away, refused), (300, 0, 0));
        assert!(threads < FEW_THREADS, "{threads}");
    });
}

/// Calls on a connection of its own, and holds it open until all are counted.
fn stay<R: Rpc>(at: &Endpoint, request: &R::Request, (opened, counted): (&Barrier, &Barrier)) {
    let called = fixture::call_on_fresh_channel::<R>(at, request);
    opened.wait();
    counted.wait();
    called.unwrap();
}

/// Guards: P21
#[test]
fn a_drain_ends_admission_and_names_what_still_runs() {
    let kubelet = Kubelet::new();
    let driver = Driver::start(&kubelet);
    kubelet.register();
    let stage = kubelet.csi();
    // Waits a minute for its disk.
    let staging = thread::spawn(move || call::<NodeStageVolume>(&stage, &late_disk("vol-1")));
    driver.wait_for("a stage runs", |driver| {
        driver.figure("wincsi_running_calls") == 1
    });
    let drained = kubelet.run(&["node", "drain"], &["-pre-stop-timeout=0"]);
    assert_eq!(drained.code, Some(3), "{}", drained.output);
    assert!(drained.output.contains("1 calls run"), "{}", drained.output);
    assert!(
        drained.output.contains("NodeStageVolume"),
        "{}",
        drained.output
    );
    for text in [&drained.output, &driver.written()] {
        assert!(!text.contains(SECRET), "{text}");
    }
    let refused = call::<NodeStageVolume>(&kubelet.csi(), &late_disk("vol-2")).unwrap_err();
    assert!(matches!(refused, CallError::Status(status) if status.code == Code::Unavailable));
    assert_eq!(kubelet.register(), "node-1");
    assert_eq!(driver.get("/healthz").0, 200);
    assert_eq!(driver.get("/readyz").0, 503);
    assert_eq!(driver.figure("wincsi_draining"), 1);
    drop(driver);
    assert!(staging.join().unwrap().is_err());
}

#[test]
fn a_drain_waits_for_the_call_that_runs_and_ends_with_it() {
    let kubelet = Kubelet::new();
    let driver = Driver::start(&kubelet);
    kubelet.register();
    kubelet.plug_in_disk();
    kubelet.hang("MSFT_Disk.Initialize");
    let csi = kubelet.csi();
    let staging = thread::spawn(move || call::<NodeStageVolume>(&csi, &stage_of_disk("vol-1")));
    driver.wait_for("a stage runs", |driver| {
        driver.figure("wincsi_running_calls") == 1
    });
    let mut drain = kubelet.spawn(&["node", "drain"], &["-pre-stop-timeout=100"]);
    driver.wait_for("the drain begins", |driver| {
        driver.figure("wincsi_draining") == 1
    });
    let refused = call::<NodeStageVolume>(&kubelet.csi(), &stage_of_disk("vol-2")).unwrap_err();
    assert!(matches!(refused, CallError::Status(status) if status.code == Code::Unavailable));
    assert!(!drain.has_ended() && !staging.is_finished());
    kubelet.release();
    staging.join().unwrap().unwrap();
    let drained = drain.end();
    assert_eq!(drained.code, Some(0), "{}", drained.output);
    assert!(
        drained.output.contains("no call runs"),
        "{}",
        drained.output
    );
}

#[test]
fn a_drain_of_an_idle_driver_succeeds_and_one_without_a_driver_fails() {
    let kubelet = Kubelet::new();
    let mut driver = Driver::start(&kubelet);
    for _ in 0..2 {
        let drained = kubelet.run(&["node", "drain"], &[]);
        assert_eq!(drained.code, Some(0), "{}", drained.output);
    }
    assert_eq!(driver.terminate(), Some(0));
    let drained = kubelet.run(&["node", "drain"], &[]);
    assert_eq!(drained.code, Some(1), "{}", drained.output);
    assert!(
        drained.output.contains("cannot connect"),
        "{}",
        drained.output
    );
}

/// Guards: P7
#[test]
fn deregister_removes_the_drivers_socket_and_no_other() {
    let kubelet = Kubelet::new();
    let driver = Driver::start(&kubelet);
    let path = kubelet.registration_path();
    let elsewhere = format!("-registration-endpoint={}", path.display());
    let other = kubelet.run(&["node", "deregister"], &["-drivername=other", &elsewhere]);
    assert_eq!(other.code, Some(1), "{}", other.output);
    assert!(
        other.output.contains("wincsi.io is registered"),
        "{}",
        other.output
    );
    assert!(path.exists());
    // One that is not drained makes another.
    assert_eq!(kubelet.run(&["node", "drain"], &[]).code, Some(0));
    // Removed also from under a driver that runs, and from one that was killed.
    for _ in 0..2 {
        let removed = kubelet.run(&["node", "deregister"], &[]);
        assert_eq!(removed.code, Some(0), "{}", removed.output);
        assert!(!path.exists());
    }
    drop(driver);
    drop(Driver::start(&kubelet));
    assert!(path.exists());
    assert_eq!(kubelet.run(&["node", "deregister"], &[]).code, Some(0));
    assert!(!path.exists());
}

#[test]
fn a_file_of_the_sockets_name_is_left() {
    let kubelet = Kubelet::new();
    std::fs::write(kubelet.registration_path(), "of somebody").unwrap();
    let refused = kubelet.run(&["node", "deregister"], &[]);
    assert_eq!(refused.code, Some(1), "{}", refused.output);
    assert!(kubelet.registration_path().exists());
}

/// On Windows a server refuses to close a folder that has more in it than sockets.
/// Guards: P5
#[test]
fn the_folder_of_the_sockets_is_closed_before_the_records_lie_in_it() {
    let kubelet = Kubelet::new();
    let _driver = Driver::start(&kubelet);
    let folder = kubelet.csi_path().parent().unwrap().to_owned();
    assert!(folder.join("volumes").is_dir());
    let mode = folder.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Guards: P83
#[test]
fn a_driver_serves_volumes_while_another_has_the_path_of_its_registration() {
    let kubelet = Kubelet::new();
    std::fs::write(kubelet.registration_path(), "of somebody").unwrap();
    let driver = Driver::start(&kubelet);
    driver.wait_for_line("wincsi.io-reg.sock");
    call::<Probe>(&kubelet.csi(), &ProbeRequest {}).unwrap();
    let (status, reason) = driver.get("/readyz");
    assert_eq!(status, 503);
    assert!(reason.contains("wincsi.io-reg.sock"), "{reason}");
    let file = std::fs::read(kubelet.registration_path()).unwrap();
    assert_eq!(file, b"of somebody");
}

#[test]
fn kubelet_finds_no_registration_before_csi_is_served() {
    let kubelet = Kubelet::new();
    std::fs::create_dir_all(kubelet.csi_path().parent().unwrap()).unwrap();
    std::fs::write(kubelet.csi_path(), "of somebody").unwrap();
    let refused = kubelet.run(&["node"], &[]);
    assert_eq!(refused.code, Some(1), "{}", refused.output);
    assert!(refused.output.contains("csi.sock"), "{}", refused.output);
    assert!(
        !kubelet.registration_path().exists(),
        "kubelet would call a CSI that is not served"
    );
}

#[test]
fn kubelet_that_does_not_call_gets_another_socket() {
    let kubelet = Kubelet::new();
    let driver = Driver::with_flags(&kubelet, &["-registration-timeout=1"]);
    driver.wait_for_line("the socket is made anew");
    driver.wait_for("it is counted", |driver| {
        driver.figure("wincsi_registration_renewals_total") > 0
    });
    // A call may come while the socket is made anew once more.
    driver.wait_for("kubelet registers it", |_| {
        kubelet.try_to_register().is_ok()
    });
}

#[test]
fn a_sidecar_may_register_the_driver() {
    let kubelet = Kubelet::new();
    let driver = Driver::with_flags(&kubelet, &["-registration=off"]);
    driver.wait_for_line("records compared");
    driver.wait_for("it is ready", |driver| driver.get("/readyz").0 == 200);
    assert!(!kubelet.registration_path().exists());
}
