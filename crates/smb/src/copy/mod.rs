//! Copies the content of a folder into another one of the same server, without following links.
//!
//! The copy has its shares opened for itself, over its caller's connection: after a failure they are closed, and with them
//! all that is still open.

mod files;
mod names;
mod survey;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::error::{Failure, Operation, Outcome, Result};
use crate::name::{Name, SharePath};
use crate::share::{
    Basic, Entry, FileId, Folder, Kind, OpenFile, Present, RemoteShare, Share, Space, Wanted,
};
use crate::walk::{Limits, remove_content};

/// What is copied, and where to: the content of a folder, its attributes and its times, into a folder that is there already.
///
/// Neither streams nor access lists are copied. A symbolic link that the server follows to a file is copied as that file.
/// One that leads nowhere is not listed by Samba, and so left out.
///
/// A file of the copy with the source's size and time of last write is whole, see `trusts`: it is neither read nor written again. Any
/// other entry of the copy is removed, or made once more. So a repeated call goes on where the last one ended.
///
/// Before anything is written, the whole source is listed. Errors name the entry; beside what
/// [ends a connection](crate::Failure::ends_connection):
///
/// | failure | when |
/// |---|---|
/// | `Link` | a reparse point in the source; a folder of source or copy that is reached through a link; one put there meanwhile |
/// | `Link` | one of two folders with the same id in a folder of the source: either is the link; nothing is written then |
/// | `SameName`, `Name` | names in the source that the server may take for one, or that cannot be used; nothing is written then |
/// | `Exists` | a name in the copy that the server takes for another, or an entry that someone else made there meanwhile |
/// | `Changed` | `source` or `target` has another id, or an entry was replaced meanwhile |
/// | `Unsteady` | a file changed during each of three copies of it, see `unsteady`; the source got more than twice its entries |
/// | `NotFound` | `source` or `target` is gone. An entry of the source that vanishes meanwhile is no failure |
/// | `Denied`, `InUse`, `Full` | the server's answer for the entry |
/// | `Limit` | folders within folders, see `depth` |
/// | `NoSuchShare` | `source_share` |
/// | `Stopped` | `watch` said so |
///
/// After a failure the copy has a part of the source, and the caller repeats or removes it. It checks before that no link
/// is on the way to the folders above `source` and `target`; the two folders themselves are checked here. It holds a lock
/// of the copy by this connection: the last requests of one that ended may still be carried out, until its locks end.
#[derive(Clone, Debug)]
pub struct CopyOrder {
    /// The share that has `source`, by its name on this server: this share's own, or another.
    pub source_share: Name,
    /// Not a share's own folder.
    pub source: SharePath,
    pub source_id: FileId,
    /// Not a share's own folder. What it has is taken for a part of the copy, and what `source` has not is removed.
    pub target: SharePath,
    pub target_id: FileId,
    /// The most folders within folders; more than 256 is 256.
    pub depth: u64,
    /// For each exchange with the server, of 16 MiB at most.
    pub patience: Duration,
    /// Whether a file that the copy has with the source's size and time is whole. Else it is copied once more.
    pub trusts: bool,
    pub unsteady: Unsteady,
}

/// What becomes of a file that changed during each of three copies of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsteady {
    /// The copy fails.
    Refuse,
    /// The third copy of it stays: it may be of several moments. The watch is told.
    Keep,
}

/// An entry that the copy has by now, as the next call would find it whole: its content is flushed, and its times are set.
/// A folder comes after all that it has, and the copied folder itself never.
#[derive(Clone, Copy, Debug)]
pub struct CopiedEntry<'a> {
    /// In the copy, from the share's own folder down.
    pub path: &'a SharePath,
    /// A file or a folder.
    pub kind: Kind,
    /// In bytes, of a file.
    pub size: u64,
    pub basic: Basic,
    /// Whether it was the same before and after it was copied.
    pub is_steady: bool,
}

/// What a copy calls as it proceeds; `Break` stops it.
pub trait Watch {
    fn see(&mut self, progress: &CopyProgress) -> ControlFlow<()>;

    /// An entry is whole. One that the source got under a name that it had before may come twice, at last as it is.
    fn whole(&mut self, entry: &CopiedEntry<'_>) -> ControlFlow<()> {
        let _ = entry;
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&CopyProgress) -> ControlFlow<()>> Watch for F {
    fn see(&mut self, progress: &CopyProgress) -> ControlFlow<()> {
        self(progress)
    }
}

/// How far a copy is. While the source is listed, the last two numbers grow and the others are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyProgress {
    /// Files and folders that the copy has, those of an earlier call among them.
    pub entries: u64,
    /// In those files.
    pub bytes: u64,
    /// Written by this call, the file that is being copied and what was copied again among them.
    pub written: u64,
    pub of_entries: u64,
    pub of_bytes: u64,
    /// Once before anything is written, and after each 256 MiB: of the copy's file system.
    pub space: Option<Space>,
}

