//! The table of known formats: magic numbers, offsets, and who published them.

use super::boot::{self, BITLOCKER_ID, BITLOCKER_TO_GO, MARK, OEM_NAME};
use super::{Extent, Signature, View};
use crate::bytes::wide;

/// One mark of one format.
pub(super) struct Rule {
    pub(super) signature: Signature,
    /// Where the magic number may stand.
    place: MagicOffsets,
    magic: &'static [u8],
    /// A further check, given the offset of the magic number.
    check: fn(&View, u64) -> bool,
}

/// Byte offsets in an object.
enum MagicOffsets {
    /// From its start.
    Start(&'static [u64]),
    /// Back from its end.
    End(&'static [u64]),
    /// Computed from its size.
    Computed(fn(Extent) -> Vec<u64>),
    /// The start of every 512 bytes that were read.
    EverySector,
}

impl Rule {
    /// Offset of the first place at which this rule holds.
    pub(super) fn first_match(&self, view: &View) -> Option<u64> {
        let length = view.extent().length();
        match self.place {
            MagicOffsets::Start(offsets) => self.first_of(view, offsets.iter().copied()),
            MagicOffsets::End(back) => self.first_of(
                view,
                back.iter().filter_map(|back| length.checked_sub(*back)),
            ),
            MagicOffsets::Computed(offsets) => self.first_of(view, offsets(view.extent())),
            MagicOffsets::EverySector => self.first_sector(view),
        }
    }

    fn first_of(&self, view: &View, offsets: impl IntoIterator<Item = u64>) -> Option<u64> {
        offsets.into_iter().find(|offset| {
            view.bytes(*offset, self.magic.len()) == Some(self.magic) && (self.check)(view, *offset)
        })
    }

    fn first_sector(&self, view: &View) -> Option<u64> {
        view.spans().find_map(|(start, bytes)| {
            bytes
                .chunks(512)
                .zip((start..).step_by(512))
                .find(|(sector, at)| sector.starts_with(self.magic) && (self.check)(view, *at))
                .map(|(_, at)| at)
        })
    }

    const fn also(mut self, check: fn(&View, u64) -> bool) -> Self {
        self.check = check;
        self
    }
}

const fn at(signature: Signature, offsets: &'static [u64], magic: &'static [u8]) -> Rule {
    Rule {
        signature,
        place: MagicOffsets::Start(offsets),
        magic,
        check: always,
    }
}

const fn before_end(signature: Signature, back: &'static [u64], magic: &'static [u8]) -> Rule {
    Rule {
        signature,
        place: MagicOffsets::End(back),
        magic,
        check: always,
    }
}

const fn computed(
    signature: Signature,
    offsets: fn(Extent) -> Vec<u64>,
    magic: &'static [u8],
) -> Rule {
    Rule {
        signature,
        place: MagicOffsets::Computed(offsets),
        magic,
        check: always,
    }
}

const fn every_sector(signature: Signature, magic: &'static [u8]) -> Rule {
    Rule {
        signature,
        place: MagicOffsets::EverySector,
        magic,
        check: always,
    }
}

fn always(_: &View, _: u64) -> bool {
    true
}

/// Every rule. Each group names where its layout is published.
///
/// libblkid stands for <https://github.com/util-linux/util-linux/tree/master/libblkid/src/superblocks>.
pub(super) const RULES: &[Rule] = &[
    // UEFI 2.10, 5.2 and 5.3: https://uefi.org/specs/UEFI/2.10/05_GUID_Partition_Table_Format.html
    at(Signature::ProtectiveMbr, &[MARK], b"\x55\xaa").also(boot::is_protective_mbr),
    at(Signature::Mbr, &[MARK], b"\x55\xaa").also(boot::is_plain_mbr),
    at(Signature::Gpt, &[512, 1024, 2048, 4096], b"EFI PART"),
    before_end(Signature::GptBackup, &[512, 1024, 2048, 4096], b"EFI PART"),
    // https://learn.microsoft.com/en-us/windows/win32/fileio/file-system-recognition-structure
    // The backup boot sector of NTFS is the partition's last sector:
    // https://learn.microsoft.com/en-us/previous-versions/windows/it-pro/windows-server-2003/cc781134(v=ws.10)
    at(Signature::Ntfs, &[OEM_NAME], b"NTFS    "),
    before_end(Signature::Ntfs, &[512 - 3, 4096 - 3], b"NTFS    "),
    at(Signature::ReFs, &[OEM_NAME], b"ReFS\0\0\0\0"),
    before_end(Signature::ReFs, &[512 - 3, 4096 - 3], b"ReFS\0\0\0\0").also(has_recognition_mark),
    // https://learn.microsoft.com/en-us/windows/win32/fileio/exfat-specification (3.1, 3.2: the
    // backup boot region begins at sector 12)
    at(
        Signature::ExFat,
        &[OEM_NAME, 12 * 512 + 3, 12 * 4096 + 3],
        b"EXFAT   ",
    ),
    // Microsoft, FAT32 File System Specification 1.03: a boot sector begins with a jump, and
    // FAT32 keeps a copy of it in sector 6.
    at(Signature::Fat, &[0, 6 * 512, 6 * 4096], b"\xeb").also(boot::is_fat),
    at(Signature::Fat, &[0, 6 * 512, 6 * 4096], b"\xe9").also(boot::is_fat),
    // https://github.com/libyal/libbde/blob/main/documentation/BitLocker%20Drive%20Encryption%20(BDE)%20format.asciidoc
    at(Signature::BitLocker, &[OEM_NAME], b"-FVE-FS-"),
    at(Signature::BitLocker, &[160, BITLOCKER_TO_GO], BITLOCKER_ID),
    every_sector(Signature::BitLocker, b"-FVE-FS-"),
    // https://flatcap.github.io/linux-ntfs/ldm/technical/index.html and the kernel's
    // block/partitions/ldm.h: PRIVHEAD stands in sector 6 and twice in the database, TOCBLOCK four
    // times in the database.
    every_sector(Signature::Ldm, b"PRIVHEAD"),
    every_sector(Signature::Ldm, b"TOCBLOCK"),
    // Partition types 5808C8AA-7E8F-42E0-85D2-E1E90434CFB3, AF9B60A0-1431-4F62-BC68-3311714A69AD:
    // https://learn.microsoft.com/en-us/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt
    // and E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D:
    // https://github.com/util-linux/util-linux/blob/master/include/pt-gpt-partnames.h
    computed(
        Signature::Ldm,
        gpt_entries,
        b"\xaa\xc8\x08\x58\x8f\x7e\xe0\x42\x85\xd2\xe1\xe9\x04\x34\xcf\xb3",
    ),
    computed(
        Signature::Ldm,
        gpt_entries,
        b"\xa0\x60\x9b\xaf\x31\x14\x62\x4f\xbc\x68\x33\x11\x71\x4a\x69\xad",
    ),
    computed(
        Signature::StorageSpaces,
        gpt_entries,
        b"\x8f\xaf\x5c\xe7\x80\xf6\xee\x4c\xaf\xa3\xb0\x01\xe5\x6e\xfc\x2d",
    ),
    // The pool's partition begins with this header, which Microsoft does not document; found by
    // others in pools of their own: https://github.com/gus33000/StorageSpace
    every_sector(Signature::StorageSpaces, b"SPACEDB "),
    // https://docs.kernel.org/filesystems/ext4/super.html: s_magic at 0x38 of the superblock
    at(Signature::Ext, &[1024 + 0x38], b"\x53\xef"),
    // https://git.kernel.org/pub/scm/fs/xfs/xfs-documentation.git: sb_magicnum
    at(Signature::Xfs, &[0], b"XFSB"),
    // https://btrfs.readthedocs.io/en/latest/dev/On-disk-format.html#superblock
    at(Signature::Btrfs, &[0x1_0040], b"_BHRfS_M"),
    // https://docs.kernel.org/filesystems/f2fs.html: two superblocks, at 1 KiB and 4 KiB beyond
    at(Signature::F2fs, &[1024, 4096 + 1024], b"\x10\x20\xf5\xf2"),
    // https://gitlab.com/cryptsetup/LUKS2-docs and
    // https://gitlab.com/cryptsetup/cryptsetup/-/wikis/LUKS-standard/on-disk-format.pdf
    at(Signature::Luks1, &[0], b"LUKS\xba\xbe\0\x01"),
    at(Signature::Luks2, &[0], b"LUKS\xba\xbe").also(is_not_luks1),
    at(
        Signature::Luks2,
        &[
            0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000,
        ],
        b"SKUL\xba\xbe",
    ),
    // https://github.com/lvmteam/lvm2/blob/main/lib/format_text/layout.h: one of four sectors
    at(Signature::Lvm2, &[0, 512, 1024, 1536], b"LABELONE"),
    // http://www.giis.co.in/Zfs_ondiskformat.pdf, 1.2 and 1.3: four labels, each with a ring of
    // uberblocks in the byte order of the host that wrote it
    computed(Signature::Zfs, zfs_uberblocks, b"\x0c\xb1\xba\0\0\0\0\0"),
    computed(Signature::Zfs, zfs_uberblocks, b"\0\0\0\0\0\xba\xb1\x0c"),
    // https://github.com/torvalds/linux/blob/master/drivers/md/bcache/bcache_ondisk.h
    at(
        Signature::Bcache,
        &[4096 + 24],
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    // libblkid bcache.c
    at(
        Signature::Bcachefs,
        &[4096 + 24],
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    // https://github.com/torvalds/linux/blob/master/include/linux/swap.h: the last ten bytes of
    // the first page; the other marks are those of a hibernated system (libblkid swap.c)
    at(Signature::Swap, PAGE_ENDS, b"SWAPSPACE2"),
    at(Signature::Swap, PAGE_ENDS, b"SWAP-SPACE"),
    at(Signature::Swap, PAGE_ENDS, b"S1SUSPEND"),
    at(Signature::Swap, PAGE_ENDS, b"S2SUSPEND"),
    at(Signature::Swap, PAGE_ENDS, b"ULSUSPEND"),
    at(Signature::Swap, PAGE_ENDS, b"LINHIB0001"),
    // https://github.com/glandium/vmfs-tools: volume at 1 MiB, filesystem 1 MiB into the volume
    at(Signature::Vmfs, &[0x10_0000], b"\x0d\xd0\x01\xc0"),
    at(Signature::Vmfs, &[0x20_0000], b"\x5e\xf1\xab\x2f"),
    // https://docs.ceph.com/en/latest/man/8/ceph-bluestore-tool/ and libblkid bluestore.c
    at(Signature::CephBlueStore, &[0], b"bluestore block device"),
    // https://raid.wiki.kernel.org/index.php/RAID_superblock_formats; 0.90 is in host byte order
    computed(Signature::LinuxMd090, md_090, b"\xfc\x4e\x2b\xa9"),
    computed(Signature::LinuxMd090, md_090, b"\xa9\x2b\x4e\xfc"),
    computed(Signature::LinuxMd10, md_10, b"\xfc\x4e\x2b\xa9"),
    at(Signature::LinuxMd11, &[0], b"\xfc\x4e\x2b\xa9"),
    at(Signature::LinuxMd12, &[4096], b"\xfc\x4e\x2b\xa9"),
    // libblkid drbd.c: the metadata block fills the last 4 KiB; versions 8, 8.4 unclean and 9
    before_end(Signature::Drbd, &[4096 - 60], b"\x83\x74\x02\x6b"),
    before_end(Signature::Drbd, &[4096 - 60], b"\x83\x74\x02\x6c"),
    before_end(Signature::Drbd, &[4096 - 60], b"\x83\x74\x02\x6d"),
    // https://stratis-storage.github.io/StratisSoftwareDesign.pdf: two copies
    at(
        Signature::Stratis,
        &[512 + 4, 9 * 512 + 4],
        b"!Stra0tis\x86\xff\x02^\x41rh",
    ),
    // https://github.com/torvalds/linux/blob/master/drivers/md/dm-vdo/encodings.c
    at(Signature::Vdo, &[0], b"dmvdo001"),
    // kfdhdb.driver.provstr in the dumps of Oracle's kfed, and libblkid superblocks.c
    at(Signature::OracleAsm, &[32], b"ORCLDISK"),
    // https://github.com/torvalds/linux/blob/master/include/uapi/linux/gfs2_ondisk.h
    at(Signature::Gfs2, &[0x1_0000], b"\x01\x16\x19\x70"),
    // https://github.com/torvalds/linux/blob/master/fs/ocfs2/ocfs2_fs.h: block 2 of any block size
    at(Signature::Ocfs2, &[1024, 2048, 4096, 8192], b"OCFSV2"),
    // https://docs.kernel.org/filesystems/nilfs2.html, include/uapi/linux/nilfs2_ondisk.h
    at(Signature::Nilfs2, &[1024 + 6], b"\x34\x34").also(is_nilfs_revision),
    // https://reiser4.wiki.kernel.org/index.php/Reiserfs_superblock (also "ReIsEr2Fs", "ReIsEr3Fs")
    at(
        Signature::ReiserFs,
        &[0x1_0034, 0x1_0000, 0x2034],
        b"ReIsEr",
    ),
    // https://github.com/torvalds/linux/blob/master/fs/jfs/jfs_superblock.h
    at(Signature::Jfs, &[0x8000], b"JFS1"),
    // https://developer.apple.com/library/archive/technotes/tn/tn1150.html: also 1 KiB before the end
    at(Signature::HfsPlus, &[1024], b"H+\0\x04"),
    at(Signature::HfsPlus, &[1024], b"HX\0\x05"),
    before_end(Signature::HfsPlus, &[1024], b"H+\0\x04"),
    before_end(Signature::HfsPlus, &[1024], b"HX\0\x05"),
    // https://developer.apple.com/support/downloads/Apple-File-System-Reference.pdf: nx_magic
    at(Signature::Apfs, &[32], b"NXSB"),
    // https://ecma-international.org/publications-and-standards/standards/ecma-119/ and ecma-167:
    // volume descriptors from sector 16 on, 2048 bytes each
    at(Signature::Iso9660, &[0x8001], b"CD001"),
    at(Signature::Udf, DESCRIPTORS, b"NSR02"),
    at(Signature::Udf, DESCRIPTORS, b"NSR03"),
    // https://docs.kernel.org/filesystems/squashfs.html
    at(Signature::Squashfs, &[0], b"hsqs"),
    at(Signature::Squashfs, &[0], b"sqsh"),
    // https://docs.kernel.org/filesystems/erofs.html, fs/erofs/erofs_fs.h
    at(Signature::Erofs, &[1024], b"\xe2\xe1\xf5\xe0"),
];

/// Ten bytes before the end of a first page of 4, 8, 16, 32 and 64 KiB.
const PAGE_ENDS: &[u64] = &[0x0ff6, 0x1ff6, 0x3ff6, 0x7ff6, 0xfff6];

/// Where UDF's sequence descriptors carry their names, for sectors of 2 KiB and 4 KiB.
const DESCRIPTORS: &[u64] = &[
    0x8001, 0x8801, 0x9001, 0x9801, 0xa001, 0xa801, 0xb001, 0xb801, 0xc001, 0xc801, 0xd001, 0xd801,
];

/// Places where a partition entry of a GPT may begin: the first 32 KiB and the last 64 KiB hold
/// both tables of 128 entries, whatever the sector size.
fn gpt_entries(extent: Extent) -> Vec<u64> {
    let length = extent.length();
    let backup = length.saturating_sub(64 << 10);
    (1024..(32 << 10).min(length))
        .chain(backup..length)
        .step_by(128)
        .collect()
}

/// Every slot of the uberblock rings of the four labels.
fn zfs_uberblocks(extent: Extent) -> Vec<u64> {
    const LABEL: u64 = 256 << 10;
    const RING: u64 = 128 << 10;
    let end = extent.length() / LABEL * LABEL;
    [
        0,
        LABEL,
        end.saturating_sub(2 * LABEL),
        end.saturating_sub(LABEL),
    ]
    .iter()
    .flat_map(|label| (label + RING..label + LABEL).step_by(1024))
    .collect()
}

/// 64 KiB before the end, rounded down to 64 KiB.
fn md_090(extent: Extent) -> Vec<u64> {
    const RESERVED: u64 = 64 << 10;
    (extent.length() / RESERVED * RESERVED)
        .checked_sub(RESERVED)
        .into_iter()
        .collect()
}

/// 8 KiB before the end, rounded down to 4 KiB.
fn md_10(extent: Extent) -> Vec<u64> {
    extent
        .length()
        .checked_sub(8 << 10)
        .map(|at| at / 4096 * 4096)
        .into_iter()
        .collect()
}

fn has_recognition_mark(view: &View, name: u64) -> bool {
    view.bytes(name + 13, 4) == Some(b"FSRS")
}

fn is_not_luks1(view: &View, magic: u64) -> bool {
    view.bytes(magic + 6, 2) != Some(b"\0\x01")
}

/// Two bytes of magic are few: NILFS2's revision, 2.0, stands before them.
fn is_nilfs_revision(view: &View, magic: u64) -> bool {
    view.bytes(magic - wide(6), 6) == Some(b"\x02\0\0\0\0\0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::SectorSize;
    use crate::fixtures::{self, SparseImage};

    fn view(image: &SparseImage) -> View {
        image
            .view(SectorSize::B512)
            .expect("fixtures are whole sectors")
    }

    #[test]
    fn every_rule_holds_for_some_fixture_of_its_signature() {
        let fixtures: Vec<_> = fixtures::all()
            .iter()
            .map(|each| (each.signature, view(&each.image)))
            .collect();
        let shown = |rule: &Rule| {
            let own = fixtures
                .iter()
                .filter(|(signature, _)| *signature == rule.signature);
            own.into_iter()
                .any(|(_, view)| rule.first_match(view).is_some())
        };
        let missing: Vec<_> = RULES
            .iter()
            .filter(|rule| !shown(rule))
            .map(|rule| format!("{} by {}", rule.signature, rule.magic.escape_ascii()))
            .collect();
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn every_place_is_within_what_is_read() {
        let view = view(&SparseImage::zeros(64 << 20));
        let length = view.extent().length();
        for rule in RULES {
            let places: Vec<_> = match rule.place {
                MagicOffsets::Start(offsets) => offsets.to_vec(),
                MagicOffsets::End(back) => back.iter().map(|back| length - back).collect(),
                MagicOffsets::Computed(offsets) => offsets(view.extent()),
                MagicOffsets::EverySector => Vec::new(),
            };
            for offset in places {
                let seen = view.bytes(offset, rule.magic.len()).is_some();
                assert!(seen, "{} at {offset} is never read", rule.signature);
            }
        }
    }
}
