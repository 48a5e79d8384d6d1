//! How long functions are, measured on rustfmt's layout: a body ends at a brace with the indent of
//! its `fn`.

/// A function with a body.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) length: usize,
}

/// The functions of a file; one inside another counts for both.
pub(super) fn functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len())
        .filter_map(|start| function(&lines, start))
        .collect()
}

fn function<'a>(lines: &[&'a str], start: usize) -> Option<Function<'a>> {
    let name = name(lines[start])?;
    let length = body(&lines[start..])?;
    Some(Function {
        name,
        line: start + 1,
        length,
    })
}

/// The lines from `fn` to its closing brace; None for a declaration.
fn body(lines: &[&str]) -> Option<usize> {
    let indent = indent(lines.first()?);
    for (index, line) in lines.iter().enumerate() {
        let outermost = self::indent(line) == indent;
        if outermost && line.ends_with(';') {
            return None;
        }
        if outermost && line.ends_with('}') {
            return Some(index + 1);
        }
    }
    None
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name that a line defines, when it begins a function.
fn name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = [
        "pub",
        "const",
        "async",
        "unsafe",
        "extern",
        "\"C\"",
        "\"system\"",
        "default",
    ];
    let is_qualifier =
        |word: &str| qualifiers.contains(&word) || word.starts_with("pub(") || word.ends_with(')');
    if !before.split_whitespace().all(is_qualifier) {
        return None;
    }
    let end = after.find(['(', '<'])?;
    Some(&after[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
pub(crate) async fn one(a: u8) -> u8 {
    a
}
trait T {
    fn declared(
        &self,
    ) -> u8;
    fn short(&self) {}
}
// a fn (comment)
";

    #[test]
    fn bodies_are_measured_and_declarations_are_not() {
        let found = functions(TEXT);
        assert_eq!(
            found,
            [
                Function {
                    name: "one",
                    line: 1,
                    length: 3
                },
                Function {
                    name: "short",
                    line: 8,
                    length: 1
                }
            ]
        );
    }
}
