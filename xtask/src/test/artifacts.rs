//! Cargo's products for tests: their programs, and the binaries started by these and other steps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// A test program, built and not yet run.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Artifact {
    /// Its source, from the workspace's root on.
    pub(crate) name: String,
    /// The folder of its package, where cargo runs tests.
    pub(crate) dir: PathBuf,
    pub(crate) exe: PathBuf,
}

/// The products of one build.
#[derive(Debug, Default)]
pub(crate) struct Built {
    pub(crate) tests: Vec<Artifact>,
    /// How long it took.
    pub(crate) took: Duration,
    binaries: BTreeMap<String, PathBuf>,
}

impl Built {
    /// Reads the output of `cargo test --no-run --message-format=json`.
    pub(crate) fn read(messages: &str, root: &Path) -> Result<Self> {
        let mut built = Self::default();
        for line in messages.lines() {
            let message: Value =
                serde_json::from_str(line).with_context(|| format!("cargo's message {line:?}"))?;
            if message["reason"] == "compiler-artifact" {
                built.add(&message, root)?;
            }
        }
        built.tests.sort();
        Ok(built)
    }

    /// A package's program beside its tests.
    pub(crate) fn binary(&self, name: &str) -> Result<&Path> {
        let found = self.binaries.get(name).map(PathBuf::as_path);
        found.with_context(|| format!("the tests were built without {name}"))
    }

    fn add(&mut self, message: &Value, root: &Path) -> Result<()> {
        if message["profile"]["test"] == true {
            let test = artifact(message, root).context("cargo's message on a test program")?;
            self.tests.push(test);
        } else if message["target"]["kind"][0] == "bin"
            && let Some(exe) = path(&message["executable"])
        {
            let name = message["target"]["name"].as_str().unwrap_or_default();
            self.binaries.insert(name.to_owned(), exe.to_owned());
        }
        Ok(())
    }
}

fn artifact(message: &Value, root: &Path) -> Result<Artifact> {
    let manifest = path(&message["manifest_path"]).context("manifest_path")?;
    let source = path(&message["target"]["src_path"]).context("src_path")?;
    let name = source.strip_prefix(root).unwrap_or(source);
    Ok(Artifact {
        name: name.display().to_string(),
        dir: manifest.parent().unwrap_or(root).to_owned(),
        exe: path(&message["executable"])
            .context("executable")?
            .to_owned(),
    })
}

fn path(value: &Value) -> Option<&Path> {
    value.as_str().map(Path::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","profile":{"test":false}}"#;
    const PROGRAM: &str = r#"{"reason":"compiler-artifact","profile":{"test":true},
        "manifest_path":"/w/crates/a/Cargo.toml","target":{"src_path":"/w/crates/a/tests/b.rs"},
        "executable":"/t/b-1.exe"}"#;

    const BINARY: &str = r#"{"reason":"compiler-artifact","profile":{"test":false},
        "target":{"kind":["bin"],"name":"csi-proxy"},"executable":"/t/csi-proxy.exe"}"#;

    fn read(messages: &str) -> Result<Built> {
        Built::read(messages, Path::new("/w"))
    }

    #[test]
    fn the_test_programs_and_the_binaries_are_read_from_the_messages() {
        let lines = [LIBRARY, PROGRAM, BINARY].map(|message| message.replace('\n', ""));
        let built = read(&lines.join("\n")).unwrap();
        let expected = Artifact {
            name: "crates/a/tests/b.rs".to_owned(),
            dir: PathBuf::from("/w/crates/a"),
            exe: PathBuf::from("/t/b-1.exe"),
        };
        assert_eq!(built.tests, [expected]);
        let server = built.binary("csi-proxy").unwrap();
        assert_eq!(server, Path::new("/t/csi-proxy.exe"));
        assert!(built.binary("a").is_err());
    }

    #[test]
    fn a_message_that_cannot_be_read_is_an_error_lest_a_program_is_lost() {
        assert!(read("{\"reason\":").is_err());
        let nameless = PROGRAM.replace('\n', "").replace("executable", "other");
        assert!(read(&nameless).is_err());
    }
}
