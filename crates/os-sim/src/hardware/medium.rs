use std::collections::BTreeMap;
use std::fs::File;
use std::fs::OpenOptions;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

/// What a disk's bytes lie on: a sparse file, or memory. Cheap to clone; clones share the bytes.
#[derive(Debug, Clone)]
pub(crate) enum Medium {
    /// Opened anew for each access, so that somebody can pull the disk out at any time.
    File(PathBuf),
    Memory(Arc<Mutex<SparseBytes>>),
}

/// Bytes of which most are zero.
#[derive(Debug)]
pub(crate) struct SparseBytes {
    blocks: BTreeMap<u64, Box<[u8; BLOCK]>>,
    length: u64,
}

const BLOCK: usize = 512;
const BLOCK_LENGTH: u64 = 512;

impl Medium {
    pub(crate) fn in_memory(length: u64) -> Self {
        Self::Memory(Arc::new(Mutex::new(SparseBytes {
            blocks: BTreeMap::new(),
            length,
        })))
    }

    pub(crate) fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(path) => Ok(path.metadata()?.len()),
            Self::Memory(bytes) => Ok(locked(bytes).length),
        }
    }

    pub(crate) fn set_length(&self, length: u64) -> io::Result<()> {
        match self {
            Self::File(path) => OpenOptions::new().write(true).open(path)?.set_len(length),
            Self::Memory(bytes) => {
                locked(bytes).length = length;
                Ok(())
            }
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
        }
    }

    /// The first `length` bytes as a stream, for code that wants one to read.
    pub(crate) fn reader(&self, length: u64) -> io::Result<Stream<'_>> {
        self.stream(length, |path| File::open(path))
    }

    /// The first `length` bytes as a stream, for code that wants one to read and write.
    pub(crate) fn writer(&self, length: u64) -> io::Result<Stream<'_>> {
        self.stream(length, |path| {
            OpenOptions::new().read(true).write(true).open(path)
        })
    }

    fn stream(
        &self,
        length: u64,
        open: impl FnOnce(&Path) -> io::Result<File>,
    ) -> io::Result<Stream<'_>> {
        let bytes = match self {
            Self::File(path) => Bytes::File(open(path)?),
            Self::Memory(bytes) => Bytes::Memory(bytes),
        };
        Ok(Stream {
            length,
            bytes,
            position: 0,
        })
    }
}

impl SparseBytes {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.check(offset, buffer.len())?;
        each_block(offset, buffer.len(), |block, within, at| {
            let target = &mut buffer[at..at + within.len()];
            match self.blocks.get(&block) {
                Some(bytes) => target.copy_from_slice(&bytes[within]),
                None => target.fill(0),
            }
        });
        Ok(())
    }

    fn write(&mut self, offset: u64, content: &[u8]) -> io::Result<()> {
        self.check(offset, content.len())?;
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

fn locked(bytes: &Mutex<SparseBytes>) -> MutexGuard<'_, SparseBytes> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A medium, or its beginning, as a stream.
pub(crate) struct Stream<'a> {
    length: u64,
    bytes: Bytes<'a>,
    position: u64,
}

enum Bytes<'a> {
    File(File),
    Memory(&'a Mutex<SparseBytes>),
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
        match &mut self.bytes {
            Bytes::File(file) => {
                file.seek(SeekFrom::Start(self.position))?;
                file.read_exact(buffer)?;
            }
            Bytes::Memory(bytes) => locked(bytes).read(self.position, buffer)?,
        }
        self.advance(count);
        Ok(count)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        let count = self.fitting(content.len());
        let content = &content[..count];
        match &mut self.bytes {
            Bytes::File(file) => {
                file.seek(SeekFrom::Start(self.position))?;
                file.write_all(content)?;
            }
            Bytes::Memory(bytes) => locked(bytes).write(self.position, content)?,
        }
        self.advance(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
