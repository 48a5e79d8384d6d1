//! csi-proxy in Rust: the storage operations of a Windows node, on csi-proxy's pipes.
//!
//! The drivers of the field call csi-proxy over one named pipe for each API group and version. This crate serves the
//! same pipes with the same calls and texts, over [`node`]. It holds no storage logic:
//! [`registry`](crate::groups::registry) has the handler of each method, a handler converts one version's messages,
//! [`PipeOperations`] parses clients' values into types and calls `node`, and errors become the texts that clients
//! know.
//!
//! Around each call are the policy before it, and metrics and the audit log after it, for a call that panics too
//! (`middleware`). `catalogue` has each operation once, with its names in the versions. `paths` has csi-proxy's path
//! rules with its texts, and the working folders. `disk_guards` queries all disks on a thread of its own, for the log
//! at the start and for `/healthz?verbose` later. `/readyz` queries the node through a method that each group's service
//! has beside its table (`health::LOOK`), for its own process only. `service` installs the program as a service; it
//! reads the access to the program from a descriptor's text (`sddl`), so Linux tests it.

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
mod middleware;
mod monitoring;
mod operations;
mod pipe_security;
mod policy;
mod reclaim;
mod sddl;

pub use middleware::{Middleware, MiddlewareError};
pub use operations::PipeOperations;
pub use policy::PolicyError;
