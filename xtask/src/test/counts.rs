//! How many tests ended how.

use std::iter::Sum;
use std::ops::Add;

/// How many tests ended how.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) skipped: u32,
}

impl Counts {
    pub(super) const fn passed(passed: u32) -> Self {
        Self {
            passed,
            failed: 0,
            skipped: 0,
        }
    }

    pub(super) const fn failed(failed: u32) -> Self {
        Self {
            passed: 0,
            failed,
            skipped: 0,
        }
    }

    pub(super) const fn skipped(skipped: u32) -> Self {
        Self {
            passed: 0,
            failed: 0,
            skipped,
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Self::add)
    }
}
