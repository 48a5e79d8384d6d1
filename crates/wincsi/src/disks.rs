//! Disks: identifiers, searches, and bringing a disk online.

pub use node::api::Disks;
pub use node::{
    Criterion, DiskIds, DiskQuery, Excluded, FoundDisk, Guarded, Location, NamespaceConvention,
    NotEnough, NotIdentified, OfflineReason, Page83, SeenDisk, SerialNumber, TrivialName,
};
pub use os::DiskNumber;
