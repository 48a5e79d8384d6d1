//! Deletes a tree without following links: reparse points by their tag, and by the rule of `..` what a server follows
//! itself, as Samba does symbolic links, which it shows as plain folders.

use std::time::Instant;

use crate::error::{Failure, Operation, Result};
use crate::name::SharePath;
use crate::share::{Entry, FileId, Kind, Share};

/// How many entries one listing holds: memory does not grow with a folder.
const PAGE: usize = 512;
/// How many folders of a page are entered before it is listed again: each level of the tree holds so many.
const FOLDERS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Folders within folders.
    pub depth: u64,
    pub entries: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    pub entries: u64,
    /// Folders whose `..` the server does not tell: there only tags kept the walk from following links.
    pub unproved: u64,
}

/// Removes all that is in a folder that must have this id, and leaves the folder, whose id no other has so long.
///
/// A folder is entered only if the id of its `..` is that of the folder in which it was listed, and each entry is
/// removed only with the id that was listed. The folder above `folder` is looked up too, so that a link in the
/// place of `folder` itself is found.
///
/// One limit is the server's: Samba (4.17) removes by path when a handle is closed. If a folder on the way is replaced by
/// a link after ids were compared, files of the same names behind the link are removed: up to 64, the most that are
/// compared at a time.
///
/// `Link` names a folder that is one, or is reached through one; `HiddenContent` a folder in it whose entries the server
/// does not list. What was removed before a failure is gone; a repeated call goes on.
pub fn remove_content(
    share: &mut dyn Share,
    folder: &SharePath,
    id: FileId,
    limits: Limits,
    by: Instant,
) -> Result<Removed> {
    let mut walk = Walk {
        share,
        limits,
        removed: Removed::default(),
        by,
    };
    walk.content(folder, id, None, 0)?;
    Ok(walk.removed)
}

struct Walk<'a> {
    share: &'a mut dyn Share,
    limits: Limits,
    removed: Removed,
    by: Instant,
}

impl Walk<'_> {
    /// Empties a folder and removes it.
    fn folder(&mut self, path: &SharePath, id: FileId, above: FileId, depth: u64) -> Result<()> {
        self.content(path, id, Some(above), depth)?;
        match self.remove(&[(path.to_owned(), id)]) {
            Err(error) if error.failure == Failure::NotEmpty => {
                Err(failed(Failure::HiddenContent, path))
            }
            done => done,
        }
    }

    fn content(
        &mut self,
        path: &SharePath,
        id: FileId,
        above: Option<FileId>,
        depth: u64,
    ) -> Result<()> {
        if depth > self.limits.depth {
            return Err(failed(Failure::Limit(self.limits.depth), path));
        }
        // What is removed is not listed again: each round begins at the folder's first entry.
        loop {
            let entries = self.entries(path, id, above)?;
            if entries.is_empty() {
                return Ok(());
            }
            let (mut folders, others): (Vec<_>, Vec<_>) =
                entries.iter().partition(|entry| entry.kind == Kind::Folder);
            self.remove(&places(path, &others)?)?;
            folders.truncate(FOLDERS);
            let folders = places(path, &folders)?;
            drop(entries);
            for (below, below_id) in folders {
                self.folder(&below, below_id, id, depth + 1)?;
            }
        }
    }

    /// The next entries of a folder. Its ids are compared each time: it may have been replaced. The folder above is looked
    /// up if it is not known.
    fn entries(
        &mut self,
        path: &SharePath,
        id: FileId,
        above: Option<FileId>,
    ) -> Result<Vec<Entry>> {
        let (listing, _) = self.share.list_ending(path, "", PAGE, &[], self.by)?;
        if listing.entries.is_empty() {
            return Ok(Vec::new());
        }
        if listing.id != id {
            let (expected, found) = (id, listing.id);
            return Err(failed(Failure::Changed { expected, found }, path));
        }
        let above = match above {
            Some(above) => above,
            None => self.above(path)?,
        };
        match listing.above {
            Some(found) if found != above => return Err(failed(Failure::Link, path)),
            Some(_) => {}
            None => self.removed.unproved += 1,
        }
        Ok(listing.entries)
    }

    fn above(&mut self, path: &SharePath) -> Result<FileId> {
        let parent = path.parent();
        let parent = parent.ok_or_else(|| failed(Failure::IsAFolder, path))?;
        let looked = self.share.look(&[parent], self.by)?.pop();
        Ok(looked.ok_or_else(|| failed(Failure::NotFound, path))??.id)
    }

    fn remove(&mut self, entries: &[(SharePath, FileId)]) -> Result<()> {
        let most = self.limits.entries;
        let left = usize::try_from(most - self.removed.entries).unwrap_or(usize::MAX);
        let (now, later) = entries.split_at(entries.len().min(left));
        self.share.remove_each(now, self.by)?;
        self.removed.entries += u64::try_from(now.len()).unwrap_or(u64::MAX);
        match later.first() {
            Some((path, _)) => Err(failed(Failure::Limit(most), path)),
            None => Ok(()),
        }
    }
}

