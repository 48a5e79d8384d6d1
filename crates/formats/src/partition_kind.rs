//! Whose a partition is, by the type that its table gives it.

use std::fmt;

use uuid::{Uuid, uuid};

use crate::gpt::types;

/// A partition's type.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PartitionKind {
    /// On a GPT disk.
    Gpt(Uuid),
    /// On an MBR disk.
    Mbr(u8),
}

impl PartitionKind {
    /// Whether it is a type that Windows gives to partitions which it keeps files in: basic data, or
    /// one of its own filesystems.
    ///
    /// Source: <https://learn.microsoft.com/windows/win32/fileio/disk-partition-types>, and for the
    /// types 0x0B, 0x0C and 0x0E, which differ from theirs in how sectors are addressed, the table of
    /// util-linux.
    pub fn is_windows_data(self) -> bool {
        match self {
            Self::Gpt(kind) => kind == types::BASIC_DATA,
            Self::Mbr(kind) => matches!(kind, 0x01 | 0x04 | 0x06 | 0x07 | 0x0B | 0x0C | 0x0E),
        }
    }

    /// The name of the type, if known here.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Gpt(kind) => named(GPT, kind),
            Self::Mbr(kind) => named(MBR, kind),
        }
    }
}

/// `MBR type 0x8E (Linux LVM)`, `GPT type 0fc63daf-8483-4772-8e79-3d69d8477de4 (Linux filesystem)`.
impl fmt::Display for PartitionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gpt(kind) => write!(f, "GPT type {kind}")?,
            Self::Mbr(kind) => write!(f, "MBR type 0x{kind:02X}")?,
        }
        match self.name() {
            Some(name) => write!(f, " ({name})"),
            None => Ok(()),
        }
    }
}

fn named<T: PartialEq>(table: &[(T, &'static str)], kind: T) -> Option<&'static str> {
    let mut rows = table.iter();
    rows.find(|(known, _)| *known == kind)
        .map(|(_, name)| *name)
}

/// <https://github.com/util-linux/util-linux/blob/master/include/pt-mbr-partnames.h>; those of Storage Spaces are in
/// the Windows SDK's `winioctl.h`.
const MBR: &[(u8, &str)] = &[
    (0x05, "extended"),
    (0x0F, "extended"),
    (0x27, "Windows recovery"),
    (0x42, "dynamic disk"),
    (0x82, "Linux swap"),
    (0x83, "Linux"),
    (0x85, "Linux extended"),
    (0x8E, "Linux LVM"),
    (0xA5, "FreeBSD"),
    (0xA6, "OpenBSD"),
    (0xA9, "NetBSD"),
    (0xAF, "HFS or HFS+"),
    (0xBF, "Solaris"),
    (0xD7, "Storage Spaces data"),
    (0xE7, "Storage Spaces"),
    (0xEE, "GPT"),
    (0xEF, "EFI system"),
    (0xFB, "VMware VMFS"),
    (0xFD, "Linux RAID"),
];

/// <https://github.com/util-linux/util-linux/blob/master/include/pt-gpt-partnames.h>
const GPT: &[(Uuid, &str)] = &[
    (types::EFI_SYSTEM, "EFI system"),
    (types::MICROSOFT_RESERVED, "Microsoft reserved"),
    (types::RECOVERY, "Windows recovery"),
    (types::LDM_DATA, "dynamic disk"),
    (types::LDM_METADATA, "dynamic disk's database"),
    (types::STORAGE_SPACES, "Storage Spaces"),
    (types::STORAGE_SPACES_DATA, "Storage Spaces data"),
    (
        uuid!("0fc63daf-8483-4772-8e79-3d69d8477de4"),
        "Linux filesystem",
    ),
    (uuid!("0657fd6d-a4ab-43c4-84e5-0933c84b4f4f"), "Linux swap"),
    (uuid!("e6d6d379-f507-44c2-a23c-238f2a3df928"), "Linux LVM"),
    (uuid!("a19d880f-05fc-4d3b-a006-743f0f84911e"), "Linux RAID"),
    (uuid!("ca7d7ccb-63ed-4c53-861c-1742536059cc"), "LUKS"),
    (uuid!("4f68bce3-e8cd-4db1-96e7-fbcaf984b709"), "Linux root"),
    (uuid!("aa31e02a-400f-11db-9590-000c2911d1b8"), "VMware VMFS"),
    (uuid!("516e7cba-6ecf-11d6-8ff8-00022d09712b"), "FreeBSD ZFS"),
    (uuid!("6a898cc3-1dd2-11b2-99a6-080020736631"), "ZFS"),
    (uuid!("48465300-0000-11aa-aa11-00306543ecac"), "Apple HFS+"),
    (uuid!("7c3457ef-0000-11aa-aa11-00306543ecac"), "Apple APFS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_windows_s_own_or_says_whose_it_is() {
        for own in [0x01, 0x04, 0x06, 0x07, 0x0B, 0x0C, 0x0E] {
            assert!(PartitionKind::Mbr(own).is_windows_data(), "{own:x}");
        }
        assert!(PartitionKind::Gpt(types::BASIC_DATA).is_windows_data());
        let foreign = MBR.iter().map(|(kind, _)| PartitionKind::Mbr(*kind));
        let foreign = foreign.chain(GPT.iter().map(|(kind, _)| PartitionKind::Gpt(*kind)));
        for kind in foreign {
            assert!(!kind.is_windows_data(), "{kind}");
        }
    }

    #[test]
    fn a_kind_is_printed_with_its_name_where_it_has_one() {
        let lvm = PartitionKind::Mbr(0x8E);
        assert_eq!(lvm.to_string(), "MBR type 0x8E (Linux LVM)");
        assert_eq!(PartitionKind::Mbr(0).to_string(), "MBR type 0x00");
        let nil = PartitionKind::Gpt(Uuid::nil());
        assert_eq!(nil.to_string(), format!("GPT type {}", Uuid::nil()));
    }
}
