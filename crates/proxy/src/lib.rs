//! csi-proxy anew: the storage operations of a Windows node, on csi-proxy's pipes.
//!
//! The drivers of the field call csi-proxy over one named pipe for each API group and version. This
//! crate serves the same pipes with the same calls and texts, over [`node`]. It holds no storage
//! logic: [`registry`](crate::groups::registry) says which handler answers which method, a handler
//! converts one version's messages, [`Operations`] parses what clients send into types and calls
//! `node`, and errors become the texts that clients know.

pub mod catalogue;
pub mod flags;
pub mod groups;
pub mod paths;
pub mod registry;
pub mod serve;
pub mod service;

mod audit;
mod condition;
mod disk_guards;
mod health;
mod metrics;
mod monitoring;
mod operations;
mod oversight;
mod pipe_security;
mod policy;
mod reclaim;
mod sddl;

pub use operations::Operations;
pub use oversight::{Oversight, OversightError};
pub use policy::PolicyError;
