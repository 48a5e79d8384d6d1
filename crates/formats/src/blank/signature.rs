//! The formats that a scan knows by name.

use std::fmt;

macro_rules! signatures {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)+) => {
        /// A format that a scan knows by name. `Display` says it in plain words.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Signature {
            $($(#[$doc])* $variant,)+
        }

        impl Signature {
            /// Every signature, so that tests can show that none lacks a test image.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
        }

        impl fmt::Display for Signature {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $text,)+
                })
            }
        }
    };
}

signatures! {
    /// Apple File System container.
    Apfs => "APFS container",
    /// bcache backing or cache device.
    Bcache => "bcache device",
    /// bcachefs member.
    Bcachefs => "bcachefs filesystem",
    /// Volume encrypted by BitLocker.
    BitLocker => "BitLocker volume",
    /// Btrfs member device.
    Btrfs => "Btrfs filesystem",
    /// Ceph OSD with the BlueStore backend.
    CephBlueStore => "Ceph BlueStore device",
    /// DRBD with internal metadata.
    Drbd => "DRBD metadata",
    /// Enhanced Read-Only File System.
    Erofs => "EROFS filesystem",
    /// exFAT.
    ExFat => "exFAT filesystem",
    /// ext2, ext3 or ext4.
    Ext => "ext2, ext3 or ext4 filesystem",
    /// Flash-Friendly File System.
    F2fs => "F2FS filesystem",
    /// FAT12, FAT16 or FAT32.
    Fat => "FAT filesystem",
    /// GFS or GFS2 shared-disk filesystem.
    Gfs2 => "GFS2 filesystem",
    /// Primary header of a GUID partition table.
    Gpt => "GUID partition table",
    /// Backup header of a GUID partition table.
    GptBackup => "backup of a GUID partition table",
    /// HFS+ or HFSX.
    HfsPlus => "HFS+ filesystem",
    /// ISO 9660.
    Iso9660 => "ISO 9660 filesystem",
    /// IBM JFS.
    Jfs => "JFS filesystem",
    /// Dynamic disk of the Windows Logical Disk Manager.
    Ldm => "dynamic disk (LDM)",
    /// Member of a Linux software RAID, superblock version 0.90.
    LinuxMd090 => "Linux MD RAID member (0.90)",
    /// Member of a Linux software RAID, superblock version 1.0.
    LinuxMd10 => "Linux MD RAID member (1.0)",
    /// Member of a Linux software RAID, superblock version 1.1.
    LinuxMd11 => "Linux MD RAID member (1.1)",
    /// Member of a Linux software RAID, superblock version 1.2.
    LinuxMd12 => "Linux MD RAID member (1.2)",
    /// LUKS version 1.
    Luks1 => "LUKS1 encrypted volume",
    /// LUKS version 2 or later.
    Luks2 => "LUKS2 encrypted volume",
    /// LVM2 physical volume.
    Lvm2 => "LVM2 physical volume",
    /// Master boot record: a partition table, boot code, or its closing mark alone.
    Mbr => "master boot record",
    /// NILFS2.
    Nilfs2 => "NILFS2 filesystem",
    /// NTFS.
    Ntfs => "NTFS filesystem",
    /// Oracle Cluster File System 2.
    Ocfs2 => "OCFS2 filesystem",
    /// Oracle Automatic Storage Management.
    OracleAsm => "Oracle ASM disk",
    /// Master boot record whose partition table guards a GUID partition table.
    ProtectiveMbr => "protective master boot record",
    /// ReFS.
    ReFs => "ReFS filesystem",
    /// ReiserFS or Reiser4.
    ReiserFs => "ReiserFS filesystem",
    /// SquashFS.
    Squashfs => "SquashFS filesystem",
    /// Member of a Windows Storage Spaces pool.
    StorageSpaces => "Storage Spaces pool member",
    /// Member of a Stratis pool.
    Stratis => "Stratis pool member",
    /// Linux swap, or a hibernated system in it.
    Swap => "Linux swap area",
    /// Universal Disk Format.
    Udf => "UDF filesystem",
    /// Virtual Data Optimizer.
    Vdo => "VDO device",
    /// VMware VMFS.
    Vmfs => "VMFS volume",
    /// XFS.
    Xfs => "XFS filesystem",
    /// Member of a ZFS pool.
    Zfs => "ZFS pool member",
}
