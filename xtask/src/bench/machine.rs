//! The facts without which a measurement is worthless.

use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use anyhow::Result;
use time::OffsetDateTime;

use crate::process;

/// The first lines of a benchmark's report: when, where and with what; no names of machines or users.
pub(super) fn head(benchmark: &str, software: &[&str], facts: &[&str]) -> Result<String> {
    let cores = thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let mut rustc = Command::new("rustc");
    let rust = process::capture(rustc.arg("--version"), Duration::from_secs(60))?;
    let rust = rust.success("rustc --version")?;
    let software = [&[rust.trim()], software].concat().join(", ");
    let mut lines = vec![
        format!(
            "Measured on {} with `cargo xtask bench {benchmark}`.\n",
            today()
        ),
        format!(
            "- Machine: {}, {cores} cores, Linux {}",
            processor(),
            kernel.trim()
        ),
        format!("- Software: {software}"),
    ];
    lines.extend(facts.iter().map(|fact| format!("- {fact}")));
    Ok(lines.join("\n"))
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

/// The day in UTC, as 2026-01-31.
fn today() -> String {
    OffsetDateTime::now_utc().date().to_string()
}
