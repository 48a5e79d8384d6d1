//! Which operations may be called.
//!
//! A policy is an operator's file:
//!
//! ```toml
//! default = "allow"
//! deny = ["system.StopService", "volume.FormatVolume", "iscsi"]
//! ```
//!
//! A rule is a group or an operation of one; an operation's rule beats its group's, and this the
//! default. A rule covers the operation in every version, under any name. An unknown word, such as
//! a misspelt name, makes the whole file invalid: a rule without effect would be an open door.
//!
//! Before a call is decided, a changed file is read again, at most once a second. An invalid or
//! missing file leaves the policy unchanged, and is logged; at the start it is an error. Replace
//! the file by renaming another over it, so half of it is never read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::catalogue::{self, OPERATIONS, Operation};
use crate::metrics::Metrics;

/// How often the file is read, at most.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// The longest file, in bytes.
const LONGEST: u64 = 64 << 10;

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Allow,
    Deny,
}

/// The policy in force, as in its file.
pub(crate) struct Policy {
    path: PathBuf,
    interval: Duration,
    state: Mutex<State>,
    metrics: Arc<Metrics>,
}

struct State {
    rules: Rules,
    /// The file's last content, or why it could not be read: each change is logged once.
    seen: Result<String, String>,
    looked: Instant,
}

/// Why there is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A name is under `allow` and under `deny`.
    #[error("{0} is both allowed and denied")]
    Contradiction(String),
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The file is longer than a policy can be.
    #[error("is longer than {LONGEST} bytes")]
    Size,
    /// The file is no TOML, or has other keys or values than a policy.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A rule names no group and no operation.
    #[error("{0:?} is no group and no operation of a group")]
    Unknown(String),
}

