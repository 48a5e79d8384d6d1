//! Invariant 1: the platform is chosen where modules are, never inside a function.

use super::{Finding, Lint, Rule, Source};
use crate::tidy::sources::Line;

pub(super) const LINT: Lint = Lint {
    name: "cfg(windows) selects a module, or in tests a test, and is never inside of a function",
    rule: Rule::Files(|sources| {
        let rust = sources.iter().filter(|source| source.is_rust());
        rust.flat_map(check).collect()
    }),
};

const PLATFORMS: [&str; 6] = [
    "windows",
    "unix",
    "target_os",
    "target_family",
    "not(windows)",
    "not(unix)",
];

fn check(source: &Source) -> Vec<Finding> {
    let lines: Vec<Line<'_>> = source.lines().collect();
    let wrong = (0..lines.len()).filter(|at| is_wrong(&lines[*at..]));
    wrong
        .map(|at| Finding::new(source, at + 1, lines[at].text.trim()))
        .collect()
}

fn is_wrong(lines: &[Line<'_>]) -> bool {
    let line = lines[0].text.trim_start();
    if PLATFORMS
        .iter()
        .any(|platform| line.contains(&format!("cfg!({platform}")))
    {
        return true;
    }
    let begins = |attribute: &str| {
        PLATFORMS
            .iter()
            .any(|platform| line.starts_with(&format!("#[{attribute}({platform}")))
    };
    let item = item_below(&lines[1..]);
    let is_test = lines[0].in_tests && item.starts_with("fn ");
    (begins("cfg") || begins("cfg_attr")) && !selects_a_module(item) && !is_test
}

/// The item of an attribute.
fn item_below<'a>(below: &[Line<'a>]) -> &'a str {
    let lines = below.iter().map(|line| line.text.trim_start());
    lines
        .into_iter()
        .find(|line| !line.starts_with("#["))
        .unwrap_or_default()
}

fn selects_a_module(item: &str) -> bool {
    let item = ["pub(crate) ", "pub(super) ", "pub "]
        .iter()
        .find_map(|visibility| item.strip_prefix(visibility))
        .unwrap_or(item);
    item.starts_with("mod ") || item.starts_with("use ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn a_module_may_be_chosen_and_a_function_may_not() {
        let attribute = |rest: &str| format!("#[{rest}]");
        let chosen = format!("{}\npub(crate) mod x;\n", attribute("cfg(windows)"));
        assert_eq!(findings(&LINT, "a.rs", &chosen), CLEAN);
        let path = format!(
            "{}\nmod sys;\n",
            attribute("cfg_attr(windows, path = \"w.rs\")")
        );
        assert_eq!(findings(&LINT, "a.rs", &path), CLEAN);
        let function = format!("{}\nfn x() {{}}\n", attribute("cfg(not(windows))"));
        assert_eq!(findings(&LINT, "a.rs", &function), [1]);
        let test = format!("#[cfg(test)]\n{}\nfn x() {{}}\n", attribute("cfg(unix)"));
        assert_eq!(findings(&LINT, "a.rs", &test), CLEAN);
        let inside = format!("fn x() {{\n    if {}(windows) {{}}\n}}\n", "cfg!");
        assert_eq!(findings(&LINT, "a.rs", &inside), [2]);
    }
}
