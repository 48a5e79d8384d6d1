//! Walks HPACK header blocks (RFC 7541) and finds each `:authority` that h2 would refuse.
//!
//! # Why nothing is decoded and encoded anew
//! A field that a block puts into the dynamic table is referred to by later blocks, so a filter
//! that alters a field alters what the decoder behind it remembers. The mender keeps both tables
//! in step by giving the new authority *the length of the old one*: every entry then has the same
//! size and the same place in the client's table and in h2's, evictions fall together, and every
//! byte of every block but the altered literal goes through as it came. A later block that says
//! "the authority as before" by its index is mended by what h2 remembers, without a change.
//!
//! So all that is kept of a dynamic table is each entry's size and whether its name is
//! `:authority`, and after the first call of a connection a block costs a look at one byte a field.
//!
//! The one length that has no valid authority is zero. An empty authority is left out of the block
//! where the table does not see it; where the block stores it, h2 gets one byte instead and the
//! difference is counted: should it ever make h2 evict what the client still holds, the walk ends
//! with [`HpackError::TablesDiffer`] rather than with a wrong header.

use std::collections::VecDeque;
use std::ops::Range;

use http::uri::Authority;
use thiserror::Error;

use super::huffman;

/// What h2 announces as SETTINGS_HEADER_TABLE_SIZE by not announcing any (RFC 9113 section 6.5.2).
const TABLE_LIMIT: usize = 4096;
/// What an entry counts beyond its name and value (RFC 7541 section 4.1).
const ENTRY_OVERHEAD: usize = 32;
const STATIC_ENTRIES: usize = 61;
/// The static table's first entry is `:authority` with an empty value, and its only one
/// (RFC 7541 appendix A).
const STATIC_AUTHORITY: usize = 1;
const AUTHORITY: &[u8] = b":authority";

/// Lengths of the static table's names, RFC 7541 appendix A, entries 1 to 61.
#[rustfmt::skip]
const STATIC_NAME_LENGTHS: [usize; STATIC_ENTRIES] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27,
    3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17,
    13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3,
    16,
];

/// How a header block breaks HPACK, or the bounds that this filter sets.
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
    /// A table size above what was announced, or not at the block's start.
    #[error("the header block changes the table's size in a way that is not allowed")]
    SizeUpdate,
    /// The block's decoded strings are larger than the filter allows.
    #[error("the header block is larger than {0} bytes when decoded")]
    Decoded(usize),
    /// An empty authority was stored and the tables can no longer be kept in step.
    #[error("the header table is too full to hold a mended authority")]
    TablesDiffer,
}

/// One change to a block: the bytes at `range` become `bytes`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Patch {
    pub(super) range: Range<usize>,
    pub(super) bytes: Vec<u8>,
}

/// What a connection's header blocks have stored so far.
#[derive(Debug)]
pub(super) struct Walker {
    table: Table,
    scratch: Vec<u8>,
}

impl Walker {
    /// The most that one block's strings may come to once decoded, in bytes.
    pub(super) const DECODED_LIMIT: usize = 64 << 10;

    pub(super) fn new() -> Self {
        Self {
            table: Table::new(),
            scratch: Vec::new(),
        }
    }

