//! The part of the messages that is sent where pipes are slow, as they are under Wine: the server's code
//! behind the pipe is the same, and every method and field has its turn.

/// Of the messages to a method or field, one in so many.
pub(crate) const EVERY: usize = 16;

/// Of the methods, one in so many gets what takes several messages or megabytes.
pub(crate) const SIZABLE: usize = 12;
