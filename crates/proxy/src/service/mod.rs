//! `csi-proxy service ...`: csi-proxy as a Windows service, installed and looked after without `sc.exe`.

mod name;
mod parse;
#[cfg(any(windows, test))]
mod program;
#[cfg(any(windows, test))]
mod rights;

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "elsewhere.rs")]
mod platform;

use std::process::ExitCode;

pub use name::{NAME, ServiceName, ServiceNameError};
pub use parse::{ArgumentError, Command, Folder, parse};

/// The first argument of such a command line.
pub const WORD: &str = "service";

/// Runs the command in the arguments after [`WORD`], and returns the program's exit status, listed in [`HELP`].
#[must_use]
pub fn main(arguments: &[String]) -> ExitCode {
    let status = match parse(arguments) {
        Ok(Command::Help) => {
            print!("{HELP}");
            Status::Done
        }
        Ok(command) => platform::perform(&command).unwrap_or_else(|error| {
            eprintln!("csi-proxy service: {error}");
            Status::Failed
        }),
        Err(error) => {
            eprint!("csi-proxy service: {error}\n\n{HELP}");
            Status::Usage
        }
    };
    ExitCode::from(status as u8)
}

/// The commands' usage and exit statuses.
pub const HELP: &str = "\
Usage of csi-proxy service:
  csi-proxy service install [-name=NAME] [-any-folder] [--] [flags of csi-proxy]
    \tInstall csi-proxy as a service that starts with the system, as LocalSystem, and is
    \tstarted again 10 s after a failure. It runs this very file with these flags, so put the
    \tfile first where only administrators can write, as below C:\\Program Files: elsewhere it is
    \tnot installed, unless -any-folder is given. With -log_file or -log_dir the log goes
    \tthere, unless -logtostderr is given. A service that is there already gets this
    \tconfiguration, in force from its next start.
  csi-proxy service uninstall [-name=NAME]
    \tStop the service and remove it.
  csi-proxy service start [-name=NAME]
    \tStart the service and wait until its pipes answer.
  csi-proxy service stop [-name=NAME]
    \tStop the service and wait until it has ended.
  csi-proxy service status [-name=NAME]
    \tTell how the service stands.
The name is csiproxy when none is given.
Exit status: 0 done, or status: it runs; 1 failed; 2 wrong usage; 3 status: it does not run;
4 status: it is not installed.
";

/// A program's exit status; those of `status` are as in init scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Success; the service runs.
    Done = 0,
    /// It could not be done.
    Failed = 1,
    /// An invalid command line.
    Usage = 2,
    /// The service does not run.
    NotRunning = 3,
    /// The service is not installed.
    Absent = 4,
}
