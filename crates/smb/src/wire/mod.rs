//! Requests and answers of SMB 3.1.1: MS-SMB2 2.2.
//!
//! A decoder gets the whole message, since offsets count from its header, and only after its status was success: error
//! answers have the sizes of good ones. `None` is an answer that breaks the protocol.

pub(crate) mod create;
pub(crate) mod file;
pub(crate) mod info;
pub(crate) mod ioctl;
pub(crate) mod negotiate;
pub(crate) mod session;
pub(crate) mod tree;

use crate::bytes::{self, Out};
use crate::status;

pub(crate) const HEADER: usize = 64;
/// The most bytes that one request or answer carries: what costs one credit.
pub(crate) const PAYLOAD: u32 = 65_536;

pub(crate) const ANSWERS: u32 = 1;
pub(crate) const ASYNC: u32 = 2;
pub(crate) const SIGNED: u32 = 8;
const RELATED: u32 = 4;

/// Where a header has the distance to the next message of a chain.
const NEXT: usize = 20;

const MAGIC: [u8; 4] = [0xfe, b'S', b'M', b'B'];

/// The operation of a message (2.2.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Command {
    Negotiate = 0,
    SessionSetup = 1,
    TreeConnect = 3,
    TreeDisconnect = 4,
    Create = 5,
    Close = 6,
    Flush = 7,
    Read = 8,
    Write = 9,
    Ioctl = 11,
    QueryDirectory = 14,
    QueryInfo = 16,
    SetInfo = 17,
}

/// A request without its header.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) command: Command,
    pub(crate) body: Vec<u8>,
    /// `RELATED`, or none.
    flags: u32,
    /// If it is another share's than that of the requests which are sent with it.
    share: Option<u32>,
    /// How many bytes of data its answer may have.
    pub(crate) asks_for: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) status: u32,
    pub(crate) command: u16,
    pub(crate) credits: u16,
    pub(crate) flags: u32,
    pub(crate) message: u64,
    /// Not of an asynchronous answer, which has an id of its own there.
    pub(crate) tree: u32,
    pub(crate) session: u64,
}

/// Where a request goes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Address {
    pub(crate) message: u64,
    pub(crate) session: u64,
    pub(crate) tree: u32,
}

impl Out {
    fn request(self, command: Command) -> Request {
        Request {
            command,
            body: self.done(),
            flags: 0,
            share: None,
            asks_for: 0,
        }
    }
}

impl Request {
    /// To what the request before it in a chain has opened, by the handle [`create::LAST`].
    pub(crate) fn related(mut self) -> Self {
        self.flags = RELATED;
        self
    }

    pub(crate) fn of_share(mut self, share: u32) -> Self {
        self.share = Some(share);
        self
    }

    pub(crate) fn asking_for(mut self, bytes: u32) -> Self {
        self.asks_for = bytes::index(bytes).unwrap_or(usize::MAX);
        self
    }

    /// Whether a share is that of the request, sent with those of another one; the server makes a share's number, if the
    /// request has none yet.
    pub(crate) fn is_to(&self, others: u32, share: u32) -> bool {
        let own = self.share.unwrap_or(others);
        own == 0 || own == share
    }

    /// The whole message, without signature; it asks for as many credits as keep some requests going.
    pub(crate) fn encode(&self, to: Address, flags: u32) -> Vec<u8> {
        let head = Out::default().bytes(&MAGIC).u16(64).u16(1).u32(0);
        let head = head.u16(self.command as u16).u16(8);
        let head = head.u32(flags | self.flags).u32(0).u64(to.message);
        let share = self.share.unwrap_or(to.tree);
        let head = head.u32(0).u32(share).u64(to.session).zeros(16);
        head.bytes(&self.body).done()
    }
}

/// The messages of requests that the server carries out one after the other (3.2.4.1.4).
pub(crate) fn chain(requests: &[Request], mut to: Address, flags: u32) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for (request, later) in requests.iter().zip((0..requests.len()).rev()) {
        let mut message = request.encode(to, flags);
        if later > 0 {
            message.resize(message.len().next_multiple_of(8), 0);
            let next = Out::default().len32(&message).done();
            message[NEXT..NEXT + 4].copy_from_slice(&next);
        }
        to.message += 1;
        messages.push(message);
    }
    messages
}

/// The messages of a frame; `None` if one does not end where the next begins.
pub(crate) fn split(mut frame: Vec<u8>) -> Option<Vec<(Header, Vec<u8>)>> {
    let mut messages = Vec::new();
    loop {
        let header = Header::parse(&frame)?;
        let next = bytes::index(bytes::u32_le(&frame, NEXT)?)?;
        if next == 0 {
            messages.push((header, frame));
            return Some(messages);
        }
        if next < HEADER || next > frame.len() {
            return None;
        }
        let rest = frame.split_off(next);
        messages.push((header, std::mem::replace(&mut frame, rest)));
    }
}

impl Header {
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let is_one = bytes::slice(message, 0, 4)? == MAGIC && bytes::u16_le(message, 4)? == 64;
        let header = Self {
            status: bytes::u32_le(message, 8)?,
            command: bytes::u16_le(message, 12)?,
            credits: bytes::u16_le(message, 14)?,
            flags: bytes::u32_le(message, 16)?,
            message: bytes::u64_le(message, 24)?,
            tree: bytes::u32_le(message, 36)?,
            session: bytes::u64_le(message, 40)?,
        };
        (is_one && message.len() >= HEADER && header.flags & ANSWERS != 0).then_some(header)
    }

    /// Whether the answer itself comes later.
    pub(crate) fn is_interim(&self) -> bool {
        self.status == status::PENDING && self.flags & ASYNC != 0
    }
}

