//! Walks the source before anything is written: what it has in sum, and whether all of it can be copied.

use super::Copy;
use super::names::Names;
use crate::error::{Failure, Operation, Result};
use crate::name::SharePath;
use crate::share::{Entry, Folder, Kind};

/// How many folders of a folder are kept until it is listed; if it has more, it is listed once more.
const FOLDERS: usize = 256;

impl Copy<'_> {
    /// Counts what a folder has, whose copy is to be at `target`.
    pub(super) fn survey(&mut self, folder: &Folder, target: &SharePath, depth: u64) -> Result<()> {
        self.expect_depth(&folder.path, depth)?;
        let mut names = Names::default();
        let mut folders = Vec::new();
        let mut is_all = true;
        self.each_page(folder, |copy, entries| {
            copy.count(&entries);
            copy.places(target, &entries)?;
            names.take(&entries);
            let (some, _) = copy.divided(folder, entries)?;
            is_all &= folders.len() + some.len() <= FOLDERS;
            if is_all {
                folders.extend(some);
            }
            copy.report()
        })?;
        self.expect_unique(folder, names)?;
        if is_all {
            let mut folders = folders.iter();
            return folders.try_for_each(|entry| self.below(folder, target, entry, depth));
        }
        drop(folders);
        self.each_page(folder, |copy, entries| {
            let (folders, _) = copy.divided(folder, entries)?;
            let mut folders = folders.iter();
            folders.try_for_each(|entry| copy.below(folder, target, entry, depth))
        })?;
        Ok(())
    }

    /// Lists a folder once more if two of its entries may be the same.
    fn expect_unique(&mut self, folder: &Folder, names: Names) -> Result<()> {
        let mut suspects = names.suspects();
        if suspects.is_empty() {
            return Ok(());
        }
        self.each_page(folder, |copy, entries| {
            let mut entries = entries.iter();
            entries.try_for_each(|entry| match suspects.meet(entry) {
                Err(Failure::Link) => copy.refuse_link(folder, entry),
                met => met
                    .map_err(|failure| copy.source.failed(Operation::Copy, &folder.path, failure)),
            })
        })
        .map(drop)
    }

    fn below(
        &mut self,
        folder: &Folder,
        target: &SharePath,
        entry: &Entry,
        depth: u64,
    ) -> Result<()> {
        let below = Folder {
            path: self.place(&folder.path, entry)?,
            id: entry.id,
            above: folder.id,
        };
        let target = self.place(target, entry)?;
        self.survey(&below, &target, depth + 1)
    }

    fn count(&mut self, entries: &[Entry]) {
        let files = entries.iter().filter(|entry| entry.kind == Kind::File);
        let bytes = files.map(|entry| entry.size);
        let bytes = bytes.fold(self.progress.of_bytes, u64::saturating_add);
        self.progress.of_bytes = bytes;
        self.progress.of_entries += u64::try_from(entries.len()).unwrap_or(u64::MAX);
    }
}
