//! What a start does before kubelet calls: it compares the records with the node.
//!
//! Kubelet makes the staging folder before it calls NodeStageVolume. If a mounted folder or a link is there whose volume
//! or share is gone, as after a restart of the machine, kubelets before 1.28 (kubernetes#119735), and some that are built
//! with Go 1.23 or later (kubernetes#130300), fail there, and never call the driver. So the start removes such an entry.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use wincsi::filesystem::{Component, LeadsTo, LinkTarget, Look};
use wincsi::{Cause, Condition, Error, Feature, ResultExt as _, WinPath};

use super::{DiskVolumes, VolData};
use crate::record::{Record, State, VolumeHandle};

/// No directory of kubelet's that the start lists has more entries.
const MOST: usize = 20_000;

/// What a start found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciliation {
    /// How many volumes have a record.
    pub volumes: usize,
    /// Those that are staged, and not mounted at their staging path.
    pub away: Vec<VolumeHandle>,
    /// Those of which a call did not end.
    pub interrupted: Vec<VolumeHandle>,
    /// Entries that led nowhere and were removed.
    pub removed: Vec<WinPath>,
}

/// The state of a staging path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The record's volume is mounted there.
    Live,
    /// A mounted folder or a link is there that leads nowhere.
    Dangling,
    /// Anything else.
    NotMounted,
}

impl DiskVolumes {
    /// Compares the records with the node, and removes entries of kubelet's staging folder that lead nowhere. It may take
    /// long, is safe beside calls, and may be repeated. What cannot be read is logged and left alone.
    pub fn reconcile(&self) -> Reconciliation {
        let boot = self.boot();
        let records = self.store.records();
        let mut outcome = Reconciliation {
            volumes: records.len(),
            ..Reconciliation::default()
        };
        for record in &records {
            self.reconcile_volume(record, boot.as_deref(), &mut outcome);
        }
        if let Err(error) = self.sweep_unrecorded(&records, &mut outcome) {
            tracing::warn!("kubelet's staging folders are not swept: {error}");
        }
        tracing::info!(
            "{} volumes have a record; {} are away, {} were interrupted, {} dangling entries were removed",
            outcome.volumes,
            outcome.away.len(),
            outcome.interrupted.len(),
            outcome.removed.len()
        );
        outcome
    }

    /// A volume that a call has now is that call's business.
    fn reconcile_volume(&self, record: &Record, boot: Option<&str>, outcome: &mut Reconciliation) {
        let Ok(_turn) = self.running.alone(&record.volume) else {
            return;
        };
        let Ok(Some(record)) = self.store.get(&record.volume) else {
            return;
        };
        let volume = &record.volume;
        if record.state != State::Staged {
            tracing::warn!("volume {volume}: a call did not end; kubelet's next one goes on");
            outcome.interrupted.push(volume.clone());
            return;
        }
        let place = match self.place_of(&record) {
            Ok(Place::Live) => return self.note_normal(volume, None),
            Ok(place) => place,
            Err(error) => return self.note_abnormal(volume, &error.to_string()),
        };
        let text = format!("volume {volume} is not mounted at {}", record.staging);
        self.note_abnormal(volume, &text);
        outcome.away.push(volume.clone());
        let is_other_boot = record
            .boot
            .as_deref()
            .zip(boot)
            .is_some_and(|(a, b)| a != b);
        if place == Place::Dangling && is_other_boot {
            self.sweep(&record.staging, outcome);
        }
    }

    fn place_of(&self, record: &Record) -> Result<Place, Error> {
        if !self.node.supports(Feature::EntryLooks) {
            let live = self.live(record, &record.staging, self.deadline())?;
            return Ok(live.map_or(Place::NotMounted, |_| Place::Live));
        }
        Ok(match self.look(&record.staging)? {
            Look::MountedFolder { volume, is_there } if is_there => {
                match record.mounted == Some(volume) {
                    true => Place::Live,
                    false => Place::NotMounted,
                }
            }
            look if is_dangling(&look) => Place::Dangling,
            _ => Place::NotMounted,
        })
    }

