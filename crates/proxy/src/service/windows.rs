use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, io, iter};

use os_windows::installation::{
    self, Change, Definition, Effort, InstallationError, Removal, Report, RunState,
};

use super::rights::{self, Level};
use super::{Command, Folder, ServiceName, Status, program};
use crate::flags::Config;

pub(super) fn perform(command: &Command) -> Result<Status, CommandError> {
    match command {
        // Printed already.
        Command::Help => Ok(Status::Done),
        Command::Install {
            name,
            arguments,
            config,
            folder,
        } => install(name, arguments, config, *folder),
        Command::Start(name) => start(name),
        Command::Status(name) => status(name),
        Command::Stop(name) => stop(name),
        Command::Uninstall(name) => uninstall(name),
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("service {name} runs another program and is left alone: {command_line}")]
    Foreign {
        name: ServiceName,
        command_line: String,
    },
    #[error(transparent)]
    Installation(#[from] InstallationError),
    #[error(
        r"{0}: put csi-proxy.exe where only administrators can write, as below C:\Program Files, or change the rights (docs/service.md says how); -any-folder installs it all the same"
    )]
    Open(OpenPlace),
    #[error("find this program: {0}")]
    Program(#[source] io::Error),
}

/// A file or folder that others than administrators can change, and so choose the service's program.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenPlace {
    #[error("{} can be changed by {}, who would become LocalSystem", .path.display(), .others.join(", "))]
    Others { path: PathBuf, others: Vec<String> },
    #[error("who can change it is not known: {0}")]
    Unknown(#[from] os::Error),
}

/// The most time for a start or a stop; longer if a stopping service requests it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// As csi-proxy's installation notes set it with `sc.exe failure`.
const RESTART_DELAY: Duration = Duration::from_secs(10);

const DESCRIPTION: &str =
    "Serves storage operations of this node to CSI drivers over named pipes (wincsi).";

fn install(
    name: &ServiceName,
    arguments: &[String],
    config: &Config,
    folder: Folder,
) -> Result<Status, CommandError> {
    let executable = env::current_exe().map_err(CommandError::Program)?;
    refuse_foreign(name, &executable)?;
    for place in open_places(&executable) {
        match folder {
            Folder::Administrators => return Err(CommandError::Open(place)),
            Folder::Any => eprintln!("warning: {place}"),
        }
    }
    let installation = installation::install(&definition(name, executable, arguments))?;
    match installation.change {
        Change::Created => {
            println!("service {name} is installed; start it with: csi-proxy service start")
        }
        Change::Updated => println!(
            "service {name} was installed already: its configuration is replaced, and in force from its next start"
        ),
    }
    for warning in &installation.warnings {
        eprintln!("warning: {warning}");
    }
    if config.log.to_stderr {
        eprintln!(
            "warning: the log goes to standard error, which nobody sees of a service: give -log_file or -log_dir, without -logtostderr"
        );
    }
    Ok(Status::Done)
}

/// The places among the program, its folder and those above that others can change.
fn open_places(executable: &Path) -> impl Iterator<Item = OpenPlace> {
    let ours = [Level::Install; 2].into_iter();
    let places = ours.chain(iter::repeat(Level::Above));
    let paths = executable.ancestors().zip(places);
    paths.filter_map(|(path, place)| match installation::rights_of(path) {
        Err(error) => Some(OpenPlace::Unknown(error)),
        Ok(sddl) => {
            let others = rights::others_who_may_change(place, &sddl);
            let path = path.to_owned();
            (!others.is_empty()).then_some(OpenPlace::Others { path, others })
        }
    })
}

fn definition(name: &ServiceName, executable: PathBuf, arguments: &[String]) -> Definition {
    Definition {
        name: name.to_string(),
        display_name: name.display(),
        description: String::from(DESCRIPTION),
        executable,
        arguments: arguments.iter().map(OsString::from).collect(),
        restart_delay: RESTART_DELAY,
    }
}

fn uninstall(name: &ServiceName) -> Result<Status, CommandError> {
    refuse_foreign(name, &env::current_exe().map_err(CommandError::Program)?)?;
    match installation::uninstall(name.as_str(), TIMEOUT)? {
        Removal::Absent => println!("service {name} is not installed"),
        Removal::Marked => println!(
            "service {name} is stopped and marked for deletion: it goes when the last program that has it open, such as the services console, is closed"
        ),
        Removal::Removed => println!("service {name} is removed"),
    }
    Ok(Status::Done)
}

fn start(name: &ServiceName) -> Result<Status, CommandError> {
    match installation::start(name.as_str(), TIMEOUT)? {
        Effort::AlreadySo => println!("service {name} runs already"),
        Effort::Done => println!("service {name} runs"),
    }
    Ok(Status::Done)
}

fn stop(name: &ServiceName) -> Result<Status, CommandError> {
    match installation::stop(name.as_str(), TIMEOUT)? {
        Effort::AlreadySo => println!("service {name} does not run"),
        Effort::Done => println!("service {name} is stopped"),
    }
    Ok(Status::Done)
}

fn status(name: &ServiceName) -> Result<Status, CommandError> {
    let Some(report) = installation::status(name.as_str())? else {
        println!("service {name} is not installed");
        return Ok(Status::Absent);
    };
    print!("{}", lines(name, &report));
    Ok(match report.state {
        RunState::Running => Status::Done,
        _ => Status::NotRunning,
    })
}

fn lines(name: &ServiceName, report: &Report) -> String {
    let process = report
        .process_id
        .map_or(String::from("none"), |id| id.to_string());
    let account = report.account.as_deref().unwrap_or_default();
    format!(
        "name: {name}\nstate: {}\nprocess id: {process}\nlast end: {}\naccount: {}\ncommand line: {}\n",
        report.state,
        report.ending,
        account.to_string_lossy(),
        report.command_line.to_string_lossy(),
    )
}

/// A slip in `-name` must not replace or remove another program's service.
fn refuse_foreign(name: &ServiceName, executable: &Path) -> Result<(), CommandError> {
    let Some(report) = installation::status(name.as_str())? else {
        return Ok(());
    };
    let command_line = report.command_line.to_string_lossy();
    let own = executable.file_name().unwrap_or_default().to_string_lossy();
    if program::is_csi_proxy(&command_line, &own) {
        return Ok(());
    }
    Err(CommandError::Foreign {
        name: name.clone(),
        command_line: command_line.into_owned(),
    })
}
