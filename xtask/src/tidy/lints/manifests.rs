//! One version of everything: members take versions, licence and lints from the workspace.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "a member takes version, edition, licence, lints and dependencies from the workspace",
    check: |sources| {
        sources
            .iter()
            .filter(|source| source.is_member_manifest())
            .flat_map(check)
            .collect()
    },
};

const INHERITED: [&str; 5] = [
    "version.workspace = true",
    "edition.workspace = true",
    "rust-version.workspace = true",
    "license.workspace = true",
    "[lints]\nworkspace = true",
];

fn check(source: &Source) -> Vec<Finding> {
    let missing = INHERITED
        .iter()
        .filter(|line| !source.text.contains(**line));
    let missing = missing.map(|line| Finding::new(source, 0, format!("lacks {line:?}")));
    missing.chain(own_versions(source)).collect()
}

/// Dependencies with a version of their own; a package that tests itself with more features names
/// itself by path.
fn own_versions(source: &Source) -> Vec<Finding> {
    let mut in_dependencies = false;
    let mut found = Vec::new();
    for (line, number) in source.text.lines().zip(1..) {
        if line.starts_with('[') {
            in_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            continue;
        }
        let names_one = line.contains(" = ") && !line.starts_with([' ', '#', ']']);
        let inherits = line.contains("workspace = true") || line.contains("path = \".\"");
        if in_dependencies && names_one && !inherits {
            found.push(Finding::new(source, number, line));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn a_version_of_its_own_is_found() {
        let text = format!(
            "{}\n\n[target.'cfg(unix)'.dependencies]\na.workspace = true\nb = \"1\"\n",
            INHERITED.join("\n")
        );
        assert_eq!(findings(&LINT, "crates/a/Cargo.toml", &text), [10]);
        assert_eq!(
            findings(&LINT, "crates/a/Cargo.toml", "").len(),
            INHERITED.len()
        );
        assert_eq!(findings(&LINT, "Cargo.toml", ""), CLEAN);
    }
}
