//! The contract of the storage provider: its objects, and the life of a partition by its methods.

use std::time::Duration;

use formats::gpt::types;
use os::schema::{
    codes, disk, disk_to_partition, partition, partition_to_volume, storage_setting, volume,
};
use os::{
    Arguments, Cause, Deadline, DiskAccess, DiskFacts, DiskNumber, Disks, Facility, Hresult,
    Instance, ObjectPath, Outcome, PartitionEntry, PartitionStyle, Provider, Query, Returned,
    Target, Value, VolumeId, VolumeLock, Win32,
};

use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::{CaseResult, Failure, Fixture};

const NEEDS: &[Facility] = &[
    Facility::Clock,
    Facility::Disks,
    Facility::Storage,
    Facility::Volumes,
];

declare!("storage", NEEDS;
    both_views_know_the_same_disks,
    the_path_of_a_disk_opens_the_disk_of_its_number,
    an_answer_has_what_was_selected_and_no_more,
    a_size_travels_as_text,
    a_query_finds_what_meets_all_conditions,
    a_query_that_nothing_meets_is_empty,
    unequal_leaves_nulls_out,
    a_null_is_found_by_null,
    text_compares_without_regard_to_case,
    a_disk_leads_to_its_partitions_and_back,
    an_object_that_is_gone_is_not_found,
    a_rescan_and_a_refresh_succeed,
    a_raw_disk_takes_no_partition,
    a_raw_disk_is_initialised_once,
    an_initialised_disk_has_a_table_that_the_kernel_sees,
    a_partition_of_all_the_space_is_aligned,
    a_disk_that_is_full_takes_no_partition,
    an_online_partition_gets_a_volume_named_like_it,
    a_volume_is_raw_until_it_is_formatted,
    a_partition_is_not_resized_by_nothing,
    a_volume_goes_offline_with_its_disk,
    a_read_only_disk_is_made_writable_past_the_provider,
    a_plugged_disk_has_an_address,
    a_locked_volume_has_one_owner_until_it_is_let_go,
    a_partition_grows_and_its_filesystem_after_it,
);

/// `MSFT_Partition.GptType` of the reserved partition.
const RESERVED: &str = "{e3c9e316-0b5c-4db8-817d-f92df00215ae}";
const MIB: u64 = 1 << 20;

/// A disk for the case alone, and the provider.
struct Disk<'a> {
    fixture: &'a Fixture,
    number: DiskNumber,
    storage: &'a dyn Provider,
}

impl<'a> Disk<'a> {
    fn raw(fixture: &'a Fixture) -> CaseResult<Self> {
        Ok(Self {
            fixture,
            number: fixture.control().raw_disk()?,
            storage: fixture.storage(),
        })
    }

    fn initialised(fixture: &'a Fixture) -> CaseResult<Self> {
        let disk = Self::raw(fixture)?;
        disk.expect(&disk.object()?.path, disk::INITIALIZE.name, &gpt())?;
        disk.expect(&disk.object()?.path, disk::ONLINE.name, &Arguments::none())?;
        Ok(disk)
    }

    fn partitioned(fixture: &'a Fixture) -> CaseResult<Self> {
        let disk = Self::initialised(fixture)?;
        let create = disk::CREATE_PARTITION.name;
        disk.expect(&disk.object()?.path, create, &all_of_it())?;
        Ok(disk)
    }

    fn object(&self) -> CaseResult<Instance> {
        let select = &[disk::NUMBER.name, disk::PARTITION_STYLE.name];
        let query = Query::all(disk::CLASS.name, select)
            .with(disk::NUMBER.name, Value::uint32(self.number.0));
        one(self.storage.query(&query, Deadline::NEVER)?)
    }

    fn partition(&self) -> CaseResult<Instance> {
        let select = &[partition::OFFSET.name, partition::SIZE.name];
        let query = Query::all(partition::CLASS.name, select)
            .with(partition::DISK_NUMBER.name, Value::uint32(self.number.0))
            .without(partition::GPT_TYPE.name, Value::text(RESERVED));
        one(self.storage.query(&query, Deadline::NEVER)?)
    }