/// The body of an answer, whose structure must have this size.
fn body(message: &[u8], size: u16) -> Option<&[u8]> {
    let body = message.get(HEADER..)?;
    (bytes::u16_le(body, 0)? == size).then_some(body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Address, Command, HEADER, Header, NEXT, Out, chain, create, split};
    use crate::vectors::{self, hex};

    /// Answers to what a copy asks.
    const SEEDS: [&[u8]; 4] = [
        include_bytes!("../../fuzz/seeds/answers/all"),
        include_bytes!("../../fuzz/seeds/answers/chunks"),
        include_bytes!("../../fuzz/seeds/answers/resume_key"),
        include_bytes!("../../fuzz/seeds/answers/space"),
    ];

    #[test]
    fn a_recorded_header_is_read() {
        let header = Header::parse(vectors::CHALLENGED).unwrap();
        assert_eq!(header.status, crate::status::MORE_PROCESSING_REQUIRED);
        assert_eq!((header.command, header.credits, header.flags), (1, 1, 1));
        assert_eq!((header.message, header.session), (2, 0x1000_0000_0019));
        for (at, byte) in [(0, 0), (4, 63), (16, 0), (20, 1)] {
            let mut broken = vectors::CHALLENGED.to_vec();
            broken[at] = byte;
            assert!(split(broken).is_none(), "byte {at}");
        }
    }

    #[test]
    fn answers_of_a_chain_are_divided() {
        let [first, second] = [vectors::SIGNED_ANSWER, vectors::CHALLENGED];
        let chained = |next: usize| {
            let mut first = first.to_vec();
            first.resize(first.len().next_multiple_of(8), 0);
            first[NEXT..NEXT + 4].copy_from_slice(&u32::try_from(next).unwrap().to_le_bytes());
            [&first, second].concat()
        };
        let next = first.len().next_multiple_of(8);
        let answers = split(chained(next)).unwrap();
        let found: Vec<(u64, usize)> = answers.iter().map(|(h, m)| (h.message, m.len())).collect();
        assert_eq!(found, [(3, next), (2, second.len())]);
        let all = chained(next).len();
        for wrong in [1, HEADER - 1, next - 8, next + 8, all, all + 1] {
            assert!(split(chained(wrong)).is_none(), "{wrong}");
        }
        let mut within_the_header = [&second[..24], second].concat();
        within_the_header[NEXT] = 24;
        assert!(split(within_the_header).is_none());
    }

    #[test]
    fn requests_of_a_chain_say_where_the_next_begins() {
        let requests = [
            Out::default().bytes(&[1; 57]).request(Command::Create),
            create::close(&create::LAST).related(),
        ];
        let to = Address {
            message: 7,
            ..Address::default()
        };
        let [first, second] = chain(&requests, to, super::SIGNED).try_into().unwrap();
        assert_eq!((first.len(), second.len()), (128, 88));
        assert_eq!((first[NEXT], second[NEXT]), (128, 0));
        assert_eq!((first[16], second[16]), (8, 8 | 4));
        assert_eq!((first[24], second[24]), (7, 8));
    }

    #[test]
    fn nothing_is_asked_for_beside_the_path() {
        let tree = super::tree::request(r"\\s\a").body;
        assert_eq!(tree[..4], [9, 0, 0, 0], "flags");
        let open = create::Open {
            access: create::DELETE,
            attributes: create::HIDDEN,
            sharing: create::SHARE_ALL,
            disposition: create::OPEN,
            options: create::FOLDER,
        };
        let create = create::request(b"a\0", open).body;
        assert_eq!(create[..4], [57, 0, 0, 0], "an oplock");
        assert_eq!(create[40..44], [1, 0, 0x20, 0], "through links");
        assert_eq!(create[48..56], [0; 8], "contexts");
    }

    #[test]
    fn a_request_is_the_one_that_windows_sent() {
        let recorded = hex(vectors::WRITE);
        let request = Out::default()
            .bytes(&recorded[64..])
            .request(Command::Write);
        let to = Address {
            message: 5,
            session: 0x1000_0000_0025,
            tree: 1,
        };
        let mut made = request.encode(to, super::SIGNED);
        assert_eq!(std::mem::replace(&mut made[14], 1), 8);
        // Windows has a number of its own in a reserved field.
        made[32..36].copy_from_slice(&[0xff, 0xfe, 0, 0]);
        assert_eq!(made, recorded);
    }

    proptest! {
        #[test]
        fn no_answer_panics(
            which in 0..9_usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
            noise in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let recorded = [vectors::CHALLENGED, vectors::SIGNED_ANSWER, vectors::ANSWER,
                vectors::DIRECTORY, vectors::NEGOTIATED];
            let mut message = [recorded.as_slice(), &SEEDS].concat()[which].to_vec();
            for (at, byte) in changes {
                let at = at.index(message.len());
                message[at] = byte;
            }
            crate::decode_everything(&message);
            crate::decode_everything(&message[..cut.index(message.len())]);
            crate::decode_everything(&[&message[..64], &noise].concat());
        }
    }
}
