//! The program's life as a service, from its installation to its removal.

use std::path::{self, Path};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::{fs, thread};

use tempfile::TempDir;

use crate::call::{self, HangingCall};
use crate::exe::{Ended, TIMEOUT, exe, look_until, turn};

/// Guards: P14, P15
#[test]
fn a_service_is_installed_runs_drains_and_is_removed() {
    let _turn = turn();
    let service = Service::new();
    service.does("install", 0, "is installed");
    let stopped = service.does("status", 3, "state: stopped");
    assert_eq!(command_line(&stopped), service.expected_command_line());
    service.does("install", 0, "was installed already");
    assert_eq!(
        command_line(&service.status()),
        service.expected_command_line()
    );
    service.does("start", 0, "runs");
    // Running is said when the pipes answer, not before.
    assert!(call::answers(service.folder()) && call::disks_answer(service.folder()));
    service.does("status", 0, "state: running");
    service.does("start", 0, "runs already");
    service.drains_before_it_stops();
    service.does("status", 3, "last end: exit code 0 of Windows");
    service.does("stop", 0, "does not run");
    service.does("uninstall", 0, "is removed");
    service.does("status", 4, "is not installed");
    service.does("uninstall", 0, "is not installed");
    service.does("start", 1, "is not installed");
}

/// As scripts for csi-proxy do, without our installation: own process, LocalSystem, on demand.
#[test]
fn a_service_that_sc_created_runs_drains_and_stops() {
    let _turn = turn();
    let service = Service::without_spaces();
    let program = path::absolute(env!("CARGO_BIN_EXE_csi-proxy")).expect("the program's path");
    let [node, log, to_file, _] = service.flags();
    let line = format!(
        "{} -windows-service {log} {to_file} {node}",
        program.display()
    );
    sc(&["create", &service.name, "binPath=", &line]);
    let stopped = service.does("status", 3, "state: stopped");
    assert!(stopped.contains(&line), "{stopped}");
    sc(&["start", &service.name]);
    look_until(
        || format!("a service that runs: {}", service.log()),
        || service.status().contains("state: running"),
    );
    assert!(call::answers(service.folder()) && call::disks_answer(service.folder()));
    service.drains_before_it_stops();
    service.does("status", 3, "last end: exit code 0 of Windows");
    sc(&["delete", &service.name]);
    service.does("status", 4, "is not installed");
}

