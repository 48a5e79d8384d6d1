//! Proof that a range is blank before it is overwritten.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use formats::blank::{
    BlankRule, Clearance, Extent, ExtentError, NtfsSerial, Refusal, SectorSize, ShortRead,
    UnfinishedNtfs, View, ViewError,
};
use formats::partition_kind::PartitionKind;
use os::{Cause, Deadline, DiskNumber, PartitionEntry};

use crate::{FormatGuard, Node};

/// Tells an operator how to have a range overwritten. Zeros where the proof reads would suffice for it, but on a whole
/// disk the new partition may begin at an old filesystem further in, which Windows then mounts.
pub(crate) const OVERWRITE_HINT: &str =
    "to overwrite it, format it by hand or zero all of it, or run csi-proxy with -format-guard=off";

/// The owner of a partition, by the type in the kernel's layout.
pub(crate) fn kind_of(partition: &PartitionEntry) -> PartitionKind {
    match partition.mbr_type {
        Some(kind) => PartitionKind::Mbr(kind),
        None => PartitionKind::Gpt(partition.kind),
    }
}

/// Why a range must not be overwritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum BlankError {
    /// The range is blank, but its partition type belongs to another system.
    #[error("{object} is not overwritten: its partition has the {kind}")]
    Foreign {
        /// The partition, by disk and offset.
        object: String,
        /// The partition type, as the layout has it.
        kind: String,
    },
    /// The range is not blank.
    #[error("{object} is not overwritten: {refusal}; {}", OVERWRITE_HINT)]
    NotBlank {
        /// The disk, or the partition by disk and offset.
        object: String,
        refusal: Box<Refusal>,
    },
    /// The range could not be read, which proves nothing.
    #[error("{object} is not overwritten: it could not be read: {source}")]
    Unread {
        /// The disk, or the partition by disk and offset.
        object: String,
        source: Unread,
    },
}

/// Why the content of a disk is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// The disk reports an impossible length or sector size.
    #[error(transparent)]
    Extent(#[from] ExtentError),
    /// The system failed to read the disk, or not in time.
    #[error(transparent)]
    Os(#[from] os::Error),
    /// The read ended before the disk's length.
    #[error(transparent)]
    Short(#[from] ShortRead),
}

/// A range of a disk that is about to be overwritten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskRange {
    pub(crate) disk: DiskNumber,
    /// Where it begins, in bytes from the start of the disk.
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl fmt::Display for DiskRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            disk,
            offset,
            length,
        } = self;
        match offset {
            0 => write!(f, "disk {disk}"),
            _ => write!(f, "disk {disk} from byte {offset} on for {length} bytes"),
        }
    }
}

impl DiskRange {
    /// Reads both ends of the range and has `rule` decide whether it may be overwritten; reads nothing under
    /// [`FormatGuard::Off`]. To be called under the disk's lock, immediately before the write.
    pub(crate) fn prove_blank(
        &self,
        node: &Node,
        rule: impl FnOnce(&View, BlankRule) -> Result<Clearance, Refusal>,
        deadline: Deadline,
    ) -> Result<(), BlankError> {
        if node.options().format_guard == FormatGuard::Off {
            tracing::warn!(object = %self, "overwriting without a look at what is there: the guard is off");
            return Ok(());
        }
        if let Some(offset) = self.check_blank(node, rule, deadline)?.unknown() {
            tracing::warn!(object = %self, offset, "overwriting bytes that no known format explains");
        }
        Ok(())
    }

    /// As [`Self::prove_blank`], before it is known whether something overwrites it.
    pub(crate) fn check_blank(
        &self,
        node: &Node,
        rule: impl FnOnce(&View, BlankRule) -> Result<Clearance, Refusal>,
        deadline: Deadline,
    ) -> Result<Clearance, BlankError> {
        let guard = match node.options().format_guard {
            FormatGuard::Strict => BlankRule::Strict,
            FormatGuard::Off | FormatGuard::Signatures => BlankRule::Signatures,
        };
        let view = self.view(node, deadline)?;
        rule(&view, guard).map_err(|refusal| self.not_blank(Box::new(refusal)))
    }

