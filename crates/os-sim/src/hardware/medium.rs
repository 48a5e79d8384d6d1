use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::parts::Parts;

/// The store of a disk's bytes: a sparse file, or memory. Cheap to clone; clones share the bytes.
#[derive(Debug, Clone)]
pub(crate) enum Medium {
    /// Opened for each access, so that the disk can be pulled out at any time.
    File(PathBuf),
    Memory(Arc<Mutex<SparseBytes>>),
    /// Not a disk's own: parts of several, one behind the other, as a volume of dynamic disks has them.
    Parts(Parts),
}

/// Bytes of which most are zero.
#[derive(Debug)]
pub(crate) struct SparseBytes {
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
    length: u64,
    /// How often anything was written.
    changes: u64,
}

const BLOCK: usize = 512;
const BLOCK_LENGTH: u64 = 512;

impl Medium {
    pub(crate) fn in_memory(length: u64) -> Self {
        Self::Memory(Arc::new(Mutex::new(SparseBytes {
            blocks: BTreeMap::new(),
            length,
            changes: 0,
        })))
    }

    /// A number that changes with the content; `None` where only reading tells.
    pub(crate) fn generation(&self) -> Option<u64> {
        match self {
            Self::Memory(bytes) => Some(locked(bytes).changes),
            Self::File(_) | Self::Parts(_) => None,
        }
    }

