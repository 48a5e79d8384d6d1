//! What comes into the build: licences from the list in deny.toml, crates from crates.io alone.
//!
//! cargo-deny judges by the same file, and looks into the licence texts too.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use serde_json::Value;

use crate::cargo;
use crate::process;

const LIMIT: Duration = Duration::from_secs(5 * 60);
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(super) fn run() -> Result<()> {
    let allowed = allowed(&fs::read_to_string(cargo::root().join("deny.toml"))?);
    let wrong: Vec<String> = packages()?
        .iter()
        .filter_map(|p| objection(p, &allowed))
        .collect();
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// The second opinion.
pub(super) fn cargo_deny() -> Result<()> {
    let mut command: Command = cargo::cargo();
    command.args(["deny", "check", "bans", "licenses", "sources"]);
    process::capture(&mut command, LIMIT)?
        .success("cargo deny check")
        .map(drop)
}

/// Every package that a build for any of our targets may take.
fn packages() -> Result<Vec<Value>> {
    let mut command = cargo::cargo();
    command.args([
        "metadata",
        "--format-version=1",
        "--locked",
        "--all-features",
    ]);
    let output = command.output().context("run cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let mut metadata: Value = serde_json::from_slice(&output.stdout)?;
    match metadata["packages"].take() {
        Value::Array(packages) => Ok(packages),
        other => bail!("cargo metadata: packages is {other}"),
    }
}

fn objection(package: &Value, allowed: &BTreeSet<String>) -> Option<String> {
    let name = format!("{} {}", package["name"], package["version"]);
    let source = package["source"].as_str();
    if source.is_some_and(|source| source != CRATES_IO) {
        return Some(format!("{name}: comes from {}", package["source"]));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    (!accepts(licence, allowed)).then(|| format!("{name}: licence {licence:?}"))
}

/// The licences in deny.toml's list.
fn allowed(deny: &str) -> BTreeSet<String> {
    let list = deny.split_once("\nallow = [").map_or("", |(_, rest)| rest);
    let list = list.split(']').next().unwrap_or_default();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Whether an SPDX expression can be met by the allowed licences alone.
fn accepts(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let flat = expression.replace('/', " OR ");
    if let Some((before, inner, after)) = bracket(&flat) {
        let met = if accepts(inner, allowed) { "YES" } else { "NO" };
        return accepts(&format!("{before}{met}{after}"), allowed);
    }
    let meets = |licence: &str| licence == "YES" || allowed.contains(licence);
    flat.split(" OR ")
        .any(|all| all.split(" AND ").map(str::trim).all(meets))
}

/// The innermost bracket of an expression and what stands around it.
fn bracket(expression: &str) -> Option<(&str, &str, &str)> {
    let (left, after) = expression.split_once(')')?;
    let (before, inner) = left.rsplit_once('(')?;
    Some((before, inner, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged() {
        let allowed = allowed("x\nallow = [\n  \"MIT\",\n  \"Unicode-3.0\",\n]\n\"GPL-3.0\"");
        assert_eq!(allowed.len(), 2);
        for good in [
            "MIT",
            "MIT OR Apache-2.0",
            "Apache-2.0/MIT",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
        ] {
            assert!(accepts(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(GPL-3.0 OR Zlib) AND MIT",
        ] {
            assert!(!accepts(bad, &allowed), "{bad}");
        }
    }
}
