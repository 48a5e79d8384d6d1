//! The namespace `Root\Microsoft\Windows\Storage`, but for iSCSI: `MSFT_Disk`, `MSFT_Partition`,
//! `MSFT_Volume`, `MSFT_StorageSetting`.
//!
//! The provider answers from [`Cache`], which is not what the kernel knows: it changes only by the
//! provider's own methods, by `MSFT_Disk.Refresh` (that disk) and by
//! `MSFT_StorageSetting.UpdateHostStorageCache` (all of them). A volume that appears in a partition
//! that the cache has is learnt of by itself, and so is, late, a disk that came.

mod access_path;
mod cache;
mod create;
mod disk;
mod format;
mod ids;
mod neighbour;
mod objects;
mod partition;
mod resize;
mod volume;

pub(crate) use cache::Cache;

use std::sync::Arc;

use os::schema::{self, Class};
use os::{Cause, Facility, Hresult, Outcome, Value};

use self::cache::{CachedDisk, Shared};
use self::objects::{DiskObject, PartitionObject, SettingObject, VolumeObject};
use crate::files::FileTree;
use crate::machine::Machine;
use crate::provider::{Done, Keyed, MethodCall, Namespace, Object};
use crate::shared_node::SharedNode;

/// The storage management provider.
pub(crate) struct Storage {
    pub(crate) shared: Arc<SharedNode>,
    pub(crate) tree: FileTree,
}

impl Namespace for Storage {
    fn facility(&self) -> Facility {
        Facility::Storage
    }

    fn shared(&self) -> &Arc<SharedNode> {
        &self.shared
    }

    fn objects(&self, class: &'static Class) -> Done<Vec<Box<dyn Object>>> {
        self.with(|machine| {
            let cached = || machine.state.storage.disks.values();
            Ok(neighbour::with_neighbours(machine, || match class.name {
                "MSFT_Disk" => cached().map(|disk| disk_object(machine, disk)).collect(),
                "MSFT_Partition" => cached()
                    .flat_map(|disk| partitions(machine, disk))
                    .collect(),
                "MSFT_Volume" => cached().flat_map(|disk| volumes(machine, disk)).collect(),
                _ => Vec::new(),
            }))
        })
    }

    fn associated(
        &self,
        of: &Keyed<'_>,
        association: &Class,
        result: &'static Class,
    ) -> Done<Option<Vec<Box<dyn Object>>>> {
        self.with(|machine| {
            let Ok(found) = find(machine, of) else {
                return Ok(None);
            };
            let disk = &machine.state.storage.disks[&found.disk];
            let index = disk.index(found.partition);
            Ok(Some(match (association.name, result.name) {
                ("MSFT_DiskToPartition", "MSFT_Partition") => partitions(machine, disk).collect(),
                ("MSFT_DiskToPartition", _) => vec![disk_object(machine, disk)],
                ("MSFT_PartitionToVolume", "MSFT_Volume") => index
                    .and_then(|index| volume_object(machine, disk, index))
                    .into_iter()
                    .collect(),
                _ => index
                    .map(|index| Box::new(partition_object(machine, disk, index)) as _)
                    .into_iter()
                    .collect(),
            }))
        })
    }

    fn invoke(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        match call.class.name {
            "MSFT_Disk" => self.invoke_disk(call),
            "MSFT_Partition" => self.invoke_partition(call),
            "MSFT_StorageSetting" => self.invoke_setting(call),
            "MSFT_Volume" => self.invoke_volume(call),
            _ => Err(not_simulated(call)),
        }
    }
}

impl Storage {
    /// The machine, with all volumes learnt of that have appeared.
    fn with<T>(&self, act: impl FnOnce(&mut Machine) -> Done<T>) -> Done<T> {
        self.shared.with(|machine| {
            machine.learn_arrivals();
            machine.learn_volumes();
            act(machine)
        })
    }

    /// The machine and the object that the method is called on.
    fn on<T>(
        &self,
        call: &MethodCall<'_>,
        act: impl FnOnce(&mut Machine, &Found) -> Done<T>,
    ) -> Done<T> {
        self.with(|machine| {
            let found = find(machine, call.object()?)?;
            act(machine, &found)
        })
    }