    /// The volume of the partition, once it has appeared.
    fn volume(&self) -> CaseResult<(VolumeId, ObjectPath)> {
        let partition = self.partition()?.path;
        for _ in 0..600 {
            let association = partition_to_volume::CLASS.name;
            let found = self.storage.associators(
                &partition,
                association,
                volume::CLASS.name,
                Deadline::NEVER,
            )?;
            if let [found] = found.as_slice() {
                let id = found.text(volume::UNIQUE_ID.name)?.parse();
                let id = id.map_err(Failure::unexpected)?;
                return Ok((id, found.path.clone()));
            }
            self.fixture.clock().sleep(Duration::from_millis(100));
        }
        Err(Failure::Wrong("no volume has appeared".to_owned()))
    }

    fn call(
        &self,
        on: &ObjectPath,
        method: &'static str,
        arguments: &Arguments,
    ) -> CaseResult<Outcome> {
        let target = Target::Instance(on);
        let done = self
            .storage
            .invoke(target, method, arguments, Deadline::NEVER);
        Ok(done?)
    }

    /// The call has to succeed.
    fn expect(&self, on: &ObjectPath, method: &'static str, arguments: &Arguments) -> CaseResult {
        self.expect_code(on, method, arguments, codes::SUCCESS)
    }

    /// The call has to answer this.
    fn expect_code(
        &self,
        on: &ObjectPath,
        method: &'static str,
        arguments: &Arguments,
        wanted: os::schema::ReturnCode,
    ) -> CaseResult {
        let outcome = self.call(on, method, arguments)?;
        same(method, &outcome.code, &wanted.code.into())
    }
}

fn gpt() -> Arguments {
    Arguments::none().with("PartitionStyle", Value::uint16(2))
}

/// As csi-proxy requests a partition.
fn all_of_it() -> Arguments {
    Arguments::none()
        .with("UseMaximumSize", Value::Bool(true))
        .with("AssignDriveLetter", Value::Bool(false))
        .with(
            "GptType",
            Value::text(partition::gpt_type::BASIC_DATA.value),
        )
        .with("IsHidden", Value::Bool(false))
        .with("IsActive", Value::Bool(false))
}

fn ntfs() -> Arguments {
    Arguments::none()
        .with("FileSystem", Value::text("NTFS"))
        .with("Full", Value::Bool(false))
        .with("Force", Value::Bool(true))
}

fn one(mut found: Vec<Instance>) -> CaseResult<Instance> {
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => Err(Failure::Wrong(format!("not one: {found:?} {last:?}"))),
    }
}

