use std::time::Duration;

use os::Result;

use crate::failure;
use crate::raw::process;

/// 100 ns units between 1601, where Windows's time begins, and 1970.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

/// This process's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessUsage {
    /// Processor time, in the kernel and in user code together.
    pub cpu: Duration,
    /// Open handles. Wine 8 answers 0.
    pub handles: u32,
    /// Memory committed for this process alone, in bytes (`PrivateUsage`). Wine 8 answers 0. Source:
    /// <https://learn.microsoft.com/en-us/windows/win32/api/psapi/ns-psapi-process_memory_counters_ex>
    pub private_bytes: usize,
    /// The working set, in bytes.
    pub resident_bytes: usize,
    /// When the process began, as time since the Unix epoch.
    pub started: Duration,
}

/// Queries this process's resources.
///
/// # Errors
/// The system does not say.
pub fn process_usage() -> Result<ProcessUsage> {
    let failed = |operation| move |code| failure::error(operation, "this process", code);
    let times = process::times().map_err(failed("GetProcessTimes"))?;
    let memory = process::memory().map_err(failed("K32GetProcessMemoryInfo"))?;
    Ok(ProcessUsage {
        cpu: duration(times.kernel.saturating_add(times.user)),
        handles: process::handles().map_err(failed("GetProcessHandleCount"))?,
        private_bytes: memory.private,
        resident_bytes: memory.resident,
        started: duration(times.created.saturating_sub(UNIX_EPOCH)),
    })
}

fn duration(units: u64) -> Duration {
    Duration::from_nanos(units.saturating_mul(100))
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::process_usage;

    #[test]
    fn the_figures_are_those_of_a_running_process() {
        let usage = process_usage().expect("the system says");
        assert!(usage.resident_bytes > 100_000);
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        assert!(usage.started <= now && now - usage.started < std::time::Duration::from_secs(3600));
    }
}
