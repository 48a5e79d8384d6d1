//! NEGOTIATE (2.2.3, 2.2.4): one dialect, one hash, two ciphers.

use super::{Command, PAYLOAD, Request, body};
use crate::bytes::{self, Out};
use crate::crypto::Cipher;

pub(crate) const DIALECT: u16 = 0x0311;

const SIGNING_REQUIRED: u16 = 2;
/// The contexts carry the cipher, and yet Samba encrypts only for clients with this capability.
const CAN_ENCRYPT: u32 = 0x40;
const PREAUTH: u16 = 1;
const CIPHERS: u16 = 2;
const SHA_512: u16 = 1;
const CONTEXTS_AT: u32 = 104;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) dialect: u16,
    /// The hash of the messages before a session; only SHA-512 exists.
    pub(crate) has_sha_512: bool,
    /// The server's choice, if it encrypts at all.
    pub(crate) cipher: Option<u16>,
    /// The least of what it takes at once to query, to read and to write.
    pub(crate) max_size: u32,
}

pub(crate) fn request(client: [u8; 16], salt: &[u8; 32]) -> Request {
    let preauth = Out::default().u16(1).len16(salt).u16(SHA_512);
    let preauth = preauth.bytes(salt).done();
    let [first, second] = Cipher::ALL.map(|cipher| cipher as u16);
    let ciphers = Out::default().u16(2).u16(first).u16(second).done();
    let head = Out::default().u16(36).u16(1).u16(SIGNING_REQUIRED).u16(0);
    let head = head.u32(CAN_ENCRYPT).bytes(&client);
    let head = head.u32(CONTEXTS_AT).u16(2).u16(0).u16(DIALECT);
    // Contexts are aligned to 8 bytes of the message.
    let head = head.zeros(2).bytes(&context(PREAUTH, &preauth));
    let head = head.bytes(&context(CIPHERS, &ciphers));
    head.request(Command::Negotiate).asking_for(PAYLOAD)
}

impl Answer {
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let body = body(message, 65)?;
        let mut answer = Self {
            dialect: bytes::u16_le(body, 4)?,
            has_sha_512: false,
            cipher: None,
            max_size: u32::MAX,
        };
        for at in [28, 32, 36] {
            answer.max_size = answer.max_size.min(bytes::u32_le(body, at)?);
        }
        if answer.dialect != DIALECT {
            return Some(answer);
        }
        let mut at = bytes::index(bytes::u32_le(body, 60)?)?;
        for _ in 0..bytes::u16_le(body, 6)? {
            let kind = bytes::u16_le(message, at)?;
            let len = usize::from(bytes::u16_le(message, at.checked_add(2)?)?);
            let data = bytes::slice(message, at.checked_add(8)?, len)?;
            answer.take(kind, data)?;
            at = (at + 8 + len).next_multiple_of(8);
        }
        Some(answer)
    }

    fn take(&mut self, kind: u16, data: &[u8]) -> Option<()> {
        match kind {
            PREAUTH if !self.has_sha_512 => {
                let count = bytes::u16_le(data, 0)?;
                self.has_sha_512 = count == 1 && bytes::u16_le(data, 4)? == SHA_512;
            }
            CIPHERS if self.cipher.is_none() => {
                let count = bytes::u16_le(data, 0)?;
                let cipher = bytes::u16_le(data, 2)?;
                if count != 1 {
                    return None;
                }
                self.cipher = (cipher != 0).then_some(cipher);
            }
            PREAUTH | CIPHERS => return None,
            _ => {}
        }
        Some(())
    }
}

/// A context and what aligns the next.
fn context(kind: u16, data: &[u8]) -> Vec<u8> {
    let padding = data.len().next_multiple_of(8) - data.len();
    let head = Out::default().u16(kind).len16(data).u32(0);
    head.bytes(data).zeros(padding).done()
}

#[cfg(test)]
mod tests {
    use super::{Answer, DIALECT, request};
    use crate::vectors;

    #[test]
    fn contexts_are_aligned_where_the_request_says() {
        let message = request([1; 16], &[2; 32]).encode(Default::default(), 0);
        // One dialect, signing, and no capability but encryption.
        assert_eq!(message[66..76], [1, 0, 2, 0, 0, 0, 0x40, 0, 0, 0]);
        assert_eq!(message[92..96], [104, 0, 0, 0]);
        assert_eq!(message[100..102], [0x11, 3]);
        assert_eq!(message[104..108], [1, 0, 38, 0]);
        assert_eq!(message[152..156], [2, 0, 6, 0]);
        assert_eq!(message[160..166], [2, 0, 2, 0, 4, 0]);
    }

    #[test]
    fn a_recorded_answer_names_hash_and_cipher() {
        let message = vectors::NEGOTIATED;
        let answer = Answer::parse(message).unwrap();
        assert_eq!((answer.dialect, answer.has_sha_512), (DIALECT, true));
        assert_eq!(answer.cipher, Some(2));
        let second = 0x1c0 + 48;
        assert_eq!(message[second..second + 4], [2, 0, 4, 0]);
        for (at, byte, expected) in [
            (second, 1, None),
            (second, 9, Some(None)),
            (second + 8, 2, None),
            (second + 10, 0, Some(None)),
            (second + 10, 1, Some(Some(1))),
            (0x1c0 + 12, 2, Some(Some(2))),
        ] {
            let mut changed = message.to_vec();
            changed[at] = byte;
            let parsed = Answer::parse(&changed);
            assert_eq!(parsed.as_ref().map(|a| a.cipher), expected, "{at}: {byte}");
            if at == 0x1c0 + 12 {
                assert!(!parsed.unwrap().has_sha_512);
            }
        }
    }
}
