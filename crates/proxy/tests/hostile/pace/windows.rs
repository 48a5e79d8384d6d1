//! The part of the messages for slow pipes, as under Wine: the server's code behind the pipe is the same, and every
//! method and field has its turn.

/// One in so many messages to a method or field, others each turn.
pub(crate) fn some<T>(messages: impl Iterator<Item = T>, turn: usize) -> impl Iterator<Item = T> {
    const EVERY: usize = 16;
    messages.skip(turn % EVERY).step_by(EVERY)
}

/// One in so many methods, where one takes several messages or megabytes.
pub(crate) fn has_turn(method: usize) -> bool {
    method.is_multiple_of(12)
}
