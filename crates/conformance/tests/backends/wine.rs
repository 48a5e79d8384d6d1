//! Wine's deviations, and what its service control manager needs.

use std::ffi::OsStr;
use std::mem;

use wincsi_conformance::Deviations;
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};

/// Opens the service control manager for as long as the cases run, before any of them does.
///
/// A handle of it belongs to an association with the manager's process. Wine 8 stores the association after the first
/// call over it has ended, and drops it with the last handle: two calls begun before this each make their own, and a
/// handle of one may be used over a connection of the other ("The handle is invalid"; read in rpcrt4's
/// `RpcAssoc_ReleaseIdleConnection`).
pub(crate) fn keep_services_open() {
    let opened = ServiceManager::local_computer(None::<&OsStr>, ServiceManagerAccess::CONNECT);
    mem::forget(opened.expect("the manager runs"));
}

/// Wine 8's deviations. A row goes away when Wine is fixed.
pub(crate) const ANSWERS: &[Deviations] = &[
    // Wine's own codes.
    (
        "EnumPageFilesW: malformed answer: it failed without a code, so every disk may hold a page file",
        &["boot::memory_is_written_to_drives"],
    ),
    (
        "entry: Win32(2)",
        &["files::a_drive_that_does_not_exist_is_path_not_found"],
    ),
    (
        "list: Win32(123)",
        &["files::a_listing_of_a_file_is_an_error"],
    ),
    (
        "create_directory: Win32(2)",
        &["files::a_name_that_is_too_long_is_refused"],
    ),
    (
        "create_symlink: success",
        &["files::a_symlink_does_not_take_a_taken_name"],
    ),
    (
        "GetFileAttributesExW: Win32(66)",
        &["files::a_volume_is_reached_by_its_name"],
    ),
    (
        "mounted_at: Win32(4390)",
        &["volumes::a_missing_folder_is_not_found"],
    ),
    (
        "FlushFileBuffers: Win32(1)",
        &["volumes::a_volume_can_be_flushed"],
    ),
    (
        "not so: it has an extent",
        &["volumes::a_volume_lies_on_a_disk"],
    ),
    // An access control list is kept as the host's mode bits.
    (
        "not so: everybody may do everything",
        &["files::a_list_that_is_set_is_told_with_its_rights"],
    ),
    (
        "not so: it is protected",
        &["files::a_list_that_keeps_others_out_names_nobody_else"],
    ),
    // A volume has no extent, so nothing leads to its disk.
    (
        "no single extent: []",
        &[
            "disks::the_disk_of_a_volume_is_listed",
            "disks::a_volume_is_a_partition_of_its_disk",
            "disks::the_parts_of_volumes_lie_on_disks_that_are_listed_and_apart",
            "disks::partitions_lie_within_the_disk_and_apart",
            "disks::partitions_are_numbered_from_one",
            "disks::a_disk_is_so_many_whole_sectors_long",
            "disks::a_disk_with_a_table_has_a_boot_signature",
            "disks::a_read_has_to_be_aligned",
            "disks::a_read_beyond_the_end_fails",
            "disks::a_device_id_page_reads",
            "disks::a_device_says_what_it_hangs_on",
            "disks::the_disk_of_a_used_volume_is_online",
            "disks::the_device_of_a_used_volume_takes_writes",
            "disks::looking_anew_changes_nothing_by_itself",
        ],
    ),
    // The first drive is found by its name alone and answers few questions; there are no devices.
    (
        "not so: there is a disk",
        &[
            "disks::disks_are_listed_ascending_and_once",
            "wmi::disks_are_objects",
        ],
    ),
    (
        "not so: the first drive is listed",
        &["drive::the_first_one_is_listed"],
    ),
    (
        "IOCTL_DISK_GET_LENGTH_INFO: Win32(50)",
        &["drive::it_has_a_length"],
    ),
    (
        "IOCTL_DISK_GET_DRIVE_LAYOUT_EX: Win32(50)",
        &["drive::it_has_a_layout"],
    ),
    (
        "IOCTL_STORAGE_QUERY_PROPERTY: Win32(50)",
        &["drive::it_has_a_device_id_page"],
    ),
    (
        "IOCTL_SCSI_GET_ADDRESS: Win32(50)",
        &["drive::it_has_an_address"],
    ),
    (
        "IOCTL_DISK_GET_DISK_ATTRIBUTES: Win32(50)",
        &["drive::it_has_attributes"],
    ),
    (
        "IOCTL_DISK_IS_WRITABLE: Win32(50)",
        &["drive::it_takes_writes"],
    ),
    ("ReadFile: Win32(1)", &["drive::its_first_sectors_are_read"]),
    (
        "IOCTL_DISK_UPDATE_PROPERTIES: Win32(50)",
        &["drive::it_is_looked_at_anew"],
    ),
    // The namespace is there, with nothing in it.
    // SetVolumeMountPointW is not there.
    (
        "SetVolumeMountPointW: Win32(120)",
        &[
            "volumes::a_mounted_folder_has_the_room_of_its_volume",
            "volumes::a_mounted_folder_that_goes_from_a_pinned_directory_is_forgotten",
            "volumes::a_mounted_folder_that_is_removed_is_forgotten",
            "volumes::a_mounted_folder_is_plain_without_its_reparse_point",
            "volumes::a_mounted_volume_is_seen_through_its_folder",
            "volumes::a_volume_is_mounted_at_an_existing_empty_folder_alone",
            "volumes::an_unmounted_folder_is_plain_and_empty_again",
        ],
    ),
    // CreateSymbolicLinkW reports success and creates nothing.
    (
        "not so: the new link is there",
        &[
            "files::a_chain_of_symlinks_is_followed",
            "files::a_directory_is_pinned_through_a_link_above_it",
            "files::a_file_symlink_does_not_lead_to_a_directory",
            "files::a_file_symlink_to_a_link_does_not_lead_to_a_directory",
            "files::a_link_cannot_be_pinned",
            "volumes::a_linked_directory_has_the_room_of_its_volume",
            "files::a_link_goes_as_an_entry_of_a_pinned_directory",
            "files::a_link_to_a_directory_is_no_file_to_remove",
            "files::a_link_to_a_directory_is_removed_as_an_entry",
            "files::a_link_to_a_file_is_no_directory_to_remove",
            "files::a_link_to_a_file_is_removed_as_an_entry",
            "files::a_link_to_nothing_is_removed_as_an_entry",
            "files::a_listing_goes_through_a_symlink",
            "files::a_loop_of_symlinks_ends_in_an_error",
            "files::a_relative_symlink_starts_where_it_lies",
            "files::a_relative_target_is_stored_as_it_is_written",
            "files::a_removal_through_a_link_removes_what_it_leads_to",
            "files::a_share_is_stored_with_its_trailing_backslash",
            "files::a_symlink_is_followed_in_the_middle_of_a_path",
            "files::a_symlink_is_removed_as_one_of_its_kind",
            "files::a_symlink_leads_to_what_its_target_is",
            "files::a_symlink_may_start_at_the_root_of_its_drive",
            "files::a_symlink_says_what_it_is",
            "files::a_symlink_to_nothing_exists_and_leads_nowhere",
            "files::a_taken_name_is_taken_by_a_link_to_nothing",
            "files::an_absolute_target_is_stored_as_it_is_written",
            "files::sixty_three_symlinks_are_followed_and_no_more",
        ],
    ),
    // FSCTL_SET_REPARSE_POINT is not supported, so nothing can be set up.
    (
        "FSCTL_SET_REPARSE_POINT: Win32(50)",
        &[
            "files::a_junction_and_a_symlink_can_follow_each_other",
            "files::a_junction_is_followed",
            "files::a_junction_is_removed_as_an_entry",
            "files::a_junction_or_mounted_folder_cannot_be_pinned",
            "files::a_listing_tells_the_tags",
            "files::a_mounted_folder_is_removed_as_an_entry",
            "files::a_mounted_folder_leads_to_the_root_of_its_volume",
            "files::a_mounted_folder_of_a_lost_volume_is_still_an_entry",
            "files::a_mounted_folder_says_which_volume_it_leads_to",
            "files::a_mounted_folder_takes_its_name",
            "files::a_socket_is_an_entry_like_any_other",
            "files::nothing_is_reserved_in_a_directory_that_became_a_junction",
            "files::what_is_reserved_as_a_file_becomes_a_link_to_a_file",
            "files::what_is_reserved_becomes_a_link_and_is_renamed",
            "files::a_placeholder_made_a_junction_becomes_no_link",
            "files::another_reparse_point_is_not_removed_as_a_symlink",
            "files::an_unknown_reparse_point_is_not_gone_through",
            "files::an_unknown_reparse_point_is_removed_as_an_entry",
            "files::an_unknown_reparse_point_shows_its_tag",
            "files::reparse_data_comes_back_as_it_was_set",
        ],
    ),
    (
        "become_junction: Win32(50)",
        &["files::a_directory_with_something_reserved_becomes_no_junction"],
    ),
    (
        "become_symlink: Win32(50)",
        &["files::what_holds_something_becomes_no_link"],
    ),
];
