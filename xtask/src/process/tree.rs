//! The descendants of a process, from `/proc`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use std::{fs, thread};

use rustix::process::{Pid, Signal, kill_process};

/// How long a process may take to stop.
const STOP: Duration = Duration::from_secs(5);

/// Ends a process and its descendants, children first.
///
/// All are stopped before the first is ended: a running one could make another child, impossible to find once its
/// parent is gone.
pub(crate) fn kill_tree(root: u32) {
    let mut stopped = Vec::new();
    let mut running = vec![root];
    while !running.is_empty() {
        for pid in &running {
            signal(*pid, Signal::STOP);
        }
        wait_until_stopped(&running);
        stopped.append(&mut running);
        running = descendants(root);
        running.retain(|pid| !stopped.contains(pid));
    }
    for pid in stopped.into_iter().rev() {
        signal(pid, Signal::KILL);
    }
}

/// A process just making a child stops when the child exists. One that does not stop is not waited for.
fn wait_until_stopped(pids: &[u32]) {
    let end = Instant::now() + STOP;
    while pids.iter().any(|pid| may_run(*pid)) && Instant::now() < end {
        thread::yield_now();
    }
}

fn may_run(pid: u32) -> bool {
    let state = stat(pid).and_then(|fields| fields.chars().next());
    state.is_some_and(|state| !matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// Sends a signal; a vanished process is no error.
pub(super) fn signal(pid: u32, signal: Signal) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    let _ = kill_process(pid, signal);
}

/// The command lines of all running processes, arguments joined by blanks.
pub(crate) fn command_lines() -> impl Iterator<Item = String> {
    processes().filter_map(|pid| {
        let raw = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some(String::from_utf8_lossy(&raw).replace('\0', " "))
    })
}

fn descendants(root: u32) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in processes() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children.remove(&pid).unwrap_or_default());
        next += 1;
    }
    found.split_off(1)
}

fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.split_whitespace().nth(1)?.parse().ok()
}

/// The fields of `/proc/PID/stat` from the third (the state) on; the name before it may hold blanks and brackets.
fn stat(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(") ")?;
    Some(after_name.to_owned())
}
