//! Whether the server answers its clients, and the node the server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use program::http::{Page, Status};
use transport::{CallError, Channel, ChannelOptions, Code, Endpoint, Owner};

use crate::metrics::NodeKind;

/// How long an answer is valid: an earlier request gets the last one.
const FRESH: Duration = Duration::from_secs(1);

/// How long all endpoints together may take, and the look of each group.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A method of no service: the answer shows a served endpoint, and nothing was done.
const NOTHING: &str = "/wincsi.Health/Check";

/// The method by which a service checks the node's parts that its calls need. Services answer it to this process only,
/// for this page: it is in no table, no policy refuses it, and no log or metric has it.
pub(crate) const LOOK: &str = "/wincsi.Health/Look";

const STACK_BYTES: usize = 256 << 10;

/// Calls the endpoints as a client does.
pub(crate) struct Health {
    node: NodeKind,
    /// Each with the group of its version.
    endpoints: Vec<(&'static str, Endpoint)>,
    silent: Latest<Vec<String>>,
    troubled: Latest<Vec<(&'static str, Trouble)>>,
}

/// A group's trouble.
#[derive(Clone)]
enum Trouble {
    /// Its calls would work if the node were otherwise, as an operator may want it.
    Degraded(String),
    /// Its calls fail or are not answered.
    Unready(String),
}

impl Health {
    pub(crate) fn new(node: NodeKind, endpoints: Vec<(&'static str, Endpoint)>) -> Self {
        Self {
            node,
            endpoints,
            silent: Latest::default(),
            troubled: Latest::default(),
        }
    }

    /// `ok` and status 200 when every endpoint answers; the node served in both cases. Endpoints `taken` by other
    /// processes are not called. `more` are further lines for a verbose request.
    pub(crate) fn page(&self, taken: &[Endpoint], more: &[String]) -> Page {
        let silent = self.silent(taken);
        self.render(silent.is_empty(), &silent, more)
    }

    /// As [`Health::page`], and each group's look at the node.
    pub(crate) fn readiness_page(&self, taken: &[Endpoint]) -> Page {
        let silent = self.silent(taken);
        let troubled = self.troubled.get(|| self.look_at_groups(taken));
        let is_unready = |(_, trouble): &(_, Trouble)| matches!(trouble, Trouble::Unready(_));
        let is_good = silent.is_empty() && !troubled.iter().any(is_unready);
        let lines = troubled.iter().map(|(group, trouble)| match trouble {
            Trouble::Degraded(what) => format!("degraded: {group}: {what}"),
            Trouble::Unready(what) => format!("unready: {group}: {what}"),
        });
        self.render(is_good, &silent, &lines.collect::<Vec<_>>())
    }

    fn render(&self, is_good: bool, silent: &[String], lines: &[String]) -> Page {
        let (status, word) = match is_good {
            true => (Status::Ok, "ok"),
            false => (Status::Unavailable, "not ok"),
        };
        let mut body = format!(
            "{word}\nnode: {}\nendpoints: {} of {} answer\n",
            self.node.name(),
            self.endpoints.len() - silent.len(),
            self.endpoints.len()
        );
        for line in silent.iter().chain(lines) {
            // Writing to a String cannot fail.
            let _ = writeln!(body, "{line}");
        }
        Page::text(status, body)
    }

    fn silent(&self, taken: &[Endpoint]) -> Vec<String> {
        self.silent.get(|| {
            let deadline = Instant::now() + TIMEOUT;
            let asked = self.endpoints.iter().map(|(_, endpoint)| endpoint);
            let failures = asked.map(|endpoint| match taken.contains(endpoint) {
                true => Err(format!("{endpoint}: served by another process")),
                false => ask(endpoint, deadline),
            });
            failures.filter_map(Result::err).collect()
        })
    }

    /// All groups at once, so a hung one costs the others no time. A group is checked through any of its endpoints
    /// served here.
    fn look_at_groups(&self, taken: &[Endpoint]) -> Vec<(&'static str, Trouble)> {
        let groups = self
            .endpoints
            .iter()
            .filter(|(_, endpoint)| !taken.contains(endpoint))
            .map(|(group, endpoint)| (*group, endpoint));
        let groups: BTreeMap<_, _> = groups.collect();
        let deadline = Instant::now() + TIMEOUT;
        thread::scope(|scope| {
            let mut checks = Vec::new();
            for (group, endpoint) in groups {
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                let check = move || check_group(group, endpoint, deadline);
                checks.push((group, thread.spawn_scoped(scope, check)));
            }
            let seen = checks.into_iter().filter_map(|(group, thread)| {
                let seen = match thread.map(ScopedJoinHandle::join) {
                    Ok(Ok(seen)) => seen,
                    Ok(Err(_)) => Some(Trouble::Unready(String::from("the look panicked"))),
                    Err(error) => Some(Trouble::Unready(format!("no thread: {error}"))),
                };
                seen.map(|trouble| (group, trouble))
            });
            seen.collect()
        })
    }
}

/// Any status is an answer, even a busy server's.
fn ask(endpoint: &Endpoint, deadline: Instant) -> Result<(), String> {
    if deadline <= Instant::now() {
        return Err(format!("{endpoint}: not asked, the others took too long"));
    }
    match call(endpoint, NOTHING, deadline) {
        Ok(_) | Err(CallError::Status(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// The trouble of an endpoint's group, if any. Everybody who reaches the address can read the page, so a failure's
/// details about the node go to the log only.
fn check_group(group: &str, endpoint: &Endpoint, deadline: Instant) -> Option<Trouble> {
    let unready = match call(endpoint, LOOK, deadline) {
        Ok(lacks) if lacks.is_empty() => return None,
        Ok(lacks) => {
            let lacks = String::from_utf8_lossy(&lacks).into_owned();
            return Some(Trouble::Degraded(lacks));
        }
        Err(CallError::Deadline { .. }) => no_answer(),
        Err(CallError::Status(status)) => match status.code {
            Code::DeadlineExceeded => no_answer(),
            Code::Unknown => {
                tracing::warn!(group, "not ready: {}", status.message);
                String::from("fails, and the log says how")
            }
            _ => status.message,
        },
        Err(error) => error.to_string(),
    };
    Some(Trouble::Unready(unready))
}

fn no_answer() -> String {
    format!("no answer within {} s", TIMEOUT.as_secs())
}

/// The endpoint is this server's, under any account: others' are left out before.
fn call(endpoint: &Endpoint, method: &str, deadline: Instant) -> Result<Vec<u8>, CallError> {
    let mut options = ChannelOptions::default();
    options.owner = Owner::Any;
    options.connect_timeout = deadline.saturating_duration_since(Instant::now());
    let channel = Channel::connect(endpoint.clone(), options)?;
    channel.call(method, &[], deadline)
}

/// An answer, valid for a while.
#[derive(Default)]
struct Latest<T>(Mutex<Option<(Instant, T)>>);

impl<T: Clone> Latest<T> {
    /// One query at a time: others wait for it, and share its result.
    fn get(&self, look: impl FnOnce() -> T) -> T {
        let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, seen)) = &*latest
            && at.elapsed() < FRESH
        {
            return seen.clone();
        }
        let seen = look();
        *latest = Some((Instant::now(), seen.clone()));
        seen
    }
}
