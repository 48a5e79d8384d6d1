//! Malformed input: each client gets an error of its own, and no other client notices.

use std::io::Write;

use http::Request;
use transport::{Channel, ServerOptions};

use super::support;
use super::support::multiplexed::{Multiplexed, Reply};
use super::support::{Fixture, call, frames};

const MIB: usize = 1 << 20;
const ECHO: &str = "/v1.Test/Echo";
/// SETTINGS_INITIAL_WINDOW_SIZE.
const INITIAL_WINDOW: [u8; 2] = [0, 4];

/// A server, and a well-behaved client after its first call.
fn served() -> (Fixture, Channel) {
    let fixture = Fixture::new(ServerOptions::default());
    let channel = fixture.channel();
    assert_eq!(call(&channel, ECHO, b"before"), b"before");
    (fixture, channel)
}

/// The well-behaved client still has its connection.
fn nobody_else_noticed(fixture: &Fixture, channel: &Channel) {
    assert_eq!(call(channel, ECHO, b"after"), b"after");
    support::eventually("the rude ones are forgotten", || {
        fixture.server.usage().connections == 1
    });
    assert_eq!(fixture.server.usage().running_calls, 0);
}

/// Sends a body as one call's, and returns its status.
fn status_of(client: &mut Multiplexed, headers: &[(&str, &str)], body: &[u8]) -> (u32, String) {
    let mut request = Request::post(format!("http://localhost{ECHO}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let sent = client.send_raw(request.body(()).unwrap(), body);
    status(&client.wait(sent).unwrap())
}

fn status(reply: &Reply) -> (u32, String) {
    (reply.code(), reply.text())
}

#[test]
fn four_mebibytes_of_junk_instead_of_a_preface_are_one_clients_trouble() {
    let (fixture, channel) = served();
    for junk in [0, 0x20, 0x50, 0xff] {
        let mut raw = fixture.raw();
        // It is closed before all is written.
        let _ = support::write_or_closed(&mut raw, &vec![junk; 4 * MIB]);
        assert_eq!(support::read_to_close(&mut raw), b"");
    }
    nobody_else_noticed(&fixture, &channel);
}

#[test]
fn four_mebibytes_of_junk_after_a_preface_are_one_clients_trouble() {
    let (fixture, channel) = served();
    let mut raw = fixture.raw();
    raw.write_all(&frames::opening()).unwrap();
    let _ = support::write_or_closed(&mut raw, &vec![0x55; 4 * MIB]);
    support::read_to_close(&mut raw);
    nobody_else_noticed(&fixture, &channel);
}

/// Guards: P26
#[test]
fn a_request_one_byte_over_the_limit_gets_grpc_gos_words() {
    let (fixture, channel) = served();
    let refused = support::call_err(&channel, ECHO, &vec![0; 4 * MIB + 1]);
    assert_eq!(
        refused.to_string(),
        "ResourceExhausted: grpc: received message larger than max (4194305 vs. 4194304)"
    );
    nobody_else_noticed(&fixture, &fixture.channel());
}

#[test]
fn bad_framing_gets_grpc_gos_codes_and_words() {
    let (fixture, channel) = served();
    let mut client = Multiplexed::open(fixture.raw());
    let mut refused = |body: &[u8]| status_of(&mut client, &[], body);
    let internal = |text: &str| (13, text.to_owned());
    let none = "cardinality violation: received no request message from non-client-streaming RPC";
    let two =
        "cardinality violation: received multiple request messages for non-client-streaming RPC";
    let cut = "unexpected EOF";
    assert_eq!(refused(&[]), internal(none));
    assert_eq!(refused(&[0, 0, 0]), internal(cut));
    assert_eq!(refused(&[0, 0, 0, 0, 9, b'x']), internal(cut));
    assert_eq!(refused(&[0; 10]), internal(two));
    assert_eq!(
        refused(&[1, 0, 0, 0, 0]),
        internal("grpc: compressed flag set with identity or empty encoding")
    );
    assert_eq!(
        refused(&[7, 0, 0, 0, 0]),
        internal("grpc: received unexpected payload format 7")
    );
    let huge = "grpc: received message larger than max (4294967295 vs. 4194304)";
    assert_eq!(refused(&[0, 0xff, 0xff, 0xff, 0xff]), (8, huge.to_owned()));
    drop(client);
    nobody_else_noticed(&fixture, &channel);
}

#[test]
fn a_compression_that_we_do_not_have_is_named() {
    let (fixture, channel) = served();
    let mut client = Multiplexed::open(fixture.raw());
    let body = [1, 0, 0, 0, 1, b'x'];
    let text = r#"grpc: Decompressor is not installed for grpc-encoding "gzip""#;
    assert_eq!(
        status_of(&mut client, &[("grpc-encoding", "gzip")], &body),
        (12, text.to_owned())
    );
    let plain = [0, 0, 0, 0, 0];
    let (code, _) = status_of(&mut client, &[("grpc-encoding", "identity")], &plain);
    assert_eq!(code, 0, "identity is no compression");
    drop(client);
    nobody_else_noticed(&fixture, &channel);
}

#[test]
fn unknown_methods_and_odd_paths_are_unimplemented() {
    let (fixture, channel) = served();
    let mut client = Multiplexed::open(fixture.raw());
    let mut called = |path: &str| {
        let sent = client.send(path, b"x", &[]);
        status(&client.wait(sent).unwrap())
    };
    let unknown = "unknown method Nothing for service v1.Test".to_owned();
    assert_eq!(called("/v1.Test/Nothing"), (12, unknown));
    for path in [
        "/",
        "/v1.Test",
        "/v1.Test/",
        "//",
        "/v1.Test/Echo/More",
        "/v9.Other/Echo",
    ] {
        assert_eq!(called(path).0, 12, "{path}");
    }
    drop(client);
    nobody_else_noticed(&fixture, &channel);
}

/// A small block that grows by four thousand bytes with each byte: a stored field, repeated.
#[test]
fn a_header_bomb_goes_off_for_its_sender_alone() {
    let (fixture, channel) = served();
    let mut block = frames::call_block(ECHO, b"localhost");
    block.extend([0x40, 1, b'b', 0x7f, 0xa1, 0x1e]);
    block.extend([b'x'; 4000]);
    block.extend([0xbe; 10_000]);
    let mut raw = fixture.raw();
    let bomb = frames::frame(frames::HEADERS, frames::END_HEADERS, 1, &block);
    raw.write_all(&[frames::opening(), bomb].concat()).unwrap();
    let answer = frames::exchange(&mut raw, &[], 1);
    assert_ne!(answer, Some(frames::message(b"")), "no such call is run");
    drop(raw);
    nobody_else_noticed(&fixture, &channel);
}

/// Guards: P26
#[test]
fn header_blocks_without_an_end_are_bounded() {
    let (fixture, channel) = served();
    let mut raw = fixture.raw();
    let mut bytes = frames::opening();
    bytes.extend(frames::frame(frames::HEADERS, 0, 1, &[0x82; 16_000]));
    raw.write_all(&bytes).unwrap();
    let more = frames::frame(frames::CONTINUATION, 0, 1, &[0x82; 16_000]);
    support::write_to_close(&mut raw, &more);
    drop(raw);
    nobody_else_noticed(&fixture, &channel);
}

#[test]
fn odd_settings_and_windows_are_one_clients_trouble() {
    let (fixture, channel) = served();
    let window = [&INITIAL_WINDOW[..], &[0xff; 4]].concat();
    let bad = [
        frames::frame(frames::SETTINGS, 0, 0, &window),
        frames::frame(frames::SETTINGS, 0, 3, &[]),
        frames::frame(frames::WINDOW_UPDATE, 0, 0, &[0; 4]),
        frames::frame(frames::PING, 0, 0, &[1, 2, 3]),
        frames::frame(frames::HEADERS, frames::END_HEADERS, 2, &[0x82]),
    ];
    for bytes in bad {
        let mut raw = fixture.raw();
        raw.write_all(&[frames::opening(), bytes].concat()).unwrap();
        support::read_to_close(&mut raw);
    }
    nobody_else_noticed(&fixture, &channel);
}

#[test]
fn an_endless_flood_of_resets_is_one_clients_trouble() {
    let (fixture, channel) = served();
    let mut raw = fixture.raw();
    raw.write_all(&frames::opening()).unwrap();
    let block = frames::call_block(ECHO, b"localhost");
    for stream in (1..).step_by(2).take(100_000) {
        let head = frames::frame(frames::HEADERS, frames::END_HEADERS, stream, &block);
        let reset = frames::frame(frames::RST_STREAM, 0, stream, &8u32.to_be_bytes());
        if raw.write_all(&[head, reset].concat()).is_err() {
            break;
        }
    }
    drop(raw);
    nobody_else_noticed(&fixture, &channel);
}

#[test]
fn an_error_that_repeats_a_large_request_still_reaches_its_caller() {
    let (fixture, channel) = served();
    let status = support::call_err(&channel, "/v1.Test/Fail", &vec![b'%'; 4 * MIB]);
    assert!(status.message.starts_with("%%%"), "{}", status.code);
    assert!(status.message.len() < 64 << 10);
    nobody_else_noticed(&fixture, &channel);
}
