use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::store::{StoreError, failed};

/// In the folder, which others may not enter: elsewhere they could hold the lock.
const NAME: &str = "lock";

/// How often the lock is tried while another process has it.
const PAUSE: Duration = Duration::from_millis(10);

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
    let began = Instant::now();
    if is_taken(&file, folder)? {
        return Ok(file);
    }
    if !patience.is_zero() {
        tracing::warn!(
            "another process has the records in {}: waiting {patience:?} for its end",
            folder.display()
        );
    }
    // The system bounds no wait for a lock.
    while began.elapsed() < patience {
        thread::sleep(PAUSE);
        if is_taken(&file, folder)? {
            return Ok(file);
        }
    }
    let folder = folder.to_owned();
    Err(StoreError::InUse { folder })
}

fn is_taken(file: &File, folder: &Path) -> Result<bool, StoreError> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(failed("lock", folder)(error)),
    }
}
