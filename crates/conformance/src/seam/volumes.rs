//! The contract of [`os::Volumes`].

use os::{Component, Facility, LinkKind, ReparseTag, VolumeId, Volumes, Win32, WinPath};
use uuid::Uuid;

use crate::case::declare;
use crate::failure::{holds, refused, same};
use crate::seam::folder_fixture::FolderFixture;
use crate::{CaseResult, Failure, Fixture};

declare!("volumes", &[Facility::Files, Facility::Volumes];
    the_volume_of_a_drive_is_listed_once,
    the_root_of_a_drive_is_where_its_volume_is_mounted,
    a_plain_folder_is_not_mounted,
    a_missing_folder_is_not_found,
    a_volume_has_room,
    a_directory_has_the_room_of_its_volume,
    a_mounted_folder_has_the_room_of_its_volume,
    a_linked_directory_has_the_room_of_its_volume,
    only_a_directory_has_room,
    a_volume_has_a_filesystem,
    a_volume_lies_on_a_disk,
    a_drive_is_among_the_access_paths,
    an_unknown_volume_answers_nothing,
    a_volume_can_be_flushed,
    a_mounted_volume_is_seen_through_its_folder,
    a_volume_is_mounted_at_an_existing_empty_folder_alone,
    an_unmounted_folder_is_plain_and_empty_again,
    a_plain_folder_has_no_reparse_point,
    a_mounted_folder_is_plain_without_its_reparse_point,
    a_mounted_folder_that_is_removed_is_forgotten,
    a_mounted_folder_that_goes_from_a_pinned_directory_is_forgotten,
);

fn the_volume_of_a_drive_is_listed_once(fixture: &Fixture) -> CaseResult {
    let ours = fixture.control().volume();
    let listed = fixture.volumes().list()?;
    let times = listed.iter().filter(|volume| **volume == ours).count();
    same("times", &times, &1)
}

fn the_root_of_a_drive_is_where_its_volume_is_mounted(fixture: &Fixture) -> CaseResult {
    let control = fixture.control();
    let found = fixture.volumes().mounted_at(&control.folder().prefix(0))?;
    same("volume", &found, &control.volume())
}

fn a_plain_folder_is_not_mounted(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let folder = sandbox.directory("d")?;
    let found = fixture.volumes().mounted_at(&folder);
    refused("mounted_at", found, Win32::NOT_A_REPARSE_POINT)
}

fn a_missing_folder_is_not_found(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let missing = sandbox.at("missing");
    let volumes = fixture.volumes();
    not_found("mounted_at", volumes.mounted_at(&missing))?;
    let mounted = volumes.set_mount_point(&missing, sandbox.hand.volume());
    not_found("set_mount_point", mounted)?;
    not_found("delete_mount_point", volumes.delete_mount_point(&missing))
}

/// Passes for both codes: it is not documented which of them these calls return.
fn not_found<T>(step: &'static str, result: os::Result<T>) -> CaseResult {
    match result {
        Err(error) if error.is_not_found() => Ok(()),
        other => refused(step, other, Win32::FILE_NOT_FOUND),
    }
}

fn a_volume_has_room(fixture: &Fixture) -> CaseResult {
    let space = fixture.volumes().space(fixture.control().volume())?;
    holds("it is larger than a mebibyte", space.total > 0x10_0000)?;
    holds("no more is free than there is", space.free <= space.total)?;
    let available = space.available <= space.free;
    holds("no more is available than is free", available)
}

/// Writes meanwhile are some mebibytes, and do not change the size.
fn a_directory_has_the_room_of_its_volume(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let volumes = fixture.volumes();
    let of_volume = volumes.space(sandbox.hand.volume())?.total;
    let directory = sandbox.directory("a directory")?;
    for at in [sandbox.hand.folder(), &directory, &directory.prefix(0)] {
        same("total", &volumes.space_at(at)?.total, &of_volume)?;
    }
    Ok(())
}