fn all(
    fixture: &Fixture,
    class: &'static str,
    select: &[&'static str],
) -> CaseResult<Vec<Instance>> {
    let query = Query::all(class, select);
    Ok(fixture.storage().query(&query, Deadline::NEVER)?)
}

/// The disk number of the fixture's volume.
fn our_disk(fixture: &Fixture) -> CaseResult<Value> {
    let volume = fixture.control().volume();
    let extents = fixture.volumes().extents(volume)?;
    let disk = extents.first().map(|extent| extent.disk.0);
    let disk = disk.ok_or_else(|| Failure::Wrong("the volume lies nowhere".to_owned()))?;
    Ok(Value::uint32(disk))
}

/// Except dynamic ones: the provider leaves them out (<https://github.com/ansible/ansible/issues/51032>).
fn both_views_know_the_same_disks(fixture: &Fixture) -> CaseResult {
    let kernel = fixture.disks();
    let mut known = Vec::new();
    for disk in all(
        fixture,
        disk::CLASS.name,
        &[disk::NUMBER.name, disk::SIZE.name],
    )? {
        let number = DiskNumber(disk.u32(disk::NUMBER.name)?);
        same("size", &disk.u64(disk::SIZE.name)?, &kernel.length(number)?)?;
        known.push(number);
    }
    known.sort();
    let mut basic = kernel.list()?;
    basic.retain(|number| !is_dynamic(kernel, *number));
    same("disks", &known, &basic)
}

/// Whether the kernel reports it as dynamic; a disk without an answer is listed by both views or by
/// none.
fn is_dynamic(kernel: &dyn Disks, disk: DiskNumber) -> bool {
    let layout = kernel.layout(disk);
    layout.is_ok_and(|layout| {
        let mut partitions = layout.partitions.iter();
        partitions.any(|it| {
            [types::LDM_DATA, types::LDM_METADATA].contains(&it.kind)
                || it.mbr_type == Some(PartitionEntry::MBR_DYNAMIC)
        })
    })
}

fn the_path_of_a_disk_opens_the_disk_of_its_number(fixture: &Fixture) -> CaseResult {
    for disk in all(
        fixture,
        disk::CLASS.name,
        &[disk::NUMBER.name, disk::PATH.name],
    )? {
        let (disks, path) = (fixture.disks(), disk.text(disk::PATH.name)?);
        let number = DiskNumber(disk.u32(disk::NUMBER.name)?);
        same(path, &disks.number_of(path)?, &number)?;
        let facts = DiskFacts {
            number,
            descriptor: disks.descriptor(number),
            device_id_page: disks.device_id_page(number),
            length: disks.length(number),
            scsi_address: disks.scsi_address(number),
        };
        same(path, &disks.facts(path)?, &facts)?;
    }
    Ok(())
}

fn an_answer_has_what_was_selected_and_no_more(fixture: &Fixture) -> CaseResult {
    for disk in all(fixture, disk::CLASS.name, &[disk::NUMBER.name])? {
        let names: Vec<_> = disk.properties.keys().map(String::as_str).collect();
        same("properties", &names, &vec![disk::NUMBER.name])?;
    }
    Ok(())
}

fn a_size_travels_as_text(fixture: &Fixture) -> CaseResult {
    for disk in all(fixture, disk::CLASS.name, &[disk::SIZE.name])? {
        let size = disk.value(disk::SIZE.name)?;
        holds("it is text", matches!(size, Value::Text(_)))?;
    }
    Ok(())
}

fn a_query_finds_what_meets_all_conditions(fixture: &Fixture) -> CaseResult {
    let number = our_disk(fixture)?;
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
        .with(disk::NUMBER.name, number.clone())
        .with(disk::IS_OFFLINE.name, Value::Bool(false));
    let found = one(fixture.storage().query(&query, Deadline::NEVER)?)?;
    same("number", found.value(disk::NUMBER.name)?, &number)
}

fn a_query_that_nothing_meets_is_empty(fixture: &Fixture) -> CaseResult {
    let query = Query::all(disk::CLASS.name, &[disk::NUMBER.name])
        .with(disk::NUMBER.name, Value::uint32(4_000));
    let found = fixture.storage().query(&query, Deadline::NEVER)?;
    holds("it is empty", found.is_empty())
}

fn unequal_leaves_nulls_out(fixture: &Fixture) -> CaseResult {
    // A disk has a signature or a GUID, so one with a GUID has no signature and is left out.
    let query = Query::all(disk::CLASS.name, &[disk::SIGNATURE.name])
        .without(disk::SIGNATURE.name, Value::uint32(0));
    for disk in fixture.storage().query(&query, Deadline::NEVER)? {
        holds(
            "it is not null",
            !disk.value(disk::SIGNATURE.name)?.is_null(),
        )?;
    }
    Ok(())
}

fn a_null_is_found_by_null(fixture: &Fixture) -> CaseResult {
    let signature = disk::SIGNATURE.name;
    let select = [signature];
    let disks = Query::all(disk::CLASS.name, &select);
    let count = |query: &Query<'_>| -> CaseResult<usize> {
        Ok(fixture.storage().query(query, Deadline::NEVER)?.len())
    };
    let mut nulls = 0;
    for disk in fixture.storage().query(&disks, Deadline::NEVER)? {
        nulls += usize::from(disk.value(signature)?.is_null());
    }
    let all = count(&disks)?;
    let null = disks.clone().with(signature, Value::Null);
    same("equal to null", &count(&null)?, &nulls)?;
    let other = disks.without(signature, Value::Null);
    same("not equal to null", &count(&other)?, &(all - nulls))
}

