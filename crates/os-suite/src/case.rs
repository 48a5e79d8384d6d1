use os::Facility;

use crate::{
    Fixture, SuiteFailure, clock, disks, files, iscsi, services, smb, storage, system, volumes,
};

/// One statement about the seam that can be false.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its statement, behind its facility: `files::a_missing_entry_is_file_not_found`.
    pub name: &'static str,
    /// The facilities called.
    pub needs: &'static [Facility],
    pub run: fn(&Fixture) -> Result<(), SuiteFailure>,
}

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
        volumes::CASES,
    ]
    .into_iter()
    .flatten()
}

/// Declares the cases of a module: each is a function with its statement as the name.
macro_rules! declare {
    ($facility:literal, $needs:expr; $($case:ident),* $(,)?) => {
        pub(crate) const CASES: &[$crate::Case] = &[
            $($crate::Case {
                name: concat!($facility, "::", stringify!($case)),
                needs: $needs,
                run: $case,
            },)*
        ];
    };
}

pub(crate) use declare;
