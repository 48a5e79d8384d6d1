//! Access paths of a partition: letters and mounted folders.

use os::schema::{ReturnCode, codes};
use os::{Cause, Outcome, Root, VolumeId, WinPath};

use super::{Found, Storage, failing};
use crate::machine::{Machine, letter};
use crate::provider::{Done, MethodCall};

impl Storage {
    pub(super) fn add_access_path(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        let volume = self.on(call, |machine, found| Ok(volume(machine, found)))?;
        let Some(volume) = volume else {
            return Ok(failing(codes::FAILED));
        };
        let wanted = call.text("AccessPath").map(str::parse::<WinPath>);
        let outcome = match wanted {
            Some(Err(_)) => failing(codes::BAD_ACCESS_PATH),
            Some(Ok(path)) if letter(&path).is_none() => self.mount(&path, volume)?,
            Some(Ok(path)) => self.assign(call, letter(&path), volume)?,
            None => self.assign(call, None, volume)?,
        };
        self.on(call, |machine, found| {
            machine.cache_disk(&found.disk);
            Ok(outcome)
        })
    }

    pub(super) fn remove_access_path(&self, call: &MethodCall<'_>) -> Done<Outcome> {
        let path = call.text("AccessPath").unwrap_or_default();
        let Ok(path) = path.parse::<WinPath>() else {
            return Ok(failing(codes::BAD_ACCESS_PATH));
        };
        if let Some(code) = self.take_away(&path)? {
            return Ok(failing(code));
        }
        self.on(call, |machine, found| {
            machine.cache_disk(&found.disk);
            Ok(Outcome::of(0))
        })
    }

    fn assign(
        &self,
        call: &MethodCall<'_>,
        wanted: Option<char>,
        volume: VolumeId,
    ) -> Done<Outcome> {
        self.on(call, |machine, _| {
            let letter = wanted.or_else(|| machine.free_letter());
            let is_assigned = letter.is_some_and(|letter| machine.assign_letter(letter, volume));
            Ok(match is_assigned {
                true => Outcome::of(0),
                false => failing(codes::ACCESS_PATH_IN_USE),
            })
        })
    }

    fn mount(&self, folder: &WinPath, volume: VolumeId) -> Done<Outcome> {
        match self.tree.set_mount_point(folder, volume) {
            Ok(path) => self.shared.with(|machine| {
                machine.remember_mount(path, volume);
                Ok(Outcome::of(0))
            }),
            Err(error) => Ok(unusable(&error.cause)),
        }
    }

    /// Why the path cannot be taken away; nothing when it was.
    fn take_away(&self, path: &WinPath) -> Done<Option<ReturnCode>> {
        match (path.root(), letter(path)) {
            (Root::Volume(_), _) if path.components().is_empty() => {
                Ok(Some(codes::VOLUME_GUID_PATH))
            }
            (_, Some('C')) => Ok(Some(codes::CRITICAL_DRIVE_LETTER)),
            (_, Some(_)) => self.shared.with(|machine| {
                let forgotten = machine.forget_letter(path);
                Ok(forgotten.err().map(|_| codes::BAD_ACCESS_PATH))
            }),
            (_, None) => match self.tree.remove_mount_point(path) {
                Err(_) => Ok(Some(codes::BAD_ACCESS_PATH)),
                Ok((path, _)) => self.shared.with(|machine| {
                    machine.forget_mount(&path);
                    Ok(None)
                }),
            },
        }
    }
}

fn volume(machine: &Machine, found: &Found) -> Option<VolumeId> {
    machine.partition(found).map(|it| VolumeId(it.id))
}

fn unusable(cause: &Cause) -> Outcome {
    Outcome {
        extended: Some(cause.to_string()),
        ..Outcome::of(codes::BAD_ACCESS_PATH.code)
    }
}
