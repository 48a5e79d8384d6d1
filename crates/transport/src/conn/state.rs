//! The state of a connection under its lock, and one turn of its driver.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, io};

use bytes::Bytes;
use h2::Reason;
use h2::server::{Connection as Http2, Handshake};
use thiserror::Error;

use super::calls::Calls;
use super::ending::{Ending, Load, Step, Why};
use super::exchange::Request;
use super::later;
use super::limits::http2;
use crate::authority::{AuthorityError, AuthorityRewriter, Pings};
use crate::pool::Slice;
use crate::port::Port;
use crate::server::{Account, Binding, Budget, Shared};
use crate::sys::{Handles, Interest, Read, Stream, Watch, Written};
use crate::{Peer, Status};

/// How long a response may wait for others of its connection, so all go in one write.
const FLUSH_TIME: Duration = Duration::from_micros(500);
/// The most reads of a connection before its driver serves its others. A connection can be read
/// again at once if a read need not wait for the next round; each brings 16 KiB at most.
const MOST_READS: u32 = 4;
/// The thread's next step after a turn.
pub(super) enum Turn {
    Run(Box<Request>),
    /// Wait: it was served at this time.
    Wait(Instant),
    /// Serve others first: its slice was used up at this time, and a request is left.
    Pause(Instant),
    Close(CloseReason),
}

/// Handles, interest and deadline for a wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wait {
    pub(crate) interest: Interest,
    /// When the next deadline passes.
    pub(crate) until: Option<Instant>,
    /// Whether a call is likely to come soon.
    pub(crate) lingers: bool,
}