    pub(crate) fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(path) => Ok(path.metadata()?.len()),
            Self::Memory(bytes) => Ok(locked(bytes).length),
            Self::Parts(parts) => Ok(parts.length()),
        }
    }

    pub(crate) fn set_length(&self, length: u64) -> io::Result<()> {
        match self {
            Self::File(path) => OpenOptions::new().write(true).open(path)?.set_len(length),
            Self::Memory(bytes) => {
                let mut bytes = locked(bytes);
                bytes.changes += 1;
                bytes.length = length;
                Ok(())
            }
            Self::Parts(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(path) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(buffer)
            }
            Self::Memory(bytes) => locked(bytes).read(offset, buffer),
            Self::Parts(parts) => parts.read(offset, buffer),
        }
    }

    pub(crate) fn write(&self, offset: u64, content: &[u8]) -> io::Result<()> {
        match self {
            Self::File(path) => {
                let mut file = OpenOptions::new().write(true).open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(content)
            }
            Self::Memory(bytes) => locked(bytes).write(offset, content),
            Self::Parts(parts) => parts.write(offset, content),
        }
    }

    /// The first `length` bytes as a stream, for code that wants one to read.
    pub(crate) fn reader(&self, length: u64) -> io::Result<Stream<'_>> {
        self.stream(length, |path| File::open(path))
    }

    /// Has the first `length` bytes written as a stream, by code that wants one.
    pub(crate) fn write_stream(
        &self,
        length: u64,
        act: impl FnOnce(&mut Stream<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut stream = self.stream(length, |path| {
            OpenOptions::new().read(true).write(true).open(path)
        })?;
        act(&mut stream)?;
        stream.flush()
    }

    fn stream(
        &self,
        length: u64,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> io::Result<Stream<'_>> {
        let bytes = match self {
            Self::File(path) => Bytes::File(open(path)?),
            Self::Memory(bytes) => Bytes::Memory(bytes),
            Self::Parts(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Stream {
            length,
            pieces: Pieces::of(bytes),
            position: 0,
        })
    }
}

impl SparseBytes {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.check(offset, buffer.len())?;
        buffer.fill(0);
        let end = offset + length(buffer);
        for (block, bytes) in self
            .blocks
            .range(offset / BLOCK_LENGTH..end.div_ceil(BLOCK_LENGTH))
        {
            let begins = block * BLOCK_LENGTH;
            let (from, to) = (begins.max(offset), end.min(begins + BLOCK_LENGTH));
            buffer[place(from - offset)..place(to - offset)]
                .copy_from_slice(&bytes[place(from - begins)..place(to - begins)]);
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, content: &[u8]) -> io::Result<()> {
        self.check(offset, content.len())?;
        self.changes += 1;
        each_block(offset, content.len(), |block, within, at| {
            let source = &content[at..at + within.len()];
            let is_blank = source.iter().all(|byte| *byte == 0);
            if is_blank && !self.blocks.contains_key(&block) {
                return;
            }
            let bytes = self
                .blocks
                .entry(block)
                .or_insert_with(|| Box::new([0; BLOCK]));
            bytes[within].copy_from_slice(source);
        });
        Ok(())
    }

    fn check(&self, offset: u64, count: usize) -> io::Result<()> {
        let end = u64::try_from(count)
            .ok()
            .and_then(|count| offset.checked_add(count));
        match end {
            Some(end) if end <= self.length => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Calls `act` with each block that a stretch touches, the part of the block, and where in the
/// stretch that part begins.
fn each_block(offset: u64, count: usize, mut act: impl FnMut(u64, Range<usize>, usize)) {
    let mut done = 0;
    let mut block = offset / BLOCK_LENGTH;
    let mut start = usize::try_from(offset % BLOCK_LENGTH).unwrap_or_default();
    while done < count {
        let take = (BLOCK - start).min(count - done);
        act(block, start..start + take, done);
        done += take;
        block += 1;
        start = 0;
    }
}

/// A place within what is in memory.
fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn locked(bytes: &Mutex<SparseBytes>) -> MutexGuard<'_, SparseBytes> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A medium, or its beginning, as a stream. What was written is there once it was flushed.
pub(crate) struct Stream<'a> {
    length: u64,
    pieces: Pieces<'a>,
    position: u64,
}

enum Bytes<'a> {
    File(File),
    Memory(&'a Mutex<SparseBytes>),
}

/// Bytes that are read and written in pieces: reading or writing a table accesses a few bytes a
/// hundred times, and each would be two system calls of the host.
struct Pieces<'a> {
    bytes: Bytes<'a>,
    /// The last read bytes, with their offset.
    read: (u64, Vec<u8>),
    /// The bytes to write, with their offset.
    unwritten: (u64, Vec<u8>),
}

/// As long as a table of 128 entries and its header.
const PIECE: u64 = 17 * 1024;

impl Bytes<'_> {
    /// So many from here on, or as many as there are.
    fn read(&mut self, offset: u64, count: u64) -> io::Result<Vec<u8>> {
        match self {
            Self::File(file) => {
                let mut piece = Vec::new();
                file.seek(SeekFrom::Start(offset))?;
                file.take(count).read_to_end(&mut piece)?;
                Ok(piece)
            }
            Self::Memory(bytes) => {
                let bytes = locked(bytes);
                let count = bytes.length.saturating_sub(offset).min(count);
                let mut piece = vec![0; place(count)];
                bytes.read(offset, &mut piece)?;
                Ok(piece)
            }
        }
    }

    fn write(&mut self, offset: u64, content: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => {
                file.seek(SeekFrom::Start(offset))?;
                file.write_all(content)
            }
            Self::Memory(bytes) => locked(bytes).write(offset, content),
        }
    }
}

impl<'a> Pieces<'a> {
    fn of(bytes: Bytes<'a>) -> Self {
        Self {
            bytes,
            read: (0, Vec::new()),
            unwritten: (0, Vec::new()),
        }
    }

