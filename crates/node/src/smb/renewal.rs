//! Mappings that are removed and made anew, under the locks of their share and its server.

use std::sync::atomic::Ordering;
use std::time::Duration;

use os::{Instance, Win32};

use super::look::{self, Seen};
use super::mapping::{Share, TURN_WITHIN};
use super::table::{is_not_ok, status_of};
use super::turns::Turn;
use super::wanted::Wanted;
use super::{MapOutcome, SmbError};
use crate::Unfinished;
use crate::locks::{Held, Key, Wait};
use crate::provider::ProviderError;

impl<'a> Share<'a> {
    /// Maps a share that is not mapped.
    pub(super) fn make(
        &self,
        wanted: &Wanted<'_>,
        held: &mut Held,
    ) -> Result<MapOutcome, SmbError> {
        let turn = self.turn(held)?;
        if let Some(error) = turn.away() {
            tracing::info!(
                share = self.remote.share(),
                "an SMB share is not mapped: its server was found away while this call waited for it"
            );
            return Err(self.named(error).into());
        }
        self.create(wanted, &turn)?;
        Ok(MapOutcome::Made)
    }

    /// What becomes of a mapping whose look says that the server is away.
    ///
    /// Some stay dead though the server lives, after a restart of the node say, and have to be removed before
    /// another can be made (azurefile-csi-driver#3416, csi-driver-smb#1219). One is renewed that Windows does not
    /// call OK, if the server answers at the port that the new one would need: were it away indeed, the mapping
    /// would be all that others have. That of another user, as far as is known, stays.
    pub(super) fn renew(
        &self,
        mapping: &Instance,
        why: os::Error,
        wanted: &Wanted<'_>,
        held: &mut Held,
    ) -> Result<MapOutcome, SmbError> {
        if !is_not_ok(mapping) || self.is_of_other(wanted) {
            return Err(self.away(why));
        }
        let Some(port) = wanted.tcp_port() else {
            return self.make_beside(why, wanted, held);
        };
        if !self.port_answers(port)? {
            return Err(self.away(why));
        }
        let turn = self.turn(held)?;
        if turn.away().is_some() {
            return Err(self.away(why));
        }
        let Some(mapping) = self.find(&wanted.options)? else {
            return Ok(self.create(wanted, &turn).map(|()| MapOutcome::Made)?);
        };
        match self.seen_in_turn(&mapping, Seen::Away(why), &turn)? {
            Seen::Answers => self.reuse(&mapping, wanted),
            Seen::Away(why) => self.renew_in_turn(&mapping, why, (wanted, port), &turn),
            Seen::Denied(why) | Seen::Unclear(why) => Err(ProviderError::from(why).into()),
        }
    }

    /// What was seen before the lock of the server was had, or is seen now if that took a wait or Windows calls the
    /// mapping OK by now. Windows connects one when somebody uses it, and until then calls it what it was.
    fn seen_in_turn(
        &self,
        mapping: &Instance,
        before: Seen,
        turn: &Turn<'_>,
    ) -> Result<Seen, SmbError> {
        if is_not_ok(mapping) && !turn.has_waited {
            return Ok(before);
        }
        self.visit.forget_looks();
        self.look()
    }

    fn renew_in_turn(
        &self,
        mapping: &Instance,
        why: os::Error,
        (wanted, port): (&Wanted<'_>, u16),
        turn: &Turn<'_>,
    ) -> Result<MapOutcome, SmbError> {
        let answers = is_not_ok(mapping) && (!turn.has_waited || self.port_answers(port)?);
        match answers {
            true => self.replace(mapping, &why, wanted, turn),
            false => Err(self.away(why)),
        }
    }

    /// What becomes of a mapping whose look is refused: accounts may have access below the share's root alone, or
    /// the password was changed since, and the mapping is of no use to anybody.
    pub(super) fn denied(
        &self,
        mapping: &Instance,
        why: os::Error,
        wanted: &Wanted<'_>,
        held: &mut Held,
    ) -> Result<MapOutcome, SmbError> {
        let is_same = self.known_as(wanted) == MapOutcome::Reused;
        let is_at_home = is_same && why.win32() == Some(Win32::ACCESS_DENIED);
        if is_at_home || self.folder_answers()? {
            return self.reuse(mapping, wanted);
        }
        if is_same {
            // The server would refuse the same credentials again.
            return Err(ProviderError::from(why).into());
        }
        self.refuse_other_user(wanted)?;
        let turn = self.turn(held)?;
        match turn.away() {
            Some(error) => Err(self.named(error).into()),
            None => self.replace(mapping, &why, wanted, &turn),
        }
    }

    /// Over QUIC nobody can be asked whether the server answers, so nothing is removed: another mapping is made
    /// beside the one that is there, as csi-proxy does.
    fn make_beside(
        &self,
        why: os::Error,
        wanted: &Wanted<'_>,
        held: &mut Held,
    ) -> Result<MapOutcome, SmbError> {
        let turn = self.turn(held)?;
        if turn.away().is_some() {
            return Err(self.away(why));
        }
        match self.create(wanted, &turn) {
            Ok(()) => Ok(MapOutcome::Made),
            Err(error) if look::says_nothing_new(&error) => Err(self.away(why)),
            Err(other) => Err(other.into()),
        }
    }

    fn replace(
        &self,
        mapping: &Instance,
        why: &os::Error,
        wanted: &Wanted<'_>,
        turn: &Turn<'_>,
    ) -> Result<MapOutcome, SmbError> {
        let share = self.remote.share();
        tracing::warn!(
            share,
            status = status_of(mapping),
            why = %why.cause,
            mapped_by = self.mapper(wanted),
            "an SMB mapping is of no use, and is removed and made anew"
        );
        self.remove(mapping)?;
        let made = self.create(wanted, turn);
        if let Err(error) = &made {
            let failed = &self.node.smb().failed_renewals;
            failed.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                share,
                %error,
                "an SMB mapping was removed and could not be made anew: the next call tries again"
            );
        }
        Ok(made.map(|()| MapOutcome::Made)?)
    }

    /// Waits for the lock of the server, under which one mapping is made at a time: two users' would be refused or
    /// let in by which comes first (1219).
    fn turn(&self, held: &mut Held) -> Result<Turn<'a>, SmbError> {
        let server = self.remote.server();
        let mut turn = self.node.smb().turns.begin(server.clone());
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
        Ok(turn)
    }

    fn check(&self) -> Result<(), Unfinished> {
        self.node.check(self.deadline, "map share", self.remote)
    }

    /// By whom the mapping that is there was made, for the log.
    fn mapper(&self, wanted: &Wanted<'_>) -> &'static str {
        match self.known_as(wanted) {
            MapOutcome::ReusedUnknown => "nobody known",
            _ => "this process, as the same user",
        }
    }
}
