//! What the storage provider's methods return.

use os::schema::{disk, partition, volume};
use os::{Arguments, DiskAttributes, Value};

use super::storage::{Disk, all_of_it, gpt, ntfs};
use super::{Answer, Sight, Sights};
use crate::Stand;
use crate::cases::Play;

/// The page of SetAttributes says that the disk has to be online for most attributes.
pub(super) fn read_only_offline(stand: &dyn Stand) -> Sights {
    let disk = Disk::initialised(stand)?;
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

fn read_only(value: bool) -> Arguments {
    Arguments::none().with(disk::set_attributes::IS_READ_ONLY.name, Value::Bool(value))
}

fn shown(state: DiskAttributes) -> String {
    let DiskAttributes { offline, read_only } = state;
    format!("offline: {offline}, read-only: {read_only}")
}

/// Through our own code, which may read a null back: the script shows the null itself.
pub(super) fn return_values(stand: &dyn Stand) -> Sights {
    let disk = Disk::plugged(stand)?;
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
pub(super) fn offline_under_lock(stand: &dyn Stand) -> Sights {
    let (number, volume) = Play::on(stand).formatted()?;
    let disk = Disk::of(stand, number);
    let lock = stand.node().os().volumes.lock(volume)?;
    lock.dismount()?;
    let offline = disk.call(&disk::OFFLINE, &Arguments::none())?;
    let after = disk.state()?;
    drop(lock);
    let is_as_assumed = offline.is_success() && after.offline;
    let seen = format!("Offline {offline}, then {}", shown(after));
    Ok(vec![Sight::of(is_as_assumed, seen)])
}

const FORMATS: usize = 5;

/// A volume is formatted as soon as it is there, which `Format` was seen to refuse now and then.
pub(super) fn format_at_once(stand: &dyn Stand) -> Sights {
    let mut answers = Vec::new();
    for _ in 0..FORMATS {
        let disk = Disk::initialised(stand)?;
        disk.call(&disk::CREATE_PARTITION, &all_of_it())?
            .required()?;
        let (_, object) = disk.volume()?;
        answers.push(("Format", disk.call_on(&object, &volume::FORMAT, &ntfs())));
    }
    let is_as_assumed = answers.iter().all(|(_, answer)| answer.is_success());
    Ok(vec![Sight::of(is_as_assumed, listed(&answers))])
}

/// Each is refused for a reason that the pages name.
pub(super) fn refused_methods(stand: &dyn Stand) -> Sights {
    let disk = Disk::initialised(stand)?;
    disk.call(&disk::CREATE_PARTITION, &all_of_it())?
        .required()?;
    let partition = disk.partition()?;
    let size = Value::uint64(partition.u64(partition::SIZE.name)?);
    let same_size = Arguments::none().with(partition::resize::SIZE.name, size);
    let answers = [
        ("Initialize again", disk.call(&disk::INITIALIZE, &gpt())?),
        (
            "CreatePartition on a full disk",
            disk.call(&disk::CREATE_PARTITION, &all_of_it())?,
        ),
        (
            "Resize to the size it has",
            disk.call_on(&partition.path, &partition::RESIZE, &same_size),
        ),
    ];
    // Whether the last is refused at all is another question: only that it answers by a code counts.
    let is_as_assumed =
        answers[..2].iter().all(|(_, answer)| is_refusal(answer)) && answers[2].1.code().is_some();
    Ok(vec![Sight::of(is_as_assumed, listed(&answers))])
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
