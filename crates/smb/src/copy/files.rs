//! Copies the files of a folder: small ones together, large ones one after the other.

use super::{AT_A_TIME, CopiedEntry, Copy, Pair, STRETCH, Unsteady, is_gone};
use crate::error::{Failure, Operation, Result};
use crate::name::SharePath;
use crate::share::{Basic, Entry, FileId, Kind, OpenFile, SMALL, Share, Source, Version};
use crate::wire::create::COPIED;

/// How much of small files is in memory at a time.
const BATCH: u64 = 1024 * 1024;
/// How often a file is copied that changes meanwhile.
const TRIES: u32 = 3;
/// How often another file may have the name of one that is to be opened.
const MOST_REPLACED: u32 = 16;

/// Where a small file's copy is to be, and what it has then.
type Content = (SharePath, Vec<u8>, Version);

impl Copy<'_> {
    pub(super) fn files(&mut self, pair: &Pair<'_>, mut entries: &[Entry]) -> Result<()> {
        while !entries.is_empty() {
            let (now, later) = entries.split_at(batch(entries));
            entries = later;
            let missing = match pair.is_new {
                true => now.iter().collect(),
                false => self.missing(pair, now)?,
            };
            let (small, large): (Vec<_>, Vec<_>) =
                missing.into_iter().partition(|entry| entry.size <= SMALL);
            let again = self.small(pair, &small)?;
            for entry in large.into_iter().chain(again) {
                self.large(pair, entry)?;
            }
            self.report()?;
        }
        Ok(())
    }

    /// Those files that the copy has not as they are. What it has in their places is removed.
    fn missing<'e>(&mut self, pair: &Pair<'_>, entries: &'e [Entry]) -> Result<Vec<&'e Entry>> {
        let paths = self.places(&pair.target.path, entries)?;
        let at = (Operation::Stat, &pair.target.path, self.by());
        let found = self.target.run(at, |c| c.find_each(&paths))?;
        // Through a link in its place these may be the source's own files.
        self.expect_target(pair)?;
        let (mut missing, mut stale) = (Vec::new(), Vec::new());
        for ((path, found), entry) in paths.into_iter().zip(found).zip(entries) {
            match found {
                // By the same id it is the source itself, through a link.
                Ok(found)
                    if self.order.trusts
                        && found.kind == Kind::File
                        && found.id != entry.id
                        && found.version.size == entry.size
                        && found.version.basic.written == entry.basic.written =>
                {
                    if found.version.attributes() != entry.basic.attributes & COPIED {
                        self.touch(&path, found.id, entry)?;
                    }
                    self.has(&whole(&path, entry.size, entry.basic))?;
                    continue;
                }
                Ok(found) => stale.push((path, found.id)),
                Err(Failure::NotFound) => {}
                Err(failure) => return Err(self.target.failed(Operation::Stat, &path, failure)),
            }
            missing.push(entry);
        }
        self.target.remove_each(&stale, self.by())?;
        Ok(missing)
    }

    /// Gives a file of the copy the source's attributes.
    fn touch(&mut self, path: &SharePath, id: FileId, entry: &Entry) -> Result<()> {
        let at = (Operation::Copy, path, self.by());
        let file = self.target.run(at, |c| c.open_again(path, id))?;
        self.finish(&[(file, entry.basic)])
    }

    /// Copies small files. Returns those that are none any more, or that changed meanwhile.
    fn small<'e>(&mut self, pair: &Pair<'_>, entries: &[&'e Entry]) -> Result<Vec<&'e Entry>> {
        let (contents, again) = self.contents(pair, entries)?;
        if contents.is_empty() {
            return Ok(again);
        }
        let paths: Vec<_> = contents.iter().map(|(path, ..)| path).collect();
        let made = self.make(pair, &paths)?;
        let written = contents.iter().map(|(_, data, _)| data.as_slice());
        let files: Vec<_> = made.into_iter().zip(written).collect();
        let at = (Operation::Create, &pair.target.path, self.by());
        let filled = self.target.run(at, |c| c.fill_each(&files))?;
        self.all_done(Operation::Create, filled, paths.into_iter())?;
        let finished = files.into_iter().zip(&contents);
        let finished = finished.map(|((file, _), (.., version))| (file, version.basic));
        self.finish(&finished.collect::<Vec<_>>())?;
        for (path, _, version) in &contents {
            self.has(&whole(path, version.size, version.basic))?;
            self.wrote(version.size, None)?;
        }
        Ok(again)
    }

    /// What small files have; the others are those that [`small`](Self::small) returns.
    fn contents<'e>(
        &mut self,
        pair: &Pair<'_>,
        entries: &[&'e Entry],
    ) -> Result<(Vec<Content>, Vec<&'e Entry>)> {
        let mut asked = Vec::new();
        for entry in entries {
            asked.push((self.place(&pair.source.path, entry)?, *entry));
        }
        let at = (Operation::Read, &pair.source.path, self.by());
        let read = self.source.run(at, |c| c.read_each(&asked))?;
        let (mut contents, mut again) = (Vec::new(), Vec::new());
        for ((path, entry), read) in asked.into_iter().zip(read) {
            match read {
                Ok(Some((data, version))) => {
                    contents.push((self.place(&pair.target.path, entry)?, data, version));
                }
                Ok(None) | Err(Failure::Changed { .. }) => again.push(entry),
                Err(failure) if is_gone(&failure) => {}
                Err(failure) => return Err(self.source.failed(Operation::Read, &path, failure)),
            }
        }
        Ok((contents, again))
    }

    /// Copies one file of any size.
    fn large(&mut self, pair: &Pair<'_>, entry: &Entry) -> Result<()> {
        let path = self.place(&pair.source.path, entry)?;
        let (mut id, mut tries, mut replaced) = (entry.id, 0, 0);
        while tries < TRIES && replaced < MOST_REPLACED {
            let at = (Operation::Read, &path, self.by());
            let source = match self.source.run(at, |c| c.open_source(&path, id)) {
                Err(error) if is_gone(&error.failure) => return Ok(()),
                Err(error) => match error.failure {
                    // Another file has the name now, if the folder is still the same.
                    Failure::Changed { found, .. } => {
                        self.expect_source(pair)?;
                        id = found;
                        replaced += 1;
                        continue;
                    }
                    _ => return Err(error),
                },
                Ok(source) => source,
            };
            tries += 1;
            let keeps = tries == TRIES && self.order.unsteady == Unsteady::Keep;
            if self.once(pair, entry, (&path, &source), keeps)? {
                return Ok(());
            }
        }
        Err(self
            .source
            .failed(Operation::Copy, &path, Failure::Unsteady))
    }

    /// Copies a file, and returns whether the copy stays: if the file was the same meanwhile, or else by `keeps`.
    fn once(
        &mut self,
        pair: &Pair<'_>,
        entry: &Entry,
        (path, source): (&SharePath, &Source),
        keeps: bool,
    ) -> Result<bool> {
        let target = self.place(&pair.target.path, entry)?;
        let mut made = self.make(pair, &[&target])?;
        let at = (Operation::Create, &target, self.by());
        let file = self.target.run(at, |_| made.pop().ok_or(Failure::Ended))?;
        let is_whole = self.bytes(path, source, &file)?;
        let at = (Operation::Copy, &target, self.by());
        self.target.run(at, |c| c.flush(&file))?;
        let at = (Operation::Read, path, self.by());
        let is_unchanged = self.source.run(at, |c| c.is_unchanged(source))?;
        let is_steady = is_whole && is_unchanged;
        if !is_steady && !keeps {
            self.expect_target(pair)?;
            self.target.discard(file, self.by())?;
            return Ok(false);
        }
        let Version { mut size, basic } = source.version;
        self.finish(&[(file, basic)])?;
        if !is_steady {
            // It may be shorter or longer than the file was.
            let at = (Operation::Stat, &target, self.by());
            let paths = [target.clone()];
            size = self.target.run(at, |c| {
                let found = c.find_each(&paths)?.pop().ok_or(Failure::Ended)?;
                Ok(found?.version.size)
            })?;
        }
        self.has(&CopiedEntry {
            is_steady,
            ..whole(&target, size, basic)
        })?;
        Ok(true)
    }

    /// Copies the bytes, from the first one on. Returns whether these were as many as the file had.
    fn bytes(&mut self, path: &SharePath, source: &Source, file: &OpenFile) -> Result<bool> {
        let size = source.version.size;
        let mut at = 0;
        while at < size {
            let on = (Operation::Copy, &file.path, self.by());
            let copied = self.target.run(on, |c| c.copy_next(source, file, at))?;
            let done = match copied {
                0 => self.through(path, source, file, at)?,
                copied => u64::from(copied),
            };
            if done == 0 {
                return Ok(false);
            }
            at += done;
            self.wrote(done, Some(file))?;
        }
        Ok(at == size)
    }

    /// Reads and writes the next bytes, and returns how many these were.
    fn through(
        &mut self,
        path: &SharePath,
        source: &Source,
        file: &OpenFile,
        at: u64,
    ) -> Result<u64> {
        let on = (Operation::Read, path, self.by());
        let pieces = self.source.run(on, |c| c.read_next(source, at))?;
        let on = (Operation::Copy, &file.path, self.by());
        self.target.run(on, |c| c.write_next(file, at, &pieces))?;
        let bytes: usize = pieces.iter().map(Vec::len).sum();
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// Counts written bytes.
    fn wrote(&mut self, bytes: u64, file: Option<&OpenFile>) -> Result<()> {
        self.progress.written += bytes;
        self.stretch += bytes;
        if self.stretch < STRETCH {
            return file.map_or(Ok(()), |_| self.report());
        }
        if let Some(file) = file {
            let at = (Operation::Copy, &file.path, self.by());
            self.target.run(at, |c| c.flush(file))?;
        }
        self.look_at_space()
    }

    /// Makes files, and looks then if they are in the copy: a link may be in their folder's place. Behind that they stay
    /// empty, and are not removed, since a server may remove by path.
    fn make(&mut self, pair: &Pair<'_>, paths: &[&SharePath]) -> Result<Vec<OpenFile>> {
        let at = (Operation::Create, &pair.target.path, self.by());
        let made = self.target.run(at, |c| c.make_each(paths))?;
        self.expect_target(pair)?;
        self.all_done(Operation::Create, made, paths.iter().copied())
    }

    pub(super) fn expect_target(&mut self, pair: &Pair<'_>) -> Result<()> {
        let at = (Operation::Create, &pair.target.path, self.by());
        self.target.run(at, |c| c.expect_folder(pair.target))
    }

    pub(super) fn expect_source(&mut self, pair: &Pair<'_>) -> Result<()> {
        let at = (Operation::Read, &pair.source.path, self.by());
        self.source.run(at, |c| c.expect_folder(pair.source))
    }
}

fn whole(path: &SharePath, size: u64, basic: Basic) -> CopiedEntry<'_> {
    CopiedEntry {
        path,
        kind: Kind::File,
        size,
        basic,
        is_steady: true,
    }
}

/// How many of some files are copied together.
fn batch(entries: &[Entry]) -> usize {
    let mut bytes = 0;
    let some = entries.iter().take(AT_A_TIME).take_while(|entry| {
        bytes += if entry.size <= SMALL { entry.size } else { 0 };
        bytes <= BATCH
    });
    some.count().max(1)
}
