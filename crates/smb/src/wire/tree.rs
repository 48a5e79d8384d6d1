//! TREE_CONNECT and TREE_DISCONNECT (2.2.9 to 2.2.11).

use super::{Command, Request, body};
use crate::bytes::{self, Out};

const DISK: u8 = 1;
const ENCRYPT: u32 = 0x8000;
const PATH_AT: u16 = 72;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) is_disk: bool,
    pub(crate) needs_encryption: bool,
}

/// For a path of the form `\\server\share`.
pub(crate) fn request(path: &str) -> Request {
    let path = bytes::utf16(path);
    let body = Out::default().u16(9).u16(0).u16(PATH_AT).len16(&path);
    body.bytes(&path).request(Command::TreeConnect)
}

pub(crate) fn disconnect() -> Request {
    Out::default()
        .u16(4)
        .u16(0)
        .request(Command::TreeDisconnect)
}

impl Answer {
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let body = body(message, 16)?;
        let _access = bytes::u32_le(body, 12)?;
        Some(Self {
            is_disk: *body.get(2)? == DISK,
            needs_encryption: bytes::u32_le(body, 4)? & ENCRYPT != 0,
        })
    }
}
