//! Calls as a client sees them: answers, statuses, deadlines, and calls on one connection.

use std::io::Write;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use transport::{CallError, Channel, Code, ServerOptions};

use super::support;
use super::support::multiplexed::Multiplexed;
use super::support::{Fixture, TIMEOUT, call, call_err, eventually, frames};

fn fixture() -> Fixture {
    Fixture::new(ServerOptions::default())
}

#[test]
fn answers_messages_of_every_size_up_to_the_limit() {
    let fixture = fixture();
    let channel = fixture.channel();
    for size in [0, 1, 5, 16_384, 70_000, 1 << 20, 4 << 20] {
        let message: Vec<u8> = (0u8..=255).cycle().take(size).collect();
        assert!(
            call(&channel, "/v1.Test/Echo", &message) == message,
            "{size} bytes"
        );
    }
}

#[test]
fn a_message_over_the_limit_is_refused_for_its_caller_alone() {
    let fixture = fixture();
    let channel = fixture.channel();
    let status = call_err(&channel, "/v1.Test/Echo", &vec![0; (4 << 20) + 1]);
    assert_eq!(status.code, Code::ResourceExhausted);
    assert!(status.message.contains("4194305 vs. 4194304"), "{status}");
    assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
}

const METADATA: &str = "x-test";

/// The service's metadata when a client sends this header, to a server with or without the option.
fn metadata(asked: Option<&'static str>, sent: &'static str) -> Result<String, Code> {
    let mut options = ServerOptions::default();
    options.metadata = asked;
    let fixture = Fixture::new(options);
    let mut options = support::channel_options();
    options.metadata = Some((METADATA, sent));
    let channel = Channel::connect(fixture.endpoint, options).unwrap();
    match channel.call("/v1.Test/Metadata", b"", Instant::now() + TIMEOUT) {
        Ok(given) => Ok(String::from_utf8(given).unwrap()),
        Err(CallError::Status(status)) => Err(status.code),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_service_is_given_the_one_header_that_the_server_reads() {
    let longest = str::repeat("x", 64).leak();
    for (asked, sent, given) in [
        (Some(METADATA), "strict", Ok(r#"Some("strict")"#.to_owned())),
        (Some(METADATA), &*longest, Ok(format!("Some({longest:?})"))),
        (
            Some(METADATA),
            str::repeat("x", 65).leak(),
            Err(Code::InvalidArgument),
        ),
        (Some("x-other"), "strict", Ok("None".to_owned())),
        (None, "strict", Ok("None".to_owned())),
    ] {
        assert_eq!(metadata(asked, sent), given, "{asked:?} {sent}");
    }
}

/// The trailer seen by a client that asks for this name.
fn trailer(asked: Option<&'static str>, sent: &str) -> Option<String> {
    let fixture = fixture();
    let mut options = support::channel_options();
    options.trailer = asked;
    let channel = Channel::connect(fixture.endpoint, options).unwrap();
    let status = call_err(&channel, "/v1.Test/Trailer", sent.as_bytes());
    assert_eq!((status.code, &*status.message), (Code::Unknown, "failed"));
    status.trailer.map(|(_, value)| value.into_string())
}

#[test]
fn an_error_carries_one_trailer_for_a_client_that_asks_for_it() {
    assert_eq!(trailer(Some(METADATA), "in-use").as_deref(), Some("in-use"));
    assert_eq!(trailer(Some("x-other"), "in-use"), None);
    assert_eq!(trailer(None, "in-use"), None);
    assert_eq!(trailer(Some(METADATA), "no\nheader"), None);
    assert_eq!(trailer(Some(METADATA), &"x".repeat(65)), None);
}

#[test]
fn an_unknown_method_is_unimplemented() {
    let fixture = fixture();
    let status = call_err(&fixture.channel(), "/v1.Test/Nothing", b"");
    assert_eq!(status.code, Code::Unimplemented);
    assert_eq!(status.message, "unknown method Nothing for service v1.Test");
}

#[test]
fn error_texts_arrive_as_they_were() {
    let fixture = fixture();
    let text = "path: C:\\x%20y is not within the working directories: [ä\n]";
    let status = call_err(&fixture.channel(), "/v1.Test/Fail", text.as_bytes());
    assert_eq!(
        (status.code, status.message.as_str()),
        (Code::Unknown, text)
    );
}

/// Guards: P25
#[test]
fn a_panic_is_answered_and_the_connection_goes_on() {
    let fixture = fixture();
    let channel = fixture.channel();
    for _ in 0..3 {
        assert_eq!(
            call_err(&channel, "/v1.Test/Panic", b"").code,
            Code::Internal
        );
    }
    assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
    assert_eq!(fixture.server.usage().connections, 1);
}

#[test]
fn the_service_learns_who_calls() {
    let fixture = fixture();
    let peer = call(&fixture.channel(), "/v1.Test/Peer", b"");
    let expected = match support::is_over_tcp() {
        true => "an unknown process".to_owned(),
        false => format!("process {}", std::process::id()),
    };
    assert_eq!(peer, expected.into_bytes());
}

#[test]
fn a_slow_call_holds_up_no_other_on_its_connection() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let slow = client.send("/v1.Test/Gate", b"slow", &[]);
    for index in 0..20u8 {
        let fast = client.send("/v1.Test/Echo", &[index], &[]);
        assert_eq!(client.wait(fast).unwrap().message(), [index]);
    }
    fixture.gate.open();
    assert_eq!(client.wait(slow).unwrap().message(), b"slow");
}

#[test]
fn many_slow_calls_on_one_connection_hold_up_no_fast_one() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let slow: Vec<_> = (0..50)
        .map(|_| client.send("/v1.Test/Gate", b"slow", &[]))
        .collect();
    let fast = client.send("/v1.Test/Echo", b"fast", &[]);
    assert_eq!(client.wait(fast).unwrap().message(), b"fast");
    fixture.gate.wait_for_waiting(50);
    fixture.gate.open();
    for call in slow {
        assert_eq!(client.wait(call).unwrap().message(), b"slow");
    }
}

#[test]
fn slow_calls_hold_up_no_other_connection() {
    let fixture = fixture();
    thread::scope(|scope| {
        let slow: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| call(&fixture.channel(), "/v1.Test/Gate", b"slow")))
            .collect();
        fixture.gate.wait_for_waiting(40);
        assert_eq!(call(&fixture.channel(), "/v1.Test/Echo", b"fast"), b"fast");
        assert_eq!(fixture.server.usage().running_calls, 40);
        fixture.gate.open();
        for call in slow {
            assert_eq!(call.join().unwrap(), b"slow");
        }
    });
}

