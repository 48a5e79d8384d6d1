//! Wine: whether this is it, and its deviations.

// UNSAFETY: two calls missing in safe libraries, for the tests alone.
#![expect(unsafe_code)]

use std::ffi::OsStr;
use std::fs::File;
use std::os::windows::io::AsRawHandle;
use std::ptr;

use os::Win32;
use os_suite::Deviation;
use windows_service::service_manager::{ServiceManager, ServiceManagerAccess};
use windows_sys::Win32::Foundation::GetLastError;
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::FSCTL_SET_REPARSE_POINT;
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::core::w;

/// Whether the system is Wine: it has a function that Windows lacks.
pub(crate) fn is_here() -> bool {
    // SAFETY: both texts end in a NUL, and the module is part of every process.
    unsafe {
        let library = GetModuleHandleW(w!("ntdll.dll"));
        GetProcAddress(library, c"wine_get_version".as_ptr().cast()).is_some()
    }
}

/// Opens the service control manager for as long as the cases run, before any of them does.
///
/// A handle of it belongs to an association with the manager's process. Wine 8 stores the
/// association after the first call over it has ended, and drops it with the last handle: two calls
/// begun before this each make their own, and a handle of one may be used over a connection of the
/// other ("The handle is invalid"; read in rpcrt4's `RpcAssoc_ReleaseIdleConnection`).
pub(crate) fn keep_services_open() -> Result<ServiceManager, windows_service::Error> {
    ServiceManager::local_computer(None::<&OsStr>, ServiceManagerAccess::CONNECT)
}

/// Makes an open entry a reparse point.
pub(crate) fn set_reparse_point(entry: &File, data: &[u8]) -> Result<(), Win32> {
    let length = u32::try_from(data.len()).map_err(|_| Win32::INVALID_PARAMETER)?;
    let mut returned = 0;
    // SAFETY: the handle is open and not overlapped, and the data is as long as we say.
    let set = unsafe {
        DeviceIoControl(
            entry.as_raw_handle(),
            FSCTL_SET_REPARSE_POINT,
            data.as_ptr().cast(),
            length,
            ptr::null_mut(),
            0,
            &raw mut returned,
            ptr::null_mut(),
        )
    };
    if set == 0 {
        // SAFETY: the function has no preconditions.
        return Err(Win32(unsafe { GetLastError() }));
    }
    Ok(())
}

