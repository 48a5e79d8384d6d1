//! Volumes that are disks, as kubelet drives them, on a simulated node.

#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod away;
mod collect;
mod crash;
mod deadlines;
#[path = "../deaths/mod.rs"]
mod deaths;
mod doctor;
mod doctor_random;
#[cfg(unix)]
mod failures;
mod fixture;
mod growth;
mod health;
mod intruder;
mod inventories;
mod iscsi;
mod iscsi_logins;
mod iscsi_others;
mod iscsi_random;
mod iscsi_secrets;
mod kinds;
mod late;
mod life;
mod machines;
mod patient;
mod protected;
mod readers;
mod reconcile;
mod refused;
mod repeated;
#[path = "../support/mod.rs"]
mod support;
mod sweeps;
mod unstage;

use self::fixture::Host;

/// tests/pipes.rs runs the cases that need no more than csi-proxy's pipes have.
const HOST: Host = Host::InProcess;