/// What a copy has in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    pub entries: u64,
    pub bytes: u64,
    /// By this call.
    pub written: u64,
    /// Folders whose `..` the server does not tell: there only tags kept the walk from following links.
    pub unproved: u64,
}

/// How many bytes are written between two looks at the free space. Then what is written is flushed too, so that no flush
/// takes long.
const STRETCH: u64 = 256 * 1024 * 1024;
/// How many entries are asked for at a time.
const AT_A_TIME: usize = 64;
/// How many stale entries of a folder are removed between two calls of the watch: more than [`DEEPEST`].
const STALE: u64 = 512;
const DEEPEST: u64 = 256;
/// How many entries more than twice those that it had a source may get.
const GROWTH: u64 = 10_000;

/// A copy under way.
struct Copy<'a> {
    source: RemoteShare,
    target: RemoteShare,
    order: &'a CopyOrder,
    watch: &'a mut dyn Watch,
    progress: CopyProgress,
    /// Written since the last look at the free space.
    stretch: u64,
    unproved: u64,
}

/// A folder and its copy.
struct Pair<'a> {
    source: &'a Folder,
    target: &'a Folder,
    /// Whether the copy's folder has nothing yet.
    is_new: bool,
    depth: u64,
}

pub(crate) fn copy<'a>(
    share: &RemoteShare,
    order: &'a CopyOrder,
    watch: &'a mut dyn Watch,
) -> Result<Copied> {
    let by = || Instant::now() + order.patience;
    let copy = Copy {
        source: share.another(&order.source_share, by())?,
        target: share.again(by())?,
        order,
        watch,
        progress: CopyProgress::default(),
        stretch: 0,
        unproved: 0,
    };
    copy.run()
}

