use super::figures::Figures;

/// What Windows says of this process. It has no cheap answer for the number of threads.
pub(super) fn sample() -> Figures {
    let Ok(usage) = os_windows::process_usage() else {
        return Figures::default();
    };
    Figures {
        cpu: Some(usage.cpu.as_secs_f64()),
        // No process is without handles: 0 is no answer.
        open_fds: (usage.handles > 0).then(|| usage.handles.into()),
        resident_bytes: u64::try_from(usage.resident_bytes).ok(),
        started: Some(usage.started.as_secs_f64()),
        ..Figures::default()
    }
}
