//! The manifest of a snapshot: a line of JSON about it, and one for each entry, as the copy came to them.
//!
//! The record has its length and its hash, so a line of the file is believed only if it is as it was written.

use std::hash::{BuildHasher, RandomState};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use smb::{CopiedEntry, Failure, FileId, Kind, OpenFile, Share, SharePath};

use super::Error;
use super::call::ROUND;
use super::names::hex;
use super::record::{Manifest, Record};

/// How much of it is in memory at a time, in bytes, while it is written.
const PORTION: usize = 512 * 1024;
/// The longest line: a path of SMB has 32,767 letters, of which each may be escaped.
const LONGEST_LINE: usize = 1024 * 1024;
/// How many entries a snapshot may have: a restore remembers some bytes of each.
const MOST: usize = 1_000_000;

/// What the first line has.
#[derive(Serialize)]
struct Head<'a> {
    version: u32,
    snapshot: &'a str,
    source: Option<&'a str>,
    /// Of its folder.
    id: u64,
    begun: u64,
    size: u64,
}

/// An entry: times in units of 100 ns since 1601.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Below the snapshot's folder, as errors have names, with `/` between them.
    path: String,
    is_folder: bool,
    size: u64,
    created: u64,
    accessed: u64,
    written: u64,
    attributes: u32,
    /// Whether it changed while it was copied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    changed: bool,
}

/// Writes a manifest while its snapshot is copied.
pub(super) struct Writer<'a> {
    share: &'a mut (dyn Share + Send),
    file: OpenFile,
    /// How many names are in the path of the copy.
    depth: usize,
    at: u64,
    lines: usize,
    buffer: Vec<u8>,
    digest: Sha256,
    changed: u64,
}

/// What a restore has to have, and which of it came.
pub(super) struct Checker {
    hasher: RandomState,
    /// By paths: the last line of a path counts.
    expected: Vec<Expected>,
    /// Beside it.
    has_come: Vec<bool>,
    /// How many names are in the path of the copy.
    depth: usize,
}

/// Hashes with a key of this process: as small as can be, since a restore remembers one for each entry.
struct Expected {
    path: u64,
    facts: u32,
    /// The last line of a path has the least.
    left: u32,
}

impl Line {
    fn of(entry: &CopiedEntry<'_>, depth: usize) -> Self {
        let names = entry.path.names().iter().skip(depth);
        let names: Vec<String> = names.map(ToString::to_string).collect();
        Self {
            path: names.join("/"),
            is_folder: entry.kind == Kind::Folder,
            size: entry.size,
            created: entry.basic.created,
            accessed: entry.basic.accessed,
            written: entry.basic.written,
            attributes: entry.basic.attributes,
            changed: !entry.is_steady,
        }
    }

    /// What a restored entry has to have too.
    fn facts(&self) -> (bool, u64, u64) {
        (self.is_folder, self.size, self.written)
    }
}

impl<'a> Writer<'a> {
    /// Makes the file, or one that an earlier call left once more.
    pub(super) fn begin(
        share: &'a mut (dyn Share + Send),
        path: &SharePath,
        (record, id): (&Record, FileId),
        depth: usize,
    ) -> Result<Self, Error> {
        let begun = record.taken.as_ref().map_or(0, |taken| taken.begun);
        let head = line(&Head {
            version: 1,
            snapshot: &record.name,
            source: record.source.as_deref(),
            id: id.0,
            begun,
            size: record.size,
        })?;
        let by = Instant::now() + ROUND;
        let file = match share.create(path, &[], by) {
            Err(error) if error.failure == Failure::Exists => {
                share.clear(path, by)?;
                share.create(path, &[], by)
            }
            file => file,
        };
        Ok(Self {
            file: file?,
            share,
            depth,
            at: 0,
            lines: 0,
            buffer: head,
            digest: Sha256::new(),
            changed: 0,
        })
    }

    pub(super) fn add(&mut self, entry: &CopiedEntry<'_>) -> Result<(), Error> {
        self.lines += 1;
        if self.lines > MOST {
            let text = format!("a snapshot may have {MOST} entries, and the source has more");
            return Err(Error::Blocked(text));
        }
        let new = Line::of(entry, self.depth);
        self.buffer.extend(line(&new)?);
        self.changed += u64::from(new.changed);
        match self.buffer.len() >= PORTION {
            true => self.write(),
            false => Ok(()),
        }
    }

    pub(super) fn end(mut self) -> Result<Manifest, Error> {
        self.write()?;
        self.share.close(self.file, Instant::now() + ROUND)?;
        Ok(Manifest {
            length: self.at,
            sha256: hex(&self.digest.finalize()),
            changed: self.changed,
        })
    }

    pub(super) fn discard(self) {
        let _ = self.share.discard(self.file, Instant::now() + ROUND);
    }

    fn write(&mut self) -> Result<(), Error> {
        let (by, content) = (Instant::now() + ROUND, &self.buffer);
        self.share.write_on(&self.file, self.at, content, by)?;
        self.digest.update(content);
        self.at += u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.buffer.clear();
        Ok(())
    }
}

impl Checker {
    pub(super) fn read(
        share: &mut (dyn Share + Send),
        (path, manifest): &(SharePath, Manifest),
        depth: usize,
    ) -> Result<Self, Error> {
        let mut checker = Self::new(depth);
        each_line(share, path, manifest, |line| checker.remember(line))?;
        checker.sort();
        Ok(checker)
    }

