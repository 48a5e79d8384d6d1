//! Bounds-checked integers and fields in a byte slice; `None` where the slice is too short.

use std::fmt::Write as _;

use uuid::Uuid;

/// The `len` bytes at `at`.
pub(crate) fn slice(bytes: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(len)?)
}

/// The `N` bytes at `at`.
pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    slice(bytes, at, N)?.try_into().ok()
}

pub(crate) fn u16_le(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

pub(crate) fn u32_le(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

pub(crate) fn u64_le(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

/// A GUID in the mixed-endian order in which Windows and UEFI store it.
pub(crate) fn guid(bytes: &[u8], at: usize) -> Option<Uuid> {
    array(bytes, at).map(Uuid::from_bytes_le)
}

/// Text that ought to be ASCII; a byte that is not becomes `\xNN`, so that texts stay different.
pub(crate) fn ascii(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        if byte.is_ascii() {
            text.push(char::from(*byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
        text
    })
}

/// A length or index as the 64-bit number that disks count in.
pub(crate) fn wide(n: usize) -> u64 {
    u64::try_from(n).expect("no supported target has a usize wider than 64 bits")
}

/// Index of the first byte that is not zero.
pub(crate) fn first_nonzero(bytes: &[u8]) -> Option<usize> {
    const STEP: usize = 4096;
    bytes
        .chunks(STEP)
        .position(|chunk| chunk.iter().fold(0, |seen, byte| seen | byte) != 0)
        .and_then(|chunk| {
            let start = chunk * STEP;
            bytes[start..]
                .iter()
                .position(|byte| *byte != 0)
                .map(|at| start + at)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_is_not_zero_is_found_across_steps() {
        let mut bytes = vec![0; 10_000];
        assert_eq!(first_nonzero(&bytes), None);
        bytes[9_999] = 1;
        assert_eq!(first_nonzero(&bytes), Some(9_999));
        bytes[4_096] = 1;
        assert_eq!(first_nonzero(&bytes), Some(4_096));
    }

    #[test]
    fn fields_that_do_not_fit_are_none() {
        assert_eq!(u32_le(&[1, 0, 0], 0), None);
        assert_eq!(u16_le(&[0, 0, 1], usize::MAX), None);
        assert_eq!(u16_le(&[0, 2, 1], 1), Some(0x102));
    }
}
