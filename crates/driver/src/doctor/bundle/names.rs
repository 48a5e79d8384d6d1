//! Names in a bundle.

use std::collections::BTreeMap;

use program::hidden;

use crate::doctor::notes::Doubt;
use crate::unpoisoned::Unpoisoned;

/// Stands in place of a text that may have any name.
const LEFT_OUT: &str = "(left out: names may be in it)";

/// What names become in a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// They stay.
    Own,
    /// Each is another.
    Anonymous,
}

/// Writes names as they are, or others in their place: the same for the same within a bundle.
pub(super) struct Names(Option<Unpoisoned<Others>>);

#[derive(Default)]
struct Others {
    by_name: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Names {
    pub(super) fn new(naming: Naming) -> Self {
        Self((naming == Naming::Anonymous).then(Unpoisoned::default))
    }

    pub(super) fn are_others(&self) -> bool {
        self.0.is_some()
    }

    /// A name; `class` says of what it is, to who reads.
    pub(super) fn of(&self, class: &'static str, name: &str) -> String {
        let Some(others) = self.0.as_ref().filter(|_| !name.is_empty()) else {
            return hidden::shown(name);
        };
        // Windows's names have no case; handles of volumes do.
        let key = match class {
            VOLUME => name.to_owned(),
            _ => name.to_lowercase(),
        };
        let Others { by_name, counts } = &mut *others.lock();
        let other = by_name.entry(key).or_insert_with(|| {
            let count = counts.entry(class).or_default();
            *count += 1;
            format!("{class}-{count}")
        });
        other.clone()
    }

    /// A path: of `\\server\share\folder` each part by itself.
    pub(super) fn of_path(&self, path: &str) -> String {
        // This process has not seen all that the driver has.
        if !self.are_others() {
            hidden::hide(path);
        }
        let Some(remote) = path.strip_prefix(r"\\") else {
            return self.of("path", path);
        };
        let parts = remote.split('\\').enumerate().map(|(at, part)| match at {
            0 => self.of(SERVER, part),
            _ => self.of("folder", part),
        });
        format!(r"\\{}", Vec::from_iter(parts).join(r"\"))
    }

    /// Why something is not known. What the program says by itself has no name.
    pub(super) fn of_doubt(&self, doubt: Doubt) -> String {
        match doubt {
            Doubt::Hangs(_) | Doubt::NoTime => doubt.reason(),
            doubt => self.of_text(&doubt.reason()),
        }
    }

    /// A text of the system's.
    pub(super) fn of_text(&self, text: &str) -> String {
        match self.are_others() {
            true => LEFT_OUT.to_owned(),
            false => hidden::shown(text),
        }
    }
}

pub(super) const SERVER: &str = "server";
pub(super) const VOLUME: &str = "volume";

#[cfg(test)]
mod tests {
    use program::hidden::NOT_SHOWN;

    use super::*;
    use crate::doctor::notes::Provider;

    #[test]
    fn the_same_name_has_the_same_other() {
        let names = Names::new(Naming::Anonymous);
        for (name, expected) in [
            (names.of(SERVER, "files"), "server-1"),
            (names.of_path(r"\\FILES\data"), r"\\server-1\folder-1"),
            (
                names.of_path(r"\\other\Data\x"),
                r"\\server-2\folder-1\folder-2",
            ),
            (names.of_path(r"C:\k"), "path-1"),
            // Wherever it is met again.
            (names.of("object", "files"), "server-1"),
            (names.of(VOLUME, "a"), "volume-1"),
            (names.of(VOLUME, "A"), "volume-2"),
            (names.of(VOLUME, "a"), "volume-1"),
            (names.of_text("files"), LEFT_OUT),
            (names.of("serial", ""), ""),
        ] {
            assert_eq!(name, expected);
        }
        let shown = Names::new(Naming::Own);
        assert_eq!(shown.of_path(r"\\files\data"), r"\\files\data");
        assert_eq!(shown.of_text("files"), "files");
        let path = shown.of_path(r"\\files\data\pods:canary@x\y");
        assert_eq!(path, format!(r"\\files\data\{NOT_SHOWN}\y"));
        let why = names.of_doubt(Doubt::Hangs(Provider::Disks));
        assert_eq!(why, "Windows's storage provider does not answer in time");
        assert_eq!(names.of_doubt(Doubt::Failed("files".to_owned())), LEFT_OUT);
    }
}
