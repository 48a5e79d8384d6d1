//! The client's dynamic table (RFC 7541 section 2.3.2), as far as the rewriter has to know it.

use std::collections::VecDeque;

use super::hpack::HpackError;

/// SETTINGS_HEADER_TABLE_SIZE as long as h2 announces none (RFC 9113 section 6.5.2).
const TABLE_LIMIT: usize = 4096;
/// An entry's size beyond its name and value (RFC 7541 section 4.1).
const ENTRY_OVERHEAD: usize = 32;
const STATIC_ENTRIES: usize = 61;
/// The static table's first entries of these names, and their only ones but for the next entry's
/// (RFC 7541 appendix A).
const STATIC_AUTHORITY: usize = 1;
const STATIC_PATH: usize = 4;
const STATIC_SCHEME: usize = 6;
/// The longest path or scheme that a client may store and name again, in bytes: it lengthens a block of a few bytes.
pub(super) const LONGEST_STORED: usize = 512;

/// Lengths of the static table's names, RFC 7541 appendix A, entries 1 to 61.
#[rustfmt::skip]
const STATIC_NAME_LENGTHS: [usize; STATIC_ENTRIES] = [
    10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27,
    3, 5, 13, 13, 19, 16, 16, 14, 16, 13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17,
    13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4, 3,
    16,
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Name {
    pub(super) length: usize,
    pub(super) kind: Kind,
}

/// The handling of fields of a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// h2 copies their names and values, and may store them.
    Copied,
    /// h2 would keep a slice of its buffer: they are stored here, and this is their name's index.
    KeptBack(usize),
    LeftOut,
}

impl Kind {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b":path" => Self::KeptBack(STATIC_PATH),
            b":scheme" => Self::KeptBack(STATIC_SCHEME),
            b":authority" | b":protocol" => Self::LeftOut,
            _ => Self::Copied,
        }
    }

    pub(super) fn of_static(index: usize) -> Self {
        match index {
            STATIC_AUTHORITY => Self::LeftOut,
            STATIC_PATH | 5 => Self::KeptBack(STATIC_PATH),
            STATIC_SCHEME | 7 => Self::KeptBack(STATIC_SCHEME),
            _ => Self::Copied,
        }
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Name,
    size: usize,
    /// For a field kept back, unless it is too long.
    pub(super) value: Option<Box<[u8]>>,
    /// How many copied fields were stored before it.
    number: usize,
}

/// The client's dynamic table: newest first, as indexes count.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    size: usize,
    limit: usize,
    /// The copied fields stored so far, by h2 as well.
    copied: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            limit: TABLE_LIMIT,
            copied: 0,
        }
    }

    /// The entry of an index; None when it is one of the static table's.
    pub(super) fn entry(&self, index: usize) -> Result<Option<&Entry>, HpackError> {
        match index {
            0 => Err(HpackError::Index(0)),
            1..=STATIC_ENTRIES => Ok(None),
            _ => match self.entries.get(index - STATIC_ENTRIES - 1) {
                None => Err(HpackError::Index(index)),
                entry => Ok(entry),
            },
        }
    }

    /// h2's index of a copied field.
    pub(super) fn place(&self, entry: &Entry) -> usize {
        STATIC_ENTRIES + self.copied - entry.number
    }

    /// The name of an index, and h2's index of it.
    pub(super) fn name(&self, index: usize) -> Result<(Name, usize), HpackError> {
        Ok(match self.entry(index)? {
            Some(entry) => (entry.name, self.place(entry)),
            None => {
                let name = Name {
                    length: STATIC_NAME_LENGTHS[index - 1],
                    kind: Kind::of_static(index),
                };
                (name, index)
            }
        })
    }

    pub(super) fn insert(&mut self, name: Name, value: &[u8]) {
        let size = name.length + value.len() + ENTRY_OVERHEAD;
        self.evict_to(self.limit.saturating_sub(size));
        if size > self.limit {
            // h2 evicts all as well, if it gets to see it.
            return;
        }
        let is_kept = matches!(name.kind, Kind::KeptBack(_)) && value.len() <= LONGEST_STORED;
        self.size += size;
        self.entries.push_front(Entry {
            name,
            size,
            value: is_kept.then(|| value.into()),
            number: self.copied,
        });
        self.copied += usize::from(name.kind == Kind::Copied);
    }

    pub(super) fn resize(&mut self, limit: usize) -> Result<(), HpackError> {
        if limit > TABLE_LIMIT {
            return Err(HpackError::SizeUpdate);
        }
        self.limit = limit;
        self.evict_to(limit);
        Ok(())
    }

    fn evict_to(&mut self, size: usize) {
        while self.size > size {
            let Some(entry) = self.entries.pop_back() else {
                break;
            };
            self.size -= entry.size;
        }
    }
}
