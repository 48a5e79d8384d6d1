//! Files, directories and links: what a driver publishes with.

pub use node::api::Filesystem;
pub use node::{EntryKind, LeadsTo, Link, LinkForm, LinkTarget, ListedEntry, Listing, Look};
pub use os::{Component, LinkKind, ReparseTag, Root, Space};
