//! The rules of the house that no other tool checks.

use anyhow::{Result, bail};

use super::sources::{self, Line, Source};

mod lines;
mod named_tests;
mod platform_cfg;
mod promises;
mod rooms;
mod unsafe_code;

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

struct Lint {
    name: &'static str,
    rule: Rule,
}

enum Rule {
    /// Of these files no line breaks the rule.
    Lines {
        of: fn(&Source) -> bool,
        breaks: fn(Line<'_>) -> bool,
    },
    /// The violations in all files.
    Files(fn(&[Source]) -> Vec<Finding>),
}

impl Lint {
    fn check(&self, sources: &[Source]) -> Vec<Finding> {
        let (of, breaks) = match self.rule {
            Rule::Files(check) => return check(sources),
            Rule::Lines { of, breaks } => (of, breaks),
        };
        let sources = sources.iter().filter(|source| of(source));
        let found = sources.flat_map(|source| {
            let lines = source.lines().filter(|line| breaks(*line));
            lines.map(|line| Finding::new(source, line.number, line.text.trim()))
        });
        found.collect()
    }
}

/// Checks every rule on every file.
pub(super) fn run() -> Result<()> {
    let sources = sources::all()?;
    let files = [
        &named_tests::LINT,
        &platform_cfg::LINT,
        &promises::LINT,
        &rooms::LINT,
        &rooms::INHERITED,
    ];
    let all = files
        .into_iter()
        .chain(lines::LINTS)
        .chain(unsafe_code::LINTS);
    let broken: Vec<String> = all.filter_map(|lint| broken(lint, &sources)).collect();
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(())
}

fn broken(lint: &Lint, sources: &[Source]) -> Option<String> {
    let mut text = format!("rule: {}", lint.name);
    let findings = lint.check(sources);
    for one in &findings {
        text += &format!("\n  {}:{}: {}", one.path, one.line, one.text);
    }
    (!findings.is_empty()).then_some(text)
}

#[cfg(test)]
const CLEAN: [usize; 0] = [];

#[cfg(test)]
fn findings(lint: &Lint, path: &str, text: &str) -> Vec<usize> {
    let source = Source {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let found = lint.check(&[source]);
    found.iter().map(|finding| finding.line).collect()
}
