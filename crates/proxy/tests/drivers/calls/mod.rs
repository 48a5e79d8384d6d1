//! The calls of drivers as their Go clients put them on the wire, in their versions.

mod disk;
mod filesystem;
mod lifeline;
mod smb;
mod volume;

use std::fmt;
use std::time::Duration;

use client::{Client, ClientCause};
use transport::{CallError, Code};
use wire::Rpc;

pub(crate) use disk::{DiskIds, State};
pub(crate) use filesystem::Force;
pub(crate) use lifeline::{Fate, Lifeline};
pub(crate) use volume::Stats;

use super::fixture::NodeFixture;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The error of a killed driver.
pub(crate) const KILLED: &str = "the driver was killed";

/// The versions of a driver's pipes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// v1 of every group.
    V1,
    /// filesystem v1beta1, smb v1beta1, disk v1beta2; the volume group in the named version.
    Fallback(OldVolume),
}

/// A driver's fallback version of the volume group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OldVolume {
    V1Beta1,
    V1Beta2,
}

pub(crate) struct Pipes {
    driver: &'static str,
    api: Api,
    client: Client,
    pub(crate) lifeline: Lifeline,
}

/// The result of a driver's step.
pub(crate) type Answer<T> = Result<T, StepFailure>;

/// A failed step.
pub(crate) struct StepFailure {
    driver: &'static str,
    mode: String,
    call: String,
    pub(crate) text: String,
}

impl StepFailure {
    pub(crate) fn new(
        driver: &'static str,
        mode: impl fmt::Debug,
        call: &str,
        text: impl fmt::Display,
    ) -> Self {
        Self {
            driver,
            mode: format!("{mode:?}"),
            call: call.to_owned(),
            text: text.to_string(),
        }
    }
}

/// Tests show it when they fail.
impl fmt::Debug for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            driver,
            mode,
            call,
            text,
        } = self;
        write!(f, "{driver} ({mode}), {call}: {text}")
    }
}

impl Pipes {
    pub(crate) fn new(driver: &'static str, api: Api, fixture: &NodeFixture) -> Self {
        Self {
            driver,
            api,
            client: fixture.client(),
            lifeline: Lifeline::default(),
        }
    }

    /// New clients of the same process.
    pub(crate) fn reopened(&self, fixture: &NodeFixture) -> Self {
        Self {
            client: fixture.client(),
            lifeline: self.lifeline.clone(),
            ..*self
        }
    }

    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Answer<R::Response> {
        let killed = || Err(self.failure(R::PATH, KILLED));
        let fate = self.lifeline.spend();
        if fate == Fate::Dead {
            return killed();
        }
        let answer = self.answer::<R>(request);
        if fate == Fate::Dying {
            return killed();
        }
        answer
    }

    fn answer<R: Rpc>(&self, request: &R::Request) -> Answer<R::Response> {
        let fail = |text: String| self.failure(R::PATH, text);
        match self.client.call::<R>(request, TIMEOUT) {
            Ok(answer) => Ok(answer),
            Err(error) => match error.cause {
                ClientCause::Call(CallError::Status(status)) if status.code == Code::Unknown => {
                    Err(fail(status.message))
                }
                other => panic!("{:?}", fail(other.to_string())),
            },
        }
    }

    /// A failure of the driver itself.
    pub(crate) fn failure(&self, call: &str, text: impl fmt::Display) -> StepFailure {
        StepFailure::new(self.driver, self.api, call, text)
    }
}

/// Makes one RPC of one version of a group: `ask!(pipes, disk::v1::Rescan(RescanRequest {}))`.
macro_rules! ask {
    (@ $field:ident) => { $field.into() };
    (@ $field:ident $value:expr) => { $value.into() };
    ($pipes:ident, $group:ident :: $version:ident :: $rpc:ident
        ($request:ident { $($field:ident $(: $value:expr)?),* $(,)? })) => {
        $pipes.call::<wire::$group::$version::rpc::$rpc>(
            &wire::$group::$version::$request { $($field: ask!(@ $field $($value)?)),* },
        )?
    };
}
use ask;
