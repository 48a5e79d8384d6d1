//! Answers of disks and volumes to control codes, and the input of one.
//!
//! Windows lays these structures out in the same way for 32 and 64 bits. A driver reports how much
//! of the buffer it filled; the functions here get that part and read nothing behind it.

mod descriptor;
mod extents;
mod layout;

use thiserror::Error;

pub use self::descriptor::{DeviceDescriptor, size};
pub use self::extents::{DiskExtent, VolumeDiskExtents};
pub use self::layout::{DriveLayout, LayoutPartition, TableStyle};
use crate::bytes::{array, u32_le, u64_le};

/// Why bytes are no answer to a control code.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum AnswerError {
    /// The answer is shorter than the structure, or than the length in the structure.
    #[error("{structure} is cut short: {returned} bytes")]
    Cut {
        /// The name of the expected structure.
        structure: &'static str,
        /// The length of the answer in bytes.
        returned: usize,
    },
    /// A field has an impossible value.
    #[error("{structure}.{field} is {value:#x}")]
    Field {
        /// The name of the expected structure.
        structure: &'static str,
        /// The name of the field.
        field: &'static str,
        /// Its bits.
        value: u64,
    },
}

impl AnswerError {
    fn cut(structure: &'static str, returned: &[u8]) -> Self {
        Self::Cut {
            structure,
            returned: returned.len(),
        }
    }
}

/// The length of a whole disk in bytes, from a `GET_LENGTH_INFORMATION`.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-get_length_information>
///
/// # Errors
/// The answer is cut short, or negative.
pub fn disk_length(returned: &[u8]) -> Result<u64, AnswerError> {
    let structure = "GET_LENGTH_INFORMATION";
    let bits = u64_le(returned, 0).ok_or(AnswerError::cut(structure, returned))?;
    unsigned(structure, "Length", bits)
}

/// The length of a logical sector in bytes, from a `DISK_GEOMETRY`: 512 or 4096.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry>
///
/// # Errors
/// The answer is cut short, or has another number.
pub fn bytes_per_sector(returned: &[u8]) -> Result<u32, AnswerError> {
    let structure = "DISK_GEOMETRY";
    match u32_le(returned, 20).ok_or(AnswerError::cut(structure, returned))? {
        size @ (512 | 4096) => Ok(size),
        other => Err(AnswerError::Field {
            structure,
            field: "BytesPerSector",
            value: other.into(),
        }),
    }
}

/// The number of a disk, from a `STORAGE_DEVICE_NUMBER`. `None` for a disk without a number of its own,
/// such as one path of several to a disk.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_device_number>
///
/// # Errors
/// The answer is cut short, or the device is no disk.
pub fn disk_number(returned: &[u8]) -> Result<Option<u32>, AnswerError> {
    const FILE_DEVICE_DISK: u32 = 7;
    const NO_NUMBER: u32 = u32::MAX;
    let structure = "STORAGE_DEVICE_NUMBER";
    let field = |at| u32_le(returned, at).ok_or(AnswerError::cut(structure, returned));
    let (kind, number, _partition) = (field(0)?, field(4)?, field(8)?);
    match kind {
        FILE_DEVICE_DISK => Ok((number != NO_NUMBER).then_some(number)),
        other => Err(AnswerError::Field {
            structure,
            field: "DeviceType",
            value: other.into(),
        }),
    }
}

/// A `SCSI_ADDRESS`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ScsiAddress {
    /// `PortNumber`.
    pub port: u8,
    /// `PathId`.
    pub path: u8,
    /// `TargetId`.
    pub target: u8,
    /// `Lun`.
    pub lun: u8,
}

impl ScsiAddress {
    /// Reads an answer to `IOCTL_SCSI_GET_ADDRESS`.
    ///
    /// <https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddscsi/ns-ntddscsi-_scsi_address>
    ///
    /// # Errors
    /// The answer is cut short.
    pub fn parse(returned: &[u8]) -> Result<Self, AnswerError> {
        let fields = array::<4>(returned, 4);
        let [port, path, target, lun] = fields.ok_or(AnswerError::cut("SCSI_ADDRESS", returned))?;
        Ok(Self {
            port,
            path,
            target,
            lun,
        })
    }
}

/// A `GET_DISK_ATTRIBUTES`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DiskAttributes {
    /// `DISK_ATTRIBUTE_OFFLINE`.
    pub offline: bool,
    /// `DISK_ATTRIBUTE_READ_ONLY`.
    pub read_only: bool,
}

impl DiskAttributes {
    /// Reads the attributes; ignores bits without a name.
    ///
    /// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-get_disk_attributes>
    ///
    /// # Errors
    /// The answer is cut short.
    pub fn parse(returned: &[u8]) -> Result<Self, AnswerError> {
        let bits = u64_le(returned, 8);
        let bits = bits.ok_or(AnswerError::cut("GET_DISK_ATTRIBUTES", returned))?;
        Ok(Self {
            offline: bits & 1 != 0,
            read_only: bits & u64::from(READ_ONLY) != 0,
        })
    }
}

