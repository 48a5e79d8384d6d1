//! Giving a volume a filesystem.

use std::time::Duration;

use formats::blank::{self, NtfsSerial};
use os::schema::{codes, volume};
use os::{Arguments, Deadline, FileSystem, Root, Value, VolumeId, WinPath};

use super::history::Leftover;
use super::writable::WritableVolume;
use super::{FileSystemType, FormatOptions, NamedVolume, VolumeError, file_system, released};
use crate::blank::{BlankError, DiskRange, kind_of};
use crate::disks::guard::ChangeScope;
use crate::in_flight::ANSWER_WITHIN;
use crate::poll::{self, VISIBLE_WITHIN};
use crate::provider::{ProviderError, WmiObject};
use crate::{FormatGuard, Node, storage};

/// How long the provider may refuse to format a new partition: right after CreatePartition it may
/// return "invalid parameter" (PowerShell#7771). No report says for how long.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);

/// How a volume came to the requested filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formatted {
    /// The volume already had it, and nothing was changed.
    Before,
    /// The volume was blank, or an earlier call had not finished: it was formatted.
    Now,
    /// The volume has it, and the node does not report since when. A node in this process always
    /// does.
    Unreported,
}

/// The content that a format replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replaced {
    /// A filesystem, by Windows's name for it, which the guard allowed to replace.
    FileSystem(String),
    /// Nothing: the volume was blank, or another call formatted it while this one waited.
    Nothing,
    /// Not known: the volume has no filesystem that Windows knows, and the guard is off.
    Unknown,
}

/// Whether Windows may dismount a volume that is in use, to format it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Force {
    Dismount,
    // Microsoft's page does not say what a format without `Force` does to a volume in use. VDS, its predecessor, fails
    // (<https://learn.microsoft.com/windows/win32/api/vds/nf-vds-ivdsvolumemf-format>), and csi-proxy 1.x formatted
    // released volumes so. It has not been tried on Windows.
    No,
}

/// Permission to overwrite the content that was checked.
struct Leave {
    force: Force,
    replaces: Replaced,
}

/// The serial number in a volume's first sector, or why it could not be read.
type Serial = os::Result<Option<NtfsSerial>>;

/// One format of a volume, which is locked.
pub(super) struct Formatting<'a> {
    node: &'a Node,
    volume: VolumeId,
    place: WritableVolume<'a>,
    options: &'a FormatOptions,
    deadline: Deadline,
    /// Called right before the call to Windows.
    begins: &'a dyn Fn(&Replaced),
}

impl<'a> Formatting<'a> {
    pub(super) fn take(
        node: &'a Node,
        named: NamedVolume<'a>,
        options: &'a FormatOptions,
        deadline: Deadline,
        begins: &'a dyn Fn(&Replaced),
    ) -> Result<Self, VolumeError> {
        let scope = ChangeScope::Blank;
        Ok(Self {
            node,
            volume: named.id(),
            place: WritableVolume::take(node, "format", named, scope, deadline)?,
            options,
            deadline,
            begins,
        })
    }

    /// Formats a volume that may be overwritten, as csi-proxy's `FormatVolume` does: one call, whatever its
    /// result.
    pub(super) fn run(&self) -> Result<Replaced, VolumeError> {
        self.format(&self.options.label)
    }

    /// Goes on where an earlier call ended.
    pub(super) fn ensure(&self) -> Result<Formatted, VolumeError> {
        let wanted = self.options.file_system;
        match self.file_system()? {
            None => {
                self.format(self.options.first_label())?;
                if self.options.root_dacl.is_none() {
                    return Ok(Formatted::Now);
                }
            }
            Some(found) if !found.name.eq_ignore_ascii_case(wanted.name()) => {
                return Err(VolumeError::OtherFileSystem {
                    volume: self.volume,
                    found: found.name,
                    wanted,
                });
            }
            Some(found) if found.label != FormatOptions::UNFINISHED => {
                return Ok(Formatted::Before);
            }
            Some(_) => self.place.require_unmoved()?,
        }
        self.finish()?;
        Ok(Formatted::Now)
    }

