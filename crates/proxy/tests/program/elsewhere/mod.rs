use std::fs;
use std::io::Write as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal};

use crate::exe::{Server, exe};

/// Listens on a server's endpoint before it.
pub(crate) fn take_endpoint(folder: &Path, name: &str) -> UnixListener {
    let sockets = folder.join("sockets");
    fs::create_dir_all(&sockets).expect("a folder for sockets");
    UnixListener::bind(socket(folder, name)).expect("nobody listens yet")
}

/// Sends bytes to an endpoint, and goes.
pub(crate) fn send_to(folder: &Path, name: &str, bytes: &[u8]) {
    let stream = UnixStream::connect(socket(folder, name));
    // The server may hang up before it has all.
    let _ = stream.expect("it listens").write_all(bytes);
}

/// The requests to end the program.
pub(crate) const REQUESTS: [Signal; 2] = [Signal::TERM, Signal::INT];

/// The request it takes a second time too.
pub(crate) const REPEATABLE: Signal = Signal::TERM;

/// The exit codes of a program after two requests.
pub(crate) const CUT_SHORT: &[i32] = &[1];

pub(crate) fn ask_to_end(server: &Server, signal: Signal) {
    let id = i32::try_from(server.process().id())
        .ok()
        .and_then(Pid::from_raw);
    rustix::process::kill_process(id.expect("a process id"), signal).expect("it lives");
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