/// Guards: P26
#[test]
fn calls_over_the_bound_are_refused_and_the_others_go_on() {
    let mut options = ServerOptions::default();
    options.max_running_calls = 2;
    let fixture = Fixture::new(options);
    let mut client = Multiplexed::open(fixture.raw());
    let slow = [(); 2].map(|()| client.send("/v1.Test/Gate", b"slow", &[]));
    fixture.gate.wait_for_waiting(2);
    let refused = client.send("/v1.Test/Echo", b"", &[]);
    assert_eq!(client.wait(refused).unwrap().code(), 8);
    assert_eq!(
        call_err(&fixture.channel(), "/v1.Test/Echo", b"").code,
        Code::ResourceExhausted
    );
    fixture.gate.open();
    for call in slow {
        assert_eq!(client.wait(call).unwrap().message(), b"slow");
    }
    let fast = client.send("/v1.Test/Echo", b"fast", &[]);
    assert_eq!(client.wait(fast).unwrap().message(), b"fast");
}

#[test]
fn calls_that_wait_keep_no_other_from_running_and_go_on_in_the_end() {
    let mut options = ServerOptions::default();
    options.max_running_calls = 2;
    options.max_waiting_calls = 70;
    let fixture = Fixture::new(options);
    let mut client = Multiplexed::open(fixture.raw());
    // More than the threads for running calls.
    let waiting: Vec<_> = (0..70)
        .map(|index| {
            let call = client.send("/v1.Test/Wait", b"waited", &[]);
            fixture.gate.wait_for_waiting(index + 1);
            call
        })
        .collect();
    let usage = fixture.server.usage();
    assert_eq!((usage.running_calls, usage.waiting_calls), (0, 70));
    let refused = client.send("/v1.Test/Wait", b"", &[]);
    assert_eq!(client.wait(refused).unwrap().code(), 8);
    assert_eq!(call(&fixture.channel(), "/v1.Test/Echo", b"fast"), b"fast");
    fixture.gate.open();
    for call in waiting {
        assert_eq!(client.wait(call).unwrap().message(), b"waited");
    }
    let usage = fixture.server.usage();
    assert_eq!((usage.running_calls, usage.waiting_calls), (0, 0));
}

