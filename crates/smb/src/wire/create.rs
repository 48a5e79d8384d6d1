//! CREATE and CLOSE (2.2.13 to 2.2.16): always without oplock, and never through a link at the path's end.

use super::{Command, Request, body, info};
use crate::bytes::{self, Out};
use crate::share::Basic;

pub(crate) const READ_DATA: u32 = 0x1;
pub(crate) const WRITE_DATA: u32 = 0x2;
pub(crate) const READ_ATTRIBUTES: u32 = 0x80;
pub(crate) const WRITE_ATTRIBUTES: u32 = 0x100;
pub(crate) const DELETE: u32 = 0x1_0000;

pub(crate) const SHARE_ALL: u32 = 7;
pub(crate) const SHARE_READ: u32 = 1;
pub(crate) const SHARE_NOTHING: u32 = 0;

// Whether the file must be there.
pub(crate) const OPEN: u32 = 1;
pub(crate) const CREATE: u32 = 2;
pub(crate) const OPEN_OR_CREATE: u32 = 3;

pub(crate) const FOLDER: u32 = 0x1;
pub(crate) const NO_FOLDER: u32 = 0x40;
pub(crate) const DELETE_ON_CLOSE: u32 = 0x1000;

pub(crate) const READ_ONLY: u32 = 0x1;
pub(crate) const HIDDEN: u32 = 0x2;
pub(crate) const DIRECTORY: u32 = 0x10;
pub(crate) const NORMAL: u32 = 0x80;
pub(crate) const REPARSE_POINT: u32 = 0x400;

/// What a copy of a file or folder has too: whether it is read-only, hidden, of the system, to be archived.
pub(crate) const COPIED: u32 = 0x27;

const OPEN_REPARSE_POINT: u32 = 0x20_0000;
const IMPERSONATION: u32 = 2;
const NAME_AT: u16 = 120;

/// The server's name of an open file.
pub(crate) type Handle = [u8; 16];

/// What the request before in a chain has opened.
pub(crate) const LAST: Handle = [0xff; 16];

#[derive(Clone, Copy)]
pub(crate) struct Open {
    pub(crate) access: u32,
    pub(crate) attributes: u32,
    pub(crate) sharing: u32,
    pub(crate) disposition: u32,
    pub(crate) options: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) handle: Handle,
    pub(crate) size: u64,
    pub(crate) basic: Basic,
}

/// For a path as [`SharePath`](crate::SharePath) encodes it.
pub(crate) fn request(path: &[u8], open: Open) -> Request {
    let head = Out::default().u16(57).u16(0).u32(IMPERSONATION).zeros(16);
    let head = head.u32(open.access).u32(open.attributes).u32(open.sharing);
    let options = open.options | OPEN_REPARSE_POINT;
    let head = head.u32(open.disposition).u32(options).u16(NAME_AT);
    let head = head.len16(path).zeros(8).bytes(path);
    // The structure has one byte of buffer at least.
    let buffered = head.zeros(usize::from(path.is_empty()));
    buffered.request(Command::Create)
}

pub(crate) fn close(handle: &Handle) -> Request {
    of_handle(Command::Close, handle, 0)
}

/// The answer has the times of what was closed.
pub(crate) fn close_and_tell(handle: &Handle) -> Request {
    of_handle(Command::Close, handle, 1)
}

/// CLOSE or FLUSH, which have one form.
pub(super) fn of_handle(command: Command, handle: &Handle, flags: u16) -> Request {
    let body = Out::default().u16(24).u16(flags).u32(0).bytes(handle);
    body.request(command)
}

/// When what was closed has changed; 0 if the server does not tell.
pub(crate) fn changed(message: &[u8]) -> Option<u64> {
    bytes::u64_le(body(message, 60)?, 32)
}

/// The size of what was closed, and when it was written.
pub(crate) fn closed(message: &[u8]) -> Option<(u64, u64)> {
    let body = body(message, 60)?;
    Some((bytes::u64_le(body, 48)?, bytes::u64_le(body, 24)?))
}

impl Answer {
    pub(crate) fn parse(message: &[u8]) -> Option<Self> {
        let body = body(message, 89)?;
        Some(Self {
            size: bytes::u64_le(body, 48)?,
            basic: info::basic(body, 8, 56)?,
            handle: bytes::array(body, 64)?,
        })
    }
}
