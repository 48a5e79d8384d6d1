use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::path::PathBuf;

use rustix::process::Pid;
use rustix::process::Signal;

use crate::call;
use crate::call::Held;
use crate::exe::Server;
use crate::exe::exe;

/// Listens on a server's endpoint before it.
pub(crate) fn take_endpoint(folder: &Path, name: &str) -> UnixListener {
    let sockets = folder.join("sockets");
    fs::create_dir(&sockets).expect("a folder for sockets");
    UnixListener::bind(socket(folder, name)).expect("nobody listens yet")
}

/// Sends bytes to an endpoint, and goes.
pub(crate) fn send_to(folder: &Path, name: &str, bytes: &[u8]) {
    let stream = UnixStream::connect(socket(folder, name));
    // The server may hang up before it has all.
    let _ = stream.expect("it listens").write_all(bytes);
}

fn socket(folder: &Path, name: &str) -> PathBuf {
    folder.join("sockets").join(format!("{name}.sock"))
}

#[test]
fn there_is_no_service_control_manager_here_and_that_is_said() {
    for command in ["install", "uninstall", "start", "stop", "status"] {
        let ended = exe(&["service", command]);
        assert_eq!(ended.code, Some(1), "{command}");
        assert!(
            ended
                .output
                .contains("there is no service control manager on this system"),
            "{command}: {}",
            ended.output
        );
    }
    let ended = exe(&["-windows-service"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.output.contains("-windows-service needs Windows"));
}

#[test]
fn without_a_simulated_node_there_is_nothing_to_serve_here() {
    let ended = exe(&[] as &[&str]);
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let text = "start failed: only Windows has disks, shares and services that can be served: name a simulated node with -simulate=FOLDER";
    assert!(ended.output.contains(text), "{}", ended.output);
}

#[test]
fn a_signal_lets_the_call_in_flight_end_first() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start();
        assert!(call::answers(server.folder.path()));
        let held = Held::begin(server.folder.path());
        send(&server, signal);
        server.wait_for("] stopping: ");
        held.assert_unanswered();
        held.let_go().expect("the call ends well");
        assert_eq!(server.end().code(), Some(0), "{}", server.output());
        assert!(
            server.output().contains("abandoned_calls: 0"),
            "{}",
            server.output()
        );
    }
}

#[test]
fn a_call_that_does_not_end_is_left_when_the_drain_is_over() {
    let mut server = Server::with_flags(&["-drain-timeout=1"]);
    let held = Held::begin(server.folder.path());
    send(&server, Signal::TERM);
    assert_eq!(server.end().code(), Some(0), "{}", server.output());
    let output = server.output();
    assert!(output.contains("abandoned_calls: 1"), "{output}");
    assert!(held.let_go().is_err());
}

#[test]
fn a_second_signal_ends_the_process_at_once() {
    let mut server = Server::start();
    let held = Held::begin(server.folder.path());
    send(&server, Signal::TERM);
    server.wait_for("] stopping: ");
    send(&server, Signal::TERM);
    assert_eq!(server.end().code(), Some(1), "{}", server.output());
    assert!(held.let_go().is_err());
}

fn send(server: &Server, signal: Signal) {
    let id = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    rustix::process::kill_process(id.expect("a process id"), signal).expect("it lives");
}
