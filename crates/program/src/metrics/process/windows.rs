use os_windows::ProcessUsage;

use super::figures::Figures;

/// The most handles of a process on Windows: a constant there, not a limit of the process. Sources:
/// <https://learn.microsoft.com/en-us/windows/win32/sysinfo/kernel-objects>, and client_golang's collector for Windows,
/// which exports the same.
const MAX_HANDLES: u64 = 16 << 20;

/// Windows's figures of this process, as client_golang reads them: its collector for Windows exports `PrivateUsage` as
/// the virtual memory. The system has no cheap answer for the number of threads.
pub(super) fn sample() -> Figures {
    os_windows::process_usage()
        .as_ref()
        .map_or_else(|_| Figures::default(), figures)
}

/// No process is without handles, or memory of its own: 0 is no answer.
fn figures(usage: &ProcessUsage) -> Figures {
    Figures {
        cpu: Some(usage.cpu.as_secs_f64()),
        open_fds: (usage.handles > 0).then(|| usage.handles.into()),
        max_fds: Some(MAX_HANDLES),
        resident_bytes: u64::try_from(usage.resident_bytes).ok(),
        virtual_bytes: u64::try_from(usage.private_bytes)
            .ok()
            .filter(|bytes| *bytes > 0),
        started: Some(usage.started.as_secs_f64()),
        ..Figures::default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use os_windows::ProcessUsage;

    use super::{figures, sample};

    #[test]
    fn the_figures_are_those_of_a_running_process() {
        let figures = sample();
        assert!(figures.cpu.is_some_and(|seconds| seconds < 3600.0));
        assert_eq!(figures.max_fds, Some(16_777_216));
        assert!(figures.resident_bytes.is_some_and(|bytes| bytes > 100_000));
        assert!(figures.started.is_some_and(|time| time > 1.6e9));
    }

    #[test]
    fn memory_of_its_own_is_the_virtual_memory_and_zero_is_no_answer() {
        let of = |private_bytes, handles| {
            let usage = ProcessUsage {
                cpu: Duration::ZERO,
                handles,
                private_bytes,
                resident_bytes: 1,
                started: Duration::ZERO,
            };
            let figures = figures(&usage);
            (figures.virtual_bytes, figures.open_fds)
        };
        assert_eq!(of(4096, 7), (Some(4096), Some(7)));
        assert_eq!(of(0, 0), (None, None));
    }
}
