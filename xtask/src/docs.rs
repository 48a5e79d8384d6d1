//! `cargo xtask docs`: writes the pages from tables in the code.
//!
//! An example of the table's crate writes each page; a test of the crate fails if the checked-in page differs. The chart's
//! values, and what is rendered from it, are written here.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::{cargo, chart, process};

const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Write the pages that come from tables in the code
#[derive(Args)]
pub(crate) struct Docs {}

struct Page {
    path: &'static str,
    package: &'static str,
    example: &'static str,
}

const PAGES: &[Page] = &[
    Page {
        path: "docs/compatibility.md",
        package: "wincsi-proxy",
        example: "compatibility_page",
    },
    Page {
        path: "docs/controller-flags.md",
        package: "wincsi-controller",
        example: "controller_flags_page",
    },
    Page {
        path: "docs/driver-flags.md",
        package: "wincsi-driver",
        example: "driver_flags_page",
    },
    Page {
        path: "docs/flags.md",
        package: "wincsi-proxy",
        example: "flags_page",
    },
];

impl Docs {
    pub(crate) fn run(self) -> Result<ExitCode> {
        PAGES.iter().try_for_each(Page::write)?;
        // Behind the pages, from which it has the names of flags.
        chart::write()?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Page {
    fn write(&self) -> Result<()> {
        let mut command = cargo::cargo();
        command.args(["run", "--quiet", "--package", self.package]);
        command.args(["--example", self.example, "--", self.path]);
        process::capture(&mut command, LIMIT)?.success(&process::describe(&command))?;
        println!("docs: {} written", self.path);
        Ok(())
    }
}
