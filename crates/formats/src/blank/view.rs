//! The bytes of an object that a scan looks at, all of them or no view.

use std::error::Error;
use std::ops::Range;

use thiserror::Error;

use super::Extent;
use crate::bytes::{slice, wide};

/// Bytes that one read asks for at most, so that a caller's deadline is looked at often.
const CHUNK: usize = 1 << 20;

/// Every byte of an object's scan ranges.
///
/// There is no way to make one from less: a failed or short read yields an error, never a view, so
/// that "could not be read" cannot be taken for "blank".
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct View {
    extent: Extent,
    spans: Vec<Span>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Span {
    start: u64,
    bytes: Vec<u8>,
}

impl View {
    /// Reads the scan ranges through `read_at`, which fills the buffer from the byte offset that
    /// it is given and says how many bytes it put there. Offsets and lengths are multiples of the
    /// sector size; no read is longer than 1 MiB.
    ///
    /// # Errors
    /// The first error of `read_at`, or its first answer that is not the whole buffer.
    pub fn read<E: Error + 'static>(
        extent: Extent,
        mut read_at: impl FnMut(u64, &mut [u8]) -> Result<usize, E>,
    ) -> Result<Self, ViewError<E>> {
        let mut spans = Vec::new();
        for range in extent.ranges() {
            let mut bytes = vec![0; span_len(&range)];
            let mut offset = range.start;
            for chunk in bytes.chunks_mut(CHUNK) {
                let wanted = chunk.len();
                match read_at(offset, chunk) {
                    Ok(got) if got == wanted => offset += wide(wanted),
                    Ok(got) => {
                        return Err(ShortRead {
                            offset,
                            wanted,
                            got,
                        }
                        .into());
                    }
                    Err(source) => {
                        return Err(ViewError::Read {
                            offset,
                            wanted,
                            source,
                        });
                    }
                }
            }
            spans.push(Span {
                start: range.start,
                bytes,
            });
        }
        Ok(Self { extent, spans })
    }

    /// Makes a view of buffers that were read elsewhere: one for each of [`Extent::ranges`], in
    /// that order.
    ///
    /// # Errors
    /// A buffer is missing or has not exactly its range's length.
    pub fn assemble(
        extent: Extent,
        buffers: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Self, ShortRead> {
        let mut buffers = buffers.into_iter();
        let mut spans = Vec::new();
        for range in extent.ranges() {
            let bytes = buffers.next().unwrap_or_default();
            let wanted = span_len(&range);
            if bytes.len() != wanted {
                return Err(ShortRead {
                    offset: range.start,
                    wanted,
                    got: bytes.len(),
                });
            }
            spans.push(Span {
                start: range.start,
                bytes,
            });
        }
        Ok(Self { extent, spans })
    }

    /// The object that this is a view of.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The `len` bytes at `offset`, or `None` when they do not lie within one of the ranges.
    pub fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        self.spans.iter().find_map(|span| {
            let at = usize::try_from(offset.checked_sub(span.start)?).ok()?;
            slice(&span.bytes, at, len)
        })
    }

    /// Offset of the first byte that is not zero.
    pub fn first_nonzero(&self) -> Option<u64> {
        self.spans.iter().find_map(|span| {
            crate::bytes::first_nonzero(&span.bytes).map(|at| span.start + wide(at))
        })
    }

    /// The same view with these bytes zero, for judging what lies around a known structure.
    /// Parts of a range that the view does not hold are passed over.
    #[must_use]
    pub fn masked(mut self, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        for range in ranges {
            for span in &mut self.spans {
                span.zero(&range);
            }
        }
        self
    }

    /// The parts that were read: start offset and bytes, in order.
    pub fn spans(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.spans
            .iter()
            .map(|span| (span.start, span.bytes.as_slice()))
    }
}