fn text_compares_without_regard_to_case(fixture: &Fixture) -> CaseResult {
    let number = our_disk(fixture)?;
    let count = |kind: &str| -> CaseResult<usize> {
        let query = Query::all(partition::CLASS.name, &[partition::OFFSET.name])
            .with(partition::DISK_NUMBER.name, number.clone())
            .without(partition::GPT_TYPE.name, Value::text(kind));
        Ok(fixture.storage().query(&query, Deadline::NEVER)?.len())
    };
    same(
        "partitions",
        &count(&RESERVED.to_uppercase())?,
        &count(RESERVED)?,
    )
}

fn a_disk_leads_to_its_partitions_and_back(fixture: &Fixture) -> CaseResult {
    let storage = fixture.storage();
    let number = our_disk(fixture)?;
    let query = Query::all(disk::CLASS.name, &[]).with(disk::NUMBER.name, number.clone());
    let disk = one(storage.query(&query, Deadline::NEVER)?)?;
    let association = disk_to_partition::CLASS.name;
    let class = partition::CLASS.name;
    let partitions = storage.associators(&disk.path, association, class, Deadline::NEVER)?;
    holds("there is one", !partitions.is_empty())?;
    for partition in partitions {
        same(
            "disk",
            partition.value(partition::DISK_NUMBER.name)?,
            &number,
        )?;
        let class = disk::CLASS.name;
        let back = storage.associators(&partition.path, association, class, Deadline::NEVER)?;
        same("the way back", &one(back)?.path, &disk.path)?;
    }
    Ok(())
}

fn an_object_that_is_gone_is_not_found(fixture: &Fixture) -> CaseResult {
    let found = all(fixture, disk::CLASS.name, &[])?;
    let known = found
        .first()
        .map(|disk| disk.path.0.replace("DI:", "DI:no"));
    let path = ObjectPath(known.unwrap_or_default());
    let target = Target::Instance(&path);
    let none = Arguments::none();
    let ending = fixture
        .storage()
        .invoke(target, disk::REFRESH.name, &none, Deadline::NEVER);
    let cause = ending.err().map(|error| error.cause);
    let not_found = Cause::Hresult(Hresult::WBEM_E_NOT_FOUND);
    same("cause", &cause, &Some(not_found))
}

fn a_rescan_and_a_refresh_succeed(fixture: &Fixture) -> CaseResult {
    let storage = fixture.storage();
    let none = Arguments::none();
    let target = Target::Class(storage_setting::CLASS.name);
    let rescan = storage_setting::UPDATE_HOST_STORAGE_CACHE.name;
    let outcome = storage.invoke(target, rescan, &none, Deadline::NEVER)?;
    same("rescan", &outcome.code, &Returned::Code(0))?;
    let query = Query::all(disk::CLASS.name, &[]).with(disk::NUMBER.name, our_disk(fixture)?);
    let disk = one(storage.query(&query, Deadline::NEVER)?)?;
    let target = Target::Instance(&disk.path);
    let outcome = storage.invoke(target, disk::REFRESH.name, &none, Deadline::NEVER)?;
    same("refresh", &outcome.code, &Returned::Code(0))
}

fn a_raw_disk_takes_no_partition(fixture: &Fixture) -> CaseResult {
    let disk = Disk::raw(fixture)?;
    let create = disk::CREATE_PARTITION.name;
    let wanted = codes::DISK_NOT_INITIALIZED;
    disk.expect_code(&disk.object()?.path, create, &all_of_it(), wanted)
}

fn a_raw_disk_is_initialised_once(fixture: &Fixture) -> CaseResult {
    let disk = Disk::raw(fixture)?;
    let raw = disk.object()?;
    same("style", &raw.u32(disk::PARTITION_STYLE.name)?, &0)?;
    disk.expect(&raw.path, disk::INITIALIZE.name, &gpt())?;
    let style = disk.object()?.u32(disk::PARTITION_STYLE.name)?;
    same("style", &style, &2)?;
    let wanted = codes::DISK_ALREADY_INITIALIZED;
    disk.expect_code(&raw.path, disk::INITIALIZE.name, &gpt(), wanted)
}

