//! Invariant 2: no child process, ever.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "shipped code starts no child process",
    check: |sources| {
        sources
            .iter()
            .filter(|source| ships(source))
            .flat_map(check)
            .collect()
    },
};

/// Names of programs as they would be started, not as prose mentions them.
const TRACES: [&str; 6] = [
    "process::command",
    "command::new",
    "powershell.exe",
    "\"powershell",
    "cmd.exe",
    "\"wmic",
];

fn ships(source: &Source) -> bool {
    source.is_rust() && source.path.starts_with("crates/") && !source.is_for_tests()
}

fn check(source: &Source) -> Vec<Finding> {
    let shipped = source.lines().filter(|line| !line.in_tests);
    let traces = shipped.filter(|line| {
        let code = line.code().to_lowercase();
        TRACES
            .iter()
            .any(|trace| code.contains(&trace.to_lowercase()))
    });
    traces
        .map(|line| Finding::new(source, line.number, line.text.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn only_shipped_code_is_meant() {
        let text = "// Command::new in words, as PowerShell\nlet c = Command::new(x);\n#[cfg(test)]\nCommand::new";
        assert_eq!(findings(&LINT, "crates/a/src/lib.rs", text), [2]);
        assert_eq!(findings(&LINT, "crates/a/tests/it.rs", text), CLEAN);
        assert_eq!(findings(&LINT, "xtask/src/main.rs", text), CLEAN);
    }
}
