//! An empty hive of the registry: a base block, and one bin with a root key and its security.
//!
//! Written from the published format (<https://github.com/msuhanov/regf>, the libyal project's REGF document); all
//! times are zero, so the bytes are always the same.

use super::descriptor;

const BLOCK: usize = 4096;

/// Where cells begin in the bin, behind its header.
const ROOT_AT: u32 = 32;

/// No cell.
const NONE: u32 = u32::MAX;

/// Behind the root's cell: a length, 76 bytes and the name, filled up to a multiple of eight.
const SECURITY: u32 = ROOT_AT + 88;

const NAME: &[u8] = b"ROOT";

/// The hive: 8 KiB.
pub(super) fn empty() -> Vec<u8> {
    [base_block(), bin()].concat()
}

fn base_block() -> Vec<u8> {
    let mut block = Vec::from(b"regf");
    // Two equal sequence numbers, the time in two halves, version 1.5, a primary file loaded unchanged, the root's
    // place, the length of the bins, and one sector to a cluster.
    for field in [1_u32, 1, 0, 0, 1, 5, 0, 1, ROOT_AT, 4096, 1] {
        block.extend(field.to_le_bytes());
    }
    block.resize(508, 0);
    block.extend(checksum(&block));
    block.resize(BLOCK, 0);
    block
}

fn checksum(block: &[u8]) -> [u8; 4] {
    let (words, _) = block.as_chunks::<4>();
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    words.fold(0, |sum, word| sum ^ word).to_le_bytes()
}

fn bin() -> Vec<u8> {
    let mut bin = Vec::from(b"hbin");
    // It is the first, its length, reserved, the time, spare.
    for field in [0_u32, 4096, 0, 0, 0, 0, 0] {
        bin.extend(field.to_le_bytes());
    }
    bin.extend(cell(&root_key()));
    bin.extend(cell(&security()));
    let free = u32::try_from(BLOCK - bin.len()).unwrap_or_default();
    bin.extend(free.to_le_bytes());
    bin.resize(BLOCK, 0);
    bin
}

/// A cell in use: its length is negative, and a multiple of eight.
fn cell(content: &[u8]) -> Vec<u8> {
    let length = (4 + content.len()).next_multiple_of(8);
    let mut cell = Vec::from(
        i32::try_from(length)
            .unwrap_or_default()
            .wrapping_neg()
            .to_le_bytes(),
    );
    cell.extend(content);
    cell.resize(length, 0);
    cell
}

fn root_key() -> Vec<u8> {
    let mut key = Vec::from(b"nk");
    // The root of its hive, not to be deleted, with a name in ASCII.
    key.extend(0x002c_u16.to_le_bytes());
    // The time in two halves, spare, no parent; no subkeys, no volatile ones, no lists of them; no values;
    // its security; no class; four greatest lengths and a working field.
    let fields = [
        0, 0, 0, NONE, 0, 0, NONE, NONE, 0, NONE, SECURITY, NONE, 0, 0, 0, 0, 0,
    ];
    for field in fields {
        key.extend(field.to_le_bytes());
    }
    key.extend(u16::try_from(NAME.len()).unwrap_or_default().to_le_bytes());
    key.extend(0_u16.to_le_bytes());
    key.extend(NAME);
    key
}

/// The one item of the list of securities: it refers to itself and is used once.
fn security() -> Vec<u8> {
    let descriptor = descriptor::of_administrators(descriptor::KEY);
    let length = u32::try_from(descriptor.len()).unwrap_or_default();
    let mut item = Vec::from(b"sk\0\0");
    for field in [SECURITY, SECURITY, 1, length] {
        item.extend(field.to_le_bytes());
    }
    item.extend(descriptor);
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_with_its_checksum_has_the_checksum_zero() {
        let hive = empty();
        assert_eq!(hive.len(), 2 * BLOCK);
        assert_eq!(checksum(&hive[..512]), [0; 4]);
    }

    #[test]
    fn cells_fill_the_bin() {
        let hive = empty();
        let mut at = BLOCK + 32;
        let mut lengths = Vec::new();
        while at < hive.len() {
            let length = i32::from_le_bytes(hive[at..at + 4].try_into().unwrap());
            lengths.push(length);
            at += usize::try_from(length.unsigned_abs()).unwrap();
        }
        assert_eq!(at, hive.len());
        let [root, security, free] = lengths[..] else {
            panic!("{lengths:?}");
        };
        assert!(root == -88 && security < 0 && free > 0, "{lengths:?}");
    }
}