    fn read(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(known) = self.known(offset, buffer.len()) {
            buffer.copy_from_slice(known);
            return Ok(());
        }
        self.flush()?;
        let piece = self.bytes.read(offset, PIECE.max(length(buffer)))?;
        self.read = (offset, piece);
        let known = self.known(offset, buffer.len());
        buffer.copy_from_slice(known.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// So many bytes from here on, if they were read and not written since.
    fn known(&self, offset: u64, count: usize) -> Option<&[u8]> {
        let (begins, piece) = &self.read;
        let from = usize::try_from(offset.checked_sub(*begins)?).ok()?;
        piece.get(from..from.checked_add(count)?)
    }

    fn write(&mut self, offset: u64, content: &[u8]) -> io::Result<()> {
        self.read.1.clear();
        let (begins, run) = &self.unwritten;
        let follows = begins + length(run) == offset && length(run) < PIECE;
        if !follows {
            self.flush()?;
            self.unwritten.0 = offset;
        }
        self.unwritten.1.extend_from_slice(content);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let (begins, run) = &mut self.unwritten;
        if run.is_empty() {
            return Ok(());
        }
        self.bytes.write(*begins, run)?;
        run.clear();
        Ok(())
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

impl Stream<'_> {
    fn advance(&mut self, count: usize) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        self.position = self.position.saturating_add(count);
    }

    fn fitting(&self, count: usize) -> usize {
        let left = self.length.saturating_sub(self.position);
        usize::try_from(left).map_or(count, |left| left.min(count))
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fitting(buffer.len());
        let buffer = &mut buffer[..count];
        self.pieces.read(self.position, buffer)?;
        self.advance(count);
        Ok(count)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let count = self.fitting(content.len());
        let content = &content[..count];
        self.pieces.write(self.position, content)?;
        self.advance(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pieces.flush()
    }
}

impl Seek for Stream<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, SeekFrom, Write};

    use super::Medium;

    fn media(length: u64) -> (tempfile::TempDir, [Medium; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.img");
        File::create(&path).unwrap().set_len(length).unwrap();
        (folder, [Medium::File(path), Medium::in_memory(length)])
    }

    #[test]
    fn what_is_written_is_read_and_the_rest_is_zero() {
        let (_folder, media) = media(4096);
        for medium in media {
            medium.write(510, b"wincsi").unwrap();
            let mut buffer = [1; 10];
            medium.read(508, &mut buffer).unwrap();
            assert_eq!(&buffer, b"\0\0wincsi\0\0");
        }
    }

    #[test]
    fn what_a_stream_wrote_here_and_there_is_read_from_it_and_from_the_medium() {
        let (_folder, media) = media(64 * 1024);
        for medium in media {
            let written = medium.write_stream(64 * 1024, |stream| {
                for (at, text) in [(100, "one"), (103, "two"), (60_000, "far"), (101, "N")] {
                    stream.seek(SeekFrom::Start(at))?;
                    stream.write_all(text.as_bytes())?;
                    let mut same = vec![0; text.len()];
                    stream.seek(SeekFrom::Start(at))?;
                    stream.read_exact(&mut same)?;
                    assert_eq!(same, text.as_bytes());
                }
                Ok(())
            });
            written.unwrap();
            let mut near = [0; 6];
            medium.read(100, &mut near).unwrap();
            assert_eq!(&near, b"oNetwo");
            let mut stream = medium.reader(64 * 1024).unwrap();
            let mut far = [0; 4];
            for at in [60_000, 60_002, 59_999] {
                stream.seek(SeekFrom::Start(at)).unwrap();
                stream.read_exact(&mut far[..3]).unwrap();
            }
            assert_eq!(&far, b"\0fa\0");
        }
    }

    #[test]
    fn what_is_in_memory_has_another_number_after_each_change() {
        let medium = Medium::in_memory(4096);
        let mut numbers = vec![medium.generation()];
        medium.write(512, b"wincsi").unwrap();
        numbers.push(medium.generation());
        medium.set_length(8192).unwrap();
        numbers.push(medium.generation());
        let streamed = medium.write_stream(4096, |stream| stream.write_all(b"w"));
        streamed.unwrap();
        numbers.push(medium.generation());
        assert!(
            numbers.iter().all(Option::is_some) && numbers.is_sorted_by(|one, next| one < next)
        );
        medium.read(0, &mut [0; 512]).unwrap();
        assert_eq!(Some(&medium.generation()), numbers.last());
    }

    #[test]
    fn a_stream_ends_where_it_was_told_to() {
        let (_folder, media) = media(4096);
        for medium in media {
            let mut stream = medium.reader(1000).unwrap();
            stream.seek(SeekFrom::Start(990)).unwrap();
            let mut content = Vec::new();
            assert_eq!(stream.read_to_end(&mut content).unwrap(), 10);
        }
    }

    #[test]
    fn a_medium_ends_where_it_ends_until_it_grows() {
        let (_folder, media) = media(1024);
        for medium in media {
            let mut buffer = [0; 512];
            assert!(medium.read(768, &mut buffer).is_err());
            medium.set_length(2048).unwrap();
            medium.read(768, &mut buffer).unwrap();
            assert_eq!(medium.length().unwrap(), 2048);
        }
    }
}
