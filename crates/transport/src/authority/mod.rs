//! The `:authority` rewriter: a filter between the bytes of a client and h2, for fields that h2 would refuse or keep.
//!
//! Go's gRPC clients put their target into `:authority`. For a pipe this is the pipe's path,
//! percent-encoded or with raw backslashes, and sidecars send `unix:%2F%2FC:...`. The http crate
//! accepts none of these as an authority, and h2 resets the stream before the service sees the call
//! (hyperium/h2 pull request 487, grpc-rust issues 243, 742, 1876). Nothing here reads the
//! authority, so the rewriter leaves it out.
//!
//! Some fields stored by h2 keep their whole input buffer, however small they are and whatever limit was announced;
//! `hpack` lists them, and stores them in h2's place.
//!
//! It works only on the client's direction and is pure: bytes in, bytes out. All frames but HEADERS
//! and CONTINUATION stream through without being gathered. A header block is gathered up to
//! `BLOCK_LIMIT` and goes on byte for byte unless a field in it changed; then it is cut into frames
//! again, without padding and priority (which h2 ignores).
//!
//! It can also hold back a PING for a moment; see [`AuthorityRewriter::release_ping`].

mod frame;
pub(crate) mod hpack;
mod huffman;
mod table;

use std::{fmt, mem};

use thiserror::Error;

use frame::{Head, Kind};
use hpack::{HpackError, Outcome, Walker};

/// The first bytes of every HTTP/2 client (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// h2's default for the largest frame (RFC 9113 section 6.5.2).
const FRAME_LIMIT: usize = 16384;
/// The most bytes of one header block, as encoded.
const BLOCK_LIMIT: usize = 64 << 10;
/// The most CONTINUATION frames of one header block.
const CONTINUATION_LIMIT: usize = 32;
/// The most capacity that a buffer keeps between blocks, in bytes.
const KEPT: usize = 4 << 10;

/// Why a client's bytes are not let through any further.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The first bytes are not HTTP/2's.
    #[error("the connection does not begin with the HTTP/2 preface")]
    Preface,
    /// A header frame beyond the smallest size that a server may announce.
    #[error("a header frame of {0} bytes is larger than {FRAME_LIMIT}")]
    FrameSize(usize),
    /// A header block beyond this filter's bounds.
    #[error("a header block is larger than {BLOCK_LIMIT} bytes or {CONTINUATION_LIMIT} frames")]
    BlockSize,
    /// CONTINUATION without HEADERS, or HEADERS followed by something else.
    #[error("a CONTINUATION frame is missing or out of place")]
    Sequence,
    /// Padding or priority that does not fit into its frame.
    #[error("a header frame is too short for its padding")]
    Padding,
    /// The block itself is malformed.
    #[error(transparent)]
    Block(#[from] HpackError),
}

/// The filter's state for one connection.
pub struct AuthorityRewriter {
    state: State,
    /// The header block being gathered over several frames.
    block: Option<Block>,
    walker: Walker,
    /// A block as h2 is to read it.
    rewritten: Vec<u8>,
    pings: Pings,
    held_ping: Option<Vec<u8>>,
    /// The size of h2's own buffers after the client's largest frames and blocks.
    kept_by_h2: usize,
    /// Frames since the last query.
    frames: usize,
}

/// The handling of a client's PING frames.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pings {
    /// They go through like all else.
    Pass,
    /// One at a time is held back until [`AuthorityRewriter::release_ping`] or the next PING.
    Hold,
}

enum State {
    /// So many bytes of the preface have been seen.
    Preface(usize),
    /// Between frames, or within a frame's head.
    Head(Vec<u8>),
    /// Within a frame that streams through: the bytes left.
    Streaming(usize),
    /// Within a gathered frame: its head and its payload so far.
    Gathering(Head, Vec<u8>),
}

/// A header block over several frames.
struct Block {
    first: Head,
    frames: usize,
    /// The frames as they came.
    raw: Vec<u8>,
    encoded: Vec<u8>,
}

impl AuthorityRewriter {
    /// A filter at the start of a connection.
    pub fn new(pings: Pings) -> Self {
        Self {
            state: State::Preface(0),
            block: None,
            walker: Walker::new(),
            rewritten: Vec::new(),
            pings,
            held_ping: None,
            kept_by_h2: 0,
            frames: 0,
        }
    }

