//! SESSION_SETUP (2.2.5, 2.2.6).

use super::{Command, HEADER, PAYLOAD, Request, body};
use crate::bytes::{self, Out};

pub(crate) const GUEST: u16 = 1;
pub(crate) const ANONYMOUS: u16 = 2;
pub(crate) const ENCRYPT: u16 = 4;

const SIGNING_REQUIRED: u8 = 2;
const TOKEN_AT: u16 = 88;

pub(crate) struct Answer<'a> {
    pub(crate) flags: u16,
    pub(crate) token: &'a [u8],
}

pub(crate) fn request(token: &[u8]) -> Request {
    let head = Out::default()
        .u16(25)
        .bytes(&[0, SIGNING_REQUIRED])
        .zeros(8);
    let head = head.u16(TOKEN_AT).len16(token).u64(0);
    let request = head.bytes(token).request(Command::SessionSetup);
    // A token.
    request.asking_for(PAYLOAD)
}

impl<'a> Answer<'a> {
    pub(crate) fn parse(message: &'a [u8]) -> Option<Self> {
        let body = body(message, 9)?;
        let at = usize::from(bytes::u16_le(body, 4)?);
        let len = usize::from(bytes::u16_le(body, 6)?);
        let token = match len {
            0 => &[],
            _ if at < HEADER + 8 => return None,
            _ => bytes::slice(message, at, len)?,
        };
        Some(Self {
            flags: bytes::u16_le(body, 2)?,
            token,
        })
    }
}
