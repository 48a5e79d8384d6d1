//! The cases about the seam [`os`]: each states a part of a facility's contract, such as an error code, the effect of
//! removing a link, the equality of names.

mod clock;
mod disks;
mod files;
mod folder_fixture;
mod iscsi;
mod services;
mod smb;
mod storage;
mod system;
mod volumes;

use crate::Case;

/// All cases, by facility.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    [
        clock::CASES,
        disks::CASES,
        files::entries::CASES,
        files::links::CASES,
        files::mounts::CASES,
        files::names::CASES,
        files::pins::CASES,
        files::placeholders::CASES,
        files::removal::CASES,
        files::rights::CASES,
        files::symlinks::CASES,
        iscsi::CASES,
        services::CASES,
        smb::CASES,
        storage::CASES,
        system::afunix::CASES,
        system::boot::CASES,
        system::event_log::CASES,
        system::firmware::CASES,
        system::processes::CASES,
        volumes::CASES,
    ]
    .into_iter()
    .flatten()
}
