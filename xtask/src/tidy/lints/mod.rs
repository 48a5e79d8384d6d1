//! The rules of the house unchecked by other tools: one file a rule.

use std::fmt;

use anyhow::{Result, bail};

use super::sources::{self, Source};

mod child_process;
mod crate_doc;
mod disk_numbers;
mod file_length;
mod grouped_imports;
mod imports;
mod machine_paths;
mod manifests;
mod map;
mod named_tests;
mod names;
mod platform_cfg;
mod promises;
mod published;
mod rooms;
mod text_form;
mod unfinished;
mod unsafe_code;
mod waiting_tests;

pub(crate) use promises::Promises;

/// A violation of a rule.
#[derive(Debug)]
struct Finding {
    path: String,
    /// 0 means the whole file.
    line: usize,
    text: String,
}

impl Finding {
    fn new(source: &Source, line: usize, text: impl Into<String>) -> Self {
        Self {
            path: source.path.clone(),
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// A rule, and its check.
struct Lint {
    rule: &'static str,
    check: fn(&[Source]) -> Vec<Finding>,
}

const LINTS: &[Lint] = &[
    child_process::LINT,
    crate_doc::LINT,
    disk_numbers::LINT,
    file_length::LINT,
    grouped_imports::LINT,
    imports::LINT,
    machine_paths::LINT,
    manifests::LINT,
    map::LINT,
    named_tests::LINT,
    names::NAMES,
    names::SENTENCES,
    platform_cfg::LINT,
    promises::LINT,
    published::LINT,
    rooms::LINT,
    rooms::SEAM,
    text_form::LINT,
    unfinished::LINT,
    unsafe_code::LINT,
    unsafe_code::REASON,
    unsafe_code::SYSTEM,
    waiting_tests::LINT,
];

/// Checks every rule on every file.
pub(super) fn run() -> Result<()> {
    let sources = sources::all()?;
    let broken: Vec<String> = LINTS
        .iter()
        .filter_map(|lint| broken(lint, &sources))
        .collect();
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(())
}

fn broken(lint: &Lint, sources: &[Source]) -> Option<String> {
    let findings = (lint.check)(sources);
    if findings.is_empty() {
        return None;
    }
    let places: Vec<String> = findings
        .iter()
        .map(|finding| format!("  {finding}"))
        .collect();
    Some(format!("rule: {}\n{}", lint.rule, places.join("\n")))
}

#[cfg(test)]
const CLEAN: [usize; 0] = [];

#[cfg(test)]
fn findings(lint: &Lint, path: &str, text: &str) -> Vec<usize> {
    let source = Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    (lint.check)(&[source])
        .iter()
        .map(|finding| finding.line)
        .collect()
}
