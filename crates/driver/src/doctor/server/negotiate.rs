//! One SMB2 NEGOTIATE, by MS-SMB2 2.2.3 and 2.2.4
//! (<https://learn.microsoft.com/openspecs/windows_protocols/ms-smb2/>): no credential is in it. The answer is a stranger's:
//! its length is bounded, and each field is read within it.

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use uuid::Uuid;

/// In bytes: servers answer with a few hundred, as they append a token of SPNEGO.
const LONGEST: usize = 64 << 10;

const HEADER: usize = 64;
const MAGIC: [u8; 4] = [0xFE, b'S', b'M', b'B'];
const MAGIC_1: [u8; 4] = [0xFF, b'S', b'M', b'B'];

/// Of the answer's body, without its buffer.
const BODY: usize = 64;
const BODY_SIZE: u16 = 65;

const DIALECTS: [(u16, &str); 5] = [
    (0x0202, "2.0.2"),
    (0x0210, "2.1"),
    (0x0300, "3.0"),
    (0x0302, "3.0.2"),
    (0x0311, "3.1.1"),
];
const DIALECT_3_1_1: u16 = 0x0311;

/// `SMB2_ENCRYPTION_CAPABILITIES`.
const ENCRYPTION: u16 = 2;
const CIPHERS: [(u16, &str); 4] = [
    (0x0004, "AES-256-GCM"),
    (0x0002, "AES-128-GCM"),
    (0x0003, "AES-256-CCM"),
    (0x0001, "AES-128-CCM"),
];

const SIGNING_ENABLED: u16 = 1;
const SIGNING_REQUIRED: u16 = 2;
/// `SMB2_GLOBAL_CAP_ENCRYPTION`, of 3.0 and 3.0.2.
const CAN_ENCRYPT: u32 = 0x40;

/// No server needs more contexts.
const MOST_CONTEXTS: u16 = 16;

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    pub dialect: &'static str,
    pub requires_signing: bool,
    /// The cipher of 3.1.1, or what there is before it.
    pub encryption: Option<&'static str>,
}

impl Negotiated {
    pub(super) fn can_encrypt(&self) -> bool {
        self.encryption.is_some()
    }
}

impl fmt::Display for Negotiated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signing = if self.requires_signing {
            "required"
        } else {
            "not required"
        };
        let encryption = self.encryption.unwrap_or("none");
        write!(
            f,
            "SMB {}, signing {signing}, encryption {encryption}",
            self.dialect
        )
    }
}

/// Why there is no answer that reads.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("the server ended the connection")]
    Ended,
    /// Also of a server that does not answer in time.
    #[error("{0}")]
    Io(io::Error),
    #[error("it speaks SMB 1 alone")]
    Smb1,
    #[error("it refuses the dialects from 2.0.2 to 3.1.1 (status {0:#010x})")]
    Refused(u32),
    #[error("the answer is no SMB, or malformed")]
    Malformed,
}

/// `STATUS_NOT_SUPPORTED`: no dialect is in common (MS-SMB2 3.3.5.4).
const NOT_SUPPORTED: u32 = 0xC000_00BB;

impl AnswerError {
    /// Whether another try would end so too: silence may pass, and so may a server that lacks memory.
    pub(super) fn is_certain(&self) -> bool {
        match self {
            Self::Io(_) => false,
            Self::Refused(status) => *status == NOT_SUPPORTED,
            Self::Ended | Self::Smb1 | Self::Malformed => true,
        }
    }
}

/// Asks a server.
pub(super) fn ask(mut stream: TcpStream, within: Duration) -> Result<Negotiated, AnswerError> {
    let until = Instant::now() + within;
    stream
        .set_write_timeout(Some(within))
        .map_err(AnswerError::Io)?;
    stream.write_all(&request()).map_err(ended)?;
    let mut length = [0; 4];
    read(&mut stream, &mut length, until)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(AnswerError::Malformed);
    }
    let mut answer = vec![0; length];
    read(&mut stream, &mut answer, until)?;
    parse(&answer)
}

