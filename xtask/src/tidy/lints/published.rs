//! What is published can be: it says what it is, and what of ours it is built on is published too.

use super::{Finding, Lint, Source, rooms};

pub(super) const LINT: Lint = Lint {
    rule: "a published crate has its metadata, and is built on published crates alone",
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
    let wrong = published.flat_map(|one| metadata(one).chain(foundations(sources, one)));
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

/// Cargo keeps dependencies with a version in what it publishes, and drops those of tests that have none.
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
        let b = format!("[package]{PRIVATE}");
        let files = [
            ("Cargo.toml", root),
            ("crates/a/Cargo.toml", a),
            ("crates/b/Cargo.toml", &b),
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
