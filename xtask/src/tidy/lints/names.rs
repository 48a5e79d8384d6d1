//! Words that are gone from names and sentences, and what stands in their place.

use super::{Finding, Lint, Source};

pub(super) const NAMES: Lint = Lint {
    rule: "a name has the word of the field, and one meaning",
    check: |sources| {
        let code = sources
            .iter()
            .filter(|source| source.is_rust() && is_checked(source));
        code.flat_map(|source| check(source, &without_strings(&source.text), NAMES_GONE))
            .collect()
    },
};

pub(super) const SENTENCES: Lint = Lint {
    rule: "a sentence says who does what",
    check: |sources| {
        let pages = sources
            .iter()
            .filter(|source| source.path.ends_with(".md") && is_checked(source));
        pages
            .flat_map(|source| check(source, &source.text.to_lowercase(), WORDS_GONE))
            .collect()
    },
};

/// Names of types, functions, modules and variables, each with what to write. Names of which another meaning is
/// in use (`Condition`, `Held`, `Operation`, `way`, `bench`, `stage`) cannot be here.
const NAMES_GONE: &[(&str, &str)] = &[
    ("Carried", "Variant"),
    ("Inexpressible", "Unsupported"),
    ("Looks", "InFlight"),
    ("Mender", "AuthorityRewriter"),
    ("MendError", "AuthorityError"),
    ("Odd", "SchemaMismatch"),
    ("Overseer", "MethodMiddleware"),
    ("Oversight", "Middleware"),
    ("Rig", "a Fixture, with what it is a fixture of"),
    ("Said", "what it holds: ErrorInfo, Returned"),
    ("Scene", "a Fixture, with what it is a fixture of"),
    ("Stand", "a Fixture, with what it is a fixture of"),
    ("Told", "what it holds"),
    ("Unsaid", "Unknown"),
    ("Way", "ResolvedPath"),
    ("WayError", "ResolveError"),
    ("Workbench", "CaseControl"),
    ("befall", "inject_fault"),
    ("is_told", "is_listed, is_reported"),
    ("is_worth_a_retry", "is_transient"),
    ("looks", "in_flight, reads, lookups"),
    ("meddle", "inject"),
    ("mend", "authority, rewrite"),
    ("mender", "rewriter"),
    ("overseer", "middleware"),
    ("oversight", "middleware"),
    ("rig", "fixture"),
    ("said", "what the value is: system_text, printed"),
    ("saying", "with_system_text"),
    ("scene", "fixture"),
    ("somebody", "other_process, unknown_owner, caller"),
    ("stand", "fixture"),
    ("stranger", "unknown_owner, other_process"),
    ("tell", "publish, notify, report"),
    ("told", "what it returns"),
    ("whoever", "caller"),
];

/// Words of pages, in small letters. Not here yet, as pages still have them all over: `nobody`, `what is` as a
/// subject, and tells, says and asks of a program.
const WORDS_GONE: &[(&str, &str)] = &[
    ("whatever somebody", "what another process"),
    ("whoever", "the caller, the process, the operator"),
    ("whomever", "the caller, the process, the operator"),
];

/// This file has the words, the change log what they were, and the recorded pages are others' texts.
fn is_checked(source: &Source) -> bool {
    let own = source.path.ends_with("tidy/lints/names.rs") || source.path == "CHANGELOG.md";
    !own && !source.path.contains("/recorded/")
}

fn check(source: &Source, text: &str, gone: &[(&str, &str)]) -> Vec<Finding> {
    let lines = (1..).zip(text.lines());
    lines
        .flat_map(|(number, line)| {
            let there = gone.iter().filter(move |(word, _)| has_word(line, word));
            there.map(move |(word, instead)| {
                Finding::new(source, number, format!("{word}: write {instead}"))
            })
        })
        .collect()
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_of_a_word) && !after.is_some_and(is_of_a_word)
    })
}

fn is_of_a_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The file with blanks in place of texts and comments: what drivers, operators and the log read stays as it is.
fn without_strings(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, from) = rest.split_at(at);
        let (skipped, after) = from.split_at(length_of_text(from, before));
        code.push_str(before);
        code.extend(skipped.matches('\n'));
        code.push(' ');
        rest = after;
    }
    code + rest
}

/// How long the text, the character or the comment is that begins here, at least one byte.
fn length_of_text(from: &str, before: &str) -> usize {
    if from.starts_with("//") {
        return from.find('\n').unwrap_or(from.len());
    }
    if from.starts_with("'\"'") {
        return 3;
    }
    if !from.starts_with('"') {
        return 1;
    }
    match raw_end(before) {
        Some(end) => from[1..]
            .find(&end)
            .map_or(from.len(), |at| at + 1 + end.len()),
        None => length_of_plain(from),
    }
}

/// What ends a raw text that begins after this code.
fn raw_end(before: &str) -> Option<String> {
    let hashes = before.len() - before.trim_end_matches('#').len();
    let is_raw = before.trim_end_matches('#').ends_with('r');
    is_raw.then(|| format!("\"{}", "#".repeat(hashes)))
}

fn length_of_plain(from: &str) -> usize {
    let mut is_escaped = false;
    for (at, character) in from.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    from.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn names_that_are_gone_are_found() {
        assert_eq!(
            findings(&NAMES, "a.rs", "x\nlet rig = Rig::new();\n"),
            [2, 2]
        );
        assert_eq!(findings(&NAMES, "a.rs", "fn told() {}\n"), [1]);
    }

    #[test]
    fn a_part_of_a_name_a_text_and_a_comment_are_left() {
        let text = "let rights = retold(\"told \\\" rig\", 1); // somebody\n";
        assert_eq!(findings(&NAMES, "a.rs", text), CLEAN);
        assert_eq!(findings(&NAMES, "a.md", "rig\n"), CLEAN);
        let texts = "(\"of two\nlines, told\", r#\"rig \" rig\"#, '\"', told)\n";
        assert_eq!(findings(&NAMES, "a.rs", texts), [2]);
    }

    #[test]
    fn sentences_without_an_agent_are_found() {
        assert_eq!(findings(&SENTENCES, "a.md", "good\nWhoever calls\n"), [2]);
        assert_eq!(findings(&SENTENCES, "CHANGELOG.md", "whoever\n"), CLEAN);
    }
}
