//! Volumes that are shares, or folders below one.
//!
//! A volume is staged by a directory link to its UNC path. Only the share's root is mapped, once for all its volumes.
//! Whose a mapping is stands in its lease (`crate::leases`). This driver removes its own mappings alone.

pub mod attributes;
mod error;
mod mappings;
mod other_passwords;
mod owed;
mod publish;
mod record;
mod stage;
mod stats;
mod takeover;
mod terms;
mod unstage;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use program::metrics::Exposition;
use wincsi::filesystem::Look;
use wincsi::smb::{Credentials, MappingStatus, RemotePath};
use wincsi::volumes::Space;
use wincsi::{Deadline, Error, Feature};

use self::attributes::{ShareRequests, ShareRules, resolved};
pub(crate) use self::mappings::Mappings;
use self::other_passwords::OtherPasswords;
use self::owed::Owed;
use self::stats::{FRESH, Figures};
use self::terms::{Terms, secret_text, user_of};
use super::{InspectFn, Keys, Kind, ProveFn, StageFn, Unrecorded, disk};
use crate::kubelet::{Refusal, Request};
use crate::leases::{Comparison, Leases};
use crate::life::{CALL, Call, CallError, Context, StagingState};
use crate::path::KubeletPath;
use crate::record::{Content as _, Lifetime, Record, StoreError, VolumeHandle};

pub use self::error::Refused;
pub use self::record::{RequestedShare, Share, ShareOptions};
pub use crate::leases::Hashes;

/// How long a share may take to answer where no call waits for it alone: one that lives does so in milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

/// What shares may be told.
#[derive(Clone, Debug)]
pub struct Settings {
    pub rules: ShareRules,
    /// How long the figures of a share are good.
    pub figures: Duration,
    pub hashes: Hashes,
}

/// The kind of volume that is a share, and what the calls for shares know of each other.
pub struct ShareKind {
    ctx: Arc<Context>,
    requests: ShareRequests,
    leases: Arc<Leases<Terms>>,
    figures: Figures,
    other_passwords: OtherPasswords,
    owed: Owed,
    /// Calls for inline volumes whose credential is not that of the mapping: somebody may guess passwords.
    refused_inline: AtomicU64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: ShareRules::default(),
            figures: FRESH,
            hashes: Hashes::SLOW,
        }
    }
}

impl ShareKind {
    /// With the records and leases of a driver before this one. The boot is read if there are any.
    pub fn new(ctx: &Arc<Context>, settings: Settings) -> Self {
        let records = ctx.store.records_of::<Share>();
        let users = records.map(|record| (record.volume.clone(), user_of(&record)));
        let boot = || ctx.boot(ctx.node.deadline(CALL));
        let leases = Leases::open(&ctx.store, users.collect(), settings.hashes, boot);
        Self {
            ctx: Arc::clone(ctx),
            requests: ShareRequests::by(settings.rules),
            leases: Arc::new(leases),
            figures: Figures::fresh_for(settings.figures),
            other_passwords: OtherPasswords::default(),
            owed: Owed::default(),
            refused_inline: AtomicU64::default(),
        }
    }

    /// Nothing is kept of a volume that is gone, but for its record.
    fn release(&self, volume: &VolumeHandle) -> Result<(), StoreError> {
        self.other_passwords.end(volume);
        self.leases.release(volume)
    }

    fn until(&self, deadline: Deadline) -> Call<'_, Self> {
        self.leases.learn_boot(|| self.ctx.boot(deadline));
        Call::until(deadline, self)
    }

    /// Compares a credential with that of a share's mapping.
    fn compare(&self, share: &str, credentials: Option<&Credentials>) -> Comparison {
        self.leases.compare(share, &secret_text(credentials))
    }
}

