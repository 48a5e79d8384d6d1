use std::fmt::Write as _;

use super::{Configuration, Flag, Value};

/// The usage text of a program, rendered from its table.
#[must_use]
pub fn usage<C: Configuration>(program: &str) -> String {
    let mut text = format!("Usage of {program}:\n");
    for section in C::SECTIONS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{}:", section.title);
        for flag in section.flags {
            let (synopsis, default) = (synopsis(flag), default(flag));
            let _ = writeln!(text, "  {synopsis}\n    \t{}{default}", flag.help);
        }
    }
    text
}

/// All flags of a program in Markdown: a section with a table for each.
#[must_use]
pub fn table_of<C: Configuration>() -> String {
    let mut text = String::new();
    for section in C::SECTIONS {
        let _ = writeln!(text, "\n## {}\n{}\n", section.title, section.about);
        text.push_str("| flag | default | what it does |\n|---|---|---|\n");
        for flag in section.flags {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                cell(&synopsis(flag)),
                code(flag.default),
                cell(flag.help)
            );
        }
    }
    text
}

fn synopsis<C>(flag: &Flag<C>) -> String {
    match flag.value {
        Value::Bool => format!("-{}", flag.name),
        Value::Of(value) => format!("-{} {value}", flag.name),
    }
}

fn default<C>(flag: &Flag<C>) -> String {
    match flag.default {
        "" => String::new(),
        default => format!(" (default {default})"),
    }
}

fn code(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("`{}`", cell(text)),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
