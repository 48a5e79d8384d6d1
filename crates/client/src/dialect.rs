//! One operation in one version: its request, and the meaning of its answer.

use std::time::Instant;

use node::api::{Cause, Needs};
use prost::Message;
use transport::Channel;
use wire::{Group, Rpc, Version};
use zeroize::Zeroizing;

use crate::failure::PipeError;

type Speech<'a, T> = dyn Fn(&Line<'_>) -> Result<T, PipeError> + 'a;

/// An operation as one version has it.
pub(crate) struct Dialect<'a, T> {
    pub(crate) group: &'static Group,
    /// The RPC's path, by which a version that does not serve it is remembered.
    pub(crate) path: &'static str,
    speak: Box<Speech<'a, T>>,
}

/// A connection to one version, and when the answer must be there.
pub(crate) struct Line<'a> {
    pub(crate) channel: &'a Channel,
    pub(crate) deadline: Instant,
}

impl<T> Dialect<'_, T> {
    pub(crate) fn speak(&self, line: &Line<'_>) -> Result<T, PipeError> {
        (self.speak)(line)
    }

    /// The cause where this is the oldest dialect, and the proxy's newest version is older.
    pub(crate) fn missing(&self, found: Version) -> Cause {
        let rpc = self.path.rsplit('/').next().unwrap_or_default();
        Cause::Unsupported {
            operation: rpc.to_owned(),
            needs: Needs::Version {
                group: self.group.name,
                needed: self.group.version.to_string(),
                found: found.to_string(),
            },
        }
    }
}

impl Line<'_> {
    /// The encoded request may hold a password, and so is wiped.
    fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response, PipeError> {
        let message = Zeroizing::new(request.encode_to_vec());
        let answer = self.channel.call(R::PATH, &message, self.deadline)?;
        R::Response::decode(answer.as_slice())
            .map_err(|error| Cause::Malformed(error.to_string()).into())
    }
}

/// The operation in the version of `R`. The request is made anew for each attempt, so that none with
/// a secret is kept.
pub(crate) fn dialect<'a, R: Rpc, T>(
    request: impl Fn() -> R::Request + 'a,
    read: impl Fn(R::Response) -> Result<T, Cause> + 'a,
) -> Dialect<'a, T> {
    Dialect {
        group: R::GROUP,
        path: R::PATH,
        speak: Box::new(move |line| Ok(read(line.call::<R>(&request())?)?)),
    }
}

/// The dialects of an operation, newest first. A line has the group, the versions with the same
/// words, the RPC, its request and the meaning of the answer.
macro_rules! dialects {
    ($($group:ident [$($version:ident)+] $rpc:ident: $request:ident $body:tt => $read:expr;)+) => {
        vec![$($(
            $crate::dialect::dialect::<wire::$group::$version::rpc::$rpc, _>(
                || wire::$group::$version::$request $body,
                $read,
            )
        ),+),+]
    };
}

pub(crate) use dialects;
