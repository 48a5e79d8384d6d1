use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::time::Duration;
use std::{io, mem};

use os::{Moment, VolumeId, WinPath};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::folder;
use crate::iscsi::IscsiState;
use crate::services::Asked;
use crate::smb::Mappings;
use crate::storage::Cache;

/// The node's state that a process which opens its folder must find again: `state.json`.
///
/// Half of it outlives a restart of the node (offline disks, mounted folders), the other half does
/// not (disk numbers, caches); [`State::restart`] separates the two.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct State {
    pub(crate) boot: Uuid,
    /// The node's clock when this was written.
    pub(crate) elapsed_ms: u64,
    /// How many disks have been seen so far.
    pub(crate) arrivals: u64,
    /// By name; disks that are gone are remembered, as Windows remembers them.
    pub(crate) disks: BTreeMap<String, KernelDisk>,
    /// When each volume of dynamic disks appears or appeared.
    pub(crate) spanned: BTreeMap<Uuid, u64>,
    /// The mount manager's table: drive letters and mounted folders.
    pub(crate) mounts: Vec<Mount>,
    pub(crate) labels: BTreeMap<Uuid, String>,
    pub(crate) iscsi: IscsiState,
    pub(crate) services: BTreeMap<String, Asked>,
    pub(crate) smb: Mappings,
    pub(crate) storage: Cache,
}

/// A disk as the kernel knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct KernelDisk {
    pub(crate) arrival: u64,
    /// When it came, by the node's clock.
    #[serde(default)]
    pub(crate) arrived_ms: u64,
    /// While it is plugged in.
    pub(crate) number: Option<u32>,
    /// When the kernel last looked.
    pub(crate) length: u64,
    pub(crate) is_offline: bool,
    pub(crate) is_read_only: bool,
    /// Whether it is so again after the next restart.
    #[serde(default)]
    pub(crate) is_read_only_again: bool,
    /// Whether it is offline since another disk has its signature or GUID.
    #[serde(default)]
    pub(crate) collides: bool,
    /// When each of its volumes appears or appeared.
    pub(crate) volumes: BTreeMap<Uuid, u64>,
    /// Partitions whose volume is offline by request.
    #[serde(default)]
    pub(crate) offline_volumes: Vec<Uuid>,
}

/// A row of the mount manager's table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mount {
    #[serde(with = "as_text")]
    pub(crate) path: WinPath,
    pub(crate) volume: Uuid,
}

impl State {
    /// That of a node that has never been started.
    pub(crate) fn first(mounts: Vec<Mount>) -> Self {
        Self {
            mounts,
            ..Self::default()
        }
    }

    /// As a node wrote it last, in whose folder this one lies.
    pub(crate) fn beside(folder: &Path) -> io::Result<Self> {
        let text = folder::text(&folder.with_file_name("state.json"))?;
        Ok(serde_json::from_str(text.as_deref().unwrap_or("{}"))?)
    }

    /// Keeps the part that survives a restart of the node.
    pub(crate) fn restart(&mut self) {
        self.boot = Uuid::new_v4();
        self.smb.restart();
        self.storage = Cache::default();
        self.spanned.clear();
        let mut present: Vec<_> = self
            .disks
            .values_mut()
            .filter(|disk| disk.number.is_some())
            .collect();
        present.sort_by_key(|disk| disk.arrival);
        for (number, disk) in (0..).zip(present) {
            disk.number = Some(number);
            disk.volumes.clear();
            disk.offline_volumes.clear();
        }
        for disk in self.disks.values_mut() {
            disk.is_read_only |= mem::take(&mut disk.is_read_only_again);
        }
    }

    pub(crate) fn letter_of(&self, volume: VolumeId) -> Option<char> {
        self.mounts
            .iter()
            .filter(|mount| mount.volume == volume.0)
            .find_map(|mount| letter(&mount.path))
    }

    pub(crate) fn paths_of(&self, volume: VolumeId) -> Vec<WinPath> {
        self.mounts
            .iter()
            .filter(|mount| mount.volume == volume.0)
            .map(|mount| mount.path.clone())
            .collect()
    }
}

/// The drive letter, when the path is one.
pub(crate) fn letter(path: &WinPath) -> Option<char> {
    match path.root() {
        os::Root::Drive(letter) if path.components().is_empty() => Some(*letter),
        _ => None,
    }
}

/// A moment as `state.json` keeps it.
pub(crate) fn millis(moment: Moment) -> u64 {
    u64::try_from(moment.0.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn moment(millis: u64) -> Moment {
    Moment(Duration::from_millis(millis))
}

/// A value that knows whether it was changed since it was saved.
#[derive(Debug)]
pub(crate) struct Tracked<T> {
    is_dirty: bool,
    value: T,
}

impl<T> Tracked<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            is_dirty: true,
            value,
        }
    }

    /// Whether it has to be saved; it counts as saved from now on.
    pub(crate) fn take_dirt(&mut self) -> bool {
        mem::take(&mut self.is_dirty)
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Tracked<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.is_dirty = true;
        &mut self.value
    }
}

mod as_text {
    use os::WinPath;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &WinPath, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(path)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<WinPath, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{KernelDisk, State};

    fn disk(arrival: u64, number: Option<u32>) -> KernelDisk {
        KernelDisk {
            arrival,
            arrived_ms: 0,
            number,
            length: 0,
            is_offline: true,
            is_read_only: false,
            is_read_only_again: false,
            collides: false,
            volumes: BTreeMap::new(),
            offline_volumes: Vec::new(),
        }
    }

    fn state(disks: &[(&str, u64, Option<u32>)]) -> State {
        let disks = disks
            .iter()
            .map(|&(name, arrival, number)| (name.to_owned(), disk(arrival, number)))
            .collect();
        State {
            disks,
            ..State::default()
        }
    }

    #[test]
    fn a_restart_numbers_the_disks_by_arrival_and_keeps_them_offline() {
        let mut state = state(&[("a", 3, Some(1)), ("b", 2, None), ("c", 1, Some(7))]);
        let boot = state.boot;
        state.restart();
        assert_ne!(state.boot, boot);
        let numbers = ["a", "b", "c"].map(|name| state.disks[name].number);
        assert_eq!(numbers, [Some(1), None, Some(0)]);
        assert!(state.disks["a"].is_offline);
    }
}
