//! wincsi-controller, the CSI controller of shares: a claim becomes a folder, and goes again, without mount or root.
//!
//! It speaks SMB itself, by the crate `smb`, and calls no API of Kubernetes. Parameters, Secrets, handles and contexts
//! are csi-driver-smb's, and a volume that the node would refuse is not made: source, folder and mount options are read
//! by the node's own parsers.
//!
//! - [`requests`]: requests of CSI to types.
//! - [`volumes`]: what is done on a share: records, locks, create, delete.
//! - [`service`]: the Controller service: requests to `volumes`, outcomes to answers.
//! - [`code`]: failures to gRPC's codes.
//! - [`flags`], [`serve`]: the program.

#![forbid(unsafe_code)]

pub mod code;
pub mod flags;
pub mod requests;
pub mod serve;
pub mod service;
pub mod volumes;
