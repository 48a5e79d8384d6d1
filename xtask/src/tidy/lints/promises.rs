//! A promise of SECURITY.md has a test with a line in its doc comment: `Guards: P1, P2`.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::{Finding, Lint, Rule, Source};
use crate::tidy::sources;

pub(super) const LINT: Lint = Lint {
    name: "each promise of SECURITY.md has a test with the doc line `Guards: P1`, and each such line a promise",
    rule: Rule::Files(|sources| {
        let guards: Vec<Guard<'_>> = sources.iter().flat_map(guards).collect();
        let page = sources.iter().find(|one| one.path == PAGE);
        page.map_or_else(Vec::new, |page| check(page, &guards))
    }),
};

const PAGE: &str = "SECURITY.md";

/// Print which test guards which promise of SECURITY.md
#[derive(Args)]
pub(crate) struct Promises {}

impl Promises {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let sources = sources::all()?;
        let guards: Vec<Guard<'_>> = sources.iter().flat_map(guards).collect();
        let page = sources.iter().filter(|one| one.path == PAGE);
        for (_, name, text) in page.flat_map(promises) {
            println!("{name} {text}");
            for guard in guards.iter().filter(|guard| guard.guards(name)) {
                let test = guard.test.unwrap_or_default();
                println!("  {}: {test}", guard.source.path);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Line, name and text of each `- **P1** Text`, possibly with indented further lines.
fn promises(page: &Source) -> impl Iterator<Item = (usize, &str, String)> {
    let lines = page.text.lines().zip(1..);
    lines.filter_map(|(text, line)| {
        let (name, text) = text.strip_prefix("- **")?.split_once("** ")?;
        let further = page.text.lines().skip(line);
        let further = further.map_while(|text| text.strip_prefix(' '));
        let text = further.fold(text.to_owned(), |all, more| all + more);
        is_name(name).then_some((line, name, text))
    })
}

fn is_name(word: &str) -> bool {
    let digits = word.strip_prefix('P').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn check(page: &Source, guards: &[Guard<'_>]) -> Vec<Finding> {
    let made = promises(page).map(|(line, name, _)| (name, line));
    let made: BTreeMap<&str, usize> = made.collect();
    let is_guarded = |name: &str| guards.iter().any(|one| one.guards(name));
    let unguarded = made.iter().filter(|(name, _)| !is_guarded(name));
    let unguarded = unguarded.map(|(name, line)| (page, *line, format!("{name} has no test")));
    let named = page.text.lines().zip(1..).flat_map(|(text, line)| {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let names = words.filter(|word| is_name(word));
        names.map(move |name| (page, line, name))
    });
    let guarded = guards
        .iter()
        .flat_map(|one| one.names.iter().map(|name| (one.source, one.line, *name)));
    let named = named.chain(guarded);
    let unknown = named.filter(|(_, _, name)| !made.contains_key(name));
    let unknown = unknown.map(|(file, line, name)| (file, line, format!("{name} is no promise")));
    let lost = guards.iter().filter(|one| one.test.is_none());
    let lost = lost.map(|one| (one.source, one.line, "no doc comment of a test".to_owned()));
    let found = unguarded.chain(unknown).chain(lost);
    let found = found.map(|(file, line, text)| Finding::new(file, line, text));
    found.collect()
}

/// Such a line of a comment, and the comment's test.
struct Guard<'a> {
    source: &'a Source,
    line: usize,
    names: Vec<&'a str>,
    test: Option<&'a str>,
}

fn guards(source: &Source) -> impl Iterator<Item = Guard<'_>> {
    let lines = source.text.lines().map(str::trim).zip(1..);
    let comments = lines.filter(|(text, _)| source.is_rust() && text.starts_with("//"));
    comments.filter_map(|(text, line)| {
        let comment = text.trim_start_matches(['/', '!', ' ']);
        let names = comment.strip_prefix("Guards:")?.split(',');
        let names = names.map(str::trim).collect();
        let doc = text.strip_prefix("/// ");
        let test = doc.and_then(|_| test_below(source, line));
        Some(Guard {
            source,
            line,
            names,
            test,
        })
    })
}

/// The function below this line's comment, if it is a `#[test]` or a case in a suite's `declare!`.
fn test_below(source: &Source, line: usize) -> Option<&str> {
    let mut is_test = false;
    let mut lines = source.text.lines().skip(line).map(str::trim);
    let head = lines.find(|text| {
        is_test |= *text == "#[test]";
        !text.starts_with("///") && !text.starts_with("#[")
    })?;
    let name = head.strip_prefix("fn ")?.split(['(', '<']).next()?;
    let (_, cases) = source.text.split_once("declare!(").unwrap_or_default();
    let cases = cases.lines().map(str::trim);
    let mut cases = cases.map_while(|text| text.strip_suffix([',', ';']));
    (is_test || cases.any(|case| case == name)).then_some(name)
}

impl Guard<'_> {
    fn guards(&self, promise: &str) -> bool {
        self.test.is_some() && self.names.contains(&promise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: &str =
        "- **P1** One\n  more.\n- **P2** Two.\n- **Who** trusts.\n1. Weakness: P1, P2.\n";
    const BOTH: &str = "/// Why.\n/// Guards: P1, P2\n#[test]\nfn a() {}\n";

    fn found(page: &str, tests: &str) -> Vec<String> {
        let files = [(PAGE, page), ("tests/a.rs", tests)].map(|(path, text)| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        let found = LINT.check(&files);
        found
            .iter()
            .map(|one| format!("{}:{}: {}", one.path, one.line, one.text))
            .collect()
    }

    #[test]
    fn promises_and_tests_name_each_other() {
        assert_eq!(found(PAGES, BOTH), [""; 0]);
        let case = "declare!(\"x\";\n    a,\n);\n/// Guards: P1, P2\nfn a() {}\n";
        assert_eq!(found(PAGES, case), [""; 0]);
        let one = BOTH.replace(", P2", "");
        assert_eq!(found(PAGES, &one), ["SECURITY.md:3: P2 has no test"]);
        let more = BOTH.replace("P2", "P2, P3");
        assert_eq!(found(PAGES, &more), ["tests/a.rs:2: P3 is no promise"]);
        let row = format!("{PAGES}2. Another: P4.\n");
        assert_eq!(found(&row, BOTH), ["SECURITY.md:6: P4 is no promise"]);
    }

    #[test]
    fn a_line_elsewhere_than_in_a_tests_doc_comment_is_found() {
        for elsewhere in [
            "/// Guards: P1\nfn helper() {}\n",
            "// Guards: P1\n#[test]\nfn b() {}\n",
            "//! Guards: P1\n",
        ] {
            let found = found(PAGES, &format!("{elsewhere}{BOTH}"));
            assert_eq!(found, ["tests/a.rs:1: no doc comment of a test"]);
        }
    }
}
