//! The workspace's packages: their folders, and code for Windows.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{cargo, git};

/// Marks of code for one system in sources and manifests.
const OF_WINDOWS: &str = r"^[^/]*cfg(_attr)?\(.*\bwindows\b";

#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// From the workspace's root, with `/` at its end.
    pub(crate) dir: String,
    pub(crate) has_library: bool,
    /// Its test programs' names, each with its source from the workspace's root.
    pub(crate) tests: Vec<(String, String)>,
}

impl Package {
    fn read(metadata: &Value, root: &str) -> Option<Self> {
        let manifest = metadata["manifest_path"].as_str()?;
        let dir = manifest.strip_prefix(root)?.strip_prefix('/')?;
        let targets = metadata["targets"].as_array()?;
        let is = |target: &&Value, kind: &str| target["kind"][0] == kind;
        let tests = targets.iter().filter(|target| is(target, "test"));
        let source = |test: &Value| {
            let source = test["src_path"].as_str()?.strip_prefix(root)?;
            Some((string(&test["name"]), source.strip_prefix('/')?.to_owned()))
        };
        Some(Self {
            name: string(&metadata["name"]),
            dir: dir.strip_suffix("Cargo.toml")?.to_owned(),
            has_library: targets.iter().any(|target| is(&target, "lib")),
            tests: tests.filter_map(source).collect(),
        })
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        file.starts_with(&self.dir)
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// All of the workspace's.
pub(crate) fn all() -> Result<Vec<Package>> {
    let metadata = cargo::metadata()?;
    let root = string(&metadata["workspace_root"]);
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages
        .map(|package| Package::read(package, &root).context("cargo metadata: a package"))
        .collect()
}

/// The packages with a line for Windows, or for all but Windows: without the chores, since these run on Linux
/// alone and their rules name such lines.
pub(crate) fn with_windows_code() -> Result<Vec<Package>> {
    let files = git::grep(&["-E", OF_WINDOWS, "--", "*.rs", "*Cargo.toml"])?;
    let packages = all()?.into_iter().filter(|one| one.name != "xtask");
    let with_code = packages.filter(|one| files.iter().any(|file| one.has(file)));
    Ok(with_code.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_code_for_windows_are_found() {
        let all = all().unwrap();
        let proxy = all.iter().find(|one| one.name == "wincsi-proxy").unwrap();
        assert!(proxy.has_library && proxy.has("crates/proxy/src/lib.rs"));
        let drivers = ("drivers", "crates/proxy/tests/drivers/main.rs");
        assert!(
            proxy
                .tests
                .iter()
                .any(|(name, source)| (&**name, &**source) == drivers)
        );
        assert!(!proxy.has("crates/proxy-x/a") && all.iter().any(|one| !one.has_library));
        let found = with_windows_code().unwrap();
        let has = |name: &str| found.iter().any(|one| one.name == name);
        assert!(has("wincsi-os-windows") && has("wincsi-transport") && has("wincsi-proxy"));
        assert!(!has("wincsi-automation") && !has("wincsi-node") && !has("xtask"));
    }
}
