//! Kinds of volumes: each in a folder.

pub mod block;
pub mod disk;
pub mod share;