    fn new(depth: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            expected: Vec::new(),
            has_come: Vec::new(),
            depth,
        }
    }

    /// Returns whether there is room for the line.
    fn remember(&mut self, line: &Line) -> bool {
        let before = self.expected.len();
        self.expected.push(Expected {
            path: self.hasher.hash_one(&line.path),
            facts: self.facts(line),
            left: u32::try_from(MOST.saturating_sub(before)).unwrap_or(u32::MAX),
        });
        before < MOST
    }

    fn facts(&self, line: &Line) -> u32 {
        let hash = self.hasher.hash_one(line.facts());
        u32::try_from(hash >> 32).unwrap_or_default()
    }

    fn sort(&mut self) {
        let expected = &mut self.expected;
        expected.sort_unstable_by_key(|one| (one.path, one.left));
        expected.dedup_by_key(|one| one.path);
        self.has_come = vec![false; expected.len()];
    }

    /// Where an entry is.
    fn at(&self, path: &str) -> Option<usize> {
        let path = self.hasher.hash_one(path);
        let at = self.expected.binary_search_by_key(&path, |one| one.path);
        at.ok()
    }

    /// An entry of the copy.
    pub(super) fn expect(&mut self, entry: &CopiedEntry<'_>) -> Result<(), Error> {
        let found = Line::of(entry, self.depth);
        let refused = |reason: &str| {
            let path = &found.path;
            Err(Error::Blocked(format!("the snapshot's {path:?} {reason}")))
        };
        let facts = self.facts(&found);
        let at = self.at(&found.path).unwrap_or(usize::MAX);
        let (Some(expected), Some(has_come)) = (self.expected.get(at), self.has_come.get_mut(at))
        else {
            return refused("is not in its manifest");
        };
        if expected.facts != facts {
            return refused("has another kind, size or time than in its manifest");
        }
        *has_come = true;
        Ok(())
    }

    /// Names an entry that has not come.
    pub(super) fn end(
        self,
        share: &mut (dyn Share + Send),
        (path, manifest): &(SharePath, Manifest),
    ) -> Result<(), Error> {
        if self.has_come.iter().all(|has_come| *has_come) {
            return Ok(());
        }
        let mut missing = String::new();
        each_line(share, path, manifest, |line| {
            let has_come = self.at(&line.path).and_then(|at| self.has_come.get(at));
            if missing.is_empty() && has_come == Some(&false) {
                missing.clone_from(&line.path);
            }
            true
        })?;
        let text = format!("the snapshot's {missing:?} is in its manifest, and is missing");
        Err(Error::Blocked(text))
    }
}

fn line(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut line = serde_json::to_vec(value).map_err(|it| Error::Blocked(it.to_string()))?;
    line.push(b'\n');
    Ok(line)
}

/// Reads the lines of all entries, until one is refused. Fails if the file is another one than was written.
fn each_line(
    share: &mut (dyn Share + Send),
    path: &SharePath,
    manifest: &Manifest,
    mut take: impl FnMut(&Line) -> bool,
) -> Result<(), Error> {
    let other = |reason| Err(Error::Blocked(format!("the manifest {path} {reason}")));
    let (mut at, mut is_head, mut rest) = (0, true, Vec::new());
    let mut digest = Sha256::new();
    loop {
        let part = match share.read_on(path, at, Instant::now() + ROUND) {
            Err(error) if error.failure == Failure::NotFound => return other("is missing"),
            part => part?,
        };
        if part.is_empty() {
            break;
        }
        at += u64::try_from(part.len()).unwrap_or(u64::MAX);
        digest.update(&part);
        rest.extend(part);
        let mut lines = rest.split(|byte| *byte == b'\n');
        let last = lines.next_back().unwrap_or_default().to_vec();
        if at > manifest.length || last.len() > LONGEST_LINE {
            return other("is longer than the snapshot's record has it");
        }
        for line in lines {
            // The first one is no entry.
            if std::mem::take(&mut is_head) {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(line) if take(&line) => {}
                Ok(_) => return other("has too many entries"),
                Err(_) => return other("has a line that is no entry"),
            }
        }
        rest = last;
    }
    match at == manifest.length && hex(&digest.finalize()) == manifest.sha256 {
        true => Ok(()),
        false => other("is not as the snapshot's record has it: it is cut, or was changed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(size: u64) -> Line {
        let text = format!(
            r#"{{"path":"a","is_folder":false,"size":{size},"created":0,"accessed":0,"written":0,"attributes":0}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_restore_remembers_a_million_lines() {
        let mut checker = Checker::new(0);
        let (line, mut lines) = (line(1), 0);
        while checker.remember(&line) {
            lines += 1;
        }
        assert_eq!(lines, 1_000_000);
    }

    #[test]
    fn the_last_line_of_a_path_counts() {
        let mut checker = Checker::new(0);
        assert!([1, 3, 2].iter().all(|size| checker.remember(&line(*size))));
        checker.sort();
        let facts: Vec<u32> = checker.expected.iter().map(|one| one.facts).collect();
        assert_eq!(facts, [checker.facts(&line(2))]);
    }
}
