//! Renewal of mappings (remove and make again), under the locks of their share and its server.
//!
//! The node reads a mapped share before it reuses the mapping. What it does then:
//!
//! | the read returns | the mapping | the call |
//! |---|---|---|
//! | success | stays | succeeds |
//! | a code of the network or of the server (`smb::look` lists them) | stays | fails with "server away" |
//! | the same, but Windows does not call the mapping OK, the server's TCP port answers, and no other user is known to have mapped it | is renewed | ends as the renewal does |
//! | the same over QUIC | stays; a second mapping is tried beside it | ends as the second mapping does |
//! | a refusal, and the requested folder answers | stays | succeeds |
//! | access denied (5), and this process made it with these credentials | stays | succeeds |
//! | another refusal, and this process made it with these credentials | stays | fails: the server would refuse again |
//! | a refusal, and it is known to be another user's | stays | fails |
//! | a refusal otherwise, and again under the server's lock | is renewed | ends as the renewal does |
//! | any other code | stays | fails |

use std::sync::atomic::Ordering;
use std::time::Duration;

use os::{Instance, Win32};

use super::look::{self, Seen};
use super::mapping::{Share, TURN_WITHIN};
use super::table::{Removal, is_not_ok, status_of};
use super::{MapOutcome, SmbError};
use crate::Unfinished;
use crate::locks::{Key, LockGuard, Wait};
use crate::outcomes::PendingCall;
use crate::provider::ProviderError;

/// A call that makes a mapping, under the lock of the server.
///
/// A dead server takes up to a minute to fail one mapping. Calls that waited for the lock meanwhile get the same error
/// instead of trying again: fifty shares of it take as long as one.
pub(super) struct Turn<'a> {
    call: PendingCall<'a, String, ProviderError>,
    /// Whether other calls had the lock first, so that earlier reads may be out of date.
    has_waited: bool,
}

impl Turn<'_> {
    /// To be called when a mapping failed because the server is away.
    pub(super) fn found_away(&self, error: &ProviderError) {
        self.call.publish((), (self.call.now(), error.clone()));
    }
}

impl<'a> Share<'a> {
    /// Maps a share that is not mapped.
    pub(super) fn make(&self, held: &mut LockGuard) -> Result<MapOutcome, SmbError> {
        let turn = self.turn(held, |error| {
            tracing::info!(
                share = self.remote.share(),
                "an SMB share is not mapped: its server was found away while this call waited for it"
            );
            self.named(error).into()
        })?;
        self.make_in_turn(&turn)
    }

    /// Handles a mapping that Windows does not call OK, and whose read found the server away.
    ///
    /// Some stay dead although the server works, for example after a restart of the node, and must be removed before
    /// another can be made (azurefile-csi-driver#3416, csi-driver-smb#1219). The mapping is renewed if the server
    /// answers at the port of the new one: if the server were away, other users would lose the mapping for nothing.
    /// A mapping known to be another user's stays.
    pub(super) fn renew(
        &self,
        why: os::Error,
        held: &mut LockGuard,
    ) -> Result<MapOutcome, SmbError> {
        if self.request.keep || self.is_of_other() {
            return Err(self.away(why));
        }
        let Some(port) = self.options.probe_port() else {
            return self.make_beside(why, held);
        };
        if !self.port_answers(port)? {
            return Err(self.away(why));
        }
        let turn = self.turn(held, |_| self.away(why))?;
        let answers = !turn.has_waited || self.port_answers(port)?;
        match self.seen_again()? {
            None => self.make_in_turn(&turn),
            Some((mapping, Seen::Away(why))) if answers && is_not_ok(&mapping) => {
                self.replace(&mapping, &why, &turn)
            }
            Some((mapping, seen)) => self.reuse_seen(&mapping, seen),
        }
    }

    /// Handles a mapping whose read is refused: accounts may have access only below the share's root, or the
    /// password was changed since, and the mapping is of no use.
    pub(super) fn denied(
        &self,
        mapping: &Instance,
        why: os::Error,
        held: &mut LockGuard,
    ) -> Result<MapOutcome, SmbError> {
        let is_same = self.known_as() == MapOutcome::Reused;
        let is_at_home = is_same && why.win32() == Some(Win32::ACCESS_DENIED);
        if is_at_home || self.folder_answers()? {
            return self.reuse(mapping);
        }
        if is_same || self.request.keep {
            // The server would refuse the same credentials again.
            return Err(ProviderError::from(why).into());
        }
        self.refuse_other_user()?;
        let turn = self.turn(held, |error| self.named(error).into())?;
        self.denied_before(&turn)
    }

