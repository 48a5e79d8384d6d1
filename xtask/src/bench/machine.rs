//! The facts without which a measurement is worthless.

use std::process::Command;
use std::time::{Duration, SystemTime};
use std::{fs, thread};

use anyhow::Result;

use crate::env::Go;
use crate::{process, wine};

/// Where and when a measurement was made; no names of machines or users.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) here: Here,
    pub(super) wine: String,
    pub(super) go: String,
}

/// The facts of every measurement.
#[derive(Debug)]
pub(super) struct Here {
    pub(super) date: String,
    pub(super) processor: String,
    pub(super) cores: usize,
    pub(super) kernel: String,
    pub(super) rust: String,
}

impl Machine {
    pub(super) fn look(go: &Go) -> Result<Self> {
        Ok(Self {
            here: here()?,
            wine: wine::version()?,
            go: go.version()?,
        })
    }
}

impl Here {
    pub(super) fn machine(&self) -> String {
        format!(
            "Machine: {}, {} cores, Linux {}",
            self.processor, self.cores, self.kernel
        )
    }
}

pub(super) fn here() -> Result<Here> {
    Ok(Here {
        date: today(),
        processor: processor(),
        cores: thread::available_parallelism()?.get(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?
            .trim()
            .to_owned(),
        rust: rust()?,
    })
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(": "));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

fn rust() -> Result<String> {
    let mut command = Command::new("rustc");
    let output = process::capture(command.arg("--version"), Duration::from_secs(60))?;
    Ok(output.success("rustc --version")?.trim().to_owned())
}

/// The day in UTC, as 2026-01-31.
pub(crate) fn today() -> String {
    date(SystemTime::now())
}

fn date(now: SystemTime) -> String {
    let since = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / 86_400);
    format!("{year}-{month:02}-{day:02}")
}

/// The calendar day of a number of days since 1970-01-01.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    while days >= year_length(year) {
        days -= year_length(year);
        year += 1;
    }
    let february = year_length(year) - 337;
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

fn year_length(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(civil(19_783), (2024, 3, 1));
        assert_eq!(civil(20_453), (2025, 12, 31));
    }
}
