//! Bytes that are no request, or a malformed one: their sender gets an answer, and no other client notices.

use prost::encoding::WireType;
use transport::Code;

use crate::fixture::ServerFixture;
use crate::messages::{Leaf, Request, key, number, text};
use crate::pace;

/// The server's largest message.
const MOST: usize = 4 << 20;

const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0001,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

const WIRE_TYPES: [WireType; 6] = [
    WireType::Varint,
    WireType::SixtyFourBit,
    WireType::LengthDelimited,
    WireType::StartGroup,
    WireType::EndGroup,
    WireType::ThirtyTwoBit,
];

#[test]
fn no_bytes_harm_anybody_whatever_method_they_are_sent_to() {
    let fixture = ServerFixture::new();
    let mut methods = 0;
    each_method(|group, method, request| {
        methods += 1;
        for bytes in pace::some(odd(&fixture, request).iter(), methods) {
            if let Err(status) = fixture.send(group, method, bytes) {
                let expected = [Code::Unknown, Code::Internal];
                assert!(expected.contains(&status.code), "{}: {status}", method.path);
            }
        }
        fixture.assert_well(method.path);
    });
    assert_eq!(methods, 139);
}

#[test]
fn four_mebibytes_of_junk_are_refused_by_every_method() {
    let fixture = ServerFixture::new();
    let full = vec![0xff; MOST];
    let over = vec![0; MOST + 1];
    let mut methods = 0;
    each_method(|group, method, _| {
        methods += 1;
        if !pace::has_turn(methods) {
            return;
        }
        let status = fixture.send(group, method, &full).expect_err("junk");
        assert_eq!(status.code, Code::Internal, "{}: {status}", method.path);
        let status = fixture.send(group, method, &over).expect_err("too long");
        assert_eq!(status.code, Code::ResourceExhausted, "{status}");
        fixture.assert_well(method.path);
    });
}

#[test]
fn what_a_later_version_may_add_is_passed_over() {
    let fixture = ServerFixture::new();
    let mut methods = 0;
    each_method(|group, method, request| {
        methods += 1;
        if !pace::has_turn(methods) {
            return;
        }
        let mut message = request.encode(&|leaf, field| fixture.ordinary(leaf, field));
        let plain = fixture.send(group, method, &message);
        message.extend(number(1000, u64::MAX));
        message.extend(text(1001, b"new"));
        let status = fixture.send(group, method, &message);
        let (plain, status) = (plain.err(), status.err());
        let is_refused = |status: Option<transport::Status>| {
            status.is_some_and(|status| status.code == Code::Internal)
        };
        assert!(!is_refused(plain) && !is_refused(status), "{}", method.path);
    });
}

fn each_method(mut each: impl FnMut(&wire::Group, &wire::Method, &Request)) {
    for group in wire::GROUPS {
        for method in group.methods {
            each(group, method, &Request::of(group, method));
        }
    }
}

fn odd(fixture: &ServerFixture, request: &Request) -> Vec<Vec<u8>> {
    let ordinary = |leaf: &Leaf, field| fixture.ordinary(leaf, field);
    let whole = request.encode(&ordinary);
    let mut bytes = junk();
    // A step that divides nothing, so each place has its turn in some method.
    let places = || (0..whole.len()).step_by(whole.len() / 29 + 1);
    bytes.extend(places().map(|length| whole[..length].to_vec()));
    bytes.extend(places().map(|at| flipped(&whole, at)));
    for leaf in &request.leaves() {
        let with = |value: &dyn Fn(u32) -> Vec<u8>| request.with(leaf, value, &ordinary);
        if !leaf.is_text {
            bytes.extend(NUMBERS.map(|value| with(&|field| number(field, value))));
        }
        bytes.extend(WIRE_TYPES.map(|kind| with(&|field| [key(field, kind), vec![1; 8]].concat())));
        bytes.push(with(&|field| {
            [number(field, 1), text(field, b"x")].concat()
        }));
        bytes.push(with(&|_| Vec::new()));
        // Twelve bytes of a number, a length beyond everything.
        for kind in [WireType::Varint, WireType::LengthDelimited] {
            bytes.push(with(&|field| [key(field, kind), vec![0xff; 12]].concat()));
        }
        let endless = [vec![0xff; 9], vec![1]].concat();
        bytes.push(with(&|field| {
            [&key(field, WireType::LengthDelimited)[..], &endless].concat()
        }));
    }
    bytes
}

/// Bytes unlike any request.
fn junk() -> Vec<Vec<u8>> {
    let deep = key(1, WireType::StartGroup).repeat(100_000);
    let nested = (0..300).fold(Vec::new(), |inner, _| text(1, &inner));
    let mut junk = vec![
        Vec::new(),
        vec![0; 64],
        vec![0xff; 64],
        vec![0x80; 11],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"{\"path\": \"C:\\\\var\"}".to_vec(),
        deep,
        nested,
        // There is no field 0.
        vec![0, 1],
        number((1 << 29) - 1, 1),
        text(1, &vec![b'x'; 1 << 16]),
    ];
    junk.extend((0..=u8::MAX).step_by(7).map(|byte| vec![byte]));
    junk
}

fn flipped(whole: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[at] ^= 0x55;
    bytes
}
