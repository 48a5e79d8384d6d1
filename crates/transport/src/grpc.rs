//! gRPC's part of a request and a response
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).

use std::{fmt, mem, time::Duration};

use bytes::{BufMut, Bytes, BytesMut};
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderName},
    request::Parts,
};

use crate::{Code, Status, status};

pub(crate) const CONTENT: HeaderValue = HeaderValue::from_static("application/grpc");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

// What grpc-go 1.85 says, word for word: operators and drivers know these texts.
const NO_MESSAGE: &str =
    "cardinality violation: received no request message from non-client-streaming RPC";
const SEVERAL_MESSAGES: &str =
    "cardinality violation: received multiple request messages for non-client-streaming RPC";
const CUT_SHORT: &str = "unexpected EOF";
const COMPRESSED: &str = "grpc: compressed flag set with identity or empty encoding";

/// The flag and the length before each message.
pub(crate) const PREFIX: usize = 5;

/// Why a request is refused before its message is read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) http: StatusCode,
    pub(crate) status: Status,
}

/// Checks a request's head as gRPC says; returns its timeout.
pub(crate) fn check(head: &Parts) -> Result<Option<Duration>, Refusal> {
    if !is_grpc(&head.headers) {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Status::new(
                Code::InvalidArgument,
                "the content-type is not application/grpc",
            ),
        ));
    }
    if head.method != Method::POST {
        return Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            Status::new(
                Code::Internal,
                format!("the method is {}, not POST", head.method),
            ),
        ));
    }
    check_encoding(&head.headers)?;
    let Some(value) = head.headers.get(GRPC_TIMEOUT) else {
        return Ok(None);
    };
    parse_timeout(value.as_bytes()).map(Some).ok_or_else(|| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            Status::new(Code::Internal, "malformed grpc-timeout"),
        )
    })
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(GRPC_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"" | b"identity") => Ok(()),
        Some(name) => {
            let text = format!(
                "grpc: Decompressor is not installed for grpc-encoding \"{}\"",
                name.escape_ascii()
            );
            let status = Status::new(Code::Unimplemented, text);
            Err(Refusal::new(StatusCode::OK, status))
        }
    }
}

impl Refusal {
    fn new(http: StatusCode, status: Status) -> Self {
        Self { http, status }
    }
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.as_bytes().strip_prefix(b"application/grpc"))
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

/// One to eight digits and a unit.
fn parse_timeout(text: &[u8]) -> Option<Duration> {
    let (unit, digits) = text.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let count = digits
        .iter()
        .fold(0u64, |count, digit| count * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(count * 3600),
        b'M' => Duration::from_secs(count * 60),
        b'S' => Duration::from_secs(count),
        b'm' => Duration::from_millis(count),
        b'u' => Duration::from_micros(count),
        b'n' => Duration::from_nanos(count),
        _ => return None,
    })
}

/// A timeout as the header writes it, rounded up to what eight digits can say.
pub(crate) fn timeout_header(timeout: Duration) -> (HeaderName, HeaderValue) {
    let text = match timeout.as_micros() {
        micros @ 0..=99_999_999 => format!("{micros}u"),
        micros => match micros.div_ceil(1000) {
            millis @ 0..=99_999_999 => format!("{millis}m"),
            millis => format!("{}S", millis.div_ceil(1000).min(99_999_999)),
        },
    };
    (
        GRPC_TIMEOUT,
        HeaderValue::try_from(text).expect("digits and a letter"),
    )
}

/// A body that is to be one message, and what of it has come.
#[derive(Default)]
pub(crate) struct Assembly {
    /// The first bytes as h2 gave them: most messages come in one piece, which is not copied.
    first: Bytes,
    rest: Vec<u8>,
}

impl Assembly {
    /// Takes the next bytes of the body.
    ///
    /// # Errors
    /// As soon as it is known that the message will not be accepted.
    pub(crate) fn push(&mut self, data: Bytes, most: usize) -> Result<(), Status> {
        match self.is_empty() {
            true => self.first = data,
            false => {
                self.own();
                self.grow(data.len());
                self.rest.extend_from_slice(&data);
            }
        }
        self.check(most)
    }

    /// Copies what has come, because more is to come: a piece of h2's own buffer would keep all
    /// of that buffer.
    pub(crate) fn own(&mut self) {
        if self.rest.is_empty() {
            self.rest = mem::take(&mut self.first).to_vec();
        }
    }

    /// Makes room for more: for as much again at most, up to the message's end, but never
    /// for all that the prefix merely promises.
    fn grow(&mut self, more: usize) {
        let length = self.rest.len();
        let needed = length + more;
        if needed > self.rest.capacity() {
            let whole = match length {
                0..PREFIX => needed,
                _ => declared(&self.rest).saturating_add(PREFIX),
            };
            let wanted = needed.saturating_mul(2).min(whole).max(needed);
            self.rest.reserve_exact(wanted - length);
        }
    }

