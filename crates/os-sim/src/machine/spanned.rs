//! Volumes of dynamic disks, which lie on parts of one disk or several.

use std::collections::BTreeMap;
use std::sync::Arc;

use os::{Cause, DiskNumber, Extent, VolumeId};
use uuid::Uuid;

use super::{Home, Machine, millis, moment};
use crate::hardware::{Medium, Part, Parts, Stretch, VolumeExtent};
use crate::ondisk::{Area, Partition};

/// A volume of which all parts are there.
#[derive(Debug)]
pub(crate) struct Spanned {
    /// In the order of the volume's bytes.
    pub(super) extents: Vec<SpannedExtent>,
    medium: Medium,
    /// Stretches of the volume that answer with a medium error.
    unreadable: Vec<Stretch>,
    length: u64,
}

/// A part of it.
#[derive(Debug)]
pub(super) struct SpannedExtent {
    /// The disk's name in the node's folder.
    pub(super) disk: String,
    /// The kernel's extent.
    pub(super) extent: Extent,
    /// Where in the volume it begins.
    begins: u64,
}

/// A part as a disk reports it, and the disk's name.
type ReportedExtent<'a> = (VolumeExtent, &'a str);

impl Machine {
    /// A volume goes with the first of its disks that goes, and comes a while after the last.
    pub(super) fn find_spanned(&mut self) {
        let mut reported = BTreeMap::<Uuid, Vec<ReportedExtent<'_>>>::new();
        for (name, present) in &self.present {
            let extents = present.disk.spec.extent.iter();
            for extent in extents.filter(|_| present.table.is_dynamic()) {
                reported
                    .entry(extent.volume)
                    .or_default()
                    .push((*extent, name));
            }
        }
        let whole = reported.into_iter().filter_map(|(volume, reported)| {
            let spanned = self.joined(reported)?;
            Some((volume, Arc::new(spanned)))
        });
        self.spanned = whole.collect();
        let due = millis(self.now).saturating_add(self.spec.volume_delay_ms);
        let known = &self.state.spanned;
        let volumes = self.spanned.keys();
        let wanted = volumes.map(|volume| (*volume, known.get(volume).copied().unwrap_or(due)));
        let wanted: BTreeMap<_, _> = wanted.collect();
        if self.state.spanned != wanted {
            self.state.spanned = wanted;
        }
    }

    pub(super) fn spanned_home(&self, volume: VolumeId) -> Option<Home> {
        let spanned = self.spanned.get(&volume.0)?;
        let due = self.state.spanned.get(&volume.0)?;
        if moment(*due) > self.now {
            return None;
        }
        let first = spanned.extents.first()?;
        Some(Home {
            disk: first.disk.clone(),
            number: first.extent.disk.0,
            partition: Partition::whole(volume.0, spanned.length),
            spanned: Some(Arc::clone(spanned)),
        })
    }

    /// The area around the volume's partition: a disk, or all of a spanned volume.
    pub(crate) fn area_of<'a>(&'a self, home: &'a Home) -> Result<Area<'a>, Cause> {
        let area = self.area(&home.disk)?;
        Ok(match &home.spanned {
            None => area,
            Some(spanned) => Area {
                medium: &spanned.medium,
                length: spanned.length,
                unreadable: &spanned.unreadable,
                ..area
            },
        })
    }

    /// The spanned volumes of which the disk has a part.
    pub(crate) fn spanned_on(&self, disk: &str) -> impl Iterator<Item = VolumeId> {
        let is_on_it = move |spanned: &Spanned| spanned.extents.iter().any(|it| it.disk == disk);
        let volumes = self.spanned.iter();
        volumes.filter_map(move |(id, spanned)| is_on_it(spanned).then_some(VolumeId(*id)))
    }

    /// `None` while a part is missing, or its disk offline.
    fn joined(&self, mut reported: Vec<ReportedExtent<'_>>) -> Option<Spanned> {
        reported.sort_by_key(|(extent, _)| extent.part);
        let of = reported.first()?.0.of;
        let is_whole = reported.iter().map(|(extent, _)| extent.part).eq(0..of);
        if !is_whole || reported.iter().any(|(extent, _)| extent.of != of) {
            return None;
        }
        let mut length = 0;
        let mut extents = Vec::new();
        for (extent, name) in reported {
            extents.push(self.extent(extent, name, length)?);
            length += extent.length;
        }
        let parts = extents.iter().map(|it| {
            Some(Part {
                medium: self.present.get(&it.disk)?.disk.medium.clone(),
                offset: it.extent.offset,
                length: it.extent.length,
            })
        });
        let parts: Vec<_> = parts.collect::<Option<_>>()?;
        Some(Spanned {
            medium: Medium::Parts(Parts::of(parts)),
            unreadable: extents.iter().flat_map(|it| self.unreadable(it)).collect(),
            extents,
            length,
        })
    }

    fn extent(&self, reported: VolumeExtent, name: &str, begins: u64) -> Option<SpannedExtent> {
        let kernel = self.state.disks.get(name).filter(|it| !it.is_offline)?;
        Some(SpannedExtent {
            disk: name.to_owned(),
            extent: Extent {
                disk: DiskNumber(kernel.number?),
                offset: reported.offset,
                length: reported.length,
            },
            begins,
        })
    }

    fn unreadable(&self, of: &SpannedExtent) -> Vec<Stretch> {
        let present = self.present.get(&of.disk);
        let bad = present.into_iter().flat_map(|it| &it.disk.spec.unreadable);
        let extent = of.extent;
        let within = bad.filter_map(|bad| {
            let from = bad.offset.max(extent.offset);
            let to = bad.offset.saturating_add(bad.length);
            let to = to.min(extent.offset.saturating_add(extent.length));
            Some(Stretch {
                offset: of.begins + (from - extent.offset),
                length: to.checked_sub(from)?,
            })
        });
        within.collect()
    }
}
