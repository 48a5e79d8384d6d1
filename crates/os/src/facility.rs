use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{AfUnix, Boot, Clock, Disks, EventLog, Files, Firmware, Provider, Services, Volumes};

/// A node: one implementation per facility. Cheap to clone.
#[derive(Clone)]
pub struct Os {
    /// See [`AfUnix`].
    pub afunix: Arc<dyn AfUnix>,
    /// See [`Boot`].
    pub boot: Arc<dyn Boot>,
    /// See [`Clock`].
    pub clock: Arc<dyn Clock>,
    /// See [`Disks`].
    pub disks: Arc<dyn Disks>,
    /// See [`EventLog`].
    pub event_log: Arc<dyn EventLog>,
    /// See [`Files`].
    pub files: Arc<dyn Files>,
    /// See [`Firmware`].
    pub firmware: Arc<dyn Firmware>,
    /// The iSCSI classes of the storage namespace.
    pub iscsi: Arc<dyn Provider>,
    /// The class `Win32_Process` of the namespace `Root\CimV2`.
    pub processes: Arc<dyn Provider>,
    /// See [`Services`].
    pub services: Arc<dyn Services>,
    /// The namespace `Root\Microsoft\Windows\Smb`.
    pub smb: Arc<dyn Provider>,
    /// The namespace `Root\Microsoft\Windows\Storage`, but for iSCSI.
    pub storage: Arc<dyn Provider>,
    /// See [`Volumes`].
    pub volumes: Arc<dyn Volumes>,
}

impl Os {
    /// This node with one facility taken from another.
    #[must_use]
    pub fn with(mut self, facility: Facility, from: &Self) -> Self {
        match facility {
            Facility::AfUnix => self.afunix = Arc::clone(&from.afunix),
            Facility::Boot => self.boot = Arc::clone(&from.boot),
            Facility::Clock => self.clock = Arc::clone(&from.clock),
            Facility::Disks => self.disks = Arc::clone(&from.disks),
            Facility::EventLog => self.event_log = Arc::clone(&from.event_log),
            Facility::Files => self.files = Arc::clone(&from.files),
            Facility::Firmware => self.firmware = Arc::clone(&from.firmware),
            Facility::Iscsi => self.iscsi = Arc::clone(&from.iscsi),
            Facility::Processes => self.processes = Arc::clone(&from.processes),
            Facility::Services => self.services = Arc::clone(&from.services),
            Facility::Smb => self.smb = Arc::clone(&from.smb),
            Facility::Storage => self.storage = Arc::clone(&from.storage),
            Facility::Volumes => self.volumes = Arc::clone(&from.volumes),
        }
        self
    }
}

/// The parts of an [`Os`], each of which can be simulated or native.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(
    missing_docs,
    reason = "each variant is the field of `Os` of the same name"
)]
pub enum Facility {
    AfUnix,
    Boot,
    Clock,
    Disks,
    EventLog,
    Files,
    Firmware,
    Iscsi,
    Processes,
    Services,
    Smb,
    Storage,
    Volumes,
}

impl Facility {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::AfUnix,
        Self::Boot,
        Self::Clock,
        Self::Disks,
        Self::EventLog,
        Self::Files,
        Self::Firmware,
        Self::Iscsi,
        Self::Processes,
        Self::Services,
        Self::Smb,
        Self::Storage,
        Self::Volumes,
    ];

    /// The name in flags, fault scripts and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfUnix => "afunix",
            Self::Boot => "boot",
            Self::Clock => "clock",
            Self::Disks => "disks",
            Self::EventLog => "event-log",
            Self::Files => "files",
            Self::Firmware => "firmware",
            Self::Iscsi => "iscsi",
            Self::Processes => "processes",
            Self::Services => "services",
            Self::Smb => "smb",
            Self::Storage => "storage",
            Self::Volumes => "volumes",
        }
    }
}

impl fmt::Display for Facility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Facility {
    type Err = UnknownFacility;

    fn from_str(name: &str) -> Result<Self, UnknownFacility> {
        Self::ALL
            .into_iter()
            .find(|facility| facility.name() == name)
            .ok_or_else(|| UnknownFacility(name.to_owned()))
    }
}

/// No facility has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown facility {0:?}")]
pub struct UnknownFacility(pub String);
