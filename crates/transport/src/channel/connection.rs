//! One connection of a channel, driven by the calling thread.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use std::{fmt, io};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use http::Request;
use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;

use super::ChannelOptions;
use crate::assembly::Assembly;
use crate::port::Port;
use crate::sys::{self, Handles, Interest, Read, Stream, Waitable, Wakeup, Written};
use crate::{Code, Status, grpc};

/// grpc-go's words for an OK response without a message.
const NO_MESSAGE: &str =
    "cardinality violation: received no response message from non-server-streaming RPC";

type Opening =
    dyn Future<Output = Result<(SendRequest<Bytes>, Connection<Port, Bytes>), h2::Error>> + Send;

/// How a call ended.
pub(super) enum Exchange {
    Answer(Vec<u8>),
    Status(Status),
    /// The server has certainly not begun the call.
    NotBegun(String),
    Broken(String),
    Deadline,
}

/// A connection between calls or within one.
pub(super) struct ClientConnection {
    stream: Stream,
    port: Port,
    http: Http,
    /// Never set by anybody: the wait wants one.
    wakeup: Wakeup,
    stir: Arc<Stir>,
}

enum Http {
    Opening(Pin<Box<Opening>>),
    Open(SendRequest<Bytes>, Box<Connection<Port, Bytes>>),
    Ended(String),
}

/// Set when h2 wants another poll.
#[derive(Debug, Default)]
struct Stir(AtomicBool);

impl Wake for Stir {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// The states of a call.
enum CallState {
    Sending(ResponseFuture, h2::SendStream<Bytes>, Bytes),
    Head(ResponseFuture),
    Body(RecvStream, Assembly),
    Done(Exchange),
}

impl ClientConnection {
    pub(super) fn open(stream: Stream, max_message: usize) -> io::Result<Self> {
        let port = Port::new(256 << 10);
        let opening = builder(max_message).handshake(port.clone());
        Ok(Self {
            stream,
            port,
            http: Http::Opening(Box::pin(opening)),
            wakeup: Wakeup::new()?,
            stir: Arc::default(),
        })
    }

    /// Whether the server has neither closed the connection nor announced it.
    pub(super) fn is_good(&mut self) -> bool {
        let waker = Waker::from(Arc::clone(&self.stir));
        let mut context = Context::from_waker(&waker);
        self.stream.note_ready(Interest {
            read: true,
            write: true,
        });
        while self.stream.begin_read() && matches!(self.take_input(), Ok(true)) {}
        self.poll_http(&mut context);
        let can_send = match &mut self.http {
            Http::Open(sender, _) => matches!(sender.poll_ready(&mut context), Poll::Ready(Ok(()))),
            Http::Opening(_) => !self.port.buffers().at_end,
            Http::Ended(_) => false,
        };
        can_send && !self.port.buffers().at_end
    }

    pub(super) fn call(
        &mut self,
        method: &str,
        message: &[u8],
        deadline: Instant,
        options: &ChannelOptions,
    ) -> Exchange {
        let Ok(path) = PathAndQuery::try_from(method) else {
            let text = format!("`{method}` is not a method's path");
            return Exchange::Status(Status::new(Code::Internal, text));
        };
        let body = match grpc::frame(message) {
            Ok(body) => body,
            Err(status) => return Exchange::Status(status),
        };
        let waker = Waker::from(Arc::clone(&self.stir));
        let mut context = Context::from_waker(&waker);
        if let Some(failed) = self.finish_opening(deadline, &mut context) {
            return failed;
        }
        let timeout = deadline.saturating_duration_since(Instant::now());
        let mut state = self.begin(request(path, timeout, options.metadata), body);
        loop {
            state = self.advance(state, options, &mut context);
            if let CallState::Done(exchange) = state {
                return exchange;
            }
            if let Err(failed) = self.step(deadline, &mut context) {
                return failed;
            }
        }
    }

    fn finish_opening(&mut self, deadline: Instant, context: &mut Context<'_>) -> Option<Exchange> {
        loop {
            self.poll_http(context);
            match &self.http {
                Http::Opening(_) => {}
                Http::Open(..) => return None,
                Http::Ended(reason) => return Some(Exchange::NotBegun(reason.clone())),
            }
            if let Err(failed) = self.step(deadline, context) {
                return Some(failed);
            }
        }
    }

