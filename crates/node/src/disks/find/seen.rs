use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use formats::device_id::DeviceIdPage;
use formats::location::Location;
use os::DiskNumber;

use super::proof::Proof;
use super::query::DiskQuery;
use crate::{Guarded, TargetName};

/// The properties of a disk that a search read: start with [`SeenDisk::numbered`], and fill in field by
/// field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenDisk {
    /// Its number, valid only while the disk is attached.
    pub number: DiskNumber,
    /// Where it is plugged in; `None` if Windows reports nothing usable.
    pub location: Option<Location>,
    /// The query's iSCSI targets whose sessions lead to the disk.
    pub iscsi_targets: Vec<TargetName>,
    /// Its NVMe namespace; `None` for other disks, and if it is uncertain.
    pub namespace: Option<u32>,
    /// Its identifiers of SCSI page 0x83, the first as in [`crate::DiskIds`]. If the kernel cannot read them:
    /// the storage provider's identifier, if it may exclude the disk.
    pub identifiers: Vec<String>,
    /// Its names in UTF-8 on that page, which only a whole one means: the last word of an NVMe disk's may be the
    /// serial number of all namespaces.
    pub utf8_names: Vec<String>,
    /// Its serial number, as the storage provider spells it unless the kernel reports another. A
    /// number that only the provider reports may exclude the disk.
    pub serial: Option<String>,
    /// Its length in bytes.
    pub size: Option<u64>,
    /// Why the disk is no candidate for any query.
    pub excluded: Option<Excluded>,
}

/// Why a disk is no candidate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Excluded {
    /// The disk is never written.
    #[error("{0}")]
    Guarded(Guarded),
    /// The disk does not report for certain what it is. It makes every search uncertain that no known
    /// property of it contradicts: it may be the wanted disk.
    #[error("{0}")]
    Silent(String),
}

/// Zero or several disks match the query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotIdentified {
    /// The query.
    pub wanted: DiskQuery,
    /// All disks, with the properties read.
    pub disks: Vec<SeenDisk>,
}

/// The one disk that matched a query. Drivers can change a disk only through this.
///
/// Every change looks at the disk again under its lock, right before, and fails if another disk has the
/// number by then.
#[derive(Clone, Debug)]
pub struct FoundDisk {
    wanted: DiskQuery,
    seen: SeenDisk,
    /// `None` if the storage provider is asked at each change.
    pub(super) proof: Option<Arc<Proof>>,
}

impl PartialEq for FoundDisk {
    fn eq(&self, other: &Self) -> bool {
        (&self.wanted, &self.seen) == (&other.wanted, &other.seen)
    }
}

impl Eq for FoundDisk {}

impl SeenDisk {
    /// A disk without properties other than its number.
    #[must_use]
    pub fn numbered(number: DiskNumber) -> Self {
        Self {
            number,
            location: None,
            iscsi_targets: Vec::new(),
            namespace: None,
            identifiers: Vec::new(),
            utf8_names: Vec::new(),
            serial: None,
            size: None,
            excluded: None,
        }
    }

    /// With the names of its page 0x83.
    pub(super) fn named(self, page: &DeviceIdPage) -> Self {
        Self {
            identifiers: page.texts(),
            utf8_names: page.utf8_names(),
            ..self
        }
    }

    pub(super) fn has_names(&self) -> bool {
        !self.identifiers.is_empty() || !self.utf8_names.is_empty()
    }

    fn is_candidate(&self, wanted: &DiskQuery) -> bool {
        self.excluded.is_none() && wanted.matches(self)
    }

    fn is_uncertain(&self, wanted: &DiskQuery) -> bool {
        matches!(self.excluded, Some(Excluded::Silent(_))) && !wanted.contradicts(self)
    }
}

impl DiskQuery {
    /// The one match among `disks`, which must be all disks of the node.
    ///
    /// # Errors
    /// None matches, several match, or the number of matches is uncertain.
    pub fn sole(&self, disks: Vec<SeenDisk>) -> Result<FoundDisk, NotIdentified> {
        let mut candidates = disks.iter().filter(|disk| disk.is_candidate(self));
        let mut uncertain = disks.iter().filter(|disk| disk.is_uncertain(self));
        match (candidates.next(), candidates.next(), uncertain.next()) {
            (Some(one), None, None) => Ok(FoundDisk {
                wanted: self.clone(),
                seen: one.clone(),
                proof: None,
            }),
            _ => Err(NotIdentified {
                wanted: self.clone(),
                disks,
            }),
        }
    }
}