impl Copy<'_> {
    fn run(mut self) -> Result<Copied> {
        let order = self.order;
        let by = self.by();
        let [found, above] = with_parent(&mut self.source, &order.source, by)?;
        let source = Folder {
            path: order.source.clone(),
            id: order.source_id,
            above: above.id,
        };
        let [_, above] = with_parent(&mut self.target, &order.target, by)?;
        let open = self.open_folder(&order.target, above.id, Wanted::There)?;
        if open.id != order.target_id {
            let (expected, found) = (order.target_id, open.id);
            let failure = Failure::Changed { expected, found };
            return Err(self.target.failed(Operation::Copy, &order.target, failure));
        }
        let target = Folder {
            path: order.target.clone(),
            id: open.id,
            above: above.id,
        };
        self.survey(&source, &target.path, 0)?;
        // From here on each folder is listed once.
        self.unproved = 0;
        self.look_at_space()?;
        let all = Pair {
            source: &source,
            target: &target,
            is_new: false,
            depth: 0,
        };
        if !self.content(&all)? {
            return Err(self
                .source
                .failed(Operation::Copy, &source.path, Failure::NotFound));
        }
        // If it was moved away, all that was not copied yet seemed to be gone.
        self.expect_source(&all)?;
        self.finish(&[(open, found.version.basic)])?;
        Ok(Copied {
            entries: self.progress.entries,
            bytes: self.progress.bytes,
            written: self.progress.written,
            unproved: self.unproved,
        })
    }

    /// Copies what a folder has; its copy may be there already, in part. Returns whether the folder was there.
    fn content(&mut self, pair: &Pair<'_>) -> Result<bool> {
        self.expect_depth(&pair.source.path, pair.depth)?;
        let pair = Pair {
            is_new: pair.is_new || self.remove_stale(pair)?,
            ..*pair
        };
        self.each_page(pair.source, |copy, entries| {
            let (folders, files) = copy.divided(pair.source, entries)?;
            copy.files(&pair, &files)?;
            drop(files);
            let mut folders = folders.iter();
            folders.try_for_each(|folder| copy.folder(&pair, folder))
        })
    }

    /// Takes each page of a folder of the source. Returns whether the folder was there.
    fn each_page(
        &mut self,
        folder: &Folder,
        mut take: impl FnMut(&mut Self, Vec<Entry>) -> Result<()>,
    ) -> Result<bool> {
        let mut pages = match self.source.pages(folder, self.by()) {
            Err(error) if is_gone(&error.failure) => return Ok(false),
            pages => pages?,
        };
        self.unproved += u64::from(pages.is_unproved);
        loop {
            let entries = self.source.next_page(&mut pages, self.by())?;
            if entries.is_empty() {
                return Ok(true);
            }
            take(self, entries)?;
        }
    }

    /// Copies a folder. Its times come after its content.
    fn folder(&mut self, pair: &Pair<'_>, entry: &Entry) -> Result<()> {
        let source = Folder {
            path: self.place(&pair.source.path, entry)?,
            id: entry.id,
            above: pair.source.id,
        };
        let path = self.place(&pair.target.path, entry)?;
        let there = match pair.is_new {
            true => None,
            false => self.open_if_there(&path, pair.target.id)?,
        };
        let is_new = there.is_none();
        let open = match there {
            Some(open) => open,
            None => self.open_folder(&path, pair.target.id, Wanted::New)?,
        };
        let target = Folder {
            path,
            id: open.id,
            above: pair.target.id,
        };
        let below = Pair {
            source: &source,
            target: &target,
            is_new,
            depth: pair.depth + 1,
        };
        if !self.content(&below)? {
            // Nothing of it is in the copy, as the source has lost it.
            self.expect_target(pair)?;
            return self.target.discard(open, self.by());
        }
        self.finish(&[(open, entry.basic)])?;
        self.has(&CopiedEntry {
            path: &target.path,
            kind: Kind::Folder,
            size: 0,
            basic: entry.basic,
            is_steady: true,
        })?;
        self.report()
    }

    /// Counts an entry that the copy has.
    fn has(&mut self, entry: &CopiedEntry<'_>) -> Result<()> {
        self.progress.entries += 1;
        self.progress.bytes = self.progress.bytes.saturating_add(entry.size);
        let seen = self.watch.whole(entry);
        self.go_on(seen)
    }

    /// A tree may get deeper, while it is copied too.
    fn expect_depth(&self, path: &SharePath, depth: u64) -> Result<()> {
        let most = self.order.depth.min(DEEPEST);
        match depth > most {
            true => Err(self
                .source
                .failed(Operation::Copy, path, Failure::Limit(most))),
            false => Ok(()),
        }
    }

    fn open_if_there(&mut self, path: &SharePath, above: FileId) -> Result<Option<OpenFile>> {
        match self.open_folder(path, above, Wanted::There) {
            Err(error) if error.failure == Failure::NotFound => Ok(None),
            open => open.map(Some),
        }
    }

    fn open_folder(&mut self, path: &SharePath, above: FileId, wanted: Wanted) -> Result<OpenFile> {
        let at = (Operation::MakeFolder, path, self.by());
        self.target.run(at, |c| c.open_folder(path, above, wanted))
    }

    /// Removes what the copy of a folder has and the folder has not. Returns whether it has nothing then.
    fn remove_stale(&mut self, pair: &Pair<'_>) -> Result<bool> {
        let mut pages = self.target.pages(pair.target, self.by())?;
        let mut is_empty = true;
        loop {
            let entries = self.target.next_page(&mut pages, self.by())?;
            if entries.is_empty() {
                return Ok(is_empty);
            }
            for some in entries.chunks(AT_A_TIME) {
                let stale = self.stale(pair.source, some)?;
                is_empty &= stale.len() == some.len();
                self.remove(pair.target, &stale)?;
                self.report()?;
            }
        }
    }

    /// Those of some entries that a folder has not, or has of another kind.
    fn stale<'e>(&mut self, source: &Folder, entries: &'e [Entry]) -> Result<Vec<&'e Entry>> {
        let paths = self.places(&source.path, entries)?;
        let at = (Operation::List, &source.path, self.by());
        let found = self.source.run(at, |c| c.find_each(&paths))?;
        let mut stale = Vec::new();
        for ((path, found), entry) in paths.iter().zip(found).zip(entries) {
            match found {
                Ok(found) if found.kind == entry.kind && !found.is_other_than(&entry.name) => {}
                Ok(_) => stale.push(entry),
                Err(failure) if is_gone(&failure) => stale.push(entry),
                Err(failure) => return Err(self.source.failed(Operation::Stat, path, failure)),
            }
        }
        Ok(stale)
    }

    fn remove(&mut self, folder: &Folder, entries: &[&Entry]) -> Result<()> {
        let (folders, others): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| entry.kind == Kind::Folder);
        let mut places = Vec::new();
        for entry in others {
            places.push((self.place(&folder.path, entry)?, entry.id));
        }
        self.target.remove_each(&places, self.by())?;
        for entry in folders {
            let path = self.place(&folder.path, entry)?;
            self.remove_content(&path, entry.id)?;
            self.target.remove(&path, entry.id, self.by())?;
        }
        Ok(())
    }

    fn remove_content(&mut self, path: &SharePath, id: FileId) -> Result<()> {
        let limits = Limits {
            depth: DEEPEST,
            entries: STALE,
        };
        loop {
            let by = self.by();
            match remove_content(&mut self.target, path, id, limits, by) {
                Err(error) if error.failure == Failure::Limit(STALE) => self.report()?,
                done => return done.map(drop),
            }
        }
    }

    /// Gives what is open in the copy its times, and closes it.
    fn finish(&mut self, files: &[(OpenFile, Basic)]) -> Result<()> {
        let at = (Operation::Copy, &self.order.target, self.by());
        let done = self.target.run(at, |c| c.finish_each(files))?;
        let paths = files.iter().map(|(file, _)| &file.path);
        self.all_done(Operation::Copy, done, paths).map(drop)
    }

    /// What was done for some paths of the copy, or the first failure.
    fn all_done<'p, T>(
        &self,
        operation: Operation,
        done: Vec<Outcome<T>>,
        paths: impl Iterator<Item = &'p SharePath>,
    ) -> Result<Vec<T>> {
        let each = done.into_iter().zip(paths);
        let each = each.map(|(done, path)| {
            done.map_err(|failure| self.target.failed(operation, path, failure))
        });
        each.collect()
    }

    /// Folders, and files; a link is a failure.
    fn divided(&self, folder: &Folder, entries: Vec<Entry>) -> Result<(Vec<Entry>, Vec<Entry>)> {
        if let Some(link) = entries.iter().find(|entry| entry.kind == Kind::Link) {
            return self.refuse_link(folder, link);
        }
        let is_folder = |entry: &Entry| entry.kind == Kind::Folder;
        Ok(entries.into_iter().partition(is_folder))
    }

    fn refuse_link<T>(&self, folder: &Folder, link: &Entry) -> Result<T> {
        let path = self.place(&folder.path, link)?;
        Err(self.source.failed(Operation::Copy, &path, Failure::Link))
    }

    fn places(&self, folder: &SharePath, entries: &[Entry]) -> Result<Vec<SharePath>> {
        let places = entries.iter().map(|entry| self.place(folder, entry));
        places.collect()
    }

    fn place(&self, folder: &SharePath, entry: &Entry) -> Result<SharePath> {
        folder.join(&entry.name).map_err(|error| {
            let name = entry.name.to_string();
            let failure = Failure::Name { name, error };
            self.target.failed(Operation::Copy, folder, failure)
        })
    }

    fn look_at_space(&mut self) -> Result<()> {
        self.stretch = 0;
        let space = self.target.space(&self.order.target, self.by())?;
        self.progress.space = Some(space);
        let done = self.report();
        self.progress.space = None;
        done
    }

    fn report(&mut self) -> Result<()> {
        // Who makes entries faster than they are copied would keep it going.
        if self.progress.entries > self.progress.of_entries.saturating_mul(2) + GROWTH {
            let source = &self.order.source;
            return Err(self
                .source
                .failed(Operation::Copy, source, Failure::Unsteady));
        }
        let seen = self.watch.see(&self.progress);
        self.go_on(seen)
    }

    fn go_on(&self, seen: ControlFlow<()>) -> Result<()> {
        match seen {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                let target = &self.order.target;
                Err(self
                    .target
                    .failed(Operation::Copy, target, Failure::Stopped))
            }
        }
    }

    /// The deadline of the next exchange.
    fn by(&self) -> Instant {
        Instant::now() + self.order.patience
    }
}

/// A folder, and the one above it.
fn with_parent(share: &mut RemoteShare, path: &SharePath, by: Instant) -> Result<[Present; 2]> {
    let parent = path.parent();
    let parent = parent.ok_or_else(|| share.failed(Operation::Copy, path, Failure::IsAFolder))?;
    let at = (Operation::Stat, path, by);
    share.run(at, |c| {
        let found = c.find_each(&[path.clone(), parent])?;
        let [folder, above] = found.try_into().map_err(|_| Failure::Ended)?;
        Ok([folder?, above?])
    })
}

fn is_gone(failure: &Failure) -> bool {
    matches!(failure, Failure::NotFound | Failure::DeletePending)
}
