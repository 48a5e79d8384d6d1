//! The entries of a directory as Windows lists them with their ids: a chain of `FILE_ID_EXTD_DIR_INFO`, from
//! Windows Server 2012 on, or of `FILE_ID_BOTH_DIR_INFO`, whose ids have 64 bits.
//!
//! Forms: <https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_id_extd_dir_info>,
//! <https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_id_both_dir_info>.

use thiserror::Error;

use crate::bytes::{slice, u32_le};

/// Where the length of a name is, in both forms.
pub const NAME_LENGTH: usize = 60;

/// A form of the entries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Form {
    /// Where the id is.
    pub id: usize,
    /// How many bytes the id has.
    pub id_length: usize,
    /// Where the name begins.
    pub name: usize,
}

impl Form {
    /// `FILE_ID_EXTD_DIR_INFO`.
    pub const EXTENDED: Self = Self {
        id: 72,
        id_length: 16,
        name: 88,
    };
    /// `FILE_ID_BOTH_DIR_INFO`.
    pub const BOTH: Self = Self {
        id: 96,
        id_length: 8,
        name: 104,
    };
}

/// A volume's id of a file: 128 bits, of which NTFS uses 64.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FileId([u8; 16]);

impl FileId {
    /// Reads an id from its bytes, the low ones first and missing ones zero; `None` for the values that mean "no id".
    /// Zero means a filesystem without such ids (the page of `FILE_ID_INFORMATION`), all ones a file without one
    /// ([MS-FSCC] 2.1.10).
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = [0; 16];
        id.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let bytes = id;
        let is = |value: u8, part: &[u8]| part.iter().all(|byte| *byte == value);
        let (low, high) = bytes.split_at(8);
        let is_none = is(0, &bytes) || is(0xFF, low) && (is(0, high) || is(0xFF, high));
        (!is_none).then_some(Self(bytes))
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// Its name, in UTF-16 units.
    pub name: Vec<u16>,
    /// Its id; `None` where the filesystem has none.
    pub id: Option<FileId>,
}

/// A list that leads out of its block, or to itself.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[error("a list of entries that leads out of its {0} bytes")]
pub struct Broken(usize);

/// The entries of a block that a listing filled. What is behind the last one is not looked at.
///
/// # Errors
/// An entry is not within the block.
pub fn entries(block: &[u8], form: Form) -> Result<Vec<Entry>, Broken> {
    let broken = Broken(block.len());
    let mut entries = Vec::new();
    let mut rest = block;
    loop {
        let (entry, next) = entry(rest, form).ok_or(broken)?;
        entries.push(entry);
        if next == 0 {
            return Ok(entries);
        }
        // An entry has a length, so that each step leaves less.
        rest = rest.get(next.max(form.name)..).ok_or(broken)?;
    }
}

/// An entry, and how far behind its start the next one begins.
fn entry(bytes: &[u8], form: Form) -> Option<(Entry, usize)> {
    let next = usize::try_from(u32_le(bytes, 0)?).ok()?;
    let length = usize::try_from(u32_le(bytes, NAME_LENGTH)?).ok()?;
    let (units, _) = slice(bytes, form.name, length)?.as_chunks();
    let entry = Entry {
        name: units.iter().map(|unit| u16::from_le_bytes(*unit)).collect(),
        id: FileId::new(slice(bytes, form.id, form.id_length)?),
    };
    Some((entry, next))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const FORMS: [Form; 2] = [Form::EXTENDED, Form::BOTH];

    fn block(list: &[(Vec<u16>, [u8; 16])], form: Form) -> Vec<u8> {
        let mut block = Vec::new();
        for (at, (name, id)) in list.iter().enumerate() {
            let length = (form.name + name.len() * 2).next_multiple_of(8);
            let is_last = at + 1 == list.len();
            let next = if is_last { 0 } else { length };
            let mut entry = vec![0xEE; length];
            entry[..4].copy_from_slice(&u32::try_from(next).unwrap().to_le_bytes());
            let bytes = u32::try_from(name.len() * 2).unwrap();
            entry[NAME_LENGTH..NAME_LENGTH + 4].copy_from_slice(&bytes.to_le_bytes());
            entry[form.id..][..form.id_length].copy_from_slice(&id[..form.id_length]);
            let (places, _) = entry[form.name..].as_chunks_mut();
            for (unit, place) in name.iter().zip(places) {
                *place = unit.to_le_bytes();
            }
            block.extend(entry);
        }
        block
    }

    #[test]
    fn what_says_that_there_is_no_id_is_none() {
        let of = |low: u64, high: u64| {
            let halves = [low.to_le_bytes(), high.to_le_bytes()].concat();
            FileId::new(&halves)
        };
        assert_eq!(of(0, 0), None);
        assert_eq!(of(u64::MAX, 0), None);
        assert_eq!(of(u64::MAX, u64::MAX), None);
        assert!(of(5, 0).is_some() && of(0, 5).is_some());
        assert_ne!(of(5, 0), of(5, 1));
        assert_eq!(of(5, 0), FileId::new(&5_u64.to_le_bytes()));
    }

    #[test]
    fn a_list_that_leads_out_of_its_block_is_broken() {
        let form = Form::EXTENDED;
        let mut bytes = block(&[(vec![1], [1; 16]), (vec![2], [2; 16])], form);
        let last = bytes.len() - 96;
        for next in [1, 4096, u32::MAX] {
            bytes[last..last + 4].copy_from_slice(&next.to_le_bytes());
            assert_eq!(entries(&bytes, form), Err(Broken(bytes.len())), "{next}");
        }
        assert_eq!(entries(&[], form), Err(Broken(0)));
    }

    proptest! {
        #[test]
        fn what_is_listed_reads_the_same(
            list in vec((vec(any::<u16>(), 1..9), any::<[u8; 16]>()), 1..9),
            cut in 1_usize..200,
        ) {
            for form in FORMS {
                let bytes = block(&list, form);
                let read = entries(&bytes, form).unwrap();
                let id = |id: &[u8; 16]| FileId::new(&id[..form.id_length]);
                let of = |(name, bytes): &(Vec<u16>, _)| Entry { name: name.clone(), id: id(bytes) };
                prop_assert_eq!(read, list.iter().map(of).collect::<Vec<_>>());
                let kept = bytes.len().saturating_sub(cut.max(8));
                prop_assert!(entries(&bytes[..kept], form).is_err());
            }
        }

        #[test]
        fn no_bytes_lead_out_of_their_block(bytes in vec(any::<u8>(), 0..400)) {
            for form in FORMS {
                let _ = entries(&bytes, form);
            }
        }
    }
}
