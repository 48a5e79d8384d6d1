use os::Facility;

use crate::{CaseResult, Fixture};

/// One statement about the seam that can be false.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its statement, behind its facility: `files::a_missing_entry_is_file_not_found`.
    pub name: &'static str,
    /// The facilities called.
    pub needs: &'static [Facility],
    pub run: fn(&Fixture) -> CaseResult,
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
