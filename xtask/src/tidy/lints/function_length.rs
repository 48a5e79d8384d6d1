//! Functions that fit into the head: the longest has 60 lines, half have at most 10.

use super::Finding;
use super::Lint;
use super::Source;
use crate::tidy::functions::functions;

const MOST: usize = 60;
const HALF: usize = 10;
const NINE_TENTHS: usize = 40;

pub(super) const LINT: Lint = Lint {
    rule: "no function is longer than 60 lines, half have at most 10, nine tenths at most 40",
    check: |sources| {
        let too_long = sources
            .iter()
            .filter(|source| source.is_rust())
            .flat_map(check);
        too_long.chain(too_long_as_a_whole(sources)).collect()
    },
};

/// Prints the distribution.
pub(super) fn report(sources: &[Source]) {
    let lengths = lengths(sources);
    let (half, most) = (share(&lengths, 50), share(&lengths, 90));
    let longest = lengths.last().copied().unwrap_or(0);
    println!(
        "functions: {}, lines p50 {half}, p90 {most}, longest {longest}",
        lengths.len()
    );
}

fn check(source: &Source) -> Vec<Finding> {
    let long = functions(&source.text)
        .into_iter()
        .filter(|f| f.length > MOST);
    long.map(|f| Finding::new(source, f.line, format!("{}: {} lines", f.name, f.length)))
        .collect()
}

fn too_long_as_a_whole(sources: &[Source]) -> Option<Finding> {
    let lengths = lengths(sources);
    let (half, most) = (share(&lengths, 50), share(&lengths, 90));
    let text = format!("p50 is {half} lines, p90 is {most}");
    let finding = Finding {
        path: "all functions".to_owned(),
        line: 0,
        text,
    };
    (half > HALF || most > NINE_TENTHS).then_some(finding)
}

fn lengths(sources: &[Source]) -> Vec<usize> {
    let rust = sources.iter().filter(|source| source.is_rust());
    let mut lengths: Vec<usize> = rust
        .flat_map(|source| functions(&source.text))
        .map(|f| f.length)
        .collect();
    lengths.sort_unstable();
    lengths
}

fn share(sorted: &[usize], percent: usize) -> usize {
    let at = sorted.len().saturating_sub(1) * percent / 100;
    sorted.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::CLEAN;
    use crate::tidy::lints::findings;

    fn body(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    x();\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions_are_named_one_by_one_and_as_a_whole() {
        assert_eq!(findings(&LINT, "a.rs", &body(10)), CLEAN);
        assert_eq!(findings(&LINT, "a.rs", &body(11)), [0]);
        assert_eq!(findings(&LINT, "a.rs", &body(61)), [1, 0]);
    }
}
