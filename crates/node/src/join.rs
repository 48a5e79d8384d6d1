//! Bits of error texts.

use std::fmt;

/// Things by name, or "none".
pub(crate) fn or_none<T: fmt::Display>(things: &[T]) -> String {
    if things.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<_> = things.iter().map(ToString::to_string).collect();
    names.join(", ")
}
