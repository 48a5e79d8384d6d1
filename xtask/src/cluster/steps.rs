//! What the cluster prints: a line for each step.

use std::time::Instant;

pub(super) struct Steps {
    began: Instant,
}

impl Steps {
    pub(super) fn begin() -> Self {
        Self {
            began: Instant::now(),
        }
    }

    /// Says that a step is done, and by what that was seen.
    pub(super) fn done(&self, step: &str, shown_by: &str) {
        let seconds = self.began.elapsed().as_secs_f32();
        println!("{seconds:>6.1} s  {step:<17}  {shown_by}");
    }
}
