//! Bits of texts.

use std::fmt;
use std::str::FromStr;

/// Things by name, or "none".
pub(crate) fn or_none<T: fmt::Display>(things: &[T]) -> String {
    if things.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<_> = things.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// Only digits: `parse` takes a sign as well.
pub(crate) fn number<N: FromStr>(text: &str) -> Option<N> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}
