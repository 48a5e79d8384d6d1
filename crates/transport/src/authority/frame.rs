//! HTTP/2 frame heads (RFC 9113 section 4.1), as far as the rewriter needs them.

const END_STREAM: u8 = 0x1;
const ACK: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

const TYPE_DATA: u8 = 0x0;
const TYPE_HEADERS: u8 = 0x1;
const TYPE_PING: u8 = 0x6;
const TYPE_CONTINUATION: u8 = 0x9;

const PRIORITY_LENGTH: usize = 5;

/// A frame's first nine bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) bytes: [u8; Self::LENGTH],
    /// Bytes of payload.
    pub(super) length: usize,
    pub(super) kind: Kind,
    pub(super) stream: u32,
}

/// The kinds of frames for the rewriter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Headers,
    Continuation,
    Other,
}

impl Head {
    pub(super) const LENGTH: usize = 9;

    /// Reads a head from exactly [`Self::LENGTH`] bytes.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let bytes: [u8; Self::LENGTH] = bytes.try_into().expect("the caller cut nine bytes");
        let [l0, l1, l2, kind, _flags, s0, s1, s2, s3] = bytes;
        Self {
            bytes,
            length: usize::from(l0) << 16 | usize::from(l1) << 8 | usize::from(l2),
            kind: match kind {
                TYPE_HEADERS => Kind::Headers,
                TYPE_CONTINUATION => Kind::Continuation,
                _ => Kind::Other,
            },
            stream: u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]),
        }
    }

    pub(super) fn ends_headers(&self) -> bool {
        self.flags() & END_HEADERS != 0
    }

    /// Whether h2 keeps the frame until the request is read.
    pub(super) fn is_of_request(&self) -> bool {
        matches!(self.bytes[3], TYPE_DATA | TYPE_HEADERS)
    }

    /// Whether this is a well-formed PING without ACK.
    pub(super) fn is_ping(&self) -> bool {
        self.bytes[3] == TYPE_PING
            && self.flags() & ACK == 0
            && self.length == 8
            && self.stream == 0
    }

    /// The header block in a HEADERS payload, or None when padding and priority do not fit.
    pub(super) fn fragment<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = payload;
        let mut padding = 0;
        if self.flags() & PADDED != 0 {
            let (length, tail) = rest.split_first()?;
            (padding, rest) = (usize::from(*length), tail);
        }
        if self.flags() & PRIORITY != 0 {
            rest = rest.get(PRIORITY_LENGTH..)?;
        }
        rest.get(..rest.len().checked_sub(padding)?)
    }

    fn flags(&self) -> u8 {
        self.bytes[4]
    }
}

/// Writes a header block as HEADERS and CONTINUATION frames of at most `limit` bytes of payload,
/// on the stream and with the END_STREAM flag of `first`.
pub(super) fn write_block(first: &Head, block: &[u8], limit: usize, output: &mut Vec<u8>) {
    let mut chunks = block.chunks(limit).peekable();
    let mut kind = TYPE_HEADERS;
    let mut flags = first.flags() & END_STREAM;
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let is_last = chunks.peek().is_none();
        let end = if is_last { END_HEADERS } else { 0 };
        write_frame(chunk, kind, flags | end, first.stream, output);
        if is_last {
            return;
        }
        (kind, flags) = (TYPE_CONTINUATION, 0);
    }
}

fn write_frame(payload: &[u8], kind: u8, flags: u8, stream: u32, output: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect("a frame is shorter than 2^24 bytes");
    output.extend(&length.to_be_bytes()[1..]);
    output.extend([kind, flags]);
    output.extend(stream.to_be_bytes());
    output.extend(payload);
}
