//! Whether the parts of the node needed by a group of calls answer.

use node::api::{Cause, Code, Condition};
use os::{Deadline, Hresult, ServiceState, WinPath};

use super::PipeOperations;

/// The result of a group's check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Checked {
    Good,
    /// No call of the group works before the server is restarted.
    NeedsRestart(&'static str),
    /// The node lacks a part that some calls of the group need: the operator decides whether it should have it.
    Lacks(String),
}

/// Everybody who reaches the address can read the page, so only the log names the folder.
const LATE_LINK: &str =
    "a working directory that was missing at the start is a link now: restart csi-proxy";

type Result = std::result::Result<Checked, Cause>;

impl PipeOperations {
    /// Queries the parts of the node that a group's calls use, and changes nothing.
    pub(crate) fn check(&self, group: &str, deadline: Deadline) -> Result {
        let checked = match group {
            "disk" => good(self.node.operations().disks().locations(deadline)),
            "filesystem" => self.check_filesystem(),
            "iscsi" => self.check_iscsi(deadline),
            "smb" => self.check_smb(deadline),
            "volume" => good(self.node.os().volumes.list().map_err(other)),
            _ => self
                .service_lacks("MSiSCSI", deadline)
                .map(|_| Checked::Good),
        };
        match checked {
            Err(cause) => lacks(&cause).ok_or(cause),
            checked => checked,
        }
    }

    /// Checks the first working folder: it may be made later, but not as a link.
    fn check_filesystem(&self) -> Result {
        if self.late_link().map_err(other)?.is_some() {
            return Ok(Checked::NeedsRestart(LATE_LINK));
        }
        let Some(root) = self.working_dirs.first() else {
            return Ok(Checked::Good);
        };
        match self.node.os().files.entry(root) {
            Err(error) if error.is_not_found() => Ok(Checked::Good),
            entry => good(entry.map_err(other)),
        }
    }

    fn late_link(&self) -> os::Result<Option<WinPath>> {
        match self.working_dirs.allowed() {
            Some(allowed) => allowed.late_link(self.node.os()),
            None => Ok(None),
        }
    }

    fn check_iscsi(&self, deadline: Deadline) -> Result {
        match self.service_lacks("MSiSCSI", deadline)? {
            Some(lacks) => Ok(lacks),
            None => good(self.node.operations().iscsi().sessions(deadline)),
        }
    }

    fn check_smb(&self, deadline: Deadline) -> Result {
        match self.service_lacks("LanmanWorkstation", deadline)? {
            Some(lacks) => Ok(lacks),
            None => good(self.node.operations().smb().mappings(deadline)),
        }
    }

    fn service_lacks(
        &self,
        name: &str,
        deadline: Deadline,
    ) -> std::result::Result<Option<Checked>, Cause> {
        let lacks = |how: &str| Ok(Some(Checked::Lacks(format!("service {name} {how}"))));
        match self.service(name, deadline) {
            Ok(info) if info.state == ServiceState::Running => Ok(None),
            Ok(info) if info.state == ServiceState::Stopped => lacks("is stopped"),
            Ok(_) => lacks("does not run"),
            Err(error) => match Cause::from(error) {
                Cause::Failed {
                    condition: Condition::NotFound,
                    ..
                } => lacks("is not installed"),
                cause => Err(cause),
            },
        }
    }
}

fn good<T>(looked: std::result::Result<T, impl Into<Cause>>) -> Result {
    looked.map(|_| Checked::Good).map_err(Into::into)
}

fn other(error: os::Error) -> Cause {
    Cause::failed(Condition::Other, error)
}

fn lacks(cause: &Cause) -> Option<Checked> {
    let Cause::Failed {
        condition, code, ..
    } = cause
    else {
        return None;
    };
    let absent = [
        Hresult::WBEM_E_INVALID_CLASS,
        Hresult::WBEM_E_INVALID_NAMESPACE,
    ];
    match code {
        Some(Code::Hresult(code)) if absent.contains(code) => {
            Some(Checked::Lacks(format!("{code}")))
        }
        _ if *condition == Condition::ServiceStopped => {
            Some(Checked::Lacks(String::from("a service is stopped")))
        }
        _ => None,
    }
}