    /// Formats, and repeats for a while if the partition is new. Every attempt checks again the content that
    /// it would overwrite.
    fn format(&self, label: &str) -> Result<Replaced, VolumeError> {
        self.place.refuse_read_only()?;
        let mut early = None;
        let clock = &*self.node.os().clock;
        let done = poll::until(clock, self.deadline, SETTLED_WITHIN, || {
            match self.format_once(label) {
                Err(error) if is_early(&error) => {
                    tracing::info!(volume = %self.volume, "the provider does not format a volume yet");
                    early = Some(error);
                    Ok(None)
                }
                done => done.map(Some),
            }
        })?;
        match (done, early) {
            (Some(replaced), _) => Ok(replaced),
            (None, Some(error)) => Err(error),
            (None, None) => Err(self.unseen()),
        }
    }

    fn format_once(&self, label: &str) -> Result<Replaced, VolumeError> {
        let row = self.row()?;
        let leave = self.leave()?;
        let before = match leave.replaces {
            Replaced::FileSystem(_) => Some(self.range().ntfs_serial(self.node)),
            Replaced::Nothing | Replaced::Unknown => None,
        };
        // Last, so that the format hits the volume that was checked.
        self.place.require_unmoved()?;
        let arguments = arguments(self.options, label, leave.force);
        let wmi_object = row.wmi_object(self.node);
        (self.begins)(&leave.replaces);
        let done = match before {
            Some(before) => self.replace(&wmi_object, &arguments, &before),
            None => wmi_object
                .invoke_unverified(&volume::FORMAT, &arguments, &[])
                .map_err(VolumeError::from),
        };
        let done = done.and_then(|()| self.await_file_system());
        let left = match &done {
            Err(error) if !is_early(error) && leave.replaces != Replaced::Unknown => {
                let clock = &*self.node.os().clock;
                self.leftover(Deadline::within(clock, ANSWER_WITHIN))
            }
            _ => None,
        };
        self.node.state.history.ended(self.volume, &done, left);
        done.map(|()| leave.replaces)
    }

    /// The content of the volume now, if Windows mounts none of it.
    fn leftover(&self, deadline: Deadline) -> Option<Leftover> {
        let key = &self.node.state.history.key;
        match self.file_system() {
            Ok(None) => {
                let content = self.range().fingerprint(self.node, key, deadline).ok()?;
                let place = self.place.extent;
                Some(Leftover { place, content })
            }
            _ => None,
        }
    }

    /// A file system existed before, so seeing one proves nothing. Without a return code, a new NTFS serial number
    /// proves the format; a failed read proves nothing.
    fn replace(
        &self,
        wmi_object: &WmiObject<'_>,
        arguments: &Arguments,
        before: &Serial,
    ) -> Result<(), VolumeError> {
        wmi_object.invoke_and_verify(
            (&volume::FORMAT, arguments),
            (self.node, self.deadline),
            || {
                let now = self.range().ntfs_serial(self.node);
                Ok(matches!((before, now), (Ok(before), Ok(Some(now))) if *before != Some(now)))
            },
        )
    }

    /// Decides whether the content may be overwritten: a blank volume; a filesystem that its owner released,
    /// on a server's node; any content if the guard is off.
    fn leave(&self) -> Result<Leave, VolumeError> {
        let guard = self.node.options().format_guard;
        if guard == FormatGuard::Off {
            return self.unguarded();
        }
        self.node
            .check(self.deadline, "format volume", &self.volume)?;
        let replaces = match self.prove_blank() {
            Ok(()) => Replaced::Nothing,
            Err(BlankError::NotBlank { refusal, .. }) => self.not_blank(refusal)?,
            Err(refused) => return Err(refused.into()),
        };
        self.range()
            .prove_own(self.node, kind_of(&self.place.partition))?;
        let force = match replaces {
            Replaced::Nothing => Force::Dismount,
            _ => Force::No,
        };
        Ok(Leave { force, replaces })
    }

