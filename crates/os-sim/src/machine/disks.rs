use std::collections::{BTreeMap, HashSet};
use std::io;

use os::{Cause, DiskNumber, PartitionStyle, Win32};

use super::{KernelDisk, Machine, Present, State, millis};
use crate::hardware::{Arrives, DiskSpec, place};
use crate::ondisk::{Area, Table};
use crate::spec::SanPolicy;
use crate::{iscsi, system_disk};

impl Machine {
    /// Plug and play: what was plugged in or pulled out since the last look.
    pub(crate) fn notice_hardware(&mut self) -> io::Result<()> {
        let generation = self.hardware.generation();
        if generation.is_some() && generation == self.seen {
            return Ok(());
        }
        let names = self.hardware.disk_names()?;
        let gone = self.gone_from(&names);
        for name in &gone {
            self.lose(name);
        }
        let mut has_changed = !gone.is_empty();
        let mut numbers = Numbers::of(&self.state);
        // Firmware starts from the system disk, so that it is there first and is number 0.
        let (system, others): (Vec<_>, _) =
            names.iter().partition(|name| *name == system_disk::NAME);
        for name in system.into_iter().chain::<Vec<_>>(others) {
            has_changed |= self.notice(name, &mut numbers)?;
        }
        if has_changed {
            self.index();
        }
        self.seen = generation;
        Ok(())
    }

    /// The disks that the kernel has and that are plugged in no more, also those that went while no
    /// process had the node open.
    fn gone_from(&self, names: &[String]) -> Vec<String> {
        let disks = self.state.disks.iter();
        let known = disks.filter(|(_, disk)| disk.number.is_some());
        let gone = known.filter(|(name, _)| names.binary_search(name).is_err());
        gone.map(|(name, _)| name.clone()).collect()
    }

    /// The node was restarted: everything is looked at anew.
    pub(crate) fn power_cycle(&mut self) -> Result<(), Cause> {
        self.start_services();
        iscsi::restart(self).map_err(|_| Win32::IO_DEVICE)?;
        self.notice_hardware().map_err(|_| Win32::IO_DEVICE)?;
        self.state.restart();
        self.locked.clear();
        self.holds.clear();
        self.reread_all().map_err(|_| Win32::IO_DEVICE)?;
        self.appear_at_once();
        self.fill_storage_cache();
        Ok(())
    }

    /// The numbers of all disks that are plugged in, ascending.
    pub(crate) fn disk_numbers(&self) -> Vec<DiskNumber> {
        let mut numbers: Vec<_> = self.numbers.keys().copied().map(DiskNumber).collect();
        numbers.sort();
        numbers
    }

    /// The name of the disk with this number.
    pub(crate) fn disk_name(&self, number: DiskNumber) -> Result<String, Cause> {
        self.numbers
            .get(&number.0)
            .cloned()
            .ok_or_else(|| Win32::FILE_NOT_FOUND.into())
    }

    /// The number of the disk that this device path opens.
    pub(crate) fn number_at(&self, path: &str) -> Result<DiskNumber, Cause> {
        let mut present = self.present.iter();
        let found = present.find(|(_, disk)| disk.path == path);
        let number = found.and_then(|(name, _)| self.state.disks.get(name)?.number);
        number
            .map(DiskNumber)
            .ok_or_else(|| Win32::FILE_NOT_FOUND.into())
    }

    pub(crate) fn disk(&self, name: &str) -> Result<&Present, Cause> {
        self.present
            .get(name)
            .ok_or_else(|| Win32::FILE_NOT_FOUND.into())
    }

    pub(crate) fn kernel(&self, name: &str) -> Result<&KernelDisk, Cause> {
        self.state
            .disks
            .get(name)
            .ok_or_else(|| Win32::FILE_NOT_FOUND.into())
    }