/// A server that sends a byte at a time is read until then, and no longer.
fn read(stream: &mut TcpStream, buffer: &mut [u8], until: Instant) -> Result<(), AnswerError> {
    let mut rest = buffer;
    while !rest.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(silent());
        }
        stream
            .set_read_timeout(Some(left))
            .map_err(AnswerError::Io)?;
        match stream.read(rest) {
            Ok(0) => return Err(AnswerError::Ended),
            Ok(count) => rest = rest.get_mut(count..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(ended(error)),
        }
    }
    Ok(())
}

fn silent() -> AnswerError {
    AnswerError::Io(io::Error::new(ErrorKind::TimedOut, "no answer in time"))
}

fn ended(error: io::Error) -> AnswerError {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            AnswerError::Ended
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => silent(),
        _ => AnswerError::Io(error),
    }
}

/// The message, with the length that TCP's transport has before it (MS-SMB2 2.1).
fn request() -> Vec<u8> {
    let mut message = Vec::from(MAGIC);
    // Size of the header; the rest of it is zero, but for the credit that is asked for.
    put(&mut message, &[64, 0, 0, 0, 0, 1]);
    message.resize(HEADER, 0);
    let dialects = u16::try_from(DIALECTS.len()).unwrap_or_default();
    put(&mut message, &[36, dialects, SIGNING_ENABLED, 0]);
    message.extend(CAN_ENCRYPT.to_le_bytes());
    message.extend(Uuid::new_v4().into_bytes());
    // Where the contexts are, and that there are two.
    message.extend(112_u32.to_le_bytes());
    put(&mut message, &[2, 0]);
    put(&mut message, &DIALECTS.map(|(dialect, _)| dialect));
    message.resize(112, 0);
    // Integrity before authentication: SHA-512, and a salt of 32 bytes.
    put(&mut message, &[1, 38, 0, 0, 1, 32, 1]);
    message.extend(Uuid::new_v4().into_bytes());
    message.extend(Uuid::new_v4().into_bytes());
    message.resize(message.len().next_multiple_of(8), 0);
    put(&mut message, &[ENCRYPTION, 10, 0, 0, 4]);
    put(&mut message, &CIPHERS.map(|(cipher, _)| cipher));
    let length = u32::try_from(message.len()).unwrap_or_default();
    [Vec::from(length.to_be_bytes()), message].concat()
}

fn put(message: &mut Vec<u8>, words: &[u16]) {
    message.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

/// Reads an answer, without the length before it.
///
/// # Errors
/// It is none, or refuses.
pub fn parse(answer: &[u8]) -> Result<Negotiated, AnswerError> {
    let malformed = AnswerError::Malformed;
    match bytes::<4>(answer, 0) {
        Some(MAGIC) => {}
        Some(MAGIC_1) => return Err(AnswerError::Smb1),
        _ => return Err(malformed),
    }
    let (status, command) = (u32_at(answer, 8), u16_at(answer, 12));
    let (Some(status), Some(0)) = (status, command) else {
        return Err(malformed);
    };
    if status != 0 {
        return Err(AnswerError::Refused(status));
    }
    negotiated(answer).ok_or(malformed)
}

fn negotiated(answer: &[u8]) -> Option<Negotiated> {
    let body = answer.get(HEADER..).filter(|body| body.len() >= BODY)?;
    if u16_at(body, 0)? != BODY_SIZE {
        return None;
    }
    let dialect = u16_at(body, 4)?;
    let encryption = match dialect {
        DIALECT_3_1_1 => cipher(answer, u32_at(body, 60)?, u16_at(body, 6)?)?,
        0x0300.. => (u32_at(body, 24)? & CAN_ENCRYPT != 0).then_some("AES-128-CCM"),
        _ => None,
    };
    Some(Negotiated {
        dialect: name(&DIALECTS, dialect)?,
        requires_signing: u16_at(body, 2)? & SIGNING_REQUIRED != 0,
        encryption,
    })
}

/// The cipher that the server chose among the contexts; `Some(None)` if it chose none.
fn cipher(answer: &[u8], offset: u32, contexts: u16) -> Option<Option<&'static str>> {
    let mut at = usize::try_from(offset).ok()?;
    for _ in 0..contexts.min(MOST_CONTEXTS) {
        let context = answer.get(at..)?;
        let length = usize::from(u16_at(context, 2)?);
        let data = context.get(8..8 + length)?;
        if u16_at(context, 0)? == ENCRYPTION {
            return Some(name(&CIPHERS, u16_at(data, 2)?));
        }
        at += (8 + length).next_multiple_of(8);
    }
    Some(None)
}

