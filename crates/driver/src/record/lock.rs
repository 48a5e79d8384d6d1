use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{mem, thread};

use super::store::{StoreError, failed};

/// In the folder, which others may not enter: elsewhere they could hold the lock.
const NAME: &str = "lock";

/// How often a process that waits tries again.
const PAUSE: Duration = Duration::from_millis(50);

/// Makes this process the one that has a folder's records, as long as the file is open: the system closes it when the
/// process ends, however it ends. Waits so long for another process that has them.
pub(super) fn take(folder: &Path, patience: Duration) -> Result<File, StoreError> {
    let file = folder.join(NAME);
    // Not truncated, which Windows may refuse where another process has a range of it locked.
    let opened = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&file);
    let file = opened.map_err(failed("make", &file))?;
    let end = Instant::now() + patience;
    let mut reported = false;
    while !is_taken(&file, folder)? {
        if Instant::now() >= end {
            let folder = folder.to_owned();
            return Err(StoreError::InUse { folder });
        }
        if !mem::replace(&mut reported, true) {
            tracing::warn!(
                "another process has the records in {}: waiting {patience:?} for its end",
                folder.display()
            );
        }
        thread::sleep(PAUSE);
    }
    Ok(file)
}

fn is_taken(file: &File, folder: &Path) -> Result<bool, StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(failed("lock", folder)(error)),
    }
}
