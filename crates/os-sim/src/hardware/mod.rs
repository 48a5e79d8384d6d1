//! What somebody built and plugged in: the truth that the node discovers.

mod clones;
mod control;
mod disk;
mod medium;
pub(crate) mod page83;
pub(crate) mod place;
mod shelf;

pub use control::{Content, HardwareControl, HardwareError};
pub use disk::{
    Address, Arrives, Association, Bus, DiskSpec, Identifier, IdentifierKind, IdentifierPage,
    PciFunction, Role, SectorSize, Stretch,
};

pub(crate) use control::Disk;
pub(crate) use medium::{Medium, Stream};
