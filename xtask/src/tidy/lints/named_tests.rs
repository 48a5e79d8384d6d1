//! A test named on a page exists.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Lint, Rule, Source};

pub(super) const LINT: Lint = Lint {
    name: "a test that a page names exists",
    rule: Rule::Files(|sources| {
        let tests = Tests::of(sources);
        let pages = sources.iter().filter(|page| page.path.ends_with(".md"));
        pages.flat_map(|page| check(page, &tests)).collect()
    }),
};

/// The head of a column of tests' names.
const COLUMN: &str = "tested by";

/// The tests of each file's module: `tests/it/disks/find.rs` is `find`, `src/paths.rs` is `paths`.
struct Tests<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> Tests<'a> {
    fn of(sources: &'a [Source]) -> Self {
        let mut tests: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for source in sources {
            for module in modules(&source.path) {
                tests.entry(module).or_default().extend(functions(source));
            }
        }
        Self(tests)
    }

    /// Whether `module::function`, a function alone, or a module with tests exists.
    fn has(&self, name: &str) -> bool {
        match name.rsplit_once("::") {
            Some((module, function)) => self.module_has(module, function),
            None => {
                let module = self.0.get(name);
                module.is_some_and(|tests| !tests.is_empty())
                    || self.0.values().any(|tests| tests.contains(name))
            }
        }
    }

    fn module_has(&self, module: &str, function: &str) -> bool {
        let tests = self.0.get(module);
        tests.is_some_and(|tests| tests.contains(function))
    }
}

/// A file's own name, and its folder's when it is the folder's main file.
fn modules(path: &str) -> Vec<&str> {
    let Some((folder, file)) = path.rsplit_once('/') else {
        return Vec::new();
    };
    let name = file.split('.').next().unwrap_or(file);
    let folder = folder.rsplit('/').next().unwrap_or(folder);
    match name {
        "main" | "mod" | "lib" | "tests" => vec![folder],
        _ => vec![name],
    }
}

fn functions(source: &Source) -> impl Iterator<Item = &str> {
    let mut follows_attribute = false;
    let lines = source.text.lines().map(str::trim);
    lines.filter_map(move |line| {
        let name = line
            .strip_prefix("fn ")
            .and_then(|rest| rest.split(['(', '<']).next());
        let is_test = follows_attribute && source.is_rust();
        follows_attribute = match name {
            Some(_) => false,
            None => line == "#[test]" || follows_attribute,
        };
        name.filter(|_| is_test)
    })
}

fn check(page: &Source, tests: &Tests<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut column = None;
    for (line, number) in page.text.lines().zip(1..) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match (line.starts_with('|'), column) {
            (false, _) => column = None,
            (true, None) => column = Some(cells.iter().position(|cell| *cell == COLUMN)),
            _ => {}
        }
        let cell = column.flatten().and_then(|at| cells.get(at));
        if cell
            .is_some_and(|cell| *cell != COLUMN && !cell.starts_with("--") && !cell.contains('`'))
        {
            found.push(Finding::new(page, number, "no test is named here"));
        }
        let named = cell.into_iter().flat_map(|cell| quoted(cell));
        let named = named.chain(quoted(line).filter(|name| is_like_a_test(name)));
        let missing: BTreeSet<&str> = named.filter(|name| !tests.has(name)).collect();
        found.extend(
            missing
                .iter()
                .map(|name| Finding::new(page, number, format!("there is no test {name}"))),
        );
    }
    found
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `module::a_sentence_of_words`, in any place.
fn is_like_a_test(name: &str) -> bool {
    let word = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    name.split_once("::").is_some_and(|(module, function)| {
        word(module) && word(function) && function.matches('_').count() > 2
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: &str = "#[test]\nfn a_b() {}\nfn helper() {}\n#[test]\n#[allow(x)]\nfn c() {}\n";

    fn missing(page: &str) -> Vec<String> {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let sources = [
            source("crates/x/tests/it/main.rs", TEST),
            source("crates/x/src/y.rs", "fn no() {}\n"),
            source("A.md", page),
        ];
        let found = LINT.check(&sources);
        found.iter().map(|one| one.text.clone()).collect()
    }

    #[test]
    fn names_are_looked_for_in_their_column_and_module() {
        let head = "| x | tested by |\n|---|---|\n";
        let row = "| `nothing` | `it::a_b`, `c`, `it` |\n";
        assert_eq!(missing(&format!("{head}{row}")), Vec::<String>::new());
        let row = "| x | `y::a_b`, `helper`, `y`, `it::helper` |\n";
        assert_eq!(missing(&format!("{head}{row}")).len(), 4);
        assert_eq!(missing(&format!("{head}| x | later |\n| x | |\n")).len(), 2);
        assert_eq!(
            missing("| x | y |\n|---|---|\n| `helper` | `no` |\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_is_named_like_a_test_is_looked_for_everywhere() {
        assert_eq!(missing("see `it::no_such_test_there`").len(), 1);
        assert_eq!(missing("see `node::api` and `it`"), Vec::<String>::new());
    }
}
