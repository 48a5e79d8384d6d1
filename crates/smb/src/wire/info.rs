//! QUERY_DIRECTORY, QUERY_INFO and SET_INFO (2.2.33 to 2.2.40), with their classes of MS-FSCC 2.4.

use super::create::Handle;
use super::{Command, HEADER, PAYLOAD, Request, body};
use crate::bytes::{self, Out};
use crate::share::{Basic, Existing, Space};

const FILE: u8 = 1;
const FILE_SYSTEM: u8 = 2;
const FULL_SIZE: u8 = 7;
const BASIC: u8 = 4;
const INTERNAL: u8 = 6;
const RENAME: u8 = 10;
const DISPOSITION: u8 = 13;
const ALL: u8 = 18;
const ID_FULL_DIRECTORY: u8 = 38;

const BUFFER_AT: u16 = 96;
/// Of all paths that Samba takes.
const LONGEST_ALL: u32 = 8 * 1024 + 100;
/// The fixed part of an entry of a folder, before its name (2.4.19).
const ENTRY: usize = 80;

/// An entry as the server lists it; its name may be any.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: Vec<u16>,
    pub(crate) id: u64,
    pub(crate) basic: Basic,
    pub(crate) size: u64,
    pub(crate) changed: u64,
}

/// The next entries of an open folder that fit in so many bytes, those whose names end so.
pub(crate) fn directory(handle: &Handle, ending: &str, most: u32) -> Request {
    let pattern = bytes::utf16(&format!("*{ending}"));
    let head = Out::default().u16(33).bytes(&[ID_FULL_DIRECTORY, 0]);
    let head = head.u32(0).bytes(handle).u16(BUFFER_AT);
    let head = head.len16(&pattern).u32(most).bytes(&pattern);
    head.request(Command::QueryDirectory).asking_for(most)
}

pub(crate) fn directory_answer(message: &[u8]) -> Option<Vec<Listed>> {
    let mut rest = output(message)?;
    let mut entries = Vec::new();
    loop {
        let len = bytes::index(bytes::u32_le(rest, 60)?)?;
        entries.push(Listed {
            changed: bytes::u64_le(rest, 32)?,
            size: bytes::u64_le(rest, 40)?,
            basic: basic(rest, 8, 56)?,
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
    query(handle, FILE, INTERNAL, 8)
}

pub(crate) fn id_answer(message: &[u8]) -> Option<u64> {
    let output: [u8; 8] = output(message)?.try_into().ok()?;
    Some(u64::from_le_bytes(output))
}

/// All of an open file, with its path as the server has it.
pub(crate) fn all(handle: &Handle) -> Request {
    query(handle, FILE, ALL, LONGEST_ALL).asking_for(LONGEST_ALL)
}

/// The last name of the path (2.4.2).
pub(crate) fn name_answer(message: &[u8]) -> Option<Vec<u16>> {
    let output = output(message)?;
    let len = bytes::index(bytes::u32_le(output, 96)?)?;
    let path = bytes::units(bytes::slice(output, 100, len)?)?;
    let name = path.rsplit(|unit| *unit == u16::from(b'\\')).next()?;
    Some(name.to_vec())
}

/// What the file system of an open file has.
pub(crate) fn space(handle: &Handle) -> Request {
    query(handle, FILE_SYSTEM, FULL_SIZE, 32)
}

pub(crate) fn space_answer(message: &[u8]) -> Option<Space> {
    let output = output(message)?;
    let unit = u64::from(bytes::u32_le(output, 24)?) * u64::from(bytes::u32_le(output, 28)?);
    Some(Space {
        total: bytes::u64_le(output, 0)?.checked_mul(unit)?,
        free: bytes::u64_le(output, 8)?.checked_mul(unit)?,
    })
}

/// Deletes the file, or empty folder, when it is closed.
pub(crate) fn dispose(handle: &Handle) -> Request {
    set(handle, DISPOSITION, &[1])
}

/// Sets times and attributes: those that are zero stay as they are.
pub(crate) fn set_basic(handle: &Handle, basic: Basic) -> Request {
    let times = Out::default().u64(basic.created).u64(basic.accessed);
    let times = times.u64(basic.written).u64(0);
    set(handle, BASIC, &times.u32(basic.attributes).u32(0).done())
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

/// The times at one place, and attributes at another.
pub(crate) fn basic(bytes: &[u8], times: usize, attributes: usize) -> Option<Basic> {
    Some(Basic {
        created: bytes::u64_le(bytes, times)?,
        accessed: bytes::u64_le(bytes, times + 8)?,
        written: bytes::u64_le(bytes, times + 16)?,
        attributes: bytes::u32_le(bytes, attributes)?,
    })
}

fn query(handle: &Handle, kind: u8, class: u8, most: u32) -> Request {
    let head = Out::default().u16(41).bytes(&[kind, class]).u32(most);
    head.zeros(16).bytes(handle).request(Command::QueryInfo)
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
    use super::{directory_answer, name_answer, space_answer};
    use crate::share::Space;
    use crate::vectors;

    #[test]
    fn space_is_counted_in_units_of_the_server() {
        let answer = |total: u64, sectors: u32| {
            let mut message = vec![0; 72];
            (message[64], message[66], message[68]) = (9, 72, 32);
            for number in [total, 7, 5] {
                message.extend(number.to_le_bytes());
            }
            message.extend([sectors, 512].map(u32::to_le_bytes).concat());
            message
        };
        let [free, total] = [7 * 1024, 100 * 1024];
        let expected = Some(Space { free, total });
        for (message, expected) in [
            (answer(100, 2), expected),
            (answer(u64::MAX, 2), None),
            (answer(100, 2)[..103].to_vec(), None),
        ] {
            assert_eq!(space_answer(&message), expected);
        }
    }

    #[test]
    fn a_name_is_the_last_of_its_path() {
        let message = include_bytes!("../../fuzz/seeds/answers/all");
        let data: Vec<u16> = "Data".encode_utf16().collect();
        assert_eq!(name_answer(message), Some(data));
        for (at, byte) in [(168, 19), (168, 17), (68, 0), (64, 8)] {
            let mut broken = message.to_vec();
            broken[at] = byte;
            assert_eq!(name_answer(&broken), None, "{at}: {byte}");
        }
    }

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