    fn begin(&mut self, request: Result<Request<()>, String>, body: Bytes) -> CallState {
        let Http::Open(sender, _) = &mut self.http else {
            return CallState::Done(Exchange::NotBegun("the connection has ended".to_owned()));
        };
        let sent = request.and_then(|request| {
            sender
                .send_request(request, false)
                .map_err(|error| error.to_string())
        });
        match sent {
            Ok((response, mut stream)) => {
                stream.reserve_capacity(body.len());
                CallState::Sending(response, stream, body)
            }
            Err(reason) => CallState::Done(Exchange::NotBegun(reason)),
        }
    }

    /// Moves the call on as far as it goes without waiting.
    fn advance(
        &mut self,
        mut state: CallState,
        options: &ChannelOptions,
        context: &mut Context<'_>,
    ) -> CallState {
        loop {
            let (next, moved) = match state {
                CallState::Sending(response, stream, body) => send(response, stream, body, context),
                CallState::Head(response) => head(response, options.trailer, context),
                CallState::Body(body, assembly) => receive(body, assembly, options, context),
                CallState::Done(_) => return state,
            };
            state = next;
            if !moved {
                return state;
            }
        }
    }

    /// Lets bytes flow; waits only when nothing has moved.
    fn step(&mut self, deadline: Instant, context: &mut Context<'_>) -> Result<(), Exchange> {
        self.poll_http(context);
        let (written, has_room) = self.send();
        if has_room || self.take_input().map_err(broken)? {
            self.poll_http(context);
            return Ok(());
        }
        if self.stir.0.swap(false, Ordering::AcqRel) && written == Written::All {
            return Ok(());
        }
        if let Http::Ended(reason) = &self.http {
            return Err(Exchange::Broken(reason.clone()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Exchange::Deadline);
        }
        self.wait(left)
    }

    /// Waits for the server, on the caller's thread.
    fn wait(&mut self, left: Duration) -> Result<(), Exchange> {
        if self.stream.begin_read() {
            return Ok(());
        }
        let awaited = Awaited(self.stream.handles(), self.stream.interest(true));
        let mut ready = Vec::new();
        sys::wait(&self.wakeup, &[awaited], Some(left), &mut ready).map_err(broken)?;
        self.stream
            .note_ready(ready.first().copied().unwrap_or_default());
        Ok(())
    }

    /// Sends all queued bytes. A failure counts as sent: the server may be gone with its last bytes
    /// still to be read, and the read reports the failure otherwise.
    fn send(&mut self) -> (Written, bool) {
        let mut buffers = self.port.buffers();
        let written = self.stream.write(&mut buffers.output).unwrap_or_else(|_| {
            buffers.output.clear();
            Written::All
        });
        (written, buffers.unblock())
    }

    fn take_input(&mut self) -> io::Result<bool> {
        let mut buffers = self.port.buffers();
        if !buffers.is_drained() || buffers.at_end {
            return Ok(false);
        }
        match self.stream.read()? {
            Read::Pending => return Ok(false),
            Read::Closed => buffers.at_end = true,
            Read::Data(data) => buffers.input.extend_from_slice(data),
        }
        Ok(true)
    }

    fn poll_http(&mut self, context: &mut Context<'_>) {
        self.stir.0.store(false, Ordering::Release);
        if let Http::Opening(opening) = &mut self.http
            && let Poll::Ready(opened) = opening.as_mut().poll(context)
        {
            self.http = match opened {
                Ok((sender, connection)) => Http::Open(sender, Box::new(connection)),
                Err(error) => Http::Ended(error.to_string()),
            };
        }
        if let Http::Open(_, connection) = &mut self.http
            && let Poll::Ready(ended) = Pin::new(connection).poll(context)
        {
            let reason = ended.map_or_else(
                |error| error.to_string(),
                |()| "the server closed it".to_owned(),
            );
            self.http = Http::Ended(reason);
        }
    }
}

/// The stream, as a wait wants it.
struct Awaited(Handles, Interest);

impl Waitable for Awaited {
    fn handles(&self) -> &Handles {
        &self.0
    }

