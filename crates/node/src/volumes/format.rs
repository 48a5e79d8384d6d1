//! Giving a volume a filesystem.

use formats::blank;
use formats::partition_kind::PartitionKind;
use os::schema::volume;
use os::{Arguments, Deadline, PartitionStyle, Root, Value, VolumeId, WinPath};

use super::place::Place;
use super::{FormatOptions, NamedVolume, VolumeError};
use crate::blank::Stretch;
use crate::disks::guard::Reach;
use crate::patience::{self, VISIBLE_WITHIN};
use crate::provider::ProviderError;
use crate::{DiskError, Node, storage};

/// How a volume came to the filesystem that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formatted {
    /// It had that already, and nothing was changed.
    Before,
    /// It was blank, or an earlier call had not come to its end: it was formatted.
    Now,
    /// It had one already, and the node does not say which. In this process it always does.
    Unsaid,
}

/// One format of a volume.
pub(super) struct Formatting<'a> {
    pub(super) node: &'a Node,
    pub(super) volume: VolumeId,
    pub(super) named: NamedVolume<'a>,
    pub(super) options: &'a FormatOptions,
    pub(super) deadline: Deadline,
}

impl Formatting<'_> {
    /// Formats what is blank, as csi-proxy's `FormatVolume` does: one call, whatever comes of it.
    pub(super) fn run(&self) -> Result<(), VolumeError> {
        let place = self.place()?;
        self.format(&place, &self.options.label)
    }

    /// Goes on from wherever an earlier call ended.
    pub(super) fn ensure(&self) -> Result<Formatted, VolumeError> {
        let place = self.place()?;
        let found = self.node.os().volumes.file_system(self.volume);
        let found = found.map_err(VolumeError::failed("look at", self.volume))?;
        let wanted = self.options.file_system;
        match found {
            None => {
                self.format(&place, self.options.first_label())?;
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
            Some(_) => place.require_unmoved(self.node, self.named, self.deadline)?,
        }
        self.finish(&place)?;
        Ok(Formatted::Now)
    }

    fn place(&self) -> Result<Place, VolumeError> {
        Place::take(self.node, "format", self.named, Reach::Blank, self.deadline)
    }

    fn format(&self, place: &Place, label: &str) -> Result<(), VolumeError> {
        let row = self.row(place)?;
        let kind = self.kind(place)?;
        self.prove_blank(place)?;
        stretch(place).prove_own(self.node, kind)?;
        // Last, so that what is formatted is what was proved blank.
        place.require_unmoved(self.node, self.named, self.deadline)?;
        let arguments = arguments(self.options, label);
        row.callee(self.node).invoke(&volume::FORMAT, &arguments)?;
        self.await_file_system()
    }

    /// The list first, then the label that says that it is there.
    fn finish(&self, place: &Place) -> Result<(), VolumeError> {
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
        let row = self.row(place)?;
        let callee = row.callee(self.node);
        Ok(callee.invoke(&volume::SET_FILE_SYSTEM_LABEL, &arguments)?)
    }

    /// The provider's object, which may be late.
    fn row(&self, place: &Place) -> Result<storage::Volume, VolumeError> {
        let mut refreshed = false;
        let clock = &*self.node.os().clock;
        let row =
            patience::until(
                clock,
                self.deadline,
                VISIBLE_WITHIN,
                || match storage::Volume::find(self.node, self.volume, self.deadline) {
                    Err(ProviderError::NotFound { .. }) => {
                        if !std::mem::replace(&mut refreshed, true) {
                            place.disk.refresh(self.node);
                        }
                        Ok(None)
                    }
                    found => found.map(Some),
                },
            )?;
        let what = format!("volume {}", self.volume);
        row.ok_or_else(|| ProviderError::not_found(&what).into())
    }

    /// Whose the partition is. The kernel's layout, as the seam has it, tells of GPT disks alone.
    fn kind(&self, place: &Place) -> Result<PartitionKind, VolumeError> {
        if let PartitionStyle::Gpt { .. } = place.layout.style {
            return Ok(PartitionKind::Gpt(place.partition.kind));
        }
        let row = place.row(self.node, self.deadline)?;
        let kind = row.mbr_type.and_then(|kind| u8::try_from(kind).ok());
        let differ = || DiskError::ViewsDiffer {
            disk: place.disk.number,
            kernel: "an MBR partition".to_owned(),
            provider: format!("one of type {:?}", row.mbr_type),
        };
        Ok(PartitionKind::Mbr(kind.ok_or_else(differ)?))
    }

    fn prove_blank(&self, place: &Place) -> Result<(), VolumeError> {
        self.node
            .check(self.deadline, "format volume", &self.volume)?;
        let stretch = stretch(place);
        Ok(stretch.prove_blank(self.node, blank::for_format, self.deadline)?)
    }

    fn await_file_system(&self) -> Result<(), VolumeError> {
        let os = self.node.os();
        let seen = patience::until(&*os.clock, self.deadline, VISIBLE_WITHIN, || {
            let file_system = os.volumes.file_system(self.volume);
            file_system.map_err(VolumeError::failed("look at", self.volume))
        })?;
        match seen {
            Some(_) => Ok(()),
            None => Err(VolumeError::FormatUnseen {
                volume: self.volume,
            }),
        }
    }
}

fn stretch(place: &Place) -> Stretch {
    Stretch {
        disk: place.disk.number,
        offset: place.partition.offset,
        length: place.partition.length,
    }
}

/// A quick format. Of the default options these are csi-proxy's arguments.
fn arguments(options: &FormatOptions, label: &str) -> Arguments {
    use volume::format as parameter;
    let arguments = Arguments::none()
        .with(
            parameter::FILE_SYSTEM.name,
            Value::text(options.file_system.name()),
        )
        .with(parameter::FILE_SYSTEM_LABEL.name, Value::text(label))
        .with(parameter::FULL.name, Value::Bool(false))
        .with(parameter::FORCE.name, Value::Bool(true));
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

    /// What csi-proxy sends: all else is null.
    #[test]
    fn the_default_options_are_what_csi_proxy_sends() {
        let wanted = Arguments::none()
            .with("FileSystem", Value::text("NTFS"))
            .with("FileSystemLabel", Value::text(""))
            .with("Full", Value::Bool(false))
            .with("Force", Value::Bool(true));
        assert_eq!(arguments(&FormatOptions::default(), ""), wanted);
    }
}