/// Runs the system's own tool; it must succeed.
fn sc(arguments: &[&str]) {
    let done = Command::new("sc.exe").args(arguments).output();
    let done = done.expect("the tool runs");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

#[test]
fn weakness_5_a_running_service_is_stopped_before_it_is_removed() {
    let _turn = turn();
    let service = Service::new();
    service.does("install", 0, "is installed");
    service.does("start", 0, "runs");
    service.does("uninstall", 0, "is removed");
    assert!(service.log().contains("] stopped: "), "{}", service.log());
}

/// Guards: P14
#[test]
fn weakness_4_a_failed_start_reaches_the_caller_the_status_and_the_log() {
    let _turn = turn();
    let service = Service::new();
    fs::write(service.folder().join("node"), "no folder").expect("a file");
    service.does("install", 0, "is installed");
    service.does("start", 1, "exit code 1 of its own");
    service.does("status", 3, "last end: exit code 1 of its own");
    assert!(
        service.log().contains("start failed: "),
        "{}",
        service.log()
    );
}

/// Guards: P14
#[test]
fn weakness_5_a_process_that_is_no_service_says_so() {
    let _turn = turn();
    let ended = exe(&["-windows-service"]);
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    assert!(ended.output.contains("1063"), "{}", ended.output);
    assert!(!ended.output.contains("panicked"), "{}", ended.output);
    let ended = exe(&["-windows-service", "-nonsense"]);
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    assert!(
        ended.output.contains("not defined: -nonsense"),
        "{}",
        ended.output
    );
}

/// Under Wine every file belongs to the user and not to Administrators; on Windows a build folder has its user's
/// rights.
/// Guards: P11
#[test]
fn a_program_that_others_can_change_is_not_installed() {
    let _turn = turn();
    let name = "-name=wincsi-test-folder";
    let ended = exe(&["service", "install", name]);
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    for words in ["can be changed by", "Program Files", "-any-folder"] {
        assert!(ended.output.contains(words), "{}", ended.output);
    }
    assert_eq!(exe(&["service", "status", name]).code, Some(4));
}

/// Guards: P12
#[test]
fn a_service_of_somebody_else_is_left_alone() {
    let _turn = turn();
    for command in ["install", "uninstall"] {
        let ended = exe(&["service", command, "-name=PlugPlay"]);
        assert_eq!(ended.code, Some(1), "{command}: {}", ended.output);
        assert!(
            ended.output.contains("runs another program"),
            "{}",
            ended.output
        );
    }
    assert_ne!(exe(&["service", "status", "-name=PlugPlay"]).code, Some(4));
}

/// A service with a name and a folder of its own, removed when dropped.
pub(crate) struct Service {
    name: String,
    folder: TempDir,
    node: Node,
}

/// The node of a service.
enum Node {
    Simulated,
    ThisMachine,
}

impl Service {
    fn new() -> Self {
        // With a space: an unquoted path breaks there.
        Self::serving(Node::Simulated, "a service ")
    }

    /// A service for this machine itself.
    pub(crate) fn of_this_machine() -> Self {
        Self::serving(Node::ThisMachine, "a service ")
    }

    /// For unquoted paths.
    fn without_spaces() -> Self {
        Self::serving(Node::Simulated, "service-")
    }

    fn serving(node: Node, prefix: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = tempfile::Builder::new().prefix(prefix).tempdir();
        Self {
            name: format!("wincsi-test-{}-{number}", process::id()),
            folder: folder.expect("a temporary folder"),
            node,
        }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn flags(&self) -> [String; 4] {
        let flag =
            |name: &str, path: &str| format!("-{name}={}", self.folder().join(path).display());
        // The trailing backslash would escape a quotation mark after it.
        [
            flag("simulate", "node"),
            flag("log_file", "log"),
            // As service definitions of the field have it.
            "-logtostderr=false".to_owned(),
            format!("{}\\", flag("working-dir", "a folder")),
        ]
    }

    fn expected_command_line(&self) -> String {
        let program = env!("CARGO_BIN_EXE_csi-proxy");
        let program = program.strip_prefix('"').unwrap_or(program);
        let file = Path::new(program).file_name().unwrap_or_default();
        let [node, log, to_file, folder] = self.flags();
        format!(
            "{} -windows-service \"{node}\" \"{log}\" {to_file} \"{folder}\\\"",
            file.to_string_lossy()
        )
    }

    fn run(&self, command: &str) -> Ended {
        let mut line = vec![
            "service".to_owned(),
            command.to_owned(),
            format!("-name={}", self.name),
        ];
        if command == "install" {
            // Tests run in a folder that the building user can write to.
            line.push("-any-folder".to_owned());
            line.push("--".to_owned());
            let [node, others @ ..] = self.flags();
            line.extend(matches!(self.node, Node::Simulated).then_some(node));
            line.extend(others);
        }
        exe(&line)
    }

    /// Runs a command; checks its exit code and words, and returns its output.
    pub(crate) fn does(&self, command: &str, code: i32, words: &str) -> String {
        let Ended { code: got, output } = self.run(command);
        let log = self.log();
        assert_eq!(got, Some(code), "{command}: {output}\n{log}");
        assert!(output.contains(words), "{command}: {output}\n{log}");
        output
    }

    fn status(&self) -> String {
        self.run("status").output
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    /// Stops the service while a call hangs in it.
    fn drains_before_it_stops(&self) {
        let held = HangingCall::begin(self.folder());
        thread::scope(|scope| {
            let (sender, stopped) = mpsc::channel();
            scope.spawn(move || sender.send(self.run("stop")));
            look_until(
                || "a service that stops".to_owned(),
                || self.status().contains("state: stopping"),
            );
            held.assert_unanswered();
            assert!(
                stopped.try_recv().is_err(),
                "the call hangs, so the service cannot have stopped"
            );
            held.let_go().expect("the call ends well");
            let stop = stopped.recv_timeout(TIMEOUT).expect("it stops");
            assert_eq!(stop.code, Some(0), "{}", stop.output);
            assert!(stop.output.contains("is stopped"), "{}", stop.output);
        });
        assert!(self.log().contains("abandoned_calls: 0"), "{}", self.log());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Gone already, unless the test failed.
        self.run("uninstall");
    }
}

/// The command line in a status, from the program's name on: its folder varies.
fn command_line(status: &str) -> String {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("command line: "));
    let line = line.unwrap_or_else(|| panic!("no command line in {status}"));
    let name = line
        .find("csi-proxy.exe")
        .unwrap_or_else(|| panic!("another program: {line}"));
    line[name..].to_owned()
}
