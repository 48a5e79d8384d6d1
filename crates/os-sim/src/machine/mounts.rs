//! The mount manager's table, and who holds volumes.

use std::ffi::OsStr;

use os::{Cause, VolumeId, Win32, WinPath};

use super::{Machine, Mount};

impl Machine {
    pub(crate) fn remember_mount(&mut self, path: WinPath, volume: VolumeId) {
        self.forget_mount(&path);
        let volume = volume.0;
        self.state.mounts.push(Mount { path, volume });
    }

    pub(crate) fn forget_mount(&mut self, path: &WinPath) {
        let mounts = &mut self.state.mounts;
        mounts.retain(|mount| !is_same(&mount.path, path));
    }

    /// The volume of a drive letter.
    pub(crate) fn volume_of_letter(&self, root: &WinPath) -> Result<VolumeId, Cause> {
        let mut mounts = self.state.mounts.iter();
        mounts
            .find(|mount| is_same(&mount.path, root))
            .map(|mount| VolumeId(mount.volume))
            .ok_or_else(|| Win32::PATH_NOT_FOUND.into())
    }

    pub(crate) fn forget_letter(&mut self, root: &WinPath) -> Result<(), Cause> {
        self.volume_of_letter(root)?;
        self.forget_mount(root);
        Ok(())
    }

    /// Takes a volume for one owner.
    pub(crate) fn lock(&mut self, volume: VolumeId) -> Result<(), Cause> {
        let is_held = self.holds.contains_key(&volume) || self.is_system(volume);
        if is_held || !self.locked.insert(volume) {
            return Err(Win32::ACCESS_DENIED.into());
        }
        Ok(())
    }

    /// Somebody opens something on a volume.
    pub(crate) fn hold(&mut self, volume: VolumeId) {
        *self.holds.entry(volume).or_default() += 1;
    }

    /// And closes it.
    pub(crate) fn let_go(&mut self, volume: VolumeId) {
        match self.holds.get_mut(&volume) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                self.holds.remove(&volume);
            }
        }
    }

    /// Whether Windows itself runs from the volume.
    pub(crate) fn is_system(&self, volume: VolumeId) -> bool {
        self.state.letter_of(volume) == Some('C')
    }
}

/// Whether two paths are equal, ignoring case. Among thousands, most differ certainly in their names, which shows
/// without a copy.
fn is_same(left: &WinPath, right: &WinPath) -> bool {
    let (left_names, right_names) = (left.components(), right.components());
    let mut pairs = left_names.iter().zip(right_names).rev();
    left_names.len() == right_names.len()
        && !pairs.any(|(left, right)| differ(left.as_os_str(), right.as_os_str()))
        && left.folded() == right.folded()
}

fn differ(left: &OsStr, right: &OsStr) -> bool {
    left.is_ascii() && right.is_ascii() && !left.eq_ignore_ascii_case(right)
}
