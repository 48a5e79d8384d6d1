use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::store::{StoreError, failed};

/// In the folder, which others may not enter: elsewhere they could hold the lock.
const NAME: &str = "lock";

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
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(failed("lock", folder)(error)),
    }
    if !patience.is_zero() {
        tracing::warn!(
            "another process has the records in {}: waiting {patience:?} for its end",
            folder.display()
        );
        if let Some(file) = take_within(file, folder, patience)? {
            return Ok(file);
        }
    }
    let folder = folder.to_owned();
    Err(StoreError::InUse { folder })
}

/// The system bounds no wait for a lock, so a thread waits, which outlives this call if the lock does not come.
fn take_within(file: File, folder: &Path, patience: Duration) -> Result<Option<File>, StoreError> {
    let (sender, locked) = mpsc::channel();
    let wait = move || {
        let taken = file.lock().map(|()| file);
        // Where nobody waits any more, the lock goes with the file.
        drop(sender.send(taken));
    };
    let thread = thread::Builder::new().name(String::from("records"));
    thread.spawn(wait).map_err(failed("wait for", folder))?;
    let taken = locked.recv_timeout(patience).ok().transpose();
    taken.map_err(failed("lock", folder))
}