fn a_mounted_folder_has_the_room_of_its_volume(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let volumes = fixture.volumes();
    let of_volume = volumes.space(sandbox.hand.volume())?.total;
    let folder = mounted(&sandbox, volumes)?;
    same("total", &volumes.space_at(&folder)?.total, &of_volume)
}

fn a_linked_directory_has_the_room_of_its_volume(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let volumes = fixture.volumes();
    let of_volume = volumes.space(sandbox.hand.volume())?.total;
    sandbox.directory("real")?;
    let link = sandbox.symlink("link", &sandbox.text("real"), LinkKind::Directory)?;
    same("total", &volumes.space_at(&link)?.total, &of_volume)
}

fn only_a_directory_has_room(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let volumes = fixture.volumes();
    let of_file = volumes.space_at(&sandbox.file("f")?);
    holds("a file has none", of_file.is_err())?;
    not_found("space_at", volumes.space_at(&sandbox.at(r"missing\d")))
}

fn a_volume_has_a_filesystem(fixture: &Fixture) -> CaseResult {
    let volumes = fixture.volumes();
    let Some(file_system) = volumes.file_system(fixture.control().volume())? else {
        return Err(Failure::Wrong("the volume is RAW".to_owned()));
    };
    holds("it has a name", !file_system.name.is_empty())?;
    holds("it takes writes", !file_system.read_only)
}

fn a_volume_lies_on_a_disk(fixture: &Fixture) -> CaseResult {
    let extents = fixture.volumes().extents(fixture.control().volume())?;
    holds("it has an extent", !extents.is_empty())?;
    holds(
        "no extent is empty",
        extents.iter().all(|extent| extent.length > 0),
    )
}

fn a_drive_is_among_the_access_paths(fixture: &Fixture) -> CaseResult {
    let drive = fixture.control().folder().prefix(0);
    holds("the drive is among them", is_mounted_at(fixture, &drive)?)
}

fn an_unknown_volume_answers_nothing(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let folder = sandbox.directory("d")?;
    let volumes = fixture.volumes();
    let unknown = VolumeId(Uuid::from_u128(0x0bad));
    holds("no extents", volumes.extents(unknown).is_err())?;
    holds("no space", volumes.space(unknown).is_err())?;
    holds("no filesystem", volumes.file_system(unknown).is_err())?;
    holds("no access paths", volumes.access_paths(unknown).is_err())?;
    holds("no flush", volumes.flush(unknown).is_err())?;
    let mounted = volumes.set_mount_point(&folder, unknown);
    holds("no mounted folder", mounted.is_err())?;
    same("tag", &sandbox.entry("d")?.tag, &None)
}

fn a_volume_can_be_flushed(fixture: &Fixture) -> CaseResult {
    fixture.volumes().flush(fixture.control().volume())?;
    Ok(())
}

fn a_mounted_volume_is_seen_through_its_folder(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let folder = mounted(&sandbox, fixture.volumes())?;
    same(
        "tag",
        &sandbox.entry("mnt")?.tag,
        &Some(ReparseTag::MOUNT_POINT),
    )?;
    let found = fixture.volumes().mounted_at(&folder)?;
    same("volume", &found, &sandbox.hand.volume())?;
    holds(
        "its folder is an access path",
        is_mounted_at(fixture, &folder)?,
    )?;
    let seen = sandbox.through(&folder);
    same("names", &sandbox.names(&seen)?, &vec!["mnt".to_owned()])
}

fn a_volume_is_mounted_at_an_existing_empty_folder_alone(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let volumes = fixture.volumes();
    let full = sandbox.directory("full")?;
    sandbox.file(r"full\f")?;
    let taken = mounted(&sandbox, volumes)?;
    for folder in [full, taken] {
        let again = volumes.set_mount_point(&folder, sandbox.hand.volume());
        refused("set_mount_point", again, Win32::DIR_NOT_EMPTY)?;
    }
    same("content", &sandbox.read(r"full\f")?, &r"full\f".to_owned())
}

