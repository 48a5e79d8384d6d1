//! The kernel's counts for a process. A Windows program under Wine is a Linux process too.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process::Background;

const STEADY: Duration = Duration::from_secs(60);

/// A process's CPU seconds so far, in user and kernel mode, all threads together.
pub(super) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("read /proc/PID/stat")?;
    let ticks = cpu_ticks(&stat).with_context(|| format!("/proc/{pid}/stat: {stat}"))?;
    let per_second = u32::try_from(rustix::param::clock_ticks_per_second())?;
    Ok(f64::from(ticks) / f64::from(per_second))
}

pub(super) fn threads(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    Ok(f64::from(u32::try_from(kib(&text, "Threads:"))?))
}

/// The most memory that a process had, in KiB.
pub(super) fn peak_kib(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    Ok(kib(&text, "VmHWM:"))
}

/// Memory of one process alone, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Private {
    /// Written pages, Windows's private bytes.
    pub(super) written: u64,
    /// Pages also in files: the program, while no other process runs it.
    pub(super) clean: u64,
}

impl Private {
    pub(super) fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/smaps_rollup");
        let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        Ok(Self {
            written: kib(&text, "Private_Dirty:"),
            clean: kib(&text, "Private_Clean:"),
        })
    }

    pub(super) fn kib(self) -> u64 {
        self.written + self.clean
    }
}

/// Memory once two samples a second apart agree: a starting program is still growing.
pub(super) fn settled(process: &mut Background) -> Result<Private> {
    let mut last = (Instant::now(), Private::default());
    process.wait_until("steady memory", STEADY, |process| {
        if last.0.elapsed() < Duration::from_secs(1) {
            return None;
        }
        let now = Private::of(process.id()).ok()?;
        let steady = now == last.1;
        last = (Instant::now(), now);
        steady.then_some(now)
    })
}

/// The wineserver of a prefix.
pub(super) fn wineserver(prefix: &Path) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.find(|pid| is_wineserver(*pid, prefix))
}

fn is_wineserver(pid: u32, prefix: &Path) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let wanted = [b"WINEPREFIX=", prefix.as_os_str().as_bytes()].concat();
    name.starts_with("wineserver") && environment.split(|b| *b == 0).any(|line| line == wanted)
}

/// Fields 14 and 15 of `/proc/PID/stat`, counted behind the name, as this may hold blanks.
fn cpu_ticks(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let kernel: u32 = fields.next()?.parse().ok()?;
    Some(user + kernel)
}

fn kib(rollup: &str, key: &str) -> u64 {
    let line = rollup.lines().find_map(|line| line.strip_prefix(key));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 120 30 0 0 20";
        assert_eq!(cpu_ticks(stat), Some(150));
        let rollup = "Rss: 12 kB\nPrivate_Dirty:   34 kB\n";
        assert_eq!(kib(rollup, "Private_Dirty:"), 34);
        assert!(Private::of(std::process::id()).unwrap().kib() > 0);
    }
}
