use super::{AnswerError, unsigned};
use crate::bytes::{slice, u32_le, u64_le};

const STRUCTURE: &str = "VOLUME_DISK_EXTENTS";
const ENTRY: &str = "DISK_EXTENT";

/// The count, and the gap that aligns the first extent.
const HEADER: usize = 8;

/// The disk's number, a gap, the offset and the length.
const ENTRY_LENGTH: usize = 24;

/// A `VOLUME_DISK_EXTENTS`: the extents of a volume.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VolumeDiskExtents(pub Vec<DiskExtent>);

/// One `DISK_EXTENT`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DiskExtent {
    /// The number of its disk.
    pub disk: u32,
    /// Its offset on the disk in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl VolumeDiskExtents {
    /// The length of an answer with this many extents.
    pub const fn length(extents: usize) -> usize {
        HEADER + extents * ENTRY_LENGTH
    }

    /// Reads the part of the buffer that the driver filled.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-volume_disk_extents>
    ///
    /// # Errors
    /// The answer has fewer extents than its count, or a negative offset or length.
    pub fn parse(returned: &[u8]) -> Result<Self, AnswerError> {
        let entries = entries(returned).ok_or(AnswerError::cut(STRUCTURE, returned))?;
        let (entries, _) = entries.as_chunks::<ENTRY_LENGTH>();
        let extents = entries.iter().map(|entry| extent(entry));
        extents.collect::<Result<_, _>>().map(Self)
    }
}

fn entries(returned: &[u8]) -> Option<&[u8]> {
    let count = usize::try_from(u32_le(returned, 0)?).ok()?;
    slice(returned, HEADER, count.checked_mul(ENTRY_LENGTH)?)
}

fn extent(entry: &[u8]) -> Result<DiskExtent, AnswerError> {
    let cut = AnswerError::cut(ENTRY, entry);
    let bytes = |field, at| unsigned(ENTRY, field, u64_le(entry, at).ok_or(cut)?);
    Ok(DiskExtent {
        disk: u32_le(entry, 0).ok_or(cut)?,
        offset: bytes("StartingOffset", 8)?,
        length: bytes("ExtentLength", 16)?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(count: u32, extents: &[(u32, i64, i64)]) -> Vec<u8> {
        let mut bytes = count.to_le_bytes().to_vec();
        bytes.extend([0xEE; 4]);
        for (disk, offset, length) in extents {
            bytes.extend(disk.to_le_bytes());
            bytes.extend([0xEE; 4]);
            bytes.extend(offset.to_le_bytes());
            bytes.extend(length.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn extents_are_read_in_their_order() {
        let wanted = [(1, 0x10_0000, 0x4000_0000), (7, 0, 512)];
        let read = VolumeDiskExtents::parse(&bytes(2, &wanted)).unwrap();
        let one = |(disk, offset, length)| DiskExtent {
            disk,
            offset,
            length,
        };
        assert_eq!(read.0, [one((1, 0x10_0000, 0x4000_0000)), one((7, 0, 512))]);
        assert_eq!(bytes(2, &wanted).len(), VolumeDiskExtents::length(2));
    }

    /// Guards: P41
    #[test]
    fn what_lies_is_refused() {
        let is_refused = |bytes: &[u8]| VolumeDiskExtents::parse(bytes).is_err();
        let whole = bytes(1, &[(0, 512, 512)]);
        for cut in 0..whole.len() {
            assert!(is_refused(&whole[..cut]), "{cut} bytes");
        }
        assert!(is_refused(&bytes(2, &[(0, 0, 512)])));
        assert!(is_refused(&bytes(u32::MAX, &[(0, 0, 512)])));
        assert!(is_refused(&bytes(1, &[(0, -1, 512)])));
        assert!(is_refused(&bytes(1, &[(0, 0, -512)])));
        let none = VolumeDiskExtents::parse(&bytes(0, &[]));
        assert_eq!(none, Ok(VolumeDiskExtents(vec![])));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            extents: Vec<(u32, u32, u32)>,
            rest: Vec<u8>,
        ) {
            let wide: Vec<_> = extents
                .iter()
                .map(|&(disk, offset, length)| (disk, i64::from(offset), i64::from(length)))
                .collect();
            let count = u32::try_from(wide.len()).unwrap();
            let written = [bytes(count, &wide), rest].concat();
            let read = VolumeDiskExtents::parse(&written).unwrap().0;
            let read: Vec<_> = read
                .iter()
                .map(|one| (one.disk, one.offset, one.length))
                .collect();
            let expected: Vec<_> = extents
                .iter()
                .map(|&(disk, offset, length)| (disk, u64::from(offset), u64::from(length)))
                .collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(VolumeDiskExtents(extents)) = VolumeDiskExtents::parse(&bytes) {
                prop_assert!(VolumeDiskExtents::length(extents.len()) <= bytes.len());
            }
        }
    }
}
