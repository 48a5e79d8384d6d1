//! The requested filesystem, and another system's partition.

use node::api::{Cause, Condition};
use node::{FileSystemType, FormatOptions, Formatted, FoundVolume};
use os::schema::volume;
use os::{Deadline, DiskNumber, Query, Root, Value, VolumeId, WinPath};

use super::{GIB, Play, below, declare, image, write_image};
use crate::failure::{holds, refused_as, same};
use crate::{CaseResult, Failure, NodeFixture};

declare!("format";
    a_volume_gets_the_label_and_the_allocation_unit_that_are_asked_for,
    a_volume_is_formatted_with_refs_or_stays_blank,
    a_volume_with_another_filesystem_is_refused,
    the_root_of_a_volume_gets_the_list_that_is_asked_for,
    a_list_that_a_root_gets_later_keeps_what_is_there_readable,
    a_partition_of_another_system_is_kept,
);

const LABEL: &str = "sql data";
const UNIT: u32 = 64 << 10;

/// System and administrators may do all, users change existing entries; nothing is inherited from above.
const LIST: &str = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)";

fn a_volume_gets_the_label_and_the_allocation_unit_that_are_asked_for(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let play = Play::on(fixture);
    let (_, found) = play.raw(GIB)?;
    let volume = found.id();
    let options = labelled(FileSystemType::Ntfs)?;
    same("format", &ensure(&play, &found, &options)?, &Formatted::Now)?;
    is_as_asked(fixture, volume, "NTFS")?;
    let again = ensure(&play, &found, &options)?;
    same("format again", &again, &Formatted::Before)
}

/// Not every edition of Windows formats ReFS, and its least length is not documented: a refusal is the provider's, and
/// leaves the volume unchanged.
fn a_volume_is_formatted_with_refs_or_stays_blank(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (_, found) = play.raw(16 * GIB)?;
    let volume = found.id();
    let options = labelled(FileSystemType::Refs)?;
    let volumes = play.node.volumes();
    match volumes.ensure_formatted(&found, &options, play.deadline()) {
        Ok(formatted) => {
            same("format", &formatted, &Formatted::Now)?;
            is_as_asked(fixture, volume, "ReFS")
        }
        Err(error) => {
            fixture.note(&format!("no ReFS here: {error}"));
            let is_refusal = matches!(error.cause, Cause::Failed { .. });
            holds("the system refused", is_refusal)?;
            let is_formatted = volumes.is_formatted(volume, play.deadline())?;
            holds("the volume is still blank", !is_formatted)
        }
    }
}

fn a_volume_with_another_filesystem_is_refused(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (disk, _) = play.formatted()?;
    let volume = play.volume(disk)?;
    let options = FormatOptions::new(FileSystemType::Refs);
    let volumes = play.node.volumes();
    let formatted = volumes.ensure_formatted(&volume, &options, play.deadline());
    refused_as("format", formatted, Condition::OtherFileSystem)
}

/// Read back by the volume's own path, before and after it is mounted. A mounted folder has a list of its own; a
/// drive's root has the volume's; this is checked on the suite's own.
fn the_root_of_a_volume_gets_the_list_that_is_asked_for(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let (_, found) = play.raw(GIB)?;
    let volume = found.id();
    let dacl = LIST.parse().map_err(Failure::unexpected)?;
    let options = labelled(FileSystemType::Ntfs)?.root_dacl(dacl);
    same("format", &ensure(&play, &found, &options)?, &Formatted::Now)?;
    is_as_asked(fixture, volume, "NTFS")?;
    let files = &fixture.os().files;
    let root = files.dacl(&WinPath::of_root(Root::Volume(volume)))?;
    fixture.note(&format!("the root's list: {root}"));
    holds("the list is protected", root.starts_with("D:P"))?;
    for entry in [";SY)", ";BA)", "(A;OICI;0x1301bf;;;BU)"] {
        holds(&format!("the list has {entry}"), root.contains(entry))?;
    }
    let target = play.directory("target")?;
    let volumes = play.node.volumes();
    volumes.mount(&found, &target, play.deadline())?;
    let mounted = files.dacl(&WinPath::of_root(Root::Volume(volume)))?;
    same("the list of a mounted volume", &mounted, &root)?;
    let drive = files.dacl(&fixture.folder().prefix(0))?;
    let own = files.dacl(&WinPath::of_root(Root::Volume(fixture.volume())))?;
    same("the list of a drive", &drive, &own)
}

