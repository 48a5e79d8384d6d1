//! What nobody asks for any more: copies whose claims were deleted meanwhile, deletes that nobody repeated. It is logged, and
//! nothing goes by its age.

use smb::SharePath;

use super::call::{Call, Files};
use super::names::text;
use super::running::lock;

/// How many entries of each folder are logged.
const MOST: usize = 100;
/// How many of the server's units of time a minute has.
const MINUTE: u64 = 600_000_000;

impl Call<'_> {
    /// Once a process and base folder, as soon as the server's clock is known: all but the copy that this call works on.
    pub(super) fn log_leftovers(&mut self, own: Option<&Files>) {
        if self.now == 0 || !lock(&self.volumes.noticed).insert(self.base.key()) {
            return;
        }
        for folder in [self.clones.clone(), self.deleted.clone()] {
            self.log_entries(&folder, own);
        }
    }

    fn log_entries(&mut self, folder: &SharePath, own: Option<&Files>) {
        // It is missing, or the call's own work shows what is wrong.
        let Ok(listing) = self.share.list(folder, MOST, self.by) else {
            return;
        };
        let place = self.base.at(folder);
        for entry in listing.entries {
            let path = folder.join(&entry.name);
            if own.is_some_and(|own| path.as_ref() == Ok(&own.copy)) {
                continue;
            }
            let minutes = self.now.saturating_sub(entry.changed) / MINUTE;
            let (name, id) = (text(&entry.name).escape_debug().to_string(), entry.id.0);
            tracing::warn!("{place} has {name} (id {id:#x}), which changed {minutes} min ago");
        }
        if listing.has_more {
            tracing::warn!("{place} has more than {MOST} entries");
        }
    }
}
