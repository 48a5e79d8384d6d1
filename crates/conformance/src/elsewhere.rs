use std::process::ExitCode;

use wincsi_conformance::admission::Host;
use wincsi_conformance::arguments::Arguments;

/// This is no Windows.
pub(crate) fn host() -> Result<Host, String> {
    Ok(Host::Elsewhere)
}

/// Nothing starts services here.
pub(crate) fn serve() -> ExitCode {
    ExitCode::FAILURE
}

/// Never admitted here.
pub(crate) fn call_by_handle(_: &Arguments) -> ExitCode {
    ExitCode::FAILURE
}

/// Never admitted here.
pub(crate) fn clean_up(_: &Arguments) -> ExitCode {
    ExitCode::FAILURE
}

/// Never admitted here.
pub(crate) fn run(_: &Arguments) -> ExitCode {
    ExitCode::FAILURE
}
