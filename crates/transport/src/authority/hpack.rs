//! Walks HPACK header blocks (RFC 7541) and writes them for h2.
//!
//! # What h2 may not keep
//! h2 makes the values of `:path`, `:scheme`, `:authority` and `:protocol` slices of their block's buffer, or of the
//! one for decoded Huffman codes. A field in the dynamic table stays there for as long as the client likes, so an entry
//! of forty counted bytes can keep tens of kilobytes, and a client that never acknowledges a smaller table can have a
//! hundred of them. (Other names and values h2 copies.) So h2 never stores these four: the client's stored `:path` and
//! `:scheme` are stored here, at their true size, and go to h2 as a literal without indexing each time. `:authority`
//! (in Go's form refused by h2) and `:protocol` are left out, since nothing here reads them.
//!
//! # Why the others are not decoded and encoded again
//! All other fields go through unchanged, and h2 stores what the client stores. Its table is then the client's without
//! the entries kept back here: each index is lowered by the number of newer ones among these ([`Table::place`]). An
//! entry that the client may still name is always in h2's table too: with the same limit, and only a part of the later
//! entries in it, h2 never evicts an entry before the client does.
//!
//! So after the first call of a connection a block costs a look at one byte a field, and a copy of
//! the path.

use std::ops::Range;

use thiserror::Error;

use super::table::{Kind, LONGEST_STORED, Name, Table};
use super::{KEPT, huffman};

/// How a header block breaks HPACK, or this filter's bounds.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum HpackError {
    /// The block ends within a field.
    #[error("the header block ends within a field")]
    Truncated,
    /// An integer with more bytes than any valid block needs.
    #[error("an integer in the header block is too large")]
    Integer,
    /// Bad padding, or the end symbol within a string.
    #[error("a string in the header block has an invalid Huffman code")]
    Huffman,
    /// An index beyond both tables, or zero.
    #[error("the header block refers to entry {0}, which does not exist")]
    Index(usize),
    /// A table size above the announced one, or not at the block's start.
    #[error("the header block changes the table's size in a way that is not allowed")]
    SizeUpdate,
    /// The block's decoded strings are larger than the filter allows.
    #[error("the header block is larger than {0} bytes when decoded")]
    Decoded(usize),
    /// The block names a stored path or scheme that is too long for it, or names one twice.
    #[error(
        "the header block names a stored path again, or one of more than {LONGEST_STORED} bytes"
    )]
    Repeated,
}

/// The fields that a connection's header blocks have stored so far.
#[derive(Debug)]
pub(super) struct Walker {
    table: Table,
    scratch: Vec<u8>,
}

impl Walker {
    /// The most bytes of one block's decoded strings.
    pub(super) const DECODED_LIMIT: usize = 64 << 10;

    pub(super) fn new() -> Self {
        Self {
            table: Table::new(),
            scratch: Vec::new(),
        }
    }

    /// Follows one whole block. Appends the block for h2 to `output`, or nothing if the block stays
    /// unchanged.
    pub(super) fn walk(
        &mut self,
        block: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Outcome, HpackError> {
        let mut walk = Walk {
            reader: Reader {
                block,
                at: 0,
                decoded: 0,
                scratch: &mut self.scratch,
            },
            rewrite: Rewrite {
                block,
                at: 0,
                output,
            },
            table: &mut self.table,
            repeated: 0,
        };
        let mut may_resize = true;
        while let Some(first) = walk.reader.peek() {
            let form = Form::of(first);
            match form {
                Form::Indexed => walk.indexed()?,
                Form::Resize if may_resize => walk.resize()?,
                Form::Resize => return Err(HpackError::SizeUpdate),
                Form::Stored => walk.literal(first, 6)?,
                Form::Passing => walk.literal(first, 4)?,
            }
            may_resize &= form == Form::Resize;
        }
        let outcome = walk.rewrite.finish();
        self.scratch.clear();
        self.scratch.shrink_to(KEPT);
        Ok(outcome)
    }
}

/// The result for a block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// It goes on as it came.
    Same,
    Changed,
}

