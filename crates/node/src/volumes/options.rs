//! Options of a new filesystem.

use std::fmt;
use std::str::FromStr;

use os::Dacl;

/// A filesystem that volumes are formatted with: a driver's `fsType`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileSystemType {
    /// NTFS.
    #[default]
    Ntfs,
    /// ReFS; not every edition of Windows can format it.
    Refs,
}

impl FileSystemType {
    /// As Windows spells it: `NTFS`, `ReFS`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ntfs => "NTFS",
            Self::Refs => "ReFS",
        }
    }
}

impl fmt::Display for FileSystemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses `ntfs` or `refs`, in any case. There is no default for other names: a driver that takes
/// `ext4` for NTFS surprises its user later.
impl FromStr for FileSystemType {
    type Err = FormatOptionsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Ntfs, Self::Refs]
            .into_iter()
            .find(|known| known.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| FormatOptionsError::FileSystem {
                text: text.to_owned(),
            })
    }
}

/// The allocation unit (cluster) of a filesystem.
///
/// For NTFS a power of two from 512 bytes to 2 MiB, for ReFS 4 or 64 KiB. NTFS takes more than 64 KiB
/// from Windows Server 2019 on, and compresses nothing above 4 KiB. A disk with larger sectors refuses
/// units smaller than those.
///
/// Sources: <https://learn.microsoft.com/windows-server/storage/file-server/ntfs-overview>,
/// <https://learn.microsoft.com/windows-server/storage/refs/refs-overview>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AllocationUnit(u32);

impl AllocationUnit {
    /// A unit of `bytes` bytes, for this filesystem.
    ///
    /// # Errors
    /// The filesystem has no such unit.
    pub fn of(file_system: FileSystemType, bytes: u32) -> Result<Self, FormatOptionsError> {
        let is_valid = match file_system {
            FileSystemType::Ntfs => bytes.is_power_of_two() && (512..=2 << 20).contains(&bytes),
            FileSystemType::Refs => matches!(bytes, 0x1000 | 0x1_0000),
        };
        if !is_valid {
            return Err(FormatOptionsError::AllocationUnit { file_system, bytes });
        }
        Ok(Self(bytes))
    }

    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.0
    }
}

/// Options of a new filesystem: its type and, to override Windows's defaults, its allocation unit,
/// label, and the access control list of its root directory.
///
/// ```
/// use wincsi_node::FileSystemType;
/// use wincsi_node::FormatOptions;
///
/// let options = FormatOptions::new(FileSystemType::Ntfs)
///     .allocation_unit(64 << 10)?
///     .label("sql data")?
///     .root_dacl("D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)".parse()?);
/// assert!(FormatOptions::new(FileSystemType::Refs).allocation_unit(512).is_err());
/// # assert_ne!(options, FormatOptions::default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatOptions {
    pub(super) file_system: FileSystemType,
    pub(super) allocation_unit: Option<AllocationUnit>,
    pub(super) label: String,
    pub(super) root_dacl: Option<Dacl>,
}

impl FormatOptions {
    /// This filesystem, with Windows's defaults.
    #[must_use]
    pub fn new(file_system: FileSystemType) -> Self {
        Self {
            file_system,
            ..Self::default()
        }
    }

    /// Sets the allocation unit in bytes.
    ///
    /// # Errors
    /// The filesystem has no such unit.
    pub fn allocation_unit(self, bytes: u32) -> Result<Self, FormatOptionsError> {
        Ok(Self {
            allocation_unit: Some(AllocationUnit::of(self.file_system, bytes)?),
            ..self
        })
    }

    /// Sets the label: up to 32 UTF-16 units without control characters. The page with that length
    /// has no other for ReFS.
    ///
    /// Source: <https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumelabelw>.
    ///
    /// # Errors
    /// The label is longer, has a control character, or is [`FormatOptions::UNFINISHED`].
    pub fn label(self, label: &str) -> Result<Self, FormatOptionsError> {
        let units = label.encode_utf16().count();
        let is_taken = label.eq_ignore_ascii_case(Self::UNFINISHED);
        if units > LONGEST_LABEL || is_taken || label.chars().any(char::is_control) {
            return Err(FormatOptionsError::Label {
                label: label.to_owned(),
            });
        }
        let label = label.to_owned();
        Ok(Self { label, ..self })
    }

    /// Sets the access control list of the volume's root directory.
    #[must_use]
    pub fn root_dacl(self, dacl: Dacl) -> Self {
        Self {
            root_dacl: Some(dacl),
            ..self
        }
    }

    /// The filesystem.
    #[must_use]
    pub fn file_system(&self) -> FileSystemType {
        self.file_system
    }

    /// The label of a volume between its format and the access control list of its root directory. The format
    /// writes it with the filesystem, in one step, and a later call that finds it goes on from there. So a list is
    /// set only on volumes that were formatted for it, however often the process dies.
    pub const UNFINISHED: &str = "wincsi: not finished";

    /// The first label of a new filesystem.
    pub(super) fn first_label(&self) -> &str {
        match self.root_dacl {
            Some(_) => Self::UNFINISHED,
            None => &self.label,
        }
    }
}

const LONGEST_LABEL: usize = 32;

/// An invalid option of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum FormatOptionsError {
    /// The filesystem has no such allocation unit.
    #[error("{file_system} has no allocation unit of {bytes} bytes")]
    AllocationUnit {
        file_system: FileSystemType,
        /// The requested unit in bytes.
        bytes: u32,
    },
    /// This library does not format such a filesystem.
    #[error("{text:?} is no filesystem to format with: ntfs or refs")]
    FileSystem { text: String },
    /// No volume can have this label.
    #[error("{label:?} is no label of a volume")]
    Label { label: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filesystem_is_one_of_two_in_any_case() {
        for (text, wanted) in [
            ("ntfs", FileSystemType::Ntfs),
            ("ReFS", FileSystemType::Refs),
        ] {
            assert_eq!(text.parse(), Ok(wanted));
        }
        for text in ["", "ext4", "fat32", "ntfs "] {
            let refused = text.parse::<FileSystemType>();
            assert!(
                matches!(refused, Err(FormatOptionsError::FileSystem { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn each_filesystem_has_its_own_allocation_units() {
        let takes = |file_system| {
            let sizes = (0..=32).map(|exponent: u32| 1_u32.checked_shl(exponent).unwrap_or(0));
            let valid = sizes.filter(|size| AllocationUnit::of(file_system, *size).is_ok());
            valid.collect::<Vec<_>>()
        };
        let ntfs: Vec<_> = (9..=21).map(|exponent| 1 << exponent).collect();
        assert_eq!(takes(FileSystemType::Ntfs), ntfs);
        assert_eq!(takes(FileSystemType::Refs), [4096, 65536]);
        for odd in [0, 4095, 4097, 3 << 12] {
            assert!(
                AllocationUnit::of(FileSystemType::Ntfs, odd).is_err(),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_label_is_as_long_as_windows_takes_it() {
        let options = FormatOptions::default();
        for label in ["", "sql data", &"x".repeat(32), &"\u{1F4BE}".repeat(16)] {
            assert_eq!(options.clone().label(label).unwrap().label, label);
        }
        let long = "x".repeat(33);
        let emoji = "\u{1F4BE}".repeat(17);
        for label in [&long, &emoji, "a\tb", "a\0", FormatOptions::UNFINISHED] {
            assert!(options.clone().label(label).is_err(), "{label:?}");
        }
    }
}