    fn invoke_setting(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        match call.method.name {
            "UpdateHostStorageCache" => self.with(|machine| {
                machine.rescan()?;
                Ok(Outcome::of(0))
            }),
            "Get" => self.with(|machine| {
                let object = SettingObject::of(machine);
                let class = &schema::storage_setting::CLASS;
                let setting = crate::provider::whole(&object, class, || Ok(pathless()))?;
                Ok(answering("StorageSetting", setting))
            }),
            _ => Err(not_simulated(call)),
        }
    }
}

/// Where the object of a call is.
pub(crate) struct Found {
    /// The disk's name in the node's folder.
    disk: String,
    /// The partition's offset, when it is one or a volume.
    partition: Option<u64>,
}

/// The cached object with these keys.
fn find(machine: &Machine, of: &Keyed<'_>) -> Done<Found> {
    let id = of.key("ObjectId")?;
    let mut disks = machine.state.storage.disks.iter();
    let found = disks.find_map(|(name, disk)| match of.class.name {
        "MSFT_Disk" => (disk.object_id == id).then_some((name, None)),
        "MSFT_Partition" if !id.contains(&disk.path) => None,
        class => disk.partitions.iter().find_map(|partition| {
            let is_it = match class {
                "MSFT_Partition" => ids::partition(machine.node(), disk, partition) == id,
                _ => partition.volume.is_some() && ids::volume(machine.node(), partition) == id,
            };
            is_it.then_some((name, Some(partition.offset)))
        }),
    });
    let (disk, partition) = found.ok_or(Hresult::WBEM_E_NOT_FOUND)?;
    Ok(Found {
        disk: disk.clone(),
        partition,
    })
}

/// The `MSFT_Disk` of the disk with this name in the node's folder, if the provider knows it.
pub(crate) fn disk_named(machine: &Machine, name: &str) -> Option<Box<dyn Object>> {
    let cached = machine.state.storage.disks.get(name)?;
    Some(disk_object(machine, cached))
}

fn disk_object(machine: &Machine, disk: &Shared<CachedDisk>) -> Box<dyn Object> {
    Box::new(DiskObject {
        node: Arc::clone(machine.node()),
        disk: disk.clone(),
    })
}

fn partitions(
    machine: &Machine,
    disk: &Shared<CachedDisk>,
) -> impl Iterator<Item = Box<dyn Object>> {
    (0..disk.partitions.len()).map(|index| {
        let object: Box<dyn Object> = Box::new(partition_object(machine, disk, index));
        object
    })
}

fn partition_object(machine: &Machine, disk: &Shared<CachedDisk>, index: usize) -> PartitionObject {
    PartitionObject {
        node: Arc::clone(machine.node()),
        disk: disk.clone(),
        index,
    }
}

fn volumes(machine: &Machine, disk: &Shared<CachedDisk>) -> impl Iterator<Item = Box<dyn Object>> {
    (0..disk.partitions.len()).filter_map(|index| volume_object(machine, disk, index))
}

fn volume_object(
    machine: &Machine,
    disk: &Shared<CachedDisk>,
    index: usize,
) -> Option<Box<dyn Object>> {
    let volume = VolumeObject::of(machine, partition_object(machine, disk, index))?;
    Some(Box::new(volume))
}

fn answering(name: &str, instance: os::Instance) -> Outcome {
    let mut outcome = Outcome::of(0);
    let object = Value::Object(Box::new(instance));
    outcome.out.insert(name.to_owned(), object);
    outcome
}

fn failing(code: schema::ReturnCode) -> Outcome {
    Outcome {
        extended: Some(code.meaning.to_owned()),
        ..Outcome::of(code.code)
    }
}

fn pathless() -> os::ObjectPath {
    os::ObjectPath(String::new())
}

fn not_simulated(call: &MethodCall<'_>) -> Cause {
    let (class, method) = (call.class.name, call.method.name);
    Cause::Malformed(format!("{class}.{method} is not simulated"))
}
