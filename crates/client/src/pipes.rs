//! The pipes of one group: which versions there are, and calls that survive a restart of the proxy.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use node::api::Cause;
use transport::{CallError, Channel, ChannelOptions, Endpoint, EndpointError};
use wire::{Group, Version};

use crate::dialect::{Dialect, Line};
use crate::failure::{self, PipeError, Remedy};
use crate::{ConditionSource, Options};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Where a group and version is served.
pub(crate) type Endpoints = dyn Fn(&Group) -> Result<Endpoint, EndpointError> + Send + Sync;

/// The pipes of one group.
pub(crate) struct Pipes {
    group: &'static str,
    known: Mutex<Known>,
}

/// Everything that a call needs beside its dialects.
pub(crate) struct Asking<'a> {
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) options: &'a Options,
    pub(crate) deadline: Instant,
    pub(crate) effect: Effect,
    /// The caller's arguments, as texts.
    pub(crate) about: &'a [String],
}

/// Whether a call may be made once more when it is not known how far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It changes something.
    Changes,
    /// It only looks.
    None,
}

/// The known state of the proxy that was last reached.
#[derive(Default)]
struct Known {
    open: BTreeMap<Version, Channel>,
    /// Versions without a pipe, and since when that is known.
    absent: BTreeMap<Version, Instant>,
    /// Methods that their version does not serve.
    unserved: BTreeMap<&'static str, Instant>,
    /// Whether the proxy was ever there: then it may come back.
    was_reached: bool,
}

/// How long a call has waited for the proxy to come back.
struct Pauses {
    next: Duration,
    end: Instant,
}

impl Pipes {
    pub(crate) fn new(group: &'static str) -> Self {
        Self {
            group,
            known: Mutex::default(),
        }
    }

