//! What a start does before kubelet calls: it compares the records with the node.
//!
//! Kubelet makes the staging folder before it calls NodeStageVolume. If a mounted folder or a link is there whose volume
//! or share is gone, as after a restart of the machine, kubelets before 1.28 (kubernetes#119735), and some that are built
//! with Go 1.23 or later (kubernetes#130300), fail there, and never call the driver. So the start removes such an entry.
//!
//! Calls come first: the comparison looks beside them, acts on a volume only if no call for it came since the look, and is
//! bounded, whatever hangs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use wincsi::filesystem::{LeadsTo, Look};
use wincsi::{Deadline, Error, Feature, WinPath};

use super::vol_data::VolData;
use super::{Call, CallError, Context, Volumes};
use crate::kinds::{InspectFn, Kind};
use crate::path::KubeletPath;
use crate::record::{Record, State, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// How long a look may take: a volume that answers does so in milliseconds.
const LOOK: Duration = Duration::from_secs(10);

/// How long all may take. Kubelet's calls find what is not looked at by then.
const ALL: Duration = Duration::from_secs(60);

/// How many volumes are looked at at a time. Each look waits for the mount manager, on real nodes for 9 ms
/// (<https://github.com/kubernetes-csi/csi-proxy/pull/360>): at 32 a time, 10,000 volumes took 2.8 s at least.
const ABREAST: usize = 64;

const STACK_BYTES: usize = 256 << 10;

/// What a start found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    pub volumes: usize,
    /// Those that are staged, and not mounted at their staging path.
    pub away: Vec<VolumeHandle>,
    /// Those of which a call did not end.
    pub interrupted: Vec<VolumeHandle>,
    /// Those at which there was no time to look.
    pub unseen: Vec<VolumeHandle>,
    /// Entries that led nowhere and were removed.
    pub removed: Vec<KubeletPath>,
}

/// The state of a staging path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagingState {
    /// The record's volume is mounted there.
    Live,
    /// A mounted folder or a link is there that leads nowhere.
    Dangling,
    /// Anything else.
    NotMounted,
}

impl Volumes {
    /// Compares the records with the node, and removes entries of kubelet's staging folder that lead nowhere. It is safe
    /// beside calls, and may be repeated. What cannot be read is logged and left alone.
    pub fn reconcile(&self) -> Reconciliation {
        let mut comparison = Comparison {
            volumes: self,
            ctx: &self.ctx,
            until: self.ctx.node.deadline(ALL),
            boot: None,
            inspect: self
                .kinds
                .iter()
                .map(|kind| (kind.name(), kind.inspect()))
                .collect(),
            recorded: Unpoisoned::default(),
            outcome: Unpoisoned::default(),
        };
        comparison.boot = self.ctx.boot(comparison.deadline());
        comparison.run()
    }
}

struct Comparison<'a> {
    volumes: &'a Volumes,
    ctx: &'a Context,
    until: Deadline,
    boot: Option<String>,
    inspect: BTreeMap<&'static str, InspectFn<'a>>,
    /// The staging paths of the records, folded.
    recorded: Unpoisoned<BTreeSet<String>>,
    outcome: Unpoisoned<Reconciliation>,
}

