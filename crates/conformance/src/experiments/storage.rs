//! A disk of an experiment's own, by the storage provider's methods, past all guards of the node.

use std::time::Duration;

use os::schema::{Method, disk, partition, partition_to_volume, storage_setting, volume};
use os::{Arguments, DiskNumber, Instance, ObjectPath, Query, Target, Value, VolumeId};

use super::{Answer, deadline};
use crate::{CaseResult, Failure, NodeFixture};

pub(super) const GIB: u64 = 1 << 30;
pub(super) const MIB: u64 = 1 << 20;

const PAUSE: Duration = Duration::from_millis(10);

pub(super) struct Disk<'a> {
    pub(super) fixture: &'a dyn NodeFixture,
    pub(super) number: DiskNumber,
}

impl<'a> Disk<'a> {
    pub(super) fn of(fixture: &'a dyn NodeFixture, number: DiskNumber) -> Self {
        Self { fixture, number }
    }

    /// A new one of a gibibyte.
    pub(super) fn plugged(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        Ok(Self::of(fixture, fixture.plug(GIB)?))
    }

    /// A new one with a GPT, online.
    pub(super) fn initialised(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        let disk = Self::plugged(fixture)?;
        disk.call(&disk::INITIALIZE, &gpt())?.required()?;
        disk.call(&disk::ONLINE, &Arguments::none())?.required()?;
        Ok(disk)
    }

    /// Calls a method of the disk.
    pub(super) fn call(&self, method: &Method, arguments: &Arguments) -> CaseResult<Answer> {
        Ok(self.call_on(&self.object()?, method, arguments))
    }

    /// Calls a method of one of its objects.
    pub(super) fn call_on(
        &self,
        object: &ObjectPath,
        method: &Method,
        arguments: &Arguments,
    ) -> Answer {
        let storage = &*self.fixture.os().storage;
        Answer::of(
            self.fixture,
            storage,
            Target::Instance(object),
            method,
            arguments,
        )
    }

    pub(super) fn rescan(&self) -> Answer {
        let storage = &*self.fixture.os().storage;
        let class = Target::Class(storage_setting::CLASS.name);
        let method = &storage_setting::UPDATE_HOST_STORAGE_CACHE;
        Answer::of(self.fixture, storage, class, method, &Arguments::none())
    }

    /// Its one unreserved partition.
    pub(super) fn partition(&self) -> CaseResult<Instance> {
        let select = &[partition::SIZE.name];
        let query = Query::all(partition::CLASS.name, select)
            .with(partition::DISK_NUMBER.name, Value::uint32(self.number.0))
            .without(
                partition::GPT_TYPE.name,
                Value::text(partition::gpt_type::MICROSOFT_RESERVED.value),
            );
        self.only(&query)
    }

    /// The partition's volume, once it has appeared.
    pub(super) fn volume(&self) -> CaseResult<(VolumeId, ObjectPath)> {
        let os = self.fixture.os();
        let deadline = deadline(self.fixture);
        let partition = self.partition()?.path;
        let association = partition_to_volume::CLASS.name;
        let class = volume::CLASS.name;
        while deadline.left(&*os.clock).is_some() {
            let found = os
                .storage
                .associators(&partition, association, class, deadline)?;
            if let [found] = found.as_slice() {
                let id = found.text(volume::UNIQUE_ID.name)?;
                return Ok((id.parse().map_err(Failure::unexpected)?, found.path.clone()));
            }
            os.clock.sleep(PAUSE);
        }
        Err(Failure::unexpected("the partition has no volume"))
    }

    /// Offline or not, read-only or not, as the kernel has it.
    pub(super) fn state(&self) -> CaseResult<os::DiskAttributes> {
        Ok(self.fixture.os().disks.attributes(self.number)?)
    }

    fn object(&self) -> CaseResult<ObjectPath> {
        let number = Value::uint32(self.number.0);
        let query = Query::all(disk::CLASS.name, &[]).with(disk::NUMBER.name, number);
        Ok(self.only(&query)?.path)
    }

    fn only(&self, query: &Query<'_>) -> CaseResult<Instance> {
        let storage = &self.fixture.os().storage;
        let mut found = storage.query(query, deadline(self.fixture))?;
        match (found.pop(), found.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(Failure::unexpected(format!(
                "not one {} of disk {}",
                query.class, self.number
            ))),
        }
    }
}

pub(super) fn gpt() -> Arguments {
    let style = u16::try_from(disk::partition_style::GPT.value).unwrap_or(u16::MAX);
    let name = disk::initialize::PARTITION_STYLE.name;
    Arguments::none().with(name, Value::uint16(style))
}

/// As our code requests a partition.
pub(super) fn all_of_it() -> Arguments {
    use disk::create_partition as create;
    Arguments::none()
        .with(create::USE_MAXIMUM_SIZE.name, Value::Bool(true))
        .with(create::ASSIGN_DRIVE_LETTER.name, Value::Bool(false))
        .with(
            create::GPT_TYPE.name,
            Value::text(partition::gpt_type::BASIC_DATA.value),
        )
}

/// As our code formats.
pub(super) fn ntfs() -> Arguments {
    Arguments::none()
        .with(volume::format::FILE_SYSTEM.name, Value::text("NTFS"))
        .with(volume::format::FULL.name, Value::Bool(false))
        .with(volume::format::FORCE.name, Value::Bool(true))
}