    /// Allows two kinds of content that is not blank: the rest of a format that died half-way, and a filesystem
    /// that its owner released.
    fn not_blank(&self, found: Box<blank::Refusal>) -> Result<Replaced, VolumeError> {
        match self.file_system()? {
            None if self.is_unfinished(&found)? => Ok(Replaced::Nothing),
            Some(file_system) if self.may_be_released() => {
                self.place.require(ChangeScope::Files)?;
                self.released(file_system.name, found)
            }
            _ => Err(self.range().not_blank(found).into()),
        }
    }

    fn may_be_released(&self) -> bool {
        let guard = self.node.options().format_guard;
        guard == FormatGuard::Signatures && self.node.state.kept.is_some()
    }

    /// Whether the content is only the rest of a format: of a format of this process, or by its structure.
    /// Windows mounts none of it.
    fn is_unfinished(&self, found: &blank::Refusal) -> Result<bool, VolumeError> {
        let left = self.node.state.history.leftover(self.volume);
        let is_own = is_of_windows(found) && left.is_some() && left == self.leftover(self.deadline);
        let is_unfinished = is_own || self.range().holds_unfinished(self.node, self.deadline)?;
        if is_unfinished {
            tracing::warn!(volume = %self.volume, %found, "formatting what a format left that died half-way");
        }
        Ok(is_unfinished)
    }

    fn released(
        &self,
        file_system: String,
        found: Box<blank::Refusal>,
    ) -> Result<Replaced, VolumeError> {
        if let Some(reason) = released::objection(self.node, self.volume, self.deadline)? {
            return Err(VolumeError::NotReleased {
                volume: self.volume,
                found,
                reason: Box::new(reason),
            });
        }
        tracing::warn!(volume = %self.volume, file_system, "formatting a volume that holds a filesystem: it is mounted outside of the working folders, and nothing on it is open");
        Ok(Replaced::FileSystem(file_system))
    }

    fn unguarded(&self) -> Result<Leave, VolumeError> {
        let replaces = match self.file_system()? {
            Some(file_system) => {
                self.place.require(ChangeScope::Files)?;
                Replaced::FileSystem(file_system.name)
            }
            None => Replaced::Unknown,
        };
        tracing::warn!(volume = %self.volume, ?replaces, "formatting a volume without a look at what is on it: the guard is off");
        let force = Force::Dismount;
        Ok(Leave { force, replaces })
    }

    fn file_system(&self) -> Result<Option<FileSystem>, VolumeError> {
        file_system(self.node.os(), self.volume)
    }

    /// Sets the access control list first, then the label, which records that the list is set.
    ///
    /// Windows applies a list to each file and folder of the volume, which takes long if there are many (0.24 ms for
    /// each on one machine, kirodotdev/KiroCrew pull request 10064; a volume of 2 TB in microsoft/mxc issue 648). Here
    /// are only Windows's own: this call formatted the volume, or an earlier one that did not finish.
    fn finish(&self) -> Result<(), VolumeError> {
        self.node
            .check(self.deadline, "format volume", &self.volume)?;
        if let Some(dacl) = &self.options.root_dacl {
            let root = WinPath::of_root(Root::Volume(self.volume));
            let set = self.node.os().files.set_dacl(&root, dacl);
            let operation = "set the access control list of";
            set.map_err(VolumeError::failed(operation, self.volume))?;
        }
        use volume::set_file_system_label as parameter;
        let label = Value::text(self.options.label.as_str());
        let arguments = Arguments::none().with(parameter::FILE_SYSTEM_LABEL.name, label);
        let row = self.row()?;
        let wmi_object = row.wmi_object(self.node);
        wmi_object.invoke_and_verify(
            (&volume::SET_FILE_SYSTEM_LABEL, &arguments),
            (self.node, self.deadline),
            || {
                Ok(self
                    .file_system()?
                    .is_some_and(|now| now.label == self.options.label))
            },
        )
    }

    /// The provider's object, which may appear late.
    fn row(&self) -> Result<storage::Volume, VolumeError> {
        let mut refreshed = false;
        let clock = &*self.node.os().clock;
        let row = poll::until(
            clock,
            self.deadline,
            VISIBLE_WITHIN,
            || match storage::Volume::find(self.node, self.volume, self.deadline) {
                Err(ProviderError::NotFound { .. }) => {
                    if !std::mem::replace(&mut refreshed, true) {
                        self.place.disk.refresh(self.node);
                    }
                    Ok(None)
                }
                found => found.map(Some),
            },
        )?;
        let what = format!("volume {}", self.volume);
        row.ok_or_else(|| ProviderError::not_found(&what).into())
    }

