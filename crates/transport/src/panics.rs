//! Panics end where they arise.
//!
//! A service may panic, and so may h2 and a subscriber of the log. None of these may take a thread,
//! a listener or another client's connection along. So each piece of work for one connection or one
//! listener is contained, and its container cleans up.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; logs a panic and returns None.
///
/// `work` may have left a change half done: the caller discards or repairs it.
pub(crate) fn contain<T>(what: &str, work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| {
            let log = || tracing::error!(panic = text(panic.as_ref()), "{what} panicked");
            // The log itself may panic.
            let _ = catch_unwind(AssertUnwindSafe(log));
        })
        .ok()
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    #[test]
    fn work_that_panics_is_none_whatever_it_panics_with() {
        assert_eq!(contain("work", || 1), Some(1));
        assert_eq!(contain::<()>("work", || panic!("text {}", 1)), None);
        assert_eq!(contain::<()>("work", || panic_any(7)), None);
    }
}