impl FoundDisk {
    /// The number that the disk had when it was found.
    #[must_use]
    pub fn number(&self) -> DiskNumber {
        self.seen.number
    }

    /// The properties read when it was found.
    #[must_use]
    pub fn seen(&self) -> &SeenDisk {
        &self.seen
    }

    /// The query that found it.
    #[must_use]
    pub fn wanted(&self) -> &DiskQuery {
        &self.wanted
    }

    /// Whether the disk that has the number now is the one that was found: it still meets the query, has
    /// the same names at the same location, and is no shorter.
    #[must_use]
    pub fn is_still(&self, now: &SeenDisk) -> bool {
        let was = &self.seen;
        now.is_candidate(&self.wanted)
            && now.number == was.number
            && now.location == was.location
            && now.namespace == was.namespace
            && now.identifiers == was.identifiers
            && now.utf8_names == was.utf8_names
            && now.serial == was.serial
            && now.size >= was.size
    }

    /// Whether the disk that has the number now does not report for certain what it is, and reports
    /// nothing that contradicts the query.
    pub(super) fn may_be(&self, now: &SeenDisk) -> bool {
        now.is_uncertain(&self.wanted) && now.number == self.seen.number
    }
}

impl NotIdentified {
    /// The disks that meet all of the query: none, or several.
    pub fn candidates(&self) -> impl Iterator<Item = &SeenDisk> {
        self.disks
            .iter()
            .filter(|disk| disk.is_candidate(&self.wanted))
    }

    /// The disks that report too little, so that each may be the wanted one.
    pub fn uncertain(&self) -> impl Iterator<Item = &SeenDisk> {
        self.disks
            .iter()
            .filter(|disk| disk.is_uncertain(&self.wanted))
    }

    /// The disks that meet all of the query and are never written.
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
            (count, _) => {
                write!(f, "not one disk but {count} with {}", self.wanted)?;
                let mut criteria = self.wanted.criteria().iter();
                if criteria.any(|criterion| criterion.iscsi_target().is_some()) {
                    f.write_str(" (without MPIO each session brings a disk of its own)")?;
                }
            }
        }
        // An event may show only the first.
        let mut disks: Vec<_> = self.disks.iter().collect();
        disks.sort_by_key(|disk| Reverse(self.wanted.met_by(disk)));
        let seen: Vec<_> = disks.into_iter().map(SeenDisk::to_string).collect();
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
        if self.has_names() {
            let names = [&self.identifiers[..], &self.utf8_names].concat();
            write!(f, ", page 0x83 {}", names.join(" and "))?;
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

#[cfg(test)]
mod tests {
    use super::super::{Criterion, Page83};
    use super::*;

    #[test]
    fn disks_that_nearly_match_are_listed_first() {
        const NAME: &str = "600224801234567890abcdef00000001";
        let disk = |number, name: &str, size| {
            let mut disk = SeenDisk::numbered(DiskNumber(number));
            disk.identifiers = vec![name.to_owned()];
            disk.size = Some(size);
            disk
        };
        let name = Criterion::Page83(Page83::parse(NAME).unwrap());
        let wanted = DiskQuery::all([name, Criterion::Size(5)]).unwrap();
        let other = "600224801234567890abcdef00000002";
        let disks = [(0, other, 4), (1, other, 5), (2, NAME, 5), (3, NAME, 5)];
        let disks = disks.map(|(number, name, size)| disk(number, name, size));
        let text = wanted.sole(disks.into()).unwrap_err().to_string();
        let (_, seen) = text.split_once("; seen: ").unwrap();
        let starts: Vec<_> = seen.split("; ").map(|disk| &disk[..6]).collect();
        assert_eq!(starts, ["disk 2", "disk 3", "disk 1", "disk 0"]);
    }
}
