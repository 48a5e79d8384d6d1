//! A volume's life, from a raw disk to its removal.

use node::api::Condition;
use node::{NewSize, Resized};

use super::{GIB, Play, below, declare};
use crate::failure::{holds, same};
use crate::{CaseResult, Failure, NodeFixture};

declare!("life";
    a_volume_lives_from_a_raw_disk_to_an_offline_one,
    a_disk_is_found_by_its_identifier,
    a_volume_and_its_files_outlive_a_disk_that_goes_and_comes_back_longer,
    every_step_may_be_repeated,
    a_disk_stays_online_while_something_on_it_is_open,
);

const FILE: &str = "hello.txt";
const TEXT: &[u8] = b"written through the volume's folder";

fn a_volume_lives_from_a_raw_disk_to_an_offline_one(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (disks, volumes) = (play.node.disks(), play.node.volumes());
    disks.rescan(play.deadline())?;
    let disk = fixture.plug(GIB)?;
    same("size", &disks.size(disk, play.deadline())?, &GIB)?;
    play.partition(disk)?;
    holds("it is online", disks.is_online(disk, play.deadline())?)?;
    let found = play.volume(disk)?;
    let volume = found.id();
    let is_formatted = volumes.is_formatted(volume, play.deadline())?;
    holds("a raw disk has no filesystem", !is_formatted)?;
    volumes.format(&found, play.deadline())?;
    holds(
        "it is formatted",
        volumes.is_formatted(volume, play.deadline())?,
    )?;
    same(
        "disk",
        &volumes.disk_number(volume, play.deadline())?,
        &disk,
    )?;

    let target = play.directory("target")?;
    volumes.mount(&found, &target, play.deadline())?;
    same(
        "volume",
        &volumes.of_target(&target, play.deadline())?,
        &volume,
    )?;
    let before = volumes.stats(volume, play.deadline())?;
    let file = below(&target, FILE)?;
    fixture.write_file(&file, &vec![7; 1 << 20])?;
    let after = volumes.stats(volume, play.deadline())?;
    holds("the file takes space", after.free < before.free)?;
    same(
        "closest",
        &volumes.closest(&file, play.deadline())?,
        &volume,
    )?;
    volumes.flush(volume, play.deadline())?;

    volumes.unmount(volume, &target, play.deadline())?;
    let exists = play.node.filesystem().path_exists(&file, play.deadline())?;
    holds("the folder is empty again", !exists)?;
    disks.take_offline(&play.found(disk)?, play.deadline())?;
    holds("it is offline", !disks.is_online(disk, play.deadline())?)
}

fn a_disk_is_found_by_its_identifier(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let disk = fixture.plug(GIB)?;
    let disks = play.node.disks();
    let ids = disks.ids(play.deadline())?;
    let page83 = ids.get(&disk).map(|ids| ids.page83.clone());
    let page83 = page83.ok_or_else(|| Failure::unexpected("the new disk is not listed"))?;
    holds("it has an identifier", !page83.is_empty())?;
    same("disk", &disks.by_page83(&page83, play.deadline())?, &disk)
}

/// The file is read at the end, so a wrong disk, partition or volume on the way shows.
fn a_volume_and_its_files_outlive_a_disk_that_goes_and_comes_back_longer(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let play = Play::on(fixture);
    let (disks, volumes) = (play.node.disks(), play.node.volumes());
    let (disk, volume, target) = play.mounted("target")?;
    let file = below(&target, FILE)?;
    fixture.write_file(&file, TEXT)?;
    let before = volumes.stats(volume, play.deadline())?;
    volumes.unmount(volume, &target, play.deadline())?;
    disks.take_offline(&play.found(disk)?, play.deadline())?;

    let disk = fixture.grow(disk, 3 * GIB)?;
    disks.rescan(play.deadline())?;
    same("size", &disks.size(disk, play.deadline())?, &(3 * GIB))?;
    disks.bring_online(&play.found(disk)?, play.deadline())?;
    let found = play.volume(disk)?;
    same("volume", &found.id(), &volume)?;
    let resized = volumes.resize(&found, NewSize::Maximum, play.deadline())?;
    let has_grown = matches!(resized, Resized::Grown { from, to } if to > from + GIB);
    holds("it says that it grew", has_grown)?;
    let again = volumes.resize(&found, NewSize::Maximum, play.deadline())?;
    holds("once", matches!(again, Resized::Unchanged { .. }))?;
    let after = volumes.stats(volume, play.deadline())?;
    holds("the filesystem grew", after.total > before.total + GIB)?;
    volumes.mount(&found, &target, play.deadline())?;
    same("content", &fixture.read_file(&file)?, &TEXT.to_vec())
}

fn every_step_may_be_repeated(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (disks, volumes) = (play.node.disks(), play.node.volumes());
    let (disk, volume, target) = play.mounted("target")?;
    let file = below(&target, FILE)?;
    fixture.write_file(&file, TEXT)?;
    disks.rescan(play.deadline())?;
    play.partition(disk)?;
    let found = play.found(disk)?;
    disks.bring_online(&found, play.deadline())?;
    volumes.mount(&play.volume(disk)?, &target, play.deadline())?;
    same(
        "volume",
        &volumes.find_on(&found, play.deadline())?.id(),
        &volume,
    )?;
    same("content", &fixture.read_file(&file)?, &TEXT.to_vec())?;
    volumes.unmount(volume, &target, play.deadline())?;
    disks.take_offline(&found, play.deadline())?;
    disks.take_offline(&found, play.deadline())?;
    holds("it is offline", !disks.is_online(disk, play.deadline())?)
}

/// A process with an open file would lose its unwritten data.
fn a_disk_stays_online_while_something_on_it_is_open(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (disks, volumes) = (play.node.disks(), play.node.volumes());
    let (disk, volume, target) = play.mounted("target")?;
    let found = play.found(disk)?;
    let folder = below(&target, "open")?;
    let filesystem = play.node.filesystem();
    filesystem.make_directory(&folder, play.deadline())?;
    let open = fixture.os().files.pin(&folder)?;
    let refused = || {
        let refused = disks.take_offline(&found, play.deadline());
        refused.err().and_then(|error| error.condition())
    };
    let in_use = Some(Condition::InUse);
    same("condition of a mounted volume", &refused(), &in_use)?;
    volumes.unmount(volume, &target, play.deadline())?;
    same("condition of an open file", &refused(), &in_use)?;
    holds("it is online", disks.is_online(disk, play.deadline())?)?;
    open.release();
    disks.take_offline(&found, play.deadline())?;
    holds("it is offline", !disks.is_online(disk, play.deadline())?)
}
