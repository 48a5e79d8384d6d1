//! Which volumes a disk holds.
//!
//! Drivers take the first volume of the list as their own. If a volume came late or could not be
//! read, a list without it would hand them a foreign volume.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use os::{
    Deadline, DiskNumber, DriveLayout, PartitionEntry, PartitionNumber, PartitionStyle, VolumeId,
};

use crate::poll::{self, VISIBLE_WITHIN};
use crate::text::or_none;
use crate::{DiskError, Node, Unfinished, VolumeError, in_flight};

/// The volumes of a disk cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum VisibilityError {
    /// The volumes of the node cannot be listed.
    #[error("list the volumes of disk {disk}: {}", .source.cause)]
    List { disk: DiskNumber, source: os::Error },
    /// The disk has no such partition.
    #[error("disk {disk} has no partition {partition}, only {}", or_none(.seen))]
    NoSuchPartition {
        disk: DiskNumber,
        partition: PartitionNumber,
        seen: Vec<PartitionNumber>,
    },
    /// A partition still has no volume after the wait.
    #[error("partition {partition} of disk {disk} has no volume; volumes that could not be looked at: {}", or_none(.unreadable))]
    NotVisible {
        disk: DiskNumber,
        /// The first partition without one.
        partition: PartitionNumber,
        /// The volumes that could not be read; one of them may be the missing one.
        unreadable: Vec<VolumeId>,
    },
    /// The query of the volumes has not ended.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
    /// Several volumes claim one partition.
    #[error("partition {partition} of disk {disk} has not one volume but {}", or_none(.volumes))]
    Several {
        disk: DiskNumber,
        partition: PartitionNumber,
        volumes: Vec<VolumeId>,
    },
}

/// The volumes of a disk, or of one of its partitions, sorted by offset; waits for late ones.
/// Returns none for a disk that is offline, or goes offline meanwhile.
pub(crate) fn wait<E: From<DiskError> + From<VisibilityError>>(
    node: &Node,
    disk: DiskNumber,
    only: Option<PartitionNumber>,
    deadline: Deadline,
) -> Result<Vec<VolumeId>, E> {
    let mut last = None;
    let complete = poll::until(&*node.os().clock, deadline, VISIBLE_WITHIN, || {
        // The disk may be partitioned, or go offline, while this waits.
        let Some(layout) = online_layout(node, disk)? else {
            return Ok::<_, E>(Some(Vec::new()));
        };
        let survey = Survey::take(node, disk, &layout, only, deadline)?;
        match survey.is_complete() {
            true => Ok(Some(survey.into_volumes()?)),
            false => {
                last = Some(survey);
                Ok(None)
            }
        }
    })?;
    match (complete, last) {
        (Some(volumes), _) => Ok(volumes),
        (None, Some(survey)) => Ok(survey.into_volumes()?),
        (None, None) => Ok(Vec::new()),
    }
}

/// Lists each volume that has an extent on the disk, in any partition, in ascending order; does not wait. Returns an
/// empty list for an offline disk. If every partition that must have a volume has one, a volume that cannot be read
/// is on another disk.
pub(crate) fn all(
    node: &Node,
    disk: DiskNumber,
    deadline: Deadline,
) -> Result<Vec<VolumeId>, DiskError> {
    let Some(layout) = online_layout(node, disk)? else {
        return Ok(Vec::new());
    };
    let survey = Survey::of(disk, &layout, None).read_extents(node, deadline)?;
    match survey.unreadable.is_empty() || survey.is_complete() {
        true => Ok(survey.all.into_iter().collect()),
        false => Ok(survey.into_volumes()?),
    }
}

/// The kernel's layout of a disk; `None` when it is offline.
fn online_layout(node: &Node, disk: DiskNumber) -> Result<Option<DriveLayout>, DiskError> {
    match node.disk_attributes(disk)?.offline {
        true => Ok(None),
        false => node.disk_layout(disk).map(Some),
    }
}

/// The result of one query of all volumes, for one disk.
pub(crate) struct Survey {
    disk: DiskNumber,
    /// Volumes by the offset of their first byte.
    partitions: BTreeMap<u64, Claimed>,
    /// The byte range of each partition of the disk.
    places: Vec<Range<u64>>,
    /// Every volume with an extent on the disk.
    all: BTreeSet<VolumeId>,
    unreadable: Vec<VolumeId>,
}

struct Claimed {
    number: PartitionNumber,
    needs_volume: bool,
    volumes: Vec<VolumeId>,
}

