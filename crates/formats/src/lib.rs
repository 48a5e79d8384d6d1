//! Pure code that reads the bytes that disks and Windows write.
//!
//! Nothing here opens a file or calls an operating system: callers read the bytes, this crate
//! interprets them. All input may be damaged or hostile, so every access is bounds-checked and
//! every result is a type that names the finding.
//!
//! | module | bytes | answer |
//! |---|---|---|
//! | [`blank`] | the first 4 MiB and the last MiB of a disk or partition | blank, known signatures, or unknown bytes; and from that, leave to overwrite or a refusal |
//! | [`gpt`] | the same ranges | the partition table, with both copies checked against each other |
//! | [`credential`] | a user's name and password | the one text that WMI takes for both |
//! | [`device_id`] | a `STORAGE_DEVICE_ID_DESCRIPTOR` | the SCSI identifiers (VPD page 83h) of a disk |
//! | [`device_path`] | the device interface path of a disk | its NVMe namespace |
//! | [`directory`] | a listing of a directory with ids (`FILE_ID_EXTD_DIR_INFO`, `FILE_ID_BOTH_DIR_INFO`) | names, each with the id of its file |
//! | [`error_id`] | the identifier of an error of WMI's | the code that it names |
//! | [`ioctl`] | what disks and volumes answer to control codes | partition table, descriptor, length, sector size, number, address, attributes; extents |
//! | [`location`] | `MSFT_Disk.Location` | adapter, bus, target, LUN |
//! | [`multi_string`] | a block of UTF-16 | the texts of its list |
//! | [`partition_kind`] | a partition's type | whether it is one that Windows keeps files in |
//! | [`reparse`] | a `REPARSE_DATA_BUFFER` | mounted folder, junction, symbolic link, or another tag |
//! | [`smbios`] | a `RawSMBIOSData` | the machine's serial number |
//! | [`symlink`] | the target of a symbolic link | its reparse point |
//! | [`wql`] | a text for a query of WMI | its literal, and back |

#![forbid(unsafe_code)]

pub mod blank;
pub mod credential;
pub mod device_id;
pub mod device_path;
pub mod directory;
pub mod error_id;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod gpt;
pub mod ioctl;
pub mod location;
pub mod multi_string;
pub mod partition_kind;
pub mod reparse;
pub mod smbios;
pub mod symlink;
pub mod wql;

mod bytes;
