//! The identity of disks: known facts of one, and a copy beside it.

use std::collections::BTreeSet;

use node::api::Cause;
use node::{Criterion, DiskQuery, FoundDisk, Page83};
use os::schema::disk;
use os::{Deadline, DiskNumber, Query, Value, WinPath};

use super::{GIB, Play, below, declare};
use crate::failure::{holds, same};
use crate::{CaseResult, Failure, NodeFixture};

declare!("identity";
    a_disk_is_what_all_that_is_known_of_it_says,
    what_no_disk_is_is_an_error_with_all_that_was_seen,
    a_copy_beside_its_original_is_another_volume_with_its_own_files,
);

const FILE: &str = "data.txt";
const BEFORE: &[u8] = b"written before the copy";
const AFTER: &[u8] = b"written to the original after the copy";

fn a_disk_is_what_all_that_is_known_of_it_says(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let one = fixture.plug(GIB)?;
    let other = fixture.plug(2 * GIB)?;
    for (disk, length) in [(one, GIB), (other, 2 * GIB)] {
        let found = of_length(&play, disk, length)?;
        fixture.note(&format!("{:?}", found.seen()));
        same("disk", &found.number(), &disk)?;
    }
    Ok(())
}

fn what_no_disk_is_is_an_error_with_all_that_was_seen(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let disk = fixture.plug(GIB)?;
    let wanted = query(&play, disk, 2 * GIB)?;
    let found = play.node.disks().find(&wanted, play.deadline());
    let error = unidentified(found)?;
    same("candidates", &error.candidates().count(), &0)?;
    let is_seen = error.disks.iter().any(|seen| seen.number == disk);
    holds("the error has the disk that it nearly was", is_seen)
}

/// A snapshot restored on the node of its volume. Windows's handling of two disks with one identifier is not
/// documented; the case logs it.
fn a_copy_beside_its_original_is_another_volume_with_its_own_files(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let play = Play::on(fixture);
    let volumes = play.node.volumes();
    let (disk, volume, target) = play.mounted("original")?;
    fixture.write_file(&below(&target, FILE)?, BEFORE)?;
    volumes.unmount(volume, &target, play.deadline())?;
    let [disk, copy] = fixture.copy(disk, 2 * GIB)?;
    play.node.disks().rescan(play.deadline())?;
    fixture.note(&format!("original: {}", state(fixture, disk)?));
    fixture.note(&format!("copy: {}", state(fixture, copy)?));
    are_both_candidates(&play, disk, copy)?;

    let original = staged(&play, &of_length(&play, disk, GIB)?, &target)?;
    let elsewhere = play.directory("copy")?;
    let cloned = staged(&play, &of_length(&play, copy, 2 * GIB)?, &elsewhere)?;
    holds("they are two volumes", original != cloned)?;
    let [ours, its] = [below(&target, FILE)?, below(&elsewhere, FILE)?];
    fixture.write_file(&ours, AFTER)?;
    same(
        "the copy's file",
        &fixture.read_file(&its)?,
        &BEFORE.to_vec(),
    )?;
    same("the file", &fixture.read_file(&ours)?, &AFTER.to_vec())?;
    volumes.unmount(cloned, &elsewhere, play.deadline())?;
    volumes.unmount(original, &target, play.deadline())?;
    Ok(())
}

/// If both have one identifier, it alone finds neither.
fn are_both_candidates(play: &Play<'_>, disk: DiskNumber, copy: DiskNumber) -> CaseResult {
    let [page83, other] = [page83(play, disk)?, page83(play, copy)?];
    if page83 != other {
        play.fixture.note("the copy has an identifier of its own");
        return Ok(());
    }
    let wanted = DiskQuery::all([Criterion::Page83(page83)]).map_err(Failure::unexpected)?;
    let found = play.node.disks().find(&wanted, play.deadline());
    let error = unidentified(found)?;
    let candidates: BTreeSet<_> = error.candidates().map(|seen| seen.number).collect();
    same("candidates", &candidates, &BTreeSet::from([disk, copy]))
}

/// As a driver stages a disk with a filesystem.
fn staged(play: &Play<'_>, disk: &FoundDisk, target: &WinPath) -> CaseResult<os::VolumeId> {
    let (disks, volumes) = (play.node.disks(), play.node.volumes());
    disks.bring_online(disk, play.deadline())?;
    disks.partition(disk, play.deadline())?;
    let found = volumes.find_on(disk, play.deadline())?;
    let volume = found.id();
    let is_formatted = volumes.is_formatted(volume, play.deadline())?;
    holds("its filesystem is known", is_formatted)?;
    volumes.mount(&found, target, play.deadline())?;
    let content = play.fixture.read_file(&below(target, FILE)?)?;
    same("content", &content, &BEFORE.to_vec())?;
    Ok(volume)
}

fn of_length(play: &Play<'_>, disk: DiskNumber, length: u64) -> CaseResult<FoundDisk> {
    let wanted = query(play, disk, length)?;
    Ok(play.node.disks().find(&wanted, play.deadline())?)
}

fn query(play: &Play<'_>, disk: DiskNumber, length: u64) -> CaseResult<DiskQuery> {
    let known = [
        Criterion::Page83(page83(play, disk)?),
        Criterion::Size(length),
    ];
    DiskQuery::all(known).map_err(Failure::unexpected)
}

fn page83(play: &Play<'_>, disk: DiskNumber) -> CaseResult<Page83> {
    super::page83(play.node, disk, play.deadline())
}

fn unidentified(found: node::api::Result<FoundDisk>) -> CaseResult<Box<node::NotIdentified>> {
    match found.map_err(|error| error.cause) {
        Err(Cause::NotIdentified(error)) => Ok(error),
        other => Err(Failure::unexpected(format!("no such error: {other:?}"))),
    }
}

/// The provider's state of the disk.
fn state(fixture: &dyn NodeFixture, number: DiskNumber) -> CaseResult<String> {
    let select = [disk::IS_OFFLINE.name, disk::OFFLINE_REASON.name];
    let query =
        Query::all(disk::CLASS.name, &select).with(disk::NUMBER.name, Value::uint32(number.0));
    let rows = fixture.os().storage.query(&query, Deadline::NEVER)?;
    Ok(format!("{rows:?}"))
}
