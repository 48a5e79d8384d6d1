//! Imports stand in three blocks: std, external, ours.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "imports stand in blocks, with an empty line between: std, external, those of the crate",
    check: |sources| {
        let rust = sources.iter().filter(|source| source.is_rust());
        rust.flat_map(check).collect()
    },
};

#[derive(Clone, Copy, PartialEq)]
enum Origin {
    Std,
    External,
    Ours,
}

fn check(source: &Source) -> Vec<Finding> {
    let mut block = None;
    let mut is_open = false;
    let mut found = Vec::new();
    for line in source.lines() {
        if is_open {
            is_open = !line.text.ends_with(';');
            continue;
        }
        let origin = origin(line.text);
        if origin.is_some() && block.is_some() && block != origin {
            found.push(Finding::new(source, line.number, line.text.trim()));
        }
        is_open = origin.is_some() && !line.text.ends_with(';');
        block = origin;
    }
    found
}

/// Where an import comes from; none when the line is no import.
fn origin(line: &str) -> Option<Origin> {
    let path = line.trim_start().strip_prefix("use ")?;
    let root = path.split([':', ' ', ';']).next();
    Some(match root {
        Some("std" | "core" | "alloc") => Origin::Std,
        Some("crate" | "self" | "super") => Origin::Ours,
        _ => Origin::External,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    #[test]
    fn a_mixed_block_is_found_at_each_seam() {
        let mixed = "use anyhow::Result;\nuse std::fs;\nuse crate::cargo;\nuse super::a;\n";
        assert_eq!(findings(&LINT, "a.rs", mixed), [2, 3]);
        let apart = "use std::fs;\n\nuse anyhow::Result;\n\nuse super::a;\n";
        assert_eq!(findings(&LINT, "a.rs", apart), CLEAN);
    }

    #[test]
    fn an_import_over_several_lines_is_one() {
        let one = "    use std::{\n        fs,\n    };\n    use core::fmt;\n    use crate::{\n        a,\n    };\n";
        assert_eq!(findings(&LINT, "a.rs", one), [5]);
    }
}
