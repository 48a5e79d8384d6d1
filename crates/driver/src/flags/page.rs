use std::fmt::Write as _;

use super::Config;
use super::foreign::{FOREIGN, SHARED};

/// The page `docs/driver-flags.md`, rendered from the tables.
pub fn page() -> String {
    let mut text = String::from(PREFACE);
    text.push_str(&program::flags::table_of::<Config>());
    let shared: Vec<_> = SHARED.iter().map(|name| format!("`-{name}`")).collect();
    text.push_str(FOREIGN_PREFACE);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}, and klog's.\n", shared.join(", "));
    text.push_str("| flags | of | what replaces them |\n|---|---|---|\n");
    for (names, of, replacement) in replaced_alike() {
        let _ = writeln!(text, "| {names} | {of} | {replacement} |");
    }
    text
}

/// Names, a driver and a replacement.
type ForeignRow = (String, &'static str, &'static str);

/// A row for each replacement, with all flags of a driver that it replaces, in the order of their first.
fn replaced_alike() -> Vec<ForeignRow> {
    let mut rows: Vec<ForeignRow> = Vec::new();
    for (name, of, replacement) in FOREIGN {
        let mut known = rows.iter_mut();
        match known.find(|row| (row.1, row.2) == (*of, *replacement)) {
            Some(row) => row.0 += &format!(", `-{name}`"),
            None => rows.push((format!("`-{name}`"), *of, *replacement)),
        }
    }
    rows
}

const PREFACE: &str = "\
# Flags of wincsi node

<!-- Written by `cargo xtask docs` from the tables in crates/driver/src/flags. -->

Flags of `wincsi node`, `wincsi node drain`, `wincsi node deregister`, `wincsi doctor` and
`wincsi collect`, which take the same.

Each flag also comes from a variable: `-max-volumes` is `WINCSI_MAX_VOLUMES`. The command line overrides it. In a
HostProcess container use the variables: the runtime starts the program through `cmd /c`, as SYSTEM, which would read an
argument.

Their syntax is [csi-proxy's](flags.md), but an argument that is no flag is rejected, and `-topology` adds up.
";

const FOREIGN_PREFACE: &str = "
## Flags of csi-driver-smb and azuredisk
`wincsi node` rejects a flag of theirs that it lacks, with the text of this table. These have the
same name and meaning here: ";
