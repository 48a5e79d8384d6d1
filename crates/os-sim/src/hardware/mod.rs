//! The hardware as built and plugged in: the truth that the node discovers.

mod clones;
mod control;
mod disk;
mod dynamic;
mod medium;
pub(crate) mod page83;
mod parts;
pub(crate) mod place;
mod shelf;

pub use control::{Content, HardwareControl, HardwareError};
pub use disk::{
    Address, Arrives, Association, Bus, DiskSpec, Identifier, IdentifierKind, IdentifierPage,
    PciFunction, Role, SectorSize, Stretch,
};
pub use dynamic::VolumeExtent;

pub(crate) use control::Disk;
pub(crate) use medium::{Medium, Stream};
pub(crate) use parts::{Part, Parts};
