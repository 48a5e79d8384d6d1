use std::fs;
use std::time::Duration;

use super::figures::Figures;

/// Linux's `/proc` figures of this process (proc_pid_stat(5)).
pub(super) fn sample() -> Figures {
    let Some(stat) = Stat::read() else {
        return Figures::default();
    };
    let ticks = rustix::param::clock_ticks_per_second();
    let page = u64::try_from(rustix::param::page_size()).ok();
    Figures {
        cpu: stat
            .seconds(13, ticks)
            .zip(stat.seconds(14, ticks))
            .map(|(user, system)| user + system),
        open_fds: open_fds(),
        max_fds: max_fds(),
        resident_bytes: stat.number(23).zip(page).map(|(pages, page)| pages * page),
        virtual_bytes: stat.number(22),
        started: stat
            .seconds(21, ticks)
            .zip(boot_time())
            .map(|(since, boot)| boot + since),
        threads: stat.number(19),
    }
}

/// `/proc/self/stat`, with fields counted from 0 here.
struct Stat(String);

impl Stat {
    fn read() -> Option<Self> {
        fs::read_to_string("/proc/self/stat").ok().map(Self)
    }

    /// The program's name, field 1, may hold anything; it ends with the last parenthesis.
    fn number(&self, field: usize) -> Option<u64> {
        let (_, rest) = self.0.rsplit_once(')')?;
        rest.split_whitespace().nth(field - 2)?.parse().ok()
    }

    /// A field that counts clock ticks.
    fn seconds(&self, field: usize, per_second: u64) -> Option<f64> {
        let millis = self
            .number(field)?
            .checked_mul(1000)?
            .checked_div(per_second)?;
        Some(Duration::from_millis(millis).as_secs_f64())
    }
}

fn open_fds() -> Option<u64> {
    let listed = fs::read_dir("/proc/self/fd").ok()?.count();
    // The listing itself has one open.
    u64::try_from(listed)
        .ok()
        .map(|count| count.saturating_sub(1))
}

fn max_fds() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Stat, sample};

    #[test]
    fn a_name_with_spaces_and_parentheses_moves_no_field() {
        let fields: Vec<String> = (3..30).map(|number| number.to_string()).collect();
        let stat = Stat(format!("1 (a) b) S {}", fields.join(" ")));
        assert_eq!(stat.number(13), Some(13));
    }

    #[test]
    fn the_figures_are_those_of_a_running_process() {
        let figures = sample();
        assert!(figures.cpu.is_some_and(|seconds| seconds < 3600.0));
        assert!(figures.open_fds.is_some_and(|count| count >= 3));
        assert!(figures.max_fds.is_some());
        assert!(figures.resident_bytes.is_some_and(|bytes| bytes > 100_000));
        assert!(figures.virtual_bytes > figures.resident_bytes);
        assert!(figures.threads.is_some_and(|count| count >= 2));
        assert!(figures.started.is_some_and(|time| time > 1.6e9));
    }
}
