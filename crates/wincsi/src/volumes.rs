//! Volumes: finding, formatting, mounting and growing them.

pub use node::api::{Volumes, disk_size_of};
pub use node::{
    AllocationUnit, Evidence, FileSystemType, FormatOptions, FormatOptionsError, Formatted,
    FoundVolume, NewSize, Resized,
};
pub use os::{Dacl, DaclError, EntryError, ParseVolumeIdError, PartitionNumber, Space, VolumeId};
