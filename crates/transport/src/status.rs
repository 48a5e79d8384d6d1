//! gRPC's status: a code, a text, and how both look on the wire.

use std::fmt::{self, Write as _};

use http::HeaderValue;
use thiserror::Error;

use crate::MethodPath;

/// How a call failed: the client's `grpc-status` and `grpc-message`.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("{code}: {message}")]
pub struct Status {
    /// The kind of failure.
    pub code: Code,
    /// The text for people; drivers match on it, so it is part of the contract.
    pub message: String,
    /// One more trailer, by its name in lower case, with its value. A client reads only its chosen one
    /// ([`crate::ChannelOptions::trailer`]).
    pub trailer: Option<(&'static str, Box<str>)>,
}

/// gRPC's status codes with their numbers
/// (<https://grpc.github.io/grpc/core/md_doc_statuscodes.html>). The set is complete.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "the names are the standard's own, explained at its URL"
)]
pub enum Code {
    Ok = 0,
    Cancelled = 1,
    Unknown = 2,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    DataLoss = 15,
    Unauthenticated = 16,
}

impl Status {
    /// A status of `code` with the text `message`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            trailer: None,
        }
    }

    /// The same status with this trailer.
    #[must_use]
    pub fn with_trailer(mut self, name: &'static str, value: impl Into<Box<str>>) -> Self {
        self.trailer = Some((name, value.into()));
        self
    }

    /// The answer to an unknown method, in grpc-go's words.
    pub fn unimplemented(path: &MethodPath) -> Self {
        let (service, method) = (path.service(), path.method());
        let text = match service {
            "" => format!("malformed method name: {:?}", path.as_str()),
            _ => format!("unknown method {method} for service {service}"),
        };
        Self::new(Code::Unimplemented, text)
    }
}

impl Code {
    const ALL: [(Self, &'static str); 17] = [
        (Self::Ok, "OK"),
        (Self::Cancelled, "Canceled"),
        (Self::Unknown, "Unknown"),
        (Self::InvalidArgument, "InvalidArgument"),
        (Self::DeadlineExceeded, "DeadlineExceeded"),
        (Self::NotFound, "NotFound"),
        (Self::AlreadyExists, "AlreadyExists"),
        (Self::PermissionDenied, "PermissionDenied"),
        (Self::ResourceExhausted, "ResourceExhausted"),
        (Self::FailedPrecondition, "FailedPrecondition"),
        (Self::Aborted, "Aborted"),
        (Self::OutOfRange, "OutOfRange"),
        (Self::Unimplemented, "Unimplemented"),
        (Self::Internal, "Internal"),
        (Self::Unavailable, "Unavailable"),
        (Self::DataLoss, "DataLoss"),
        (Self::Unauthenticated, "Unauthenticated"),
    ];

    /// The number on the wire.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The name in grpc-go's output and in its metrics' label `grpc_code`.
    pub fn name(self) -> &'static str {
        Self::ALL[usize::from(self.number())].1
    }

    /// The code of a number; an unknown number is `Unknown`, as gRPC requires.
    pub fn from_number(number: u64) -> Self {
        usize::try_from(number)
            .ok()
            .and_then(|index| Self::ALL.get(index))
            .map_or(Self::Unknown, |entry| entry.0)
    }

    pub(crate) fn header(self) -> HeaderValue {
        match self {
            Self::Ok => HeaderValue::from_static("0"),
            _ => HeaderValue::from(u16::from(self.number())),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The most of a text that is sent, in bytes. Many clients bound the size of headers, and a text
/// may repeat the client's own bytes.
const TEXT_LIMIT: usize = 8 << 10;

/// `grpc-message`: printable ASCII but `%` stands for itself, every other byte is `%XX`
/// (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses>).
///
/// Drops the part beyond [`TEXT_LIMIT`].
pub(crate) fn encode_message(message: &str) -> HeaderValue {
    let kept = &message[..message.floor_char_boundary(TEXT_LIMIT)];
    let more = if kept.len() < message.len() {
        "..."
    } else {
        ""
    };
    let mut text = String::with_capacity(kept.len() + more.len());
    for byte in kept.bytes().chain(more.bytes()) {
        match byte {
            b' '..=b'~' if byte != b'%' => text.push(char::from(byte)),
            _ => write!(text, "%{byte:02X}").expect("a String takes every write"),
        }
    }
    HeaderValue::try_from(text).expect("only printable ASCII was written")
}

/// The reverse of [`encode_message`]; malformed parts stay unchanged.
pub(crate) fn decode_message(value: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&first, tail)) = rest.split_first() {
        match escaped_byte(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"%")?.get(..2)?;
    let high = char::from(digits[0]).to_digit(16)?;
    let low = char::from(digits[1]).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_numbers_are_the_standards() {
        assert_eq!(Code::Unimplemented.number(), 12);
        assert_eq!(Code::Cancelled.name(), "Canceled");
        assert_eq!(Code::from_number(99), Code::Unknown);
        for (number, (code, _)) in Code::ALL.iter().enumerate() {
            assert_eq!(usize::from(code.number()), number);
        }
    }

    #[test]
    fn escapes_what_grpc_says() {
        let value = encode_message("a%b\n\u{e9}~");
        assert_eq!(value.as_bytes(), b"a%25b%0A%C3%A9~");
    }

    #[test]
    fn a_text_as_long_as_a_request_is_cut() {
        for (long, kept) in [("x", TEXT_LIMIT), ("\u{20ac}", TEXT_LIMIT / 3 * 3)] {
            let value = encode_message(&long.repeat(1 << 20));
            let text = decode_message(value.as_bytes());
            assert_eq!(text.len(), kept + 3, "{long}");
            assert!(text.ends_with(&format!("{long}...")));
        }
    }

    #[test]
    fn lone_percent_signs_survive_reading() {
        assert_eq!(decode_message(b"50% of %zz%4"), "50% of %zz%4");
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in ".*") {
            prop_assert_eq!(decode_message(encode_message(&text).as_bytes()), text);
        }
    }
}
