//! The output of today's tools is recognised, not only the recorded one.

use std::collections::BTreeSet;
use std::env;
use std::io::Write as _;

use wincsi_formats::blank::{Verdict, scan};
use wincsi_formats::fixtures::tools::{Run, TOOLS, Tool};

use crate::support;

/// Where this is set nothing may be passed over.
fn everything_required() -> bool {
    env::var("CI").is_ok_and(|ci| ci == "true")
}

#[test]
fn what_the_tools_write_is_recognised() {
    let (present, missing): (Vec<_>, Vec<_>) = TOOLS
        .iter()
        .filter(|tool| tool.run == Run::Live)
        .partition(|tool| support::installed(tool));
    name_missing(&missing);
    let wrong: Vec<_> = present
        .iter()
        .filter_map(|tool| check(tool).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        missing.is_empty() || !everything_required(),
        "CI=true: nothing may be missing"
    );
}

fn check(tool: &Tool) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let view = support::view(&support::run(tool, folder.path())?)?;
    let Verdict::Signatures(found) = scan(&view) else {
        return Err(format!("{}: nothing was recognised", tool.name));
    };
    let seen: BTreeSet<_> = found.iter().map(|found| found.signature).collect();
    let meant: BTreeSet<_> = tool.also.iter().copied().chain([tool.signature]).collect();
    if seen == meant {
        Ok(())
    } else {
        Err(format!("{}: {found:?}", tool.name))
    }
}

/// Bypasses the harness, which hides the output of a passing test.
fn name_missing(missing: &[&Tool]) {
    let mut packages: Vec<_> = missing.iter().map(|tool| tool.package).collect();
    packages.dedup();
    if !packages.is_empty() {
        let _ = writeln!(
            std::io::stderr(),
            "not run, for want of Debian packages: {}",
            packages.join(" ")
        );
    }
}
