//! The dependencies match ARCHITECTURE's table.

use std::collections::BTreeSet;

use super::{Finding, Lint, Source};

pub(super) const SEAM: Lint = Lint {
    rule: "node reaches the system only through `os`",
    check: |sources| {
        let shipped = sources
            .iter()
            .filter(|source| source.path.starts_with("crates/node/src/") && source.is_rust());
        shipped.flat_map(past_the_seam).collect()
    },
};

/// I/O and clocks of the standard library.
const SYSTEM: [&str; 6] = [
    "std::env",
    "std::fs",
    "std::io",
    "Instant::now",
    "SystemTime",
    "TcpStream",
];

fn past_the_seam(source: &Source) -> Vec<Finding> {
    let shipped = source.lines().filter(|line| !line.in_tests);
    let past = shipped.filter(|line| SYSTEM.iter().any(|name| line.code().contains(name)));
    past.map(|line| Finding::new(source, line.number, line.text.trim()))
        .collect()
}

pub(super) const LINT: Lint = Lint {
    rule: "ARCHITECTURE.md's table names each crate, and what of ours it depends on",
    check,
};

fn check(sources: &[Source]) -> Vec<Finding> {
    let page = sources.iter().find(|one| one.path == "ARCHITECTURE.md");
    let wrong = sources.iter().filter_map(|one| wrong(sources, page?, one));
    wrong.collect()
}

fn wrong(sources: &[Source], page: &Source, manifest: &Source) -> Option<Finding> {
    let name = room(manifest)?;
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
    match folder.split_once('/')? {
        (_, name) if name.contains('/') => None,
        ("crates", name) => Some(name),
        ("examples", _) => Some(folder),
        _ => None,
    }
}

fn is_there(sources: &[Source], path: &str) -> bool {
    sources.iter().any(|one| one.path == path)
}

/// The shipped code's dependencies, on any system.
pub(super) fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
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

    #[test]
    fn io_in_node_is_found_in_shipped_code_only() {
        let text = "// std::fs in words\nuse std::fs;\n#[cfg(test)]\nuse std::fs;\n";
        let path = "crates/node/src/x.rs";
        assert_eq!(findings(&SEAM, path, text), [2]);
        assert_eq!(findings(&SEAM, "crates/os-sim/src/x.rs", text), CLEAN);
    }

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
        check(&sources).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_example_is_a_room_and_fuzz_targets_are_none() {
        let rooms = ["crates/a", "crates/a/fuzz", "examples/a", "xtask"].map(|folder| {
            let path = format!("{folder}/Cargo.toml");
            let text = String::new();
            room(&Source { path, text }).map(str::to_owned)
        });
        let expected = [Some("a"), None, Some("examples/a"), None];
        assert_eq!(rooms, expected.map(|room| room.map(str::to_owned)));
    }

    #[test]
    fn what_is_left_out_and_what_is_not_so_are_found() {
        assert_eq!(wrong("`b`, for its names alone"), [0; 0]);
        assert_eq!(wrong("nothing"), [3]);
        assert_eq!(wrong("`b`, `c`"), [3]);
    }
}