/// `DISK_ATTRIBUTE_READ_ONLY`.
const READ_ONLY: u8 = 2;

/// `TRUE` of `Persist`.
const PERSIST: u8 = 1;

/// A `SET_DISK_ATTRIBUTES` that clears `DISK_ATTRIBUTE_READ_ONLY`, and changes nothing else. It persists, as
/// [`set_read_only`] does: a disk for readers must not become writable at a restart.
///
/// `Version` is the length of the structure, as in programs that run on Windows (cloudbase/wnbd's tests, which fail
/// if the call fails). The structure's page has `sizeof(GET_DISK_ATTRIBUTES)`, which is 16.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes>
#[must_use]
pub fn clear_read_only() -> [u8; 40] {
    const LENGTH: u8 = 40;
    let mut request = [0; LENGTH as usize];
    request[0] = LENGTH;
    request[4] = PERSIST;
    request[16] = READ_ONLY;
    request
}

/// The same, without persistence.
#[must_use]
pub fn clear_read_only_until_restart() -> [u8; 40] {
    let mut request = clear_read_only();
    request[4] = 0;
    request
}

/// Sets the attribute; otherwise as [`clear_read_only`].
#[must_use]
pub fn set_read_only() -> [u8; 40] {
    let mut request = clear_read_only();
    request[8] = READ_ONLY;
    request
}

/// A `DISK_GROW_PARTITION`; `None` for more bytes than the structure can hold: Windows would read a
/// negative number, which shrinks the partition.
///
/// <https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_grow_partition>
pub fn grow_partition(partition: u32, by: u64) -> Option<[u8; 16]> {
    let by = i64::try_from(by).ok()?;
    let mut request = [0; 16];
    request[..4].copy_from_slice(&partition.to_le_bytes());
    request[8..].copy_from_slice(&by.to_le_bytes());
    Some(request)
}

/// A `LARGE_INTEGER` with a number of bytes.
fn unsigned(structure: &'static str, field: &'static str, bits: u64) -> Result<u64, AnswerError> {
    if bits > i64::MAX.cast_unsigned() {
        return Err(AnswerError::Field {
            structure,
            field,
            value: bits,
        });
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn a_length_is_positive() {
        assert_eq!(disk_length(&words(&[0, 1])), Ok(1 << 32));
        assert!(disk_length(&words(&[0, 0x8000_0000])).is_err());
        assert!(disk_length(&words(&[0])).is_err());
    }

    #[test]
    fn sectors_have_one_of_two_lengths() {
        let geometry = |size| words(&[1, 0, 12, 255, 63, size]);
        assert_eq!(bytes_per_sector(&geometry(512)), Ok(512));
        assert_eq!(bytes_per_sector(&geometry(4096)), Ok(4096));
        assert!(bytes_per_sector(&geometry(0)).is_err());
        assert!(bytes_per_sector(&geometry(520)).is_err());
        assert!(bytes_per_sector(&geometry(512)[..23]).is_err());
    }

    #[test]
    fn only_disks_have_disk_numbers() {
        let all_ones = u32::MAX;
        assert_eq!(disk_number(&words(&[7, 3, 0])), Ok(Some(3)));
        assert_eq!(disk_number(&words(&[7, all_ones, all_ones])), Ok(None));
        assert!(disk_number(&words(&[2, 0, all_ones])).is_err());
        assert!(disk_number(&words(&[7, 3])).is_err());
    }

    #[test]
    fn an_address_and_attributes_are_read_whole() {
        let address = ScsiAddress::parse(&[8, 0, 0, 0, 1, 2, 3, 4]).unwrap();
        let expected = ScsiAddress {
            port: 1,
            path: 2,
            target: 3,
            lun: 4,
        };
        assert_eq!(address, expected);
        assert!(ScsiAddress::parse(&[8, 0, 0, 0, 1, 2, 3]).is_err());
        let read = DiskAttributes::parse(&words(&[16, 0, 0xFFFF_FFFE, 0])).unwrap();
        assert!(read.read_only && !read.offline);
        assert!(DiskAttributes::parse(&words(&[16, 0, 1])).is_err());
    }

    #[test]
    fn read_only_alone_is_set_and_cleared_and_outlives_a_restart() {
        // Version, Persist, Attributes, AttributesMask, Reserved2.
        let cleared = words(&[40, 1, 0, 0, 2, 0, 0, 0, 0, 0]);
        let set = words(&[40, 1, 2, 0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(clear_read_only().to_vec(), cleared);
        assert_eq!(set_read_only().to_vec(), set);
        let until_restart = words(&[40, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(clear_read_only_until_restart().to_vec(), until_restart);
    }

    #[test]
    fn growth_is_never_negative() {
        let grown = grow_partition(2, 0x1_0000_0000).unwrap();
        assert_eq!(grown.to_vec(), words(&[2, 0, 0, 1]));
        assert_eq!(grow_partition(2, 1 << 63), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = bytes_per_sector(&bytes);
            let _ = disk_length(&bytes);
            let _ = disk_number(&bytes);
            let _ = DiskAttributes::parse(&bytes);
            let _ = ScsiAddress::parse(&bytes);
        }
    }
}
