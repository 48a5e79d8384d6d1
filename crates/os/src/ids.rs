use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The number Windows gives a disk until the next reboot: `0` is `\\.\PhysicalDrive0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiskNumber(pub u32);

impl fmt::Display for DiskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a partition on its disk, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionNumber(pub u32);

impl fmt::Display for PartitionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A volume's GUID path, `\\?\Volume{xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx}\`.
///
/// Prints in Windows's form: lower-case digits and a trailing backslash, which
/// `SetVolumeMountPointW` requires. Source:
/// <https://learn.microsoft.com/windows/win32/fileio/naming-a-volume>.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VolumeId(pub Uuid);

impl VolumeId {
    const PREFIX: &'static str = r"\\?\Volume{";

    /// The path without the trailing backslash: the volume as a device, for `CreateFileW`.
    #[must_use]
    pub fn device_path(&self) -> String {
        format!("{}{}}}", Self::PREFIX, self.0)
    }
}

impl fmt::Display for VolumeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}}}\\", Self::PREFIX, self.0)
    }
}

impl FromStr for VolumeId {
    type Err = ParseVolumeIdError;

    /// Reads the GUID path, with or without its trailing backslash.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseVolumeIdError(text.to_owned());
        let bare = text.strip_suffix('\\').unwrap_or(text);
        let (prefix, rest) = bare
            .split_at_checked(Self::PREFIX.len())
            .ok_or_else(refused)?;
        let guid = rest.strip_suffix('}').ok_or_else(refused)?;
        if !prefix.eq_ignore_ascii_case(Self::PREFIX) || guid.len() != 36 {
            return Err(refused());
        }
        guid.parse().map(Self).map_err(|_| refused())
    }
}

/// The text is not a volume GUID path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(r"{0:?} is not a volume id of the form \\?\Volume{{GUID}}\")]
pub struct ParseVolumeIdError(pub String);

#[cfg(test)]
mod tests {
    use super::VolumeId;

    const ID: &str = r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\";

    #[test]
    fn volume_ids_print_as_windows_does() {
        let id: VolumeId = ID
            .to_uppercase()
            .replace("VOLUME", "Volume")
            .parse()
            .unwrap();
        assert_eq!(id.to_string(), ID);
        assert_eq!(ID.trim_end_matches('\\').parse(), Ok(id));
        assert_eq!(format!("{}\\", id.device_path()), ID);
    }

    #[test]
    fn what_is_not_a_guid_path_is_refused() {
        for text in [
            "",
            r"\",
            "1",
            r"C:\",
            r"\\?\Volume{}\",
            r"\\?\Volume{6f1c2d3e}\",
            r"\\?\Volume{6f1c2d3e0a4b4c5d8e6f7a8b9c0d1e2f}\",
            r"Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\",
            r"\\?\Volume{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}\x",
            "\\\\?\\Volum\u{e9}{6f1c2d3e-0a4b-4c5d-8e6f-7a8b9c0d1e2f}",
        ] {
            assert!(text.parse::<VolumeId>().is_err(), "{text:?}");
        }
    }
}
