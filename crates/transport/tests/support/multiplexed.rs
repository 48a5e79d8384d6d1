//! Several calls on one connection, step by step: h2's client over a blocking stream.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Connection, ResponseFuture, SendRequest};
use http::{HeaderMap, Request, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{RawStream, frames};

/// The connection.
pub struct Multiplexed {
    wire: Wire,
    sender: SendRequest<Bytes>,
    connection: Connection<Wire, Bytes>,
}

/// A sent call.
pub struct Sent(ResponseFuture);

/// What came back.
#[derive(Debug)]
pub struct Reply {
    pub http: StatusCode,
    pub body: Vec<u8>,
    pub trailers: HeaderMap,
}

#[derive(Clone)]
struct Wire {
    stream: Arc<Mutex<RawStream>>,
    input: Arc<Mutex<Vec<u8>>>,
}

impl Multiplexed {
    pub fn open(stream: RawStream) -> Self {
        let wire = Wire {
            stream: Arc::new(Mutex::new(stream)),
            input: Arc::default(),
        };
        let mut handshake = Box::pin(h2::client::handshake(wire.clone()));
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(Ok((sender, connection))) = handshake.as_mut().poll(&mut context) else {
            panic!("a client's handshake waits for nothing");
        };
        Self {
            wire,
            sender,
            connection,
        }
    }

    /// Sends a call without waiting for it.
    pub fn send(&mut self, method: &str, message: &[u8], headers: &[(&str, &str)]) -> Sent {
        let mut request = Request::post(format!("http://localhost{method}"));
        for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
            if !headers.iter().any(|header| header.0 == name) {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send_raw(request.body(()).unwrap(), &frames::message(message))
    }

    /// Sends any request with any body.
    pub fn send_raw(&mut self, request: Request<()>, body: &[u8]) -> Sent {
        let (response, mut stream) = self.sender.send_request(request, false).unwrap();
        stream
            .send_data(Bytes::copy_from_slice(body), true)
            .unwrap();
        self.turn();
        Sent(response)
    }

    /// Takes a call back.
    pub fn cancel(&mut self, sent: Sent) {
        drop(sent);
        self.turn();
    }

    /// Waits for a call's end; Err when the server has reset the stream or closed the connection.
    pub fn wait(&mut self, mut sent: Sent) -> Result<Reply, h2::Error> {
        let mut context = Context::from_waker(Waker::noop());
        let response = loop {
            match Pin::new(&mut sent.0).poll(&mut context) {
                Poll::Ready(response) => break response?,
                Poll::Pending => self.read(),
            }
        };
        let (head, mut body) = response.into_parts();
        let mut reply = Reply {
            http: head.status,
            body: Vec::new(),
            trailers: HeaderMap::new(),
        };
        if body.is_end_stream() {
            reply.trailers = head.headers;
            return Ok(reply);
        }
        loop {
            match body.poll_data(&mut context) {
                Poll::Pending => self.read(),
                Poll::Ready(None) => break,
                Poll::Ready(Some(data)) => {
                    let data = data?;
                    body.flow_control().release_capacity(data.len()).unwrap();
                    reply.body.extend(data);
                }
            }
        }
        loop {
            match body.poll_trailers(&mut context) {
                Poll::Pending => self.read(),
                Poll::Ready(trailers) => {
                    reply.trailers = trailers?.unwrap_or_default();
                    return Ok(reply);
                }
            }
        }
    }

    /// Blocks until some bytes have come.
    fn read(&mut self) {
        self.turn();
        let mut chunk = [0; 16384];
        let count = self
            .wire
            .stream
            .lock()
            .unwrap()
            .read(&mut chunk)
            .unwrap_or(0);
        assert_ne!(count, 0, "the server has closed the connection");
        self.wire.input.lock().unwrap().extend(&chunk[..count]);
        self.turn();
    }

    fn turn(&mut self) {
        let mut context = Context::from_waker(Waker::noop());
        let _ = Pin::new(&mut self.connection).poll(&mut context);
    }
}

impl Reply {
    /// The number in `grpc-status`.
    pub fn code(&self) -> u32 {
        self.trailers["grpc-status"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap()
    }

    /// The text in `grpc-message`, as it is on the wire.
    pub fn text(&self) -> String {
        let text = self.trailers.get("grpc-message");
        text.map_or_else(String::new, |text| text.to_str().unwrap().to_owned())
    }

    /// The message without its prefix.
    pub fn message(&self) -> &[u8] {
        &self.body[5..]
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut input = self.input.lock().unwrap();
        if input.is_empty() {
            return Poll::Pending;
        }
        let count = input.len().min(buf.remaining());
        buf.put_slice(&input[..count]);
        input.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.stream.lock().unwrap().write(buf))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
