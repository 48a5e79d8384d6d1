//! The steps for a change, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;

use crate::git;
use crate::packages::Package;

/// Files outside the packages that affect each package's build or checks.
const FOR_ALL: &[&str] = &[
    ".cargo/config.toml",
    "Cargo.lock",
    "Cargo.toml",
    "clippy.toml",
    "rust-toolchain.toml",
];

pub(super) struct Plan<'a> {
    /// Each with the first reason.
    tested: BTreeMap<&'a str, (&'a Package, String)>,
    /// The packages depending on those, directly or not, or affected by a file for all.
    dependents: BTreeSet<&'a str>,
    for_all: Vec<&'a str>,
    /// Files outside every package and not read by any.
    elsewhere: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    /// `readers` finds the sources naming a file outside the packages.
    pub(super) fn new(
        packages: &'a [Package],
        files: &'a [String],
        readers: impl Fn(&str) -> Result<Vec<String>>,
    ) -> Result<Self> {
        let mut plan = Self {
            tested: BTreeMap::new(),
            dependents: BTreeSet::new(),
            for_all: Vec::new(),
            elsewhere: Vec::new(),
        };
        for file in files {
            if let Some(package) = owner(packages, file) {
                plan.test(package, format!("{file} changed"));
            } else if FOR_ALL.contains(&file.as_str()) {
                plan.for_all.push(file);
            } else {
                plan.read_by(packages, file, &readers(file)?);
            }
        }
        plan.add_dependents(packages);
        Ok(plan)
    }

    fn test(&mut self, package: &'a Package, why: String) {
        self.tested.entry(&package.name).or_insert((package, why));
    }

    fn read_by(&mut self, packages: &'a [Package], file: &'a str, sources: &[String]) {
        let readers: Vec<_> = sources
            .iter()
            .filter_map(|one| owner(packages, one))
            .collect();
        if readers.is_empty() {
            self.elsewhere.push(file);
        }
        for package in readers {
            self.test(package, format!("it reads {file}"));
        }
    }

    fn add_dependents(&mut self, packages: &'a [Package]) {
        loop {
            let concerned: BTreeSet<&str> = self.linted().collect();
            let uses = |one: &Package| one.uses.iter().any(|used| concerned.contains(&**used));
            let all = !self.for_all.is_empty();
            let found = packages.iter().filter(|one| all || uses(one));
            let mut names: BTreeSet<&str> = found.map(|one| one.name.as_str()).collect();
            names.retain(|name| !self.tested.contains_key(name));
            if names == self.dependents {
                return;
            }
            self.dependents = names;
        }
    }

    pub(super) fn tested(&self) -> impl Iterator<Item = &'a Package> {
        self.tested.values().map(|(package, _)| *package)
    }

    /// The tested packages and, to check that they still compile, their dependents.
    pub(super) fn linted(&self) -> impl Iterator<Item = &'a str> {
        self.tested.keys().chain(&self.dependents).copied()
    }
}

fn owner<'a>(packages: &'a [Package], file: &str) -> Option<&'a Package> {
    packages.iter().find(|one| file.starts_with(&one.dir))
}

/// The sources with the file's name at the end of a text.
pub(super) fn readers(file: &str) -> Result<Vec<String>> {
    let (whole, end) = (format!("\"{file}\""), format!("/{file}\""));
    git::grep(&["-F", "-e", &whole, "-e", &end, "--", "*.rs"])
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, (_, why)) in &self.tested {
            writeln!(f, "  tested: {name} ({why})")?;
        }
        if !self.dependents.is_empty() {
            let why = match self.for_all.as_slice() {
                [] => "they use it".to_owned(),
                files => format!("{} is for all", files.join(" and ")),
            };
            let names: Vec<&str> = self.dependents.iter().copied().collect();
            writeln!(f, "  linted alone: {} ({why})", names.join(", "))?;
        }
        for file in &self.elsewhere {
            writeln!(
                f,
                "  left to .ci/run but for style: {file} (no package has or reads it)"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> Vec<Package> {
        let package = |name: &str, uses: &[&str]| Package {
            name: name.to_owned(),
            dir: format!("crates/{name}/"),
            has_library: true,
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        };
        vec![
            package("os", &["thiserror"]),
            package("node", &["os"]),
            package("node-tools", &["wire"]),
            package("proxy", &["node"]),
            package("wire", &[]),
        ]
    }

    /// The names of the tested packages, of those only linted, and the printed plan.
    fn plan(files: &[&str]) -> (Vec<String>, Vec<String>, String) {
        let packages = packages();
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        let readers = |file: &str| {
            let read = file == "docs/flags.md";
            Ok(Vec::from_iter(
                read.then(|| "crates/proxy/tests/page.rs".to_owned()),
            ))
        };
        let plan = Plan::new(&packages, &files, readers).unwrap();
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let tested = owned(plan.tested().map(|one| one.name.as_str()).collect());
        let dependents = owned(plan.dependents.iter().copied().collect());
        (tested, dependents, plan.to_string())
    }

    #[test]
    fn what_changed_is_tested_and_what_uses_it_linted_however_far() {
        let (tested, dependents, printed) = plan(&["crates/os/src/lib.rs"]);
        assert_eq!(tested, ["os"]);
        assert_eq!(dependents, ["node", "proxy"]);
        assert!(
            printed.contains("tested: os (crates/os/src/lib.rs changed)\n"),
            "{printed}"
        );
        assert!(
            printed.contains("linted alone: node, proxy (they use it)\n"),
            "{printed}"
        );
    }

    #[test]
    fn a_name_that_begins_like_anothers_is_another() {
        let (tested, dependents, _) = plan(&["crates/node-tools/Cargo.toml"]);
        assert_eq!(
            (tested, dependents),
            (vec!["node-tools".to_owned()], vec![])
        );
    }

    #[test]
    fn a_page_is_tested_by_who_reads_it_and_another_left_to_the_whole_run() {
        let (tested, dependents, printed) = plan(&["docs/flags.md", "tests/go/a_test.go"]);
        assert_eq!((tested, dependents), (vec!["proxy".to_owned()], vec![]));
        assert!(
            printed.contains("proxy (it reads docs/flags.md)"),
            "{printed}"
        );
        assert!(
            printed.contains("left to .ci/run but for style: tests/go/a_test.go"),
            "{printed}"
        );
    }

    #[test]
    fn what_is_for_all_has_all_linted_and_none_tested() {
        let (tested, dependents, printed) = plan(&["Cargo.lock"]);
        assert!(tested.is_empty());
        assert_eq!(dependents.len(), packages().len());
        assert!(printed.contains("(Cargo.lock is for all)"), "{printed}");
    }

    #[test]
    fn the_reader_of_a_page_is_found() {
        let found = readers("docs/flags.md").unwrap();
        assert!(
            found.contains(&"crates/proxy/tests/it/pages/mod.rs".to_owned()),
            "{found:?}"
        );
    }
}