    fn interest(&self) -> Interest {
        self.1
    }
}

impl fmt::Debug for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

fn builder(max_message: usize) -> Builder {
    let message = u32::try_from(max_message).unwrap_or(u32::MAX >> 2);
    let window = message.saturating_add(64 << 10).min((1 << 31) - 1);
    let mut builder = Builder::new();
    builder
        .initial_window_size(window)
        .initial_connection_window_size(window)
        .enable_push(false)
        .max_header_list_size(256 << 10);
    builder
}

fn request(
    path: PathAndQuery,
    timeout: Duration,
    metadata: Option<(&'static str, &'static str)>,
) -> Result<Request<()>, String> {
    let uri = http::Uri::builder()
        .scheme("http")
        .authority("localhost")
        .path_and_query(path)
        .build()
        .map_err(|error| error.to_string())?;
    let (name, value) = grpc::timeout_header(timeout);
    let mut request = Request::post(uri)
        .header(CONTENT_TYPE, grpc::CONTENT)
        .header("te", "trailers")
        .header(name, value);
    if let Some((name, value)) = metadata {
        request = request.header(name, value);
    }
    request.body(()).map_err(|error| error.to_string())
}

fn send(
    response: ResponseFuture,
    mut stream: h2::SendStream<Bytes>,
    mut body: Bytes,
    context: &mut Context<'_>,
) -> (CallState, bool) {
    let room = stream.capacity().min(body.len());
    if room == 0 {
        return match stream.poll_capacity(context) {
            Poll::Ready(Some(Ok(_))) => (CallState::Sending(response, stream, body), true),
            Poll::Ready(_) => (CallState::Head(response), true),
            Poll::Pending => (CallState::Sending(response, stream, body), false),
        };
    }
    let chunk = body.split_to(room);
    let is_last = body.is_empty();
    if stream.send_data(chunk, is_last).is_err() || is_last {
        return (CallState::Head(response), true);
    }
    stream.reserve_capacity(body.len());
    (CallState::Sending(response, stream, body), true)
}

fn head(
    mut response: ResponseFuture,
    trailer: Option<&'static str>,
    context: &mut Context<'_>,
) -> (CallState, bool) {
    match Pin::new(&mut response).poll(context) {
        Poll::Pending => (CallState::Head(response), false),
        Poll::Ready(Err(error)) => (CallState::Done(failed(&error)), true),
        Poll::Ready(Ok(response)) => {
            let (head, body) = response.into_parts();
            let next = match grpc::read_status(&head.headers, trailer) {
                Some(status) => CallState::Done(Exchange::Status(status)),
                None => CallState::Body(body, Assembly::default()),
            };
            (next, true)
        }
    }
}

fn receive(
    mut body: RecvStream,
    mut assembly: Assembly,
    options: &ChannelOptions,
    context: &mut Context<'_>,
) -> (CallState, bool) {
    match body.poll_data(context) {
        Poll::Pending => (CallState::Body(body, assembly), false),
        Poll::Ready(Some(Err(error))) => {
            (CallState::Done(Exchange::Broken(error.to_string())), true)
        }
        Poll::Ready(Some(Ok(data))) => {
            let _ = body.flow_control().release_capacity(data.len());
            match assembly.push(data, options.max_message_bytes) {
                Ok(()) => (CallState::Body(body, assembly), true),
                Err(status) => (CallState::Done(Exchange::Status(status)), true),
            }
        }
        Poll::Ready(None) => match body.poll_trailers(context) {
            Poll::Pending => (CallState::Body(body, assembly), false),
            Poll::Ready(trailers) => {
                let answer = answer(trailers, assembly, options.trailer);
                (CallState::Done(answer), true)
            }
        },
    }
}

fn answer(
    trailers: Result<Option<http::HeaderMap>, h2::Error>,
    assembly: Assembly,
    trailer: Option<&'static str>,
) -> Exchange {
    let status = match trailers {
        Err(error) => return Exchange::Broken(error.to_string()),
        Ok(trailers) => trailers
            .as_ref()
            .and_then(|trailers| grpc::read_status(trailers, trailer)),
    };
    match status {
        Some(Status { code: Code::Ok, .. }) if assembly.is_empty() => {
            Exchange::Status(Status::new(Code::Internal, NO_MESSAGE))
        }
        Some(Status { code: Code::Ok, .. }) => match assembly.finish() {
            Ok(message) => Exchange::Answer(message.to_vec()),
            Err(status) => Exchange::Status(status),
        },
        Some(status) => Exchange::Status(status),
        None => Exchange::Broken("the response has no grpc-status".to_owned()),
    }
}

/// The server did not begin a stream that it refused, or that comes after the last one in its
/// GOAWAY (RFC 9113 section 6.8); h2 reports a GOAWAY to no other stream.
fn failed(error: &h2::Error) -> Exchange {
    let is_refused = error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM);
    match is_refused && error.is_remote() {
        true => Exchange::NotBegun(error.to_string()),
        false => Exchange::Broken(error.to_string()),
    }
}

fn broken(error: io::Error) -> Exchange {
    Exchange::Broken(error.to_string())
}