fn an_initialised_disk_has_a_table_that_the_kernel_sees(fixture: &Fixture) -> CaseResult {
    let disk = Disk::raw(fixture)?;
    let before = fixture.disks().layout(disk.number)?;
    same("style", &before.style, &PartitionStyle::Raw)?;
    disk.expect(&disk.object()?.path, disk::INITIALIZE.name, &gpt())?;
    let after = fixture.disks().layout(disk.number)?;
    let is_gpt = matches!(after.style, PartitionStyle::Gpt { .. });
    holds("it is GPT", is_gpt)?;
    let is_reserved = |it: &PartitionEntry| it.kind == PartitionEntry::RESERVED;
    holds(
        "it holds the reserved partition at most",
        after.partitions.iter().all(is_reserved),
    )
}

fn a_partition_of_all_the_space_is_aligned(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let length = fixture.disks().length(disk.number)?;
    let partition = disk.partition()?;
    let offset = partition.u64(partition::OFFSET.name)?;
    let size = partition.u64(partition::SIZE.name)?;
    same("offset past a mebibyte", &(offset % MIB), &0)?;
    let left = length.checked_sub(offset + size);
    let is_used_up = left.is_some_and(|left| (1..3 * MIB).contains(&left));
    holds(
        "it leaves room for the backup table and no more",
        is_used_up,
    )
}

fn a_disk_that_is_full_takes_no_partition(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let create = disk::CREATE_PARTITION.name;
    let outcome = disk.call(&disk.object()?.path, create, &all_of_it())?;
    holds("it is refused", outcome.code != codes::SUCCESS.code)
}

fn an_online_partition_gets_a_volume_named_like_it(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let (volume, _) = disk.volume()?;
    let volumes = fixture.volumes();
    holds("the kernel lists it", volumes.list()?.contains(&volume))?;
    let extents = volumes.extents(volume)?;
    let [extent] = extents.as_slice() else {
        return Err(Failure::Wrong(format!("no single extent: {extents:?}")));
    };
    same("disk", &extent.disk, &disk.number)?;
    let offset = disk.partition()?.u64(partition::OFFSET.name)?;
    same("offset", &extent.offset, &offset)?;
    let layout = fixture.disks().layout(disk.number)?;
    let mut partitions = layout.partitions.iter();
    let partition = partitions.find(|it| it.offset == offset);
    same("GUID", &partition.map(|it| it.id), &Some(volume.0))
}

fn a_volume_is_raw_until_it_is_formatted(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let (volume, path) = disk.volume()?;
    let volumes = fixture.volumes();
    same("filesystem", &volumes.file_system(volume)?, &None)?;
    disk.expect(&path, volume::FORMAT.name, &ntfs())?;
    let found = volumes.file_system(volume)?;
    let name = found.map(|found| found.name);
    same("filesystem", &name.as_deref(), &Some("NTFS"))?;
    let space = volumes.space(volume)?;
    holds("most of it is free", space.free > space.total / 2)
}

fn a_partition_is_not_resized_by_nothing(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let partition = disk.partition()?;
    let size = partition.u64(partition::SIZE.name)?;
    let arguments = Arguments::none().with("Size", Value::uint64(size));
    let wanted = codes::SIZE_NOT_SUPPORTED;
    disk.expect_code(&partition.path, partition::RESIZE.name, &arguments, wanted)
}

fn a_volume_goes_offline_with_its_disk(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let (volume, _) = disk.volume()?;
    let none = Arguments::none();
    let object = disk.object()?.path;
    disk.expect(&object, disk::OFFLINE.name, &none)?;
    let attributes = fixture.disks().attributes(disk.number)?;
    holds("the kernel says offline", attributes.offline)?;
    let listed = fixture.volumes().list()?;
    holds("the volume is gone", !listed.contains(&volume))?;
    disk.expect(&object, disk::ONLINE.name, &none)?;
    same("the same volume", &disk.volume()?.0, &volume)
}

