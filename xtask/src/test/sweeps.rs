//! How much the tests draw at random: the seed, shared by all runs, is in `.cargo/config.toml`.

use std::time::Duration;

/// Ten times what proptest draws by itself.
const FULL: &str = "2560";

#[derive(Clone, Copy, Debug)]
pub(super) enum Sweeps {
    Usual,
    /// Ten times as many cases, also in slow tests that else take a part of them.
    Full,
}

impl Sweeps {
    /// The variable wins over a test's own setting, so each would draw as many as all others.
    pub(super) fn environment(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Usual => None,
            Self::Full => Some(("PROPTEST_CASES", FULL)),
        }
    }

    /// No test program runs longer than this.
    pub(super) fn limit(self) -> Duration {
        let minutes = match self {
            Self::Usual => 10,
            Self::Full => 60,
        };
        Duration::from_secs(minutes * 60)
    }
}
