//! The calls of the CSI drivers in the field, each in its driver's order and with its driver's paths,
//! over the wire to a served simulated node.
//!
//! A driver is a file here, with its calls to csi-proxy as small functions; `lives` has the tests for all of them. A
//! driver's work in its own container (`Readlink`, `MkdirAll`, `ReadDir`) is done on the simulated node's files. Modes
//! in which a driver calls neither csi-proxy nor our library, but the system itself, have no calls to play: the
//! HostProcess modes of csi-driver-smb, azurefile and azuredisk, and democratic-csi's own code for Windows.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]
#![cfg_attr(
    windows,
    allow(dead_code, reason = "on Windows nothing restarts or is killed")
)]

mod bystanders;
mod calls;
mod fixture;
mod lives;
mod servers;
mod share_mounter;

mod aws_ebs;
mod azuredisk;
mod azurefile;
mod csi_driver_smb;
mod democratic_csi;
mod gce_pd;
mod local_static_provisioner;
mod longhorn;
mod trident;
mod vsphere;
