//! The tests of each operation.
//!
//! A test is named by its file, or its file's module, and its function. It counts for each version named together with
//! the method, in the test or in the items of its file that it uses.

use wincsi_proxy::catalogue::Operation;
use wire::{Group, Method};

use crate::pages::sources::Sources;

const FILES: &[&str] = &[
    "filesystem_versions::directories_and_links_live_the_same_life_in_every_version",
    "wire::directories_are_made_seen_and_removed",
];
const PARTITION: &[&str] = &["versions::every_version_partitions_measures_and_switches_disks"];
const VOLUMES: &[&str] = &[
    "versions::a_volume_lives_in_every_version_of_old",
    "versions::a_volume_lives_in_every_version_of_today",
];
const SHARES: &[&str] = &["versions::a_share_is_mapped_and_removed_in_every_version"];
const PORTALS: &[&str] = &["iscsi::a_portal_is_listed_from_add_until_remove"];
const TARGETS: &[&str] = &["iscsi::a_target_is_connected_and_its_disk_found_and_left"];

/// The tests of each operation.
pub(crate) const TESTS: &[(&str, &[&str])] = &[
    ("filesystem.PathExists", FILES),
    ("filesystem.Mkdir", FILES),
    ("filesystem.Rmdir", FILES),
    (
        "filesystem.RmdirContents",
        &["filesystem_versions::the_newest_version_empties_a_directory_and_keeps_it"],
    ),
    (
        "filesystem.CreateSymlink",
        &["filesystem_versions::directories_and_links_live_the_same_life_in_every_version"],
    ),
    (
        "filesystem.IsSymlink",
        &["filesystem_versions::directories_and_links_live_the_same_life_in_every_version"],
    ),
    (
        "disk.ListDiskLocations",
        &["versions::every_version_says_where_disks_are"],
    ),
    ("disk.PartitionDisk", PARTITION),
    ("disk.Rescan", PARTITION),
    (
        "disk.GetDiskNumberByName",
        &["versions::a_disk_is_found_by_its_exact_name"],
    ),
    (
        "disk.ListDiskIDs",
        &["versions::identifiers_of_old_are_exactly_page83_and_serial_number"],
    ),
    ("disk.GetDiskStats", PARTITION),
    ("disk.SetDiskState", PARTITION),
    ("disk.GetDiskState", PARTITION),
    ("volume.ListVolumesOnDisk", VOLUMES),
    ("volume.MountVolume", VOLUMES),
    ("volume.UnmountVolume", VOLUMES),
    ("volume.IsVolumeFormatted", VOLUMES),
    ("volume.FormatVolume", VOLUMES),
    ("volume.ResizeVolume", VOLUMES),
    ("volume.GetVolumeStats", VOLUMES),
    ("volume.GetDiskNumberFromVolumeID", VOLUMES),
    ("volume.GetVolumeIDFromTargetPath", VOLUMES),
    (
        "volume.GetClosestVolumeIDFromTargetPath",
        &["versions::the_closest_volume_is_that_of_the_mounted_folder_above"],
    ),
    ("volume.WriteVolumeCache", VOLUMES),
    ("smb.NewSmbGlobalMapping", SHARES),
    ("smb.RemoveSmbGlobalMapping", SHARES),
    (
        "system.GetBIOSSerialNumber",
        &["system::weakness_37_the_serial_number_is_trimmed"],
    ),
    (
        "system.GetService",
        &["system::a_service_is_reported_started_and_stopped"],
    ),
    (
        "system.StartService",
        &["system::a_service_is_reported_started_and_stopped"],
    ),
    (
        "system.StopService",
        &["system::dependents_are_an_error_that_names_them_unless_forced"],
    ),
    ("iscsi.AddTargetPortal", PORTALS),
    ("iscsi.DiscoverTargetPortal", PORTALS),
    ("iscsi.RemoveTargetPortal", PORTALS),
    ("iscsi.ListTargetPortals", PORTALS),
    ("iscsi.ConnectTarget", TARGETS),
    ("iscsi.DisconnectTarget", TARGETS),
    ("iscsi.GetTargetDisks", TARGETS),
    (
        "iscsi.SetMutualChapSecret",
        &["iscsi::the_mutual_secret_opens_what_proves_itself"],
    ),
];

/// The test of each text that drivers match on, in the order of `node::driver_texts::ALL`.
pub(crate) const TEXTS: &[(&str, &str)] = &[
    (
        node::driver_texts::PLAIN_DIRECTORY,
        "driver_texts::a_plain_directory_has_no_target",
    ),
    (
        node::driver_texts::MISSING,
        "driver_texts::a_missing_path_does_not_exist",
    ),
    (
        node::driver_texts::NOT_MOUNTED,
        "driver_texts::an_access_path_is_not_valid_where_nothing_is_mounted",
    ),
    (
        node::driver_texts::NOT_MAPPED,
        "driver_texts::unmapping_an_unmapped_share_returns_the_text_drivers_match",
    ),
    (
        node::driver_texts::NAME_TAKEN,
        "driver_texts::a_directory_in_the_place_of_a_link_is_a_resource_that_exists",
    ),
    (
        node::driver_texts::FILE_NOT_FOUND,
        "driver_texts::a_directory_that_is_missing_is_a_file_that_cannot_be_found",
    ),
    (
        node::driver_texts::NOT_ABSOLUTE,
        "driver_texts::a_path_without_a_drive_is_not_absolute",
    ),
    (
        node::driver_texts::PATH_IN_USE,
        "driver_texts::an_access_path_is_never_said_to_be_in_use",
    ),
    (
        node::driver_texts::EXTENT_TOO_SMALL,
        "driver_texts::a_volume_without_room_to_grow_is_grown",
    ),
    (
        node::driver_texts::LOGGED_IN,
        "iscsi::a_session_without_a_connection_is_logged_in_and_a_refusal_is_not",
    ),
    (
        node::driver_texts::OBJECT_NOT_FOUND,
        "iscsi::what_is_unknown_is_object_not_found_and_what_is_out_of_reach_is_not",
    ),
];

/// The tests of an operation for a version's method.
///
/// # Errors
/// One of them does not exist.
pub(crate) fn tests_of(
    sources: &Sources,
    group: &Group,
    method: &Method,
    operation: &Operation,
) -> Result<Vec<&'static str>, String> {
    let operation = operation.to_string();
    let row = TESTS.iter().find(|(name, _)| *name == operation);
    let (_, tests) = row.ok_or_else(|| format!("{operation} has no tests"))?;
    let mut of_version = Vec::new();
    for test in *tests {
        let text = sources
            .test(test)
            .ok_or_else(|| format!("there is no test {test}"))?;
        let names = [group.name, method.name, &group.version.to_string()];
        if names.iter().all(|name| text.names(name)) {
            of_version.push(*test);
        }
    }
    Ok(of_version)
}
