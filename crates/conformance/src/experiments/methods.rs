//! Results of the storage provider's methods.

use os::schema::{Method, disk, partition, volume};
use os::{Arguments, DiskAccess, DiskAttributes, Instance, Value, WinPath};

use super::storage::{Disk, all_of_it, gpt, ntfs};
use super::{Answer, Sight, Sights, outcome_text};
use crate::cases::Play;
use crate::{CaseResult, NodeFixture};

/// By the page of SetAttributes the disk has to be online for most attributes.
pub(super) fn read_only_offline(fixture: &dyn NodeFixture) -> Sights {
    let disk = Disk::initialised(fixture)?;
    disk.call(&disk::SET_ATTRIBUTES, &read_only(true))?
        .required()?;
    disk.call(&disk::OFFLINE, &Arguments::none())?.required()?;
    let cleared = disk.call(&disk::SET_ATTRIBUTES, &read_only(false))?;
    let before = disk.state()?;
    let online = disk.call(&disk::ONLINE, &Arguments::none())?;
    let after = disk.state()?;
    let again = disk.call(&disk::SET_ATTRIBUTES, &read_only(false))?;
    let last = disk.state()?;
    let is_as_assumed = cleared.is_success() && !after.read_only && !after.offline;
    let seen = format!(
        "SetAttributes while offline {cleared}, then {}; Online {online}, then {}; \
         SetAttributes again {again}, then {}",
        shown(before),
        shown(after),
        shown(last),
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// As a disk is brought online for readers alone.
pub(super) fn online_read_only(fixture: &dyn NodeFixture) -> Sights {
    let disk = Disk::initialised(fixture)?;
    disk.call(&disk::OFFLINE, &Arguments::none())?.required()?;
    let disks = &fixture.os().disks;
    let set = disks.set_access(disk.number, DiskAccess::ReadOnly);
    let before = disk.state()?;
    let online = disk.call(&disk::ONLINE, &Arguments::none())?;
    let after = disk.state()?;
    let is_as_assumed = set.is_ok() && before.read_only && after.read_only && !after.offline;
    let seen = format!(
        "set past the provider while offline: {}, then {}; Online {online}, then {}",
        outcome_text(&set),
        shown(before),
        shown(after),
    );
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

/// Whether the device's own answer shows Windows's attribute, with and without it, online and offline.
pub(super) fn write_protection(fixture: &dyn NodeFixture) -> Sights {
    let disk = Disk::initialised(fixture)?;
    let disks = &fixture.os().disks;
    let protected = || disks.is_write_protected(disk.number);
    let plain = protected();
    disk.call(&disk::SET_ATTRIBUTES, &read_only(true))?
        .required()?;
    let set = protected();
    disk.call(&disk::OFFLINE, &Arguments::none())?.required()?;
    let offline = protected();
    let answers = [("without", plain), ("with", set), ("offline with", offline)];
    let is_as_assumed = answers.iter().all(|(_, answer)| *answer == Ok(false));
    let seen = answers.map(|(when, answer)| match answer {
        Ok(is_so) => format!("{when} the attribute write-protected: {is_so}"),
        Err(error) => format!("{when} the attribute {error}"),
    });
    Ok(vec![Sight::of(is_as_assumed, seen.join("; "))])
}

fn read_only(value: bool) -> Arguments {
    Arguments::none().with(disk::set_attributes::IS_READ_ONLY.name, Value::Bool(value))
}

fn shown(state: DiskAttributes) -> String {
    let DiskAttributes { offline, read_only } = state;
    format!("offline: {offline}, read-only: {read_only}")
}

/// Through our own code, which may read a null back: the script shows the null itself.
pub(super) fn return_values(fixture: &dyn NodeFixture) -> Sights {
    let disk = Disk::plugged(fixture)?;
    let mut answers = vec![
        ("UpdateHostStorageCache", disk.rescan()),
        ("Initialize", disk.call(&disk::INITIALIZE, &gpt())?),
        ("Online", disk.call(&disk::ONLINE, &Arguments::none())?),
        ("Refresh", disk.call(&disk::REFRESH, &Arguments::none())?),
        (
            "CreatePartition",
            disk.call(&disk::CREATE_PARTITION, &all_of_it())?,
        ),
    ];
    let (_, object) = disk.volume()?;
    answers.push(("Format", disk.call_on(&object, &volume::FORMAT, &ntfs())));
    answers.push(("Offline", disk.call(&disk::OFFLINE, &Arguments::none())?));
    let is_as_assumed = answers.iter().all(|(_, answer)| answer.is_success());
    Ok(vec![Sight::of(is_as_assumed, listed(&answers))])
}

/// As a driver's disk goes offline: its volume is locked and dismounted, and stays locked until it is done.
pub(super) fn offline_under_lock(fixture: &dyn NodeFixture) -> Sights {
    let (number, found) = Play::on(fixture).formatted()?;
    let volume = found.id();
    let disk = Disk::of(fixture, number);
    let lock = fixture.os().volumes.lock(volume)?;
    lock.dismount()?;
    let offline = disk.call(&disk::OFFLINE, &Arguments::none())?;
    let after = disk.state()?;
    drop(lock);
    let is_as_assumed = offline.is_success() && after.offline;
    let seen = format!("Offline {offline}, then {}", shown(after));
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

const FORMATS: usize = 5;

/// A volume is formatted as soon as it appears; `Format` was seen to refuse this now and then.
pub(super) fn format_at_once(fixture: &dyn NodeFixture) -> Sights {
    let mut answers = Vec::new();
    for _ in 0..FORMATS {
        let disk = Disk::initialised(fixture)?;
        disk.call(&disk::CREATE_PARTITION, &all_of_it())?
            .required()?;
        let (_, object) = disk.volume()?;
        answers.push(("Format", disk.call_on(&object, &volume::FORMAT, &ntfs())));
    }
    let is_as_assumed = answers.iter().all(|(_, answer)| answer.is_success());
    Ok(vec![Sight::of(is_as_assumed, listed(&answers))])
}

/// Each is refused for a documented reason. Whether the last is refused at all is another question: there only an
/// answer by a code counts.
pub(super) fn refused_methods(fixture: &dyn NodeFixture) -> Sights {
    let paths = Paths::of(fixture)?;
    let (disk, partition) = (&paths.disk, &paths.partition);
    let size = Value::uint64(partition.u64(partition::SIZE.name)?);
    let same_size = Arguments::none().with(partition::resize::SIZE.name, size);
    let play = Play::on(fixture);
    let [mounted, plain] = [play.directory("mounted")?, play.directory("plain")?];
    paths.add(&mounted).required()?;
    let answers = [
        ("Initialize again", disk.call(&disk::INITIALIZE, &gpt())?),
        (
            "CreatePartition on a full disk",
            disk.call(&disk::CREATE_PARTITION, &all_of_it())?,
        ),
        ("AddAccessPath where it is mounted", paths.add(&mounted)),
        ("RemoveAccessPath where nothing is", paths.remove(&plain)),
        (
            "Resize to the size it has",
            disk.call_on(&partition.path, &partition::RESIZE, &same_size),
        ),
    ];
    let [refusals @ .., (_, resize)] = &answers;
    let is_as_assumed =
        refusals.iter().all(|(_, answer)| is_refusal(answer)) && resize.code().is_some();
    Ok(vec![Sight::of(is_as_assumed, listed(&answers))])
}

/// The formatted partition of a disk, and where it is mounted.
struct Paths<'a> {
    disk: Disk<'a>,
    partition: Instance,
}

impl<'a> Paths<'a> {
    fn of(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        let disk = Disk::initialised(fixture)?;
        let created = disk.call(&disk::CREATE_PARTITION, &all_of_it())?;
        created.required()?;
        let (_, volume) = disk.volume()?;
        disk.call_on(&volume, &volume::FORMAT, &ntfs()).required()?;
        let partition = disk.partition()?;
        Ok(Self { disk, partition })
    }

    fn add(&self, folder: &WinPath) -> Answer {
        let name = partition::add_access_path::ACCESS_PATH.name;
        self.call(&partition::ADD_ACCESS_PATH, name, folder)
    }

    fn remove(&self, folder: &WinPath) -> Answer {
        let name = partition::remove_access_path::ACCESS_PATH.name;
        self.call(&partition::REMOVE_ACCESS_PATH, name, folder)
    }

    fn call(&self, method: &Method, name: &'static str, folder: &WinPath) -> Answer {
        let folder = Arguments::none().with(name, Value::text(folder.to_string()));
        self.disk.call_on(&self.partition.path, method, &folder)
    }
}

fn is_refusal(answer: &Answer) -> bool {
    answer.code().is_some_and(|code| code != 0)
}

fn listed(answers: &[(&str, Answer)]) -> String {
    let answers = answers
        .iter()
        .map(|(name, answer)| format!("{name} {answer}"));
    answers.collect::<Vec<_>>().join("; ")
}