impl Policy {
    /// Reads the policy.
    ///
    /// # Errors
    /// The file cannot be read or is invalid.
    pub(crate) fn open(
        path: &Path,
        interval: Duration,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, PolicyError> {
        let text = read(path)?;
        let state = State {
            rules: Rules::parse(&text)?,
            seen: Ok(text),
            looked: Instant::now(),
        };
        Ok(Self {
            path: path.to_owned(),
            interval,
            state: Mutex::new(state),
            metrics: Arc::clone(metrics),
        })
    }

    /// Whether an operation may be called now. An operation in no table may not.
    pub(crate) fn verdict(&self, operation: Option<&Operation>) -> Verdict {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.looked.elapsed() >= self.interval {
            state.looked = Instant::now();
            self.reread(&mut state);
        }
        operation.map_or(Verdict::Deny, |operation| state.rules.verdict(operation))
    }

    fn reread(&self, state: &mut State) {
        let read = read(&self.path);
        let found = match &read {
            Ok(text) => Ok(text.clone()),
            Err(error) => Err(error.to_string()),
        };
        if found == state.seen {
            return;
        }
        state.seen = found;
        let path = self.path.display();
        match read.and_then(|text| Rules::parse(&text)) {
            Ok(rules) => {
                state.rules = rules;
                self.metrics.policies_adopted.add_one();
                tracing::warn!("policy {path}: changed, and in force");
            }
            Err(error) => {
                self.metrics.policies_refused.add_one();
                tracing::error!("policy {path}: {error}; the policy before it STAYS IN FORCE");
            }
        }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    default: Verdict,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// The verdicts of groups, of operations, and of the rest.
#[derive(Debug)]
struct Rules {
    default: Verdict,
    groups: BTreeMap<&'static str, Verdict>,
    operations: BTreeMap<(&'static str, &'static str), Verdict>,
}

impl Rules {
    fn parse(text: &str) -> Result<Self, PolicyError> {
        let written: Written = toml::from_str(text)?;
        let mut rules = Self {
            default: written.default,
            groups: BTreeMap::new(),
            operations: BTreeMap::new(),
        };
        let allowed = written.allow.into_iter().map(|name| (name, Verdict::Allow));
        let denied = written.deny.into_iter().map(|name| (name, Verdict::Deny));
        for (name, verdict) in allowed.chain(denied) {
            rules.add(name, verdict)?;
        }
        Ok(rules)
    }

    fn add(&mut self, name: String, verdict: Verdict) -> Result<(), PolicyError> {
        let before = match name.split_once('.') {
            None => match OPERATIONS.iter().find(|row| row.group == name) {
                Some(row) => self.groups.insert(row.group, verdict),
                None => return Err(PolicyError::Unknown(name)),
            },
            Some((group, method)) => match catalogue::find(group, method) {
                Some(row) => self.operations.insert((row.group, row.name), verdict),
                None => return Err(PolicyError::Unknown(name)),
            },
        };
        match before {
            Some(before) if before != verdict => Err(PolicyError::Contradiction(name)),
            _ => Ok(()),
        }
    }

    fn verdict(&self, operation: &Operation) -> Verdict {
        let own = self.operations.get(&(operation.group, operation.name));
        own.or_else(|| self.groups.get(operation.group))
            .copied()
            .unwrap_or(self.default)
    }
}

fn read(path: &Path) -> Result<String, PolicyError> {
    let mut text = String::new();
    File::open(path)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    match u64::try_from(text.len()) {
        Ok(length) if length <= LONGEST => Ok(text),
        _ => Err(PolicyError::Size),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::time::Duration;

    use super::{LONGEST, Policy, Rules, Verdict};
    use crate::catalogue;
    use crate::metrics::Metrics;

    fn verdict(rules: &str, group: &str, name: &str) -> Verdict {
        let rules = Rules::parse(rules).expect("a policy");
        rules.verdict(catalogue::find(group, name).expect("an operation"))
    }

    /// Guards: P16
    #[test]
    fn the_most_particular_rule_decides() {
        let rules = "default = 'deny'\nallow = ['volume']\ndeny = ['volume.FormatVolume']";
        assert_eq!(verdict(rules, "volume", "MountVolume"), Verdict::Allow);
        assert_eq!(verdict(rules, "volume", "FormatVolume"), Verdict::Deny);
        assert_eq!(verdict(rules, "disk", "Rescan"), Verdict::Deny);
    }

    /// Guards: P16
    #[test]
    fn one_rule_covers_every_name_of_an_operation() {
        for name in ["GetVolumeIDFromMount", "GetVolumeIDFromTargetPath"] {
            let rules = format!("default = 'allow'\ndeny = ['volume.{name}']");
            for called in ["GetVolumeIDFromMount", "GetVolumeIDFromTargetPath"] {
                assert_eq!(verdict(&rules, "volume", called), Verdict::Deny);
            }
        }
    }

    /// Guards: P16
    #[test]
    fn what_is_not_understood_is_refused() {
        for (text, why) in [
            ("", "missing field `default`"),
            ("default = 'maybe'", "unknown variant"),
            ("default = 'allow'\ndenied = []", "unknown field"),
            ("default = 'allow'\ndeny = ['volume.Format']", "is no group"),
            ("default = 'allow'\ndeny = ['Volume']", "is no group"),
            (
                "default = 'allow'\ndeny = ['disk.FormatVolume']",
                "is no group",
            ),
            (
                "default = 'allow'\nallow = ['smb']\ndeny = ['smb']",
                "both allowed and denied",
            ),
            (
                "default = 'allow'\nallow = ['volume.UnmountVolume']\ndeny = ['volume.DismountVolume']",
                "both allowed and denied",
            ),
        ] {
            let error = Rules::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    /// Without its last byte it would be one.
    /// Guards: P16
    #[test]
    fn a_file_that_is_too_long_is_no_policy() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("policy.toml");
        let longest = usize::try_from(LONGEST).expect("64 KiB");
        for (length, is_policy) in [(longest, true), (longest + 1, false)] {
            let mut text = b"default = 'allow'".to_vec();
            text.resize(length, b'\n');
            fs::write(&path, text).expect("written");
            let opened = Policy::open(&path, Duration::ZERO, &Arc::new(Metrics::default()));
            assert_eq!(opened.is_ok(), is_policy, "{length}");
        }
    }

    /// Guards: P16
    #[test]
    fn a_broken_file_leaves_the_policy_and_a_mended_one_replaces_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("policy.toml");
        let metrics = Arc::new(Metrics::default());
        let open = || Policy::open(&path, Duration::ZERO, &metrics);
        assert!(open().is_err(), "no file");
        fs::write(&path, "default = 'deny'").expect("written");
        let policy = open().expect("a policy");
        let now = || policy.verdict(catalogue::find("disk", "Rescan"));
        assert_eq!(now(), Verdict::Deny);
        fs::write(&path, "default = 'allow").expect("written");
        assert_eq!((now(), now()), (Verdict::Deny, Verdict::Deny));
        fs::remove_file(&path).expect("removed");
        assert_eq!(now(), Verdict::Deny);
        assert_eq!(
            metrics.policies_refused.value(),
            2,
            "each change is told once"
        );
        fs::write(&path, "default = 'allow'").expect("written");
        assert_eq!(now(), Verdict::Allow);
        assert_eq!(metrics.policies_adopted.value(), 1);
        assert_eq!(policy.verdict(None), Verdict::Deny);
    }
}