fn name(table: &[(u16, &'static str)], number: u16) -> Option<&'static str> {
    let row = table.iter().find(|(known, _)| *known == number);
    row.map(|(_, name)| *name)
}

fn bytes<const N: usize>(of: &[u8], at: usize) -> Option<[u8; N]> {
    of.get(at..)?.first_chunk().copied()
}

fn u16_at(of: &[u8], at: usize) -> Option<u16> {
    bytes(of, at).map(u16::from_le_bytes)
}

fn u32_at(of: &[u8], at: usize) -> Option<u32> {
    bytes(of, at).map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An answer of 3.1.1 with one context.
    fn answer(cipher: u16) -> Vec<u8> {
        let mut answer = vec![0; HEADER + BODY];
        answer[..4].copy_from_slice(&MAGIC);
        let mut set = |at: usize, value: u16| {
            answer[HEADER + at..][..2].copy_from_slice(&value.to_le_bytes());
        };
        set(0, BODY_SIZE);
        set(2, SIGNING_REQUIRED);
        set(4, DIALECT_3_1_1);
        set(6, 1);
        set(60, 128);
        put(&mut answer, &[ENCRYPTION, 4, 0, 0, 1, cipher]);
        answer
    }

    #[test]
    fn an_answer_says_dialect_signing_and_cipher() {
        let read = |cipher| parse(&answer(cipher)).unwrap();
        let text = "SMB 3.1.1, signing required, encryption AES-128-GCM";
        assert_eq!(read(2).to_string(), text);
        assert!(read(2).can_encrypt() && !read(0).can_encrypt());
    }

    /// Before 3.1.1 one of the capabilities says so.
    #[test]
    fn an_answer_of_3_0_says_whether_it_encrypts() {
        for (capabilities, encrypts) in [(0x3F, false), (0x40, true)] {
            let mut of_3_0 = answer(0);
            of_3_0[HEADER + 4..][..2].copy_from_slice(&[0, 3]);
            of_3_0[HEADER + 24] = capabilities;
            assert_eq!(parse(&of_3_0).unwrap().can_encrypt(), encrypts);
        }
    }

    #[test]
    fn a_cut_answer_is_malformed() {
        let whole = answer(2);
        for length in 0..whole.len() {
            let cut = parse(&whole[..length]);
            assert!(matches!(cut, Err(AnswerError::Malformed)), "{length}");
        }
    }

    #[test]
    fn servers_that_refuse_are_told_apart() {
        let mut refusal = answer(2);
        for (status, is_certain) in [(NOT_SUPPORTED, true), (0xC000_009A, false)] {
            refusal[8..12].copy_from_slice(&status.to_le_bytes());
            let refused = parse(&refusal).unwrap_err();
            assert!(matches!(refused, AnswerError::Refused(it) if it == status));
            assert_eq!(refused.is_certain(), is_certain, "{refused}");
        }
        let of_1 = [&MAGIC_1[..], &[0; 32]].concat();
        assert!(matches!(parse(&of_1), Err(AnswerError::Smb1)));
    }

    proptest! {
        #[test]
        fn no_answer_panics(tail: Vec<u8>, at in 0..140_usize, byte: u8) {
            let mut hostile = answer(2);
            if let Some(place) = hostile.get_mut(at) {
                *place = byte;
            }
            let _ = parse(&[hostile, tail.clone()].concat());
            let _ = parse(&tail);
        }
    }
}
