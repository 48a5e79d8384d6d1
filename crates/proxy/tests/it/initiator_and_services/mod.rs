//! The groups iscsi and system over the wire, every RPC of every version, on a simulated node.

mod fixture;
mod iscsi;
mod system;
