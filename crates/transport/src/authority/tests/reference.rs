//! HPACK with real strings, independent of the rewriter's: an encoder with every form, and a decoder.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::hpack::write_integer;
use super::super::huffman;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Field {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// How the encoder writes a field, where it has the choice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    /// As an index, when a table has the whole field.
    pub(super) indexed: bool,
    /// The name as an index, when a table has it.
    pub(super) indexed_name: bool,
    /// 0: stored, 1: without indexing, 2: never indexed.
    pub(super) literal: u8,
    pub(super) huffman_name: bool,
    pub(super) huffman_value: bool,
}

impl Arbitrary for Form {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    fn arbitrary_with((): ()) -> Self::Strategy {
        any::<(bool, bool, bool, bool)>()
            .prop_flat_map(|bools| (Just(bools), 0u8..3))
            .prop_map(
                |((indexed, indexed_name, huffman_name, huffman_value), literal)| Self {
                    indexed,
                    indexed_name,
                    literal,
                    huffman_name,
                    huffman_value,
                },
            )
            .boxed()
    }
}

/// Some of the static table, RFC 7541 appendix A.
const STATIC: [(usize, &str, &str); 8] = [
    (1, ":authority", ""),
    (2, ":method", "GET"),
    (3, ":method", "POST"),
    (4, ":path", "/"),
    (6, ":scheme", "http"),
    (31, "content-type", ""),
    (58, "user-agent", ""),
    (59, "vary", ""),
];

/// A dynamic table as the RFC describes it.
#[derive(Debug)]
struct Table {
    fields: VecDeque<Field>,
    limit: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            fields: VecDeque::new(),
            limit: 4096,
        }
    }
}

impl Table {
    fn size(&self) -> usize {
        self.fields
            .iter()
            .map(|field| field.name.len() + field.value.len() + 32)
            .sum()
    }

    fn insert(&mut self, field: &Field) {
        self.fields.push_front(field.clone());
        self.evict();
    }

    fn evict(&mut self) {
        while self.size() > self.limit {
            self.fields.pop_back();
        }
    }

    fn find(&self, matches: impl Fn(&[u8], &[u8]) -> bool) -> Option<usize> {
        let in_static =
            |entry: &&(usize, &str, &str)| matches(entry.1.as_bytes(), entry.2.as_bytes());
        let dynamic = self
            .fields
            .iter()
            .position(|field| matches(&field.name, &field.value));
        let dynamic = dynamic.map(|place| place + 62);
        dynamic.or_else(|| STATIC.iter().find(in_static).map(|entry| entry.0))
    }

    fn get(&self, index: usize) -> Field {
        if let Some(field) = index.checked_sub(62) {
            return self.fields[field].clone();
        }
        let entry = STATIC
            .iter()
            .find(|entry| entry.0 == index)
            .expect("one that the encoder uses");
        Field {
            name: entry.1.into(),
            value: entry.2.into(),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Encoder(Table);

impl Encoder {
    /// A block with these table sizes first.
    pub(super) fn block(&mut self, sizes: &[usize], list: &[(Field, Form)]) -> Vec<u8> {
        let mut block = Vec::new();
        for &size in sizes {
            write_integer(&mut block, 0x20, 5, size);
            self.0.limit = size;
            self.0.evict();
        }
        for (field, form) in list {
            self.field(&mut block, field, *form);
        }
        block
    }

    fn field(&mut self, block: &mut Vec<u8>, field: &Field, form: Form) {
        let same = |name: &[u8], value: &[u8]| name == field.name && value == field.value;
        if form.indexed
            && let Some(index) = self.0.find(same)
        {
            return write_integer(block, 0x80, 7, index);
        }
        let (first, prefix) = [(0x40, 6), (0x00, 4), (0x10, 4)][usize::from(form.literal)];
        let named = self.0.find(|name, _| name == field.name);
        match named.filter(|_| form.indexed_name) {
            Some(index) => write_integer(block, first, prefix, index),
            None => {
                block.push(first);
                string(block, &field.name, form.huffman_name);
            }
        }
        string(block, &field.value, form.huffman_value);
        if form.literal == 0 {
            self.0.insert(field);
        }
    }
}

fn string(block: &mut Vec<u8>, text: &[u8], huffman: bool) {
    let coded = huffman.then(|| huffman::tests::encode(text));
    let bytes = coded.as_deref().unwrap_or(text);
    write_integer(block, if huffman { 0x80 } else { 0 }, 7, bytes.len());
    block.extend(bytes);
}

#[derive(Debug, Default)]
pub(super) struct Decoder(Table);

impl Decoder {
    /// The table's fields.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Field> {
        self.0.fields.iter()
    }

    pub(super) fn block(&mut self, mut block: &[u8]) -> Vec<Field> {
        let mut list = Vec::new();
        while let Some(&first) = block.first() {
            if first >= 0x80 {
                list.push(self.0.get(integer(&mut block, 7)));
                continue;
            }
            if first & 0xe0 == 0x20 {
                self.0.limit = integer(&mut block, 5);
                self.0.evict();
                continue;
            }
            let stored = first >= 0x40;
            let name = match integer(&mut block, if stored { 6 } else { 4 }) {
                0 => text(&mut block),
                index => self.0.get(index).name,
            };
            let field = Field {
                name,
                value: text(&mut block),
            };
            if stored {
                self.0.insert(&field);
            }
            list.push(field);
        }
        list
    }
}

fn integer(block: &mut &[u8], prefix: u32) -> usize {
    let mut next = || {
        let (first, rest) = block.split_first().unwrap();
        *block = rest;
        usize::from(*first)
    };
    let limit = (1 << prefix) - 1;
    let mut value = next() & limit;
    if value == limit {
        for shift in (0..).step_by(7) {
            let byte = next();
            value += (byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
    }
    value
}

fn text(block: &mut &[u8]) -> Vec<u8> {
    let is_huffman = block[0] >= 0x80;
    let length = integer(block, 7);
    let (bytes, rest) = block.split_at(length);
    *block = rest;
    if !is_huffman {
        return bytes.to_vec();
    }
    let mut text = Vec::new();
    huffman::decode(bytes, &mut text).unwrap();
    text
}
