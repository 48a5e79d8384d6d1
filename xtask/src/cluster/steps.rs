//! The cluster's output: a line for each step.

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

    /// Prints that a step is done, and its proof.
    pub(super) fn done(&self, step: &str, shown_by: &str) {
        let seconds = self.began.elapsed().as_secs_f32();
        println!("{seconds:>6.1} s  {step:<17}  {shown_by}");
    }
}
