//! The suite's permission on this machine, decided before it does anything.

use os::schema::Build;

use crate::arguments::Arguments;

/// The suite's requested and permitted task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// List the cases.
    List,
    /// Make and remove directories by handles, and nothing else.
    CallByHandle,
    /// Remove a former run's leftovers.
    CleanUp,
    /// Run the cases.
    Run,
}

/// The suite's machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Windows itself.
    Windows {
        /// The number of its build, 20348 of Windows Server 2022 say.
        build: u32,
        /// Whether this process has an administrator's full rights.
        is_elevated: bool,
    },
    /// Wine, of this version.
    Wine(String),
    Elsewhere,
}

/// Why the suite does nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The flag to allow changes of the machine is missing.
    #[error(
        "this suite attaches disks and makes users, a share and services on this machine: \
         say --i-may-change-this-machine if it may, or --list to see what it runs"
    )]
    NotAllowed,
    /// The process is not elevated.
    #[error("this takes an administrator: start it from an elevated prompt")]
    NotElevated,
    /// The build is older than any supported by csi-proxy.
    #[error("this is build {0} of Windows: the suite is for Windows Server 2019 (17763) and later")]
    TooOld(u32),
    /// Wine cannot attach disks.
    #[error(
        "this is Wine {0}, no Windows: it attaches no disks and has no storage, SMB or iSCSI provider. \
         --list and --clean-up run here; `cargo test` runs what else can"
    )]
    Wine(String),
    /// The machine runs no Windows.
    #[error("this is no Windows: --list alone runs here")]
    Elsewhere,
}

/// Decides the permitted task.
///
/// # Errors
/// See [`Refusal`].
pub fn admit(arguments: &Arguments, host: &Host) -> Result<Task, Refusal> {
    if arguments.list {
        return Ok(Task::List);
    }
    if !arguments.may_change {
        return Err(Refusal::NotAllowed);
    }
    let task = task(arguments);
    match host {
        Host::Elsewhere => Err(Refusal::Elsewhere),
        Host::Wine(_) if task != Task::Run => Ok(task),
        Host::Wine(version) => Err(Refusal::Wine(version.clone())),
        Host::Windows { is_elevated, build } => match *build {
            _ if !is_elevated => Err(Refusal::NotElevated),
            old if Build(old) < OLDEST => Err(Refusal::TooOld(old)),
            _ => Ok(task),
        },
    }
}

/// Of Windows Server 2019: Kubernetes has no nodes of an older one.
const OLDEST: Build = Build::SERVER_2019;

fn task(arguments: &Arguments) -> Task {
    match (&arguments.calls_by_handle, arguments.clean_up) {
        (Some(_), _) => Task::CallByHandle,
        (None, true) => Task::CleanUp,
        (None, false) => Task::Run,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{Host, Refusal, Task, admit};
    use crate::arguments::Arguments;

    const ADMINISTRATOR: Host = of_build(17763);
    const USER: Host = Host::Windows {
        build: 20348,
        is_elevated: false,
    };

    const fn of_build(build: u32) -> Host {
        Host::Windows {
            build,
            is_elevated: true,
        }
    }

    fn asked(arguments: &[&str], host: &Host) -> Result<Task, Refusal> {
        let parsed = Arguments::try_parse_from([&["suite"], arguments].concat());
        admit(&parsed.expect("arguments"), host)
    }

    #[test]
    fn nothing_is_changed_without_being_told_so() {
        for host in [
            ADMINISTRATOR,
            USER,
            Host::Wine("8.0".into()),
            Host::Elsewhere,
        ] {
            assert_eq!(asked(&[], &host), Err(Refusal::NotAllowed));
            assert_eq!(asked(&["--clean-up"], &host), Err(Refusal::NotAllowed));
            assert_eq!(asked(&["--list"], &host), Ok(Task::List));
        }
    }

    #[test]
    fn it_takes_windows_and_an_administrator() {
        let run = &["--i-may-change-this-machine"];
        assert_eq!(asked(run, &ADMINISTRATOR), Ok(Task::Run));
        assert_eq!(asked(run, &USER), Err(Refusal::NotElevated));
        assert_eq!(asked(run, &Host::Elsewhere), Err(Refusal::Elsewhere));
        let wine = Host::Wine("8.0".into());
        assert_eq!(asked(run, &wine), Err(Refusal::Wine("8.0".into())));
    }

    #[test]
    fn windows_server_2019_is_admitted_and_none_before() {
        let run = &["--i-may-change-this-machine"];
        for build in [17763, 20348, 26100] {
            assert_eq!(asked(run, &of_build(build)), Ok(Task::Run), "{build}");
        }
        assert_eq!(asked(run, &of_build(14393)), Err(Refusal::TooOld(14393)));
    }

    #[test]
    fn calls_by_handle_take_leave_and_may_be_wine() {
        let call = &["--i-may-change-this-machine", "--calls-by-handle", "folder"];
        for host in [ADMINISTRATOR, Host::Wine("8.0".into())] {
            assert_eq!(asked(call, &host), Ok(Task::CallByHandle));
        }
        assert_eq!(asked(&call[1..], &ADMINISTRATOR), Err(Refusal::NotAllowed));
        assert_eq!(asked(call, &Host::Elsewhere), Err(Refusal::Elsewhere));
    }

    #[test]
    fn cleaning_up_takes_the_same_but_may_be_wine() {
        let clean_up = &["--i-may-change-this-machine", "--clean-up"];
        assert_eq!(asked(clean_up, &ADMINISTRATOR), Ok(Task::CleanUp));
        assert_eq!(
            asked(clean_up, &Host::Wine("8.0".into())),
            Ok(Task::CleanUp)
        );
        assert_eq!(asked(clean_up, &USER), Err(Refusal::NotElevated));
        assert_eq!(asked(clean_up, &Host::Elsewhere), Err(Refusal::Elsewhere));
    }
}
