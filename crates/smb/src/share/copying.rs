//! What a copy asks of its two shares: several small files in one message each, or one large file.

use super::pages::Folder;
use super::steps::{FEW_ENTRIES, LIST, LOOK, chain, kind, looks, same};
use super::{Basic, Entry, FileId, Kind, OpenFile};
use crate::connection::{Answer, Connection};
use crate::error::{Failure, Outcome};
use crate::name::{self, Name, SharePath};
use crate::status;
use crate::wire::create::{self, Handle, LAST, Open};
use crate::wire::ioctl::{self, ResumeKey};
use crate::wire::{PAYLOAD, file, info};

/// The most bytes of a small file.
pub(crate) const SMALL: u64 = 65_536;
/// How many requests with data are sent at a time.
const PIECES: usize = 16;

pub(super) const READ: Open = Open {
    access: create::READ_DATA | create::READ_ATTRIBUTES,
    options: create::NO_FOLDER,
    ..LOOK
};

const NEW: Open = Open {
    access: create::WRITE_DATA
        | create::READ_ATTRIBUTES
        | create::WRITE_ATTRIBUTES
        | create::DELETE,
    attributes: create::NORMAL,
    disposition: create::CREATE,
    options: create::NO_FOLDER,
    ..LOOK
};

const FOLDER: Open = Open {
    access: LIST.access | create::WRITE_ATTRIBUTES | create::DELETE,
    ..LIST
};

/// What a file had when it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) size: u64,
    pub(crate) basic: Basic,
}

/// All that a small file has; `None` for one that is larger, or was written while it was read.
type Content = Option<(Vec<u8>, Version)>;

/// A file of the source that is open.
pub(crate) struct Source {
    pub(crate) handle: Handle,
    pub(crate) version: Version,
    /// If the server makes copies.
    key: Option<ResumeKey>,
}

/// Whether a folder is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    New,
    There,
}

/// What a path leads to.
pub(crate) struct Present {
    pub(crate) id: FileId,
    pub(crate) kind: Kind,
    pub(crate) version: Version,
    /// As its folder has it, if the server tells.
    name: Option<Vec<u16>>,
}

impl Connection {
    /// What some paths lead to.
    pub(crate) fn find_each(&mut self, paths: &[SharePath]) -> Outcome<Vec<Outcome<Present>>> {
        let asked: Vec<_> = paths
            .iter()
            .map(|path| (path, LOOK, vec![info::id(&LAST), info::all(&LAST)]))
            .collect();
        let found = self.each_once(&asked)?;
        let each = found.into_iter().map(|found| {
            let (opened, answers) = found?;
            Ok(Present {
                id: self.id(answers.first())?,
                kind: kind(opened.basic.attributes),
                version: Version::of(&opened),
                name: answers.get(1).and_then(|(header, message)| {
                    let is_known = header.status == status::SUCCESS;
                    is_known.then(|| info::name_answer(message)).flatten()
                }),
            })
        });
        Ok(each.collect())
    }

    /// Opens, reads and closes small files.
    pub(crate) fn read_each(
        &mut self,
        files: &[(SharePath, &Entry)],
    ) -> Outcome<Vec<Outcome<Content>>> {
        let chains = files.iter().map(|(path, entry)| {
            let mut asked = vec![info::id(&LAST)];
            let size = u32::try_from(entry.size).unwrap_or(PAYLOAD).min(PAYLOAD);
            asked.extend((size > 0).then(|| file::read(&LAST, 0, size)));
            asked.push(create::close_and_tell(&LAST));
            chain(path, READ, &asked)
        });
        let chains: Vec<_> = chains.collect();
        let mut answers = self.exchange_all(&chains)?.into_iter();
        let mut each = Vec::new();
        for (chain, (_, entry)) in chains.iter().zip(files) {
            let answers: Vec<_> = answers.by_ref().take(chain.len()).collect();
            each.push(self.content(&answers, entry));
        }
        Ok(each)
    }

    fn content(&mut self, answers: &[Answer], entry: &Entry) -> Outcome<Content> {
        let opened = self.opened(answers.first().ok_or(Failure::Ended)?)?;
        self.expect_closed(&answers[1..], &opened.handle)?;
        is_file(&opened)?;
        same(entry.id, self.id(answers.get(1))?)?;
        let version = Version::of(&opened);
        let data = match answers {
            [_, _, read, _] if read.0.status != status::END_OF_FILE => {
                self.expect_success(read)?;
                let data = file::read_answer(&read.1, PAYLOAD);
                data.ok_or_else(|| self.malformed("answer with data"))?
                    .to_vec()
            }
            _ => Vec::new(),
        };
        let is_whole = u64::try_from(data.len()).is_ok_and(|len| len == version.size);
        let closed = answers
            .last()
            .and_then(|(_, message)| create::closed(message));
        Ok((is_whole && version.is_still(closed)).then_some((data, version)))
    }