/// The paths and ids of entries of a folder.
fn places(folder: &SharePath, entries: &[&Entry]) -> Result<Vec<(SharePath, FileId)>> {
    let place = |entry: &&Entry| {
        let path = folder.join(&entry.name).map_err(|error| {
            let name = entry.name.to_string();
            failed(Failure::Name { name, error }, folder)
        })?;
        Ok((path, entry.id))
    };
    entries.iter().map(place).collect()
}

fn failed(failure: Failure, path: &SharePath) -> crate::Error {
    failure.at(Operation::Remove, path.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Limits, Removed, remove_content};
    use crate::copy::{Copied, CopyOrder, Watch};
    use crate::error::{Failure, Result};
    use crate::name::{Name, SharePath};
    use crate::share::{Basic, Entry, Existing, FileId, Kind, Listing, OpenFile, Share, Space};

    /// What a walk does not call.
    macro_rules! unused {
        ($($name:ident($($of:ty),*) -> $done:ty;)*) => {
            $(fn $name(&mut self, $(_: $of,)* _: Instant) -> Result<$done> {
                Err(super::failed(Failure::Ended, &SharePath::root()))
            })*
        };
    }

    /// A share as Windows may show it: `v` (2) with a folder `d` (3), which has a file (4), and a link `l` (5).
    struct Windows {
        has_no_ids: bool,
        removed: Vec<String>,
    }

    #[test]
    fn a_reparse_point_is_removed_and_not_entered() {
        for (has_no_ids, unproved) in [(false, 0), (true, 2)] {
            let removed = Vec::new();
            let mut share = Windows {
                has_no_ids,
                removed,
            };
            let [depth, entries] = [9, 9];
            let (path, limits) = (SharePath::new("v").unwrap(), Limits { depth, entries });
            let done = remove_content(&mut share, &path, FileId(2), limits, Instant::now());
            let entries = 3;
            assert_eq!(done.unwrap(), Removed { entries, unproved });
            assert_eq!(share.removed, [r"\v\l", r"\v\d\f", r"\v\d"]);
        }
    }

    impl Windows {
        fn entries(&self, path: &str) -> Vec<Entry> {
            let all = match path {
                r"\v" => vec![("d", 3, Kind::Folder), ("l", 5, Kind::Link)],
                r"\v\d" => vec![("f", 4, Kind::File)],
                other => panic!("{other} was listed"),
            };
            let is_left = |name: &str| !self.removed.contains(&format!(r"{path}\{name}"));
            let left = all.into_iter().filter(|(name, ..)| is_left(name));
            let entry = |(name, id, kind)| Entry {
                name: Name::new(name).unwrap(),
                id: FileId(id),
                kind,
                size: 0,
                changed: 0,
                basic: Basic::default(),
            };
            left.map(entry).collect()
        }
    }

    impl Share for Windows {
        unused! {
            stat(&SharePath) -> FileId;
            make_folder(&SharePath) -> FileId;
            make_hidden_folder(&SharePath) -> FileId;
            create(&SharePath, &[u8]) -> OpenFile;
            take(&SharePath, FileId, &SharePath, Existing) -> OpenFile;
            place(OpenFile, &SharePath) -> u64;
            discard(OpenFile) -> ();
            read(&SharePath) -> Vec<u8>;
            write_on(&OpenFile, u64, &[u8]) -> ();
            overwrite(&SharePath, &[u8]) -> ();
            read_on(&SharePath, u64) -> Vec<u8>;
            clear(&SharePath) -> ();
            lock(&SharePath) -> OpenFile;
            lock_beside(&SharePath) -> OpenFile;
            close(OpenFile) -> ();
            space(&SharePath) -> Space;
            beside(&Name) -> Box<dyn Share + Send>;
        }

        fn copy(&mut self, _: &CopyOrder, _: &mut dyn Watch) -> Result<Copied> {
            Err(super::failed(Failure::Ended, &SharePath::root()))
        }

        fn look(&mut self, folders: &[SharePath], _: Instant) -> Result<Vec<Result<Listing>>> {
            assert_eq!(folders, [SharePath::root()]);
            let id = FileId(1);
            let root = Listing {
                id,
                ..Listing::default()
            };
            Ok(vec![Ok(root)])
        }

        fn list_ending(
            &mut self,
            folder: &SharePath,
            _: &str,
            _: usize,
            _: &[SharePath],
            _: Instant,
        ) -> Result<(Listing, Vec<Result<Listing>>)> {
            let path = folder.to_string();
            let (id, above) = if path == r"\v" { (2, 1) } else { (3, 2) };
            let listing = Listing {
                id: FileId(id),
                above: (!self.has_no_ids).then_some(FileId(above)),
                entries: self.entries(&path),
                has_more: false,
            };
            Ok((listing, Vec::new()))
        }

        fn remove_each(&mut self, entries: &[(SharePath, FileId)], _: Instant) -> Result<()> {
            let paths = entries.iter().map(|(path, _)| path.to_string());
            self.removed.extend(paths);
            Ok(())
        }
    }
}
