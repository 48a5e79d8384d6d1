//! The test programs that cargo has built.

use std::path::Path;
use std::path::PathBuf;

use anyhow::Context;
use anyhow::Result;
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

/// Reads the test programs out of what `cargo test --no-run --message-format=json` prints.
pub(crate) fn read(messages: &str, root: &Path) -> Result<Vec<Artifact>> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let message: Value =
            serde_json::from_str(line).with_context(|| format!("cargo's message {line:?}"))?;
        if message["reason"] == "compiler-artifact" && message["profile"]["test"] == true {
            found.push(artifact(&message, root).context("cargo's message on a test program")?);
        }
    }
    found.sort();
    Ok(found)
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

    #[test]
    fn the_test_programs_are_read_from_the_messages() {
        let messages = format!("{LIBRARY}\n{}\n", PROGRAM.replace('\n', ""));
        let expected = Artifact {
            name: "crates/a/tests/b.rs".to_owned(),
            dir: PathBuf::from("/w/crates/a"),
            exe: PathBuf::from("/t/b-1.exe"),
        };
        assert_eq!(read(&messages, Path::new("/w")).unwrap(), [expected]);
    }

    #[test]
    fn a_message_that_cannot_be_read_is_an_error_lest_a_program_is_lost() {
        assert!(read("{\"reason\":", Path::new("/w")).is_err());
        let nameless = PROGRAM.replace('\n', "").replace("executable", "other");
        assert!(read(&nameless, Path::new("/w")).is_err());
    }
}
