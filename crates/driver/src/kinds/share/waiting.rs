//! How many calls wait for servers of shares at a time.
//!
//! A server that does not answer keeps a call for it as long as a call may last. Kubelet is one process, which may have
//! [`CALLS`] at a time: what is left of them is for disks, and for calls that take volumes down.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::StageError;
use crate::in_flight::CALLS;
use crate::life::Volumes;
use crate::record::{Lifetime, Record, Slot, VolumeHandle, What};

/// Calls for inline volumes. Few: a person who may create pods names their servers.
const MOST_INLINE: usize = CALLS / 4;

/// Calls for shares. A quarter of kubelet's calls is left.
const MOST: usize = CALLS / 4 * 3;

/// The calls that may wait for a server now.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    inline: usize,
    all: usize,
}

/// Too many calls wait for servers of shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{most} calls for {} wait for their servers, which is the most: this one may be repeated", match lifetime {
    Lifetime::Inline => "inline volumes",
    Lifetime::Persistent => "shares",
})]
pub struct Crowded {
    /// For which volumes they are; persistent are all.
    pub lifetime: Lifetime,
    /// How many they are.
    pub most: usize,
}

/// A call that may wait, until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitingCall<'a> {
    of: &'a Waiting,
    lifetime: Lifetime,
}

impl Waiting {
    /// Lets a call begin that may wait for the server of such a volume.
    pub(crate) fn begin(&self, lifetime: Lifetime) -> Result<WaitingCall<'_>, Crowded> {
        let mut counts = self.lock();
        let crowded = |lifetime, most| Err(Crowded { lifetime, most });
        if counts.all >= MOST {
            return crowded(Lifetime::Persistent, MOST);
        }
        if lifetime == Lifetime::Inline {
            if counts.inline >= MOST_INLINE {
                return crowded(lifetime, MOST_INLINE);
            }
            counts.inline += 1;
        }
        counts.all += 1;
        Ok(WaitingCall { of: self, lifetime })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let mut counts = self.of.lock();
        counts.all -= 1;
        if self.lifetime == Lifetime::Inline {
            counts.inline -= 1;
        }
    }
}

impl Volumes {
    /// Has a place among the calls that wait for servers, and the volume's turn, while a share is staged.
    pub(crate) fn in_turn<E: From<StageError>>(
        &self,
        volume: &VolumeHandle,
        lifetime: Lifetime,
        stage: impl FnOnce(&Slot<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let shared = |error| E::from(StageError::Shared(error));
        let waiting = self.shares.waiting.begin(lifetime);
        let _waiting = waiting.map_err(|crowded| shared(crowded.into()))?;
        let turn = self.running.alone(volume);
        let _turn = turn.map_err(|busy| shared(busy.into()))?;
        let slot = self.store.slot(volume);
        stage(&slot.map_err(|error| shared(error.into()))?)
    }

    /// Lets a call begin that may wait for the server of a share without a record.
    pub(crate) fn wait_for_a_server(&self) -> Result<WaitingCall<'_>, Crowded> {
        self.shares.waiting.begin(Lifetime::Persistent)
    }

    /// Lets a call begin that may wait for the server of a recorded share; none waits for that of a disk.
    pub(crate) fn wait_for_server_of(
        &self,
        record: &Record,
    ) -> Result<Option<WaitingCall<'_>>, Crowded> {
        match &record.what {
            What::Share(share) => self.shares.waiting.begin(share.lifetime).map(Some),
            What::Disk(_) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_volumes_leave_room_for_others_and_shares_for_disks() {
        let waiting = Waiting::default();
        let begin = |lifetime, most: usize| -> Vec<_> {
            let calls = (0..most).map(|_| waiting.begin(lifetime).unwrap());
            calls.collect()
        };
        let inline = begin(Lifetime::Inline, MOST_INLINE);
        let refused = waiting.begin(Lifetime::Inline).unwrap_err();
        let text = format!("{MOST_INLINE} calls for inline volumes wait");
        assert!(refused.to_string().starts_with(&text), "{refused}");
        let persistent = begin(Lifetime::Persistent, MOST - MOST_INLINE);
        for lifetime in [Lifetime::Persistent, Lifetime::Inline] {
            let refused = waiting.begin(lifetime).unwrap_err();
            let text = format!("{MOST} calls for shares wait");
            assert!(refused.to_string().starts_with(&text), "{refused}");
        }
        drop(inline);
        drop(begin(Lifetime::Inline, MOST_INLINE));
        drop(persistent);
        drop(begin(Lifetime::Persistent, MOST));
    }
}