/// Why a connection ends.
#[derive(Debug, Error)]
pub(crate) enum CloseReason {
    #[error("the client closed it")]
    Gone,
    #[error("it ended as HTTP/2 says")]
    Finished,
    #[error("no HTTP/2 preface came in time")]
    Silent,
    #[error("the client does not read")]
    Stalled,
    #[error("it held the most when the server was to hold no more")]
    OverBudget,
    #[error("it made room for another")]
    MadeRoom,
    #[error("the server is shutting down")]
    Severed,
    #[error("a thread that drove it panicked")]
    Panic,
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    #[error("HTTP/2: {0}")]
    Http(#[from] h2::Error),
    #[error("input or output failed: {0}")]
    Io(#[from] io::Error),
}

impl CloseReason {
    /// Whether it says no more than that one side hung up.
    pub(super) fn is_hang_up(&self) -> bool {
        let has_ended = matches!(self, Self::Gone | Self::Finished | Self::Severed);
        has_ended
            || matches!(self, Self::Io(_))
            || matches!(self, Self::Http(error) if error.is_io())
    }
}

/// The state of HTTP/2.
enum Http {
    /// Nothing has come: nothing is allocated.
    Silent,
    Handshake(Pin<Box<Handshake<Port, Bytes>>>),
    Open(Box<Http2<Port, Bytes>>),
    /// Only output is left to be sent.
    Ended(Option<h2::Error>),
}

pub(super) struct State {
    stream: Stream,
    watch: Watch,
    rewriter: AuthorityRewriter,
    port: Port,
    http: Http,
    calls: Calls,
    created: Instant,
    /// When a call last ran.
    active: Instant,
    /// Since when output waits without any going out.
    stalled: Option<Instant>,
    /// Since when a response waits while other calls of the connection are run.
    unsent_since: Option<Instant>,
    /// When a held PING goes on to h2.
    ping_due: Option<Instant>,
    /// Reads since the driver last looked at its others.
    reads: u32,
    ending: Ending,
    peer: Peer,
    account: Arc<Account>,
    binding: Arc<Binding>,
    shared: Arc<Shared>,
}

impl State {
    pub(super) fn new(
        stream: Stream,
        watch: Watch,
        account: &Arc<Account>,
        binding: &Arc<Binding>,
        shared: &Arc<Shared>,
    ) -> Self {
        let options = &shared.options;
        let pings = if options.ping_delay.is_zero() {
            Pings::Pass
        } else {
            Pings::Hold
        };
        Self {
            peer: stream.identity().peer(),
            stream,
            watch,
            rewriter: AuthorityRewriter::new(pings),
            port: Port::new(options.max_queued_output),
            http: Http::Silent,
            calls: Calls::default(),
            created: Instant::now(),
            active: Instant::now(),
            stalled: None,
            unsent_since: None,
            ping_due: None,
            reads: 0,
            ending: Ending::new(options.max_idle),
            account: Arc::clone(account),
            binding: Arc::clone(binding),
            shared: Arc::clone(shared),
        }
    }

    pub(super) fn note_ready(&mut self, ready: Interest) -> bool {
        self.stream.note_ready(ready)
    }

    /// Does all work that needs no wait.
    pub(super) fn turn(
        &mut self,
        end: Option<Why>,
        slice: &Slice<'_>,
        context: &mut Context<'_>,
    ) -> Turn {
        self.try_turn(end, slice, context)
            .unwrap_or_else(Turn::Close)
    }

    /// Since when no call has run; None while one does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (!self.calls.has_begun()).then_some(self.active)
    }

    /// Begins a read, so that a wait reports input; None if there is input already.
    pub(super) fn begin_wait(&mut self) -> Option<Wait> {
        self.reads = 0;
        self.port.buffers().shrink();
        let wants_input = self.wants_input();
        if wants_input && self.stream.begin_read() {
            return None;
        }
        Some(Wait {
            interest: self.stream.interest(wants_input),
            until: self.next_deadline(),
            lingers: !self.is_opening(),
        })
    }

    /// Posts a call's answer.
    pub(super) fn finish(&mut self, id: u32, answer: Result<Vec<u8>, Status>) {
        let now = Instant::now();
        self.active = now;
        if self.calls.finish(id, answer, now) {
            self.unsent_since.get_or_insert(now);
        }
    }

    pub(super) fn arm_watch(&self, handles: &Handles, wait: &Wait) -> io::Result<()> {
        let left = wait
            .until
            .map(|until| until.saturating_duration_since(Instant::now()));
        self.watch.arm(handles, wait.interest, left)
    }

    fn try_turn(
        &mut self,
        end: Option<Why>,
        slice: &Slice<'_>,
        context: &mut Context<'_>,
    ) -> Result<Turn, CloseReason> {
        if end == Some(Why::Shutdown) {
            self.calls.close();
        }
        self.ending.want(end);
        self.take_input(slice)?;
        loop {
            let now = Instant::now();
            self.check_times(now)?;
            self.advance(now, context)?;
            while self.continue_ending(now)? {
                self.advance(now, context)?;
            }
            if self.calls.has_begun() {
                self.active = now;
            }
            let is_due = |since| since + FLUSH_TIME <= now;
            let mut has_room = self.unsent_since.is_some_and(is_due) && self.send(now)?;
            let has_request = self.calls.has_request() && self.ending.lets_calls_begin();
            let pauses = has_request && slice.ends_calls(now);
            if has_request
                && !pauses
                && let Some(request) = self.calls.next_request()
            {
                self.settle()?;
                return Ok(Turn::Run(Box::new(request)));
            }
            has_room |= self.send(now)?;
            self.settle()?;
            if pauses {
                return Ok(Turn::Pause(now));
            }
            if !has_room && !self.take_input(slice)? {
                return Ok(Turn::Wait(now));
            }
        }
    }

    fn wants_input(&self) -> bool {
        let buffers = self.port.buffers();
        buffers.is_drained() && !buffers.at_end && !matches!(self.http, Http::Ended(_))
    }

    /// Passes input through the rewriter, if h2 has taken the input before; false if there is none,
    /// or if others come first: the input then ends the next wait at once.
    fn take_input(&mut self, slice: &Slice<'_>) -> Result<bool, CloseReason> {
        if !self.wants_input() || !self.may_read(slice) {
            return Ok(false);
        }
        let mut buffers = self.port.buffers();
        match self.stream.read()? {
            Read::Pending => return Ok(false),
            Read::Closed if matches!(self.http, Http::Silent) => return Err(CloseReason::Gone),
            Read::Closed => buffers.at_end = true,
            Read::Data(data) => {
                self.reads += 1;
                buffers.input.reserve(data.len());
                self.rewriter.push(data, &mut buffers.input)?;
                self.calls.note_frames(self.rewriter.take_frames());
            }
        }
        drop(buffers);
        if self.ping_due.is_none() && self.rewriter.holds_ping() {
            self.ping_due = Some(later(Instant::now(), self.shared.options.ping_delay));
        }
        if matches!(self.http, Http::Silent) {
            let handshake = http2(&self.shared.options).handshake(self.port.clone());
            self.http = Http::Handshake(Box::pin(handshake));
        }
        Ok(true)
    }

    /// The first read after a wait is free.
    fn may_read(&self, slice: &Slice<'_>) -> bool {
        self.reads == 0 || self.reads < MOST_READS && !slice.is_over(Instant::now())
    }

    /// Has h2 and the calls move on.
    fn advance(&mut self, now: Instant, context: &mut Context<'_>) -> Result<(), CloseReason> {
        if let Http::Handshake(handshake) = &mut self.http
            && let Poll::Ready(http) = handshake.as_mut().poll(context)
        {
            self.http = Http::Open(Box::new(http?));
            self.log_client();
        }
        let options = &self.shared.options;
        loop {
            let Http::Open(http) = &mut self.http else {
                return Ok(());
            };
            match http.poll_accept(context) {
                Poll::Pending => break,
                Poll::Ready(Some(Ok((request, respond)))) => {
                    self.calls.begin(request, respond, options, now);
                }
                Poll::Ready(Some(Err(error))) => self.http = Http::Ended(Some(error)),
                Poll::Ready(None) => self.http = Http::Ended(None),
            }
        }
        let buffers = self.port.buffers();
        if !buffers.is_blocked() {
            self.calls.passed_on(buffers.output.len());
        }
        drop(buffers);
        self.calls.gather(options, now, context);
        self.calls.send(now, context);
        Ok(())
    }

    /// This process's own clients look whether its endpoints answer, again and again.
    fn log_client(&self) {
        if self.shared.options.quiet_clients {
            return;
        }
        let (endpoint, peer) = (&self.binding.endpoint, self.peer);
        match peer.is_this_process() {
            true => tracing::trace!(%endpoint, %peer, "client connected"),
            false => tracing::debug!(%endpoint, %peer, "client connected"),
        }
    }

    /// Accounts for the connection's bytes, and makes room if it has to.
    fn settle(&mut self) -> Result<(), CloseReason> {
        self.shared.budget.settle(&self.account, self.held());
        while self.has_to_make_room() {
            if !self.calls.shed() {
                return self.close_for_memory();
            }
            self.shared.budget.settle(&self.account, self.held());
        }
        Ok(())
    }

    /// Ends the connection because none of its bytes can be refused. The capacity of buffers and lists does not cost it
    /// a call, unless the server holds far too much.
    fn close_for_memory(&mut self) -> Result<(), CloseReason> {
        let output = self.calls.unsent() + self.stream.unsent();
        if output > Budget::DUE || self.shared.budget.is_far_over() {
            return Err(CloseReason::OverBudget);
        }
        self.ending.want(Some(Why::Room));
        Ok(())
    }

    /// Whether the server holds too much, and this connection the most of it. If another holds
    /// more, that one is notified, and this one goes on unless the server holds far too much.
    fn has_to_make_room(&self) -> bool {
        let budget = &self.shared.budget;
        if !budget.is_over() || self.account.held() <= Budget::DUE {
            return false;
        }
        match self.shared.connections.largest() {
            Some(largest) if !largest.has_account(&self.account) => {
                largest.want_turn();
                budget.is_far_over()
            }
            _ => true,
        }
    }

    /// The bytes waiting here for more input, for a thread or for the client, and the capacity kept
    /// by buffers and h2's lists.
    fn held(&self) -> usize {
        let buffers =
            self.port.buffers().held() + self.rewriter.held() + self.rewriter.kept_by_h2();
        buffers + self.calls.held() + self.stream.held()
    }

    /// Sends all queued output; true if h2 waited for room and there is room now.
    fn send(&mut self, now: Instant) -> Result<bool, CloseReason> {
        let mut buffers = self.port.buffers();
        let before = buffers.output.len();
        let written = self.stream.write(&mut buffers.output)?;
        self.calls.sent(before - buffers.output.len());
        let has_room = buffers.unblock();
        drop(buffers);
        self.unsent_since = None;
        match written {
            Written::All => self.stalled = None,
            Written::Pending { progress: true } => self.stalled = Some(now),
            Written::Pending { progress: false } => {
                self.stalled.get_or_insert(now);
            }
        }
        let Http::Ended(error) = &mut self.http else {
            return Ok(has_room);
        };
        match (written, error.take()) {
            (Written::All, Some(error)) => Err(error.into()),
            (Written::All, None) => Err(CloseReason::Finished),
            (_, error) => {
                self.http = Http::Ended(error);
                Ok(false)
            }
        }
    }

    /// Handles passed deadlines.
    fn check_times(&mut self, now: Instant) -> Result<(), CloseReason> {
        if self.is_opening() && now >= later(self.created, self.shared.options.handshake_timeout) {
            return Err(CloseReason::Silent);
        }
        if self
            .stalled
            .is_some_and(|since| now >= later(since, self.shared.options.write_stall_timeout))
        {
            return Err(CloseReason::Stalled);
        }
        if self.ping_due.is_some_and(|due| now >= due) {
            self.rewriter.release_ping(&mut self.port.buffers().input);
            let again = self.rewriter.holds_ping();
            self.ping_due = again.then(|| later(now, self.shared.options.ping_delay));
        }
        self.calls
            .expire(now, self.shared.options.write_stall_timeout);
        if self.idle_until().is_some_and(|until| now >= until) {
            self.ending.want(Some(Why::Idle));
        }
        Ok(())
    }

    /// When the connection has been idle for too long.
    fn idle_until(&self) -> Option<Instant> {
        let since = self.idle_since()?;
        let ends = self.is_opening() || self.ending.is_wanted();
        (!ends).then(|| later(since, self.shared.options.max_idle))
    }

    /// Continues a wanted end of the connection; true if h2 has new output for it.
    fn continue_ending(&mut self, now: Instant) -> Result<bool, CloseReason> {
        let load = self.load();
        let step = self.ending.step(load, self.active, now);
        if step == Step::Nothing {
            return Ok(false);
        }
        match (step, &mut self.http) {
            (Step::Ask | Step::End, Http::Ended(_)) => return Ok(false),
            (Step::Ask, Http::Open(http)) => http.graceful_shutdown(),
            (Step::End, Http::Open(http)) => http.abrupt_shutdown(Reason::NO_ERROR),
            _ if self.calls.is_closed() => return Err(CloseReason::Severed),
            _ => return Err(CloseReason::MadeRoom),
        }
        Ok(true)
    }

    /// The work on the connection. A response still held by h2 counts as a stream.
    fn load(&self) -> Load {
        match &self.http {
            _ if self.calls.has_begun() => Load::Calls,
            Http::Open(http) if http.has_streams() => Load::Streams,
            _ => Load::None,
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let handshake = self
            .is_opening()
            .then(|| later(self.created, self.shared.options.handshake_timeout));
        let stall = self.shared.options.write_stall_timeout;
        let stalled = self.stalled.map(|since| later(since, stall));
        let calls = self.calls.next_deadline(stall);
        let ending = self.ending.due(self.load(), self.active);
        [
            handshake,
            stalled,
            self.ping_due,
            calls,
            ending,
            self.idle_until(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn is_opening(&self) -> bool {
        matches!(self.http, Http::Silent | Http::Handshake(_))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.shared.budget.settle(&self.account, 0);
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::server::Groups;
    use crate::sys::{self, Ready};
    use crate::{Call, Endpoint, ServerOptions, Service};

    const TIMEOUT: Duration = Duration::from_secs(30);
    /// As much as any system takes from a client without a reader, and more than the first few
    /// reads bring: they begin with 4 KiB.
    const FLOOD: usize = 96 << 10;

    struct Nothing;

    impl Service for Nothing {
        fn call(&self, call: &Call) -> Result<Vec<u8>, Status> {
            Err(Status::unimplemented(&call.method))
        }
    }

    impl Ready for Nothing {
        fn ready(self: Arc<Self>) {}
    }

    /// A client's end, and the server's state for it.
    fn connected(endpoint: &Endpoint) -> (Stream, State) {
        let options = ServerOptions::default();
        let mut listeners = sys::listen(endpoint, &options).unwrap();
        let end = Instant::now() + TIMEOUT;
        let client = Stream::connect(endpoint, end).unwrap();
        let stream = loop {
            let mut accepted = listeners.iter_mut().map(|it| it.accept().unwrap());
            if let Some(stream) = accepted.find_map(|stream| stream) {
                break stream;
            }
            assert!(Instant::now() < end, "nobody is let in");
        };
        let mut groups = Groups::default();
        let binding = Binding::new(endpoint.clone(), Arc::new(Nothing), &mut groups);
        let binding = Arc::new(binding);
        let shared = Arc::new(Shared::new(options, &groups).unwrap());
        let watch = shared.watcher.watch(Arc::new(Nothing)).unwrap();
        let state = State::new(stream, watch, &Arc::default(), &binding, &shared);
        (client, state)
    }

    /// An opening, and then PRIORITY frames: valid, and without an answer.
    fn flood() -> Vec<u8> {
        let priority = [0, 0, 5, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
        bytes.extend(priority.repeat(FLOOD / priority.len()));
        bytes
    }

    /// Turns until all of a flood is read, each with such a slice.
    fn turns_of_a_flood(name: &str, slice: Duration) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("transport-test-{}-{name}", std::process::id());
        let endpoint = Endpoint::local(folder.path(), &name).unwrap();
        let (mut client, mut state) = connected(&endpoint);
        client.write(&mut flood()).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        for turns in 1.. {
            let turn = state.turn(None, &Slice::of(slice), &mut context);
            assert!(matches!(turn, Turn::Wait(_)), "it stays open");
            if state.begin_wait().is_some() {
                return turns;
            }
        }
        unreachable!("it was endless")
    }

    #[test]
    fn a_flood_leaves_the_driver_to_its_others_after_a_few_reads() {
        assert!(
            turns_of_a_flood("flood", Duration::MAX) > 1,
            "the others had to wait"
        );
    }

    /// Of a pipe a turn reads once, however long the slice.
    #[cfg(unix)]
    #[test]
    fn a_flood_is_read_once_when_its_slice_is_over() {
        let with_slice = turns_of_a_flood("slice", Duration::MAX);
        let without = turns_of_a_flood("no-slice", Duration::ZERO);
        assert!(without > with_slice, "{without} turns, {with_slice}");
    }
}
