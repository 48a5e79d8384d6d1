//! The entries of a folder of any size, one page after the other.

use std::time::Instant;

use super::steps::{FEW_ENTRIES, LIST};
use super::{Entry, FileId, Listing, OpenFile, RemoteShare};
use crate::connection::{Answer, Connection};
use crate::error::{Failure, Operation, Outcome, Result};
use crate::name::SharePath;
use crate::status;
use crate::wire::create::{self, Handle, LAST};
use crate::wire::{PAYLOAD, info};

/// A folder, reached through no link: by the ids that it and the folder above must have.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: SharePath,
    pub(crate) id: FileId,
    pub(crate) above: FileId,
}

/// The shortest page.
const SHORT: u32 = 4096;

/// A folder that is open to be listed.
pub(crate) struct Pages {
    path: SharePath,
    /// Until its end was seen.
    handle: Option<Handle>,
    first: Vec<Entry>,
    /// Whether the server told no `..`.
    pub(crate) is_unproved: bool,
}

impl RemoteShare {
    /// Opens a folder and reads its first page.
    pub(crate) fn pages(&mut self, folder: &Folder, by: Instant) -> Result<Pages> {
        self.run((Operation::List, &folder.path, by), |c| c.pages(folder))
    }

    /// The next entries; none at the end, which closes the folder.
    pub(crate) fn next_page(&mut self, pages: &mut Pages, by: Instant) -> Result<Vec<Entry>> {
        let mut entries = std::mem::take(&mut pages.first);
        let path = pages.path.clone();
        if let (true, Some(handle)) = (entries.is_empty(), pages.handle) {
            let page = self.run((Operation::List, &path, by), |c| c.page(&handle, &path));
            if !page.as_ref().is_ok_and(|(_, is_end)| !is_end) {
                self.close_later(pages, by);
            }
            entries = page?.0;
        }
        Ok(entries)
    }

    /// Closes a folder with the next request.
    pub(crate) fn close_later(&mut self, pages: &mut Pages, by: Instant) {
        if let Some(handle) = pages.handle.take() {
            self.connection(by).later(create::close(&handle));
        }
    }
}

impl Connection {
    fn pages(&mut self, folder: &Folder) -> Outcome<Pages> {
        let asked =
            [length(&folder.path), FEW_ENTRIES].map(|most| info::directory(&LAST, "", most));
        let (open, opened, answers) = self.hold(&folder.path, LIST, &asked)?;
        let first = self.first_page(folder, &open, &opened, &answers);
        let (listing, is_end) = self.kept(&open.handle, first)?;
        if is_end {
            self.later(create::close(&open.handle));
        }
        Ok(Pages {
            path: folder.path.clone(),
            handle: (!is_end).then_some(open.handle),
            is_unproved: listing.above.is_none(),
            first: listing.entries,
        })
    }

    pub(super) fn first_page(
        &mut self,
        folder: &Folder,
        open: &OpenFile,
        opened: &create::Answer,
        answers: &[Answer],
    ) -> Outcome<(Listing, bool)> {
        let mut listing = Listing::of(open.id, opened.basic.attributes)?;
        let mut is_end = false;
        for answer in answers {
            is_end = is_end || self.take_entries(&mut listing, answer, usize::MAX)?;
        }
        // A path too long for Samba: it does not show what is in the folder.
        if answers
            .first()
            .is_some_and(|(header, _)| header.status == status::NO_SUCH_FILE)
        {
            return Err(Failure::HiddenContent);
        }
        folder.expect(&listing)?;
        Ok((listing, is_end))
    }

    /// The next entries, and whether these were the last.
    fn page(&mut self, handle: &Handle, path: &SharePath) -> Outcome<(Vec<Entry>, bool)> {
        let answer = self.exchange(info::directory(handle, "", length(path)))?;
        let mut listing = Listing::default();
        let is_end = self.take_entries(&mut listing, &answer, usize::MAX)?;
        Ok((listing.entries, is_end))
    }
}

/// How long a page of a folder is, in bytes. A walk keeps one of each folder that it is in: deep down they are shorter.
fn length(path: &SharePath) -> u32 {
    let halvings = path.names().len() / 8;
    (PAYLOAD >> halvings.min(4)).max(SHORT)
}

impl Folder {
    /// Whether a listing is that of this folder.
    pub(crate) fn expect(&self, listing: &Listing) -> Outcome<()> {
        super::steps::same(self.id, listing.id)?;
        match listing.above {
            Some(found) if found != self.above => Err(Failure::Link),
            Some(_) | None => Ok(()),
        }
    }
}