/// The first bits of a field (RFC 7541 section 6).
#[derive(Clone, Copy, Eq, PartialEq)]
enum Form {
    Indexed,
    Stored,
    Resize,
    /// Without indexing or never indexed: the table does not see it.
    Passing,
}

impl Form {
    fn of(first: u8) -> Self {
        match first {
            0x80.. => Self::Indexed,
            0x40.. => Self::Stored,
            0x20.. => Self::Resize,
            _ => Self::Passing,
        }
    }
}

/// Writes `value` behind the flag bits of `first` (RFC 7541 section 5.1).
pub(super) fn write_integer(output: &mut Vec<u8>, first: u8, prefix: u32, value: usize) {
    let limit = (1usize << prefix) - 1;
    let low = |value: usize| u8::try_from(value & 0xff).expect("masked to one byte");
    if value < limit {
        return output.push(first | low(value));
    }
    output.push(first | low(limit));
    let mut rest = value - limit;
    while rest >= 0x80 {
        output.push(0x80 | low(rest & 0x7f));
        rest >>= 7;
    }
    output.push(low(rest));
}

/// A walk through one block.
struct Walk<'a> {
    reader: Reader<'a>,
    rewrite: Rewrite<'a>,
    table: &'a mut Table,
    /// The names whose stored value the block has used, each as a bit.
    repeated: usize,
}

impl Walk<'_> {
    /// A field stored whole in a table.
    fn indexed(&mut self) -> Result<(), HpackError> {
        let start = self.reader.at;
        let index = self.reader.integer(7)?;
        let range = start..self.reader.at;
        let Some(entry) = self.table.entry(index)? else {
            if Kind::of_static(index) == Kind::LeftOut {
                self.rewrite.replace(range);
            }
            return Ok(());
        };
        match entry.name.kind {
            Kind::LeftOut => {
                self.rewrite.replace(range);
            }
            Kind::Copied => {
                let place = self.table.place(entry);
                if place != index {
                    write_integer(self.rewrite.replace(range), 0x80, 7, place);
                }
            }
            Kind::KeptBack(name) => {
                let value = entry.value.as_deref().ok_or(HpackError::Repeated)?;
                if self.repeated & 1 << name != 0 {
                    return Err(HpackError::Repeated);
                }
                self.repeated |= 1 << name;
                let output = self.rewrite.replace(range);
                write_integer(output, 0, 4, name);
                write_integer(output, 0, 7, value.len());
                output.extend(value);
            }
        }
        Ok(())
    }

    fn resize(&mut self) -> Result<(), HpackError> {
        let limit = self.reader.integer(5)?;
        self.table.resize(limit)
    }

    /// A field with a literal value; `prefix` is 6 when the table stores it, else 4.
    fn literal(&mut self, first: u8, prefix: u32) -> Result<(), HpackError> {
        let start = self.reader.at;
        let index = self.reader.integer(prefix)?;
        let (name, place) = match index {
            0 => (self.reader.name()?, 0),
            _ => self.table.name(index)?,
        };
        let named = start..self.reader.at;
        let value = self.reader.string()?;
        match name.kind {
            Kind::LeftOut => {
                self.rewrite.replace(start..self.reader.at);
            }
            Kind::KeptBack(own) if prefix == 6 || index != own => {
                write_integer(self.rewrite.replace(named), 0, 4, own);
            }
            Kind::Copied if place != index => {
                let flags = first & !((1 << prefix) - 1);
                write_integer(self.rewrite.replace(named), flags, prefix, place);
            }
            Kind::KeptBack(_) | Kind::Copied => {}
        }
        if prefix == 6 {
            self.table.insert(name, value.bytes(&self.reader));
        }
        Ok(())
    }
}

/// Writes a block again: a copy, except for the replaced fields.
struct Rewrite<'a> {
    block: &'a [u8],
    /// Up to where it is copied or replaced.
    at: usize,
    output: &'a mut Vec<u8>,
}

