//! The sources of the tests, read for their names and the words in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The tests of this crate by file and function, each with its text.
pub(crate) struct Sources {
    tests: BTreeMap<String, Text>,
}

/// A test's own lines, and those of the items of its file that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text(String);

impl Text {
    /// Whether it has a whole word, in any case: the contract's `ListDiskIDs` is `ListDiskIds` in
    /// Rust.
    pub(crate) fn names(&self, word: &str) -> bool {
        let mut words = words(&self.0);
        words.any(|one| one.eq_ignore_ascii_case(word))
    }
}

impl Sources {
    pub(crate) fn read() -> Self {
        let mut files = Vec::new();
        collect(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"),
            &mut files,
        );
        Self::of(
            files
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        )
    }

    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut tests = BTreeMap::new();
        for (path, text) in files {
            let items = items(text);
            for item in items.iter().filter(|item| item.is_test) {
                let name = format!("{}::{}", module(path), item.name);
                tests.insert(name, closure(text, &items, item));
            }
        }
        Self { tests }
    }

    /// The test of this name, if any.
    pub(crate) fn test(&self, name: &str) -> Option<&Text> {
        self.tests.get(name)
    }
}

struct Item<'a> {
    name: &'a str,
    text: String,
    is_macro: bool,
    is_test: bool,
}

fn collect(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push((
                path.to_string_lossy().into_owned(),
                text.replace("\r\n", "\n"),
            ));
        }
    }
}

/// `tests/simulated/paths/mod.rs` is `paths`, `tests/simulated/paths/links.rs` is `links`.
fn module(path: &str) -> &str {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/main").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The functions and macros of a file. In rustfmt's form an item ends where its indentation comes
/// again.
fn items(text: &str) -> Vec<Item<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |line: &str| {
        let code = line.trim_start();
        let code = code.strip_prefix("pub(crate) ").unwrap_or(code);
        code.starts_with("fn ") || code.starts_with("macro_rules! ")
    };
    let starts = (0..lines.len()).filter(|at| begins(lines[*at]));
    starts
        .filter_map(|at| {
            let line = lines[at];
            let indent = &line[..line.len() - line.trim_start().len()];
            let end = [format!("{indent}}}"), format!("{indent}}};")];
            let length = lines[at..]
                .iter()
                .position(|line| end.iter().any(|end| end == line))?;
            let name =
                words(line).find(|word| !["pub", "crate", "fn", "macro_rules"].contains(word))?;
            Some(Item {
                name,
                text: lines[at..=at + length].join("\n"),
                is_macro: line.contains("macro_rules! "),
                is_test: is_test(&lines[..at]),
            })
        })
        .collect()
}

fn is_test(above: &[&str]) -> bool {
    let attributes = above.iter().rev().map(|line| line.trim());
    let mut attributes =
        attributes.take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    attributes.any(|line| line == "#[test]")
}

/// An item, the items of its file that it uses, the macro around it with the macro's uses, and the file's imports from
/// `wire`.
fn closure(file: &str, items: &[Item<'_>], item: &Item<'_>) -> Text {
    let mut text = file
        .lines()
        .filter(|line| line.starts_with("use wire::"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut waiting = vec![item];
    let mut taken = BTreeSet::new();
    let others: Vec<_> = items
        .iter()
        .filter(|other| !other.is_test && !is_local(other, items))
        .collect();
    for around in items {
        let stands_in = around.name != item.name && around.text.contains(&item.text);
        let uses = file
            .lines()
            .filter(|line| line.starts_with(&format!("{}!(", around.name)));
        if stands_in {
            text.extend(uses.map(|line| format!("\n{line}")));
        }
    }
    while let Some(item) = waiting.pop() {
        if taken.insert(item.text.as_str()) {
            text.push('\n');
            text.push_str(&item.text);
            let used: BTreeSet<&str> = words(&item.text).collect();
            waiting.extend(others.iter().filter(|other| used.contains(other.name)));
        }
    }
    Text(text)
}

/// Only the function around it can use a local item, and has its text anyway.
fn is_local(item: &Item<'_>, items: &[Item<'_>]) -> bool {
    let functions = items.iter().filter(|around| !around.is_macro);
    functions
        .filter(|around| around.text.len() > item.text.len())
        .any(|around| around.text.contains(&item.text))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}
