//! csi-proxy as a program: its exit codes, its life as a server and as a service, its imports.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

mod call;
mod ends;
mod exe;
// Only there can a process list another's handles.
#[cfg(target_os = "linux")]
mod handles;
mod limits;
mod log;
#[cfg(target_os = "linux")]
#[allow(dead_code, reason = "others make more of it")]
#[path = "../hostile/messages.rs"]
mod messages;
#[cfg(target_os = "linux")]
#[path = "../hostile/ordinary.rs"]
mod ordinary;
mod weaknesses;

#[cfg_attr(windows, path = "windows/mod.rs")]
#[cfg_attr(not(windows), path = "elsewhere/mod.rs")]
mod platform;

use exe::{Server, exe, turn};

#[test]
fn a_wrong_command_line_ends_with_2_and_the_usage() {
    for line in [
        &["-nonsense"][..],
        &["-v"],
        &["-require-privacy", "false", "-policy-file=x"],
        &["service"],
        &["service", "restart"],
        &["service", "install", "--", "-nonsense"],
        &["service", "install", "-windows-service=false"],
        &["service", "status", "-v=4"],
    ] {
        let ended = exe(line);
        assert_eq!(ended.code, Some(2), "{line:?}: {}", ended.output);
        assert!(ended.output.contains("Usage of csi-proxy"), "{line:?}");
    }
}

#[test]
fn the_version_and_the_help_of_services_are_told() {
    let version = exe(&["-version"]);
    assert_eq!(version.code, Some(0));
    assert!(version.output.contains(env!("CARGO_PKG_VERSION")));
    let help = exe(&["service", "help"]);
    assert_eq!(help.code, Some(0));
    for command in ["install", "uninstall", "start", "stop", "status"] {
        assert!(help.output.contains(&format!("service {command}")));
    }
}

#[test]
fn verbosity_5_shows_the_fields_of_requests_and_4_their_methods_alone() {
    const FIELDS: &str = r#" fields={"path":"C:\\var\\lib\\kubelet"}"#;
    let _turn = turn();
    for (flag, is_shown) in [
        ("-v=4", false),
        ("-v=5", true),
        ("-vmodule=middleware=5", true),
    ] {
        let mut server = Server::with_flags(&[flag]);
        assert!(call::answers(server.folder.path()));
        // The first such line has the fields, where they are shown.
        server.wait_for("request method=/v1.Filesystem/PathExists");
        let output = server.output();
        assert_eq!(output.contains(FIELDS), is_shown, "{flag}: {output}");
    }
}
