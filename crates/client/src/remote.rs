//! The handle: a node whose operations csi-proxy does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{fmt, thread};

use node::api::sealed::{Rescans, Sealed};
use node::api::{
    Cause, Disks, Error, Feature, Filesystem, Iscsi, NodeApi, Result, Smb, System, Volumes,
};
use os::{Clock, Deadline, Moment};
use transport::{Endpoint, EndpointError, Owner};
use wire::Group;

use crate::dialect::Dialect;
use crate::pipes::{Asking, Effect, Endpoints, Pipes};

/// Replaces a deadline beyond all times that the system can express.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The node whose csi-proxy answers at the pipes. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Node(Arc<Shared>);

/// How a [`Node`] treats its pipes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where conditions come from. The default is the server's word where it sends one.
    pub conditions: ConditionSource,
    /// How long opening a pipe may take that is busy. The default, 2 s, is that of csi-proxy's Go
    /// client.
    pub connect_timeout: Duration,
    /// After what time a newer version, or a method, that was not there is looked for again. The
    /// default is 10 s.
    pub look_again: Duration,
    /// Whose pipes are called. The default is LocalSystem's and Administrators', since other processes may take
    /// the names while csi-proxy does not run; [`Owner::Any`] is for a proxy that runs as another account.
    pub owner: Owner,
    /// How long a call waits for a proxy that was there to come back, when its deadline leaves it that
    /// long. The default is 5 s.
    pub patience: Duration,
}

/// Where the [`Condition`](node::api::Condition) of a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConditionSource {
    /// The server says it ([`wire::CONDITION`]), as ours does; where it does not, its texts are recognised.
    Server,
    /// Only the texts, as the Go server reports errors, for tests of it.
    Texts,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            conditions: ConditionSource::Server,
            connect_timeout: Duration::from_secs(2),
            look_again: Duration::from_secs(10),
            owner: Owner::Administrators,
            patience: Duration::from_secs(5),
        }
    }
}

struct Shared {
    clock: Arc<SinceMade>,
    endpoints: Box<Endpoints>,
    options: Options,
    /// By the group's name.
    pipes: BTreeMap<&'static str, Pipes>,
    rescans: Rescans,
}

/// The time of a node, which begins when its handle is made.
struct SinceMade(Instant);

impl Clock for SinceMade {
    fn now(&self) -> Moment {
        Moment(self.0.elapsed())
    }

    fn wall(&self) -> Duration {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        since_epoch.unwrap_or_default()
    }

    fn sleep(&self, duration: Duration) {
        thread::sleep(duration);
    }
}

impl Node {
    /// The Windows node that this runs on, whose csi-proxy serves the named pipes. Nothing is connected before it
    /// is needed.
    #[must_use]
    pub fn pipes() -> Self {
        let pipe = |group: &Group| Endpoint::pipe(&group.pipe_name());
        Self::at(pipe, Options::default())
    }

    /// The node whose csi-proxy serves sockets in this folder, as ours does with `-listen=FOLDER` where it
    /// simulates a node on another system than Windows. Nothing is connected before it is needed.
    pub fn sockets(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let socket = move |group: &Group| {
            let file = format!("{}.sock", group.pipe_name());
            Ok(Endpoint::socket(folder.join(file)))
        };
        Self::at(socket, Options::default())
    }

    /// The node whose proxy serves each group and version at the path from `endpoints`.
    pub fn at(
        endpoints: impl Fn(&Group) -> std::result::Result<Endpoint, EndpointError>
        + Send
        + Sync
        + 'static,
        options: Options,
    ) -> Self {
        let names = wire::GROUPS.iter().map(|group| group.name);
        let clock = Arc::new(SinceMade(Instant::now()));
        Self(Arc::new(Shared {
            rescans: Rescans::new(Arc::clone(&clock) as Arc<dyn Clock>),
            clock,
            endpoints: Box::new(endpoints),
            options,
            pipes: names.map(|name| (name, Pipes::new(name))).collect(),
        }))
    }

    /// Asks for an operation that only looks.
    pub(crate) fn look<T>(
        &self,
        name: &'static str,
        about: &[&dyn fmt::Display],
        deadline: Deadline,
        dialects: &[Dialect<'_, T>],
    ) -> Result<T> {
        let asked = self.ask(Effect::None, about, deadline, dialects);
        asked.map_err(|cause| Error::new(name, Names(about), cause))
    }

    /// Asks for an operation that changes something.
    pub(crate) fn change<T>(
        &self,
        name: &'static str,
        about: &[&dyn fmt::Display],
        deadline: Deadline,
        dialects: &[Dialect<'_, T>],
    ) -> Result<T> {
        let asked = self.ask(Effect::Changes, about, deadline, dialects);
        asked.map_err(|cause| Error::new(name, Names(about), cause))
    }

    fn ask<T>(
        &self,
        effect: Effect,
        about: &[&dyn fmt::Display],
        deadline: Deadline,
        dialects: &[Dialect<'_, T>],
    ) -> std::result::Result<T, Cause> {
        let about: Vec<_> = about.iter().map(ToString::to_string).collect();
        let asking = Asking {
            endpoints: &*self.0.endpoints,
            options: &self.0.options,
            deadline: self.instant(deadline),
            effect,
            about: &about,
        };
        let group = dialects.first().map_or("", |dialect| dialect.group.name);
        match self.0.pipes.get(group) {
            Some(pipes) => pipes.ask(&asking, dialects),
            None => Err(Cause::Unimplemented {
                text: "no version of csi-proxy has it".to_owned(),
            }),
        }
    }

    /// The rescans that calls through this handle and its clones share.
    pub(crate) fn rescans(&self) -> &Rescans {
        &self.0.rescans
    }

    fn instant(&self, deadline: Deadline) -> Instant {
        let Deadline(Moment(since_beginning)) = deadline;
        let latest = Instant::now() + LONGEST;
        let exact = self.0.clock.0.checked_add(since_beginning);
        exact.map_or(latest, |exact| exact.min(latest))
    }
}

/// The objects of an operation, in one line.
struct Names<'a>(&'a [&'a dyn fmt::Display]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let gap = if index > 0 { " " } else { "" };
            write!(f, "{gap}{name}")?;
        }
        Ok(())
    }
}

impl Sealed for Node {}

impl NodeApi for Node {
    fn deadline(&self, within: Duration) -> Deadline {
        Deadline::within(&*self.0.clock, within)
    }

    fn disks(&self) -> &dyn Disks {
        self
    }

    fn filesystem(&self) -> &dyn Filesystem {
        self
    }

    fn iscsi(&self) -> &dyn Iscsi {
        self
    }

    fn smb(&self) -> &dyn Smb {
        self
    }

    fn supports(&self, _feature: Feature) -> bool {
        false
    }

    fn system(&self) -> &dyn System {
        self
    }

    fn volumes(&self) -> &dyn Volumes {
        self
    }
}
