//! From the transport's errors to the conditions on which a driver branches.

use std::io;

use node::api::{Cause, Condition, Unreachable};
use transport::{CallError, Code, Endpoint, Status};

use crate::classify;

/// `ERROR_PIPE_BUSY`: all instances of a pipe are in use. No Unix has so high an error number.
const PIPE_BUSY: i32 = 231;

/// Why one attempt failed.
#[derive(Debug)]
pub(crate) enum PipeError {
    Call(CallError),
    Final(Cause),
}

/// The remedy for a fault.
pub(crate) enum Remedy {
    /// The version does not have the method: an older one may.
    AskOlder(String),
    /// Nothing: the operation has failed.
    GiveUp(Cause),
    /// The connection broke while the call was on its way.
    Repeat(Cause),
    /// The proxy is gone, and has not seen the call.
    Wait(Cause),
}

impl From<CallError> for PipeError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<Cause> for PipeError {
    fn from(cause: Cause) -> Self {
        Self::Final(cause)
    }
}

impl PipeError {
    /// `about` is what the caller sent: see [`classify::condition`].
    pub(crate) fn remedy(self, about: &[String]) -> Remedy {
        match self {
            Self::Final(cause) => Remedy::GiveUp(cause),
            Self::Call(CallError::Status(status)) => answered(status, about),
            Self::Call(CallError::Deadline { .. }) => Remedy::GiveUp(Cause::Deadline),
            Self::Call(CallError::Connect { endpoint, source }) => {
                match unreachable(&endpoint, &source) {
                    gone @ Cause::Unreachable {
                        reason: Unreachable::NoPipe,
                        ..
                    } => Remedy::Wait(gone),
                    other => Remedy::GiveUp(other),
                }
            }
            Self::Call(CallError::ForeignOwner { endpoint, owner }) => {
                Remedy::GiveUp(Cause::Unreachable {
                    endpoint: endpoint.to_string(),
                    reason: Unreachable::ForeignOwner(owner),
                })
            }
            Self::Call(CallError::Broken { reason, .. }) => Remedy::Repeat(Cause::Lost { reason }),
            Self::Call(other) => Remedy::GiveUp(Cause::Lost {
                reason: other.to_string(),
            }),
        }
    }
}

/// Whether a pipe is not there, as opposed to there and closed to us or busy. The file of a Unix
/// socket may outlive its server, which then refuses.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
    )
}

pub(crate) fn unreachable(endpoint: &Endpoint, error: &io::Error) -> Cause {
    let reason = match error.kind() {
        _ if is_absent(error) => Unreachable::NoPipe,
        _ if error.raw_os_error() == Some(PIPE_BUSY) => Unreachable::Busy,
        io::ErrorKind::PermissionDenied => Unreachable::AccessDenied,
        io::ErrorKind::ResourceBusy | io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            Unreachable::Busy
        }
        _ => Unreachable::Other(error.to_string()),
    };
    Cause::Unreachable {
        endpoint: endpoint.to_string(),
        reason,
    }
}

fn answered(status: Status, about: &[String]) -> Remedy {
    let condition = reported(&status);
    let text = status.message;
    if let Some(condition) = condition {
        return Remedy::GiveUp(Cause::failed(condition, text));
    }
    Remedy::GiveUp(match status.code {
        Code::Unimplemented => return Remedy::AskOlder(text),
        Code::DeadlineExceeded => Cause::Deadline,
        Code::PermissionDenied => Cause::Refused { text },
        Code::ResourceExhausted if classify::is_crowd(&text) => {
            Cause::failed(Condition::Crowded, text)
        }
        Code::Unknown => classify::cause(text, about),
        code => Cause::failed(Condition::Other, format_args!("{code}: {text}")),
    })
}

/// The condition that the server reports with a failure of a handler; none by a name newer than this client.
fn reported(status: &Status) -> Option<Condition> {
    let (_, name) = status.trailer.as_ref()?;
    let is_of_a_handler = matches!(status.code, Code::ResourceExhausted | Code::Unknown);
    Condition::named(name).filter(|_| is_of_a_handler)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(error: &io::Error) -> Unreachable {
        let endpoint = Endpoint::pipe("csi-proxy-disk-v1").unwrap();
        match unreachable(&endpoint, error) {
            Cause::Unreachable { reason, .. } => reason,
            other => unreachable!("{other}"),
        }
    }

    #[test]
    fn a_pipe_that_is_missing_busy_or_closed_to_us_is_told_apart() {
        let of = |kind: io::ErrorKind| reason(&kind.into());
        assert_eq!(of(io::ErrorKind::NotFound), Unreachable::NoPipe);
        assert_eq!(of(io::ErrorKind::ConnectionRefused), Unreachable::NoPipe);
        assert_eq!(
            of(io::ErrorKind::PermissionDenied),
            Unreachable::AccessDenied
        );
        let busy = io::Error::from_raw_os_error(PIPE_BUSY);
        assert_eq!(reason(&busy), Unreachable::Busy);
        assert!(matches!(
            of(io::ErrorKind::BrokenPipe),
            Unreachable::Other(_)
        ));
    }

    #[test]
    fn a_pipe_of_another_account_is_given_up_with_the_accounts_name() {
        let endpoint = Endpoint::pipe("csi-proxy-smb-v1").unwrap();
        let owner = "S-1-5-21-1-2-3-1001".to_owned();
        let fault = PipeError::Call(CallError::ForeignOwner { endpoint, owner });
        let Remedy::GiveUp(cause) = fault.remedy(&[]) else {
            unreachable!("it is not asked again")
        };
        assert_eq!(
            cause.to_string(),
            r"\\.\pipe\csi-proxy-smb-v1: it belongs to S-1-5-21-1-2-3-1001, who is not trusted to serve it"
        );
    }

    #[test]
    fn a_call_that_came_when_too_many_ran_or_waited_is_told_from_one_that_is_too_large() {
        let condition = |text: &str| {
            let status = Status::new(Code::ResourceExhausted, text);
            match PipeError::Call(CallError::Status(status)).remedy(&[]) {
                Remedy::GiveUp(Cause::Failed { condition, .. }) => condition,
                _ => unreachable!("{text}"),
            }
        };
        for crowd in [
            "256 calls run already",
            "partition disk disk 1: partition disk has had it for 7 s, and 128 calls for it wait already",
        ] {
            assert_eq!(condition(crowd), Condition::Crowded);
        }
        let large = "grpc: received message larger than max (5 vs. 4)";
        assert_eq!(condition(large), Condition::Other);
    }
}
