//! The files of the repository, read once.

use std::fs;

use anyhow::Result;

use crate::{cargo, git};

/// A text file of the repository.
#[derive(Debug)]
pub(super) struct Source {
    /// From the repository's root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether all of the file is for tests, benchmarks or examples.
    pub(super) fn is_for_tests(&self) -> bool {
        let folders = ["/tests/", "/benches/", "/fuzz/", "/examples/"];
        folders.iter().any(|folder| self.path.contains(folder))
            || self.path.starts_with("tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.ends_with("_test.go")
    }

    /// The lines with their numbers, each with whether it belongs to tests.
    ///
    /// Tests stand at the bottom of a file, below `#[cfg(test)]` on their module.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut in_tests = self.is_for_tests();
        self.text.lines().zip(1..).map(move |(text, number)| {
            in_tests |= text == "#[cfg(test)]";
            Line {
                number,
                text,
                in_tests,
            }
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) in_tests: bool,
}

impl<'a> Line<'a> {
    /// The line without a whole or trailing comment.
    pub(super) fn code(self) -> &'a str {
        self.text
            .split_once("//")
            .map_or(self.text, |(code, _)| code)
    }
}

/// All text files tracked by git, and new ones.
pub(super) fn all() -> Result<Vec<Source>> {
    let list = git::lines(&["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(list.iter().filter_map(|path| read(path)).collect())
}

fn read(path: &str) -> Option<Source> {
    let text = fs::read_to_string(cargo::root().join(path)).ok()?;
    Some(Source {
        path: path.to_owned(),
        text,
    })
}
