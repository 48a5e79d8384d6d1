//! Reading a mapped share, and what its errors mean.

use std::sync::Arc;
use std::time::Duration;

use os::{Cause, Deadline, Entry, Hresult, Os, Win32, WinPath};

use super::SmbError;
use super::mapping::Share;
use crate::Unfinished;
use crate::bounded::race;
use crate::locks::Key;
use crate::provider::{ProviderError, returned_win32};

/// How long a mapped share may take to answer. Windows itself gives a dead server up to a minute.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// How long a server may take to answer at its port.
const PORT_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// The operation of reading a share, which names its lock and thread.
const LOOK: &str = "look at share";

/// The operation of connecting to a server's port.
const PORT: &str = "connect to server of share";

/// Codes that mean that the server, or the network to it, is unreachable now. They do not show whether the mapping
/// works, and a new mapping would need the same server. Meanings:
/// <https://learn.microsoft.com/windows/win32/debug/system-error-codes>.
const UNREACHABLE: [Win32; 19] = [
    Win32::REM_NOT_LIST,
    Win32::BAD_NETPATH,
    Win32::NETWORK_BUSY,
    Win32::UNEXP_NET_ERR,
    Win32::NETNAME_DELETED,
    // The server answers, but has no such share, as while a cluster moves it to another node.
    Win32::BAD_NET_NAME,
    Win32::SHARING_PAUSED,
    // The server is full. A client that drops its connection gets no other.
    Win32::REQ_NOT_ACCEP,
    // No server can check the credentials.
    Win32::NO_LOGON_SERVERS,
    Win32::SEM_TIMEOUT,
    Win32::NO_NETWORK,
    Win32::CONNECTION_REFUSED,
    Win32::NETWORK_UNREACHABLE,
    Win32::HOST_UNREACHABLE,
    Win32::PROTOCOL_UNREACHABLE,
    Win32::PORT_UNREACHABLE,
    Win32::CONNECTION_ABORTED,
    Win32::HOST_DOWN,
    Win32::TIMEOUT,
];

/// The codes among these that concern one share or one user.
const UNREACHABLE_FOR_SOME: [Win32; 2] = [Win32::BAD_NET_NAME, Win32::NO_LOGON_SERVERS];

/// Codes by which the server refuses the mapping's user, or Windows has lost the mapping's credentials.
const REFUSED: [Win32; 14] = [
    Win32::ACCESS_DENIED,
    Win32::NETWORK_ACCESS_DENIED,
    Win32::INVALID_PASSWORD,
    Win32::NOT_AUTHENTICATED,
    Win32::NO_SUCH_LOGON_SESSION,
    Win32::LOGON_FAILURE,
    Win32::ACCOUNT_RESTRICTION,
    Win32::INVALID_LOGON_HOURS,
    Win32::INVALID_WORKSTATION,
    Win32::PASSWORD_EXPIRED,
    Win32::ACCOUNT_DISABLED,
    Win32::ACCOUNT_EXPIRED,
    Win32::PASSWORD_MUST_CHANGE,
    Win32::ACCOUNT_LOCKED_OUT,
];

/// Codes that refuse a new mapping because of an existing one.
const IN_THE_WAY: [Win32; 3] = [
    Win32::ALREADY_ASSIGNED,
    Win32::ALREADY_EXISTS,
    Win32::SESSION_CREDENTIAL_CONFLICT,
];

/// Codes that refuse to remove a mapping in use
/// (<https://learn.microsoft.com/windows/win32/api/winnetwk/nf-winnetwk-wnetcancelconnection2w>).
const IN_USE: [Win32; 2] = [Win32::OPEN_FILES, Win32::DEVICE_IN_USE];

/// Whether a mapping was not removed because it is in use.
pub(super) fn is_in_use(error: &ProviderError) -> bool {
    code_of(error).is_some_and(|code| IN_USE.contains(&code))
}

/// Whether a new mapping failed because its server is away, for every caller that would map a share
/// of it.
pub(super) fn is_server_unreachable(error: &ProviderError) -> bool {
    code_of(error)
        .is_some_and(|code| UNREACHABLE.contains(&code) && !UNREACHABLE_FOR_SOME.contains(&code))
}

/// Whether a new mapping failed because its server is away, or because of the existing mapping.
pub(super) fn says_nothing_new(error: &ProviderError) -> bool {
    is_mapped_already(error)
        || code_of(error)
            .is_some_and(|code| UNREACHABLE.contains(&code) || IN_THE_WAY.contains(&code))
}

/// Windows's error for a share that is mapped, since Server 2019 (Azure/aks-engine#327, kubernetes#75180).
fn is_mapped_already(error: &ProviderError) -> bool {
    let failed = Cause::Hresult(Hresult::WBEM_E_FAILED);
    matches!(error, ProviderError::Os(error) if error.cause == failed)
}

fn code_of(error: &ProviderError) -> Option<Win32> {
    match error {
        ProviderError::Refused { code, .. } => Some(returned_win32(*code)),
        ProviderError::Os(error) => error.win32(),
        _ => None,
    }
}

/// Codes for a lost connection: the next access may make Windows connect again.
const LOST: [Win32; 3] = [
    Win32::UNEXP_NET_ERR,
    Win32::NETNAME_DELETED,
    Win32::CONNECTION_ABORTED,
];

/// The result of reading a share, or a folder of it.
pub(super) type Looked = Result<Seen, SmbError>;

/// The state of a mapped share.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// The share answers.
    Answers,
    /// The server refuses access to its root, or the credentials.
    Denied(os::Error),
    /// The server, or the network to it, is down.
    Away(os::Error),
    /// Any other error; it is no reason to remove the mapping from its users.
    Unclear(os::Error),
}

