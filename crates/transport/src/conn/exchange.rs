//! One call's way through a connection: its request comes in, it runs, its response goes out.

use std::fmt;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::StatusCode;

use crate::assembly::Assembly;
use crate::{Code, MethodPath, Status, grpc};

/// A call's cost beside its message and its path: h2's part and ours, with a header's value of 64 bytes.
pub(super) const CALL_BYTES: usize = 1 << 10;

/// A whole request.
pub(crate) struct Request {
    /// The stream's number: the call's name on its connection.
    pub(crate) id: u32,
    pub(crate) method: MethodPath,
    pub(crate) metadata: Option<Box<str>>,
    pub(crate) message: Bytes,
    pub(crate) deadline: Instant,
}

/// A request with an incomplete message.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) method: MethodPath,
    pub(super) metadata: Option<Box<str>>,
    pub(super) deadline: Instant,
    pub(super) respond: SendResponse<Bytes>,
    body: RecvStream,
    assembly: Assembly,
}

/// The state of an incoming request.
pub(super) enum Received {
    Pending,
    Whole(Bytes),
    Refused(Status),
    /// The client has taken the call back.
    Reset,
}

/// A running call, or one whose response waits for the client to make room.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) id: u32,
    pub(super) deadline: Instant,
    /// None once the client got DeadlineExceeded.
    pub(super) respond: Option<SendResponse<Bytes>>,
    /// A thread has taken it.
    pub(super) has_begun: bool,
}

/// A response larger than the client takes at the moment.
pub(super) struct Sending {
    stream: SendStream<Bytes>,
    rest: Bytes,
    /// When the client last took some.
    pub(super) since: Instant,
}

impl Request {
    /// The memory held, in bytes.
    pub(crate) fn held(&self) -> usize {
        CALL_BYTES + self.method.as_str().len() + self.message.len()
    }
}

impl fmt::Debug for Request {
    /// Without the message: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("message_bytes", &self.message.len())
            .finish_non_exhaustive()
    }
}

impl Receiving {
    pub(super) fn new(
        method: MethodPath,
        deadline: Instant,
        respond: SendResponse<Bytes>,
        body: RecvStream,
    ) -> Self {
        Self {
            method,
            metadata: None,
            deadline,
            respond,
            body,
            assembly: Assembly::default(),
        }
    }

    /// Adds the header value for the service.
    pub(super) fn with(self, metadata: Option<Box<str>>) -> Self {
        Self { metadata, ..self }
    }

    /// Takes the received part of the message.
    pub(super) fn poll(&mut self, most: usize, context: &mut Context<'_>) -> Received {
        loop {
            match self.body.poll_data(context) {
                Poll::Pending => {
                    self.assembly.own();
                    return Received::Pending;
                }
                Poll::Ready(Some(Err(_))) => return Received::Reset,
                Poll::Ready(Some(Ok(data))) => {
                    // It fails only when more is released than came.
                    let _ = self.body.flow_control().release_capacity(data.len());
                    if let Err(status) = self.assembly.push(data, most) {
                        return Received::Refused(status);
                    }
                }
                Poll::Ready(None) => {
                    // Until it has run: how much of h2's buffer goes with a message is not known.
                    self.assembly.own();
                    return std::mem::take(&mut self.assembly)
                        .finish()
                        .map_or_else(Received::Refused, Received::Whole);
                }
            }
        }
    }

    /// The memory held, in bytes.
    pub(super) fn held(&self) -> usize {
        CALL_BYTES + self.method.as_str().len() + self.assembly.held()
    }
}

impl Sending {
    /// Sends as much as the client has room for; true when all is sent or the client is gone.
    pub(super) fn poll(&mut self, now: Instant, context: &mut Context<'_>) -> bool {
        loop {
            match self.stream.capacity().min(self.rest.len()) {
                0 => match self.stream.poll_capacity(context) {
                    Poll::Pending => return false,
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(_) => return true,
                },
                room => {
                    self.since = now;
                    let chunk = self.rest.split_to(room);
                    if self.stream.send_data(chunk, false).is_err() {
                        return true;
                    }
                    if self.rest.is_empty() {
                        let _ = self.stream.send_trailers(grpc::ok_trailers());
                        return true;
                    }
                    self.stream.reserve_capacity(self.rest.len());
                }
            }
        }
    }

    /// Bytes not yet given to h2.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn reset(&mut self, reason: Reason) {
        self.stream.send_reset(reason);
    }
}

impl fmt::Debug for Sending {
    /// Without the response: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}

/// Answers a call. Returns the rest of a response that cannot go out at once.
///
/// A client that left or cancelled shows as an h2 error, and nobody is left to report it to.
pub(super) fn reply(
    mut respond: SendResponse<Bytes>,
    answer: Result<Vec<u8>, Status>,
    now: Instant,
) -> Option<Sending> {
    let message = match answer.and_then(|message| grpc::frame(&message)) {
        Ok(message) => message,
        Err(status) => {
            refuse(&mut respond, StatusCode::OK, &status);
            return None;
        }
    };
    let mut stream = respond.send_response(grpc::response_head(), false).ok()?;
    stream.reserve_capacity(message.len());
    if stream.capacity() < message.len() {
        return Some(Sending {
            stream,
            rest: message,
            since: now,
        });
    }
    if stream.send_data(message, false).is_ok() {
        let _ = stream.send_trailers(grpc::ok_trailers());
    }
    None
}

/// Answers a call with a status alone.
pub(super) fn refuse(respond: &mut SendResponse<Bytes>, http: StatusCode, status: &Status) {
    debug_assert_ne!(status.code, Code::Ok, "an error status");
    let _ = respond.send_response(grpc::trailers_only(http, status), true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_of_a_whole_request_has_no_byte_of_the_message() {
        let request = Request {
            id: 1,
            method: MethodPath::new(&"/v1.Test/Echo".parse().unwrap()),
            metadata: None,
            message: Bytes::from_static(b"hunter2 is no password"),
            deadline: Instant::now(),
        };
        let text = format!("{request:?}");
        let digits = text.replace([' ', '\n'], "");
        assert!(text.contains("/v1.Test/Echo"), "{text}");
        assert!(
            !text.contains("hunter2") && !digits.contains("104,117,110"),
            "{text}"
        );
    }
}
