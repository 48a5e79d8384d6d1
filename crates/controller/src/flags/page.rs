use std::fmt::Write as _;

use super::Config;
use super::foreign::{FOREIGN, SHARED};

/// The page `docs/controller-flags.md`, rendered from the tables.
pub fn page() -> String {
    let mut text = String::from(PREFACE);
    text.push_str(&program::flags::table_of::<Config>());
    let shared: Vec<_> = SHARED.iter().map(|name| format!("`-{name}`")).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{FOREIGN_PREFACE}{}, and klog's.\n",
        shared.join(", ")
    );
    text.push_str("| flag | what replaces it |\n|---|---|\n");
    for (name, replacement) in FOREIGN {
        let _ = writeln!(text, "| `-{name}` | {replacement} |");
    }
    text
}

const PREFACE: &str = "\
# Flags of wincsi-controller

<!-- Written by `cargo xtask docs` from the tables in crates/controller/src/flags. -->

Each flag also comes from a variable: `-require-privacy` is `WINCSI_REQUIRE_PRIVACY`. The command line overrides it.
";

const FOREIGN_PREFACE: &str = "
## Flags of csi-driver-smb
`wincsi-controller` rejects a flag of csi-driver-smb's that it lacks, with the text of this table. These have the same
name and meaning here: ";