/// Wine 8's deviations. A row goes away when Wine is fixed.
pub(crate) const ANSWERS: &[Deviation] = &[
    // Wine's own codes.
    row("boot::memory_is_written_to_drives", NO_PAGE_FILES),
    row(
        "files::a_drive_that_does_not_exist_is_path_not_found",
        "entry: Win32(2)",
    ),
    row("files::a_listing_of_a_file_is_an_error", "list: Win32(123)"),
    row(
        "files::a_name_that_is_too_long_is_refused",
        "create_directory: Win32(2)",
    ),
    row(
        "files::a_symlink_does_not_take_a_taken_name",
        "create_symlink: success",
    ),
    row(
        "files::a_volume_is_reached_by_its_name",
        "GetFileAttributesExW: Win32(66)",
    ),
    row(
        "volumes::a_missing_folder_is_not_found",
        "mounted_at: Win32(4390)",
    ),
    row(
        "volumes::a_volume_can_be_flushed",
        "FlushFileBuffers: Win32(1)",
    ),
    row(
        "volumes::a_volume_lies_on_a_disk",
        "not so: it has an extent",
    ),
    // An access control list is kept as the host's mode bits.
    row(
        "files::a_list_that_is_set_is_told_with_its_rights",
        "not so: everybody may do everything",
    ),
    row(
        "files::a_list_that_keeps_others_out_names_nobody_else",
        "not so: it is protected",
    ),
    // A volume has no extent, so nothing leads to its disk.
    row("disks::the_disk_of_a_volume_is_listed", NO_EXTENT),
    row("disks::a_volume_is_a_partition_of_its_disk", NO_EXTENT),
    row(
        "disks::the_parts_of_volumes_lie_on_disks_that_are_listed_and_apart",
        NO_EXTENT,
    ),
    row("disks::partitions_lie_within_the_disk_and_apart", NO_EXTENT),
    row("disks::partitions_are_numbered_from_one", NO_EXTENT),
    row("disks::a_disk_is_so_many_whole_sectors_long", NO_EXTENT),
    row("disks::a_disk_with_a_table_has_a_boot_signature", NO_EXTENT),
    row("disks::a_read_has_to_be_aligned", NO_EXTENT),
    row("disks::a_read_beyond_the_end_fails", NO_EXTENT),
    row("disks::a_device_id_page_reads", NO_EXTENT),
    row("disks::a_device_says_what_it_hangs_on", NO_EXTENT),
    row("disks::the_disk_of_a_used_volume_is_online", NO_EXTENT),
    row("disks::the_device_of_a_used_volume_takes_writes", NO_EXTENT),
    row("disks::looking_anew_changes_nothing_by_itself", NO_EXTENT),
    // The first drive is found by its name alone and answers few questions; there are no devices.
    row("disks::disks_are_listed_ascending_and_once", NO_DISKS),
    row("drive::the_first_one_is_listed", NO_DEVICES),
    row(
        "drive::it_has_a_length",
        "IOCTL_DISK_GET_LENGTH_INFO: Win32(50)",
    ),
    row(
        "drive::it_has_a_layout",
        "IOCTL_DISK_GET_DRIVE_LAYOUT_EX: Win32(50)",
    ),
    row(
        "drive::it_has_a_device_id_page",
        "IOCTL_STORAGE_QUERY_PROPERTY: Win32(50)",
    ),
    row(
        "drive::it_has_an_address",
        "IOCTL_SCSI_GET_ADDRESS: Win32(50)",
    ),
    row(
        "drive::it_has_attributes",
        "IOCTL_DISK_GET_DISK_ATTRIBUTES: Win32(50)",
    ),
    row(
        "drive::it_takes_writes",
        "IOCTL_DISK_IS_WRITABLE: Win32(50)",
    ),
    row("drive::its_first_sectors_are_read", "ReadFile: Win32(1)"),
    row(
        "drive::it_is_looked_at_anew",
        "IOCTL_DISK_UPDATE_PROPERTIES: Win32(50)",
    ),
    // The namespace is there, with nothing in it.
    row("wmi::disks_are_objects", NO_DISKS),
    // SetVolumeMountPointW is not there.
    row(
        "volumes::a_mounted_folder_has_the_room_of_its_volume",
        NO_MOUNTING,
    ),
    row(
        "volumes::a_mounted_folder_that_goes_from_a_pinned_directory_is_forgotten",
        NO_MOUNTING,
    ),
    row(
        "volumes::a_mounted_folder_that_is_removed_is_forgotten",
        NO_MOUNTING,
    ),
    row(
        "volumes::a_mounted_folder_is_plain_without_its_reparse_point",
        NO_MOUNTING,
    ),
    row(
        "volumes::a_mounted_volume_is_seen_through_its_folder",
        NO_MOUNTING,
    ),
    row(
        "volumes::a_volume_is_mounted_at_an_existing_empty_folder_alone",
        NO_MOUNTING,
    ),
    row(
        "volumes::an_unmounted_folder_is_plain_and_empty_again",
        NO_MOUNTING,
    ),
    // CreateSymbolicLinkW reports success and creates nothing.
    row("files::a_chain_of_symlinks_is_followed", NO_SYMLINKS),
    row(
        "files::a_directory_is_pinned_through_a_link_above_it",
        NO_SYMLINKS,
    ),
    row(
        "files::a_file_symlink_does_not_lead_to_a_directory",
        NO_SYMLINKS,
    ),
    row(
        "files::a_file_symlink_to_a_link_does_not_lead_to_a_directory",
        NO_SYMLINKS,
    ),
    row("files::a_link_cannot_be_pinned", NO_SYMLINKS),
    row(
        "volumes::a_linked_directory_has_the_room_of_its_volume",
        NO_SYMLINKS,
    ),
    row(
        "files::a_link_goes_as_an_entry_of_a_pinned_directory",
        NO_SYMLINKS,
    ),
    row(
        "files::a_link_to_a_directory_is_no_file_to_remove",
        NO_SYMLINKS,
    ),
    row(
        "files::a_link_to_a_directory_is_removed_as_an_entry",
        NO_SYMLINKS,
    ),
    row(
        "files::a_link_to_a_file_is_no_directory_to_remove",
        NO_SYMLINKS,
    ),
    row(
        "files::a_link_to_a_file_is_removed_as_an_entry",
        NO_SYMLINKS,
    ),
    row(
        "files::a_link_to_nothing_is_removed_as_an_entry",
        NO_SYMLINKS,
    ),
    row("files::a_listing_goes_through_a_symlink", NO_SYMLINKS),
    row("files::a_loop_of_symlinks_ends_in_an_error", NO_SYMLINKS),
    row(
        "files::a_relative_symlink_starts_where_it_lies",
        NO_SYMLINKS,
    ),
    row(
        "files::a_relative_target_is_stored_as_it_is_written",
        NO_SYMLINKS,
    ),
    row(
        "files::a_removal_through_a_link_removes_what_it_leads_to",
        NO_SYMLINKS,
    ),
    row(
        "files::a_share_is_stored_with_its_trailing_backslash",
        NO_SYMLINKS,
    ),
    row(
        "files::a_symlink_is_followed_in_the_middle_of_a_path",
        NO_SYMLINKS,
    ),
    row(
        "files::a_symlink_is_removed_as_one_of_its_kind",
        NO_SYMLINKS,
    ),
    row("files::a_symlink_leads_to_what_its_target_is", NO_SYMLINKS),
    row(
        "files::a_symlink_may_start_at_the_root_of_its_drive",
        NO_SYMLINKS,
    ),
    row("files::a_symlink_says_what_it_is", NO_SYMLINKS),
    row(
        "files::a_symlink_to_nothing_exists_and_leads_nowhere",
        NO_SYMLINKS,
    ),
    row(
        "files::a_taken_name_is_taken_by_a_link_to_nothing",
        NO_SYMLINKS,
    ),
    row(
        "files::an_absolute_target_is_stored_as_it_is_written",
        NO_SYMLINKS,
    ),
    row(
        "files::sixty_three_symlinks_are_followed_and_no_more",
        NO_SYMLINKS,
    ),
    // FSCTL_SET_REPARSE_POINT is not supported, so nothing can be set up.
    row(
        "files::a_junction_and_a_symlink_can_follow_each_other",
        NO_REPARSE_POINTS,
    ),
    row("files::a_junction_is_followed", NO_REPARSE_POINTS),
    row(
        "files::a_junction_is_removed_as_an_entry",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::a_junction_or_mounted_folder_cannot_be_pinned",
        NO_REPARSE_POINTS,
    ),
    row("files::a_listing_tells_the_tags", NO_REPARSE_POINTS),
    row(
        "files::a_mounted_folder_is_removed_as_an_entry",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::a_mounted_folder_leads_to_the_root_of_its_volume",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::a_mounted_folder_of_a_lost_volume_is_still_an_entry",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::a_mounted_folder_says_which_volume_it_leads_to",
        NO_REPARSE_POINTS,
    ),
    row("files::a_mounted_folder_takes_its_name", NO_REPARSE_POINTS),
    row(
        "files::a_socket_is_an_entry_like_any_other",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::a_directory_with_something_reserved_becomes_no_junction",
        "become_junction: Win32(50)",
    ),
    row(
        "files::nothing_is_reserved_in_a_directory_that_became_a_junction",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::what_holds_something_becomes_no_link",
        "become_symlink: Win32(50)",
    ),
    row(
        "files::what_is_reserved_as_a_file_becomes_a_link_to_a_file",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::what_is_reserved_becomes_a_link_and_is_renamed",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::a_placeholder_made_a_junction_becomes_no_link",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::another_reparse_point_is_not_removed_as_a_symlink",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::an_unknown_reparse_point_is_not_gone_through",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::an_unknown_reparse_point_is_removed_as_an_entry",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::an_unknown_reparse_point_shows_its_tag",
        NO_REPARSE_POINTS,
    ),
    row(
        "files::reparse_data_comes_back_as_it_was_set",
        NO_REPARSE_POINTS,
    ),
];

const NO_DEVICES: &str = "not so: the first drive is listed";
const NO_DISKS: &str = "not so: there is a disk";
const NO_EXTENT: &str = "no single extent: []";
const NO_MOUNTING: &str = "SetVolumeMountPointW: Win32(120)";
const NO_PAGE_FILES: &str = "EnumPageFilesW: malformed answer: it failed without a code, so every disk may hold a page file";
const NO_REPARSE_POINTS: &str = "FSCTL_SET_REPARSE_POINT: Win32(50)";
const NO_SYMLINKS: &str = "not so: the new link is there";

const fn row(case: &'static str, answer: &'static str) -> Deviation {
    Deviation { case, answer }
}