    /// Handles a mapping whose read was refused before the server was locked: the read may be another call's, from
    /// while this one waited for the share's lock.
    fn denied_before(&self, turn: &Turn<'_>) -> Result<MapOutcome, SmbError> {
        match self.seen_again()? {
            None => self.make_in_turn(turn),
            Some((mapping, Seen::Denied(why))) => match self.folder_answers()? {
                true => self.reuse(&mapping),
                false => self.replace(&mapping, &why, turn),
            },
            Some((mapping, seen)) => self.reuse_seen(&mapping, seen),
        }
    }

    /// The share's mapping, if it still exists, and its state. To be called under both locks, right before the
    /// removal of the mapping: Windows connects a mapping at its next use, and reports its old status until then.
    fn seen_again(&self) -> Result<Option<(Instance, Seen)>, SmbError> {
        let Some(mapping) = self.find(&self.options)? else {
            return Ok(None);
        };
        self.visit.forget();
        Ok(Some((mapping, self.look()?)))
    }

    fn make_in_turn(&self, turn: &Turn<'_>) -> Result<MapOutcome, SmbError> {
        self.create(turn)?;
        Ok(MapOutcome::Made)
    }

    /// Over QUIC no port shows whether the server answers, so nothing is removed: a second mapping is made
    /// beside the existing one, as csi-proxy does.
    fn make_beside(&self, why: os::Error, held: &mut LockGuard) -> Result<MapOutcome, SmbError> {
        let turn = self.turn(held, |_| self.away(why.clone()))?;
        match self.create(&turn) {
            Ok(()) => Ok(MapOutcome::Made),
            Err(error) if look::says_nothing_new(&error) => Err(self.away(why)),
            Err(other) => Err(other.into()),
        }
    }

    fn replace(
        &self,
        mapping: &Instance,
        why: &os::Error,
        turn: &Turn<'_>,
    ) -> Result<MapOutcome, SmbError> {
        let share = self.remote.share();
        tracing::warn!(
            share,
            status = status_of(mapping),
            why = %why.cause,
            mapped_by = self.mapper(),
            "an SMB mapping is of no use, and is removed and made anew"
        );
        self.remove(mapping, Removal::Forced)?;
        let made = self.create(turn);
        if let Err(error) = &made {
            let failed = &self.node.state.smb.failed_renewals;
            failed.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                share,
                %error,
                "an SMB mapping was removed and could not be made anew: the next call tries again"
            );
        }
        Ok(made.map(|()| MapOutcome::Made)?)
    }

    /// Waits for the lock of the server. It admits one mapping at a time: with two users' at once, the first to
    /// arrive would decide which one Windows refuses (1219).
    ///
    /// # Errors
    /// The caller's `away` error, built from the failure of another call that found the server away meanwhile.
    fn turn(
        &self,
        held: &mut LockGuard,
        away: impl FnOnce(ProviderError) -> SmbError,
    ) -> Result<Turn<'a>, SmbError> {
        let server = self.remote.server();
        let mut turn = Turn {
            call: self.node.state.smb.away.begin(server.clone()),
            has_waited: false,
        };
        let key = Key::SmbServer(server);
        let at_once = Wait::at_most(Duration::ZERO, self.deadline);
        match held.add(key.clone(), at_once) {
            Err(Unfinished::Busy { .. }) => {
                turn.has_waited = true;
                held.add(key, Wait::at_most(TURN_WITHIN, self.deadline))?;
            }
            had => had?,
        }
        self.check()?;
        match turn.call.published(&()) {
            Some(error) => Err(away(error)),
            None => Ok(turn),
        }
    }

    fn check(&self) -> Result<(), Unfinished> {
        self.node.check(self.deadline, "map share", self.remote)
    }

    /// Who made the existing mapping, for the log.
    fn mapper(&self) -> &'static str {
        match self.known_as() {
            MapOutcome::ReusedUnknown => "nobody known",
            _ => "this process, as the same user",
        }
    }
}