    /// The memory that is held, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.first.len() + self.rest.capacity()
    }

    /// The message, once the body has ended.
    pub(crate) fn finish(self) -> Result<Bytes, Status> {
        let mut body = if self.rest.is_empty() {
            self.first
        } else {
            self.rest.into()
        };
        match body.len().checked_sub(PREFIX) {
            Some(length) if length == declared(&body) => Ok(body.split_off(PREFIX)),
            None if body.is_empty() => Err(Status::new(Code::Internal, NO_MESSAGE)),
            _ => Err(Status::new(Code::Internal, CUT_SHORT)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    fn prefix(&self) -> &[u8] {
        if self.rest.is_empty() {
            &self.first
        } else {
            &self.rest
        }
    }

    fn check(&self, most: usize) -> Result<(), Status> {
        match self.prefix().first() {
            None | Some(0) => {}
            Some(1) => return Err(Status::new(Code::Internal, COMPRESSED)),
            Some(flag) => {
                let text = format!("grpc: received unexpected payload format {flag}");
                return Err(Status::new(Code::Internal, text));
            }
        }
        if self.len() < PREFIX {
            return Ok(());
        }
        let length = declared(self.prefix());
        if length > most {
            let text = format!("grpc: received message larger than max ({length} vs. {most})");
            return Err(Status::new(Code::ResourceExhausted, text));
        }
        match self.len() > PREFIX + length {
            true => Err(Status::new(Code::Internal, SEVERAL_MESSAGES)),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Assembly {
    /// Without the bytes: they may be a password's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("bytes", &self.len())
            .finish()
    }
}

/// A message with its prefix.
pub(crate) fn frame(message: &[u8]) -> Result<Bytes, Status> {
    let length = u32::try_from(message.len())
        .map_err(|_| Status::new(Code::Internal, "the message is larger than gRPC can frame"))?;
    let mut framed = BytesMut::with_capacity(PREFIX + message.len());
    framed.put_u8(0);
    framed.put_u32(length);
    framed.put_slice(message);
    Ok(framed.freeze())
}

/// The head of a response that has a message.
pub(crate) fn response_head() -> Response<()> {
    let mut response = Response::new(());
    response.headers_mut().insert(CONTENT_TYPE, CONTENT);
    response
}

/// A response without a message: head and trailers in one.
pub(crate) fn trailers_only(http: StatusCode, status: &Status) -> Response<()> {
    let mut response = response_head();
    *response.status_mut() = http;
    write_status(status, response.headers_mut());
    response
}

/// The trailers of a call that went well.
pub(crate) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(GRPC_STATUS, Code::Ok.header());
    trailers
}

/// Reads a status from trailers, or None when there is none.
pub(crate) fn read_status(headers: &HeaderMap) -> Option<Status> {
    let number = headers.get(GRPC_STATUS)?.to_str().ok()?.parse().ok()?;
    let message = headers
        .get(GRPC_MESSAGE)
        .map(|value| status::decode_message(value.as_bytes()));
    Some(Status::new(
        Code::from_number(number),
        message.unwrap_or_default(),
    ))
}

fn write_status(status: &Status, headers: &mut HeaderMap) {
    headers.insert(GRPC_STATUS, status.code.header());
    if !status.message.is_empty() {
        headers.insert(GRPC_MESSAGE, status::encode_message(&status.message));
    }
}

fn declared(prefixed: &[u8]) -> usize {
    let length = u32::from_be_bytes([prefixed[1], prefixed[2], prefixed[3], prefixed[4]]);
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 4 << 20;

    #[test]
    fn a_promise_of_much_reserves_nothing() {
        let mut assembly = Assembly::default();
        let promise = Bytes::from_static(&[0, 0, 0x3f, 0, 0]);
        assembly.push(promise, MOST).unwrap();
        assembly.push(Bytes::from_static(b"x"), MOST).unwrap();
        assert!(assembly.held() < 1024, "{}", assembly.held());
    }

    #[test]
    fn what_is_held_stays_near_what_has_come() {
        let mut assembly = Assembly::default();
        let promise = Bytes::from_static(&[0, 0, 0x3f, 0, 0]);
        assembly.push(promise, MOST).unwrap();
        for chunk in 1..=200 {
            assembly.push(Bytes::from(vec![0; 16 << 10]), MOST).unwrap();
            let come = chunk * (16 << 10);
            assert!(assembly.held() <= 2 * come + (16 << 10), "{come}");
        }
    }

    #[test]
    fn a_piece_of_a_larger_buffer_is_copied_before_it_waits() {
        let large = Bytes::from(vec![0; 64 << 10]);
        let mut assembly = Assembly::default();
        assembly.push(large.slice(..5), MOST).unwrap();
        assembly.own();
        assert!(large.is_unique(), "nothing else keeps the buffer");
        assert_eq!(assembly.finish().unwrap(), Bytes::new());
    }

    #[test]
    fn messages_in_any_pieces_come_out_whole() {
        let whole = frame(b"a message").unwrap();
        for at in 0..whole.len() {
            let mut assembly = Assembly::default();
            assembly.push(whole.slice(..at), MOST).unwrap();
            assembly.own();
            assembly.push(whole.slice(at..), MOST).unwrap();
            assert_eq!(assembly.finish().unwrap(), "a message", "{at}");
        }
    }
}
