//! `cargo xtask test --quick`: finds in minutes, on two processors, what a change can have broken.
//!
//! Style; lints of all crates, of which cargo checks the ones that may have changed; and the tests of the packages whose
//! files changed, or that name a changed file outside of any.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;

use super::outcome::Outcome;
use super::report::{self, Row};
use super::rust;
use crate::env::{self, Need};
use crate::packages::{self, Package};
use crate::{git, tidy};

mod changes;

use self::changes::Changes;

/// The package whose tests use the makers of filesystems.
const MAKES_FILESYSTEMS: &str = "wincsi-formats";

/// The packages whose tests start a Samba.
const SPEAK_TO_SAMBA: [&str; 2] = ["wincsi-smb", "wincsi-controller"];

pub(super) fn run() -> Result<ExitCode> {
    let changes = Changes::read()?;
    println!("quick: {changes}");
    if changes.files.is_empty() {
        println!("quick: nothing has changed, nothing is run\n\n0 passed, 0 failed, 0 skipped");
        return Ok(ExitCode::SUCCESS);
    }
    let packages = packages::all()?;
    let tested = tested(&packages, &changes.files, readers)?;
    for (name, (_, why)) in &tested {
        println!("  tested: {name} ({why})");
    }
    println!("  left to .ci/run: all other tests");
    let started = Instant::now();
    if tested.contains_key(MAKES_FILESYSTEMS) {
        env::provide(&[Need::Mkfs])?;
    }
    if SPEAK_TO_SAMBA.iter().any(|name| tested.contains_key(name)) {
        env::provide(&[Need::Samba])?;
    }
    let set_up = started.elapsed();
    let tested: Vec<&Package> = tested.values().map(|(package, _)| *package).collect();
    Ok(report::print(set_up, &rows(&tested)))
}

type Tested<'a> = BTreeMap<&'a str, (&'a Package, String)>;

/// The packages to test by their names, each with the first reason. `readers` finds the sources that name a file.
fn tested<'a>(
    packages: &'a [Package],
    files: &[String],
    readers: impl Fn(&str) -> Result<Vec<String>>,
) -> Result<Tested<'a>> {
    let owner = |file: &str| packages.iter().find(|one| one.has(file));
    let mut tested = Tested::new();
    for file in files {
        let (found, why) = match owner(file) {
            Some(package) => (vec![package], format!("{file} changed")),
            None => {
                let readers = readers(file)?;
                let found = readers.iter().filter_map(|source| owner(source));
                (found.collect(), format!("it reads {file}"))
            }
        };
        if found.is_empty() {
            println!("  left to .ci/run, but for style: {file}");
        }
        for package in found {
            tested
                .entry(&*package.name)
                .or_insert((package, why.clone()));
        }
    }
    Ok(tested)
}

/// The sources with the file's name at the end of a text.
fn readers(file: &str) -> Result<Vec<String>> {
    let (whole, end) = (format!("\"{file}\""), format!("/{file}\""));
    git::grep(&["-F", "-e", &whole, "-e", &end, "--", "*.rs"])
}

fn rows(tested: &[&Package]) -> Vec<Row> {
    let style = || Ok(Outcome::of_check("style", tidy::quick()));
    let clippy = || Ok(Outcome::of_check("clippy", tidy::clippy_all()));
    let mut rows = vec![
        step("style", "the rules of the house and rustfmt", style),
        step("clippy", "all targets of all crates", clippy),
    ];
    if !tested.is_empty() {
        let about = "cargo test of what changed, two programs at a time";
        rows.push(step("linux", about, || rust::of(tested)));
    }
    rows
}

fn step(name: &'static str, about: &'static str, run: impl FnOnce() -> Result<Outcome>) -> Row {
    println!("\n== {name}: {about}");
    let started = Instant::now();
    let outcome = run();
    Row::ran(name, about, outcome, started.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_and_readers_of_changed_files_are_tested() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            dir: format!("crates/{name}/"),
            has_library: true,
            tests: Vec::new(),
        };
        let packages = ["node", "node-tools", "proxy"].map(package);
        let files = [
            "crates/node-tools/a.rs",
            "docs/flags.md",
            "tests/go/a_test.go",
        ];
        let readers = |file: &str| {
            let reader = || "crates/proxy/tests/page.rs".to_owned();
            Ok((file == "docs/flags.md").then(reader).into_iter().collect())
        };
        let found = tested(&packages, &files.map(str::to_owned), readers).unwrap();
        let found: Vec<_> = found
            .values()
            .map(|(one, why)| (&*one.name, &**why))
            .collect();
        let expected = [
            ("node-tools", "crates/node-tools/a.rs changed"),
            ("proxy", "it reads docs/flags.md"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_reader_of_a_page_is_found() {
        let found = readers("docs/flags.md").unwrap();
        let reader = "crates/proxy/tests/simulated/pages/mod.rs".to_owned();
        assert!(found.contains(&reader), "{found:?}");
    }
}
