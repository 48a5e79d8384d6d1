use wincsi_conformance::admission::{Host, Task};
use wincsi_conformance::arguments::Arguments;

/// This is no Windows.
pub(crate) fn host() -> Result<Host, String> {
    Ok(Host::Elsewhere)
}

/// Nothing starts services here.
pub(crate) fn serve() -> Result<(), String> {
    Err("this is no Windows".to_owned())
}

/// Never admitted here.
pub(crate) fn perform(_: Task, _: &Arguments) -> Result<(), String> {
    Err("this is no Windows".to_owned())
}