    /// Takes the client's next bytes and appends the bytes for h2 to `output`.
    ///
    /// # Errors
    /// When the bytes break HTTP/2 or this filter's bounds; the connection is then to be closed,
    /// and the rewriter is of no further use.
    pub fn push(&mut self, mut input: &[u8], output: &mut Vec<u8>) -> Result<(), AuthorityError> {
        while !input.is_empty() {
            let used = self.step(input, output)?;
            input = &input[used..];
        }
        Ok(())
    }

    /// Takes some of the non-empty `input`; returns how much.
    fn step(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<usize, AuthorityError> {
        match &mut self.state {
            State::Preface(seen) => {
                let used = match_preface(*seen, input)?;
                *seen += used;
                output.extend(&input[..used]);
                if *seen == PREFACE.len() {
                    self.state = State::Head(Vec::new());
                }
                Ok(used)
            }
            State::Head(bytes) if bytes.is_empty() && input.len() >= Head::LENGTH => {
                self.whole_head(input, output)
            }
            State::Head(bytes) => {
                let used = input.len().min(Head::LENGTH - bytes.len());
                bytes.extend(&input[..used]);
                if bytes.len() == Head::LENGTH {
                    let head = Head::parse(bytes);
                    self.note_frame(&head);
                    self.begin(head, output)?;
                }
                Ok(used)
            }
            State::Streaming(left) => {
                let used = input.len().min(*left);
                *left -= used;
                output.extend(&input[..used]);
                if *left == 0 {
                    self.state = State::Head(Vec::new());
                }
                Ok(used)
            }
            State::Gathering(head, payload) => {
                let used = input.len().min(head.length - payload.len());
                payload.extend(&input[..used]);
                if payload.len() == head.length {
                    let (head, payload) = (*head, mem::take(payload));
                    self.state = State::Head(Vec::new());
                    self.frame(head, &payload, output)?;
                }
                Ok(used)
            }
        }
    }

    /// Begins a frame with a complete head. If the frame is complete, as is the rule, it is copied
    /// to the output alone.
    fn whole_head(&mut self, input: &[u8], output: &mut Vec<u8>) -> Result<usize, AuthorityError> {
        let (head, rest) = input.split_at(Head::LENGTH);
        let head = Head::parse(head);
        self.note_frame(&head);
        match rest.get(..head.length) {
            Some(payload) if self.gathers(&head)? => {
                self.frame(head, payload, output)?;
                Ok(Head::LENGTH + head.length)
            }
            _ => {
                self.begin(head, output)?;
                Ok(Head::LENGTH)
            }
        }
    }

    /// Whether the preface has been seen whole.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, State::Preface(_))
    }

    /// The client's bytes held back until their frame or block is complete.
    pub(crate) fn held(&self) -> usize {
        let gathered = match &self.state {
            State::Gathering(_, payload) => payload.capacity(),
            State::Preface(_) | State::Head(_) | State::Streaming(_) => 0,
        };
        let block = self.block.as_ref();
        gathered + block.map_or(0, |block| block.raw.capacity() + block.encoded.capacity())
    }

    /// An estimate of the capacity that h2 keeps after large frames: its read buffer doubles up to twice a frame, and
    /// an assembled or Huffman-coded block takes room as well.
    pub(crate) fn kept_by_h2(&self) -> usize {
        self.kept_by_h2
    }

    /// The frames of requests begun since the last query.
    pub(crate) fn take_frames(&mut self) -> usize {
        mem::take(&mut self.frames)
    }

    fn note_frame(&mut self, head: &Head) {
        self.frames += usize::from(head.is_of_request());
        self.note_size(head.length.min(FRAME_LIMIT));
    }

    fn note_size(&mut self, bytes: usize) {
        if bytes > KEPT {
            self.kept_by_h2 = self.kept_by_h2.max(2 * bytes);
        }
    }

    /// Whether a PING is held back.
    pub fn holds_ping(&self) -> bool {
        self.held_ping.is_some()
    }

    /// Lets a held PING go on to h2, unless a frame has been begun: then it stays for another try.
    ///
    /// grpc-go measures bandwidth with one PING at a time, sent when a response comes in, and the
    /// next only after the answer. Held until the next response goes out anyway, a PING costs no
    /// pipe operation of its own. RFC 9113 section 6.7 wants PINGs answered soon, so the driver
    /// releases it after a few milliseconds at the latest.
    pub fn release_ping(&mut self, output: &mut Vec<u8>) {
        let between_frames = matches!(&self.state, State::Head(bytes) if bytes.is_empty());
        if between_frames && self.block.is_none() {
            output.extend(self.held_ping.take().unwrap_or_default());
        }
    }

