//! The processor time of this process.

use std::time::Duration;

use rustix::time::ClockId;
use rustix::time::clock_gettime;

pub(crate) fn spent() -> Option<Duration> {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).ok()
}
