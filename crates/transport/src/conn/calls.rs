//! The calls of one connection, by how far they have come.

use std::collections::VecDeque;
use std::task::Context;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use http::StatusCode;

use super::exchange::{self, Received, Receiving, Request, RunningCall, Sending};
use super::later;
use crate::{Code, MethodPath, ServerOptions, Status, grpc};

#[derive(Debug, Default)]
pub(super) struct Calls {
    receiving: Vec<Receiving>,
    whole: VecDeque<Request>,
    running: Vec<RunningCall>,
    sending: Vec<Sending>,
    /// Bytes of output given to h2 and not yet passed to the stream.
    queued: usize,
    /// The largest sizes of h2's lists.
    peaks: Peaks,
    /// No call may begin any more.
    closed: bool,
}

/// The most entries of h2's lists at once: calls, and frames not yet passed on. The lists keep their capacity until the
/// connection ends.
#[derive(Debug, Default)]
struct Peaks {
    calls: usize,
    frames: usize,
}

impl Peaks {
    /// Calls and frames within the fixed cost of a connection.
    const FREE: usize = 16;
    /// A call's part of the lists of streams and of frames to be sent, and a frame's part of the
    /// received ones, in bytes. The lists' growth by doubling is added elsewhere.
    const CALL_BYTES: usize = 1536;
    const FRAME_BYTES: usize = 320;

    /// The memory of h2's lists, in bytes.
    fn kept(&self) -> usize {
        let room = |most: usize| match most {
            0..=Self::FREE => 0,
            more => more.next_power_of_two(),
        };
        room(self.calls) * Self::CALL_BYTES + room(self.frames) * Self::FRAME_BYTES
    }
}

/// A request or response that can be discarded, with its size and its place.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Ballast {
    Sending(usize),
    Whole(usize),
    Receiving(usize),
}

impl Calls {
    /// Refuses calls from now on.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Whether new calls are refused.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes a call's head.
    pub(super) fn begin(
        &mut self,
        request: http::Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        options: &ServerOptions,
        now: Instant,
    ) {
        if self.closed {
            let status = Status::new(Code::Unavailable, "the server is shutting down");
            return exchange::refuse(&mut respond, StatusCode::OK, &status);
        }
        let (head, body) = request.into_parts();
        let checked = grpc::check(&head).and_then(|timeout| {
            let metadata = options.metadata.map(|name| grpc::metadata(&head, name));
            Ok((timeout, metadata.transpose()?.flatten()))
        });
        let (timeout, metadata) = match checked {
            Ok((timeout, metadata)) => (timeout.unwrap_or(options.call_timeout), metadata),
            Err(refusal) => return exchange::refuse(&mut respond, refusal.http, &refusal.status),
        };
        let Some(path) = head.uri.into_parts().path_and_query else {
            return respond.send_reset(Reason::PROTOCOL_ERROR);
        };
        let deadline = later(now, timeout.min(options.call_timeout));
        let method = MethodPath::new(&path);
        let receiving = Receiving::new(method, deadline, respond, body).with(metadata);
        self.receiving.push(receiving);
    }

    /// Takes the received parts of the calls' messages.
    pub(super) fn gather(
        &mut self,
        options: &ServerOptions,
        now: Instant,
        context: &mut Context<'_>,
    ) {
        let calls = self.receiving.len() + self.running.len() + self.sending.len();
        let mut index = 0;
        while let Some(receiving) = self.receiving.get_mut(index) {
            let received = receiving.poll(options.max_message_bytes, context);
            match received {
                Received::Pending => {
                    index += 1;
                    continue;
                }
                Received::Whole(message) => {
                    let receiving = self.receiving.remove(index);
                    self.admit(receiving, message, options);
                }
                Received::Refused(status) => {
                    let receiving = self.receiving.remove(index);
                    self.reply(receiving.respond, Err(status), now);
                }
                Received::Reset => drop(self.receiving.remove(index)),
            }
        }
        self.peaks.calls = self.peaks.calls.max(calls);
        self.bound_requests(options.max_receive_bytes);
    }

