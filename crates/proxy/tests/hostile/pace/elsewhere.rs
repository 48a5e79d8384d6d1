//! All of it.

pub(crate) const EVERY: usize = 1;
pub(crate) const SIZABLE: usize = 1;
