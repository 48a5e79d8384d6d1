//! HTTP/2 by hand, for misbehaving clients.

use std::io::{Read, Write};

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// One frame, encoded.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The first bytes of a connection.
pub fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

/// The first bytes of a connection, with the ACK of the server's settings.
pub fn opening_with_ack() -> Vec<u8> {
    [opening(), frame(SETTINGS, 1, 0, &[])].concat()
}

/// An opening with the largest windows, for a great many responses.
pub fn opening_with_window() -> Vec<u8> {
    let window = 0x7fff_ffff_u32;
    let setting = [&[0, 4][..], &window.to_be_bytes()].concat();
    let more = (window - 0xffff).to_be_bytes();
    [
        PREFACE,
        &frame(SETTINGS, 0, 0, &setting),
        &frame(WINDOW_UPDATE, 0, 0, &more),
    ]
    .concat()
}

/// A header block of literals without indexing.
pub fn block(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name.as_bytes(), value] {
            assert!(text.len() < 127, "one byte of length");
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text);
        }
    }
    block
}

/// A call's header block with this authority.
pub fn call_block(method: &str, authority: &[u8]) -> Vec<u8> {
    block(&[
        (":method", b"POST"),
        (":scheme", b"http"),
        (":path", method.as_bytes()),
        (":authority", authority),
        ("content-type", b"application/grpc"),
        ("te", b"trailers"),
    ])
}

/// A whole call without an authority.
pub fn call_without_authority(stream: u32, method: &str, bytes: &[u8]) -> Vec<u8> {
    let fields: [(&str, &[u8]); 5] = [
        (":method", b"POST"),
        (":scheme", b"http"),
        (":path", method.as_bytes()),
        ("content-type", b"application/grpc"),
        ("te", b"trailers"),
    ];
    let headers = frame(HEADERS, END_HEADERS, stream, &block(&fields));
    [headers, frame(DATA, END_STREAM, stream, &message(bytes))].concat()
}

/// A message with gRPC's prefix.
pub fn message(bytes: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
    framed.extend(bytes);
    framed
}

/// A whole call.
pub fn call(stream: u32, method: &str, authority: &[u8], bytes: &[u8]) -> Vec<u8> {
    let headers = frame(HEADERS, END_HEADERS, stream, &call_block(method, authority));
    [headers, frame(DATA, END_STREAM, stream, &message(bytes))].concat()
}

/// A frame as it came.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// Reads one frame, or None when the server has closed the connection.
pub fn read_frame(from: &mut impl Read) -> Option<Frame> {
    let mut head = [0; 9];
    from.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    from.read_exact(&mut payload).ok()?;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some(Frame {
        kind: head[3],
        flags: head[4],
        stream,
        payload,
    })
}

/// Writes and reads until the call on `stream` has ended; the bodies of its DATA frames.
pub fn exchange(with: &mut (impl Read + Write), bytes: &[u8], stream: u32) -> Option<Vec<u8>> {
    with.write_all(bytes).unwrap();
    let mut body = Vec::new();
    loop {
        let frame = read_frame(with)?;
        if frame.stream != stream {
            continue;
        }
        match frame.kind {
            DATA => body.extend(frame.payload),
            RST_STREAM => return None,
            _ => {}
        }
        if matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0 {
            return Some(body);
        }
    }
}

/// A GOAWAY's last stream and reason.
pub fn goaway(frame: &Frame) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(frame.payload[at..at + 4].try_into().unwrap());
    (number(0), number(4))
}

/// The next frame of a kind.
pub fn frame_of(stream: &mut impl Read, kind: u8) -> Frame {
    loop {
        let frame = read_frame(stream).unwrap();
        if frame.kind == kind {
            return frame;
        }
    }
}

/// The last streams of all GOAWAYs until the connection is closed.
pub fn goaways(stream: &mut impl Read) -> Vec<u32> {
    let mut last = Vec::new();
    while let Some(frame) = read_frame(stream) {
        if frame.kind == GOAWAY {
            let (stream, reason) = goaway(&frame);
            assert_eq!(reason, 0, "nobody did anything wrong");
            last.push(stream);
        }
    }
    last
}