    /// Removes staging entries that lead nowhere and that neither a record nor a pod's link refers to.
    fn sweep_unrecorded(
        &self,
        records: &[Record],
        outcome: &mut Reconciliation,
    ) -> Result<(), Error> {
        let Some(folder) = self.kubelet.staging_folder() else {
            return Ok(());
        };
        if !self.node.supports(Feature::EntryLooks) {
            return Ok(());
        }
        let recorded: BTreeSet<_> = records.iter().map(|one| one.staging.folded()).collect();
        let links = OnceLock::new();
        for entry in self.entries(&folder)? {
            let Some(staging) = below(&folder.join(entry), &["globalmount"]) else {
                continue;
            };
            if !recorded.contains(&staging.folded()) && is_dangling(&self.look(&staging)?) {
                self.sweep_unless_used(&staging, &links, outcome)?;
            }
        }
        Ok(())
    }

    fn sweep_unless_used(
        &self,
        staging: &WinPath,
        links: &OnceLock<BTreeSet<String>>,
        outcome: &mut Reconciliation,
    ) -> Result<(), Error> {
        let data = VolData::beside(staging, self.machine.as_ref());
        let volume = data.and_then(|data| data.volume_of(&self.kubelet.driver_name));
        let Some(volume) = volume else {
            return Ok(());
        };
        let Ok(_turn) = self.running.alone(&volume) else {
            return Ok(());
        };
        let targets = match links.get() {
            Some(targets) => targets,
            None => {
                let targets = self.link_targets()?;
                links.get_or_init(|| targets)
            }
        };
        let is_recorded = self
            .store
            .get(&volume)
            .map_or(true, |record| record.is_some());
        if !is_recorded && !targets.contains(&staging.folded()) {
            self.sweep(staging, outcome);
        }
        Ok(())
    }

    /// Removes an entry that still leads nowhere. The caller holds its volume.
    fn sweep(&self, staging: &WinPath, outcome: &mut Reconciliation) {
        let removed = self
            .look(staging)
            .and_then(|look| match is_dangling(&look) {
                true => self.remove_entry(staging, self.deadline()).map(|()| true),
                false => Ok(false),
            });
        match removed {
            Ok(true) => {
                tracing::warn!("removed {staging}, which led nowhere");
                outcome.removed.push(staging.clone());
            }
            Ok(false) => {}
            Err(error) => tracing::warn!("{staging} leads nowhere and stays: {error}"),
        }
    }

    /// Where the links of pods lead, folded.
    fn link_targets(&self) -> Result<BTreeSet<String>, Error> {
        let mut targets = BTreeSet::new();
        let Some(pods) = self.kubelet.pods_folder() else {
            return Ok(targets);
        };
        for pod in self.entries(&pods)? {
            let volumes = below(&pods.join(pod), &["volumes", "kubernetes.io~csi"]);
            let Some(volumes) = volumes else { continue };
            for volume in self.entries(&volumes)? {
                let mount = below(&volumes.join(volume), &["mount"]);
                if let Some(mount) = mount {
                    targets.extend(self.target_of(&mount)?);
                }
            }
        }
        Ok(targets)
    }

    fn target_of(&self, link: &WinPath) -> Result<Option<String>, Error> {
        let target = self.node.filesystem().read_link(link, self.deadline());
        Ok(match target.none_if(Condition::NotFound)?.flatten() {
            Some(LinkTarget::Path(path)) => Some(path.folded()),
            Some(LinkTarget::Volume(_)) | None => None,
        })
    }

    /// The names in a directory; none of one that is not there.
    fn entries(&self, directory: &WinPath) -> Result<Vec<Component>, Error> {
        let listed = self
            .node
            .filesystem()
            .list(directory, MOST, self.deadline());
        match listed {
            Ok(listing) if !listing.is_whole => {
                let cause = Cause::InvalidArgument(format!("it has more than {MOST} entries"));
                Err(Error::new("list", directory, cause))
            }
            Ok(listing) => Ok(listing
                .entries
                .into_iter()
                .map(|entry| entry.name)
                .collect()),
            Err(error) if super::is_nothing_mounted(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn look(&self, path: &WinPath) -> Result<Look, Error> {
        self.node.filesystem().look(path, self.deadline())
    }
}

fn is_dangling(look: &Look) -> bool {
    match look {
        Look::MountedFolder { is_there, .. } => !is_there,
        Look::Link(link) => link.leads == LeadsTo::Nothing,
        _ => false,
    }
}

fn below(folder: &WinPath, names: &[&str]) -> Option<WinPath> {
    names.iter().try_fold(folder.clone(), |path, name| {
        Some(path.join(Component::parse(name).ok()?))
    })
}