    /// Makes files, empty and open.
    pub(crate) fn make_each(&mut self, paths: &[&SharePath]) -> Outcome<Vec<Outcome<OpenFile>>> {
        let chains = paths
            .iter()
            .map(|path| chain(path, NEW, &[info::id(&LAST)]));
        let answers = self.exchange_all(&chains.collect::<Vec<_>>())?;
        let (pairs, _) = answers.as_chunks::<2>();
        let made = paths.iter().zip(pairs).map(|(path, [opened, id])| {
            let handle = self.opened(opened)?.handle;
            let id = self.id(Some(id));
            let id = self.kept(&handle, id)?;
            let path = SharePath::clone(path);
            Ok(OpenFile { path, handle, id })
        });
        Ok(made.collect())
    }

    /// Writes all that small files have, and flushes them.
    pub(crate) fn fill_each(&mut self, files: &[(OpenFile, &[u8])]) -> Outcome<Vec<Outcome<()>>> {
        let chains = files
            .iter()
            .map(|(OpenFile { handle, .. }, content)| match content {
                [] => vec![file::flush(handle)],
                _ => vec![file::write(handle, 0, content, file::WRITE_THROUGH)],
            });
        let answers = self.exchange_all(&chains.collect::<Vec<_>>())?;
        let filled = answers
            .iter()
            .zip(files)
            .map(|(answer, (_, content))| match content {
                [] => self.expect_success(answer),
                _ => self.expect_written(answer, len32(content)),
            });
        Ok(filled.collect())
    }

    /// Gives what is open its times and attributes, and closes it.
    pub(crate) fn finish_each(&mut self, files: &[(OpenFile, Basic)]) -> Outcome<Vec<Outcome<()>>> {
        let chains = files.iter().map(|(file, basic)| {
            let attributes = match basic.attributes & create::COPIED {
                0 => create::NORMAL,
                some => some,
            };
            let basic = Basic {
                attributes,
                ..*basic
            };
            let set = info::set_basic(&file.handle, basic);
            vec![set, create::close_and_tell(&LAST).related()]
        });
        let answers = self.exchange_all(&chains.collect::<Vec<_>>())?;
        let (pairs, _) = answers.as_chunks::<2>();
        let each = files.iter().zip(pairs);
        let each = each.map(|((file, _), pair)| self.ended(pair, &file.handle).map(drop));
        Ok(each.collect())
    }

    /// Opens a file that must have this id, for its attributes.
    pub(crate) fn open_again(&mut self, path: &SharePath, id: FileId) -> Outcome<OpenFile> {
        let open = Open {
            access: create::READ_ATTRIBUTES | create::WRITE_ATTRIBUTES,
            options: create::NO_FOLDER,
            ..LOOK
        };
        let (file, ..) = self.hold(path, open, &[])?;
        self.kept(&file.handle, same(id, file.id))?;
        Ok(file)
    }

    /// Opens a file to read it.
    pub(crate) fn open_source(&mut self, path: &SharePath, id: FileId) -> Outcome<Source> {
        let key = self.server_copies.map(|_| ioctl::resume_key(&LAST));
        let (open, opened, answers) = self.hold(path, READ, &Vec::from_iter(key))?;
        let key = answers.first().and_then(|(header, message)| {
            let is_known = header.status == status::SUCCESS;
            is_known
                .then(|| ioctl::resume_key_answer(message))
                .flatten()
        });
        self.server_copies = self.server_copies.filter(|_| key.is_some());
        let is_it = is_file(&opened).and_then(|()| same(id, open.id));
        self.kept(&open.handle, is_it)?;
        Ok(Source {
            handle: open.handle,
            version: Version::of(&opened),
            key,
        })
    }

    /// Closes it, and returns whether it was written or resized while it was open.
    pub(crate) fn is_unchanged(&mut self, source: &Source) -> Outcome<bool> {
        let answer = self.call(create::close_and_tell(&source.handle))?;
        Ok(source.version.is_still(create::closed(&answer)))
    }

    /// Makes or opens a folder, reached through no link from that with the id `above`. It stays open, as its times come
    /// last.
    pub(crate) fn open_folder(
        &mut self,
        path: &SharePath,
        above: FileId,
        wanted: Wanted,
    ) -> Outcome<OpenFile> {
        let new = match wanted {
            Wanted::New => Open {
                disposition: create::CREATE,
                attributes: create::DIRECTORY,
                ..FOLDER
            },
            Wanted::There => FOLDER,
        };
        let asked = [info::directory(&LAST, "", FEW_ENTRIES)];
        let (open, opened, answers) = self.hold(path, new, &asked)?;
        let folder = Folder {
            path: path.clone(),
            id: open.id,
            above,
        };
        let is_it = self.first_page(&folder, &open, &opened, &answers);
        self.kept(&open.handle, is_it)?;
        Ok(open)
    }

    /// Fails if a folder's path does not lead to it any more, or leads through a link.
    pub(crate) fn expect_folder(&mut self, folder: &Folder) -> Outcome<()> {
        let path = &folder.path;
        let looked = self.each_once(&looks(std::slice::from_ref(path)))?.pop();
        let listing = self.ids(path, looked.ok_or(Failure::Ended)?)?;
        folder.expect(&listing)
    }

