//! The program gets a request to end: a signal; on Windows a control event, raised as by container runtimes.

use crate::call::{self, HangingCall};
use crate::exe::{Server, turn};
use crate::platform;

#[test]
fn a_request_to_end_lets_the_call_in_flight_end_first() {
    let _turn = turn();
    for request in platform::REQUESTS {
        let mut server = Server::start();
        assert!(call::answers(server.folder.path()));
        let held = HangingCall::begin(server.folder.path());
        platform::ask_to_end(&server, request);
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
    let _turn = turn();
    let mut server = Server::with_flags(&["-drain-timeout=1"]);
    let held = HangingCall::begin(server.folder.path());
    platform::ask_to_end(&server, platform::REQUESTS[0]);
    assert_eq!(server.end().code(), Some(0), "{}", server.output());
    let output = server.output();
    assert!(output.contains("abandoned_calls: 1"), "{output}");
    assert!(held.let_go().is_err());
}

#[test]
fn a_second_request_ends_the_process_at_once() {
    let _turn = turn();
    let mut server = Server::start();
    let held = HangingCall::begin(server.folder.path());
    platform::ask_to_end(&server, platform::REPEATABLE);
    server.wait_for("] stopping: ");
    platform::ask_to_end(&server, platform::REPEATABLE);
    let code = server.end().code().expect("an exit code");
    let output = server.output();
    assert!(platform::CUT_SHORT.contains(&code), "{code}: {output}");
    assert!(!output.contains("] stopped: "), "{output}");
    assert!(held.let_go().is_err());
}
