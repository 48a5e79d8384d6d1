//! Reads HPACK's Huffman code (RFC 7541 section 5.2 and appendix B).
//!
//! The code is canonical: within one length the codes rise with the symbol, and each length
//! continues after the one before. So the lengths alone are the whole table.

use super::hpack::HpackError;

/// The symbol for padding a string's last byte; it may not appear whole.
const END: u16 = 256;
const LONGEST: usize = 30;

/// Bits of each symbol's code, RFC 7541 appendix B; the last is the end symbol's.
#[rustfmt::skip]
pub(super) const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

static CODE: Code = Code::new();

/// Appends the decoded `input` to `output`: at most 8/5 of the input's length.
pub(super) fn decode(input: &[u8], output: &mut Vec<u8>) -> Result<(), HpackError> {
    let mut code = 0u32;
    let mut length = 0usize;
    for byte in input {
        for shift in (0..8).rev() {
            code = code << 1 | u32::from(byte >> shift & 1);
            length += 1;
            if let Some(symbol) = CODE.symbol(code, length) {
                output.push(u8::try_from(symbol).map_err(|_| HpackError::Huffman)?);
                (code, length) = (0, 0);
            } else if length == LONGEST {
                return Err(HpackError::Huffman);
            }
        }
    }
    let padding_is_ones = code == (1 << length) - 1;
    match length < 8 && padding_is_ones {
        true => Ok(()),
        false => Err(HpackError::Huffman),
    }
}

struct Code {
    /// By length: the first code, and its symbol's index in `symbols`.
    first: [u32; LONGEST + 1],
    start: [usize; LONGEST + 2],
    symbols: [u16; 257],
}

impl Code {
    const fn new() -> Self {
        let mut code = Self {
            first: [0; LONGEST + 1],
            start: [0; LONGEST + 2],
            symbols: [0; 257],
        };
        let (mut length, mut next, mut filled) = (1, 0u32, 0);
        while length <= LONGEST {
            next <<= 1;
            code.first[length] = next;
            code.start[length] = filled;
            let mut symbol = 0;
            while symbol <= END {
                if LENGTHS[symbol as usize] as usize == length {
                    code.symbols[filled] = symbol;
                    filled += 1;
                    next += 1;
                }
                symbol += 1;
            }
            length += 1;
        }
        code.start[LONGEST + 1] = filled;
        code
    }

    fn symbol(&self, code: u32, length: usize) -> Option<u16> {
        let offset = usize::try_from(code.checked_sub(self.first[length])?).ok()?;
        let index = self.start[length] + offset;
        (index < self.start[length + 1]).then(|| self.symbols[index])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An encoder for the tests alone.
    pub(crate) fn encode(input: &[u8]) -> Vec<u8> {
        let mut bits = Vec::new();
        for &byte in input {
            let length = usize::from(LENGTHS[usize::from(byte)]);
            let position = CODE
                .symbols
                .iter()
                .position(|&symbol| symbol == u16::from(byte))
                .unwrap();
            let code = CODE.first[length] + u32::try_from(position - CODE.start[length]).unwrap();
            bits.extend((0..length).rev().map(|shift| code >> shift & 1 == 1));
        }
        bits.resize(bits.len().next_multiple_of(8), true);
        let byte = |bits: &[bool]| {
            bits.iter()
                .fold(0u8, |byte, &bit| byte << 1 | u8::from(bit))
        };
        bits.chunks(8).map(byte).collect()
    }

    fn decoded(input: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut output = Vec::new();
        decode(input, &mut output).map(|()| output)
    }

    #[test]
    fn reads_the_rfcs_own_examples() {
        // RFC 7541 appendix C.4.1 and C.6.1.
        let name = [
            0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
        ];
        assert_eq!(decoded(&name).unwrap(), b"www.example.com");
        assert_eq!(decoded(&[0x64, 0x02]).unwrap(), b"302");
    }

    #[test]
    fn refuses_bad_padding_and_the_end_symbol() {
        assert_eq!(
            decoded(&[0xff]),
            Err(HpackError::Huffman),
            "eight bits of padding"
        );
        assert_eq!(
            decoded(&[0x00, 0x00]),
            Err(HpackError::Huffman),
            "padding of zeros"
        );
        assert_eq!(
            decoded(&[0xff; 4]),
            Err(HpackError::Huffman),
            "the end symbol"
        );
    }

    #[test]
    fn the_lengths_fill_the_code_space() {
        let space: u64 = LENGTHS
            .iter()
            .map(|&length| 1u64 << (LONGEST - usize::from(length)))
            .sum();
        assert_eq!(space, 1 << LONGEST);
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(decoded(&encode(&bytes)).unwrap(), bytes);
        }

        #[test]
        fn no_input_grows_beyond_its_bound(bytes: Vec<u8>) {
            let mut output = Vec::new();
            let _ = decode(&bytes, &mut output);
            prop_assert!(output.len() <= bytes.len() * 8 / 5);
        }
    }
}
