//! Partition types that Windows knows by their GUID.
//!
//! <https://learn.microsoft.com/en-us/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt>

use uuid::{Uuid, uuid};

/// A volume with a filesystem.
pub const BASIC_DATA: Uuid = uuid!("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7");
/// The EFI system partition.
pub const EFI_SYSTEM: Uuid = uuid!("c12a7328-f81f-11d2-ba4b-00a0c93ec93b");
/// Data of a dynamic disk.
pub const LDM_DATA: Uuid = uuid!("af9b60a0-1431-4f62-bc68-3311714a69ad");
/// The database of a dynamic disk.
pub const LDM_METADATA: Uuid = uuid!("5808c8aa-7e8f-42e0-85d2-e1e90434cfb3");
/// Space that Windows keeps for itself when it initialises a disk.
pub const MICROSOFT_RESERVED: Uuid = uuid!("e3c9e316-0b5c-4db8-817d-f92df00215ae");
/// Windows Recovery Environment.
pub const RECOVERY: Uuid = uuid!("de94bba4-06d1-4d40-a16a-bfd50179d6ac");
/// A member of a Storage Spaces pool; named in
/// <https://github.com/util-linux/util-linux/blob/master/include/pt-gpt-partnames.h>.
pub const STORAGE_SPACES: Uuid = uuid!("e75caf8f-f680-4cee-afa3-b001e56efc2d");
/// Data of Storage Spaces: `PARTITION_SPACES_DATA_GUID` of the Windows SDK's `winioctl.h`.
pub const STORAGE_SPACES_DATA: Uuid = uuid!("e7addcb4-dc34-4539-9a76-ebbd07be6f7e");
