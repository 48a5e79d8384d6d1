//! The files of a change, by git.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};

use crate::{cargo, git};

/// Where the work on a change begins, whichever of them this clone has.
const MAIN: [&str; 2] = ["main", "origin/main"];

#[derive(Debug)]
pub(super) struct Changes {
    since: String,
    pub(super) files: Vec<String>,
}

impl Changes {
    /// The differences from the merge base with main, committed or not, and untracked files. On main itself without
    /// any: the last commit's changes.
    pub(super) fn read() -> Result<Self> {
        Self::read_in(&cargo::root())
    }

    fn read_in(dir: &Path) -> Result<Self> {
        let base = merge_base(dir)?;
        let since = format!("since the merge base with main, {base:.10}");
        let files = differing(dir, &base)?;
        let on_main = git::lines_in(dir, &["branch", "--show-current"])? == ["main"];
        if !files.is_empty() || !on_main {
            return Ok(Self { since, files });
        }
        Ok(Self {
            since: "by the last commit, as this is main and nothing is uncommitted".to_owned(),
            files: differing(dir, "HEAD~1").unwrap_or_default(),
        })
    }
}

fn merge_base(dir: &Path) -> Result<String> {
    let found = MAIN
        .iter()
        .find_map(|main| git::lines_in(dir, &["merge-base", "HEAD", main]).ok());
    let commit = found.and_then(|lines| lines.into_iter().next());
    commit.context("this clone has no main that HEAD shares a commit with")
}

/// A renamed file counts under both names.
fn differing(dir: &Path, base: &str) -> Result<Vec<String>> {
    let mut files = git::lines_in(dir, &["diff", "--name-only", "--no-renames", base, "--"])?;
    let untracked = ["ls-files", "--others", "--exclude-standard"];
    files.extend(git::lines_in(dir, &untracked)?);
    Ok(files)
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} files changed {}", self.files.len(), self.since)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn git(dir: &Path, line: &str) {
        let who = "-c user.name=a -c user.email=a@b -c commit.gpgsign=false";
        let arguments: Vec<&str> = who.split(' ').chain(line.split(' ')).collect();
        git::lines_in(dir, &arguments).unwrap();
    }

    /// A repository with two commits on main: `a`, then `b`.
    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), "init --quiet --initial-branch=main");
        for name in ["a", "b"] {
            write(&dir, name);
            git(dir.path(), "add .");
            git(dir.path(), &format!("commit --quiet --message={name}"));
        }
        dir
    }

    fn write(dir: &tempfile::TempDir, name: &str) {
        fs::write(dir.path().join(name), format!("{name}\n")).unwrap();
    }

    fn changed(dir: &tempfile::TempDir) -> Vec<String> {
        Changes::read_in(dir.path()).unwrap().files
    }

    #[test]
    fn a_branchs_commits_and_what_is_not_committed_count() {
        let dir = repository();
        git(dir.path(), "switch --quiet --create=work");
        assert!(changed(&dir).is_empty());
        write(&dir, "c");
        git(dir.path(), "add .");
        git(dir.path(), "commit --quiet --message=c");
        git(dir.path(), "mv a d");
        write(&dir, "e");
        assert_eq!(changed(&dir), ["a", "c", "d", "e"]);
    }

    #[test]
    fn what_came_to_main_meanwhile_is_no_change() {
        let dir = repository();
        git(dir.path(), "switch --quiet --create=work HEAD~1");
        write(&dir, "c");
        assert_eq!(changed(&dir), ["c"]);
    }

    #[test]
    fn on_main_what_is_not_committed_counts_and_else_the_last_commit() {
        let dir = repository();
        assert_eq!(changed(&dir), ["b"]);
        write(&dir, "c");
        assert_eq!(changed(&dir), ["c"]);
    }
}