impl Survey {
    /// Queries all volumes of the node.
    pub(crate) fn take(
        node: &Node,
        disk: DiskNumber,
        layout: &DriveLayout,
        only: Option<PartitionNumber>,
        deadline: Deadline,
    ) -> Result<Self, VisibilityError> {
        if let Some(partition) = only {
            require(disk, layout, partition)?;
        }
        let survey = Self::of(disk, layout, only);
        match survey.partitions.is_empty() {
            true => Ok(survey),
            false => survey.read_extents(node, deadline),
        }
    }

    fn of(disk: DiskNumber, layout: &DriveLayout, only: Option<PartitionNumber>) -> Self {
        Self {
            disk,
            partitions: candidates(layout, only),
            places: layout
                .partitions
                .iter()
                .map(|it| it.offset..it.end().unwrap_or(u64::MAX))
                .collect(),
            all: BTreeSet::new(),
            unreadable: Vec::new(),
        }
    }

    fn read_extents(mut self, node: &Node, deadline: Deadline) -> Result<Self, VisibilityError> {
        let disk = self.disk;
        let volumes = node.os().volumes.list();
        let volumes = volumes.map_err(|source| VisibilityError::List { disk, source })?;
        let look = |node: &Node, volume: &VolumeId| (*volume, node.os().volumes.extents(*volume));
        for (volume, extents) in in_flight::each(node, "list volumes", deadline, volumes, look)? {
            match extents {
                Ok(extents) => extents
                    .iter()
                    .filter(|extent| extent.disk == disk)
                    .for_each(|extent| self.claim(extent.offset, volume)),
                Err(error) => {
                    tracing::debug!(%volume, %error, "a volume does not say where it is");
                    self.unreadable.push(volume);
                }
            }
        }
        Ok(self)
    }

    /// Whether every partition that must have a volume has one. Then a volume that could not be read
    /// belongs to another disk.
    pub(crate) fn is_complete(&self) -> bool {
        self.first_without().is_none()
    }

    fn into_volumes(self) -> Result<Vec<VolumeId>, VisibilityError> {
        if let Some(partition) = self.first_without() {
            return Err(VisibilityError::NotVisible {
                disk: self.disk,
                partition,
                unreadable: self.unreadable,
            });
        }
        let mut volumes = Vec::new();
        for claimed in self.partitions.into_values() {
            match claimed.volumes.as_slice() {
                [] => {}
                // A volume on dynamic disks may have extents in several.
                [one] if volumes.contains(one) => {}
                [one] => volumes.push(*one),
                _ => {
                    return Err(VisibilityError::Several {
                        disk: self.disk,
                        partition: claimed.number,
                        volumes: claimed.volumes,
                    });
                }
            }
        }
        Ok(volumes)
    }

    fn claim(&mut self, offset: u64, volume: VolumeId) {
        self.all.insert(volume);
        let begins = self.partition_around(offset);
        if let Some(claimed) = begins.and_then(|begins| self.partitions.get_mut(&begins))
            && !claimed.volumes.contains(&volume)
        {
            claimed.volumes.push(volume);
        }
    }

    /// A partition of a dynamic disk may hold several volumes, of which only one begins at its start. Logical
    /// partitions lie within an extended one, and the innermost counts.
    fn partition_around(&self, offset: u64) -> Option<u64> {
        let around = self.places.iter().filter(|it| it.contains(&offset));
        around.map(|it| it.start).max()
    }

    fn first_without(&self) -> Option<PartitionNumber> {
        let mut without = self.partitions.values();
        let first = without.find(|claimed| claimed.needs_volume && claimed.volumes.is_empty());
        first.map(|claimed| claimed.number)
    }
}

fn require(
    disk: DiskNumber,
    layout: &DriveLayout,
    partition: PartitionNumber,
) -> Result<(), VisibilityError> {
    let seen: Vec<_> = layout.partitions.iter().map(|one| one.number).collect();
    if seen.contains(&partition) {
        return Ok(());
    }
    Err(VisibilityError::NoSuchPartition {
        disk,
        partition,
        seen,
    })
}

fn candidates(layout: &DriveLayout, only: Option<PartitionNumber>) -> BTreeMap<u64, Claimed> {
    let wanted = |partition: &&PartitionEntry| {
        only.is_none_or(|number| number == partition.number) && !is_special(partition)
    };
    let partitions = layout.partitions.iter().filter(wanted);
    partitions
        .map(|partition| {
            let claimed = Claimed {
                number: partition.number,
                needs_volume: needs_volume(layout, partition),
                volumes: Vec::new(),
            };
            (partition.offset, claimed)
        })
        .collect()
}

