//! Calls on a node with dead servers beside calls on one without: the numbers, and their table.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::results::median;

/// The medians may differ by so much.
const TARGET: f64 = 1.1;

/// Milliseconds of the calls, in the order of the first.
#[derive(Debug, Default)]
pub(super) struct DeadServers {
    calls: Vec<String>,
    figures: BTreeMap<(String, Node), Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    WithoutDead,
    WithDead,
}

impl DeadServers {
    pub(super) fn parse(output: &str) -> Result<Self> {
        let mut parsed = Self::default();
        for line in output.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            let [node, call, milliseconds] = words.as_slice() else {
                anyhow::bail!("an unknown line: {line}");
            };
            let node = match *node {
                "none" => Node::WithoutDead,
                _ => Node::WithDead,
            };
            let milliseconds = milliseconds.parse().with_context(|| line.to_owned())?;
            if !parsed.calls.iter().any(|known| known == call) {
                parsed.calls.push((*call).to_owned());
            }
            let figures = parsed.figures.entry(((*call).to_owned(), node));
            figures.or_default().push(milliseconds);
        }
        Ok(parsed)
    }

    pub(super) fn render(&self) -> String {
        let head = format!(
            "| call for a share of a living server | no server dead: p50 ms | 3 of 20 dead: p50 ms \
             | ratio | at most {TARGET} |"
        );
        let mut lines = vec![head, "|---|---:|---:|---:|---|".to_owned()];
        lines.extend(self.calls.iter().map(|call| self.row(call)));
        lines.join("\n")
    }

    fn row(&self, call: &str) -> String {
        let [without, with] =
            [Node::WithoutDead, Node::WithDead].map(|node| self.median(call, node));
        let ratio = with / without;
        let verdict = if ratio <= TARGET { "yes" } else { "**no**" };
        format!("| {call} | {without:.2} | {with:.2} | {ratio:.2} | {verdict} |")
    }

    fn median(&self, call: &str, node: Node) -> f64 {
        let figures = self.figures.get(&(call.to_owned(), node));
        figures.map_or(f64::NAN, |figures| median(figures.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_row(output: &str) -> String {
        let table = DeadServers::parse(output).unwrap().render();
        table.lines().last().unwrap().to_owned()
    }

    #[test]
    fn medians_of_both_nodes_are_compared() {
        let output = "none Stats 2\ndead Stats 2.1\nnone Stats 2\ndead Stats 9\ndead Stats 2\n";
        assert_eq!(last_row(output), "| Stats | 2.00 | 2.10 | 1.05 | yes |");
        assert!(last_row("none Stats 2\ndead Stats 2.3\n").ends_with("**no** |"));
        assert!(last_row("none Stats 2\n").ends_with("**no** |"));
        assert!(DeadServers::parse("a stager panicked\n").is_err());
    }
}
