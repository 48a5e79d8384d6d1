//! Lists of texts in one block of UTF-16: a NUL ends each text, and an empty text the list. So the paths of
//! a volume come (`GetVolumePathNamesForVolumeNameW`), and values of type `REG_MULTI_SZ`.
//!
//! Form: <https://learn.microsoft.com/windows/win32/sysinfo/registry-value-types>.

use thiserror::Error;

/// The block ends before its list does, so its last text may have been cut.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a list of texts without an end")]
pub struct Endless;

/// The texts of a block, each without its NUL. What is behind the list's end is not looked at.
///
/// # Errors
/// The list has no end.
pub fn texts(block: &[u16]) -> Result<Vec<&[u16]>, Endless> {
    let mut texts = Vec::new();
    let mut rest = block;
    loop {
        let end = rest.iter().position(|unit| *unit == 0).ok_or(Endless)?;
        let (text, behind) = rest.split_at(end);
        if text.is_empty() {
            return Ok(texts);
        }
        texts.push(text);
        rest = behind.get(1..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    #[test]
    fn a_list_ends_at_its_empty_text() {
        let block = units("C:\\\0C:\\m\\\0\0rest");
        assert_eq!(texts(&block), Ok(vec![&*units("C:\\"), &*units("C:\\m\\")]));
        assert_eq!(texts(&[0]), Ok(Vec::new()));
    }

    #[test]
    fn a_list_that_was_cut_is_none() {
        for block in ["", "C:\\", "C:\\\0", "C:\\\0D:"] {
            assert_eq!(texts(&units(block)), Err(Endless), "{block:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            list in vec(vec(1_u16.., 1..9), 0..9),
            behind in vec(any::<u16>(), 0..9),
        ) {
            let ended = list.iter().map(|text| [text.as_slice(), &[0]].concat());
            let mut block = ended.collect::<Vec<_>>().concat();
            block.push(0);
            let whole = block.len();
            block.extend(behind);
            let read: Vec<_> = texts(&block).unwrap().into_iter().map(<[u16]>::to_vec).collect();
            prop_assert_eq!(read, list);
            prop_assert_eq!(texts(&block[..whole - 1]), Err(Endless));
        }
    }
}
