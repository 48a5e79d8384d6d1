//! READ, WRITE and FLUSH (2.2.17 to 2.2.22).

use super::create::{self, Handle};
use super::{Command, HEADER, Request, body};
use crate::bytes::{self, Out};

const DATA_AT: u16 = 112;
/// A write is answered when its data is on the server's disk.
pub(crate) const WRITE_THROUGH: u32 = 1;

pub(crate) fn read(handle: &Handle, offset: u64, len: u32) -> Request {
    let head = Out::default().u16(49).bytes(&[0x50, 0]).u32(len);
    // With one byte of buffer.
    let head = head.u64(offset).bytes(handle).zeros(17);
    head.request(Command::Read).asking_for(len)
}

/// The data, of which there may not be more than was asked for.
pub(crate) fn read_answer(message: &[u8], asked: u32) -> Option<&[u8]> {
    let body = body(message, 17)?;
    let at = usize::from(*body.get(2)?);
    let len = bytes::u32_le(body, 4)?;
    if len > asked || at < HEADER + 16 {
        return None;
    }
    bytes::slice(message, at, bytes::index(len)?)
}

pub(crate) fn write(handle: &Handle, offset: u64, data: &[u8], flags: u32) -> Request {
    let head = Out::default().u16(49).u16(DATA_AT).len32(data);
    let head = head.u64(offset).bytes(handle).zeros(12).u32(flags);
    head.bytes(data).request(Command::Write)
}

pub(crate) fn write_answer(message: &[u8]) -> Option<u32> {
    bytes::u32_le(body(message, 17)?, 4)
}

pub(crate) fn flush(handle: &Handle) -> Request {
    create::of_handle(Command::Flush, handle, 0)
}

#[cfg(test)]
mod tests {
    use super::{read_answer, write};
    use crate::vectors::{self, hex};

    #[test]
    fn a_write_is_the_recorded_one_but_for_an_offset() {
        let recorded = hex(vectors::WRITE);
        let handle = recorded[80..96].try_into().unwrap();
        let made = write(&handle, 0, b"Smb3 encryption testing", 0).body;
        let mut expected = recorded[64..].to_vec();
        // Windows names a place for channel information that has no length.
        assert_eq!(std::mem::take(&mut expected[40]), 0x70);
        assert_eq!(made, expected);
    }

    #[test]
    fn data_is_within_the_answer_and_what_was_asked_for() {
        let answer = |at: u8, len: u8| {
            let mut message = vec![0; 64];
            message.extend([17, 0, at, 0, len, 0, 0, 0]);
            message.extend([0; 8]);
            message.extend(b"data");
            message
        };
        for (at, len, asked, expected) in [
            (80, 4, 4, Some(b"data".as_slice())),
            (80, 4, 3, None),
            (80, 5, 9, None),
            (79, 4, 9, None),
            (84, 0, 9, Some(b"")),
        ] {
            assert_eq!(read_answer(&answer(at, len), asked), expected, "{at} {len}");
        }
    }
}
