//! The contract of [`os::Files`].

pub(crate) mod entries;
pub(crate) mod links;
pub(crate) mod mounts;
pub(crate) mod names;
pub(crate) mod pins;
pub(crate) mod placeholders;
pub(crate) mod removal;
pub(crate) mod rights;
pub(crate) mod symlinks;

use os::Facility;

const FILES: &[Facility] = &[Facility::Files];
