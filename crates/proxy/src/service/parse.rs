use super::{ServiceName, ServiceNameError};
use crate::flags::{self, Config, FlagError, Invocation};

/// A command and its service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Print how the commands are used.
    Help,
    Install {
        /// The service's name.
        name: ServiceName,
        /// The arguments of its start. They parse, and include the flag to run as a service.
        arguments: Vec<String>,
        /// The parsed arguments.
        config: Box<Config>,
        /// Where the program may be.
        folder: Folder,
    },
    Start(ServiceName),
    /// Report its state.
    Status(ServiceName),
    Stop(ServiceName),
    Uninstall(ServiceName),
}

/// The allowed folders for a service's program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Folder {
    /// Only administrators can write to it, and to the folders above.
    #[default]
    Administrators,
    Any,
}

/// An invalid command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// No command is given.
    #[error("install, uninstall, start, stop or status?")]
    Missing,
    /// There is no such command.
    #[error("unknown command {0:?}")]
    Unknown(String),
    /// The command takes no such argument.
    #[error("unexpected argument {0:?}")]
    Unexpected(String),
    /// The name is none.
    #[error(transparent)]
    Name(#[from] ServiceNameError),
    /// `-name` is the last argument.
    #[error("flag needs an argument: -name")]
    NeedsName,
    /// csi-proxy would not start with these flags.
    #[error("csi-proxy would not start: {0}")]
    Flags(#[from] FlagError),
    /// With this flag csi-proxy does something else than serve as a service.
    #[error("-{0} is nothing for a service")]
    NoService(&'static str),
}

/// Reads the arguments after the word `service`.
///
/// `-name` and `-any-folder` are the command's own; everything else after `install`, and everything after `--`, are
/// flags for the service.
///
/// # Errors
/// An unknown command or argument, or flags that prevent csi-proxy's start.
pub fn parse(arguments: &[String]) -> Result<Command, ArgumentError> {
    let (command, rest) = arguments.split_first().ok_or(ArgumentError::Missing)?;
    let is_help =
        |argument: &String| argument.trim_start_matches('-') == "help" || argument == "-h";
    if is_help(command) || rest.iter().take_while(|word| *word != "--").any(is_help) {
        return Ok(Command::Help);
    }
    let Own {
        name,
        folder,
        flags,
    } = own_and_flags(rest)?;
    if command == "install" {
        return install(name, flags, folder);
    }
    if folder == Folder::Any {
        return Err(ArgumentError::Unexpected(format!("-{ANY_FOLDER}")));
    }
    let make = match command.as_str() {
        "start" => Command::Start,
        "status" => Command::Status,
        "stop" => Command::Stop,
        "uninstall" => Command::Uninstall,
        other => return Err(ArgumentError::Unknown(other.to_owned())),
    };
    match flags.into_iter().next() {
        Some(flag) => Err(ArgumentError::Unexpected(flag)),
        None => Ok(make(name)),
    }
}

/// The flag to run csi-proxy as a service.
const AS_SERVICE: &str = "-windows-service";

/// klog's flag to fill log files.
const TO_FILES: &str = "-logtostderr=false";

/// The flag of `install` to skip the check of the program's folder.
const ANY_FOLDER: &str = "any-folder";

fn install(
    name: ServiceName,
    flags: Vec<String>,
    folder: Folder,
) -> Result<Command, ArgumentError> {
    let mut arguments = flags;
    if serving(&arguments)?.log.names_files_in_vain() {
        arguments = with_log_files_by_default(arguments)?;
    }
    if !serving(&arguments)?.windows_service {
        arguments.insert(0, String::from(AS_SERVICE));
    }
    let config = serving(&arguments)?;
    if !config.windows_service {
        return Err(ArgumentError::NoService("windows-service=false"));
    }
    Ok(Command::Install {
        name,
        arguments,
        config,
        folder,
    })
}

/// A service has no standard error, so a named log file gets the log unless a flag says otherwise: if a flag is given
/// twice, the last one counts.
fn with_log_files_by_default(flags: Vec<String>) -> Result<Vec<String>, ArgumentError> {
    let with = [vec![String::from(TO_FILES)], flags.clone()].concat();
    Ok(match serving(&with)?.log.to_stderr {
        true => flags,
        false => with,
    })
}

fn serving(arguments: &[String]) -> Result<Box<Config>, ArgumentError> {
    match flags::parse(arguments.iter().cloned())? {
        // A started program may ignore them; an installing operator can read the error.
        Invocation::Serve(config) if !config.ignored.is_empty() => {
            Err(ArgumentError::Unexpected(config.ignored.join(" ")))
        }
        Invocation::Serve(config) => Ok(config),
        Invocation::Help => Err(ArgumentError::NoService("help")),
        Invocation::Version => Err(ArgumentError::NoService("version")),
    }
}

/// The command's own flags, and the service's.
#[derive(Default)]
struct Own {
    name: ServiceName,
    folder: Folder,
    flags: Vec<String>,
}

fn own_and_flags(arguments: &[String]) -> Result<Own, ArgumentError> {
    let mut own = Own::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--").or(argument.strip_prefix('-')) {
            Some("") if argument == "--" => {
                own.flags.extend(arguments.by_ref().cloned());
            }
            Some("name") => {
                own.name = arguments.next().ok_or(ArgumentError::NeedsName)?.parse()?;
            }
            Some(flag) if flag.starts_with("name=") => own.name = flag["name=".len()..].parse()?,
            Some(ANY_FOLDER) => own.folder = Folder::Any,
            _ => own.flags.push(argument.clone()),
        }
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    use super::{ArgumentError, Command, Folder, parse};
    use crate::flags::FlagError;

    fn of(line: &str) -> Result<Command, ArgumentError> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    fn installed(line: &str) -> (String, Vec<String>) {
        match of(line) {
            Ok(Command::Install {
                name, arguments, ..
            }) => (name.to_string(), arguments),
            other => panic!("{line:?} gives {other:?}"),
        }
    }

    #[test]
    fn the_flags_of_the_service_are_kept_with_and_without_dashes_before() {
        let wanted = ["-windows-service", r"-kubelet-path=D:\k", "-v=4"].map(String::from);
        for line in [
            r"install -- -kubelet-path=D:\k -v=4",
            r"install -kubelet-path=D:\k -v=4",
            r"install -name=csiproxy -kubelet-path=D:\k -- -v=4",
            r"install -- -windows-service -kubelet-path=D:\k -v=4",
        ] {
            let (name, arguments) = installed(line);
            assert_eq!(
                (name.as_str(), arguments),
                ("csiproxy", wanted.to_vec()),
                "{line}"
            );
        }
        assert_eq!(installed("install --name other").0, "other");
    }

    #[test]
    fn a_folder_of_anybodys_has_to_be_asked_for_and_is_no_flag_of_the_service() {
        for (line, wanted) in [
            ("install -v=2", Folder::Administrators),
            ("install -any-folder -v=2", Folder::Any),
            ("install --any-folder -- -v=2", Folder::Any),
        ] {
            match of(line) {
                Ok(Command::Install {
                    folder, arguments, ..
                }) => {
                    assert_eq!(folder, wanted, "{line}");
                    assert_eq!(arguments.join(" "), "-windows-service -v=2", "{line}");
                }
                other => panic!("{line:?} gives {other:?}"),
            }
        }
        assert!(of("install -- -any-folder").is_err());
        let unexpected = ArgumentError::Unexpected("-any-folder".into());
        assert_eq!(of("start -any-folder"), Err(unexpected));
    }

    #[test]
    fn a_log_file_that_is_named_for_a_service_is_written() {
        for (line, wanted) in [
            (
                "-log_file=x",
                "-windows-service -logtostderr=false -log_file=x",
            ),
            (
                "-log_dir x",
                "-windows-service -logtostderr=false -log_dir x",
            ),
            (
                "-log_file=x -logtostderr=false",
                "-windows-service -log_file=x -logtostderr=false",
            ),
            (
                "-logtostderr -log_file=x",
                "-windows-service -logtostderr -log_file=x",
            ),
            ("-v=2", "-windows-service -v=2"),
        ] {
            let (_, arguments) = installed(&format!("install -- {line}"));
            assert_eq!(arguments.join(" "), wanted);
        }
    }

    /// Guards: P12
    #[test]
    fn what_would_not_start_is_not_installed() {
        assert_eq!(
            of("install -- -nonsense"),
            Err(ArgumentError::Flags(FlagError::Undefined(
                "nonsense".into()
            )))
        );
        assert_eq!(
            of("install -- -name=x"),
            Err(ArgumentError::Flags(FlagError::Undefined("name".into())))
        );
        assert_eq!(
            of("install -windows-service=false"),
            Err(ArgumentError::NoService("windows-service=false"))
        );
        assert_eq!(
            of("install -- -version"),
            Err(ArgumentError::NoService("version"))
        );
        assert_eq!(
            of("install -- D:\\k"),
            Err(ArgumentError::Unexpected("D:\\k".into()))
        );
    }

    #[test]
    fn commands_take_a_name_and_nothing_else() {
        assert!(matches!(of("status -name=a"), Ok(Command::Status(name)) if name.as_str() == "a"));
        assert_eq!(
            of("stop -v=4"),
            Err(ArgumentError::Unexpected("-v=4".into()))
        );
        assert_eq!(of("restart"), Err(ArgumentError::Unknown("restart".into())));
        assert_eq!(of(""), Err(ArgumentError::Missing));
        assert_eq!(of("start -name"), Err(ArgumentError::NeedsName));
        assert!(matches!(of("start -name=a/b"), Err(ArgumentError::Name(_))));
        for help in ["help", "--help", "install -h"] {
            assert_eq!(of(help), Ok(Command::Help), "{help}");
        }
    }
}