    /// Lets the server copy the next bytes, and returns how many it did; 0 if these are to be read and written. What it
    /// refuses once is not asked of it on this connection again.
    pub(crate) fn copy_next(
        &mut self,
        source: &Source,
        target: &OpenFile,
        at: u64,
    ) -> Outcome<u32> {
        let (Some(key), Some(portion)) = (source.key, self.server_copies) else {
            return Ok(0);
        };
        let left = u32::try_from(source.version.size - at).unwrap_or(u32::MAX);
        let len = left.min(portion.most);
        let request = ioctl::copy_chunks(&target.handle, &key, at, len, portion.chunk);
        let answer = self.exchange(request)?;
        let done = ioctl::chunks_answer(&answer.1);
        match (self.expect_success(&answer), done) {
            (Ok(()), Some(done)) if (1..=len).contains(&done.total) => return Ok(done.total),
            (Ok(()), _) => return Err(self.malformed("count of copied bytes")),
            (Err(failure), _) if failure.ends_connection() || failure == Failure::Full => {
                return Err(failure);
            }
            (Err(_), limits) => match answer.0.status {
                // The source is shorter now.
                status::INVALID_VIEW_SIZE => {}
                status::INVALID_PARAMETER => {
                    self.server_copies = limits.and_then(|limits| portion.within(limits));
                }
                _ => self.server_copies = None,
            },
        }
        Ok(0)
    }

    /// Reads the next pieces of a file: none at its end, and none behind one that is short.
    pub(crate) fn read_next(&mut self, source: &Source, at: u64) -> Outcome<Vec<Vec<u8>>> {
        let piece = u64::from(PAYLOAD);
        let left = (source.version.size - at).div_ceil(piece);
        let count = usize::try_from(left).unwrap_or(PIECES).min(PIECES);
        let places = (at..).step_by(PAYLOAD as usize).take(count);
        let chains: Vec<_> = places
            .map(|at| vec![file::read(&source.handle, at, PAYLOAD)])
            .collect();
        let mut pieces = Vec::new();
        for answer in self.exchange_all(&chains)? {
            let is_end = answer.0.status == status::END_OF_FILE;
            if is_end
                || pieces
                    .last()
                    .is_some_and(|last: &Vec<u8>| len32(last) < PAYLOAD)
            {
                break;
            }
            self.expect_success(&answer)?;
            let data = file::read_answer(&answer.1, PAYLOAD).map(<[u8]>::to_vec);
            pieces.push(data.ok_or_else(|| self.malformed("answer with data"))?);
        }
        Ok(pieces)
    }

    /// Writes pieces behind each other, in this order.
    pub(crate) fn write_next(
        &mut self,
        target: &OpenFile,
        mut at: u64,
        pieces: &[Vec<u8>],
    ) -> Outcome<()> {
        for some in pieces.chunks(self.credits().clamp(1, PIECES)) {
            let mut chain = Vec::new();
            for piece in some {
                let write = match chain.is_empty() {
                    true => file::write(&target.handle, at, piece, 0),
                    false => file::write(&LAST, at, piece, 0).related(),
                };
                chain.push(write);
                at += u64::from(len32(piece));
            }
            let answers = self.exchange_all(&[chain])?;
            for (answer, piece) in answers.iter().zip(some) {
                self.expect_written(answer, len32(piece))?;
            }
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self, target: &OpenFile) -> Outcome<()> {
        self.call(file::flush(&target.handle)).map(drop)
    }
}

impl Present {
    /// Whether its name is another one in its case alone: the server took it for that of the path.
    pub(crate) fn is_other_than(&self, name: &Name) -> bool {
        let is_other = |found: &[u16]| {
            found != name.units() && name::upper(&String::from_utf16_lossy(found)) == name.folded()
        };
        self.name.as_deref().is_some_and(is_other)
    }
}

impl Version {
    fn of(opened: &create::Answer) -> Self {
        Self {
            size: opened.size,
            basic: opened.basic,
        }
    }

    /// Those that a copy has too.
    pub(crate) fn attributes(&self) -> u32 {
        self.basic.attributes & create::COPIED
    }

    fn is_still(&self, closed: Option<(u64, u64)>) -> bool {
        closed == Some((self.size, self.basic.written))
    }
}

fn is_file(opened: &create::Answer) -> Outcome<()> {
    match kind(opened.basic.attributes) {
        Kind::File => Ok(()),
        Kind::Folder => Err(Failure::IsAFolder),
        Kind::Link => Err(Failure::Link),
    }
}

/// Of what one message carries.
fn len32(data: &[u8]) -> u32 {
    u32::try_from(data.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Basic, Failure, LAST, create, is_file};

    #[test]
    fn only_a_file_is_read() {
        let link = create::REPARSE_POINT;
        for (attributes, expected) in [
            (create::NORMAL, Ok(())),
            (create::DIRECTORY, Err(Failure::IsAFolder)),
            (link, Err(Failure::Link)),
            (link | create::DIRECTORY, Err(Failure::Link)),
        ] {
            let basic = Basic {
                attributes,
                ..Basic::default()
            };
            let opened = create::Answer {
                handle: LAST,
                size: 0,
                basic,
            };
            assert_eq!(is_file(&opened), expected, "{attributes:#x}");
        }
    }
}
