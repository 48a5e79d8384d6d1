//! Mappings that this driver owes to live volumes: a stage removed one, as the server refused its password, and the server
//! was away when the stage made it again.
//!
//! The credential stays in memory. Each question of kubelet for a volume's figures, one a minute, tries it again.

use std::collections::BTreeMap;

use wincsi::smb::{Credentials, MapOutcome, MapRequest, MappingOptions, RemotePath};
use wincsi::{Condition, Error};

use super::stage::{is_open, warn_of_mark};
use super::{Share, ShareKind, secret_text};
use crate::in_flight::Watch;
use crate::leases::Ended;
use crate::life::Call;
use crate::record::{Record, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// How often a mapping is tried.
const TRIES: u8 = 60;

/// By shares.
#[derive(Default)]
pub(super) struct Owed(Unpoisoned<BTreeMap<String, Mapping>>);

struct Mapping {
    remote: RemotePath,
    credentials: Option<Credentials>,
    options: MappingOptions,
    tries: u8,
}

impl Owed {
    /// A request could not make what it removed.
    pub(super) fn note(&self, request: &MapRequest<'_>, error: &Error) {
        // A password that the server refuses is tried no second time: it may lock the account.
        if error.is(Condition::LogonFailure) {
            return;
        }
        let mapping = Mapping {
            remote: request.remote.clone(),
            credentials: request.credentials.cloned(),
            options: request.options.clone(),
            tries: TRIES,
        };
        self.0.lock().insert(request.remote.share(), mapping);
    }

    /// The share is mapped, or no volume uses it.
    pub(super) fn forget(&self, share: &str) {
        self.0.lock().remove(share);
    }
}

impl Call<'_, ShareKind> {
    /// Tries to make an owed mapping of a volume that no call has. Whether the share is mapped.
    pub(super) fn make_owed(&self, record: &Record<Share>) -> bool {
        let (volume, share) = (&record.volume, record.content.remote.share());
        let watch = self.ctx.running.watch(volume);
        let Some(_turn) = watch.and_then(Watch::unless_called) else {
            return false;
        };
        let is_there = matches!(self.ctx.store.get(volume), Ok(Some(_)));
        let Some(mut owed) = self.owed.0.lock().remove(&share).filter(|_| is_there) else {
            return false;
        };
        match self.make(volume, &owed) {
            Ok(made) => return made,
            Err(error) if error.is(Condition::LogonFailure) || owed.tries == 0 => {
                tracing::warn!("{share} is tried no more until the next stage: {error}");
                return false;
            }
            Err(_) => owed.tries -= 1,
        }
        self.owed.0.lock().entry(share).or_insert(owed);
        false
    }

    fn make(&self, volume: &VolumeHandle, owed: &Mapping) -> Result<bool, Error> {
        let (leases, share) = (&self.leases, owed.remote.share());
        let credentials = owed.credentials.as_ref();
        let request = MapRequest::of(&owed.remote)
            .with_credentials(credentials)
            .with_options(owed.options.clone())
            .keeping_what_is_mapped();
        let _making = leases.making(&share);
        leases.presume(volume);
        if let Err(error) = leases.begin(volume, true) {
            tracing::warn!("{share} is not mapped again: {error}");
            warn_of_mark(leases.end_call(volume, Ended::InVain));
            return Ok(false);
        }
        let made = self.ctx.node.smb().map(&request, self.answer());
        let ended = match &made {
            Ok(MapOutcome::Made) => {
                leases.note_credential(&share, &secret_text(credentials));
                tracing::info!("{share} is mapped again");
                Ended::Made
            }
            Ok(MapOutcome::ReusedUnknown) => Ended::MetForeign,
            Ok(_) => Ended::Well,
            Err(error) if is_open(error) => Ended::MayBeMade,
            Err(_) => Ended::InVain,
        };
        warn_of_mark(leases.end_call(volume, ended));
        made.map(|_| true)
    }
}
