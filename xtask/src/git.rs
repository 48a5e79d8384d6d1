//! Queries of git about the repository.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use crate::{cargo, process};

const LIMIT: Duration = Duration::from_secs(60);

/// git's output lines, in the workspace's root.
pub(crate) fn lines(arguments: &[&str]) -> Result<Vec<String>> {
    lines_in(&cargo::root(), arguments)
}

pub(crate) fn lines_in(dir: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    let mut git = command(dir, arguments);
    let what = process::describe(&git);
    let output = process::capture(&mut git, LIMIT)?.success(&what)?;
    Ok(output.lines().map(str::to_owned).collect())
}

/// The files, new ones too, with a match of `git grep`.
pub(crate) fn grep(arguments: &[&str]) -> Result<Vec<String>> {
    let fixed = ["grep", "--untracked", "--files-with-matches"];
    let mut git = command(&cargo::root(), &[&fixed[..], arguments].concat());
    let done = process::capture(&mut git, LIMIT)?;
    // This status means no match.
    let found = done.status.code() != Some(1);
    let output = if found {
        done.success("git grep")?
    } else {
        String::new()
    };
    Ok(output.lines().map(str::to_owned).collect())
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir);
    command.args(["-c", "core.quotePath=false"]).args(arguments);
    command
}
