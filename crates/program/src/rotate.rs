//! A file of lines, rotated by size, for the log and the audit log.
//!
//! klog empties an oversized file; here it is renamed, so its last lines are never lost, and the number of old files is
//! bounded. Any failure of the file system is an error of one line, and the next line tries again.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is looked whether the file is still there.
const LOOK: Duration = Duration::from_secs(1);

/// How large a file may grow, and how many full ones are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In bytes; `None` is without bound.
    bytes: Option<u64>,
    backups: u32,
}

impl Limits {
    /// Files of so many megabytes, 0 meaning any size, and so many full ones beside the current.
    pub fn megabytes(megabytes: u64, backups: u32) -> Self {
        let bytes = megabytes.saturating_mul(1 << 20);
        Self {
            bytes: (bytes > 0).then_some(bytes),
            backups,
        }
    }
}

/// The file. Lines are not held back: the operating system has each written line.
pub struct RotatingFile {
    path: PathBuf,
    limits: Limits,
    header: fn() -> String,
    file: Option<File>,
    length: u64,
    looked: Instant,
    /// A failed rotation is tried again when the file is this long.
    rotate_at: u64,
    /// The last write ended within a line.
    is_torn: bool,
}

impl RotatingFile {
    /// Opens the file to append to it. `header` makes the first lines of every new file.
    pub fn open(path: PathBuf, limits: Limits, header: fn() -> String) -> io::Result<Self> {
        let mut rotating = Self {
            path,
            limits,
            header,
            file: None,
            length: 0,
            looked: Instant::now(),
            rotate_at: 0,
            is_torn: false,
        };
        rotating.reopen()?;
        Ok(rotating)
    }

    /// Appends one line with its end.
    ///
    /// # Errors
    /// The system does not take it. The next line is tried all the same.
    pub fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.look()?;
        if self.is_full(line.len()) {
            self.rotate()?;
        }
        let outcome = self.append(line);
        if outcome.is_err() {
            self.is_torn = true;
            self.measure();
        }
        outcome
    }

    /// Another process may have removed or renamed the file: later lines in it are lost.
    fn look(&mut self) -> io::Result<()> {
        let is_due = self.looked.elapsed() >= LOOK;
        if is_due {
            self.looked = Instant::now();
        }
        match &self.file {
            Some(_) if !is_due || self.is_in_place() => Ok(()),
            None if !is_due => Err(io::Error::other("the file is not open")),
            _ => self.reopen(),
        }
    }

    fn is_in_place(&self) -> bool {
        let metadata = fs::metadata(&self.path);
        metadata.is_ok_and(|metadata| !metadata.is_dir())
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.file = None;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        self.length = file.metadata()?.len();
        self.file = Some(file);
        self.rotate_at = self.limits.bytes.unwrap_or(u64::MAX);
        match self.length {
            0 => self.append((self.header)().as_bytes()),
            _ => Ok(()),
        }
    }

    fn is_full(&self, more: usize) -> bool {
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        self.length > 0 && self.length.saturating_add(more) > self.rotate_at
    }

    /// The current file becomes the newest of the old ones. When it cannot, it goes on growing for a
    /// while: an overlong file is better than a lost one.
    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        let renamed = (1..=self.limits.backups).rev().try_for_each(|number| {
            let from = self.backup(number - 1);
            match fs::rename(&from, self.backup(number)) {
                // Not every old file exists yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                outcome => outcome,
            }
        });
        self.reopen()?;
        if renamed.is_err() {
            let step = self.limits.bytes.unwrap_or(0) / 8 + 1;
            self.rotate_at = self.length.saturating_add(step);
        }
        Ok(())
    }

    /// `log.1` is the newest old file; number 0 is the current one.
    fn backup(&self, number: u32) -> PathBuf {
        match number {
            0 => self.path.clone(),
            _ => with_suffix(&self.path, number),
        }
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let file = self
            .file
            .as_mut()
            .ok_or_else(|| io::Error::other("the file is not open"))?;
        if self.is_torn {
            file.write_all(b"\n")?;
            self.is_torn = false;
            self.length += 1;
        }
        file.write_all(line)?;
        let written = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.length = self.length.saturating_add(written);
        Ok(())
    }

    /// After a failed write the file's length is unknown.
    fn measure(&mut self) {
        if let Some(Ok(metadata)) = self.file.as_ref().map(File::metadata) {
            self.length = metadata.len();
        }
    }
}

fn with_suffix(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{LOOK, Limits, RotatingFile};

    fn open(path: &Path, bytes: u64, backups: u32) -> RotatingFile {
        let limits = Limits {
            bytes: Some(bytes),
            backups,
        };
        RotatingFile::open(path.to_owned(), limits, || String::from("head\n")).expect("opened")
    }

    fn read(path: &Path, suffix: &str) -> String {
        let path = PathBuf::from(format!("{}{suffix}", path.display()));
        fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn full_files_are_renamed_and_only_so_many_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = open(&path, 15, 2);
        for number in 0..10 {
            file.write(format!("line{number}\n").as_bytes())
                .expect("written");
        }
        assert_eq!(read(&path, ""), "head\nline9\n");
        assert_eq!(read(&path, ".1"), "head\nline8\n");
        assert_eq!(read(&path, ".2"), "head\nline7\n");
        assert_eq!(read(&path, ".3"), "");
    }

    #[test]
    fn an_existing_file_is_continued_without_another_header() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        open(&path, 1000, 1).write(b"a\n").expect("written");
        open(&path, 1000, 1).write(b"b\n").expect("written");
        assert_eq!(read(&path, ""), "head\na\nb\n");
    }

    #[test]
    fn a_rotation_that_fails_loses_nothing_and_is_tried_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = open(&path, 10, 1);
        // A non-empty folder cannot be replaced by a file.
        let blocker = folder.path().join("log.1");
        fs::create_dir_all(blocker.join("x")).expect("a folder");
        for line in ["one\n", "two\n", "three\n"] {
            file.write(line.as_bytes()).expect("written");
        }
        assert_eq!(read(&path, ""), "head\none\ntwo\nthree\n");
        fs::remove_dir_all(&blocker).expect("removed");
        file.write(b"four\n").expect("written");
        assert_eq!(read(&path, ""), "head\nfour\n");
        assert_eq!(read(&path, ".1"), "head\none\ntwo\nthree\n");
    }

    #[test]
    fn a_file_that_was_removed_or_renamed_comes_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = open(&path, 1000, 1);
        file.write(b"a\n").expect("written");
        fs::rename(&path, folder.path().join("moved")).expect("renamed");
        file.looked -= LOOK;
        file.write(b"b\n").expect("written");
        assert_eq!(read(&path, ""), "head\nb\n");
    }

    #[test]
    fn after_a_write_that_failed_the_next_line_begins_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = open(&path, 1000, 1);
        let good = file
            .file
            .replace(fs::File::open(&path).expect("for reading alone"));
        assert!(file.write(b"lost\n").is_err());
        file.file = good;
        file.write(b"a\n").expect("written");
        file.write(b"b\n").expect("written");
        assert_eq!(read(&path, ""), "head\n\na\nb\n");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_of_each_line_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut file = open(&path, 1000, 1);
        fs::rename(&path, folder.path().join("moved")).expect("renamed");
        fs::create_dir(&path).expect("a folder in its place");
        file.looked -= LOOK;
        assert!(file.write(b"a\n").is_err());
        assert!(file.write(b"b\n").is_err());
        fs::remove_dir(&path).expect("removed");
        file.looked -= LOOK;
        file.write(b"c\n").expect("written");
        assert_eq!(read(&path, ""), "head\nc\n");
    }
}