    /// Checks that a partition of this kind may be formatted.
    ///
    /// # Errors
    /// The partition belongs to another system, under [`FormatGuard::Strict`].
    pub(crate) fn prove_own(&self, node: &Node, kind: PartitionKind) -> Result<(), BlankError> {
        self.check_own(node, kind)?;
        if !kind.is_windows_data() {
            tracing::warn!(object = %self, %kind, "formatting a blank partition of another system");
        }
        Ok(())
    }

    /// As [`Self::prove_own`], before it is known whether something formats it.
    pub(crate) fn check_own(&self, node: &Node, kind: PartitionKind) -> Result<(), BlankError> {
        let may_be_foreign = node.options().format_guard != FormatGuard::Strict;
        match may_be_foreign || kind.is_windows_data() {
            true => Ok(()),
            false => Err(BlankError::Foreign {
                object: self.to_string(),
                kind: kind.to_string(),
            }),
        }
    }

    /// Whether the range holds only a boot sector of NTFS, or its two copies, without the rest of an NTFS. To be
    /// called under the disk's lock, after the range proved not blank.
    pub(crate) fn holds_unfinished(
        &self,
        node: &Node,
        deadline: Deadline,
    ) -> Result<bool, BlankError> {
        let view = self.view(node, deadline)?;
        let Some(unfinished) = UnfinishedNtfs::of(&view) else {
            return Ok(false);
        };
        // As large as the largest record.
        let mut buffer = [0; 4096];
        for table in unfinished.tables() {
            let read = self.read(node, table, &mut buffer, deadline);
            read.map_err(|error| self.unread(error))?;
            if buffer.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A keyed hash of both ends of the range.
    pub(crate) fn fingerprint(
        &self,
        node: &Node,
        key: &RandomState,
        deadline: Deadline,
    ) -> Result<u64, BlankError> {
        let view = self.view(node, deadline)?;
        let mut hasher = key.build_hasher();
        for (offset, bytes) in view.spans() {
            hasher.write_u64(offset);
            hasher.write(bytes);
        }
        Ok(hasher.finish())
    }

    /// The serial number of the NTFS that begins here; `None` without one. It is read even after the deadline.
    pub(crate) fn ntfs_serial(&self, node: &Node) -> os::Result<Option<NtfsSerial>> {
        // As large as the largest sector.
        let mut buffer = [0; 4096];
        self.read(node, 0, &mut buffer, Deadline::NEVER)?;
        Ok(NtfsSerial::of(&buffer))
    }

    pub(crate) fn not_blank(&self, refusal: Box<Refusal>) -> BlankError {
        BlankError::NotBlank {
            object: self.to_string(),
            refusal,
        }
    }

    fn view(&self, node: &Node, deadline: Deadline) -> Result<View, BlankError> {
        let sector = node.os().disks.sector_size(self.disk);
        let sector = sector.map_err(|error| self.unread(error))?;
        let sector = SectorSize::try_from(sector).map_err(|error| self.unread(error))?;
        let extent = Extent::new(self.length, sector).map_err(|error| self.unread(error))?;
        let read = |offset, buffer: &mut [u8]| self.read(node, offset, buffer, deadline);
        View::read(extent, read).map_err(|error| match error {
            ViewError::Read { source, .. } => self.unread(source),
            ViewError::Short(short) => self.unread(short),
        })
    }

    fn read(
        &self,
        node: &Node,
        offset: u64,
        buffer: &mut [u8],
        deadline: Deadline,
    ) -> os::Result<usize> {
        let fail = |cause| os::Error::new("ReadFile", format!("disk {}", self.disk), cause);
        if deadline.left(&*node.os().clock).is_none() {
            return Err(fail(Cause::TimedOut));
        }
        let beyond = || fail(Cause::Malformed("an offset beyond 64 bits".to_owned()));
        let offset = self.offset.checked_add(offset).ok_or_else(beyond)?;
        node.os().disks.read(self.disk, offset, buffer)?;
        Ok(buffer.len())
    }

    fn unread(&self, source: impl Into<Unread>) -> BlankError {
        BlankError::Unread {
            object: self.to_string(),
            source: source.into(),
        }
    }
}