impl Seen {
    fn of(looked: os::Result<Entry>) -> Self {
        let Err(error) = looked else {
            return Self::Answers;
        };
        match error.win32() {
            Some(code) if REFUSED.contains(&code) => Self::Denied(error),
            Some(code) if UNREACHABLE.contains(&code) => Self::Away(error),
            _ => Self::Unclear(error),
        }
    }

    fn is_lost(&self) -> bool {
        let Self::Away(error) = self else {
            return false;
        };
        error.win32().is_some_and(|code| LOST.contains(&code))
    }
}

impl Share<'_> {
    /// Reads the share; twice if its connection is lost, so that the same call finds a server that is back.
    pub(super) fn look(&self) -> Result<Seen, SmbError> {
        let limit = self.patience();
        let look = || {
            let seen = self.look_once(self.remote.root(), limit)?;
            match seen.is_lost() {
                true => self.look_once(self.remote.root(), limit),
                false => Ok(seen),
            }
        };
        self.look_for_all(None, look, limit)
    }

    /// Whether the requested folder is missing from the share. A folder to which access is denied may exist.
    ///
    /// # Errors
    /// The server has become unreachable, or Windows returned a code of neither list.
    pub(super) fn lacks_folder(&self) -> Result<bool, SmbError> {
        match self.folder_answers() {
            Err(SmbError::Provider(ProviderError::Os(error))) if error.is_not_found() => Ok(true),
            looked => looked.map(|_| false),
        }
    }

    /// Whether the requested folder answers; false if it is the share's root.
    ///
    /// # Errors
    /// The server has become unreachable, or Windows returned a code of neither list: then nothing was denied.
    pub(super) fn folder_answers(&self) -> Result<bool, SmbError> {
        let folder = self.remote.path();
        if folder.components().is_empty() {
            return Ok(false);
        }
        let limit = self.patience();
        let look = || self.look_once(folder.clone(), limit);
        match self.look_for_all(Some(folder), look, limit)? {
            Seen::Answers => Ok(true),
            Seen::Denied(_) => Ok(false),
            Seen::Away(source) => Err(self.away(source)),
            Seen::Unclear(source) => Err(ProviderError::from(source).into()),
        }
    }

    /// Whether a TCP port of the server accepts a connection.
    pub(super) fn port_answers(&self, port: u16) -> Result<bool, SmbError> {
        let host = self.remote.server();
        let limit = self.within(PORT_ANSWERS_WITHIN);
        let left = limit.left(&*self.node.os().clock).unwrap_or_default();
        let connect = move |os: &Os| os.afunix.connect(&host, port, left);
        match self.ask(PORT, limit, connect) {
            Ok(Ok(())) => Ok(true),
            Ok(Err(error)) => {
                tracing::debug!(%error, "an SMB server does not answer");
                Ok(false)
            }
            Err(Unfinished::Deadline { .. }) => Ok(false),
            Err(unfinished) => Err(unfinished.into()),
        }
    }

    fn patience(&self) -> Deadline {
        self.within(ANSWER_WITHIN)
    }

    fn within(&self, limit: Duration) -> Deadline {
        let clock = &*self.node.os().clock;
        self.deadline.min(Deadline::within(clock, limit))
    }

    /// Whether other calls can use the result: not if this call's own deadline cut it short.
    fn is_of_use_to_others(&self, looked: &Looked, limit: Deadline) -> bool {
        looked.is_ok() || limit < self.deadline
    }

    /// Reads a folder of the share or, without one, its root. Takes the result of another call that reads it now, or
    /// reads it and publishes the result for other calls, unless only this call's own deadline cut it short.
    fn look_for_all(
        &self,
        folder: Option<&WinPath>,
        look: impl FnOnce() -> Looked,
        limit: Deadline,
    ) -> Looked {
        let folder = folder.cloned();
        if let Some(looked) = self.visit.published(&folder) {
            return looked;
        }
        let began = self.visit.now();
        let looked = look();
        if self.is_of_use_to_others(&looked, limit) {
            self.visit.publish(folder, (began, looked.clone()));
        }
        looked
    }

    fn look_once(&self, place: WinPath, limit: Deadline) -> Result<Seen, SmbError> {
        match self.ask(LOOK, limit, move |os| os.files.entry(&place)) {
            Ok(looked) => Ok(Seen::of(looked)),
            // Other pods may have files open there: a slow mapping is not removed under them.
            Err(Unfinished::Deadline { .. }) => {
                let share = self.remote.share();
                Err(Unfinished::deadline(LOOK, &share).into())
            }
            Err(unfinished) => Err(unfinished.into()),
        }
    }

    /// A question to a dead server cannot be cut short, so it gets a thread that may outlive the call; it keeps a
    /// lock until it has ended, so that calls that are repeated do not pile up threads.
    fn ask<T: Send + 'static>(
        &self,
        operation: &'static str,
        limit: Deadline,
        question: impl FnOnce(&Os) -> T + Send + 'static,
    ) -> Result<T, Unfinished> {
        let key = Key::SmbProbe(self.remote.share());
        let mut asking = self.node.lock(operation, [key], limit)?;
        asking.leave_thread();
        let os = self.node.os().clone();
        let clock = Arc::clone(&os.clock);
        race(&*clock, operation, limit, move || {
            let answer = question(&os);
            drop(asking);
            answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_is_away_is_asked_again() {
        assert!(LOST.iter().all(|code| UNREACHABLE.contains(code)));
    }

    #[test]
    fn no_code_means_two_things() {
        assert!(REFUSED.iter().all(|code| !UNREACHABLE.contains(code)));
        assert!(
            UNREACHABLE_FOR_SOME
                .iter()
                .all(|code| UNREACHABLE.contains(code))
        );
    }
}
