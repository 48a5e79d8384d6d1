//! What a look found, as a person, a program and another process read it.

use std::fmt;

use program::hidden;
use serde::Serialize;
use wire::lifecycle::v1;

/// The version of the report in JSON. A field is added without a new one.
const VERSION: u32 = 1;

/// How much a finding matters. A later program may have more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Volumes work, and something may keep them from it later.
    Warning,
    /// A volume or a call fails, or will at its next use.
    Error,
}

/// Who looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The driver that runs.
    Driver,
    /// The command itself, as no driver answered.
    Command,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: String,
    pub severity: Severity,
    /// A server, a target or a volume; empty if it is the whole node.
    pub object: String,
    pub text: String,
    pub advice: String,
    /// The page and its section.
    pub page: String,
}

/// What a check could not look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    pub check: String,
    pub reason: String,
    /// Whether the host has no such view at all.
    pub is_lasting: bool,
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    version: u32,
    pub way: Way,
    /// How many checks there are.
    pub checks: u32,
    pub findings: Vec<Finding>,
    pub unseen: Vec<Unseen>,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// One that this program does not know is grave.
    fn named(name: &str) -> Self {
        match name {
            "warning" => Self::Warning,
            _ => Self::Error,
        }
    }
}

impl Report {
    pub(super) fn new(way: Way, checks: u32, findings: Vec<Finding>, unseen: Vec<Unseen>) -> Self {
        let mut report = Self {
            version: VERSION,
            way,
            checks,
            findings,
            unseen,
        };
        for text in report.texts() {
            *text = hidden::shown(text);
        }
        report
    }

    /// Those that names of callers may be in.
    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let findings = self.findings.iter_mut();
        let findings = findings.flat_map(|one| [&mut one.object, &mut one.text]);
        findings.chain(self.unseen.iter_mut().map(|one| &mut one.reason))
    }

    /// 0: nothing found; 1: warnings; 3: errors; 4: nothing found, and not all could be looked at.
    pub fn exit_code(&self) -> u8 {
        let worst = self.findings.iter().map(|finding| finding.severity).max();
        match worst {
            Some(Severity::Error) => 3,
            Some(Severity::Warning) => 1,
            None if self.unseen.iter().any(|unseen| !unseen.is_lasting) => 4,
            None => 0,
        }
    }

    /// The report as JSON, of one line.
    pub fn to_json(&self) -> String {
        // Strings and numbers have JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(super) fn of_driver(answer: v1::ExamineResponse) -> Self {
        let findings = answer.findings.into_iter().map(|finding| Finding {
            check: finding.check,
            severity: Severity::named(&finding.severity),
            object: finding.object,
            text: finding.text,
            advice: finding.advice,
            page: finding.page,
        });
        let unseen = answer.unseen.into_iter().map(|unseen| Unseen {
            check: unseen.check,
            reason: unseen.reason,
            is_lasting: unseen.is_lasting,
        });
        Self::new(
            Way::Driver,
            answer.checks,
            findings.collect(),
            unseen.collect(),
        )
    }

    pub(super) fn to_message(&self) -> v1::ExamineResponse {
        let findings = self.findings.iter().cloned().map(|finding| v1::Finding {
            check: finding.check,
            severity: finding.severity.name().to_owned(),
            object: finding.object,
            text: finding.text,
            advice: finding.advice,
            page: finding.page,
        });
        let unseen = self.unseen.iter().cloned().map(|unseen| v1::Unseen {
            check: unseen.check,
            reason: unseen.reason,
            is_lasting: unseen.is_lasting,
        });
        v1::ExamineResponse {
            checks: self.checks,
            findings: findings.collect(),
            unseen: unseen.collect(),
        }
    }
}

/// Who looked, and a line for each finding and for each that could not be looked at.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match self.way {
            Way::Driver => "the running driver",
            Way::Command => "this command, as no driver answered,",
        };
        write!(f, "{who} looked: {} checks", self.checks)?;
        if self.findings.is_empty() {
            f.write_str("\nnothing known")?;
        }
        for finding in &self.findings {
            let (severity, check) = (finding.severity.name(), &finding.check);
            write!(f, "\n{severity} {check}: {}. ", finding.text)?;
            write!(f, "Do: {}. See {}", finding.advice, finding.page)?;
        }
        for unseen in &self.unseen {
            write!(f, "\nnot seen {}: {}", unseen.check, unseen.reason)?;
        }
        Ok(())
    }
}
