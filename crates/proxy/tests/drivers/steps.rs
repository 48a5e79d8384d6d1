//! A driver's steps: what they result in, and for how many calls its process lives.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

/// The result of a driver's step.
pub(crate) type Answer<T> = Result<T, StepFailure>;

/// The error of a killed driver.
const KILLED: &str = "the driver was killed";

/// A failed step.
pub(crate) struct StepFailure {
    step: String,
    pub(crate) text: String,
}

impl StepFailure {
    pub(crate) fn new(step: impl fmt::Display, text: impl fmt::Display) -> Self {
        Self {
            step: step.to_string(),
            text: text.to_string(),
        }
    }
}

/// Tests show it when they fail.
impl fmt::Debug for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.text)
    }
}

/// Values by name.
pub(crate) type Vars = BTreeMap<String, String>;

/// How many more calls a driver's process lives for.
#[derive(Default)]
pub(crate) struct Lifeline {
    /// For ever, when there is no number.
    left: Cell<Option<u32>>,
    is_over: Cell<bool>,
}

impl Lifeline {
    /// The process is killed while it waits for the answer to its call of this number.
    pub(crate) fn ends_with_call(&self, number: u32) {
        self.left.set(Some(number));
    }

    /// Whether the process was killed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Makes a call, unless the process was killed before; the answer is lost if it is killed now.
    pub(crate) fn call<T>(
        &self,
        step: impl fmt::Display,
        call: impl FnOnce() -> Answer<T>,
    ) -> Answer<T> {
        let killed = || Err(StepFailure::new(&step, KILLED));
        if self.is_over() {
            return killed();
        }
        let left = self.left.get();
        self.left.set(left.map(|left| left.saturating_sub(1)));
        let answer = call();
        if left == Some(1) {
            self.is_over.set(true);
            return killed();
        }
        answer
    }
}
