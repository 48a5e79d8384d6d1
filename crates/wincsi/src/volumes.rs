//! Volumes: finding, formatting, mounting and growing them.

pub use node::api::{Volumes, WriteRefusal, disk_size_of, write_refusal_of};
pub use node::{
    AllocationUnit, Evidence, FileSystemType, FormatOptions, FormatOptionsError, Formatted,
    FoundVolume, NewSize, Resized,
};
pub use os::{Dacl, DaclError, EntryError, ParseVolumeIdError, PartitionNumber, Space, VolumeId};
