//! A published package can be published: it has a description, its dependencies of ours are published too, and it
//! includes no file missing in its package.

use super::{Finding, Lint, Source, rooms};
use crate::tidy::sources::Line;

pub(super) const LINT: Lint = Lint {
    rule: "a published crate has its metadata, is built on published crates alone, and includes its own files alone",
    check,
};

const PRIVATE: &str = "\npublish = false\n";

const METADATA: [&str; 5] = [
    "\ndescription = ",
    "\nreadme.workspace = true\n",
    "\nkeywords.workspace = true\n",
    "\ncategories.workspace = true\n",
    "\n[package.metadata.docs.rs]\n",
];

fn check(sources: &[Source]) -> Vec<Finding> {
    let members = sources.iter().filter(|one| one.is_member_manifest());
    let published = members.filter(|one| !one.text.contains(PRIVATE));
    let wrong = published.flat_map(|one| {
        let own = metadata(one).chain(foundations(sources, one));
        own.chain(inclusions(sources, one))
    });
    wrong.chain(versions(sources)).collect()
}

fn metadata(manifest: &Source) -> impl Iterator<Item = Finding> {
    let missing = METADATA
        .iter()
        .filter(|line| !manifest.text.contains(**line));
    missing.map(|line| Finding::new(manifest, 0, format!("lacks {:?}", line.trim())))
}

fn foundations<'a>(sources: &'a [Source], manifest: &'a Source) -> impl Iterator<Item = Finding> {
    let is_private = |name: &&str| {
        let member = member(sources, name);
        member.is_some_and(|member| member.text.contains(PRIVATE))
    };
    let wrong = rooms::dependencies(&manifest.text).filter(is_private);
    wrong.map(|name| Finding::new(manifest, 0, format!("{name} is not published")))
}

/// A package has only the files of its own folder, so its tests do not compile with another's.
fn inclusions(sources: &[Source], manifest: &Source) -> impl Iterator<Item = Finding> {
    let folder = manifest.path.trim_end_matches("Cargo.toml").to_owned();
    let own = sources.iter().filter(move |one| one.is_rust());
    own.filter_map(move |one| Some((one, one.path.strip_prefix(&folder)?.matches('/').count())))
        .flat_map(|(one, depth)| {
            let outside = one.lines().filter(move |line| climbs(line.text) > depth);
            let finding = |line: Line<'_>| {
                let text = format!("includes a file of another folder: {}", line.text.trim());
                Finding::new(one, line.number, text)
            };
            outside.map(finding).collect::<Vec<_>>()
        })
}

/// How many folders up a line includes something.
fn climbs(line: &str) -> usize {
    let is_inclusion = ["include_str!", "include_bytes!", "#[path ="]
        .iter()
        .any(|word| line.contains(word));
    match line.split_once("\"../") {
        Some((_, rest)) if is_inclusion => 1 + rest.matches("../").count(),
        _ => 0,
    }
}

/// Cargo keeps dependencies with a version in a published package, and drops those of tests without one.
fn versions(sources: &[Source]) -> impl Iterator<Item = Finding> {
    let root = sources.iter().find(|one| one.path == "Cargo.toml");
    let lines = root.map_or("", |root| root.text.as_str()).lines().zip(1..);
    lines.filter_map(move |(line, number)| {
        let (name, value) = line.split_once(" = { package = ")?;
        let is_private = member(sources, name)?.text.contains(PRIVATE);
        let text = match (is_private, value.contains("version = ")) {
            (true, true) => "has a version and is not published",
            (false, false) => "is published and has no version",
            _ => return None,
        };
        Some(Finding::new(root?, number, format!("{name} {text}")))
    })
}

fn member<'a>(sources: &'a [Source], name: &str) -> Option<&'a Source> {
    let path = format!("crates/{name}/Cargo.toml");
    sources.iter().find(|one| one.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "a = { package = \"x-a\", path = \"crates/a\", version = \"0.1.0\" }\n\
        b = { package = \"x-b\", path = \"crates/b\" }\n";

    fn wrong(root: &str, a: &str) -> Vec<String> {
        wrong_with(root, a, "")
    }

    /// With the same file in the tests of both crates.
    fn wrong_with(root: &str, a: &str, file: &str) -> Vec<String> {
        let b = format!("[package]{PRIVATE}");
        let files = [
            ("Cargo.toml", root),
            ("crates/a/Cargo.toml", a),
            ("crates/a/tests/main/one.rs", file),
            ("crates/b/Cargo.toml", &b),
            ("crates/b/tests/main/one.rs", file),
        ];
        let sources = files.map(|(path, text)| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        let found = check(&sources);
        found.into_iter().map(|finding| finding.text).collect()
    }

    fn whole() -> String {
        format!(
            "[package]{}\n[dev-dependencies]\nb.workspace = true\n",
            METADATA.concat()
        )
    }

    #[test]
    fn a_whole_manifest_with_private_test_dependencies_is_right() {
        assert_eq!(wrong(ROOT, &whole()), Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_published_is_found() {
        let bare = "[package]\n\n[dependencies]\nb.workspace = true\n";
        let found = wrong(ROOT, bare);
        assert_eq!(found.len(), METADATA.len() + 1, "{found:?}");
        assert_eq!(found.last().unwrap(), "b is not published");
    }

    #[test]
    fn a_file_of_another_folder_is_included_by_private_crates_alone() {
        let own = "const A: &str = include_str!(\"../../fixtures/a\");\n#[path = \"../x.rs\"]\n";
        assert_eq!(wrong_with(ROOT, &whole(), own), Vec::<String>::new());
        let other =
            "const A: &str = include_str!(\"../../../b/a\");\n#[path = \"../../../b.rs\"]\n";
        let found = wrong_with(ROOT, &whole(), other);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("include_str!(\"../../../b/a\")"),
            "{found:?}"
        );
    }

    #[test]
    fn versions_stand_where_they_are_published() {
        let swapped = ROOT
            .replace(", version = \"0.1.0\"", "")
            .replace("s/b\"", "s/b\", version = \"1\"");
        let found = wrong(&swapped, &whole());
        let expected = [
            "a is published and has no version",
            "b has a version and is not published",
        ];
        assert_eq!(found, expected);
    }
}