fn a_read_only_disk_is_made_writable_past_the_provider(fixture: &Fixture) -> CaseResult {
    let disk = Disk::initialised(fixture)?;
    let read_only = disk::set_attributes::IS_READ_ONLY.name;
    let read_only = Arguments::none().with(read_only, Value::Bool(true));
    disk.expect(&disk.object()?.path, disk::SET_ATTRIBUTES.name, &read_only)?;
    let disks = fixture.disks();
    let is_read_only = || Ok::<_, Failure>(disks.attributes(disk.number)?.read_only);
    holds("it is read-only", is_read_only()?)?;
    disks.set_access(disk.number, DiskAccess::ReadWrite)?;
    holds("it is writable", !is_read_only()?)?;
    disks.set_access(disk.number, DiskAccess::ReadOnly)?;
    holds("it is read-only past the provider", is_read_only()?)?;
    disks.set_access(disk.number, DiskAccess::ReadWrite)?;
    holds("it is writable again", !is_read_only()?)
}

fn a_plugged_disk_has_an_address(fixture: &Fixture) -> CaseResult {
    let disk = Disk::raw(fixture)?;
    fixture.disks().scsi_address(disk.number)?;
    Ok(())
}

fn a_locked_volume_has_one_owner_until_it_is_let_go(fixture: &Fixture) -> CaseResult {
    let disk = Disk::partitioned(fixture)?;
    let (volume, path) = disk.volume()?;
    disk.expect(&path, volume::FORMAT.name, &ntfs())?;
    let volumes = fixture.volumes();
    let lock = first_lock(fixture, volume)?;
    refused("second lock", volumes.lock(volume), Win32::ACCESS_DENIED)?;
    lock.dismount()?;
    drop(lock);
    volumes.lock(volume)?;
    Ok(())
}

/// A scanner or another program on the machine may have a just formatted volume open.
fn first_lock(fixture: &Fixture, volume: VolumeId) -> CaseResult<Box<dyn VolumeLock>> {
    let volumes = fixture.volumes();
    for _ in 0..TRIES {
        match volumes.lock(volume) {
            Err(error) if error.win32() == Some(Win32::ACCESS_DENIED) => pause(fixture)?,
            lock => return Ok(lock?),
        }
    }
    Ok(volumes.lock(volume)?)
}

/// The most tries for the effect of a change on a machine; a simulated node has it at once.
const TRIES: u32 = 100;

fn pause(fixture: &Fixture) -> CaseResult {
    fixture.clock().sleep(Duration::from_millis(100));
    Ok(())
}

fn a_partition_grows_and_its_filesystem_after_it(fixture: &Fixture) -> CaseResult {
    let disk = Disk::initialised(fixture)?;
    let half = all_of_it()
        .with("UseMaximumSize", Value::Bool(false))
        .with("Size", Value::uint64(512 * MIB));
    let create = disk::CREATE_PARTITION.name;
    disk.expect(&disk.object()?.path, create, &half)?;
    let (volume, path) = disk.volume()?;
    disk.expect(&path, volume::FORMAT.name, &ntfs())?;
    let (disks, volumes) = (fixture.disks(), fixture.volumes());
    let entries = disks.layout(disk.number)?.partitions;
    let ours = entries.iter().find(|it| it.id == volume.0);
    let ours = ours.ok_or(Failure::Unequipped("partition"))?;
    let before = volumes.space(volume)?.total;
    disks.grow_partition(disk.number, ours.number, 64 * MIB)?;
    let longer = ours.length + 64 * MIB;
    same("length", &length_within(fixture, volume, longer)?, &longer)?;
    same("room", &volumes.space(volume)?.total, &before)?;
    volumes.extend(volume, longer)?;
    let more = volumes.space(volume)?.total - before;
    holds("it has the room", (63 * MIB..=64 * MIB).contains(&more))
}

/// The length of the volume's extent, once it is as wanted or has had some seconds.
fn length_within(fixture: &Fixture, volume: VolumeId, wanted: u64) -> CaseResult<u64> {
    for _ in 0..TRIES {
        if length_of(fixture, volume)? == wanted {
            break;
        }
        pause(fixture)?;
    }
    length_of(fixture, volume)
}

fn length_of(fixture: &Fixture, volume: VolumeId) -> CaseResult<u64> {
    let extents = fixture.volumes().extents(volume)?;
    let first = extents.first().map(|extent| extent.length);
    first.ok_or_else(|| Failure::Wrong("the volume has no extent".to_owned()))
}