    /// Follows one whole block and returns the changes that it needs, in order.
    pub(super) fn walk(&mut self, block: &[u8]) -> Result<Vec<Patch>, HpackError> {
        let mut patches = Vec::new();
        let mut reader = Reader {
            block,
            at: 0,
            decoded: 0,
            scratch: &mut self.scratch,
        };
        let mut may_resize = true;
        while let Some(first) = reader.peek() {
            let start = reader.at;
            match Form::of(first) {
                Form::Indexed => {
                    let index = reader.integer(7)?;
                    self.table.entry(index)?;
                    if index == STATIC_AUTHORITY {
                        patches.push(Patch {
                            range: start..reader.at,
                            bytes: Vec::new(),
                        });
                    }
                }
                Form::Resize if may_resize => self.table.resize(reader.integer(5)?)?,
                Form::Resize => return Err(HpackError::SizeUpdate),
                Form::Stored => self.table.literal(&mut reader, 6, start, &mut patches)?,
                Form::Passing => self.table.literal(&mut reader, 4, start, &mut patches)?,
            }
            may_resize &= Form::of(first) == Form::Resize;
        }
        Ok(patches)
    }
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

enum Mended {
    Valid,
    Empty,
    /// A string literal of the same decoded length.
    Replaced(Vec<u8>),
}

fn mended(value: &[u8]) -> Mended {
    if value.is_empty() {
        return Mended::Empty;
    }
    match Authority::try_from(value) {
        Ok(_) => Mended::Valid,
        Err(_) => Mended::Replaced(plain_literal(value.len())),
    }
}

/// `localhost`, cut or repeated to `length` bytes, as a string literal without Huffman code.
fn plain_literal(length: usize) -> Vec<u8> {
    let mut literal = Vec::with_capacity(length + 4);
    write_integer(&mut literal, 0, 7, length);
    literal.extend(b"localhost".iter().cycle().take(length));
    literal
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

#[derive(Clone, Copy, Debug)]
struct Name {
    length: usize,
    is_authority: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    name: Name,
    value_length: usize,
    /// How much longer h2's copy of the entry is.
    surplus: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.name.length + self.value_length + ENTRY_OVERHEAD
    }
}

/// The client's dynamic table: newest first, as indexes count.
#[derive(Debug)]
struct Table {
    entries: VecDeque<Entry>,
    size: usize,
    surplus: usize,
    limit: usize,
}

impl Table {
    fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            surplus: 0,
            limit: TABLE_LIMIT,
        }
    }

    /// Follows a field that spells its value; `prefix` is 6 when the table stores it, else 4.
    fn literal(
        &mut self,
        reader: &mut Reader<'_>,
        prefix: u32,
        start: usize,
        patches: &mut Vec<Patch>,
    ) -> Result<(), HpackError> {
        let stored = prefix == 6;
        let name = match reader.integer(prefix)? {
            0 => reader.name()?,
            index => self.entry(index)?,
        };
        let value_start = reader.at;
        let value = reader.string()?;
        let mut entry = Entry {
            name,
            value_length: value.length(),
            surplus: 0,
        };
        if name.is_authority {
            let value_range = value_start..reader.at;
            match mended(value.bytes(reader)) {
                Mended::Valid => {}
                Mended::Replaced(bytes) => patches.push(Patch {
                    range: value_range,
                    bytes,
                }),
                Mended::Empty if stored => {
                    entry.surplus = 1;
                    patches.push(Patch {
                        range: value_range,
                        bytes: plain_literal(1),
                    });
                }
                Mended::Empty => patches.push(Patch {
                    range: start..reader.at,
                    bytes: Vec::new(),
                }),
            }
        }
        match stored {
            true => self.insert(entry),
            false => Ok(()),
        }
    }

    fn entry(&self, index: usize) -> Result<Name, HpackError> {
        match index {
            0 => Err(HpackError::Index(0)),
            1..=STATIC_ENTRIES => Ok(Name {
                length: STATIC_NAME_LENGTHS[index - 1],
                is_authority: index == STATIC_AUTHORITY,
            }),
            _ => self
                .entries
                .get(index - STATIC_ENTRIES - 1)
                .map(|entry| entry.name)
                .ok_or(HpackError::Index(index)),
        }
    }

    fn insert(&mut self, entry: Entry) -> Result<(), HpackError> {
        if entry.size() > self.limit {
            self.evict_to(0);
            // h2 drops its copy as well: it is at least as large.
            return Ok(());
        }
        self.evict_to(self.limit - entry.size());
        self.size += entry.size();
        self.surplus += entry.surplus;
        self.entries.push_front(entry);
        self.check_step()
    }

    fn resize(&mut self, limit: usize) -> Result<(), HpackError> {
        if limit > TABLE_LIMIT {
            return Err(HpackError::SizeUpdate);
        }
        self.limit = limit;
        self.evict_to(limit);
        self.check_step()
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            let Some(entry) = self.entries.pop_back() else {
                break;
            };
            self.size -= entry.size();
            self.surplus -= entry.surplus;
        }
    }

    fn check_step(&self) -> Result<(), HpackError> {
        match self.size + self.surplus > self.limit {
            true => Err(HpackError::TablesDiffer),
            false => Ok(()),
        }
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
    /// Holds the last string that was Huffman-coded.
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

    /// An integer whose first byte has `prefix` bits of it (RFC 7541 section 5.1); five bytes at
    /// most, as h2 reads them.
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
        let is_authority = text.bytes(self) == AUTHORITY;
        Ok(Name {
            length: text.length(),
            is_authority,
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

    #[test]
    fn a_raw_pipe_path_is_overwritten_in_its_own_length() {
        let path = br"\\.\\pipe\\csi-proxy-disk-v1";
        let block = literal(0x40, 6, 1, path);
        let patches = Walker::new().walk(&block).unwrap();
        let [patch] = patches.as_slice() else {
            panic!("one patch, not {patches:?}")
        };
        assert_eq!(patch.range, 1..block.len());
        assert_eq!(patch.bytes.len(), patch.range.len());
        assert!(Authority::try_from(&patch.bytes[1..]).is_ok());
    }

    #[test]
    fn valid_authorities_and_other_fields_stay() {
        let mut block = literal(0x40, 6, 1, b"localhost:80");
        block.extend(literal(0x00, 4, 4, br"\\odd\path"));
        block.push(0x80 | 62);
        assert_eq!(Walker::new().walk(&block).unwrap(), vec![]);
    }

    #[test]
    fn an_authority_named_by_a_dynamic_entry_is_found() {
        let mut block = literal(0x40, 6, 1, b"fine");
        block.extend(literal(0x40, 6, 62, br"\"));
        let patches = Walker::new().walk(&block).unwrap();
        assert_eq!(
            patches,
            vec![Patch {
                range: 7..9,
                bytes: vec![1, b'l']
            }]
        );
    }

    #[test]
    fn empty_authorities_go_or_grow() {
        let patch = |block: &[u8]| Walker::new().walk(block).unwrap();
        assert_eq!(
            patch(&[0x81]),
            vec![Patch {
                range: 0..1,
                bytes: vec![]
            }]
        );
        assert_eq!(
            patch(&[0x01, 0]),
            vec![Patch {
                range: 0..2,
                bytes: vec![]
            }]
        );
        assert_eq!(
            patch(&[0x41, 0]),
            vec![Patch {
                range: 1..2,
                bytes: vec![1, b'l']
            }]
        );
    }

    #[test]
    fn tables_that_could_differ_end_the_walk() {
        let mut walker = Walker::new();
        // An empty authority counts 42 here and 43 in h2; 42 + 4054 fills the table exactly.
        walker.walk(&[0x41, 0]).unwrap();
        let filler = vec![b'a'; 4054 - ENTRY_OVERHEAD - 5];
        assert_eq!(
            walker.walk(&literal(0x40, 6, 4, &filler)),
            Err(HpackError::TablesDiffer)
        );
    }

    #[test]
    fn malformed_blocks_are_named() {
        let walk = |block: &[u8]| Walker::new().walk(block);
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
        assert_eq!(walk(&[0x3f, 0xe1, 0x1f]), Ok(vec![]), "4096");
    }

    #[test]
    fn eviction_follows_the_rfc() {
        let mut walker = Walker::new();
        walker.walk(&literal(0x40, 6, 4, &[b'a'; 2000])).unwrap();
        walker.walk(&literal(0x40, 6, 4, &[b'b'; 2000])).unwrap();
        assert!(walker.walk(&[0x80 | 63]).is_ok());
        walker.walk(&literal(0x40, 6, 4, &[b'c'; 2000])).unwrap();
        assert!(walker.walk(&[0x80 | 63]).is_ok());
        assert_eq!(walker.walk(&[0x80 | 64]), Err(HpackError::Index(64)));
        walker.walk(&[0x20]).unwrap();
        assert_eq!(walker.walk(&[0x80 | 62]), Err(HpackError::Index(62)));
    }
}
