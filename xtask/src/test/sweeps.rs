//! How much the tests draw at random: the seed, which all runs share, stands in `.cargo/config.toml`.

use std::time::Duration;

/// How many cases a property test draws; one that is slow takes a part of them.
const USUAL: u32 = 256;

#[derive(Clone, Copy, Debug)]
pub(super) enum Sweeps {
    Usual,
    /// Ten times as many cases.
    Full,
}

impl Sweeps {
    pub(super) fn environment(self) -> [(&'static str, String); 1] {
        let cases = match self {
            Self::Usual => USUAL,
            Self::Full => 10 * USUAL,
        };
        [("PROPTEST_CASES", cases.to_string())]
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
