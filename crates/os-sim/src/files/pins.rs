//! Directories that someone holds in place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use os::{Cause, Win32};

use super::names;

/// How often each directory is pinned, by its host path: two paths of the node may lead to one
/// directory.
#[derive(Default)]
pub(super) struct Pins {
    counts: Mutex<HashMap<String, usize>>,
}

impl Pins {
    /// Pins a directory until the answer is dropped.
    pub(super) fn hold(pins: &Arc<Self>, host: PathBuf) -> PinGuard {
        let key = key(&host);
        *pins.counts().entry(key.clone()).or_default() += 1;
        PinGuard {
            pins: Arc::clone(pins),
            key,
        }
    }

    /// Refuses changes of a pinned directory.
    pub(super) fn refuse(&self, host: &Path) -> Result<(), Cause> {
        if self.counts().contains_key(&key(host)) {
            return Err(Win32::SHARING_VIOLATION.into());
        }
        Ok(())
    }

    fn release(&self, key: &str) {
        let mut counts = self.counts();
        match counts.get_mut(key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                counts.remove(key);
            }
        }
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One pin.
pub(super) struct PinGuard {
    pins: Arc<Pins>,
    key: String,
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        self.pins.release(&self.key);
    }
}

fn key(host: &Path) -> String {
    names::fold(host.as_os_str())
}
