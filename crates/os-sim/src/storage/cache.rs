use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use os::{Cause, PartitionStyle, VolumeId, Win32};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::ids;
use crate::conditions::{Arrivals, StorageConditions};
use crate::hardware::{DiskSpec, place};
use crate::machine::{Machine, millis};
use crate::ondisk::{FilesystemKind, Partition};

/// The provider's cache.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Cache {
    /// By the disk's name in the node's folder.
    pub(crate) disks: BTreeMap<String, Shared<CachedDisk>>,
}

/// Something that every answer about it shares: a query on a node of many disks copies none.
#[derive(Debug, Clone)]
pub(crate) struct Shared<T>(Arc<T>);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CachedDisk {
    /// Which of the arrivals of disks it was: another in its slot, or under its name, is another disk.
    #[serde(default)]
    pub(crate) arrival: u64,
    pub(crate) object_id: String,
    /// The device interface path.
    pub(crate) path: String,
    pub(crate) location: String,
    pub(crate) spec: DiskSpec,
    pub(crate) number: u32,
    pub(crate) length: u64,
    pub(crate) style: Style,
    pub(crate) is_offline: bool,
    pub(crate) is_read_only: bool,
    /// Offline since another disk has its signature or GUID.
    #[serde(default)]
    pub(crate) collides: bool,
    /// Windows runs from it.
    pub(crate) is_system: bool,
    pub(crate) largest_gap: u64,
    pub(crate) partitions: Vec<CachedPartition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Style {
    Gpt(Uuid),
    Mbr(u32),
    Raw,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CachedPartition {
    pub(crate) number: u32,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) kind: Uuid,
    pub(crate) id: Uuid,
    pub(crate) mbr_type: Option<u8>,
    pub(crate) is_hidden: bool,
    pub(crate) is_read_only: bool,
    pub(crate) letter: Option<char>,
    /// Letters, mounted folders, and the volume's GUID path.
    pub(crate) paths: Vec<String>,
    pub(crate) volume: Option<CachedVolume>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct CachedVolume {
    /// `None` for a RAW one.
    pub(crate) filesystem: Option<String>,
    pub(crate) label: String,
    pub(crate) length: u64,
    /// The room for files in bytes.
    pub(crate) room: u64,
    pub(crate) cluster: u32,
}

impl CachedDisk {
    /// The place among the partitions of the one at this offset.
    pub(crate) fn index(&self, offset: Option<u64>) -> Option<usize> {
        let mut partitions = self.partitions.iter();
        partitions.position(|partition| Some(partition.offset) == offset)
    }
}

impl CachedVolume {
    pub(crate) fn kind(&self) -> Option<FilesystemKind> {
        FilesystemKind::named(self.filesystem.as_deref()?)
    }
}

impl<T: Clone> Shared<T> {
    fn to_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(|value| Self(Arc::new(value)))
    }
}

impl From<PartitionStyle> for Style {
    fn from(style: PartitionStyle) -> Self {
        match style {
            PartitionStyle::Gpt { disk_id } => Self::Gpt(disk_id),
            PartitionStyle::Mbr { signature } => Self::Mbr(signature),
            PartitionStyle::Raw => Self::Raw,
        }
    }
}

impl Machine {
    /// Everything as the kernel has it, as after a start of the node.
    pub(crate) fn fill_storage_cache(&mut self) {
        let names: Vec<_> = self.present.keys().cloned().collect();
        self.state.storage.disks.clear();
        for name in &names {
            self.cache_disk(name);
        }
    }

    /// `UpdateHostStorageCache`: the kernel looks at every disk, the provider at the kernel.
    pub(crate) fn rescan(&mut self) -> Result<(), Cause> {
        self.reread_all().map_err(|_| Win32::IO_DEVICE)?;
        self.fill_storage_cache();
        Ok(())
    }

    /// Caches one disk in the kernel's state; drops it if the kernel has it no more, or the provider hides it.
    pub(crate) fn cache_disk(&mut self, name: &str) {
        let cached = self.snapshot(name);
        let disks = &mut self.state.storage.disks;
        match cached {
            Some(cached) => disks.insert(name.to_owned(), Shared(Arc::new(cached))),
            None => disks.remove(name),
        };
    }

    /// Takes up disks that arrived a while ago, as the provider does by itself, and with them the departure of
    /// others.
    pub(crate) fn learn_arrivals(&mut self) {
        let come = self.unnoticed();
        if come.is_empty() {
            return;
        }
        let present = &self.present;
        let cached = &mut self.state.storage.disks;
        cached.retain(|name, _| present.contains_key(name));
        for name in &come {
            self.cache_disk(name);
        }
    }