impl Comparison<'_> {
    fn run(self) -> Reconciliation {
        let recorded = self.ctx.store.volumes();
        self.outcome.lock().volumes = recorded.len();
        side_by_side(recorded, |volume| self.compare(&volume));
        if let Err(error) = self.sweep_unrecorded() {
            tracing::warn!("kubelet's staging folders are not swept: {error}");
        }
        let outcome = self.outcome.into_inner();
        tracing::info!(
            "{} volumes have a record; {} are away, {} were interrupted, {} were not looked at in time, \
             {} dangling entries were removed",
            outcome.volumes,
            outcome.away.len(),
            outcome.interrupted.len(),
            outcome.unseen.len(),
            outcome.removed.len()
        );
        outcome
    }

    /// A volume that a call has, or had since, is that call's business.
    fn compare(&self, volume: &VolumeHandle) {
        if self.is_over() {
            return self.outcome.lock().unseen.push(volume.clone());
        }
        let Some(watch) = self.ctx.running.watch(volume) else {
            return;
        };
        let Ok(Some(record)) = self.ctx.store.get(volume) else {
            return;
        };
        self.recorded.lock().insert(record.staging.folded());
        let state = match record.state {
            State::Staged => self.staging_state_of(&record),
            State::Staging | State::Unstaging => None,
        };
        // Most paths have an entry, and so a folder in which it lies: one look is enough for them.
        let has_entry = matches!(state, Some(Ok(StagingState::Live | StagingState::Dangling)));
        let is_abandoned = !has_entry && self.is_abandoned(&record);
        let Some(_turn) = watch.unless_called() else {
            return;
        };
        if is_abandoned {
            return self.end_abandoned(record);
        }
        match state {
            Some(Ok(StagingState::Live)) => self.ctx.note_normal(volume, None),
            Some(Ok(state)) => self.note_away(&record, state),
            Some(Err(error)) => (self.ctx).note_abnormal(&record, None, &error.to_string()),
            None => {
                tracing::warn!("volume {volume}: a call did not end; kubelet's next one goes on");
                self.outcome.lock().interrupted.push(volume.clone());
            }
        }
    }

    /// Whether kubelet forgot the volume, or had another driver unstage it since, as after a rollback: then it removed the
    /// folder in which the staging path lies, and calls nobody for the volume any more.
    fn is_abandoned(&self, record: &Record) -> bool {
        let Some(folder) = record.staging.parent() else {
            return false;
        };
        let files = self.ctx.node.filesystem();
        match self.look(&folder) {
            Ok(Some(look)) => look == Look::Missing,
            // Over the pipes.
            Ok(None) => matches!(files.path_exists(&folder, self.deadline()), Ok(false)),
            Err(_) => false,
        }
    }

    /// The caller holds the volume.
    fn end_abandoned(&self, record: Record) {
        let (volume, staging) = (record.volume.clone(), record.staging.clone());
        let slot = self.ctx.store.slot(&volume).map_err(CallError::from);
        let ended = slot.and_then(|slot| {
            let kind = self.volumes.kind_of(&record)?;
            if kind.ends_abandoned() {
                let call = Call::until(self.deadline(), self.volumes);
                return call.end(record, &slot, &staging);
            }
            slot.remove()?;
            self.volumes.forget(kind, &volume);
            Ok(())
        });
        match ended {
            Ok(()) => {
                tracing::warn!("volume {volume}: kubelet removed {staging}, so its record goes");
            }
            Err(error) => tracing::warn!("volume {volume} has a record left: {error}"),
        }
    }

    /// What is exactly at a record's staging path; none if no kind knows.
    fn staging_state_of(&self, record: &Record) -> Option<Result<StagingState, Error>> {
        let inspect = self.inspect.get(record.kind.as_str())?;
        Some(inspect(record.clone(), &|| self.deadline()))
    }

    /// The caller holds the volume.
    fn note_away(&self, record: &Record, state: StagingState) {
        let volume = &record.volume;
        let text = format!("volume {volume} is not mounted at {}", record.staging);
        let kind = self.volumes.kind_of(record).ok();
        let boot = kind.and_then(Kind::boot);
        self.ctx.note_abnormal(record, boot, &text);
        self.outcome.lock().away.push(volume.clone());
        if state == StagingState::Dangling && !record.is_of_boot(self.boot.as_deref()) {
            self.sweep(&record.staging);
        }
    }

    /// Removes staging entries that lead nowhere and that neither a record nor a pod's link refers to.
    fn sweep_unrecorded(&self) -> Result<(), Error> {
        let Some(folder) = self.ctx.kubelet.staging_folder() else {
            return Ok(());
        };
        if !self.ctx.has(Feature::EntryLooks) {
            return Ok(());
        }
        let stagings = self.ctx.stagings_in(&folder, self.until)?.into_iter();
        let recorded = std::mem::take(&mut *self.recorded.lock());
        // Among them those that came since: the look at each finds them out.
        let unrecorded = stagings.filter(|staging| !recorded.contains(&staging.folded()));
        let links = OnceLock::new();
        side_by_side(unrecorded.collect(), |staging| {
            if let Err(error) = self.sweep_unless_used(&staging, &links) {
                tracing::warn!("{staging} is not swept: {error}");
            }
        });
        Ok(())
    }

    fn sweep_unless_used(&self, staging: &KubeletPath, links: &Links) -> Result<(), Error> {
        if !self.is_dangling(staging)? {
            return Ok(());
        }
        let data = VolData::beside(staging, self.ctx.machine.as_ref());
        let volume = data.and_then(|data| data.volume_of(&self.ctx.kubelet.driver_name));
        let watch = volume.as_ref().and_then(|one| self.ctx.running.watch(one));
        let (Some(volume), Some(watch)) = (&volume, watch) else {
            return Ok(());
        };
        let targets = links.get_or_init(|| self.link_targets());
        let is_used = targets
            .as_ref()
            .map_err(Error::clone)?
            .contains(&staging.folded());
        let record = self.ctx.store.get(volume);
        if !is_used
            && matches!(record, Ok(None))
            && let Some(_turn) = watch.unless_called()
        {
            self.sweep(staging);
        }
        Ok(())
    }

    /// Removes an entry that still leads nowhere. The caller holds its volume.
    fn sweep(&self, staging: &KubeletPath) {
        let removed = match self.is_dangling(staging) {
            Ok(false) => return,
            looked => looked.and_then(|_| self.ctx.remove_entry(staging, self.deadline())),
        };
        match removed {
            Ok(()) => {
                tracing::warn!("removed {staging}, which led nowhere");
                self.outcome.lock().removed.push(staging.clone());
            }
            Err(error) => tracing::warn!("{staging} leads nowhere and stays: {error}"),
        }
    }

    /// Where the links of pods lead, folded.
    fn link_targets(&self) -> Result<BTreeSet<String>, Error> {
        let mut targets = BTreeSet::new();
        for mount in self.ctx.mounts_of_pods(self.until)? {
            let target = self.ctx.link_target(&mount, self.deadline())?;
            targets.extend(target.map(|target| KubeletPath::from(target).folded()));
        }
        Ok(targets)
    }

    fn is_dangling(&self, path: &WinPath) -> Result<bool, Error> {
        Ok(self.look(path)?.as_ref().is_some_and(is_dangling))
    }

    fn look(&self, path: &WinPath) -> Result<Option<Look>, Error> {
        self.ctx.look(path, self.deadline())
    }

    fn deadline(&self) -> Deadline {
        self.ctx.node.deadline(LOOK).min(self.until)
    }

    fn is_over(&self) -> bool {
        self.ctx.node.deadline(Duration::ZERO) >= self.until
    }
}

/// Where the links of pods lead, read when the first entry needs it.
type Links = OnceLock<Result<BTreeSet<String>, Error>>;

/// Acts on each item, on a few threads. The caller's is one of them, so that too few threads only make it slower.
fn side_by_side<T: Send>(items: Vec<T>, act: impl Fn(T) + Sync) {
    let others = items.len().min(ABREAST).saturating_sub(1);
    let items = Unpoisoned::new(items.into_iter());
    let next = || items.lock().next();
    let work = || {
        while let Some(item) = next() {
            act(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            let thread = thread::Builder::new().name(String::from("reconcile"));
            let thread = thread.stack_size(STACK_BYTES);
            if let Err(error) = thread.spawn_scoped(scope, work) {
                tracing::warn!("the records are compared on fewer threads: {error}");
                break;
            }
        }
        work();
    });
}

pub(crate) fn is_dangling(look: &Look) -> bool {
    match look {
        Look::MountedFolder { is_there, .. } => !is_there,
        Look::Link(link) => matches!(
            link.leads,
            LeadsTo::Nothing | LeadsTo::Share { is_mapped: false }
        ),
        _ => false,
    }
}
