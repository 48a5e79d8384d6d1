use std::fmt::Write as _;

use super::table::{Flag, SECTIONS, Value};

/// The usage text, rendered from the table.
#[must_use]
pub fn usage() -> String {
    let mut text = String::from("Usage of csi-proxy:\n");
    for section in SECTIONS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{}:", section.title);
        for flag in section.flags {
            let (synopsis, default) = (synopsis(flag), default(flag));
            let _ = writeln!(text, "  {synopsis}\n    \t{}{default}", flag.help);
        }
    }
    text
}

/// The page `docs/flags.md`, rendered from the table.
#[must_use]
pub fn page() -> String {
    let mut text = String::from(PREFACE);
    for section in SECTIONS {
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

const PREFACE: &str = "\
# Flags of csi-proxy

<!-- Written by `cargo xtask docs` from the table in crates/proxy/src/flags. -->

The syntax is that of Go's `flag` package: one dash or two, `-flag=value` or `-flag value`. A flag that
is true or false takes its value by `=` alone (`-windows-service=false`); true is `1`, `t`, `T`, `true`,
`TRUE`, `True`, false likewise. What is given twice overrides, but for `-working-dir`
and `-volume-dir`, which add. `--`
ends the flags. A command line that cannot be understood ends the program with code 2.

Go's package stops at the first argument that is no flag, and csi-proxy then ignores all that follows.
Here it is ignored with a warning (`-windows-service true -v=4` runs as a service, without `-v=4`); but where a flag of
wincsi's follows, the line is refused, since that may be the one that limits what can be called.
";

fn synopsis(flag: &Flag) -> String {
    match flag.value {
        Value::Bool => format!("-{}", flag.name),
        Value::Of(value) => format!("-{} {value}", flag.name),
    }
}

fn default(flag: &Flag) -> String {
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