#[test]
fn a_shutdown_waits_for_a_call_that_waits() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let waiting = client.send("/v1.Test/Wait", b"waited", &[]);
    fixture.gate.wait_for_waiting(1);
    let report = fixture.server.shutdown(Duration::from_millis(1));
    assert_eq!(report.abandoned_calls, 1);
    let _ = waiting;
    fixture.gate.open();
}

#[test]
fn a_passed_deadline_is_answered_while_the_call_goes_on() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let late = client.send("/v1.Test/Gate", b"", &[("grpc-timeout", "30m")]);
    assert_eq!(client.wait(late).unwrap().code(), 4);
    fixture.gate.wait_for_waiting(1);
    assert_eq!(fixture.server.usage().running_calls, 1);
    assert_eq!(fixture.gate.passed(), 0, "the call has not been cut");
    fixture.gate.open();
    fixture.gate.wait_for_passed(1);
    let next = client.send("/v1.Test/Echo", b"next", &[]);
    assert_eq!(client.wait(next).unwrap().message(), b"next");
}

#[test]
fn a_shutdown_waits_for_a_call_whose_client_has_left() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let _nobodys = client.send("/v1.Test/Gate", b"", &[]);
    fixture.gate.wait_for_waiting(1);
    drop(client);
    eventually("the client is forgotten", || {
        fixture.server.usage().connections == 0
    });
    shut_down_during_a_call(&fixture);
}

#[test]
fn a_shutdown_waits_for_a_call_whose_deadline_has_passed() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let late = client.send("/v1.Test/Gate", b"", &[("grpc-timeout", "100m")]);
    fixture.gate.wait_for_waiting(1);
    assert_eq!(client.wait(late).unwrap().code(), 4);
    shut_down_during_a_call(&fixture);
}

/// Shuts down while a call without a waiting client waits at the gate.
fn shut_down_during_a_call(fixture: &Fixture) {
    let mut silent = fixture.raw();
    eventually("it is in", || fixture.server.usage().connections > 0);
    thread::scope(|scope| {
        let stopping = scope.spawn(|| fixture.server.shutdown(TIMEOUT));
        support::read_to_close(&mut silent);
        eventually("all clients are gone", || {
            fixture.server.usage().connections == 0
        });
        assert!(!stopping.is_finished(), "a call runs");
        fixture.gate.open();
        let report = stopping.join().unwrap();
        assert_eq!((report.severed_connections, report.abandoned_calls), (0, 0));
        assert_eq!(fixture.gate.passed(), 1);
    });
}

#[test]
fn the_servers_own_deadline_caps_the_clients() {
    let mut options = ServerOptions::default();
    options.call_timeout = Duration::from_secs(5);
    let fixture = Fixture::new(options);
    let mut client = Multiplexed::open(fixture.raw());
    let mut left = |headers: &[(&str, &str)]| -> u64 {
        let sent = client.send("/v1.Test/Left", b"", headers);
        String::from_utf8_lossy(client.wait(sent).unwrap().message())
            .parse()
            .unwrap()
    };
    assert!(left(&[]) <= 5_000);
    assert!(left(&[("grpc-timeout", "1H")]) <= 5_000);
    assert!(left(&[("grpc-timeout", "2S")]) <= 2_000);
}

