//! wincsi, the CSI node plugin: volumes of Windows pods, with kubelet's registration and health built in.
//!
//! `wincsi node` serves CSI's Identity and Node services and kubelet's registration. Each operation on the node goes
//! through the facade [`wincsi`], in this process, over csi-proxy's pipes, or on a simulated node: the crate knows no
//! WMI and no Win32, and passes disk numbers on as it finds them.
//!
//! - [`kubelet`]: messages to requests, outcomes to messages and codes.
//! - [`life`]: the life of a volume, of any kind.
//! - [`kinds`]: kinds of volumes: disks, LUNs, shares.
//! - [`record`]: one record a volume, on this machine's disk, written before the act.
//! - [`code`]: the table of conditions and gRPC codes.
//! - [`cluster_dns`]: addresses of the cluster's services.
//! - [`path`]: kubelet's paths, compared as Windows does.
//! - [`machine`]: kubelet's files and the event log.
//! - [`in_flight`]: which calls run, so that none meets another for the same volume.
//! - [`admission`]: whether calls may begin, and which a drain waits for.
//! - [`doctor`]: `wincsi doctor`: one table of checks, by the running driver or by the command itself.
//! - [`lifecycle`]: `wincsi node drain` and `wincsi node deregister`.
//! - [`serve`]: sockets, registration, health, and the order of start and end.

pub mod admission;
pub mod cluster_dns;
pub mod code;
pub mod doctor;
pub mod flags;
pub mod host;
pub mod in_flight;
pub mod kinds;
pub mod kubelet;
mod leases;
pub mod life;
pub mod lifecycle;
pub mod machine;
pub mod path;
pub mod record;
pub mod serve;
mod unpoisoned;
mod words;

/// The driver's name in Kubernetes, unless `-drivername` has another.
pub const NAME: &str = "wincsi.io";

pub const EVENT_SOURCE: &str = "wincsi";