impl Span {
    fn zero(&mut self, range: &Range<u64>) {
        let end = self.start + wide(self.bytes.len());
        let from = range.start.clamp(self.start, end) - self.start;
        let to = range.end.clamp(self.start, end) - self.start;
        if let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to))
            && let Some(bytes) = self.bytes.get_mut(from..to)
        {
            bytes.fill(0);
        }
    }
}

fn span_len(range: &Range<u64>) -> usize {
    usize::try_from(range.end - range.start).expect("a scan range is at most 5 MiB")
}

/// A read that ended early.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("read {got} of {wanted} bytes at offset {offset}")]
pub struct ShortRead {
    /// Byte offset in the object.
    pub offset: u64,
    /// Bytes asked for.
    pub wanted: usize,
    /// Bytes that came.
    pub got: usize,
}

/// Why an object's scan ranges could not be read.
#[derive(Debug, Error)]
pub enum ViewError<E: Error + 'static> {
    /// The read failed.
    #[error("cannot read {wanted} bytes at offset {offset}")]
    Read {
        /// Byte offset in the object.
        offset: u64,
        /// Bytes asked for.
        wanted: usize,
        /// The reader's error.
        source: E,
    },
    /// The read ended early.
    #[error(transparent)]
    Short(#[from] ShortRead),
}

#[cfg(test)]
mod tests {
    use std::{io, iter};

    use super::*;
    use crate::blank::SectorSize;

    fn extent(length: u64) -> Extent {
        Extent::new(length, SectorSize::B512).unwrap()
    }

    fn numbered(offset: u64, buffer: &mut [u8]) -> Result<usize, io::Error> {
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = (offset + wide(at)).to_le_bytes()[2];
        }
        Ok(buffer.len())
    }

    #[test]
    fn bytes_come_from_where_they_were_read() {
        let view = View::read(extent(64 << 20), numbered).unwrap();
        assert_eq!(view.bytes((1 << 16) - 1, 2), Some(&[0, 1][..]));
        assert_eq!(view.bytes((64 << 20) - 1, 1), Some(&[0xff][..]));
        assert_eq!(
            view.bytes((4 << 20) - 1, 2),
            None,
            "the second byte was not read"
        );
        assert_eq!(view.bytes(64 << 20, 1), None);
        assert_eq!(view.first_nonzero(), Some(1 << 16));
    }

    #[test]
    fn a_short_read_makes_no_view() {
        let error = View::read(extent(64 << 20), |offset, buffer: &mut [u8]| {
            Ok::<_, io::Error>(if offset > 60 << 20 {
                buffer.len() - 1
            } else {
                buffer.len()
            })
        })
        .unwrap_err();
        assert!(
            matches!(error, ViewError::Short(ShortRead { got: 1_048_575, .. })),
            "{error}"
        );
    }

    #[test]
    fn a_failed_read_makes_no_view() {
        let error = View::read(extent(512), |_, _: &mut [u8]| Err(io::Error::other("gone")));
        assert!(matches!(
            error,
            Err(ViewError::Read {
                offset: 0,
                wanted: 512,
                ..
            })
        ));
    }

    #[test]
    fn missing_and_wrong_buffers_make_no_view() {
        let short = View::assemble(extent(8 << 20), [vec![0; 4 << 20]]).unwrap_err();
        assert_eq!(
            short,
            ShortRead {
                offset: 7 << 20,
                wanted: 1 << 20,
                got: 0
            }
        );
        assert!(View::assemble(extent(512), [vec![0; 1024]]).is_err());
        assert!(View::assemble(extent(512), [vec![0; 512]]).is_ok());
    }

    #[test]
    fn a_mask_crosses_the_edges_of_what_was_read() {
        let ones = View::assemble(extent(8 << 20), [vec![1; 4 << 20], vec![1; 1 << 20]]).unwrap();
        let masked = ones.masked(iter::once((4 << 20) - 2..(7 << 20) + 3));
        assert_eq!(masked.bytes((4 << 20) - 3, 3), Some(&[1, 0, 0][..]));
        assert_eq!(masked.bytes(7 << 20, 4), Some(&[0, 0, 0, 1][..]));
    }
}
