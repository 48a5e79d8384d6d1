//! Files that a machine releases only after a while.

use std::time::Duration;

use os::{Clock, Deadline, Error, Result, Win32};

/// How long another program may hold a file: scanners read a just released one.
const HELD_FOR_AT_MOST: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(100);

/// Acts on a file that was a disk until now, again while the file is in use: after its disk is detached, Windows or a
/// scanner may have it open for a while.
///
/// # Errors
/// As `act`'s; a file in use only after twenty seconds.
pub fn once_let_go<T>(clock: &dyn Clock, mut act: impl FnMut() -> Result<T>) -> Result<T> {
    let deadline = Deadline::within(clock, HELD_FOR_AT_MOST);
    loop {
        match act() {
            Err(error) if is_held(&error) && deadline.left(clock).is_some() => clock.sleep(PAUSE),
            done => return done,
        }
    }
}

/// The removal of an open file is refused as `ACCESS_DENIED` where it is mapped or marked for removal already.
fn is_held(error: &Error) -> bool {
    let codes = [Win32::ACCESS_DENIED, Win32::SHARING_VIOLATION];
    error.win32().is_some_and(|code| codes.contains(&code))
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use os::{Clock, Error, Moment, Win32};

    use super::{HELD_FOR_AT_MOST, once_let_go};

    /// Time passes only by sleeping.
    #[derive(Default)]
    struct Still(Mutex<Duration>);

    impl Clock for Still {
        fn now(&self) -> Moment {
            Moment(*self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }

        fn wall(&self) -> Duration {
            self.now().0
        }

        fn sleep(&self, duration: Duration) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) += duration;
        }
    }

    #[test]
    fn only_a_file_in_use_is_waited_for_and_not_long() {
        let refused = |code| Error::new("DeleteFileW", "a file", code);
        let clock = Still::default();
        let mut codes = vec![Win32::ACCESS_DENIED, Win32::SHARING_VIOLATION];
        let taken = once_let_go(&clock, || {
            codes.pop().map_or(Ok(7), |code| Err(refused(code)))
        });
        assert_eq!(taken, Ok(7));
        assert!(clock.now().0 > Duration::ZERO);
        for (code, least) in [
            (Win32::SHARING_VIOLATION, HELD_FOR_AT_MOST),
            (Win32::FILE_NOT_FOUND, Duration::ZERO),
        ] {
            let clock = Still::default();
            let taken: os::Result<()> = once_let_go(&clock, || Err(refused(code)));
            assert_eq!(taken, Err(refused(code)));
            let waited = clock.now().0;
            assert!(
                (least..=least * 2).contains(&waited),
                "{code:?}: {waited:?}"
            );
        }
    }
}
