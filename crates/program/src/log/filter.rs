use tracing::{Level, Metadata};

use super::Options;

/// Selects the places in the source that may log.
pub(super) struct Filter {
    verbosity: i32,
    modules: Vec<Module>,
}

impl Filter {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            verbosity: options.verbosity,
            modules: options.modules.clone(),
        }
    }

    /// Errors, warnings and information are always logged; the rest by klog's levels. A module's
    /// own level can raise these, never lower them.
    pub(super) fn admits(&self, metadata: &Metadata<'_>) -> bool {
        if !is_ours(metadata) {
            return *metadata.level() < Level::INFO;
        }
        let Some(level) = verbosity_of(*metadata.level()) else {
            return true;
        };
        let module = || self.modules.iter().find(|module| module.covers(metadata));
        self.verbosity >= level || module().is_some_and(|module| module.level >= level)
    }
}

/// Requests are logged at `-v=2`, details at `-v=5`, as csi-proxy does.
fn verbosity_of(level: Level) -> Option<i32> {
    match level {
        Level::DEBUG => Some(2),
        Level::TRACE => Some(5),
        _ => None,
    }
}

/// The libraries' own records, frame by frame, are not for operators, and their content is not
/// under our control.
pub(super) fn is_ours(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    is_our_crate(target.split_once("::").map_or(target, |(name, _)| name))
}

fn is_our_crate(name: &str) -> bool {
    name.starts_with("wincsi_") || ["csi_proxy", "transport", "wincsi"].contains(&name)
}

/// One `pattern=N` of `-vmodule`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pattern: String,
    level: i32,
}

/// A `-vmodule` that klog would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// klog's text.
    #[error("negative value for vmodule level")]
    Negative,
    /// klog's text.
    #[error("syntax error: expect comma-separated list of filename=N")]
    Syntax,
}

impl Module {
    /// Reads `pattern=N,...`. A pattern with level 0 changes nothing and is left out, as in klog.
    ///
    /// # Errors
    /// A part is no `pattern=N`, or N is negative.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, ModuleError> {
        let modules: Result<Vec<Self>, ModuleError> = text
            .split(',')
            .filter(|part| !part.is_empty())
            .map(Self::parse)
            .collect();
        Ok(modules?
            .into_iter()
            .filter(|module| module.level != 0)
            .collect())
    }

    fn parse(part: &str) -> Result<Self, ModuleError> {
        let (pattern, level) = part.split_once('=').ok_or(ModuleError::Syntax)?;
        let level: i32 = level.parse().map_err(|_| ModuleError::Syntax)?;
        if level < 0 {
            return Err(ModuleError::Negative);
        }
        if pattern.is_empty() {
            return Err(ModuleError::Syntax);
        }
        Ok(Self {
            pattern: pattern.to_owned(),
            level,
        })
    }

    /// By the source file's name without its ending, as klog does, or by the module's whole path.
    fn covers(&self, metadata: &Metadata<'_>) -> bool {
        let stem = metadata.file().and_then(|file| {
            let name = file.rsplit(['/', '\\']).next()?;
            name.strip_suffix(".rs")
        });
        let names = [stem, metadata.module_path()];
        names
            .into_iter()
            .flatten()
            .any(|name| matches(self.pattern.as_bytes(), name.as_bytes()))
    }
}

/// `*` is any text, `?` any one character. Linear in the product of the lengths, for any pattern.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, taken)) = star else {
                    return false;
                };
                star = Some((place, taken + 1));
                at = place + 1;
                read = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use toml::Table;

    use super::{Module, ModuleError, is_our_crate, matches};

    #[test]
    fn every_crate_of_ours_is_heard_whatever_its_librarys_name() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names: Vec<_> = fs::read_dir(crates)
            .expect("the crates")
            .map(|entry| library(&entry.expect("a crate").path()))
            .collect();
        assert!(names.iter().any(|name| name == "wincsi_node"), "{names:?}");
        let silent: Vec<_> = names.iter().filter(|name| !is_our_crate(name)).collect();
        assert!(silent.is_empty(), "{silent:?}");
        assert!(is_our_crate("csi_proxy") && !is_our_crate("h2"));
    }

    /// A crate's name in its own code.
    fn library(folder: &Path) -> String {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: Table = manifest.parse().expect("a manifest");
        let of = |table: &str| manifest.get(table)?.get("name")?.as_str();
        let name = of("lib").or_else(|| of("package")).expect("a name");
        name.replace('-', "_")
    }

    #[test]
    fn wildcards_match_as_in_a_shell() {
        let fits = |pattern: &str, text: &str| matches(pattern.as_bytes(), text.as_bytes());
        assert!(fits("wincsi_*::vol*es", "wincsi_node::volumes"));
        assert!(fits("*", "") && fits("a?c", "abc") && fits("*b*b", "abab"));
        assert!(!fits("volume", "volumes") && !fits("?", "") && !fits("*a", "b"));
    }

    #[test]
    fn lists_are_read_as_klog_reads_them() {
        let list = Module::parse_list("a=2,,b*=0,c=9,").expect("a list");
        let levels: Vec<_> = list.iter().map(|module| module.level).collect();
        assert_eq!(levels, [2, 9]);
        for (text, error) in [
            ("a", ModuleError::Syntax),
            ("a=b", ModuleError::Syntax),
            ("=1", ModuleError::Syntax),
            ("a=-1", ModuleError::Negative),
        ] {
            assert_eq!(Module::parse_list(text), Err(error), "{text}");
        }
    }
}
