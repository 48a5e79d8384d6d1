use os::{Root, WinPath};
use serde::{Deserialize, Serialize};

use crate::hardware::{Arrives, Bus, Content, DiskSpec, HardwareControl, HardwareError};
use crate::machine::Mount;

/// A spanned volume that a node comes with: NTFS over all of some dynamic disks, with a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SpannedSpec {
    /// The volume's letter.
    pub letter: char,
    /// How many disks there are: `spanned0` and so on.
    pub disks: u8,
    /// How many bytes each of them has, 32 MiB at least.
    pub disk_bytes: u64,
}

/// The prefix of its disks' names in the node's folder, before their numbers.
const NAME: &str = "spanned";

impl SpannedSpec {
    /// Whether a node can have it.
    pub(crate) fn is_possible(self) -> bool {
        self.letter.is_ascii_alphabetic() && self.root() != WinPath::of_root(Root::Drive('C'))
    }

    /// Plugs its disks in.
    pub(crate) fn plug_into(self, hardware: &HardwareControl) -> Result<(), HardwareError> {
        let names = self.names();
        for (lun, name) in (0..).zip(&names) {
            let disk = DiskSpec::on(Bus::Sas).serial(name).lun(lun);
            let disk = disk.arriving(Arrives::Online);
            hardware.attach_disk(name, &disk, &Content::blank(self.disk_bytes))?;
        }
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        hardware.span_disks(&names).map(drop)
    }

    /// Throws away what is left of them where a node was not finished.
    pub(crate) fn discard(hardware: &HardwareControl) -> Result<(), HardwareError> {
        for name in (0..=u8::MAX).map(name) {
            match hardware.detach_disk(&name) {
                Err(HardwareError::Missing(_)) => return Ok(()),
                other => other?,
            }
        }
        Ok(())
    }

    /// The letter's row for the mount manager of a node that is started for the first time.
    pub(crate) fn mount(self, hardware: &HardwareControl) -> Option<Mount> {
        let extents = hardware.extents_on(&name(0)).ok()?;
        Some(Mount {
            path: self.root(),
            volume: extents.first()?.volume,
        })
    }

    fn root(self) -> WinPath {
        WinPath::of_root(Root::Drive(self.letter.to_ascii_uppercase()))
    }

    fn names(self) -> Vec<String> {
        (0..self.disks).map(name).collect()
    }
}

fn name(number: u8) -> String {
    format!("{NAME}{number}")
}
