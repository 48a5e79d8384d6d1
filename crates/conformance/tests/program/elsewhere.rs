use libtest_mimic::Failed;

use super::Attempt;

/// Nothing can be changed here.
pub(crate) fn with_leave() -> &'static [(&'static str, Attempt)] {
    &[("it_runs_no_case_on_linux", it_runs_no_case_on_linux)]
}

fn it_runs_no_case_on_linux() -> Result<(), Failed> {
    super::is_refused_because("this is no Windows")
}