    fn unnoticed(&self) -> Vec<String> {
        let StorageConditions {
            arrivals,
            arrival_delay_ms,
            ..
        } = self.spec.storage;
        let now = millis(self.now);
        let cached = &self.state.storage.disks;
        let is_due = |name: &String| {
            let known = self.state.disks.get(name);
            known.is_some_and(|disk| {
                let is_new = cached.get(name).is_none_or(|it| it.arrival != disk.arrival);
                is_new && disk.arrived_ms.saturating_add(arrival_delay_ms) <= now
            })
        };
        let present = self.present.keys();
        let new = present.filter(|name| is_due(name) && !self.is_unlisted(name));
        match arrivals {
            Arrivals::Noticed => new.cloned().collect(),
            Arrivals::OnRescan => Vec::new(),
        }
    }

    /// Volumes that have appeared in partitions that the cache has.
    pub(crate) fn learn_volumes(&mut self) {
        let cached = self.state.storage.disks.iter();
        let unknown = cached.flat_map(|(name, disk)| {
            let partitions = disk.partitions.iter();
            let pending = partitions.filter(|partition| partition.volume.is_none());
            pending.map(move |partition| (name, partition))
        });
        let learnt: Vec<_> = unknown
            .filter_map(|(name, partition)| {
                let volume = self.volume_snapshot(name, VolumeId(partition.id))?;
                Some((name.clone(), partition.offset, volume))
            })
            .collect();
        for (name, offset, volume) in learnt {
            self.learn(&name, offset, volume);
        }
    }

    fn learn(&mut self, name: &str, offset: u64, volume: CachedVolume) {
        let disk = self.state.storage.disks.get_mut(name);
        let mut partitions = disk
            .into_iter()
            .flat_map(|disk| &mut disk.to_mut().partitions);
        if let Some(partition) = partitions.find(|partition| partition.offset == offset) {
            let id = VolumeId(partition.id);
            partition.paths.push(id.to_string());
            partition.volume = Some(volume);
        }
    }

    fn snapshot(&self, name: &str) -> Option<CachedDisk> {
        let present = self.present.get(name)?;
        let kernel = self.state.disks.get(name)?;
        if self.is_unlisted(name) {
            return None;
        }
        let partitions = &present.table.partitions;
        let spec = &present.disk.spec;
        let path = present.path.clone();
        Some(CachedDisk {
            arrival: kernel.arrival,
            object_id: ids::disk(&self.spec.name, &path),
            path,
            location: place::location(spec, name),
            spec: spec.clone(),
            number: kernel.number?,
            length: kernel.length,
            style: present.table.style.into(),
            is_offline: kernel.is_offline,
            is_read_only: kernel.is_read_only,
            collides: kernel.collides,
            is_system: self.is_system_disk(name),
            largest_gap: match present.table.style {
                PartitionStyle::Raw => 0,
                _ => present
                    .table
                    .largest_gap(kernel.length)
                    .map_or(0, |gap| gap.1),
            },
            partitions: partitions
                .iter()
                .map(|it| self.partition_snapshot(name, it))
                .collect(),
        })
    }

    /// A clone, or another path to the disk, has the partition too, but not its volume.
    fn partition_snapshot(&self, disk: &str, partition: &Partition) -> CachedPartition {
        let id = VolumeId(partition.id);
        let is_elsewhere = self.home(id).is_ok_and(|home| home.disk != disk);
        let volume = self.volume_snapshot(disk, id);
        let paths = self.state.paths_of(id);
        let mut paths: Vec<_> = paths.iter().map(access_path).collect();
        paths.extend(volume.as_ref().map(|_| id.to_string()));
        paths.retain(|_| !is_elsewhere);
        CachedPartition {
            number: partition.number,
            offset: partition.offset,
            length: partition.length,
            kind: partition.kind,
            id: partition.id,
            mbr_type: partition.mbr_type,
            is_hidden: partition.is_hidden,
            is_read_only: partition.is_read_only,
            letter: self.state.letter_of(id).filter(|_| !is_elsewhere),
            paths,
            volume,
        }
    }

    fn volume_snapshot(&self, disk: &str, id: VolumeId) -> Option<CachedVolume> {
        let home = self.home(id).ok().filter(|home| home.disk == disk)?;
        let filesystem = self.filesystem(&home).ok()?;
        Some(CachedVolume {
            filesystem: filesystem.map(|it| it.kind.name().to_owned()),
            label: self.label(id),
            length: filesystem.map_or(0, |it| it.length),
            room: filesystem.map_or(0, |it| it.room()),
            cluster: filesystem.map_or(0, |it| it.cluster),
        })
    }

    /// Whether Windows itself runs from the disk.
    pub(crate) fn is_system_disk(&self, name: &str) -> bool {
        let table = self.present.get(name).map(|present| &present.table);
        let mut partitions = table.into_iter().flat_map(|table| &table.partitions);
        partitions.any(|partition| self.is_system(VolumeId(partition.id)))
    }
}

/// An access path ends in a backslash.
fn access_path(path: &os::WinPath) -> String {
    let text = path.to_string();
    if text.ends_with('\\') {
        return text;
    }
    text + "\\"
}