#[test]
fn a_client_without_patience_gets_its_deadline() {
    let fixture = fixture();
    let channel = fixture.channel();
    let called = channel.call(
        "/v1.Test/Gate",
        b"",
        Instant::now() + Duration::from_millis(30),
    );
    let is_deadline = match &called {
        Err(CallError::Deadline { .. }) => true,
        Err(CallError::Status(status)) => status.code == Code::DeadlineExceeded,
        _ => false,
    };
    assert!(is_deadline, "{called:?}");
    fixture.gate.open();
    assert_eq!(call(&channel, "/v1.Test/Echo", b"fine"), b"fine");
}

#[test]
fn a_call_that_is_taken_back_leaves_the_connection_whole() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let gone = client.send("/v1.Test/Gate", b"", &[]);
    fixture.gate.wait_for_waiting(1);
    client.cancel(gone);
    fixture.gate.open();
    let next = client.send("/v1.Test/Echo", b"next", &[]);
    assert_eq!(client.wait(next).unwrap().message(), b"next");
}

#[test]
fn what_is_not_grpc_is_told_so() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let json = client.send(
        "/v1.Test/Echo",
        b"",
        &[("content-type", "application/json")],
    );
    assert_eq!(
        client.wait(json).unwrap().http,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    let put =
        Request::put("http://localhost/v1.Test/Echo").header("content-type", "application/grpc");
    let put = client.send_raw(put.body(()).unwrap(), &frames::message(b""));
    assert_eq!(
        client.wait(put).unwrap().http,
        StatusCode::METHOD_NOT_ALLOWED
    );
    let odd = client.send("/v1.Test/Echo", b"", &[("grpc-timeout", "soon")]);
    assert_eq!(client.wait(odd).unwrap().http, StatusCode::BAD_REQUEST);
    let proto = client.send(
        "/v1.Test/Echo",
        b"x",
        &[("content-type", "application/grpc+proto")],
    );
    assert_eq!(client.wait(proto).unwrap().message(), b"x");
}

#[test]
fn bodies_that_are_not_one_message_are_refused() {
    let fixture = fixture();
    let mut client = Multiplexed::open(fixture.raw());
    let mut code = |body: &[u8]| {
        let request = Request::post("http://localhost/v1.Test/Echo");
        let request = request
            .header("content-type", "application/grpc")
            .body(())
            .unwrap();
        let sent = client.send_raw(request, body);
        client.wait(sent).unwrap().code()
    };
    assert_eq!(code(&[]), 13, "no message");
    assert_eq!(code(&[0, 0, 0]), 13, "half a prefix");
    assert_eq!(code(&[0, 0, 0, 0, 2, b'x']), 13, "half a message");
    assert_eq!(code(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), 13, "two messages");
    assert_eq!(code(&[1, 0, 0, 0, 0]), 13, "a compressed message");
    assert_eq!(code(&[0, 0xff, 0xff, 0xff, 0xff]), 8, "a message of 4 GiB");
    assert_eq!(code(&[0, 0, 0, 0, 0]), 0, "an empty message");
}

/// SMB passwords go through here, and a debug form ends up in a log one day.
#[test]
fn no_debug_form_has_a_messages_bytes() {
    const SECRET: &[u8] = b"hunter2 is no password";
    let fixture = fixture();
    let channel = fixture.channel();
    assert_eq!(call(&channel, "/v1.Test/Echo", SECRET), SECRET);
    let mut unfinished = fixture.raw();
    let mut bytes = [
        frames::opening(),
        frames::call(1, "/v1.Test/Echo", b"localhost", SECRET),
    ]
    .concat();
    bytes.pop();
    unfinished.write_all(&bytes).unwrap();
    let debugged = call(&channel, "/v1.Test/Debug", SECRET);
    let texts = [
        format!("{channel:?}"),
        format!("{:?}", fixture.server),
        String::from_utf8(debugged).unwrap(),
    ];
    for text in texts {
        let digits = text.replace([' ', '\n'], "");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(!digits.contains("104,117,110"), "{text}");
    }
}

