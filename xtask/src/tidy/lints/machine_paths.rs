//! Nothing in the repository depends on its author's machine.

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "no path of one machine",
    check: |sources| {
        let texts = sources
            .iter()
            .filter(|source| !source.path.ends_with(".lock"));
        texts.flat_map(check).collect()
    },
};

/// Top folders that belong to one machine or one user.
const TOPS: [&str; 4] = ["farm", "home", "root", "work"];

fn check(source: &Source) -> Vec<Finding> {
    let lines = source
        .text
        .lines()
        .zip(1..)
        .filter(|(line, _)| names_a_machine(line));
    lines
        .map(|(line, number)| Finding::new(source, number, line.trim()))
        .collect()
}

fn names_a_machine(line: &str) -> bool {
    let names = TOPS.map(|top| format!("/{top}/"));
    let mut places = names.iter().flat_map(|name| line.match_indices(name));
    places.any(|(at, _)| begins_a_path(&line[..at]))
}

fn begins_a_path(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_ascii_alphanumeric() || "_-./}".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_from_the_top_is_told_from_a_part_of_one() {
        let top = format!("/{}/", "work");
        assert!(names_a_machine(&format!("see {top}x")));
        assert!(names_a_machine(&format!("\"{top}x\"")));
        assert!(!names_a_machine(&format!("https://example.org{top}x")));
        assert!(!names_a_machine("homework/x"));
    }
}
