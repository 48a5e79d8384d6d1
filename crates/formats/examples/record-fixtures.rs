//! Runs every tool that writes a known format and records what a scan needs of it.
//!
//! Names on the command line restrict it to those fixtures. Needs Linux, the tools, and for some
//! of them root.

#[path = "../tests/support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use wincsi_formats::blank::{Verdict, View, scan};
use wincsi_formats::fixtures::SparseImage;
use wincsi_formats::fixtures::tools::{TOOLS, Tool};

const SECTOR: u64 = 512;

/// Sectors that are kept of what a tool wrote; enough for every format's own structures.
const KEPT: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let named: BTreeSet<_> = env::args().skip(1).collect();
    for tool in TOOLS
        .iter()
        .filter(|tool| named.is_empty() || named.contains(tool.name))
    {
        if support::installed(tool) {
            record(tool)?;
            println!("{} recorded", tool.name);
        } else {
            println!(
                "{} kept: package {} is not installed",
                tool.name, tool.package
            );
        }
    }
    Ok(())
}

fn record(tool: &Tool) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let view = support::view(&support::run(tool, folder.path())?)?;
    let text = format!(
        "# What a scan needs of what this wrote:\n# {}\n# package: {}\n{}",
        tool.command.replace('\n', "\n# "),
        installed_version(tool.package)?,
        trimmed(&view)
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    Ok(fs::write(
        folder.join(format!("{}.sparse", tool.name)),
        text,
    )?)
}

/// The sectors that hold a mark, then the first ones that are not blank, up to [`KEPT`].
fn trimmed(view: &View) -> SparseImage {
    let marks: BTreeSet<_> = match scan(view) {
        Verdict::Signatures(found) => found
            .iter()
            .map(|found| found.offset / SECTOR * SECTOR)
            .collect(),
        Verdict::Blank | Verdict::Unknown { .. } => BTreeSet::new(),
    };
    let written = view.spans().flat_map(|(start, bytes)| {
        let sectors = (start..).step_by(512).zip(bytes.chunks(512));
        sectors
            .filter(|(_, sector)| sector.iter().any(|byte| *byte != 0))
            .map(|(at, _)| at)
    });
    let mut kept = marks.clone();
    kept.extend(written.filter(|at| !marks.contains(at)).take(KEPT));
    kept.iter()
        .fold(SparseImage::zeros(view.extent().length()), |image, at| {
            image.with(*at, view.bytes(*at, 512).unwrap_or_default())
        })
}

fn installed_version(package: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new("dpkg-query")
        .args(["-W", "-f", "${Package} ${Version}", package])
        .output()?;
    Ok(String::from_utf8(output.stdout)?)
}
