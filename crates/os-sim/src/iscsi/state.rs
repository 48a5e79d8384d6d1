use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::login::{Authentication, Endpoint, Login};
use super::server::Lun;
use crate::hardware::{Arrives, Bus, DiskSpec};
use crate::secret::Secret;

/// The initiator's state, as `state.json` keeps it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct IscsiState {
    pub(crate) portals: Vec<Portal>,
    pub(crate) sessions: Vec<Session>,
    /// The logins that are made again after a restart.
    pub(crate) persistent: Vec<Persistent>,
    /// By which targets have to prove themselves.
    pub(crate) proof: Option<Secret>,
    /// How many restarts there have been.
    pub(crate) boot: u32,
    /// How many sessions there have been since the last restart.
    pub(crate) last_session: u32,
    /// Whether the initiator service has come up since the last restart.
    pub(crate) has_come_up: bool,
    /// The disks that sessions brought.
    pub(crate) plugged: BTreeSet<String>,
}

/// A portal that the initiator queries for targets, and its last answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Portal {
    pub(crate) endpoint: Endpoint,
    pub(crate) authentication: Authentication,
    pub(crate) targets: Vec<String>,
}

/// A session with a target. It has one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The restart that it was made after.
    #[serde(default)]
    pub(crate) boot: u32,
    /// Counted from 1 since the last restart.
    pub(crate) number: u32,
    pub(crate) login: Login,
    /// Where it leads.
    pub(crate) endpoint: Endpoint,
    /// Whether its disks are other paths to those of another session, which nothing brings together.
    #[serde(default)]
    pub(crate) is_redundant: bool,
}

/// A login that is made again after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Persistent {
    pub(crate) login: Login,
    /// Whether it is still due: nobody has made it or withdrawn it since the restart.
    pub(crate) is_due: bool,
}

impl IscsiState {
    /// Keeps the part that survives a restart of the node: the registry's content. The logins follow
    /// when the initiator service comes up.
    pub(crate) fn restart(&mut self) {
        self.sessions.clear();
        self.boot = self.boot.wrapping_add(1);
        self.last_session = 0;
        self.has_come_up = false;
        for persistent in &mut self.persistent {
            persistent.is_due = true;
        }
        for portal in &mut self.portals {
            portal.targets.clear();
        }
    }

    /// Whether there is nothing that could change by itself.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.sessions.is_empty()
            && self.plugged.is_empty()
            && self.persistent.is_empty()
            && self.portals.is_empty()
    }

    /// The names of all targets that the initiator knows of, sorted.
    pub(crate) fn targets(&self) -> BTreeSet<&str> {
        let advertised = self.portals.iter().flat_map(|portal| &portal.targets);
        let used = self.sessions.iter().map(|session| &session.login.target);
        advertised.chain(used).map(String::as_str).collect()
    }

    pub(crate) fn sessions_of(&self, target: &str) -> impl Iterator<Item = &Session> {
        let sessions = self.sessions.iter();
        sessions.filter(move |session| session.login.target == target)
    }

    pub(crate) fn is_persistent(&self, session: &Session) -> bool {
        let mut logins = self.persistent.iter();
        logins.any(|persistent| persistent.login.target == session.login.target)
    }
}

/// Two numbers with a dash between them, that of the adapter and its own for the session:
/// <https://learn.microsoft.com/windows-hardware/drivers/ddi/iscsiop/ns-iscsiop-_logintotarget_out>. Samples
/// of `Get-IscsiSession` have the same forms, and another number of the adapter after a restart.
impl Session {
    /// `SessionIdentifier`.
    pub(crate) fn id(&self) -> String {
        format!("{:x}-4000013700{:06x}", self.adapter(), self.number + 1)
    }

    /// `ConnectionIdentifier`.
    pub(crate) fn connection_id(&self) -> String {
        format!("{:x}-{:x}", self.adapter(), self.number)
    }

    fn adapter(&self) -> u64 {
        ADAPTER + (u64::from(self.boot) << ADAPTERS_APART)
    }
}

/// What it brings.
impl Session {
    /// The name that a logical unit has as a disk of the node.
    pub(crate) fn disk_name(&self, lun: &Lun) -> String {
        match self.is_redundant {
            false => format!("iscsi-{}", lun.image),
            true => format!("iscsi{}-{}", self.number, lun.image),
        }
    }

    pub(crate) fn disk_spec(&self, lun: &Lun) -> DiskSpec {
        let mut disk = lun.disk.clone();
        disk.bus = Bus::Iscsi;
        disk.address.lun = lun.number;
        if self.is_redundant {
            disk.address.target = u8::try_from(self.number).unwrap_or(u8::MAX);
            disk.arrives = Arrives::RedundantPath;
        }
        disk
    }
}

/// The adapter before the first restart: an address of the kernel's.
const ADAPTER: u64 = 0xffff_9000_e67f_4020;
/// A power of two.
const ADAPTERS_APART: u32 = 14;
