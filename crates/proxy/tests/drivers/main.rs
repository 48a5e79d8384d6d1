//! The calls of the CSI drivers in the field, each in its driver's order and with its driver's paths,
//! over the wire to a served simulated node.
//!
//! A driver is a script in `scripts`, which `player` plays; vSphere's is Rust. `lives` has the tests for all of them. A
//! driver's work in its own container (`Readlink`, `MkdirAll`, `ReadDir`) is done on the simulated node's files. Modes in
//! which a driver calls neither csi-proxy nor our library, but the system itself, have no calls to play: the HostProcess
//! modes of csi-driver-smb, azurefile and azuredisk, and democratic-csi's own code for Windows.

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
mod fixture;
mod lives;
mod player;
mod servers;
mod steps;

use fixture::NodeFixture;
use lives::{Ask, Driver, Form, lives_of};
use player::{Player, Source};
use steps::Answer;

/// The tests of a script: a volume's lives in its modes, and its cases.
macro_rules! scripted {
    ($file:literal [$($mode:ident)*] $($case:ident)*) => {
        const SCRIPT: Source = Source {
            file: $file,
            text: include_str!(concat!("scripts/", $file, ".txt")),
            tests: &[$(stringify!($mode),)* $(stringify!($case),)*],
        };
        $(lives_of!($mode, player::node(SCRIPT, stringify!($mode), "node"), |fixture, form| {
            Player::start(fixture, SCRIPT, stringify!($mode), form)
        });)*
        $(#[test]
        fn $case() -> Answer<()> {
            player::case(SCRIPT, stringify!($case))
        })*
    };
    ($(mod $module:ident: $file:literal $modes:tt $($case:ident)*;)+) => {
        $(mod $module {
            use super::*;
            scripted!($file $modes $($case)*);
        })+
    };
}

mod csi_driver_smb;
mod local_static_provisioner;
mod trident;
mod vsphere;

scripted! {
    mod aws_ebs: "aws_ebs" [v1] a_volume_that_vanished_is_not_taken_for_unstaged;
    mod azuredisk: "azuredisk" [v1 v1beta2];
    mod azurefile: "azurefile" [v1 v1beta1];
    mod gce_pd: "gce_pd" [v1_nvme v1beta1_scsi]
        v1_scsi_stages_a_disk_that_is_noticed_late v1_scsi_whole_life v1beta1_nvme_whole_life;
    mod longhorn: "longhorn" [v2alpha1]
        the_filesystem_that_it_asks_for_is_ntfs_whatever_it_says;
}

mod democratic_csi {
    use super::*;

    scripted! {
        mod iscsi: "democratic_csi_iscsi" [v1alpha2];
        mod smb: "democratic_csi_smb" [v1] a_path_without_a_drive_is_taken_for_missing;
    }
}
