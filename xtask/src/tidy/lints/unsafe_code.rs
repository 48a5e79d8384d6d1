//! Invariant 1: unsafe code lives in one place and gives its reasons.

use super::Finding;
use super::Lint;
use super::Source;

pub(super) const LINT: Lint = Lint {
    rule: "unsafe stands in os-windows, its test kit and transport's pipe shim alone",
    check: |sources| {
        sources
            .iter()
            .filter(|source| is_safe_place(source))
            .flat_map(check)
            .collect()
    },
};

pub(super) const REASON: Lint = Lint {
    rule: "a module that may be unsafe says why, in a // UNSAFETY: sentence above its attribute",
    check: |sources| {
        sources
            .iter()
            .filter(|s| s.is_rust())
            .flat_map(without_reason)
            .collect()
    },
};

const ALLOWED: [&str; 3] = [
    "crates/os-windows/",
    "crates/os-windows-testkit/",
    "crates/transport/",
];

fn is_safe_place(source: &Source) -> bool {
    source.is_rust() && !ALLOWED.iter().any(|place| source.path.starts_with(place))
}

fn check(source: &Source) -> Vec<Finding> {
    let lines = source.lines().filter(|line| has_keyword(line.code()));
    lines
        .map(|line| Finding::new(source, line.number, line.text.trim()))
        .collect()
}

/// `unsafe` as it stands in code: before a block, a function, an impl or a foreign block.
fn has_keyword(code: &str) -> bool {
    let follows = [" {", " fn ", " impl", " extern", " trait", "("];
    follows
        .iter()
        .any(|follow| code.contains(&format!("{}{follow}", "unsafe")))
}

fn without_reason(source: &Source) -> Vec<Finding> {
    let lines: Vec<&str> = source.text.lines().collect();
    let attribute = format!("{}(unsafe_code)]", "expect");
    let bare = (0..lines.len())
        .filter(|at| lines[*at].trim_start().starts_with('#') && lines[*at].contains(&attribute))
        .filter(|at| !has_reason(&lines[..*at]));
    bare.map(|at| Finding::new(source, at + 1, lines[at].trim()))
        .collect()
}

fn has_reason(above: &[&str]) -> bool {
    let comment = above
        .iter()
        .rev()
        .take_while(|line| line.trim_start().starts_with("//"));
    comment
        .into_iter()
        .any(|line| line.contains("// UNSAFETY: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::CLEAN;
    use crate::tidy::lints::findings;

    #[test]
    fn the_keyword_is_told_from_the_word() {
        let block = format!("{} {{ x() }}\n", "unsafe");
        assert_eq!(findings(&LINT, "crates/node/src/a.rs", &block), [1]);
        assert_eq!(findings(&LINT, "crates/os-windows/src/a.rs", &block), CLEAN);
        assert_eq!(findings(&LINT, "crates/transport/src/a.rs", &block), CLEAN);
        assert_eq!(
            findings(
                &LINT,
                "crates/node/src/a.rs",
                "// unsafe { }\nlet unsafe_x = 1;\n"
            ),
            CLEAN
        );
    }

    #[test]
    fn the_reason_stands_right_above() {
        let attribute = format!("#![{}(unsafe_code)]\n", "expect");
        let good = format!("// UNSAFETY: calls Win32,\n// which is C.\n{attribute}");
        assert_eq!(findings(&REASON, "a.rs", &good), CLEAN);
        assert_eq!(findings(&REASON, "a.rs", &attribute), [1]);
        assert_eq!(
            findings(&REASON, "a.rs", &format!("// UNSAFETY: far\n\n{attribute}")),
            [3]
        );
    }
}
