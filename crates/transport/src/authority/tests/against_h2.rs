//! How h2 reads rewritten requests.

use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::server::{Connection, handshake};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::PREFACE;
use super::reference::{Encoder, Field, Form};
use super::{Cut, authority, chunks, cut, frame, rewrite};
use crate::port::Port;

const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;

#[derive(Clone, Debug)]
struct Request {
    path: String,
    authority: Vec<u8>,
    headers: Vec<(String, String)>,
    forms: Vec<Form>,
    cut: Cut,
}

fn request() -> impl Strategy<Value = Request> {
    let headers = vec(("x-[a-z]{1,8}", "[!-~]{0,30}"), 0..5);
    (
        "/[a-zA-Z0-9./]{0,20}",
        authority(),
        headers,
        vec(any::<Form>(), 10),
        cut(),
    )
        .prop_map(|(path, authority, headers, forms, cut)| Request {
            path,
            authority,
            headers,
            forms,
            cut,
        })
}

impl Request {
    fn list(&self) -> Vec<(Field, Form)> {
        let pseudo: [(&str, &[u8]); 4] = [
            (":method", b"POST"),
            (":scheme", b"http"),
            (":path", self.path.as_bytes()),
            (":authority", &self.authority),
        ];
        let regular = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()));
        pseudo
            .into_iter()
            .chain(regular)
            .zip(&self.forms)
            .map(|((name, value), form)| {
                (
                    Field {
                        name: name.into(),
                        value: value.into(),
                    },
                    *form,
                )
            })
            .collect()
    }
}

/// Has h2 read this and returns the accepted requests.
fn accepted(bytes: &[u8]) -> Vec<http::Request<h2::RecvStream>> {
    let port = Port::new(1 << 20);
    port.buffers().input.extend(PREFACE);
    port.buffers().input.extend(bytes);
    let mut context = Context::from_waker(Waker::noop());
    let mut opening = Box::pin(handshake(port));
    let Poll::Ready(Ok(mut connection)) = opening.as_mut().poll(&mut context) else {
        panic!("the opening is there whole");
    };
    let mut requests = Vec::new();
    while let Some(request) = accept(&mut connection, &mut context) {
        requests.push(request);
    }
    requests
}

fn accept(
    connection: &mut Connection<Port, Bytes>,
    context: &mut Context<'_>,
) -> Option<http::Request<h2::RecvStream>> {
    match connection.poll_accept(context) {
        Poll::Ready(Some(Ok((request, _)))) => Some(request),
        _ => None,
    }
}

proptest! {
    #[test]
    fn h2_accepts_every_rewritten_request(requests in vec(request(), 1..6), chunks in chunks()) {
        let mut encoder = Encoder::default();
        let mut bytes = frame(SETTINGS, 0, 0, &[]);
        for (index, request) in requests.iter().enumerate() {
            let stream = u32::try_from(index * 2 + 1).unwrap();
            let block = encoder.block(&[], &request.list());
            bytes.extend(request.cut.frames(&block, END_STREAM, stream));
        }
        let accepted = accepted(&rewrite(&bytes, &chunks).unwrap());
        prop_assert_eq!(accepted.len(), requests.len());
        for (accepted, sent) in accepted.iter().zip(&requests) {
            prop_assert_eq!(accepted.uri().path(), &sent.path);
            prop_assert_eq!(accepted.uri().authority(), None);
            for (name, value) in &sent.headers {
                let mut values = accepted.headers().get_all(name).iter();
                prop_assert!(values.any(|found| found == value), "{} is missing", name);
            }
        }
    }
}

#[test]
fn h2_refuses_what_was_not_rewritten() {
    // The reason for all this; when it fails, h2 has learned tolerance and the rewriter can go.
    let request = Request {
        path: "/v1.Disk/Rescan".to_owned(),
        authority: br"\\.\\pipe\\csi-proxy-disk-v1".to_vec(),
        headers: vec![],
        forms: vec![Form::default(); 4],
        cut: Cut {
            sizes: vec![],
            padding: None,
            priority: false,
        },
    };
    let block = Encoder::default().block(&[], &request.list());
    let bytes = [
        frame(SETTINGS, 0, 0, &[]),
        request.cut.frames(&block, END_STREAM, 1),
    ]
    .concat();
    assert_eq!(accepted(&bytes).len(), 0);
    assert_eq!(accepted(&rewrite(&bytes, &[usize::MAX]).unwrap()).len(), 1);
}