/// The partitions that may hold the disk's one volume, by its layout. Fails if there is none, or if several must have one.
pub(crate) fn holders(
    disk: DiskNumber,
    layout: &DriveLayout,
) -> Result<Vec<&PartitionEntry>, VolumeError> {
    let candidates = || layout.partitions.iter().filter(|it| !is_special(it));
    let certain: Vec<_> = candidates().filter(|it| needs_volume(layout, it)).collect();
    match certain.as_slice() {
        [_] => Ok(certain),
        [] if candidates().next().is_some() => Ok(candidates().collect()),
        [] => Err(VolumeError::none_on(disk)),
        several => Err(VolumeError::SeveralPartitions {
            disk,
            partitions: several.iter().map(|it| it.number).collect(),
        }),
    }
}

/// Partitions that drivers must not receive.
fn is_special(partition: &PartitionEntry) -> bool {
    [
        PartitionEntry::EFI_SYSTEM,
        PartitionEntry::RECOVERY,
        PartitionEntry::RESERVED,
    ]
    .contains(&partition.kind)
}

/// On a GPT disk, basic data partitions. On an MBR disk, all but extended partitions, which only hold others, and
/// those of a dynamic disk, whose database places the volumes.
fn needs_volume(layout: &DriveLayout, partition: &PartitionEntry) -> bool {
    match layout.style {
        PartitionStyle::Gpt { .. } => partition.kind == PartitionEntry::BASIC_DATA,
        PartitionStyle::Mbr { .. } => {
            let holds = |other: &PartitionEntry| {
                other.number != partition.number
                    && other.offset >= partition.offset
                    && other.end() <= partition.end()
            };
            let is_dynamic = partition.mbr_type == Some(PartitionEntry::MBR_DYNAMIC);
            !is_dynamic && !layout.partitions.iter().any(holds)
        }
        PartitionStyle::Raw => false,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const GPT: PartitionStyle = PartitionStyle::Gpt {
        disk_id: Uuid::nil(),
    };
    const MBR: PartitionStyle = PartitionStyle::Mbr { signature: 1 };

    fn survey(style: PartitionStyle, partitions: &[(Uuid, u64, u64)]) -> Survey {
        let partitions = (1..)
            .zip(partitions)
            .map(|(number, &(kind, offset, length))| PartitionEntry {
                number: PartitionNumber(number),
                offset,
                length,
                kind,
                mbr_type: None,
                id: Uuid::nil(),
            });
        let layout = DriveLayout {
            style,
            partitions: partitions.collect(),
        };
        Survey::of(DiskNumber(3), &layout, None)
    }

    fn volume(number: u128) -> VolumeId {
        VolumeId(Uuid::from_u128(number))
    }

    #[test]
    fn volumes_come_in_the_order_of_their_offsets_without_the_special_ones() {
        let mut survey = survey(
            GPT,
            &[
                (PartitionEntry::BASIC_DATA, 500, 10),
                (PartitionEntry::RESERVED, 1, 10),
                (PartitionEntry::EFI_SYSTEM, 20, 10),
                (PartitionEntry::RECOVERY, 40, 10),
                (PartitionEntry::BASIC_DATA, 60, 10),
            ],
        );
        for (number, offset) in [(1, 500), (2, 20), (3, 40), (4, 60)] {
            survey.claim(offset, volume(number));
        }
        assert_eq!(survey.into_volumes(), Ok(vec![volume(4), volume(1)]));
    }

    #[test]
    fn a_basic_data_partition_without_a_volume_is_no_list() {
        let mut survey = survey(
            GPT,
            &[
                (PartitionEntry::BASIC_DATA, 60, 10),
                (PartitionEntry::BASIC_DATA, 500, 10),
            ],
        );
        survey.claim(500, volume(1));
        survey.unreadable.push(volume(9));
        assert!(!survey.is_complete());
        let error = survey.into_volumes().unwrap_err();
        let expected = VisibilityError::NotVisible {
            disk: DiskNumber(3),
            partition: PartitionNumber(1),
            unreadable: vec![volume(9)],
        };
        assert_eq!(error, expected);
    }

    #[test]
    fn two_volumes_on_one_partition_are_named() {
        let mut survey = survey(GPT, &[(PartitionEntry::BASIC_DATA, 60, 10)]);
        survey.claim(60, volume(1));
        survey.claim(60, volume(2));
        assert!(survey.is_complete());
        assert!(matches!(
            survey.into_volumes(),
            Err(VisibilityError::Several { volumes, .. }) if volumes == [volume(1), volume(2)]
        ));
    }

    #[test]
    fn an_extended_partition_needs_no_volume_but_its_logical_ones_do() {
        let partitions = [(Uuid::nil(), 60, 100), (Uuid::nil(), 70, 90)];
        let mut survey = survey(MBR, &partitions);
        assert_eq!(survey.first_without(), Some(PartitionNumber(2)));
        survey.claim(70, volume(1));
        assert_eq!(survey.into_volumes(), Ok(vec![volume(1)]));
    }
}
