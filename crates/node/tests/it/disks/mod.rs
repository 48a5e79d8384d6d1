//! Disks: finding the right one, blankness, and the content that is written or kept.

mod attached;
mod blankness;
mod clones;
mod cluster;
mod disks;
mod field;
mod find;
mod find_at;
mod find_properties;
mod guarded;
mod hidden;
mod identity;
mod initialize_leaves_offline;
mod offline_reason;
mod online_read_only;
mod proof;
mod read_only;
mod same_disk;
mod silent;
mod spanned;
mod stale_place;
mod take_offline;
mod utf8_names;
mod write_protected;
