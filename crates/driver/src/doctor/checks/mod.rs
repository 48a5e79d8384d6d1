//! What each check of the table looks at.

pub(super) mod disks;
pub(super) mod driver;
pub(super) mod iscsi;
pub(super) mod node;
pub(super) mod shares;
