//! Panics end where they arise.
//!
//! A service may panic, and so may h2 and a subscriber of the log. None of these may take
//! a thread, a listener or another client's connection along. So each piece of work that belongs
//! to one connection or one listener is contained, and the code that contains it cleans up.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; None when it panicked, which is logged.
///
/// What `work` was changing may be half changed: the caller gives it up or puts it right.
pub(crate) fn contain<T>(what: &str, work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| {
            let log = || tracing::error!(panic = text(panic.as_ref()), "{what} panicked");
            // The log may be what panics.
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
