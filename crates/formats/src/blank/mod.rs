//! Is a disk or a partition blank? If not, what is on it?
//!
//! Initialise, CreatePartition and Format destroy existing content, and Windows calls a disk RAW as
//! soon as it finds no partition table: a Linux filesystem on the whole disk looks like nothing
//! (kubernetes#102737, csi-proxy#104). So each of them needs permission from this module, requested
//! under the disk's lock and immediately before the write:
//!
//! 1. [`Extent`] has the ranges to read, [`View`] holds all of them or does not exist.
//! 2. [`scan`] names every known [`Signature`] in them, or the first byte that is not zero.
//! 3. [`for_initialise`], [`for_create_partition`] and [`for_format`] turn that into a
//!    [`Clearance`] or a [`Refusal`].
//!
//! Only the magic number counts. A damaged superblock is somebody's data too: a false match costs a
//! refusal, and a missed filesystem costs its contents.

mod boot;
mod clearance;
mod extent;
mod rules;
mod scan;
mod signature;
mod unfinished;
mod view;

pub use self::boot::NtfsSerial;
pub use self::clearance::{
    BlankRule, Clearance, Refusal, UnknownBlankRule, for_create_partition, for_format,
    for_initialise,
};
pub use self::extent::{Extent, ExtentError, HEAD, SectorSize, TAIL};
pub use self::scan::{Found, Verdict, scan};
pub use self::signature::Signature;
pub use self::unfinished::UnfinishedNtfs;
pub use self::view::{ShortRead, View, ViewError};
