//! Giving a volume a filesystem.

use formats::blank;
use os::Arguments;
use os::Deadline;
use os::Value;
use os::VolumeId;
use os::schema::volume;

use super::VolumeError;
use super::place::Place;
use crate::Node;
use crate::blank::Stretch;
use crate::patience;
use crate::patience::VISIBLE_WITHIN;
use crate::provider::ProviderError;
use crate::storage;

/// One call of `FormatVolume`.
pub(super) struct Formatting<'a> {
    pub(super) node: &'a Node,
    pub(super) volume: VolumeId,
    pub(super) deadline: Deadline,
}

impl Formatting<'_> {
    pub(super) fn run(&self) -> Result<(), VolumeError> {
        let place = Place::take(self.node, "format", self.volume, self.deadline)?;
        let row = self.row(&place)?;
        self.prove_blank(&place)?;
        // Last, so that what is formatted is what was proved blank.
        place.require_unmoved(self.node, self.volume)?;
        row.callee(self.node).invoke(&volume::FORMAT, &ntfs())?;
        self.await_file_system()
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

    fn prove_blank(&self, place: &Place) -> Result<(), VolumeError> {
        self.node
            .check(self.deadline, "format volume", &self.volume)?;
        let stretch = Stretch {
            disk: place.disk.number,
            offset: place.partition.offset,
            length: place.partition.length,
        };
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

/// A quick NTFS format: csi-proxy's arguments.
fn ntfs() -> Arguments {
    use volume::format as parameter;
    Arguments::none()
        .with(parameter::FILE_SYSTEM.name, Value::text("NTFS"))
        .with(parameter::FILE_SYSTEM_LABEL.name, Value::text(""))
        .with(parameter::FULL.name, Value::Bool(false))
        .with(parameter::FORCE.name, Value::Bool(true))
}
