use super::NotWindows;
use crate::Os;

pub(super) fn node(_source: &str) -> Result<Os, NotWindows> {
    Err(NotWindows)
}
