//! IOCTL (2.2.31, 2.2.32): copies that the server makes itself, without sending content.

use super::create::Handle;
use super::{Command, HEADER, Request, body};
use crate::bytes::{self, Out};

const RESUME_KEY: u32 = 0x0014_0078;
/// For a target that is open for writing only.
const COPY_CHUNKS: u32 = 0x0014_80f2;

const INPUT_AT: u32 = 120;
const FSCTL: u32 = 1;

/// The server's name of an open file from which it copies.
pub(crate) type ResumeKey = [u8; 24];

/// What the server copied, or with INVALID_PARAMETER the most that it copies for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    pub(crate) count: u32,
    /// Of one; 0 for what was copied whole.
    pub(crate) bytes: u32,
    pub(crate) total: u32,
}

pub(crate) fn resume_key(handle: &Handle) -> Request {
    request(handle, RESUME_KEY, &[], 32)
}

pub(crate) fn resume_key_answer(message: &[u8]) -> Option<ResumeKey> {
    bytes::array(output(message)?, 0)
}

/// Copies from one place of both files on: chunks of the same size, the last of which may be shorter.
pub(crate) fn copy_chunks(
    to: &Handle,
    from: &ResumeKey,
    offset: u64,
    len: u32,
    chunk: u32,
) -> Request {
    let count = len.div_ceil(chunk);
    let mut input = Out::default().bytes(from).u32(count).u32(0);
    for done in (0..count).map(|n| n * chunk) {
        let at = offset + u64::from(done);
        input = input.u64(at).u64(at).u32(chunk.min(len - done)).u32(0);
    }
    request(to, COPY_CHUNKS, &input.done(), 12)
}

pub(crate) fn chunks_answer(message: &[u8]) -> Option<Chunks> {
    let output = output(message)?;
    Some(Chunks {
        count: bytes::u32_le(output, 0)?,
        bytes: bytes::u32_le(output, 4)?,
        total: bytes::u32_le(output, 8)?,
    })
}

fn request(handle: &Handle, code: u32, input: &[u8], most: u32) -> Request {
    let head = Out::default().u16(57).u16(0).u32(code).bytes(handle);
    let head = head.u32(INPUT_AT).len32(input).u32(0);
    let head = head.u32(INPUT_AT).u32(0).u32(most).u32(FSCTL).u32(0);
    // The structure has one byte of buffer at least.
    let padding = usize::from(input.is_empty());
    head.bytes(input).zeros(padding).request(Command::Ioctl)
}

fn output(message: &[u8]) -> Option<&[u8]> {
    let body = body(message, 49)?;
    let at = bytes::index(bytes::u32_le(body, 32)?)?;
    let len = bytes::index(bytes::u32_le(body, 36)?)?;
    if at < HEADER + 48 {
        return None;
    }
    bytes::slice(message, at, len)
}
