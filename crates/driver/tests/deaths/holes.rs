//! The holes of files, which disks mostly are.

use std::fs::File;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Where the next data of a file may begin, from an offset on; `None` if only a hole follows.
pub(super) fn next_data(file: &File, offset: u64) -> Option<u64> {
    match seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Some(data),
        Err(Errno::NXIO) => None,
        // Of a filesystem that does not tell, all may be data.
        Err(_) => Some(offset),
    }
}
