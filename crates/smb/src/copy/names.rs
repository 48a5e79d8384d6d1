//! Whether a folder has names that a server may take for one, or a folder twice: the second is a link to the first.

use std::hash::{BuildHasher, RandomState};

use crate::error::{Failure, Outcome};
use crate::name::Name;
use crate::share::{Entry, FileId, Kind};

/// A half of the hash of each name, and of each folder's id: few bytes, as there may be many.
#[derive(Default)]
pub(super) struct Names {
    /// Its keys are random: no folder can be made for it.
    hasher: RandomState,
    hashes: Vec<u32>,
}

/// Entries whose hashes are the same: few, if it is by chance.
pub(super) struct Suspects {
    hasher: RandomState,
    hashes: Vec<u32>,
    met: Vec<(Keys, Name)>,
}

/// What no two entries of a folder have: the name, and of a folder the id, if the server has ids.
type Keys = (String, Option<FileId>);

impl Names {
    pub(super) fn take(&mut self, entries: &[Entry]) {
        let keys = entries.iter().map(keys);
        let hashes = keys.flat_map(|keys| hashes(&self.hasher, &keys));
        self.hashes.extend(hashes);
    }

    pub(super) fn suspects(mut self) -> Suspects {
        self.hashes.sort_unstable();
        let pairs = self.hashes.windows(2);
        Suspects {
            hashes: pairs.filter(|w| w[0] == w[1]).map(|w| w[0]).collect(),
            hasher: self.hasher,
            met: Vec::new(),
        }
    }
}

impl Suspects {
    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Fails if another entry was met that may have the same name, or is the same folder.
    pub(super) fn meet(&mut self, entry: &Entry) -> Outcome<()> {
        let keys = keys(entry);
        let mut hashes = hashes(&self.hasher, &keys).into_iter();
        if !hashes.any(|hash| self.hashes.binary_search(&hash).is_ok()) {
            return Ok(());
        }
        for ((folded, id), name) in &self.met {
            // Samba may list one name for two files.
            if *folded == keys.0 {
                return Err(Failure::SameName {
                    first: name.to_string(),
                    second: entry.name.to_string(),
                });
            }
            if id.is_some() && *id == keys.1 {
                return Err(Failure::Link);
            }
        }
        self.met.push((keys, entry.name.clone()));
        Ok(())
    }
}

fn keys(entry: &Entry) -> Keys {
    let has_id = entry.kind == Kind::Folder && entry.id.is_told();
    (entry.name.folded(), has_id.then_some(entry.id))
}

fn hashes(hasher: &RandomState, (folded, id): &Keys) -> Vec<u32> {
    let id = id.map(|id| hasher.hash_one(id));
    let hashes = [hasher.hash_one(folded)].into_iter().chain(id);
    let halves = hashes.map(|hash| u32::try_from(hash >> 32).unwrap_or_default());
    halves.collect()
}

#[cfg(test)]
mod tests {
    use super::Names;
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
            ("x", "x", true),
        ] {
            let entries = [first, second, "other"].map(|name| entry(name, Kind::File, 7));
            let expected = Failure::SameName {
                first: first.to_owned(),
                second: second.to_owned(),
            };
            let expected = if is_same { Err(expected) } else { Ok(()) };
            assert_eq!(unique(&entries), expected, "{first} {second}");
        }
    }

    #[test]
    fn a_folder_that_is_there_twice_is_a_link() {
        for (kind, id, expected) in [
            (Kind::Folder, 7, Err(Failure::Link)),
            // Hard links; a server without ids.
            (Kind::File, 7, Ok(())),
            (Kind::Folder, 0, Ok(())),
            (Kind::Folder, u64::MAX, Ok(())),
        ] {
            let entries = [("a", id), ("b", id), ("c", 8)].map(|(name, id)| entry(name, kind, id));
            assert_eq!(unique(&entries), expected, "{kind:?} {id}");
        }
    }

    /// So many that some have one hash by chance.
    #[test]
    fn names_of_a_large_folder_are_compared() {
        let name = |n| entry(&format!("f{n}"), Kind::File, n);
        let mut entries: Vec<Entry> = (0..200_000).map(name).collect();
        assert_eq!(unique(&entries), Ok(()));
        entries.push(entry("F7", Kind::File, 7));
        let [first, second] = ["f7", "F7"].map(str::to_owned);
        assert_eq!(unique(&entries), Err(Failure::SameName { first, second }));
    }

    fn unique(entries: &[Entry]) -> Outcome<()> {
        let mut names = Names::default();
        names.take(entries);
        let mut suspects = names.suspects();
        assert!(suspects.hashes.len() < 50);
        entries.iter().try_for_each(|entry| suspects.meet(entry))
    }

    fn entry(name: &str, kind: Kind, id: u64) -> Entry {
        Entry {
            name: Name::new(name).unwrap(),
            id: FileId(id),
            kind,
            size: 0,
            changed: 0,
            basic: Basic::default(),
        }
    }
}
