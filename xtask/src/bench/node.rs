//! `cargo xtask bench node`: what each call costs the node, on a simulated one.

use std::fs;
use std::process::Command;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use anyhow::Result;
use clap::Args;

use super::machine;
use crate::cargo;
use crate::cargo::Build;
use crate::env;
use crate::host::Host;
use crate::process;
use crate::wine;

const PAGE: &str = "docs/benchmarks-node.md";

/// The part that what crosses to WMI stands before.
const BEHIND: &str = "## Where the providers have more to do\n";
const CROSSINGS: &str = "## What crosses to WMI by the native way\n\n";

const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Operations, provider queries and handles of each call, beside csi-proxy's
#[derive(Args)]
pub(super) struct Node {
    /// How the measured code is built
    #[arg(long, default_value = "fast")]
    profile: String,
}

impl Node {
    pub(super) fn run(self) -> Result<ExitCode> {
        let program = Build {
            package: "wincsi-costs",
            binary: "wincsi-costs",
            profile: &self.profile,
            target: None,
        }
        .run()?;
        let mut command = Command::new(program);
        let output = process::capture(&mut command, LIMIT)?;
        let tables = output.success(&process::describe(&command))?;
        let (counts, rest) = tables
            .split_once(BEHIND)
            .context("the costs have no table of handles")?;
        let crossings = crossings()?;
        let head = head(&self.profile)?;
        let page = format!("{head}{counts}{CROSSINGS}{crossings}\n{BEHIND}{rest}");
        println!("{page}");
        let path = cargo::root().join(PAGE);
        fs::write(&path, page.trim_end().to_owned() + "\n")
            .with_context(|| format!("write {}", path.display()))?;
        println!("written: {PAGE}");
        Ok(ExitCode::SUCCESS)
    }
}

/// What crosses to WMI, written by the test that holds it: it runs under Wine alone.
fn crossings() -> Result<String> {
    env::provide(Host::WINE_NEEDS)?.require(Host::WINE_NEEDS)?;
    let file = tempfile::NamedTempFile::new()?;
    let mut command = cargo::cargo();
    command.args(["test", "--package", "wincsi-costs", "--test", "native"]);
    command.args([
        "--target",
        cargo::WINDOWS,
        "--",
        "the_page_has_what_crosses",
    ]);
    command.env("WINCSI_CROSSINGS", wine::windows_path(file.path()));
    process::capture(&mut command, LIMIT)?.success(&process::describe(&command))?;
    fs::read_to_string(file.path()).context("read what crosses")
}

fn head(profile: &str) -> Result<String> {
    let here = machine::here()?;
    Ok(format!(
        "# What each call costs the node\n\n\
         Written by `cargo xtask bench node`; [performance.md](performance.md) explains it. The counts \
         are exact and held by a test; times are those of one machine, on a simulated node.\n\n\
         Measured on {} with profile {profile}: {}, {} cores, Linux {}, {}.\n\n",
        here.date, here.processor, here.cores, here.kernel, here.rust
    ))
}