    /// Whether a frame is to be gathered rather than streamed through; checks its place and size.
    fn gathers(&self, head: &Head) -> Result<bool, AuthorityError> {
        let is_header = matches!(head.kind, Kind::Headers | Kind::Continuation);
        match (&self.block, head.kind) {
            (Some(block), Kind::Continuation) if block.first.stream == head.stream => {}
            (Some(_), _) | (None, Kind::Continuation) => return Err(AuthorityError::Sequence),
            (None, _) => {}
        }
        match is_header && head.length > FRAME_LIMIT {
            true => Err(AuthorityError::FrameSize(head.length)),
            false => Ok(is_header || self.pings == Pings::Hold && head.is_ping()),
        }
    }

    /// Begins a frame with an incomplete payload.
    fn begin(&mut self, head: Head, output: &mut Vec<u8>) -> Result<(), AuthorityError> {
        self.state = match self.gathers(&head)? {
            true if head.length > 0 => State::Gathering(head, Vec::with_capacity(head.length)),
            true => {
                self.state = State::Head(Vec::new());
                return self.frame(head, &[], output);
            }
            false => {
                output.extend(head.bytes);
                match head.length {
                    0 => State::Head(Vec::new()),
                    length => State::Streaming(length),
                }
            }
        };
        Ok(())
    }

    /// Handles a gathered frame.
    fn frame(
        &mut self,
        head: Head,
        payload: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), AuthorityError> {
        match head.kind {
            Kind::Headers => self.headers(head, payload, output),
            Kind::Continuation => self.continuation(head, payload, output),
            Kind::Other => {
                output.extend(self.held_ping.take().unwrap_or_default());
                self.held_ping = Some([head.bytes.as_slice(), payload].concat());
                Ok(())
            }
        }
    }

    fn headers(
        &mut self,
        head: Head,
        payload: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), AuthorityError> {
        let fragment = head.fragment(payload).ok_or(AuthorityError::Padding)?;
        if !head.ends_headers() {
            let raw = [head.bytes.as_slice(), payload].concat();
            self.block = Some(Block {
                first: head,
                frames: 1,
                raw,
                encoded: fragment.to_vec(),
            });
            return Ok(());
        }
        self.whole_block(&head, fragment, &[&head.bytes, payload], output)
    }

    fn continuation(
        &mut self,
        head: Head,
        payload: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), AuthorityError> {
        let Some(mut block) = self.block.take() else {
            return Err(AuthorityError::Sequence);
        };
        block.frames += 1;
        block.raw.extend(head.bytes);
        block.raw.extend(payload);
        block.encoded.extend(payload);
        if block.encoded.len() > BLOCK_LIMIT || block.frames > CONTINUATION_LIMIT {
            return Err(AuthorityError::BlockSize);
        }
        if !head.ends_headers() {
            self.block = Some(block);
            return Ok(());
        }
        self.whole_block(&block.first, &block.encoded, &[&block.raw], output)
    }

    /// Passes on a header block: the frames as they came, or others when it is changed.
    fn whole_block(
        &mut self,
        first: &Head,
        encoded: &[u8],
        raw: &[&[u8]],
        output: &mut Vec<u8>,
    ) -> Result<(), AuthorityError> {
        self.note_size(2 * encoded.len());
        self.rewritten.clear();
        match self.walker.walk(encoded, &mut self.rewritten)? {
            Outcome::Same => raw.iter().for_each(|bytes| output.extend(*bytes)),
            Outcome::Changed => frame::write_block(first, &self.rewritten, FRAME_LIMIT, output),
        }
        self.rewritten.shrink_to(KEPT);
        Ok(())
    }
}

impl fmt::Debug for AuthorityRewriter {
    /// Without the client's bytes: headers may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mender")
            .field("is_open", &self.is_open())
            .field("held", &self.held())
            .finish_non_exhaustive()
    }
}

/// How many bytes of `input` belong to the preface, with `seen` bytes before them.
fn match_preface(seen: usize, input: &[u8]) -> Result<usize, AuthorityError> {
    let rest = &PREFACE[seen..];
    let used = rest.len().min(input.len());
    match input[..used] == rest[..used] {
        true => Ok(used),
        false => Err(AuthorityError::Preface),
    }
}

#[cfg(test)]
mod tests;