    fn prove_blank(&self) -> Result<(), BlankError> {
        let rule = blank::for_format;
        self.range().prove_blank(self.node, rule, self.deadline)
    }

    fn await_file_system(&self) -> Result<(), VolumeError> {
        let os = self.node.os();
        let look = || self.file_system();
        let seen = poll::until(&*os.clock, self.deadline, VISIBLE_WITHIN, look)?;
        seen.map(drop).ok_or_else(|| self.unseen())
    }

    fn unseen(&self) -> VolumeError {
        VolumeError::FormatUnseen {
            volume: self.volume,
        }
    }

    fn range(&self) -> DiskRange {
        DiskRange {
            disk: self.place.disk.number,
            offset: self.place.partition.offset,
            length: self.place.partition.length,
        }
    }
}

/// Whether a partition that is not blank may still have the filesystem: its mark is there, that of BitLocker, which
/// Windows may unlock, or the rest of a format.
pub(crate) fn may_have(
    node: &Node,
    range: &DiskRange,
    found: &blank::Refusal,
    wanted: FileSystemType,
    deadline: Deadline,
) -> Result<bool, BlankError> {
    use blank::Signature::{BitLocker, Ntfs, ReFs};
    let mark = match wanted {
        FileSystemType::Ntfs => Ntfs,
        FileSystemType::Refs => ReFs,
    };
    if let blank::Refusal::Signatures(found) = found
        && found
            .iter()
            .any(|it| [mark, BitLocker].contains(&it.signature))
    {
        return Ok(true);
    }
    let history = &node.state.history;
    let is_left = || Ok(history.has_left(range.fingerprint(node, &history.key, deadline)?));
    Ok(is_of_windows(found) && is_left()? || range.holds_unfinished(node, deadline)?)
}

/// Whether all signatures found are of filesystems that this library formats, or of no known format.
fn is_of_windows(found: &blank::Refusal) -> bool {
    use blank::Signature::{Ntfs, ReFs};
    match found {
        blank::Refusal::Signatures(found) => {
            let mut found = found.iter();
            found.all(|found| matches!(found.signature, Ntfs | ReFs))
        }
        blank::Refusal::Unknown { .. } => true,
        _ => false,
    }
}

/// Whether the provider returns "invalid parameter".
fn is_early(error: &VolumeError) -> bool {
    matches!(
        error,
        VolumeError::Provider(ProviderError::Refused { code, .. })
            if *code == codes::INVALID_PARAMETER.code
    )
}

/// A quick format. With the default options these are csi-proxy's arguments, except for a volume that may be in
/// use.
fn arguments(options: &FormatOptions, label: &str, force: Force) -> Arguments {
    use volume::format as parameter;
    let arguments = Arguments::none()
        .with(
            parameter::FILE_SYSTEM.name,
            Value::text(options.file_system.name()),
        )
        .with(parameter::FILE_SYSTEM_LABEL.name, Value::text(label))
        .with(parameter::FULL.name, Value::Bool(false))
        .with(parameter::FORCE.name, Value::Bool(force == Force::Dismount));
    match options.allocation_unit {
        Some(unit) => arguments.with(
            parameter::ALLOCATION_UNIT_SIZE.name,
            Value::uint32(unit.bytes()),
        ),
        None => arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// csi-proxy sends these; all other arguments are null.
    #[test]
    fn the_default_options_are_what_csi_proxy_sends() {
        let wanted = Arguments::none()
            .with("FileSystem", Value::text("NTFS"))
            .with("FileSystemLabel", Value::text(""))
            .with("Full", Value::Bool(false))
            .with("Force", Value::Bool(true));
        assert_eq!(
            arguments(&FormatOptions::default(), "", Force::Dismount),
            wanted
        );
    }
}
