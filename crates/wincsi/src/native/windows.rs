use super::NotWindows;
use crate::Os;

#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
pub(super) fn node(source: &str) -> Result<Os, NotWindows> {
    Ok(os_windows::node(source))
}
