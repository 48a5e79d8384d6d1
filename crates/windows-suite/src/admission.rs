//! What the suite may do here, decided before it does anything.

use crate::arguments::Arguments;

/// What the suite was asked for and may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Say which cases there are.
    List,
    /// Remove what a former run left over.
    CleanUp,
    /// Run the cases.
    Run,
}

/// The machine that the suite was started on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Windows itself.
    Windows {
        /// Whether this process has an administrator's full rights.
        is_elevated: bool,
    },
    /// Wine, of this version.
    Wine(String),
    /// Neither.
    Elsewhere,
}

/// Why the suite does nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nobody said that the machine may be changed.
    #[error(
        "this suite attaches disks and makes users, a share and services on this machine: \
         say --i-may-change-this-machine if it may, or --list to see what it runs"
    )]
    NotAllowed,
    /// The process is not elevated.
    #[error("this takes an administrator: start it from an elevated prompt")]
    NotElevated,
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

/// What may be done of what was asked for.
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
    match (host, arguments.clean_up) {
        (Host::Elsewhere, _) => Err(Refusal::Elsewhere),
        (Host::Windows { is_elevated: false }, _) => Err(Refusal::NotElevated),
        (_, true) => Ok(Task::CleanUp),
        (Host::Wine(version), false) => Err(Refusal::Wine(version.clone())),
        (Host::Windows { is_elevated: true }, false) => Ok(Task::Run),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::{Host, Refusal, Task, admit};
    use crate::arguments::Arguments;

    const ADMINISTRATOR: Host = Host::Windows { is_elevated: true };
    const USER: Host = Host::Windows { is_elevated: false };

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
