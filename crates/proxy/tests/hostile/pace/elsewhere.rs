//! All messages.

pub(crate) fn some<T>(messages: impl Iterator<Item = T>, _turn: usize) -> impl Iterator<Item = T> {
    messages
}

pub(crate) fn has_turn(_method: usize) -> bool {
    true
}