    /// h2 has been given so many frames of requests at once.
    pub(super) fn note_frames(&mut self, frames: usize) {
        self.peaks.frames = self.peaks.frames.max(frames);
    }

    /// Whether a client waits for a running call.
    pub(super) fn has_begun(&self) -> bool {
        let waits = |running: &RunningCall| running.has_begun && running.respond.is_some();
        self.running.iter().any(waits)
    }

    /// Sends more of the waiting responses. h2 emits them at its next poll, and wakes the driver
    /// for it.
    pub(super) fn send(&mut self, now: Instant, context: &mut Context<'_>) {
        if self.sending.is_empty() {
            return;
        }
        let before = self.unsent();
        self.sending
            .retain_mut(|sending| !sending.poll(now, context));
        self.queued += before - self.unsent();
    }

    /// h2 has passed on all its output, and `left` bytes of it have not reached the stream.
    pub(super) fn passed_on(&mut self, left: usize) {
        self.queued = left;
    }

    /// So much has gone on to the stream.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.queued = self.queued.saturating_sub(bytes);
    }

    /// The next request whose client still waits.
    pub(super) fn next_request(&mut self) -> Option<Request> {
        loop {
            let request = self.whole.pop_front()?;
            let running = self.place(request.id)?;
            if self.running[running].respond.is_some() {
                self.running[running].has_begun = true;
                return Some(request);
            }
            self.running.swap_remove(running);
        }
    }

    /// Whether a whole request is there.
    pub(super) fn has_request(&self) -> bool {
        !self.whole.is_empty()
    }

    /// Posts a call's answer; false if the client no longer waits.
    pub(super) fn finish(
        &mut self,
        id: u32,
        answer: Result<Vec<u8>, Status>,
        now: Instant,
    ) -> bool {
        let Some(place) = self.place(id) else {
            return false;
        };
        let Some(respond) = self.running.swap_remove(place).respond else {
            return false;
        };
        self.reply(respond, answer, now);
        true
    }

    /// Answers clients after their deadline, and gives up responses of which the client has taken
    /// nothing for `stall`. A running call goes on to its real end.
    pub(super) fn expire(&mut self, now: Instant, stall: Duration) {
        let status = || Status::new(Code::DeadlineExceeded, "context deadline exceeded");
        for mut receiving in self
            .receiving
            .extract_if(.., |receiving| receiving.deadline <= now)
        {
            exchange::refuse(&mut receiving.respond, StatusCode::OK, &status());
        }
        for running in &mut self.running {
            if running.deadline <= now
                && let Some(mut respond) = running.respond.take()
            {
                exchange::refuse(&mut respond, StatusCode::OK, &status());
            }
        }
        for mut sending in self
            .sending
            .extract_if(.., |sending| later(sending.since, stall) <= now)
        {
            sending.reset(Reason::CANCEL);
        }
    }

    /// When [`Calls::expire`] has something to do next.
    pub(super) fn next_deadline(&self, stall: Duration) -> Option<Instant> {
        let receiving = self.receiving.iter().map(|receiving| receiving.deadline);
        let waits = |running: &RunningCall| running.respond.is_some().then_some(running.deadline);
        let running = self.running.iter().filter_map(waits);
        let sending = self
            .sending
            .iter()
            .map(|sending| later(sending.since, stall));
        receiving.chain(running).chain(sending).min()
    }

    /// The memory of waiting requests, untaken responses and h2's lists.
    pub(super) fn held(&self) -> usize {
        let open = (self.receiving.len() + self.whole.len()) * exchange::CALL_BYTES;
        let kept = self.peaks.kept().saturating_sub(open);
        self.requests() + self.unsent() + self.queued + kept
    }

    /// Gives up the largest of what [`Calls::held`] counts, the newest if several are; false if
    /// there is nothing to give up.
    pub(super) fn shed(&mut self) -> bool {
        let receiving = largest(
            self.receiving.iter().map(Receiving::held),
            Ballast::Receiving,
        );
        let whole = largest(self.whole.iter().map(Request::held), Ballast::Whole);
        let sending = largest(self.sending.iter().map(Sending::left), Ballast::Sending);
        let Some((_, ballast)) = [sending, whole, receiving].into_iter().flatten().max() else {
            return false;
        };
        let status = Status::new(
            Code::ResourceExhausted,
            "the server holds too many unfinished requests",
        );
        match ballast {
            Ballast::Receiving(index) => {
                let mut receiving = self.receiving.remove(index);
                exchange::refuse(&mut receiving.respond, StatusCode::OK, &status);
            }
            Ballast::Whole(index) => self.refuse_whole(index, &status),
            Ballast::Sending(index) => {
                // A Go client sees it as ResourceExhausted.
                self.sending.remove(index).reset(Reason::ENHANCE_YOUR_CALM);
            }
        }
        true
    }

    fn admit(&mut self, receiving: Receiving, message: Bytes, options: &ServerOptions) {
        let Receiving {
            method,
            metadata,
            deadline,
            mut respond,
            ..
        } = receiving;
        let most = usize::try_from(options.max_concurrent_streams).unwrap_or(usize::MAX);
        if self.running.len() >= most {
            // Only streams reset by the client can leave so many.
            let status = Status::new(Code::ResourceExhausted, "too many calls on this connection");
            return exchange::refuse(&mut respond, StatusCode::OK, &status);
        }
        let id = respond.stream_id().as_u32();
        self.running.push(RunningCall {
            id,
            deadline,
            respond: Some(respond),
            has_begun: false,
        });
        self.whole.push_back(Request {
            id,
            method,
            metadata,
            message,
            deadline,
        });
    }

    /// Refuses the newest calls until the messages fit the limit together.
    fn bound_requests(&mut self, most: usize) {
        while self.requests() > most {
            let Some(mut receiving) = self.receiving.pop() else {
                return;
            };
            let status = Status::new(Code::ResourceExhausted, "too much input on this connection");
            exchange::refuse(&mut receiving.respond, StatusCode::OK, &status);
        }
    }

    fn refuse_whole(&mut self, index: usize, status: &Status) {
        let Some(request) = self.whole.remove(index) else {
            return;
        };
        let running = self
            .place(request.id)
            .map(|at| self.running.swap_remove(at));
        if let Some(mut respond) = running.and_then(|running| running.respond) {
            exchange::refuse(&mut respond, StatusCode::OK, status);
        }
    }

    fn reply(
        &mut self,
        respond: SendResponse<Bytes>,
        answer: Result<Vec<u8>, Status>,
        now: Instant,
    ) {
        let length = match &answer {
            Ok(message) => message.len(),
            Err(status) => status.message.len(),
        };
        let sending = exchange::reply(respond, answer, now);
        self.queued += length.saturating_sub(sending.as_ref().map_or(0, Sending::left));
        self.sending.extend(sending);
    }

    fn requests(&self) -> usize {
        let receiving = self.receiving.iter().map(Receiving::held);
        let whole = self.whole.iter().map(Request::held);
        receiving.chain(whole).sum()
    }

    /// Bytes of responses not yet given to h2.
    pub(super) fn unsent(&self) -> usize {
        self.sending.iter().map(Sending::left).sum()
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.running.iter().position(|running| running.id == id)
    }
}

fn largest(
    sizes: impl Iterator<Item = usize>,
    ballast: impl Fn(usize) -> Ballast,
) -> Option<(usize, Ballast)> {
    sizes
        .enumerate()
        .map(|(index, size)| (size, ballast(index)))
        .max()
}
