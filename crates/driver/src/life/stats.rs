use transport::Code;
use wincsi::volumes::Space;
use wincsi::{Error, Feature, WinPath};

use super::{Shared, Volumes, place};
use crate::record::{ByKind, Record, VolumeHandle, What};

/// The figures of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Those of the last call that reached the volume, if it is abnormal.
    pub usage: Usage,
    /// What is wrong with the volume.
    pub abnormal: Option<String>,
}

/// How full a volume is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Its size.
    pub total: u64,
    /// What is on it; `None` if no call of this process reached the volume.
    pub space: Option<Space>,
}

/// Why a volume's figures are not known.
#[derive(Debug, thiserror::Error)]
pub enum StatsError {
    /// This driver did not stage the volume.
    #[error("there is no volume {volume} on this node")]
    NoVolume {
        /// The volume.
        volume: VolumeHandle,
    },
    /// The volume is not at that path.
    #[error("volume {volume} is not at {path}")]
    NotThere {
        /// The volume.
        volume: VolumeHandle,
        /// The path, as kubelet wrote it.
        path: String,
    },
    /// The volume belongs at that path, and is away; it may come back.
    #[error("volume {volume} is not at {path} now")]
    Away {
        /// The volume.
        volume: VolumeHandle,
        /// The path.
        path: WinPath,
    },
    /// The host mode has no figures of shares.
    #[error(
        "volume {volume} is a share, whose size -host=proxy does not report ({feature}): use -host=native"
    )]
    HostLacks {
        /// The volume.
        volume: VolumeHandle,
        /// The feature that the host lacks.
        feature: Feature,
    },
    /// What may keep each call from its end.
    #[error(transparent)]
    Shared(#[from] Shared),
}

impl StatsError {
    /// The code for kubelet.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NoVolume { .. } | Self::NotThere { .. } => Code::NotFound,
            Self::Away { .. } => Code::Unavailable,
            Self::HostLacks { .. } => Code::FailedPrecondition,
            Self::Shared(shared) => shared.code(),
        }
    }
}

impl Volumes {
    /// Size and free space of a volume, and what is wrong with it. The volume is looked up before the path is parsed.
    ///
    /// An abnormal volume has the figures of the last call that reached it, because kubelet rejects an answer without
    /// usage.
    ///
    /// # Errors
    /// See [`StatsError`].
    pub fn stats(&self, volume: &VolumeHandle, path: &str) -> Result<Stats, StatsError> {
        let record = self.store.get(volume).map_err(Shared::from)?;
        let Some(record) = record else {
            return self.stats_of_unrecorded(volume, path);
        };
        let at = place(path).map_err(|_| not_there(volume, path))?;
        self.require_figures(&record)?;
        let _waiting = self.wait_for_server_of(&record).map_err(Shared::from)?;
        let reason = match self.measure(record.clone(), &at) {
            Ok(Some(space)) => {
                self.note_normal(volume, Some(space));
                return Ok(Stats {
                    usage: Usage::of(space),
                    abnormal: None,
                });
            }
            Ok(None) if !record.is_at(&at) => return Err(not_there(volume, path)),
            Ok(None) => StatsError::Away {
                volume: volume.clone(),
                path: at,
            },
            Err(error) => Shared::from(error).into(),
        };
        self.last_known(&record, reason)
    }

    fn stats_of_unrecorded(&self, volume: &VolumeHandle, path: &str) -> Result<Stats, StatsError> {
        let at = place(path).map_err(|_| no_volume(volume))?;
        let _waiting = self.wait_for_a_server().map_err(Shared::from)?;
        let space = self.measure_unrecorded(volume, &at);
        let space = space.map_err(Shared::from)?;
        let space = space.ok_or_else(|| no_volume(volume))?;
        Ok(Stats {
            usage: Usage::of(space),
            abnormal: None,
        })
    }

    fn require_figures(&self, record: &Record) -> Result<(), StatsError> {
        let feature = Feature::SpaceByPath;
        match &record.what {
            What::Share(_) if !self.node.supports(feature) => Err(StatsError::HostLacks {
                volume: record.volume.clone(),
                feature,
            }),
            _ => Ok(()),
        }
    }

    /// The size alone, of the record, if another process read the figures.
    fn last_known(&self, record: &Record, reason: StatsError) -> Result<Stats, StatsError> {
        let (text, volume) = (reason.to_string(), &record.volume);
        self.note_abnormal(volume, &text);
        let recorded = record.size().map(Usage::of_size);
        let usage = self.health.last_space(volume).map(Usage::of);
        Ok(Stats {
            usage: usage.or(recorded).ok_or(reason)?,
            abnormal: Some(text),
        })
    }

    fn measure(&self, record: Record, at: &WinPath) -> Result<Option<Space>, Error> {
        match record.by_kind() {
            ByKind::Disk(record) => self.measure_disk(&record, at),
            ByKind::Share(record) => self.measure_share(&record, at),
        }
    }
}

impl Usage {
    fn of(space: Space) -> Self {
        Self {
            total: space.total,
            space: Some(space),
        }
    }

    fn of_size(total: u64) -> Self {
        let space = None;
        Self { total, space }
    }

    /// What is occupied.
    #[must_use]
    pub fn used(&self) -> Option<u64> {
        self.space
            .map(|space| space.total.saturating_sub(space.free))
    }
}

fn no_volume(volume: &VolumeHandle) -> StatsError {
    let volume = volume.clone();
    StatsError::NoVolume { volume }
}

fn not_there(volume: &VolumeHandle, path: &str) -> StatsError {
    StatsError::NotThere {
        volume: volume.clone(),
        path: path.to_owned(),
    }
}
