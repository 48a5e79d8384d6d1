//! The `:authority` rewriter: a filter between the bytes of a client and h2, for what h2 would refuse or keep.
//!
//! Go's gRPC clients put what they dial into `:authority`. For a pipe that is the pipe's path,
//! percent-encoded or with raw backslashes, and sidecars send `unix:%2F%2FC:...`. The http crate
//! takes none of these for an authority, and h2 resets the stream before anybody sees the call
//! (hyperium/h2 pull request 487, grpc-rust issues 243, 742, 1876). Nothing here ever looks at the
//! authority, so the rewriter leaves it out.
//!
//! Some fields that h2 stores keep the whole buffer that they came in, however small they are and
//! whatever the client was told; `hpack` tells which, and how the rewriter stores these in h2's place.
//!
//! It works on the client's direction alone and is pure: bytes in, bytes out. All frames but
//! HEADERS and CONTINUATION stream through without being gathered. A header block is gathered up
//! to `BLOCK_LIMIT` and goes on byte for byte unless a field in it changed; then it is cut into
//! frames again, without padding and priority (which h2 ignores).
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

/// What every HTTP/2 client sends first (RFC 9113 section 3.4).
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The largest frame that h2 accepts by default (RFC 9113 section 6.5.2).
const FRAME_LIMIT: usize = 16384;
/// The most that one header block may have, in bytes as encoded.
const BLOCK_LIMIT: usize = 64 << 10;
/// The most CONTINUATION frames that one header block may have.
const CONTINUATION_LIMIT: usize = 32;
/// The most that a buffer keeps of its room between blocks, in bytes.
const KEPT: usize = 4 << 10;

/// Why a client's bytes are not let through any further.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum AuthorityError {
    /// The first bytes are not HTTP/2's.
    #[error("the connection does not begin with the HTTP/2 preface")]
    Preface,
    /// A header frame beyond the size that every server announces at least.
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
    /// The header block that is being gathered over several frames.
    block: Option<Block>,
    walker: Walker,
    /// A block as h2 is to read it.
    rewritten: Vec<u8>,
    pings: Pings,
    held_ping: Option<Vec<u8>>,
    /// What h2's own buffers have grown to for the client's largest frames and blocks.
    kept_by_h2: usize,
    /// Frames since they were last asked for.
    frames: usize,
}

/// What becomes of a client's PING frames.
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
    /// Within a frame that streams through: so many bytes are left.
    Streaming(usize),
    /// Within a frame that is gathered: its head and what came of its payload.
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

    /// Takes the client's next bytes and appends what h2 may read to `output`.
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

    /// Takes some of `input`, which is not empty; how much.
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

    /// Begins a frame whose head is there whole. When all of it is, as is the rule, nothing is
    /// copied but to the output.
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

    /// The client's bytes that are held back until their frame or block is whole.
    pub(crate) fn held(&self) -> usize {
        let gathered = match &self.state {
            State::Gathering(_, payload) => payload.capacity(),
            State::Preface(_) | State::Head(_) | State::Streaming(_) => 0,
        };
        let block = self.block.as_ref();
        gathered + block.map_or(0, |block| block.raw.capacity() + block.encoded.capacity())
    }

    /// What h2 keeps, by reckoning, of the room that large frames took: its read buffer doubles up to
    /// twice a frame, and a block that is put together, or has Huffman codes in it, grows as well.
    pub(crate) fn kept_by_h2(&self) -> usize {
        self.kept_by_h2
    }

    /// How many frames of requests have been begun since this was last asked.
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

    /// Begins a frame whose payload has not come whole.
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

/// How many bytes of `input` belong to the preface, of which `seen` have come before.
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
