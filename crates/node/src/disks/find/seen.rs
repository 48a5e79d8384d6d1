use std::fmt;

use formats::location::Location;
use os::DiskNumber;

use super::query::DiskQuery;
use crate::{Guarded, TargetName};

/// What was seen of a disk when one was looked for: [`SeenDisk::numbered`], and what is known of it field by
/// field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenDisk {
    /// Its number, which it has as long as it is there.
    pub number: DiskNumber,
    /// Where it is plugged in; none when Windows says nothing usable.
    pub location: Option<Location>,
    /// The iSCSI targets whose sessions lead to it, of those that it was looked for behind.
    pub iscsi_targets: Vec<TargetName>,
    /// Its NVMe namespace; none of other disks, and where it is not known for certain.
    pub namespace: Option<u32>,
    /// Its identifiers of SCSI page 0x83, the first as [`crate::DiskIds`] has it. Of a disk that does not tell
    /// them to the kernel the storage provider's, where that may rule the disk out.
    pub identifiers: Vec<String>,
    /// Its serial number, as the storage provider spells it unless the kernel tells another. Where the
    /// provider alone tells one it may rule the disk out.
    pub serial: Option<String>,
    /// Its length in bytes.
    pub size: Option<u64>,
    /// Why it is no candidate, whatever is looked for.
    pub excluded: Option<Excluded>,
}

/// Why a disk is no candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Excluded {
    /// It is never written.
    Guarded(Guarded),
    /// It does not say for certain what it is. It stands in the way of whatever nothing that is known of
    /// it contradicts: it may be the disk that is meant.
    Silent(String),
}

/// Not exactly one disk is what is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotIdentified {
    /// What was looked for.
    pub wanted: DiskQuery,
    /// All disks, as they were seen.
    pub disks: Vec<SeenDisk>,
}

/// Exactly one disk is what was looked for: the one thing by which drivers have a disk changed.
///
/// Whatever changes the disk looks at it again under its lock, right before, and refuses when another one
/// has its number by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDisk {
    wanted: DiskQuery,
    seen: SeenDisk,
}

impl SeenDisk {
    /// A disk of which nothing was seen but its number.
    #[must_use]
    pub fn numbered(number: DiskNumber) -> Self {
        Self {
            number,
            location: None,
            iscsi_targets: Vec::new(),
            namespace: None,
            identifiers: Vec::new(),
            serial: None,
            size: None,
            excluded: None,
        }
    }

    fn is_candidate(&self, wanted: &DiskQuery) -> bool {
        self.excluded.is_none() && wanted.matches(self)
    }

    fn is_uncertain(&self, wanted: &DiskQuery) -> bool {
        matches!(self.excluded, Some(Excluded::Silent(_))) && !wanted.contradicts(self)
    }
}

impl DiskQuery {
    /// The one disk of a node, of which these are all, that this is true of.
    ///
    /// # Errors
    /// It is true of none, or of several, or it is not certain of how many.
    pub fn sole(&self, disks: Vec<SeenDisk>) -> Result<FoundDisk, NotIdentified> {
        let mut candidates = disks.iter().filter(|disk| disk.is_candidate(self));
        let mut uncertain = disks.iter().filter(|disk| disk.is_uncertain(self));
        match (candidates.next(), candidates.next(), uncertain.next()) {
            (Some(one), None, None) => Ok(FoundDisk {
                wanted: self.clone(),
                seen: one.clone(),
            }),
            _ => Err(NotIdentified {
                wanted: self.clone(),
                disks,
            }),
        }
    }
}

impl FoundDisk {
    /// Its number when it was found.
    #[must_use]
    pub fn number(&self) -> DiskNumber {
        self.seen.number
    }

    /// What was seen of it when it was found.
    #[must_use]
    pub fn seen(&self) -> &SeenDisk {
        &self.seen
    }

    /// What it was found by.
    #[must_use]
    pub fn wanted(&self) -> &DiskQuery {
        &self.wanted
    }

    /// Whether the disk that has the number now is the one that was found: all that was looked for holds
    /// still, it has the same names at the same place, and is no shorter.
    #[must_use]
    pub fn is_still(&self, now: &SeenDisk) -> bool {
        let was = &self.seen;
        now.is_candidate(&self.wanted)
            && now.number == was.number
            && now.location == was.location
            && now.namespace == was.namespace
            && now.identifiers == was.identifiers
            && now.serial == was.serial
            && now.size >= was.size
    }

    /// Whether the disk that has the number now does not say for certain what it is, and says nothing that
    /// excludes what was looked for.
    pub(super) fn may_be(&self, now: &SeenDisk) -> bool {
        now.is_uncertain(&self.wanted) && now.number == self.seen.number
    }
}

impl NotIdentified {
    /// The disks that all of it is true of: none, or several.
    pub fn candidates(&self) -> impl Iterator<Item = &SeenDisk> {
        self.disks
            .iter()
            .filter(|disk| disk.is_candidate(&self.wanted))
    }

    /// The disks that do not say enough, so that each may be the one that is meant.
    pub fn uncertain(&self) -> impl Iterator<Item = &SeenDisk> {
        self.disks
            .iter()
            .filter(|disk| disk.is_uncertain(&self.wanted))
    }

    /// The disks that all of it is true of, and that are never written.
    pub fn guarded(&self) -> impl Iterator<Item = &SeenDisk> {
        self.disks.iter().filter(|disk| {
            matches!(disk.excluded, Some(Excluded::Guarded(_))) && self.wanted.matches(disk)
        })
    }
}

impl std::error::Error for NotIdentified {}

impl fmt::Display for NotIdentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.candidates().count(), self.uncertain().next()) {
            (0 | 1, Some(disk)) => {
                let number = disk.number;
                write!(
                    f,
                    "not certain which disk has {}: disk {number} does not say",
                    self.wanted
                )?;
            }
            (0, None) => write!(f, "no disk with {}", self.wanted)?,
            (count, _) => write!(f, "not one disk but {count} with {}", self.wanted)?,
        }
        let seen: Vec<_> = self.disks.iter().map(SeenDisk::to_string).collect();
        match seen.as_slice() {
            [] => f.write_str("; there are no disks"),
            _ => write!(f, "; seen: {}", seen.join("; ")),
        }
    }
}

impl fmt::Display for SeenDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "disk {}", self.number)?;
        if let Some(location) = &self.location {
            write_location(f, location)?;
        }
        for target in &self.iscsi_targets {
            write!(f, ", iSCSI target {target}")?;
        }
        if let Some(namespace) = self.namespace {
            write!(f, ", namespace {namespace}")?;
        }
        if !self.identifiers.is_empty() {
            write!(f, ", page 0x83 {}", self.identifiers.join(" and "))?;
        }
        if let Some(serial) = &self.serial {
            write!(f, ", serial number {serial}")?;
        }
        if let Some(size) = self.size {
            write!(f, ", {size} bytes")?;
        }
        match &self.excluded {
            Some(excluded) => write!(f, " (left out: {excluded})"),
            None => Ok(()),
        }
    }
}

fn write_location(f: &mut fmt::Formatter<'_>, location: &Location) -> fmt::Result {
    for (key, value) in [
        ("bus", &location.bus),
        ("adapter", &location.adapter),
        ("port", &location.port),
        ("target", &location.target),
        ("LUN", &location.lun),
    ] {
        if let Some(value) = value {
            write!(f, ", {key} {value}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Excluded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guarded(reason) => reason.fmt(f),
            Self::Silent(reason) => f.write_str(reason),
        }
    }
}