    /// The disk as the kernel knows it.
    pub(crate) fn area(&self, name: &str) -> Result<Area<'_>, Cause> {
        let disk = &self.disk(name)?.disk;
        Ok(Area {
            medium: &disk.medium,
            length: self.kernel(name)?.length,
            sector_size: disk.spec.sector_size.bytes(),
            unreadable: &disk.spec.unreadable,
        })
    }

    /// Changes what the kernel remembers of a disk.
    pub(crate) fn change(
        &mut self,
        name: &str,
        act: impl FnOnce(&mut KernelDisk),
    ) -> Result<(), Cause> {
        let known = self.state.disks.get_mut(name);
        known.map(act).ok_or_else(|| Win32::FILE_NOT_FOUND.into())
    }

    /// The kernel reads length and partition table anew.
    pub(crate) fn reread(&mut self, name: &str) -> io::Result<()> {
        self.reread_length(name)?;
        self.settle(name);
        Ok(())
    }

    /// The kernel reads length and partition table of every disk anew.
    pub(crate) fn reread_all(&mut self) -> io::Result<()> {
        let names: Vec<_> = self.present.keys().cloned().collect();
        for name in &names {
            match self.reread_length(name) {
                Ok(()) => self.reread_table(name),
                // It was pulled out since the hardware was looked at: the next look loses it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        self.index();
        Ok(())
    }

    fn reread_length(&mut self, name: &str) -> io::Result<()> {
        if let Some(present) = self.present.get(name) {
            let length = present.disk.medium.length()?;
            if let Some(known) = self.state.disks.get_mut(name) {
                known.length = length;
            }
        }
        Ok(())
    }

    /// The kernel takes up writes of the storage provider, and the effect of the disk's state on
    /// its volumes.
    pub(crate) fn settle(&mut self, name: &str) {
        self.reread_table(name);
        self.index();
    }

    pub(super) fn reread_table(&mut self, name: &str) {
        let Ok(area) = self.area(name) else {
            return;
        };
        let read = area.medium.generation().map(|it| (it, area.length));
        let is_known = |present: &Present| read.is_some() && present.read == read;
        if !self.present.get(name).is_some_and(is_known) {
            let table = Table::read(area);
            if let Some(present) = self.present.get_mut(name) {
                present.table = table;
                present.read = read;
            }
        }
        self.expect_volumes(name);
    }

    /// Which disks are where, for quick answers.
    pub(super) fn index(&mut self) {
        let State { disks, .. } = &*self.state;
        self.numbers = disks
            .iter()
            .filter_map(|(name, disk)| Some((disk.number?, name.clone())))
            .collect();
        self.homes = disks
            .iter()
            .flat_map(|(name, disk)| disk.volumes.keys().map(|volume| (*volume, name.clone())))
            .collect();
        self.find_spanned();
    }

    fn lose(&mut self, name: &str) {
        self.present.remove(name);
        if let Some(known) = self.state.disks.get_mut(name) {
            known.number = None;
            known.volumes.clear();
        }
    }

    /// Whether anything was new about the disk.
    fn notice(&mut self, name: &str, numbers: &mut Numbers) -> io::Result<bool> {
        let Some(text) = self.hardware.disk_text(name)? else {
            self.lose(name);
            return Ok(true);
        };
        if self.present.get(name).is_some_and(|old| old.text == text) {
            return Ok(false);
        }
        let Some(disk) = self.hardware.disk(name, &text) else {
            return Ok(false);
        };
        let length = disk.medium.length()?;
        let is_new = self.meet(name, &disk.spec, length, numbers);
        let table = Table {
            style: PartitionStyle::Raw,
            partitions: Vec::new(),
        };
        let path = place::path(&disk.spec, name);
        let present = Present {
            disk,
            table,
            read: None,
            path,
            text,
        };
        self.present.insert(name.to_owned(), present);
        self.reread_table(name);
        if is_new && self.has_twin(name) {
            self.keep_down(name);
        }
        Ok(true)
    }

    /// The kernel's handling of a newly attached disk. A process that opens the node finds the
    /// disks of the last process unchanged. Returns whether the disk is new.
    fn meet(&mut self, name: &str, spec: &DiskSpec, length: u64, numbers: &mut Numbers) -> bool {
        let known = self.state.disks.get(name);
        if known.is_some_and(|known| known.number.is_some()) {
            return false;
        }
        let stays_down = self.stays_down(spec);
        let met = KernelDisk {
            arrival: self.state.arrivals + 1,
            arrived_ms: millis(self.now),
            number: Some(numbers.take()),
            length,
            is_offline: known.map_or(stays_down, |known| known.is_offline),
            is_read_only: known.map_or(stays_down, |known| known.is_read_only),
            is_read_only_again: known.is_some_and(|known| known.is_read_only_again),
            collides: false,
            volumes: BTreeMap::new(),
            offline_volumes: Vec::new(),
        };
        self.state.arrivals = met.arrival;
        self.state.disks.insert(name.to_owned(), met);
        true
    }

    fn stays_down(&self, spec: &DiskSpec) -> bool {
        match (spec.arrives, self.spec.san_policy) {
            (Arrives::Offline | Arrives::RedundantPath, _)
            | (Arrives::ByPolicy, SanPolicy::OfflineAll) => true,
            (Arrives::Online, _) | (Arrives::ByPolicy, SanPolicy::OnlineAll) => false,
            (Arrives::ByPolicy, SanPolicy::OfflineShared) => spec.bus.is_shared(),
        }
    }

    /// Volumes that belong to no disk that is online go at once; new ones come after a while.
    fn expect_volumes(&mut self, name: &str) {
        let (Some(present), Some(known)) = (self.present.get(name), self.state.disks.get(name))
        else {
            return;
        };
        let due = millis(self.now).saturating_add(self.spec.volume_delay_ms);
        let partitions = present.table.partitions.iter();
        let wanted = partitions
            .filter(|partition| partition.has_volume() && !known.is_offline)
            .filter(|partition| !known.offline_volumes.contains(&partition.id))
            .map(|partition| {
                let since = known.volumes.get(&partition.id).copied();
                (partition.id, since.unwrap_or(due))
            })
            .collect();
        if known.volumes != wanted
            && let Some(known) = self.state.disks.get_mut(name)
        {
            known.volumes = wanted;
        }
    }

    /// No volume is waited for: the node is up.
    fn appear_at_once(&mut self) {
        let now = millis(self.now);
        let State { disks, spanned, .. } = &mut *self.state;
        let volumes = disks
            .values_mut()
            .flat_map(|disk| disk.volumes.values_mut());
        for due in volumes.chain(spanned.values_mut()) {
            *due = now.min(*due);
        }
    }
}

/// The disk numbers that are free, lowest first.
struct Numbers {
    next: u32,
    taken: HashSet<u32>,
}

impl Numbers {
    fn of(state: &State) -> Self {
        let taken = state.disks.values().filter_map(|disk| disk.number);
        Self {
            next: 0,
            taken: taken.collect(),
        }
    }

    fn take(&mut self) -> u32 {
        while self.taken.contains(&self.next) {
            self.next += 1;
        }
        self.taken.insert(self.next);
        self.next
    }
}