fn an_unmounted_folder_is_plain_and_empty_again(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let volumes = fixture.volumes();
    let folder = mounted(&sandbox, volumes)?;
    volumes.delete_mount_point(&folder)?;
    same("tag", &sandbox.entry("mnt")?.tag, &None)?;
    same("names", &sandbox.names(&folder)?, &vec![])?;
    holds("no access path is left", !is_mounted_at(fixture, &folder)?)?;
    let again = volumes.delete_mount_point(&folder);
    holds("it cannot be unmounted again", again.is_err())
}

fn a_plain_folder_has_no_reparse_point(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let (folder, volume) = (sandbox.directory("d")?, sandbox.hand.volume());
    let taken = fixture.volumes().delete_reparse_point(&folder, volume);
    refused("delete_reparse_point", taken, Win32::NOT_A_REPARSE_POINT)
}

/// The mount manager gets to know it afterwards, by mounting and unmounting there once more.
fn a_mounted_folder_is_plain_without_its_reparse_point(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    let (volumes, volume) = (fixture.volumes(), sandbox.hand.volume());
    let folder = mounted(&sandbox, volumes)?;
    let other = volumes.delete_reparse_point(&folder, VolumeId(Uuid::from_u128(0x0bad)));
    refused("delete_reparse_point", other, Win32::REPARSE_TAG_MISMATCH)?;
    same("volume", &volumes.mounted_at(&folder)?, &volume)?;
    volumes.delete_reparse_point(&folder, volume)?;
    same("tag", &sandbox.entry("mnt")?.tag, &None)?;
    same("names", &sandbox.names(&folder)?, &vec![])?;
    volumes.set_mount_point(&folder, volume)?;
    volumes.delete_mount_point(&folder)?;
    Ok(())
}

fn a_mounted_folder_that_is_removed_is_forgotten(fixture: &Fixture) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("f")?;
    let folder = mounted(&sandbox, fixture.volumes())?;
    sandbox.files.remove_directory(&folder)?;
    refused("entry", sandbox.files.entry(&folder), Win32::FILE_NOT_FOUND)?;
    holds("no access path is left", !is_mounted_at(fixture, &folder)?)?;
    same("content", &sandbox.read("f")?, &"f".to_owned())
}

fn a_mounted_folder_that_goes_from_a_pinned_directory_is_forgotten(
    fixture: &Fixture,
) -> CaseResult {
    let sandbox = FolderFixture::of(fixture);
    sandbox.file("f")?;
    let pin = sandbox.files.pin(&sandbox.directory("d")?)?;
    let folder = sandbox.directory(r"d\mnt")?;
    let volumes = fixture.volumes();
    volumes.set_mount_point(&folder, sandbox.hand.volume())?;
    holds("it is an access path", is_mounted_at(fixture, &folder)?)?;
    let name = Component::parse("mnt").map_err(Failure::unexpected)?;
    pin.remove(&name)?;
    same("names", &sandbox.names(&sandbox.at("d"))?, &vec![])?;
    holds("no access path is left", !is_mounted_at(fixture, &folder)?)?;
    same("content", &sandbox.read("f")?, &"f".to_owned())
}

/// A folder with the volume of the case's own folder mounted.
fn mounted(sandbox: &FolderFixture<'_>, volumes: &dyn Volumes) -> CaseResult<WinPath> {
    let folder = sandbox.directory("mnt")?;
    volumes.set_mount_point(&folder, sandbox.hand.volume())?;
    Ok(folder)
}

fn is_mounted_at(fixture: &Fixture, folder: &WinPath) -> CaseResult<bool> {
    let volume = fixture.control().volume();
    let paths = fixture.volumes().access_paths(volume)?;
    Ok(paths.iter().any(|path| path.folded() == folder.folded()))
}
