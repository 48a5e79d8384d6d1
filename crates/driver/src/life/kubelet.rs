use wincsi::filesystem::{Component, Root};
use wincsi::{PathError, WinPath};

use crate::path::KubeletPath;

/// The drive of a path that kubelet wrote without one (`\var\lib\kubelet\...`).
const DRIVE: char = 'C';

/// The longest name and the longest path, in UTF-16 code units
/// (<https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation>).
pub(crate) const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 32_767 - r"\\?\".len();

/// Why a text is no path of kubelet's.
#[derive(Debug, thiserror::Error)]
pub enum KubeletPathError {
    #[error(transparent)]
    Form(#[from] PathError),
    /// It is a drive's root, or on a server or a volume without a drive letter: kubelet has no volume there.
    #[error("it is no folder of a drive")]
    NoFolder,
    #[error("it is too long")]
    TooLong,
}

/// A place where kubelet has a volume, which it writes with or without a drive.
pub(crate) fn kubelet_path(text: &str) -> Result<KubeletPath, KubeletPathError> {
    let path = WinPath::parse_on_drive(text, DRIVE)?;
    let has_long_name = path
        .components()
        .iter()
        .any(|name| utf16_length(&name.to_string()) > LONGEST_NAME);
    match path.root() {
        _ if has_long_name || utf16_length(&path.to_string()) > LONGEST_PATH => {
            Err(KubeletPathError::TooLong)
        }
        Root::Drive(_) if path.name().is_some() => Ok(path.into()),
        _ => Err(KubeletPathError::NoFolder),
    }
}

pub(crate) fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Where kubelet keeps this driver's volumes.
#[derive(Clone, Debug)]
pub struct Kubelet {
    pub driver_name: String,
    /// Kubelet's folder; `None` if it is no path of the node, and then nothing there is listed.
    pub folder: Option<WinPath>,
}

impl Kubelet {
    /// The folder with a folder for each staged volume of this driver.
    pub(crate) fn staging_folder(&self) -> Option<WinPath> {
        self.below(&["plugins", "kubernetes.io", "csi", &self.driver_name])
    }

    /// The folder with a folder for each driver, in which each staged volume has one.
    pub(crate) fn drivers_folder(&self) -> Option<WinPath> {
        self.below(&["plugins", "kubernetes.io", "csi"])
    }

    /// The folder with a folder for each pod.
    pub(crate) fn pods_folder(&self) -> Option<WinPath> {
        self.below(&["pods"])
    }

    fn below(&self, names: &[&str]) -> Option<WinPath> {
        below(self.folder.as_ref()?, names)
    }
}

pub(super) fn below(folder: &WinPath, names: &[&str]) -> Option<WinPath> {
    names.iter().try_fold(folder.clone(), |path, name| {
        Some(path.join(Component::parse(name).ok()?))
    })
}
