//! How many calls wait for servers of volumes at a time.
//!
//! A server that does not answer keeps a call for it as long as a call may last. Kubelet is one process, which may have
//! [`CALLS`] at a time: what is left of them is for volumes without a server, and for calls that take volumes down.

use crate::in_flight::CALLS;
use crate::record::Lifetime;
use crate::unpoisoned::Unpoisoned;

/// Calls for inline volumes. Few: a person who may create pods names their servers.
const MOST_INLINE: usize = CALLS / 4;

/// Calls for volumes with a server. A quarter of kubelet's calls is left.
const MOST: usize = CALLS / 4 * 3;

/// The calls that may wait for a server now.
#[derive(Debug, Default)]
pub(super) struct ServerWaits(Unpoisoned<Counts>);

#[derive(Debug, Default)]
struct Counts {
    inline: usize,
    all: usize,
}

/// Too many calls wait for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{most} calls for {volumes} wait for their servers, which is the most: this one may be repeated"
)]
pub struct TooManyWaiting {
    pub volumes: &'static str,
    pub most: usize,
}

/// A call that may wait, until it is dropped.
#[derive(Debug)]
pub(super) struct WaitingCall<'a> {
    of: &'a ServerWaits,
    lifetime: Lifetime,
}

impl ServerWaits {
    /// Lets a call begin that may wait for the server of such a volume; none waits where the kind has no servers.
    pub(super) fn begin(
        &self,
        volumes: Option<&'static str>,
        lifetime: Lifetime,
    ) -> Result<Option<WaitingCall<'_>>, TooManyWaiting> {
        let Some(volumes) = volumes else {
            return Ok(None);
        };
        let mut counts = self.0.lock();
        if counts.all >= MOST {
            let most = MOST;
            return Err(TooManyWaiting { volumes, most });
        }
        if lifetime == Lifetime::Inline {
            if counts.inline >= MOST_INLINE {
                let (volumes, most) = ("inline volumes", MOST_INLINE);
                return Err(TooManyWaiting { volumes, most });
            }
            counts.inline += 1;
        }
        counts.all += 1;
        let of = self;
        Ok(Some(WaitingCall { of, lifetime }))
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        let mut counts = self.of.0.lock();
        counts.all -= 1;
        if self.lifetime == Lifetime::Inline {
            counts.inline -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_volumes_leave_room_for_others_and_shares_for_disks() {
        let waiting = ServerWaits::default();
        let begin = |lifetime, most: usize| -> Vec<_> {
            let calls = (0..most).map(|_| waiting.begin(Some("shares"), lifetime).unwrap());
            calls.collect()
        };
        let inline = begin(Lifetime::Inline, MOST_INLINE);
        let refused = waiting.begin(Some("shares"), Lifetime::Inline).unwrap_err();
        let text = format!("{MOST_INLINE} calls for inline volumes wait");
        assert!(refused.to_string().starts_with(&text), "{refused}");
        let persistent = begin(Lifetime::Persistent, MOST - MOST_INLINE);
        for lifetime in [Lifetime::Persistent, Lifetime::Inline] {
            let refused = waiting.begin(Some("shares"), lifetime).unwrap_err();
            let text = format!("{MOST} calls for shares wait");
            assert!(refused.to_string().starts_with(&text), "{refused}");
        }
        drop(inline);
        drop(begin(Lifetime::Inline, MOST_INLINE));
        drop(persistent);
        drop(begin(Lifetime::Persistent, MOST));
    }
}
