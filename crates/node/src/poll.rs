//! Waiting by the node's own clock, which may be virtual.

use std::time::Duration;

use os::{Clock, Deadline};

/// The longest that a thread sleeps before it looks at the node's clock again. A virtual clock moves
/// without waking anybody.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// How long an operation waits for Windows to show what it has just made: a partition, a volume, a
/// filesystem. On real nodes it takes seconds at most.
pub(crate) const VISIBLE_WITHIN: Duration = Duration::from_secs(30);

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Asks `attempt` until it answers, for at most `limit` and not beyond `deadline`. `None` when it
/// did not; it was asked at least once, and once more after the last pause.
///
/// # Errors
/// The first error of `attempt`.
pub(crate) fn until<T, E>(
    clock: &dyn Clock,
    deadline: Deadline,
    limit: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, E>,
) -> Result<Option<T>, E> {
    let end = deadline.min(Deadline::within(clock, limit));
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(answer) = attempt()? {
            return Ok(Some(answer));
        }
        let Some(left) = end.left(clock) else {
            return Ok(None);
        };
        clock.sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use os::Moment;

    use super::*;

    /// A clock that moves only when it is told to, or when somebody sleeps by it.
    #[derive(Default)]
    pub(crate) struct HandClock(Mutex<Duration>);

    impl HandClock {
        pub(crate) fn advance(&self, by: Duration) {
            *self.0.lock().unwrap() += by;
        }
    }

    impl Clock for HandClock {
        fn now(&self) -> Moment {
            Moment(*self.0.lock().unwrap())
        }

        fn wall(&self) -> Duration {
            self.now().0
        }

        fn sleep(&self, duration: Duration) {
            self.advance(duration);
        }
    }

    #[test]
    fn it_asks_until_there_is_an_answer() {
        let clock = HandClock::default();
        let mut asked = 0;
        let answer = until(&clock, Deadline::NEVER, Duration::from_secs(1), || {
            asked += 1;
            Ok::<_, Infallible>((asked == 4).then_some(asked))
        });
        assert_eq!(answer, Ok(Some(4)));
        assert_eq!(clock.now().0, Duration::from_millis(10 + 20 + 40));
    }

    #[test]
    fn it_ends_at_the_limit_or_the_deadline_whichever_is_first() {
        for (limit, deadline) in [(3, 60), (60, 3)] {
            let clock = HandClock::default();
            let deadline = Deadline::within(&clock, Duration::from_secs(deadline));
            let mut last = None;
            let answer = until(&clock, deadline, Duration::from_secs(limit), || {
                last = Some(clock.now().0);
                Ok::<Option<()>, Infallible>(None)
            });
            assert_eq!(answer, Ok(None));
            assert_eq!(
                last,
                Some(Duration::from_secs(3)),
                "asked once more at the end"
            );
        }
    }
}
