//! Whether a folder of any size has names that a server may take for one, in bounded memory.

use std::hash::{BuildHasher, RandomState};

use crate::error::{Failure, Outcome};
use crate::name::Name;
use crate::share::Entry;

/// How many names are compared at a time.
const MOST: usize = 65_536;
/// Of names that only have the same hash there are few.
const MOST_SUSPECTS: usize = 1_024;

/// A half of the hash of each name of a portion: few bytes, as there may be many names.
#[derive(Default)]
pub(super) struct Names {
    /// Its keys are random: no folder can be made for it.
    hasher: RandomState,
    hashes: Vec<u32>,
    count: usize,
}

/// One of some portions, by the other half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Portion {
    number: u64,
    of: u64,
}

/// Names whose hashes are the same.
pub(super) struct Suspects {
    hasher: RandomState,
    hashes: Vec<u32>,
    met: Vec<(String, Name)>,
}

impl Names {
    /// Takes those names that are wanted by their hash.
    pub(super) fn take(&mut self, entries: &[Entry], is_wanted: impl Fn(u64) -> bool) {
        for entry in entries {
            let hash = self.hasher.hash_one(entry.name.folded());
            if is_wanted(hash) {
                self.count += 1;
                if self.hashes.len() < MOST {
                    self.hashes.push(half(hash));
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.hashes.clear();
    }

    /// `None` is what was taken already.
    pub(super) fn portions(&self) -> Vec<Option<Portion>> {
        if self.count <= MOST {
            return vec![None];
        }
        // With room, as they are not all of the same size.
        let of = u64::try_from(self.count.div_ceil(MOST / 4 * 3)).unwrap_or(u64::MAX);
        (0..of).map(|number| Some(Portion { number, of })).collect()
    }

    pub(super) fn suspects(&mut self) -> Suspects {
        self.hashes.sort_unstable();
        let pairs = self.hashes.windows(2);
        let mut hashes: Vec<u32> = pairs.filter(|w| w[0] == w[1]).map(|w| w[0]).collect();
        hashes.dedup();
        Suspects {
            hasher: self.hasher.clone(),
            hashes,
            met: Vec::new(),
        }
    }
}

impl Portion {
    pub(super) fn has(self, hash: u64) -> bool {
        (hash >> 32) % self.of == self.number
    }
}

impl Suspects {
    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Fails if another name was met that may be this one.
    pub(super) fn meet(&mut self, name: &Name) -> Outcome<()> {
        let folded = name.folded();
        let hash = half(self.hasher.hash_one(&folded));
        if self.hashes.binary_search(&hash).is_err() {
            return Ok(());
        }
        let same = self.met.iter().find(|(met, _)| *met == folded);
        match same {
            Some((_, first)) if first != name => Err(Failure::SameName {
                first: first.to_string(),
                second: name.to_string(),
            }),
            None if self.met.len() < MOST_SUSPECTS => {
                self.met.push((folded, name.clone()));
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn half(hash: u64) -> u32 {
    let [a, b, c, d, ..] = hash.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::{MOST, Names};
    use crate::error::{Failure, Outcome};
    use crate::name::Name;
    use crate::share::{Basic, Entry, FileId, Kind};

    #[test]
    fn names_of_one_upper_case_are_the_same() {
        for (first, second, is_same) in [
            ("Data", "dATA", true),
            ("\u{e4}", "\u{c4}", true),
            ("a b", "a\u{f028}b", false),
            ("\u{df}", "SS", false),
            ("x", "y", false),
        ] {
            let entries = [first, second, "other"].map(entry);
            let expected = Failure::SameName {
                first: first.to_owned(),
                second: second.to_owned(),
            };
            let expected = if is_same { Err(expected) } else { Ok(()) };
            assert_eq!(unique(&entries), expected, "{first} {second}");
        }
    }

    #[test]
    fn names_of_a_large_folder_are_compared_in_portions() {
        let mut entries: Vec<Entry> = (0..2 * MOST).map(|n| entry(&format!("f{n}"))).collect();
        assert_eq!(unique(&entries), Ok(()));
        entries.push(entry("F7"));
        let [first, second] = ["f7", "F7"].map(str::to_owned);
        assert_eq!(unique(&entries), Err(Failure::SameName { first, second }));
    }

    fn unique(entries: &[Entry]) -> Outcome<()> {
        let mut names = Names::default();
        names.take(entries, |_| true);
        for portion in names.portions() {
            if let Some(portion) = portion {
                names.clear();
                names.take(entries, |hash| portion.has(hash));
            }
            assert!(names.hashes.len() <= MOST);
            let mut suspects = names.suspects();
            assert!(suspects.hashes.len() < 10);
            for entry in entries {
                suspects.meet(&entry.name)?;
            }
        }
        Ok(())
    }

    fn entry(name: &str) -> Entry {
        Entry {
            name: Name::new(name).unwrap(),
            id: FileId(0),
            kind: Kind::File,
            size: 0,
            changed: 0,
            basic: Basic::default(),
        }
    }
}
