//! A block of imports has one for each module.

use std::mem;

use super::{Finding, Lint, Source};

pub(super) const LINT: Lint = Lint {
    rule: "a block of imports has one `use` for each module, with its names in one pair of braces",
    check: |sources| {
        let rust = sources.iter().filter(|source| source.is_rust());
        rust.flat_map(check).collect()
    },
};

struct Import {
    line: usize,
    /// Attributes, visibility and the path to the names; none for a crate imported whole.
    module: Option<String>,
    /// Each behind its module.
    names: Vec<String>,
}

impl Import {
    /// Reads `use a::b::{C, D};`; nothing from one with a comment or of a macro.
    fn read(line: usize, attributes: &str, statement: &str) -> Option<Self> {
        if statement.contains("//") || statement.contains('$') {
            return None;
        }
        let (visibility, path) = statement.trim_end_matches(';').split_once("use ")?;
        let key = format!("{attributes}{visibility}");
        let (module, names) = match path.split_once("::{") {
            Some((module, names)) => (Some(module), names.strip_suffix('}').unwrap_or(names)),
            None => path
                .rsplit_once("::")
                .map_or((None, path), |(module, name)| (Some(module), name)),
        };
        let module = module.map(|module| match names {
            "*" => format!("{key}{module}::*"),
            _ => format!("{key}{module}"),
        });
        let behind = module
            .as_deref()
            .map_or(key, |module| format!("{module}::"));
        let names = names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let names = names.map(|name| format!("{behind}{name}")).collect();
        Some(Self {
            line,
            module,
            names,
        })
    }
}

fn check(source: &Source) -> Vec<Finding> {
    let blocks = blocks(source);
    let wrong = blocks.iter().flat_map(|block| wrong(block));
    wrong
        .map(|(line, text)| Finding::new(source, line, text))
        .collect()
}

fn wrong(block: &[Import]) -> impl Iterator<Item = (usize, String)> {
    block.iter().enumerate().filter_map(|(at, import)| {
        let is_a_module = |name: &&String| {
            block
                .iter()
                .any(|other| other.module.as_ref() == Some(name))
        };
        if let Some(name) = import.names.iter().find(is_a_module) {
            return Some((
                import.line,
                format!("{name} is a `self` of the names in it"),
            ));
        }
        let module = import.module.as_ref()?;
        if import
            .names
            .iter()
            .any(|name| name.contains('{') || name[module.len() + 2..].contains("::"))
        {
            return Some((import.line, format!("{module} has paths in its braces")));
        }
        let again = block[..at]
            .iter()
            .any(|before| before.module.as_ref() == Some(module));
        again.then(|| (import.line, format!("{module} was imported from above")))
    })
}

/// The runs of imports with nothing between them but their attributes.
fn blocks(source: &Source) -> Vec<Vec<Import>> {
    let mut blocks = Vec::new();
    let mut block = Vec::new();
    let mut attributes = String::new();
    let mut open: Option<(usize, String)> = None;
    for line in source.lines() {
        let text = line.text.trim();
        match &mut open {
            Some((_, statement)) => statement.push_str(text),
            None if text.starts_with("#[") => attributes.push_str(text),
            None if is_import(text) => open = Some((line.number, text.to_owned())),
            None => {
                attributes.clear();
                blocks.push(mem::take(&mut block));
            }
        }
        if let Some((number, statement)) = open.take_if(|(_, text)| text.ends_with(';')) {
            block.extend(Import::read(
                number,
                &mem::take(&mut attributes),
                &statement,
            ));
        }
    }
    blocks.push(block);
    blocks
}

fn is_import(line: &str) -> bool {
    let path = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or("", |(_, rest)| rest),
        Some(rest) => rest.trim_start(),
        None => line,
    };
    path.starts_with("use ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lints::{CLEAN, findings};

    fn found(text: &str) -> Vec<usize> {
        findings(&LINT, "a.rs", text)
    }

    #[test]
    fn a_second_import_from_a_module_is_found_in_its_block() {
        assert_eq!(
            found("use a::B;\nuse c::D;\nuse a::{\n    E,\n    F,\n};\n"),
            [3]
        );
        assert_eq!(found("use a::{B, E};\nuse c::D;\n\nuse a::F;\n"), CLEAN);
        assert_eq!(found("use a::B;\n// Why.\nuse a::F;\n"), CLEAN);
        assert_eq!(
            found("fn f() {\n    use a::B;\n    use a::F as _;\n}\n"),
            [3]
        );
    }

    #[test]
    fn a_module_beside_its_names_is_its_self() {
        assert_eq!(found("use a::b;\nuse a::b::C;\n"), [1]);
        assert_eq!(found("use a::{X, b};\nuse a::b::{C, D};\n"), [1]);
        assert_eq!(found("use a;\nuse a::b;\n"), [1]);
        assert_eq!(
            found("use a::b::{self, C};\nuse b as d;\nuse c as e;\n"),
            CLEAN
        );
    }

    #[test]
    fn braces_hold_no_paths() {
        assert_eq!(found("use a::{b::C, D};\n"), [1]);
        assert_eq!(found("use a::{b::{C, D}, E};\n"), [1]);
    }

    #[test]
    fn globs_visibilities_and_attributes_stand_apart() {
        assert_eq!(found("use a::*;\nuse a::B;\n"), CLEAN);
        assert_eq!(
            found("pub use a::B;\nuse a::C;\npub(crate) use a::D;\n"),
            CLEAN
        );
        assert_eq!(found("#[cfg(x)]\nuse a::B;\nuse a::C;\n"), CLEAN);
        assert_eq!(found("#[cfg(x)]\nuse a::B;\n#[cfg(x)]\nuse a::C;\n"), [4]);
    }
}
