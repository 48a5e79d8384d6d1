//! Mounted folders.

use os::{Deadline, Entry, Os, Pin, ReparseTag, VolumeId, Win32};

use super::{TargetError, VolumeError, flush, stale, target};
use crate::link::{self, Leads};
use crate::{Node, ResolvedPath, leftover};

/// A volume and a folder, both locked.
pub(super) struct Mounting<'a> {
    pub(super) node: &'a Node,
    pub(super) volume: VolumeId,
    pub(super) resolved: &'a ResolvedPath,
    pub(super) deadline: Deadline,
}

impl Mounting<'_> {
    /// A link at the end of the path is not followed: the volume would be mounted elsewhere.
    pub(super) fn mount(&self) -> Result<(), VolumeError> {
        let _pins = self.hold()?;
        self.set()
    }

    /// The same, and replaces a mounted folder whose volume is gone.
    pub(super) fn mount_over_stale(&self) -> Result<(), VolumeError> {
        let _pins = self.hold()?;
        let refused = match self.set() {
            Err(VolumeError::Mount { source, .. })
                if source.win32() == Some(Win32::DIR_NOT_EMPTY) =>
            {
                source
            }
            done => return done,
        };
        let gone = stale::gone(self.os(), self.resolved.path());
        let Some(gone) = gone.map_err(|error| self.not_mounted(error))? else {
            return Err(self.not_mounted(refused));
        };
        self.node
            .check(self.deadline, "mount volume", &self.volume)?;
        tracing::warn!(path = %self.resolved.path(), volume = %gone, "removing the mounted folder of a volume that is gone");
        let unmounted = stale::unmount(self.os(), self.resolved.path(), gone);
        unmounted.map_err(|source| self.not_mounted(source))?;
        self.set()
    }

    fn hold(&self) -> Result<Vec<Pin>, VolumeError> {
        let held = self.resolved.hold(&*self.os().files);
        held.map_err(|source| self.not_mounted(source))
    }

    fn set(&self) -> Result<(), VolumeError> {
        let found = self.os().files.entry(self.resolved.path());
        let found = found.map_err(|source| self.not_mounted(source))?;
        let volumes = &self.os().volumes;
        let error = match self.refuse_link(found) {
            Ok(()) => volumes
                .set_mount_point(self.resolved.path(), self.volume)
                .err(),
            Err(error) => Some(error),
        };
        let Some(error) = error else {
            return Ok(());
        };
        if error.win32() != Some(Win32::DIR_NOT_EMPTY) {
            return Err(self.not_mounted(error));
        }
        match volumes.mounted_at(self.resolved.path()) {
            Ok(mounted) if mounted == self.volume => Ok(()),
            Ok(mounted) => Err(VolumeError::TargetInUse {
                volume: self.volume,
                mounted,
                path: self.resolved.asked().to_string(),
            }),
            Err(_) => Err(self.not_mounted(error)),
        }
    }

    /// The volume is neither locked nor dismounted, so that its other paths keep working.
    pub(super) fn unmount(&self) -> Result<(), VolumeError> {
        let pins = match self.resolved.hold(&*self.os().files) {
            Err(error) if error.is_not_found() => return Err(self.out_of_sight()),
            held => held.map_err(VolumeError::failed("unmount", self.volume))?,
        };
        leftover::sweep_beside(&*self.os().files, self.resolved, &pins);
        let mounted = self.mounted()?;
        if mounted != self.volume {
            return Err(VolumeError::OtherMounted {
                volume: self.volume,
                mounted,
                path: self.resolved.asked().to_string(),
            });
        }
        flush::cached(self.os(), self.volume)?;
        self.node
            .check(self.deadline, "unmount volume", &self.volume)?;
        let unmounted = stale::unmount(self.os(), self.resolved.path(), self.volume);
        unmounted.map_err(VolumeError::failed("unmount", self.volume))
    }

    /// The volume that is mounted at the folder. If its disk is gone, the folder's own reparse
    /// point has it.
    fn mounted(&self) -> Result<VolumeId, VolumeError> {
        let failed = VolumeError::failed("unmount", self.volume);
        let entry = match self.os().files.entry(self.resolved.path()) {
            Ok(entry) => entry,
            Err(error) if error.is_not_found() => return Err(self.out_of_sight()),
            Err(error) => return Err(failed(error)),
        };
        if entry.tag.is_none() && entry.is_directory() {
            return Err(self.nothing_there());
        }
        match link::leads(&*self.os().files, self.resolved.path(), &entry).map_err(failed)? {
            Leads::ToVolume(stored) if entry.tag == Some(ReparseTag::MOUNT_POINT) => Ok(self
                .os()
                .volumes
                .mounted_at(self.resolved.path())
                .unwrap_or(stored)),
            _ => Err(VolumeError::NotAMountedFolder {
                volume: self.volume,
                path: self.resolved.asked().to_string(),
            }),
        }
    }

    /// A missing path has nothing mounted; a path behind a dangling link or a vanished volume may
    /// have.
    fn out_of_sight(&self) -> VolumeError {
        match target::mounted(self.os(), self.resolved) {
            Err(TargetError::Missing { .. }) => self.nothing_there(),
            Err(error) => error.into(),
            // It has come back meanwhile: the next call will see it.
            Ok(volume) => VolumeError::OtherMounted {
                volume: self.volume,
                mounted: volume,
                path: self.resolved.asked().to_string(),
            },
        }
    }

    /// Windows's error for mounting over a mounted folder, returned without a call to Windows.
    fn refuse_link(&self, found: Entry) -> os::Result<()> {
        let code = match found.tag {
            None => return Ok(()),
            Some(ReparseTag::MOUNT_POINT) => Win32::DIR_NOT_EMPTY,
            Some(_) => Win32::REPARSE_POINT_ENCOUNTERED,
        };
        Err(os::Error::new(
            "SetVolumeMountPointW",
            self.resolved.path(),
            code,
        ))
    }

    fn not_mounted(&self, source: os::Error) -> VolumeError {
        VolumeError::Mount {
            volume: self.volume,
            path: self.resolved.asked().to_string(),
            source,
        }
    }

    fn nothing_there(&self) -> VolumeError {
        VolumeError::NotMounted {
            volume: self.volume,
            path: self.resolved.asked().to_string(),
        }
    }

    fn os(&self) -> &Os {
        self.node.os()
    }
}