    /// Asks the newest version that has the operation.
    pub(crate) fn ask<T>(
        &self,
        asking: &Asking<'_>,
        dialects: &[Dialect<'_, T>],
    ) -> Result<T, Cause> {
        let mut pauses = Pauses::new(asking);
        let mut may_repeat = asking.effect == Effect::None;
        loop {
            if asking.deadline <= Instant::now() {
                return Err(Cause::Deadline);
            }
            let fault = match self.ask_once(asking, dialects) {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            match fault.remedy(asking.about) {
                Remedy::AskOlder(text) => return Err(Cause::Unimplemented { text }),
                Remedy::GiveUp(cause) => return Err(cause),
                Remedy::Repeat(_) if may_repeat => may_repeat = false,
                Remedy::Repeat(cause) => {
                    self.forget();
                    return Err(cause);
                }
                Remedy::Wait(cause) => {
                    if !self.known().was_reached || !pauses.pause() {
                        return Err(cause);
                    }
                }
            }
            self.forget();
        }
    }

    /// Goes through the versions, until one does not say that it lacks the method.
    fn ask_once<T>(
        &self,
        asking: &Asking<'_>,
        dialects: &[Dialect<'_, T>],
    ) -> Result<T, PipeError> {
        let mut refusal = None;
        for dialect in dialects {
            if self.known().lacks(dialect.path, asking.options) {
                continue;
            }
            let Some(channel) = self.channel(asking, dialect.group)? else {
                continue;
            };
            let line = Line {
                channel: &channel,
                deadline: asking.deadline,
            };
            match dialect.speak(&line) {
                Err(PipeError::Call(CallError::Status(status)))
                    if status.code == transport::Code::Unimplemented =>
                {
                    self.known().unserved.insert(dialect.path, Instant::now());
                    refusal = Some(status);
                }
                outcome => return outcome,
            }
        }
        match refusal {
            Some(status) => Err(CallError::Status(status).into()),
            None => Err(self.nobody(asking, dialects)?),
        }
    }

    /// Why no version that has the operation answered.
    fn nobody<T>(
        &self,
        asking: &Asking<'_>,
        dialects: &[Dialect<'_, T>],
    ) -> Result<PipeError, PipeError> {
        let oldest = dialects.last();
        let groups = || wire::GROUPS.iter().filter(|one| one.name == self.group);
        for group in groups().rev() {
            if self.channel(asking, group)?.is_none() {
                continue;
            }
            let found = group.version;
            if self.has_come(asking, dialects, found) {
                break;
            }
            return Ok(PipeError::Final(match oldest {
                Some(oldest) if found < oldest.group.version => oldest.missing(found),
                _ => Cause::Unimplemented {
                    text: format!("{group} does not serve it"),
                },
            }));
        }
        let newest = groups().next_back();
        let endpoint = newest.map(|group| (asking.endpoints)(group)).transpose();
        Ok(match endpoint.map_err(invalid)? {
            Some(endpoint) => PipeError::Call(CallError::Connect {
                endpoint,
                source: std::io::ErrorKind::NotFound.into(),
            }),
            None => PipeError::Final(Cause::Unimplemented {
                text: format!("there is no group {}", self.group),
            }),
        })
    }

    /// Whether a version that was away when it was tried is there now, and not known to lack the
    /// operation: the proxy came meanwhile.
    fn has_come<T>(
        &self,
        asking: &Asking<'_>,
        dialects: &[Dialect<'_, T>],
        found: Version,
    ) -> bool {
        let mut spoken = dialects
            .iter()
            .filter(|dialect| dialect.group.version == found);
        spoken.any(|dialect| !self.known().lacks(dialect.path, asking.options))
    }

    /// The connection to a version; `None` when the proxy does not have it.
    fn channel(&self, asking: &Asking<'_>, group: &Group) -> Result<Option<Channel>, PipeError> {
        if let Some(known) = self.known().channel(group.version, asking.options) {
            return Ok(known);
        }
        // Nothing is locked meanwhile: a busy pipe delays only those who want it.
        let endpoint = (asking.endpoints)(group).map_err(invalid)?;
        match Channel::connect(endpoint, asking.channel_options()) {
            Ok(channel) => {
                tracing::debug!(%group, "connected to csi-proxy");
                self.known().opened(group.version, channel.clone());
                Ok(Some(channel))
            }
            Err(CallError::Connect { source, .. }) if failure::is_absent(&source) => {
                self.known().absent.insert(group.version, Instant::now());
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The proxy that comes back may be another one.
    fn forget(&self) {
        let mut known = self.known();
        *known = Known {
            was_reached: known.was_reached,
            ..Known::default()
        };
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking<'_> {
    fn channel_options(&self) -> ChannelOptions {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut options = ChannelOptions::default();
        options.connect_timeout = self.options.connect_timeout.min(left);
        options.owner = self.options.owner;
        options.metadata = Some((wire::FORMAT_GUARD, wire::STRICT));
        options.trailer = match self.options.conditions {
            ConditionSource::Server => Some(wire::CONDITION),
            ConditionSource::Texts => None,
        };
        options
    }
}

impl Known {
    /// The known state of a version: its connection, that it is absent, or nothing.
    fn channel(&self, version: Version, options: &Options) -> Option<Option<Channel>> {
        if let Some(channel) = self.open.get(&version) {
            return Some(Some(channel.clone()));
        }
        let since = self.absent.get(&version)?;
        (since.elapsed() < options.look_again).then_some(None)
    }

    fn opened(&mut self, version: Version, channel: Channel) {
        self.absent.remove(&version);
        self.open.insert(version, channel);
        self.was_reached = true;
    }

    fn lacks(&self, method: &str, options: &Options) -> bool {
        let since = self.unserved.get(method);
        since.is_some_and(|since| since.elapsed() < options.look_again)
    }
}

impl Pauses {
    fn new(asking: &Asking<'_>) -> Self {
        let patience = Instant::now() + asking.options.patience;
        Self {
            next: FIRST_PAUSE,
            end: patience.min(asking.deadline),
        }
    }

    /// Lets some time pass, twice as much each time; false when there is none left.
    fn pause(&mut self) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        thread::sleep(self.next.min(left));
        self.next = (self.next * 2).min(LONGEST_PAUSE);
        Instant::now() < self.end
    }
}

fn invalid(error: EndpointError) -> PipeError {
    PipeError::Final(Cause::InvalidArgument(error.to_string()))
}