impl Kind for ShareKind {
    fn name(&self) -> &'static str {
        Share::KIND
    }

    /// Its context names a source, or should: it names no disk, and has what volumes have that are shares.
    fn accepts(&self, request: &Request<'_>) -> bool {
        let should = || {
            self.ctx.kubelet.driver_name == "smb.csi.k8s.io"
                || request.attribute("subDir").is_some()
                || !request.secrets.is_empty()
                || self.keys(request.lifetime).check(request).is_err()
        };
        request.attribute("source").is_some() || !disk::names_disk(request) && should()
    }

    fn keys(&self, lifetime: Lifetime) -> Keys {
        let of_pod = ["mountOptions", "secretName", "secretNamespace"].into_iter();
        let of_pod = of_pod.filter(|_| lifetime == Lifetime::Inline);
        Keys {
            attributes: ["source", "subDir"].into_iter().chain(of_pod).collect(),
            of_secret: &["username", "password", "domain", "source"],
            is_same: str::eq_ignore_ascii_case,
        }
    }

    fn to_stage<'a>(&'a self, request: &Request<'_>) -> Result<StageFn<'a>, Refusal> {
        let wanted = self.requests.wanted(request, &self.ctx)?;
        Ok(Box::new(move |turn| {
            match self.requests.dns_for(&wanted.remote) {
                Some(dns) => self.stage_resolved(turn, wanted, |given| {
                    resolved(given, dns, self.ctx.left_until(turn.deadline))
                }),
                None => self.stage(turn, &wanted),
            }
        }))
    }

    fn to_publish<'a>(&'a self, request: &Request<'_>) -> Result<ProveFn<'a>, Refusal> {
        let credentials = self.requests.to_publish(request)?;
        Ok(Box::new(|proof| self.prove(proof, credentials)))
    }

    fn unstage(
        &self,
        record: Record,
        staging: &KubeletPath,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        self.until(deadline)
            .unstage_share(&record.of_kind()?, staging)
    }

    /// One list of mappings serves all.
    fn inspect(&self) -> InspectFn<'_> {
        let mappings = OnceLock::new();
        Box::new(move |record, deadline| {
            let mappings = mappings.get_or_init(|| self.until(deadline()).mappings());
            let mappings = mappings.as_ref().map_err(Error::clone)?;
            self.until(deadline())
                .staging_state(mappings, &record.of_kind()?)
        })
    }

    fn usage(
        &self,
        record: Record,
        at: &KubeletPath,
        deadline: Deadline,
    ) -> Result<Option<Space>, Error> {
        let answer = self.until(self.ctx.node.deadline(ANSWER).min(deadline));
        answer.measure(&record.of_kind()?, at)
    }

    fn waits_for(&self) -> Option<&'static str> {
        Some("shares")
    }

    fn check_usage(&self, record: &Record) -> Result<(), CallError> {
        let feature = Feature::SpaceByPath;
        if self.ctx.has(feature) {
            return Ok(());
        }
        let volume = record.volume.clone();
        Err(Refused::NoFigures { volume, feature }.into())
    }

    /// Windows keeps no password for the next one.
    fn boot(&self) -> Option<&str> {
        self.leases.boot()
    }

    fn ends_abandoned(&self) -> bool {
        true
    }

    fn unpublished(&self, volume: &VolumeHandle, target: &KubeletPath) {
        self.figures.forget_at(volume, target);
    }

    fn forget(&self, volume: &VolumeHandle) {
        self.figures.forget(volume);
    }

    fn render(&self, page: &mut Exposition) {
        let name = "wincsi_smb_other_password_total";
        let help = "Calls that were served by a mapping that was made with another password.";
        page.counter(name, help, self.other_passwords.calls());
        let help = "Leases that this version cannot read, and leaves alone.";
        page.gauge("wincsi_leases_unreadable", help, self.leases.unreadable());
        let help = "Calls for inline volumes with another credential than the share's mapping.";
        let refused = self.refused_inline.load(Ordering::Relaxed);
        page.counter("wincsi_smb_inline_refused_total", help, refused);
        self.requests.counts.render(page);
    }

    fn is_foreign_live(&self, volume: Unrecorded<'_>) -> Result<bool, Error> {
        let call = self.until(volume.deadline);
        let remote = call.foreign_share(volume)?;
        remote.map_or(Ok(false), |remote| {
            Ok(call.mappings()?.reach(remote.path()))
        })
    }

    fn note_not_taken_over(&self, volume: &VolumeHandle, why: &str) {
        self.requests.note_not_taken_over(volume, why);
    }

    /// At the target of an inline volume that another driver published is the link to the share itself.
    fn unpublish_foreign(&self, volume: Unrecorded<'_>) -> Result<bool, CallError> {
        self.until(volume.deadline).end_foreign(volume)
    }

    fn unstage_foreign(&self, volume: Unrecorded<'_>) -> Result<bool, CallError> {
        self.until(volume.deadline).end_foreign(volume)
    }

    fn usage_of_foreign(&self, volume: Unrecorded<'_>) -> Result<Option<Space>, Error> {
        self.until(volume.deadline).measure_foreign(volume)
    }
}

impl Call<'_, ShareKind> {
    /// What is exactly at a record's staging path. Nothing is asked of any server.
    fn staging_state(
        &self,
        mappings: &Mappings,
        record: &Record<Share>,
    ) -> Result<StagingState, Error> {
        let path = record.content.remote.path();
        Ok(
            match self.ctx.leads_to(&record.staging, path, self.deadline)? {
                false => StagingState::NotMounted,
                true if mappings.reach(path) => StagingState::Live,
                true => StagingState::Dangling,
            },
        )
    }

    /// Whether the volume was staged in this boot, the staging path leads to the share, and the share answers at its
    /// mapping. A mapping of another boot may be another user's. The server is asked only where Windows does not call the
    /// mapping OK: one that it calls disconnected comes back when somebody uses it.
    fn is_share_live(&self, record: &Record<Share>, mappings: &Mappings) -> Result<bool, Error> {
        let is_there = record.is_of_boot(self.leases.boot())
            && self.staging_state(mappings, record)? == StagingState::Live;
        let status = mappings.status(record.content.remote.path());
        let is_ok = matches!(status, None | Some(MappingStatus::Ok));
        Ok(is_there && (is_ok || self.answers(&record.content.remote)?))
    }

    /// Whether a share answers. A call whose time is over does not know.
    fn answers(&self, remote: &RemotePath) -> Result<bool, Error> {
        match self.space(remote) {
            Err(error) if self.ctx.left_until(self.deadline).is_zero() => Err(error),
            answer => Ok(answer.is_ok()),
        }
    }

    /// Size and free space of a share, or of a folder of it.
    fn space(&self, remote: &RemotePath) -> Result<Space, Error> {
        let files = self.ctx.node.filesystem();
        files.space(remote.path(), self.answer())
    }

    /// Refuses a volume whose folder is gone, or is a file. Whatever else the server answers is its own trouble.
    fn check_folder(&self, volume: &VolumeHandle, remote: &RemotePath) -> Result<(), CallError> {
        let at = remote.path();
        let is_none = |look| matches!(look, Ok(Some(Look::Missing | Look::File { .. })));
        match at.name().is_some() && is_none(self.ctx.look(at, self.answer())) {
            true => Err(Refused::NoFolder(volume.clone(), at.to_string()).into()),
            false => Ok(()),
        }
    }

    /// When a question to a server ends that begins now.
    fn answer(&self) -> Deadline {
        self.ctx.node.deadline(ANSWER).min(self.deadline)
    }
}
