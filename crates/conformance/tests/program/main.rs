//! The program from outside: its refusals, its list, and, under Wine, its clean-up.
//!
//! On Windows itself the trials with the flag to change the machine are left out: it would.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use wincsi_conformance::{cases, experiments, seam};

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

type Attempt = (&'static str, fn() -> Result<(), Failed>);

/// Attempts by the names of their functions.
macro_rules! attempts {
    ($($name:ident,)*) => {
        &[$((stringify!($name), $name),)*]
    };
}
use attempts;

const EVERYWHERE: &[Attempt] = attempts![it_does_nothing_without_leave, its_list_has_every_case,];

fn main() -> ExitCode {
    let trials = EVERYWHERE.iter().chain(platform::with_leave());
    let trials = trials.map(|(name, attempt)| Trial::test(*name, attempt));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// The program's exit and output.
struct ProgramRun {
    status: Option<i32>,
    output: String,
    errors: String,
}

/// Runs the program with a folder of the test's own, so no default is ever touched. It writes to files: Wine's own
/// processes would keep a pipe open.
fn suite(folder: &Path, arguments: &[&str]) -> io::Result<ProgramRun> {
    let texts = tempfile::tempdir()?;
    let [output, errors] = ["output", "errors"].map(|name| texts.path().join(name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_wincsi-conformance"));
    command.arg("--folder").arg(folder).args(arguments);
    command.stdin(Stdio::null());
    command.stdout(File::create(&output)?);
    command.stderr(File::create(&errors)?);
    let status = command.status()?.code();
    Ok(ProgramRun {
        status,
        output: fs::read_to_string(output)?,
        errors: fs::read_to_string(errors)?,
    })
}

fn it_does_nothing_without_leave() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let own = folder.path().join("suite");
    for arguments in [&[][..], &["life::"], &["--clean-up"], &["--keep"]] {
        let ran = suite(&own, arguments)?;
        assert_eq!(ran.status, Some(2), "{arguments:?}");
        let names_it = ran.errors.contains("--i-may-change-this-machine");
        assert!(names_it, "{}", ran.errors);
        assert!(!own.exists(), "{arguments:?}");
    }
    Ok(())
}

fn its_list_has_every_case() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let listed = suite(folder.path(), &["--list"])?;
    assert_eq!(listed.status, Some(0));
    let seam = seam::cases().map(|case| case.name);
    let own = cases::all().map(|case| case.name);
    let seen = experiments::all().map(|one| format!("experiments::{}", one.name));
    for name in seam.chain(own).map(str::to_owned).chain(seen) {
        let line = format!("windows::{name}: test");
        assert!(listed.output.lines().any(|one| one == line), "{name}");
    }
    Ok(())
}

/// Runs no case even with permission, and says why.
fn is_refused_because(why: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let own = folder.path().join("suite");
    let ran = suite(&own, &["--i-may-change-this-machine"])?;
    assert_eq!(ran.status, Some(2));
    assert!(ran.errors.contains(why), "{}", ran.errors);
    assert!(!own.exists());
    Ok(())
}
