use os::DiskNumber;
use os::Extent;

/// The count, and the gap that aligns the first extent.
const HEADER: usize = 8;

/// `DISK_EXTENT`: the disk's number, a gap, where it begins, how long it is.
const EXTENT: usize = 24;

/// The length of a `VOLUME_DISK_EXTENTS` with this many extents.
pub(crate) const fn length(extents: usize) -> usize {
    HEADER + extents * EXTENT
}

/// Reads a `VOLUME_DISK_EXTENTS`; `None` when it says more than it has, or a number is negative.
///
/// Source: <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-volume_disk_extents>.
pub(crate) fn parse(bytes: &[u8]) -> Option<Vec<Extent>> {
    let count = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let end = count.checked_mul(EXTENT)?.checked_add(HEADER)?;
    let extents = bytes.get(HEADER..end)?;
    extents.chunks_exact(EXTENT).map(extent).collect()
}

fn extent(bytes: &[u8]) -> Option<Extent> {
    Some(Extent {
        disk: DiskNumber(u32_at(bytes, 0)?),
        offset: length_at(bytes, 8)?,
        length: length_at(bytes, 16)?,
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn length_at(bytes: &[u8], at: usize) -> Option<u64> {
    let signed = i64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    u64::try_from(signed).ok()
}

#[cfg(test)]
mod tests {
    use os::DiskNumber;
    use os::Extent;

    use super::length;
    use super::parse;

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
        let read = parse(&bytes(2, &wanted)).unwrap();
        let one = |(disk, offset, length)| Extent {
            disk: DiskNumber(disk),
            offset,
            length,
        };
        assert_eq!(read, [one((1, 0x10_0000, 0x4000_0000)), one((7, 0, 512))]);
        assert_eq!(bytes(2, &wanted).len(), length(2));
    }

    #[test]
    fn what_lies_is_refused() {
        let whole = bytes(1, &[(0, 512, 512)]);
        for cut in 0..whole.len() {
            assert_eq!(parse(&whole[..cut]), None, "{cut} bytes");
        }
        assert_eq!(parse(&bytes(2, &[(0, 0, 512)])), None);
        assert_eq!(parse(&bytes(u32::MAX, &[(0, 0, 512)])), None);
        assert_eq!(parse(&bytes(1, &[(0, -1, 512)])), None);
        assert_eq!(parse(&bytes(1, &[(0, 0, -512)])), None);
        assert_eq!(parse(&bytes(0, &[])), Some(vec![]));
    }
}
