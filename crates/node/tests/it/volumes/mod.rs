//! Volumes, what they are mounted at, and the paths and files by which they are reached.

mod closest;
mod directory_links;
mod entry_kinds;
mod filesystem;
mod find_volume;
mod format;
mod leftovers;
mod mounts;
mod released;
mod resize;
mod resolved_paths;
mod space;
mod spanned;
mod stale_mounts;
mod targets;
mod unfinished;
mod volumes;