/// By Windows's page on the propagation of inheritable entries, existing entries get them too; a subdirectory's list
/// afterwards is logged. The simulated node keeps lists and passes none on.
///
/// <https://learn.microsoft.com/windows/win32/secauthz/automatic-propagation-of-inheritable-aces>
fn a_list_that_a_root_gets_later_keeps_what_is_there_readable(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let play = Play::on(fixture);
    let (_, volume, target) = play.mounted("target")?;
    let sub = below(&target, "sub")?;
    let filesystem = play.node.filesystem();
    filesystem.make_directory(&sub, play.deadline())?;
    let files = [below(&target, "kept")?, below(&sub, "kept")?];
    for file in &files {
        fixture.write_file(file, LABEL.as_bytes())?;
    }
    let os = fixture.os();
    let before = os.files.dacl(&sub)?;
    let root = WinPath::of_root(Root::Volume(volume));
    os.files
        .set_dacl(&root, &LIST.parse().map_err(Failure::unexpected)?)?;
    let list = os.files.dacl(&root)?;
    holds("the root's list is protected", list.starts_with("D:P"))?;
    let after = os.files.dacl(&sub)?;
    fixture.note(&format!(
        "a subdirectory's list before its root's: {before}, after it: {after}"
    ));
    for file in &files {
        same(
            "content",
            &fixture.read_file(file)?,
            &LABEL.as_bytes().to_vec(),
        )?;
    }
    Ok(())
}

/// A table of Linux. It is not documented whether Windows makes a volume of its partition: without one there is nothing
/// to format.
fn a_partition_of_another_system_is_kept(fixture: &dyn NodeFixture) -> CaseResult {
    let play = Play::on(fixture);
    let disk = fixture.plug(GIB)?;
    write_image(fixture, disk, 0, &image("mbr-sfdisk")?)?;
    fixture.overwrite(disk, FIRST_TYPE, &[LINUX])?;
    fixture.os().disks.update_properties(disk)?;
    let disks = play.node.disks();
    disks.rescan(play.deadline())?;
    disks.bring_online(&play.found(disk)?, play.deadline())?;
    let volumes = play.node.volumes();
    match volumes.find_on(&play.found(disk)?, play.deadline()) {
        Err(error) if error.condition() == Some(Condition::NotFound) => {
            fixture.note("Windows makes no volume of a partition of Linux's");
        }
        volume => {
            let options = FormatOptions::default();
            let formatted = volumes.ensure_formatted(&volume?, &options, play.deadline());
            refused_as("format", formatted, Condition::NotBlank)?;
        }
    }
    same("type", &first_type(fixture, disk)?, &LINUX)
}

/// Where a master boot record has the type of its first partition.
const FIRST_TYPE: u64 = 450;
const LINUX: u8 = 0x83;

fn first_type(fixture: &dyn NodeFixture, disk: DiskNumber) -> CaseResult<u8> {
    let mut sectors = [0; 4096];
    fixture.os().disks.read(disk, 0, &mut sectors)?;
    Ok(sectors[450])
}

fn labelled(file_system: FileSystemType) -> CaseResult<FormatOptions> {
    let options = FormatOptions::new(file_system).allocation_unit(UNIT);
    let options = options.and_then(|options| options.label(LABEL));
    options.map_err(Failure::unexpected)
}

fn ensure(play: &Play<'_>, volume: &FoundVolume, options: &FormatOptions) -> CaseResult<Formatted> {
    let volumes = play.node.volumes();
    Ok(volumes.ensure_formatted(volume, options, play.deadline())?)
}

/// Name and label as the kernel has them, the allocation unit as the provider.
fn is_as_asked(fixture: &dyn NodeFixture, volume: VolumeId, name: &str) -> CaseResult {
    let os = fixture.os();
    let found = os.volumes.file_system(volume)?;
    let found = found.ok_or_else(|| Failure::unexpected("the volume is RAW"))?;
    same("filesystem", &found.name.as_str(), &name)?;
    same("label", &found.label.as_str(), &LABEL)?;
    let select = [volume::ALLOCATION_UNIT_SIZE.name];
    let query = Query::all(volume::CLASS.name, &select)
        .with(volume::UNIQUE_ID.name, Value::text(volume.to_string()));
    let rows = os.storage.query(&query, Deadline::NEVER)?;
    let [row] = rows.as_slice() else {
        return Err(Failure::unexpected(format!("no single object: {rows:?}")));
    };
    let unit = row.u32(volume::ALLOCATION_UNIT_SIZE.name);
    same(
        "allocation unit",
        &unit.map_err(Failure::unexpected)?,
        &UNIT,
    )
}
