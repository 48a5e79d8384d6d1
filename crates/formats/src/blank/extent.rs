//! How large an object is, and which of its bytes a scan reads.

use std::iter;
use std::ops::Range;

use thiserror::Error;

/// Bytes at the start of an object that a scan reads.
pub const HEAD: u64 = 4 << 20;

/// Bytes at the end of an object that a scan reads.
pub const TAIL: u64 = 1 << 20;

/// Bytes in a logical sector: a power of two from 512 to 4096.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SectorSize(u32);

impl SectorSize {
    /// 512 bytes.
    pub const B512: Self = Self(512);
    /// 4096 bytes.
    pub const B4096: Self = Self(4096);

    /// The size in bytes.
    pub fn bytes(self) -> u64 {
        u64::from(self.0)
    }
}

impl TryFrom<u32> for SectorSize {
    type Error = ExtentError;

    fn try_from(bytes: u32) -> Result<Self, ExtentError> {
        if bytes.is_power_of_two() && (512..=4096).contains(&bytes) {
            Ok(Self(bytes))
        } else {
            Err(ExtentError::SectorSize { bytes })
        }
    }
}

/// A disk's or partition's length, known to be a positive number of whole sectors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Extent {
    length: u64,
    sector: SectorSize,
}

impl Extent {
    /// An object of `length` bytes.
    ///
    /// # Errors
    /// A length of zero (Windows reports it for a disk that it cannot size, and nothing read is
    /// no proof of anything) or one that is not a multiple of the sector size.
    pub fn new(length: u64, sector: SectorSize) -> Result<Self, ExtentError> {
        if length == 0 {
            Err(ExtentError::Empty)
        } else if !length.is_multiple_of(sector.bytes()) {
            Err(ExtentError::Unaligned {
                length,
                sector: sector.bytes(),
            })
        } else {
            Ok(Self { length, sector })
        }
    }

    /// The object's length in bytes.
    pub fn length(self) -> u64 {
        self.length
    }

    /// The object's logical sector size.
    pub fn sector(self) -> SectorSize {
        self.sector
    }

    /// The number of the last sector.
    pub fn last_lba(self) -> u64 {
        self.length / self.sector.bytes() - 1
    }

    /// The bytes that a scan must read, in order, sector-aligned, without overlap: the first
    /// [`HEAD`] and the last [`TAIL`], or the whole object when it is no longer than both.
    pub fn ranges(self) -> impl Iterator<Item = Range<u64>> {
        let (head, tail) = if self.length <= HEAD + TAIL {
            (0..self.length, None)
        } else {
            (0..HEAD, Some(self.length - TAIL..self.length))
        };
        iter::once(head).chain(tail)
    }
}

/// Why a length and a sector size do not describe an object.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum ExtentError {
    /// The length is zero.
    #[error("the object has no bytes")]
    Empty,
    /// The sector size is not a power of two from 512 to 4096.
    #[error("{bytes} bytes is no supported sector size")]
    SectorSize {
        /// The size that was given.
        bytes: u32,
    },
    /// The length is no whole number of sectors.
    #[error("{length} bytes is no whole number of {sector}-byte sectors")]
    Unaligned {
        /// The length that was given.
        length: u64,
        /// The sector size in bytes.
        sector: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_object_is_read_at_both_ends() {
        let extent = Extent::new(1 << 30, SectorSize::B512).unwrap();
        let ranges: Vec<_> = extent.ranges().collect();
        assert_eq!(ranges, [0..4 << 20, (1 << 30) - (1 << 20)..1 << 30]);
    }

    #[test]
    fn a_short_object_is_read_whole() {
        let extent = Extent::new(HEAD + TAIL, SectorSize::B4096).unwrap();
        assert!(extent.ranges().eq(iter::once(0..HEAD + TAIL)));
    }

    #[test]
    fn nothing_describes_an_empty_or_ragged_object() {
        assert_eq!(Extent::new(0, SectorSize::B512), Err(ExtentError::Empty));
        assert_eq!(
            Extent::new(1536, SectorSize::B4096),
            Err(ExtentError::Unaligned {
                length: 1536,
                sector: 4096
            })
        );
        assert_eq!(
            SectorSize::try_from(520),
            Err(ExtentError::SectorSize { bytes: 520 })
        );
        assert_eq!(
            SectorSize::try_from(8192),
            Err(ExtentError::SectorSize { bytes: 8192 })
        );
    }
}
