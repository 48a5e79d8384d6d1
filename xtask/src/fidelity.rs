//! `cargo xtask fidelity`: records the operations of the seam that the tests execute.
//!
//! Each program that executes operations of the seam is run, and writes its record to its file in
//! `crates/fidelity/records`; `docs/fidelity.md` is written from these. In every other run the programs compare
//! instead, so the tests check the page and nothing is run twice for it.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;

use crate::host::Host;
use crate::{cargo, docs, env, process, wine};

/// Builds included.
const LIMIT: Duration = Duration::from_secs(40 * 60);

const RECORDS: &str = "crates/fidelity/records";

/// Makes a program write to a folder, instead of comparing.
const WRITE: &str = "WINCSI_FIDELITY";

/// Write docs/fidelity.md from what the tests execute
#[derive(Args)]
pub(crate) struct Fidelity {
    /// Run nothing, and print what the page sums up: operations, Wine's answers, assumptions by their numbers
    #[arg(long)]
    list: bool,
}

/// A test program for operations of the seam.
struct Program {
    package: &'static str,
    test: &'static str,
    /// Its writing tests; empty: it has to run whole.
    filter: &'static [&'static str],
    system: System,
}

#[derive(Clone, Copy)]
enum System {
    Linux,
    Wine,
}

const PROGRAMS: &[Program] = &[
    Program {
        package: "wincsi-os-sim",
        test: "suite",
        filter: &[],
        system: System::Linux,
    },
    Program {
        package: "wincsi-costs",
        test: "table",
        filter: &["each_row_costs_what_the_table_says"],
        system: System::Linux,
    },
    Program {
        package: "wincsi-os-windows",
        test: "suite",
        filter: &[],
        system: System::Wine,
    },
    Program {
        package: "wincsi-os-windows-testkit",
        test: "suite",
        filter: &[],
        system: System::Wine,
    },
    Program {
        package: "wincsi-costs",
        test: "native",
        filter: &[],
        system: System::Wine,
    },
];

impl Fidelity {
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.list {
            print!("{}", list()?);
            return Ok(ExitCode::SUCCESS);
        }
        env::provide(Host::WINE_NEEDS)?;
        PROGRAMS.iter().try_for_each(Program::run)?;
        docs::Docs {}.run()
    }
}

fn list() -> Result<String> {
    let mut command = cargo::cargo();
    command.args(["run", "--quiet", "--package", "wincsi-fidelity"]);
    command.args(["--example", "fidelity_page"]);
    process::capture(&mut command, LIMIT)?.success(&process::describe(&command))
}

impl Program {
    fn run(&self) -> Result<()> {
        let records = cargo::root().join(RECORDS);
        let mut command = cargo::cargo();
        command.args(["test", "--package", self.package, "--test", self.test]);
        match self.system {
            System::Linux => command.env(WRITE, &records),
            System::Wine => command
                .args(["--target", cargo::WINDOWS])
                .env(WRITE, wine::windows_path(&records)),
        };
        command.arg("--").args(self.filter);
        process::capture(&mut command, LIMIT)?.success(&process::describe(&command))?;
        println!("fidelity: {} {} ran", self.package, self.test);
        Ok(())
    }
}
