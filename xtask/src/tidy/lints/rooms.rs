//! The crates: their dependencies match ARCHITECTURE's table, and the workspace's lints hold in each.

use std::collections::BTreeSet;

use super::{Finding, Lint, Rule, Source};

pub(super) const LINT: Lint = Lint {
    name: "ARCHITECTURE.md's table names each crate, and what of ours it depends on",
    rule: Rule::Files(|sources| {
        let page = sources.iter().find(|one| one.path == "ARCHITECTURE.md");
        let wrong = sources.iter().filter_map(|one| wrong(sources, page?, one));
        wrong.collect()
    }),
};

/// Without them a crate may cut integers and be unsafe.
pub(super) const INHERITED: Lint = Lint {
    name: "a crate has the workspace's lints",
    rule: Rule::Files(|sources| {
        let manifests = sources.iter().filter(|source| room(source).is_some());
        let bare = manifests.filter(|one| !one.text.contains("[lints]\nworkspace = true"));
        bare.map(|one| Finding::new(one, 0, "has none")).collect()
    }),
};

fn wrong(sources: &[Source], page: &Source, manifest: &Source) -> Option<Finding> {
    let name = room(manifest).filter(|name| *name != "xtask")?;
    let begins = format!("| `{name}` |");
    let mut lines = page.text.lines().zip(1..);
    let row = lines.find(|(line, _)| line.starts_with(&begins));
    let (line, number) = row.unwrap_or_default();
    let cell = line.trim_end_matches([' ', '|']).rsplit('|').next()?;
    let knows: BTreeSet<&str> = cell.split('`').skip(1).step_by(2).collect();
    let ours = |name: &&str| is_there(sources, &format!("crates/{name}/Cargo.toml"));
    let depends: BTreeSet<&str> = dependencies(&manifest.text).filter(ours).collect();
    let is_wrong = row.is_none() || knows != depends;
    is_wrong.then(|| Finding::new(page, number, format!("{name} depends on {depends:?}")))
}

/// A package by its name in the table: `crates/a` is `a`, `examples/a` keeps its folder. Deeper packages, such as fuzz
/// targets, are no rooms.
fn room(manifest: &Source) -> Option<&str> {
    let folder = manifest.path.strip_suffix("/Cargo.toml")?;
    match folder.split_once('/') {
        None => Some(folder),
        Some((_, name)) if name.contains('/') => None,
        Some(("crates", name)) => Some(name),
        Some(("examples", _)) => Some(folder),
        Some(_) => None,
    }
}

fn is_there(sources: &[Source], path: &str) -> bool {
    sources.iter().any(|one| one.path == path)
}

/// The shipped code's dependencies, on any system.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let sections = manifest.split("\n[");
    let counts = |head: &str| head.trim_start_matches('[') == "dependencies]";
    let counting = sections.filter(move |section| {
        let head = section.lines().next().unwrap_or_default();
        counts(head) || head.ends_with(".dependencies]")
    });
    let names = counting.flat_map(|section| section.lines().skip(1));
    names.filter_map(|line| line.split(['.', ' ']).next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    fn wrong(cell: &str) -> Vec<usize> {
        let page = format!(
            "| crate | what | knows |\n|---|---|---|\n| `a` | one | {cell} |\n| `b` | two | nothing |\n| `c` | three | nothing |\n"
        );
        let manifest = "[dependencies]\nb.workspace = true\nserde.workspace = true\n\n[dev-dependencies]\nc.workspace = true\n";
        let files = [
            ("ARCHITECTURE.md", page.as_str()),
            ("crates/a/Cargo.toml", manifest),
            ("crates/b/Cargo.toml", ""),
            ("crates/c/Cargo.toml", ""),
        ];
        let sources = files.map(|(path, text)| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        LINT.check(&sources)
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn what_is_left_out_and_what_is_not_so_are_found() {
        assert_eq!(wrong("`b`, for its names alone"), [0; 0]);
        assert_eq!(wrong("nothing"), [3]);
        assert_eq!(wrong("`b`, `c`"), [3]);
    }

    #[test]
    fn a_crate_without_lints_is_found_and_fuzz_is_none() {
        let found = |path, text| findings(&INHERITED, path, text);
        assert_eq!(
            found("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            CLEAN
        );
        for bare in [
            "crates/a/Cargo.toml",
            "examples/a/Cargo.toml",
            "xtask/Cargo.toml",
        ] {
            assert_eq!(found(bare, "[package]\n"), [0], "{bare}");
        }
        assert_eq!(found("crates/a/fuzz/Cargo.toml", "[package]\n"), CLEAN);
        assert_eq!(found("Cargo.toml", "[workspace]\n"), CLEAN);
    }
}
