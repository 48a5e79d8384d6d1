//! The groups: each operation with its dialects, newest first.
//!
//! The differences between versions are stated only here. A version that an operation does not list
//! does not have it.

mod disks;
mod filesystem;
mod find;
mod iscsi;
mod smb;
mod system;
mod volumes;

use std::fmt;

use node::api::{Cause, Condition, Error, Feature, Needs, Result};
use os::{DiskNumber, WinPath};

type Read<T> = std::result::Result<T, Cause>;

/// A path as the wire carries it. One that is no Unicode would arrive as another one.
fn path_text(operation: &'static str, path: &WinPath) -> Result<String> {
    path.to_plain().into_string().map_err(|_| {
        let cause = Cause::InvalidArgument("a path that is no Unicode cannot be sent".to_owned());
        Error::new(operation, path, cause)
    })
}

/// The answer of a version that has a field for errors beside gRPC's. csi-proxy never fills it.
fn unless<T>(error: String, answer: T) -> Read<T> {
    match error.is_empty() {
        true => Ok(answer),
        false => Err(Cause::failed(Condition::Other, error)),
    }
}

/// A size that the wire carries with a sign.
fn bytes(signed: i64) -> Read<u64> {
    u64::try_from(signed).map_err(|_| malformed(format_args!("a size of {signed} bytes")))
}

/// A disk number that the wire carries as text.
fn disk_of_text(text: &str) -> Read<DiskNumber> {
    let number = text.parse().map(DiskNumber);
    number.map_err(|_| malformed(format_args!("a disk called {text:?}")))
}

/// csi-proxy's protocol does not carry this: nothing is sent.
fn unsupported(what: impl fmt::Display, feature: Feature) -> Cause {
    Cause::Unsupported {
        operation: what.to_string(),
        needs: Needs::Feature(feature),
    }
}

/// An operation that csi-proxy's protocol does not have.
fn lacks(
    operation: &'static str,
    object: impl fmt::Display,
    what: impl fmt::Display,
    feature: Feature,
) -> Error {
    Error::new(operation, object, unsupported(what, feature))
}

/// Whether the proxy serves the group, but is too old for the operation.
fn is_too_old(error: &Error) -> bool {
    let Cause::Unsupported { needs, .. } = &error.cause else {
        return false;
    };
    matches!(needs, Needs::Version { .. })
}

fn malformed(what: impl fmt::Display) -> Cause {
    Cause::Malformed(what.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_the_answer_is_an_error() {
        assert_eq!(unless(String::new(), 1), Ok(1));
        let failed = unless("Access is denied.".to_owned(), 1);
        assert!(matches!(failed, Err(Cause::Failed { .. })));
    }

    #[test]
    fn a_disk_number_is_never_cut() {
        assert_eq!(disk_of_text("1"), Ok(DiskNumber(1)));
        for text in ["4294967297", "-1", "", "one"] {
            assert!(
                matches!(disk_of_text(text), Err(Cause::Malformed(_))),
                "{text}"
            );
        }
    }
}
