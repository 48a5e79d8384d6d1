//! QUERY_DIRECTORY, QUERY_INFO and SET_INFO (2.2.33 to 2.2.40), with their classes of MS-FSCC 2.4.

use super::create::Handle;
use super::{Command, HEADER, PAYLOAD, Request, body};
use crate::bytes::{self, Out};
use crate::share::Existing;

const FILE: u8 = 1;
const BASIC: u8 = 4;
const INTERNAL: u8 = 6;
const RENAME: u8 = 10;
const DISPOSITION: u8 = 13;
const ID_FULL_DIRECTORY: u8 = 38;

const BUFFER_AT: u16 = 96;
/// The fixed part of an entry of a folder, before its name (2.4.19).
const ENTRY: usize = 80;

/// An entry as the server lists it; its name may be any.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: Vec<u16>,
    pub(crate) id: u64,
    pub(crate) attributes: u32,
    pub(crate) size: u64,
    pub(crate) changed: u64,
}

/// The next entries of an open folder that fit in so many bytes, those whose names end so.
pub(crate) fn directory(handle: &Handle, ending: &str, most: u32) -> Request {
    let pattern = bytes::utf16(&format!("*{ending}"));
    let head = Out::default().u16(33).bytes(&[ID_FULL_DIRECTORY, 0]);
    let head = head.u32(0).bytes(handle).u16(BUFFER_AT);
    let head = head.len16(&pattern).u32(most).bytes(&pattern);
    head.request(Command::QueryDirectory)
}

pub(crate) fn directory_answer(message: &[u8]) -> Option<Vec<Listed>> {
    let mut rest = output(message)?;
    let mut entries = Vec::new();
    loop {
        let len = bytes::index(bytes::u32_le(rest, 60)?)?;
        entries.push(Listed {
            changed: bytes::u64_le(rest, 32)?,
            size: bytes::u64_le(rest, 40)?,
            attributes: bytes::u32_le(rest, 56)?,
            id: bytes::u64_le(rest, 72)?,
            name: bytes::units(bytes::slice(rest, ENTRY, len)?)?,
        });
        match bytes::index(bytes::u32_le(rest, 0)?)? {
            0 => return Some(entries),
            next if next < ENTRY + len => return None,
            next => rest = rest.get(next..)?,
        }
    }
}

/// The number of an open file or folder, which its folder lists too.
pub(crate) fn id(handle: &Handle) -> Request {
    let head = Out::default().u16(41).bytes(&[FILE, INTERNAL]).u32(8);
    head.zeros(16).bytes(handle).request(Command::QueryInfo)
}

pub(crate) fn id_answer(message: &[u8]) -> Option<u64> {
    let output: [u8; 8] = output(message)?.try_into().ok()?;
    Some(u64::from_le_bytes(output))
}

/// Deletes the file, or empty folder, when it is closed.
pub(crate) fn dispose(handle: &Handle) -> Request {
    set(handle, DISPOSITION, &[1])
}

/// Sets attributes only: a time of zero stays as it is.
pub(crate) fn attributes(handle: &Handle, attributes: u32) -> Request {
    let basic = Out::default().zeros(32).u32(attributes).u32(0).done();
    set(handle, BASIC, &basic)
}

/// A new path, from the share's root.
pub(crate) fn rename(handle: &Handle, path: &[u8], existing: Existing) -> Request {
    let head = Out::default()
        .bytes(&[existing as u8])
        .zeros(15)
        .len32(path);
    // Windows wants the size of its structure, which ends with padding.
    let padding = 4_usize.saturating_sub(path.len());
    set(handle, RENAME, &head.bytes(path).zeros(padding).done())
}

fn set(handle: &Handle, class: u8, info: &[u8]) -> Request {
    let head = Out::default().u16(33).bytes(&[FILE, class]).len32(info);
    let head = head.u16(BUFFER_AT).zeros(6).bytes(handle);
    head.bytes(info).request(Command::SetInfo)
}

/// The buffer of an answer to a query.
fn output(message: &[u8]) -> Option<&[u8]> {
    let body = body(message, 9)?;
    let at = usize::from(bytes::u16_le(body, 2)?);
    let len = bytes::u32_le(body, 4)?;
    if at < HEADER + 8 || len > PAYLOAD {
        return None;
    }
    bytes::slice(message, at, bytes::index(len)?)
}

#[cfg(test)]
mod tests {
    use super::directory_answer;
    use crate::vectors;

    #[test]
    fn entries_lie_behind_each_other() {
        let message = vectors::DIRECTORY;
        let entries = directory_answer(message).unwrap().into_iter();
        let names = entries.map(|entry| String::from_utf16_lossy(&entry.name));
        assert_eq!(Vec::from_iter(names), [".", "..", "a"]);
        let first = 72;
        for (at, byte) in [
            // The buffer's place and length, an entry's distance, its name's length.
            (66, 71),
            (68, 0xff),
            (first, 0),
            (first, 8),
            (first, 0xff),
            (first + 60, 3),
            (first + 60, 0xff),
        ] {
            let mut broken = message.to_vec();
            broken[at] = byte;
            let parsed = directory_answer(&broken).map(|entries| entries.len());
            let expected = (at == first && byte == 0).then_some(1);
            assert_eq!(parsed, expected, "{at}: {byte}");
        }
    }
}
