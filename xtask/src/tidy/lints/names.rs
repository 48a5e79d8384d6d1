//! Words that are gone from names and sentences, and what stands in their place.

use super::{Finding, Lint, Source};

pub(super) const NAMES: Lint = Lint {
    rule: "a name has the word of the field, and one meaning",
    check: |sources| {
        let code = sources
            .iter()
            .filter(|source| source.is_rust() && is_checked(source));
        let code =
            code.flat_map(|source| check(source, &without_strings(&source.text), NAMES_GONE));
        let pages = sources
            .iter()
            .filter(|source| is_page(source) && is_checked(source));
        let pages = pages.flat_map(|source| check(source, &in_backticks(&source.text), NAMES_GONE));
        code.chain(pages).collect()
    },
};

pub(super) const SENTENCES: Lint = Lint {
    rule: "a sentence says who does what",
    check: |sources| {
        let checked = sources.iter().filter(|source| is_checked(source));
        checked
            .flat_map(|source| check(source, &prose(source).to_lowercase(), WORDS_GONE))
            .collect()
    },
};

/// Names of types, functions, modules and variables, each with what to write. Names of which another meaning is
/// in use (`Condition`, `Held`, `Operation`, `way`, `bench`, `stage`) cannot be here.
const NAMES_GONE: &[(&str, &str)] = &[
    ("Asker", "ReplyHandle"),
    ("Callee", "WmiObject"),
    ("Carried", "Variant"),
    ("CloseReason::Greedy", "OverBudget"),
    ("Inexpressible", "Unsupported"),
    ("Looks", "InFlight"),
    ("MendError", "AuthorityError"),
    ("Mender", "AuthorityRewriter"),
    ("Odd", "SchemaMismatch"),
    ("Overseer", "MethodMiddleware"),
    ("Oversight", "Middleware"),
    ("Rig", "a Fixture, with what it is a fixture of"),
    ("Said", "what it holds: ErrorInfo, Returned"),
    ("Scene", "a Fixture, with what it is a fixture of"),
    ("Served::Robbed", "Reassigned"),
    ("Stand", "a Fixture, with what it is a fixture of"),
    ("Told", "what it holds"),
    ("UnknownGuard", "UnknownBlankRule"),
    ("Unsaid", "Unknown"),
    ("WAY_OUT", "OVERWRITE_HINT"),
    ("Way", "ResolvedPath"),
    ("WayError", "ResolveError"),
    ("Workbench", "CaseControl"),
    ("ask_anew", "recheck_provider_object"),
    ("befall", "inject_fault"),
    ("befalls", "applies_to"),
    ("essay", "page"),
    ("give_way", "close_for_memory"),
    ("invoke_seen", "invoke_and_verify"),
    ("invoke_unseen", "invoke_unverified"),
    ("is_server_away", "is_server_unreachable"),
    ("is_told", "is_listed, is_reported"),
    ("is_worth_a_retry", "is_transient"),
    ("looks", "in_flight, reads, lookups"),
    ("meddle", "inject"),
    ("mend", "authority, rewrite"),
    ("mender", "rewriter"),
    ("online_the_one", "bring_partition_online"),
    ("overseer", "middleware"),
    ("oversight", "middleware"),
    ("patiently", "retry_until, or what is retried"),
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

/// Words of pages and doc comments, in small letters. Not here yet, as both still have them all over: `nobody`, `what is`
/// as a subject, and tells, says and asks of a program.
const WORDS_GONE: &[(&str, &str)] = &[
    ("befall", "apply to"),
    ("befalls", "applies to"),
    ("the crate's essay", "the crate's page"),
    ("waits where it stands", "blocks the thread"),
    ("whatever somebody", "what another process"),
    ("whoever", "the caller, the process, the operator"),
    ("whomever", "the caller, the process, the operator"),
];

/// This file has the words, the change log what they were, and the recorded pages are others' texts.
fn is_checked(source: &Source) -> bool {
    let own = source.path.ends_with("tidy/lints/names.rs") || source.path == "CHANGELOG.md";
    !own && !source.path.contains("/recorded/")
}

fn is_page(source: &Source) -> bool {
    source.path.ends_with(".md")
}

/// What a source says to its readers: all of a page, and the doc comments of code. Other lines are empty.
fn prose(source: &Source) -> String {
    let is_doc = |line: &str| ["//!", "///"].iter().any(|mark| line.starts_with(mark));
    let lines = source.text.lines();
    let lines = lines.map(|line| {
        let is_read = is_page(source) || source.is_rust() && is_doc(line.trim_start());
        if is_read { line } else { "" }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that a page has in backticks, each on its line. Blocks of code have none. A name with dashes is one of the
/// wire or a flag, and no part of it is a name.
fn in_backticks(text: &str) -> String {
    let names = |line: &str| {
        line.split('`')
            .skip(1)
            .step_by(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let lines = text.lines().map(|line| names(line).replace('-', "_"));
    lines.collect::<Vec<_>>().join("\n")
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

/// The length of the text, character or comment that begins here, at least one byte.
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

/// The end mark of a raw text that begins after this code.
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
        assert_eq!(findings(&NAMES, "a.md", "rig and `rights`\n"), CLEAN);
        let texts = "(\"of two\nlines, told\", r#\"rig \" rig\"#, '\"', told)\n";
        assert_eq!(findings(&NAMES, "a.rs", texts), [2]);
    }

    #[test]
    fn names_that_are_gone_are_found_in_a_pages_backticks() {
        assert_eq!(findings(&NAMES, "a.md", "`x`\nthe `Rig` of `x`\n"), [2]);
        assert_eq!(findings(&NAMES, "a.md", "`entry-looks`\n"), CLEAN);
    }

    #[test]
    fn doc_comments_are_read_as_pages_are() {
        let text = "//! whoever\nlet whoever = 1; // whoever\n    /// Whoever\n";
        assert_eq!(findings(&SENTENCES, "a.rs", text), [1, 3]);
    }

    #[test]
    fn sentences_without_an_agent_are_found() {
        assert_eq!(findings(&SENTENCES, "a.md", "good\nWhoever calls\n"), [2]);
        assert_eq!(findings(&SENTENCES, "CHANGELOG.md", "whoever\n"), CLEAN);
    }
}