#[test]
fn the_authorities_of_go_clients_are_accepted() {
    let fixture = fixture();
    let authorities: [&[u8]; 8] = [
        br"\\.\\pipe\\csi-proxy-disk-v1",
        b"%5C%5C.%5C%5Cpipe%5C%5Ccsi-proxy-disk-v1",
        b"unix:%2F%2FC:%5C%5Ccsi%5C%5Ccsi.sock",
        b"%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fa-reg.sock",
        b"/var/lib/kubelet/plugins_registry/a-reg.sock",
        br"C:\var\lib\kubelet\plugins_registry\a-reg.sock",
        b"localhost",
        b"",
    ];
    let mut raw = fixture.raw();
    let mut bytes = frames::opening();
    for (index, authority) in authorities.into_iter().enumerate() {
        let stream = u32::try_from(index * 2 + 1).unwrap();
        bytes.extend(frames::call(stream, "/v1.Test/Echo", authority, authority));
        let answer = frames::exchange(&mut raw, &bytes, stream);
        assert_eq!(
            answer,
            Some(frames::message(authority)),
            "{}",
            authority.escape_ascii()
        );
        bytes.clear();
    }
}

#[test]
fn a_request_without_an_authority_is_served() {
    let fixture = fixture();
    let call = frames::call_without_authority(1, "/v1.Test/Echo", b"fine");
    let bytes = [frames::opening(), call].concat();
    let answer = frames::exchange(&mut fixture.raw(), &bytes, 1);
    assert_eq!(answer, Some(frames::message(b"fine")));
}

/// All are incomplete when the window is used up, so each waits for room that only the others' bytes can give back.
#[test]
fn messages_that_together_outgrow_the_connections_window_all_come_in() {
    const STREAMS: [u32; 6] = [1, 3, 5, 7, 9, 11];
    const PART: usize = 16 << 10;
    let mut options = ServerOptions::default();
    // A connection's window is two messages and 128 KiB.
    options.max_message_bytes = 3 * PART;
    let fixture = Fixture::new(options);
    let mut raw = fixture.raw();
    raw.write_all(&frames::opening_with_window()).unwrap();
    let whole = frames::message(&[7; 3 * PART - 5]);
    let part = |stream, nth: usize| {
        let flags = if nth == 2 { frames::END_STREAM } else { 0 };
        let bytes = &whole[nth * PART..(nth + 1) * PART];
        frames::frame(frames::DATA, flags, stream, bytes)
    };
    let window = |raw: &mut _| frames::frame_of(raw, frames::WINDOW_UPDATE).stream;
    assert_eq!(window(&mut raw), 0, "which makes it as large");
    for stream in STREAMS {
        let block = frames::call_block("/v1.Test/Echo", b"localhost");
        let head = frames::frame(frames::HEADERS, frames::END_HEADERS, stream, &block);
        raw.write_all(&head).unwrap();
    }
    for nth in [0, 1] {
        let parts = STREAMS.map(|stream| part(stream, nth)).concat();
        raw.write_all(&parts).unwrap();
    }
    let last = STREAMS.map(|stream| part(stream, 2)).concat();
    let answer = in_time(move || {
        while window(&mut raw) != 0 {}
        frames::exchange(&mut raw, &last, STREAMS[5]).unwrap()
    });
    assert_eq!(answer, whole);
}

/// The result of a client that waits for the server on a thread of its own.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = channel();
    thread::spawn(move || sender.send(work()));
    done.recv_timeout(TIMEOUT).expect("the server goes on")
}

/// Answers from before the slow call are sent when it ends, and make room for the rest.
#[test]
fn answers_that_outgrow_the_output_go_out_whole_beside_a_slow_call() {
    let mut options = ServerOptions::default();
    // Each of the answers has 64 KiB.
    options.max_queued_output = 80 << 10;
    let fixture = Fixture::new(options);
    let mut raw = fixture.raw();
    let call = |stream, method, message| frames::call(stream, method, b"localhost", message);
    let bytes = [
        frames::opening_with_window(),
        call(1, "/v1.Test/Large", b""),
        call(3, "/v1.Test/Large", b""),
        call(5, "/v1.Test/Large", b""),
        call(7, "/v1.Test/Work", b"5000"),
    ];
    let answer = in_time(move || frames::exchange(&mut raw, &bytes.concat(), 5));
    assert_eq!(answer.unwrap().len(), 5 + (64 << 10));
}
