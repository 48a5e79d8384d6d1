//! What the program may do on this machine, decided before it does anything.

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
    if arguments.tests.list {
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

    const LEAVE: &str = "--i-may-change-this-machine";
    const CALL: &str = "--calls-by-handle=folder";

    fn wine() -> Host {
        Host::Wine("8.0".to_owned())
    }

    #[test]
    fn nothing_is_changed_without_leave() {
        for host in [ADMINISTRATOR, USER, wine(), Host::Elsewhere] {
            for arguments in [&[][..], &["--clean-up"], &[CALL], &["life::"]] {
                assert_eq!(asked(arguments, &host), Err(Refusal::NotAllowed));
            }
            assert_eq!(asked(&["--list"], &host), Ok(Task::List));
        }
    }

    #[test]
    fn leave_is_for_administrators_since_server_2019() {
        for (arguments, task, is_for_wine) in [
            (&[LEAVE][..], Task::Run, false),
            (&[LEAVE, "--clean-up"], Task::CleanUp, true),
            (&[LEAVE, CALL], Task::CallByHandle, true),
        ] {
            for build in [17763, 20348, 26100] {
                assert_eq!(asked(arguments, &of_build(build)), Ok(task), "{build}");
            }
            let old = asked(arguments, &of_build(14393));
            assert_eq!(old, Err(Refusal::TooOld(14393)));
            assert_eq!(asked(arguments, &USER), Err(Refusal::NotElevated));
            assert_eq!(asked(arguments, &Host::Elsewhere), Err(Refusal::Elsewhere));
            let on_wine = match is_for_wine {
                true => Ok(task),
                false => Err(Refusal::Wine("8.0".to_owned())),
            };
            assert_eq!(asked(arguments, &wine()), on_wine);
        }
    }
}
