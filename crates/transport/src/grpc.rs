//! gRPC's part of a request and a response
//! (<https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>).

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use crate::{Code, Status, status};

pub(crate) const CONTENT: HeaderValue = HeaderValue::from_static("application/grpc");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");

/// The flag and the length before each message.
pub(crate) const PREFIX: usize = 5;

/// Why a request is refused before its message is read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) http: StatusCode,
    pub(crate) status: Status,
}

/// Checks a request's head against gRPC's rules; returns its timeout.
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

/// The longest header value that a service gets, in bytes.
const LONGEST_METADATA: usize = 64;

/// A copy of the value of a header, as h2's value is a slice of the buffer that its header block came in.
pub(crate) fn metadata(head: &Parts, name: &str) -> Result<Option<Box<str>>, Refusal> {
    if !head.headers.contains_key(name) {
        return Ok(None);
    }
    match short(&head.headers, name) {
        Some(text) => Ok(Some(text.into())),
        None => {
            let text = format!("{name} is not one text of at most {LONGEST_METADATA} bytes");
            let status = Status::new(Code::InvalidArgument, text);
            Err(Refusal::new(StatusCode::OK, status))
        }
    }
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

/// A timeout in the header's form, rounded up to fit eight digits.
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

/// The head of a response with a message.
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

/// The trailers of a successful call.
pub(crate) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(GRPC_STATUS, Code::Ok.header());
    trailers
}

/// Reads a status from trailers, with the trailer of this name, or None when there is none.
pub(crate) fn read_status(headers: &HeaderMap, trailer: Option<&'static str>) -> Option<Status> {
    let number = headers.get(GRPC_STATUS)?.to_str().ok()?.parse().ok()?;
    let message = headers
        .get(GRPC_MESSAGE)
        .map(|value| status::decode_message(value.as_bytes()));
    let status = Status::new(Code::from_number(number), message.unwrap_or_default());
    Some(
        match trailer.and_then(|name| Some((name, short(headers, name)?))) {
            Some((name, value)) => status.with_trailer(name, value),
            None => status,
        },
    )
}

/// The value of a header that occurs once, as a short text.
fn short<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let text = values.next()?.to_str().ok()?;
    (text.len() <= LONGEST_METADATA && values.next().is_none()).then_some(text)
}

fn write_status(status: &Status, headers: &mut HeaderMap) {
    headers.insert(GRPC_STATUS, status.code.header());
    if !status.message.is_empty() {
        headers.insert(GRPC_MESSAGE, status::encode_message(&status.message));
    }
    if let Some((name, value)) = &status.trailer
        && let Ok(value) = HeaderValue::from_str(value)
    {
        headers.insert(*name, value);
    }
}