impl Rewrite<'_> {
    /// Leaves out `range`, which lies behind all earlier replacements; the caller appends its
    /// substitute.
    fn replace(&mut self, range: Range<usize>) -> &mut Vec<u8> {
        self.output.extend(&self.block[self.at..range.start]);
        self.at = range.end;
        self.output
    }

    fn finish(self) -> Outcome {
        if self.at == 0 {
            return Outcome::Same;
        }
        self.output.extend(&self.block[self.at..]);
        Outcome::Changed
    }
}

/// A string of the block: where it lies, or in the scratch when it had to be decoded.
enum Text {
    Plain(Range<usize>),
    Decoded(usize),
}

impl Text {
    fn length(&self) -> usize {
        match self {
            Self::Plain(range) => range.len(),
            Self::Decoded(length) => *length,
        }
    }

    fn bytes<'a>(&self, reader: &'a Reader<'_>) -> &'a [u8] {
        match self {
            Self::Plain(range) => &reader.block[range.clone()],
            Self::Decoded(length) => &reader.scratch[..*length],
        }
    }
}

struct Reader<'a> {
    block: &'a [u8],
    at: usize,
    decoded: usize,
    /// The last Huffman-coded string, decoded.
    scratch: &'a mut Vec<u8>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.block.get(self.at).copied()
    }

    fn byte(&mut self) -> Result<u8, HpackError> {
        let byte = self.peek().ok_or(HpackError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    /// An integer with `prefix` bits in its first byte (RFC 7541 section 5.1); five bytes at most,
    /// as h2 reads them.
    fn integer(&mut self, prefix: u32) -> Result<usize, HpackError> {
        let limit = (1usize << prefix) - 1;
        let mut value = usize::from(self.byte()?) & limit;
        if value < limit {
            return Ok(value);
        }
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(HpackError::Integer)
    }

    fn name(&mut self) -> Result<Name, HpackError> {
        let text = self.string()?;
        Ok(Name {
            length: text.length(),
            kind: Kind::of(text.bytes(self)),
        })
    }

    fn string(&mut self) -> Result<Text, HpackError> {
        let is_huffman = self.peek().ok_or(HpackError::Truncated)? >= 0x80;
        let length = self.integer(7)?;
        let range = self.at..self.at + length;
        let bytes = self.block.get(range.clone()).ok_or(HpackError::Truncated)?;
        self.at = range.end;
        let text = match is_huffman {
            false => Text::Plain(range),
            true => {
                self.scratch.clear();
                huffman::decode(bytes, self.scratch)?;
                Text::Decoded(self.scratch.len())
            }
        };
        self.decoded += text.length();
        match self.decoded > Walker::DECODED_LIMIT {
            true => Err(HpackError::Decoded(Walker::DECODED_LIMIT)),
            false => Ok(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(first: u8, prefix: u32, index: usize, value: &[u8]) -> Vec<u8> {
        let mut block = Vec::new();
        write_integer(&mut block, first, prefix, index);
        write_integer(&mut block, 0, 7, value.len());
        block.extend(value);
        block
    }

    /// The block for h2, if it differs.
    fn walked(walker: &mut Walker, block: &[u8]) -> Result<Option<Vec<u8>>, HpackError> {
        let mut output = Vec::new();
        let outcome = walker.walk(block, &mut output)?;
        Ok((outcome == Outcome::Changed).then_some(output))
    }

    #[test]
    fn authorities_and_protocols_are_left_out_in_every_form() {
        let mut walker = Walker::new();
        let stored = literal(0x40, 6, 1, br"\\.\pipe\x");
        let named = [&[0x40, 9][..], b":protocol", &[1, b'x']].concat();
        let forms = [vec![0x81], vec![0x01, 0], stored, vec![0x80 | 62], named];
        for block in forms {
            assert_eq!(walked(&mut walker, &block), Ok(Some(vec![])), "{block:?}");
        }
    }

    #[test]
    fn a_stored_path_goes_on_as_a_literal_that_is_not_stored() {
        let mut walker = Walker::new();
        let stored = literal(0x40, 6, 4, b"/a");
        let plain = literal(0x00, 4, 4, b"/a");
        assert_eq!(walked(&mut walker, &stored), Ok(Some(plain.clone())));
        assert_eq!(walked(&mut walker, &[0x80 | 62]), Ok(Some(plain)));
        let scheme = literal(0x40, 6, 7, b"ftp");
        let plain = literal(0x00, 4, 6, b"ftp");
        assert_eq!(walked(&mut walker, &scheme), Ok(Some(plain.clone())));
        assert_eq!(walked(&mut walker, &[0x80 | 62]), Ok(Some(plain)));
    }

    #[test]
    fn a_field_is_named_by_its_place_among_those_that_h2_stores() {
        let mut walker = Walker::new();
        let block = [
            literal(0x40, 6, 31, b"old"),
            literal(0x40, 6, 4, b"/a"),
            literal(0x40, 6, 58, b"new"),
        ];
        walked(&mut walker, &block.concat()).unwrap();
        assert_eq!(walked(&mut walker, &[0x80 | 62]), Ok(None), "the newest");
        let older = walked(&mut walker, &[0x80 | 64]);
        assert_eq!(older, Ok(Some(vec![0x80 | 63])));
        let by_name = walked(&mut walker, &literal(0x10, 4, 64, b"x"));
        assert_eq!(by_name, Ok(Some(literal(0x10, 4, 63, b"x"))));
    }

    #[test]
    fn a_long_path_is_taken_once_and_a_stored_one_once_a_block() {
        let mut walker = Walker::new();
        let long = vec![b'/'; LONGEST_STORED + 1];
        walked(&mut walker, &literal(0x40, 6, 4, &long)).unwrap();
        assert_eq!(walked(&mut walker, &[0x80 | 62]), Err(HpackError::Repeated));
        walked(&mut walker, &literal(0x40, 6, 4, b"/a")).unwrap();
        assert_eq!(
            walked(&mut walker, &[0x80 | 62; 2]),
            Err(HpackError::Repeated)
        );
    }

    #[test]
    fn malformed_blocks_are_named() {
        let walk = |block: &[u8]| walked(&mut Walker::new(), block);
        assert_eq!(walk(&[0x80]), Err(HpackError::Index(0)));
        assert_eq!(walk(&[0x80 | 62]), Err(HpackError::Index(62)));
        assert_eq!(walk(&[0x41]), Err(HpackError::Truncated));
        assert_eq!(walk(&[0x41, 5, b'a']), Err(HpackError::Truncated));
        assert_eq!(
            walk(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
            Err(HpackError::Integer)
        );
        assert_eq!(walk(&[0x82, 0x20]), Err(HpackError::SizeUpdate));
        assert_eq!(
            walk(&[0x3f, 0xe2, 0x1f]),
            Err(HpackError::SizeUpdate),
            "4097"
        );
        assert_eq!(walk(&[0x3f, 0xe1, 0x1f]), Ok(None), "4096");
    }

    #[test]
    fn eviction_follows_the_rfc() {
        let mut walker = Walker::new();
        let mut walk = |block: &[u8]| walked(&mut walker, block);
        walk(&literal(0x40, 6, 31, &[b'a'; 2000])).unwrap();
        walk(&literal(0x40, 6, 31, &[b'b'; 2000])).unwrap();
        assert!(walk(&[0x80 | 63]).is_ok());
        walk(&literal(0x40, 6, 31, &[b'c'; 2000])).unwrap();
        assert!(walk(&[0x80 | 63]).is_ok());
        assert_eq!(walk(&[0x80 | 64]), Err(HpackError::Index(64)));
        walk(&[0x20]).unwrap();
        assert_eq!(walk(&[0x80 | 62]), Err(HpackError::Index(62)));
    }
}
