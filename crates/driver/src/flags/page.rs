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
    text.push_str("| flag | of | what replaces it |\n|---|---|---|\n");
    for (name, of, replacement) in FOREIGN {
        let _ = writeln!(text, "| `-{name}` | {of} | {replacement} |");
    }
    text
}

const PREFACE: &str = "\
# Flags of wincsi node

<!-- Written by `cargo xtask docs` from the tables in crates/driver/src/flags. -->

This page lists every flag of `wincsi node`, `wincsi node drain` and `wincsi node deregister` with its default. All
three take the same flags, so that the commands find the driver's sockets. [driver.md](driver.md) says how to run them.

Each flag also comes from a variable: `-max-volumes` is `WINCSI_MAX_VOLUMES`. The command line overrides it. In a
HostProcess container use the variables: the runtime starts the program through `cmd /c`, as SYSTEM, which would read an
argument.

| rule | example |
|---|---|
| one dash or two, the value after `=` or as the next argument | `-v=2`, `--v=2`, `-v 2` |
| a flag that is true or false takes its value only by `=` | `-logtostderr=false` |
| the last of several values holds; `-topology` adds up | |
| an argument that is no flag is rejected | `wincsi node -v=4 drain` |
| an invalid command line ends the program with code 2 | |
";

const FOREIGN_PREFACE: &str = "
## Flags of csi-driver-smb and azuredisk
`wincsi node` rejects a flag of theirs that it does not have, and its error has the text of this table. These have the
same name and meaning here: ";
