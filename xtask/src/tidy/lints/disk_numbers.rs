//! After a restart a disk has another number, and another disk its old one: a driver finds its disk again.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "the driver names no disk by its number",
    check: |sources| {
        let driver = |source: &&Source| source.path.starts_with("crates/driver/src/");
        sources.iter().filter(driver).flat_map(check).collect()
    },
};

const TRACES: [&str; 3] = ["DiskNumber", ".number()", "disk_number"];

fn check(source: &Source) -> Vec<Finding> {
    let named = source.lines().filter(|line| {
        let code = line.code();
        TRACES.iter().any(|trace| code.contains(trace))
    });
    named
        .map(|line| Finding::new(source, line.number, line.text.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn the_drivers_own_code_is_meant() {
        let text = "// the number() of a disk\nlet disk = found.number();\n";
        assert_eq!(findings(&LINT, "crates/driver/src/lib.rs", text), [2]);
        assert_eq!(findings(&LINT, "crates/driver/tests/it.rs", text), CLEAN);
        assert_eq!(findings(&LINT, "crates/client/src/lib.rs", text), CLEAN);
    }
}
