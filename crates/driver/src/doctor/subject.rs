//! What a look may ask, and what became of its questions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use std::{fmt, fs, io, thread};

use transport::Endpoint;
use wincsi::iscsi::{Portal, SessionInfo};
use wincsi::{
    Cause, Code, Condition, Deadline, Error, Feature, NodeApi, Unreachable, Win32, WinPath,
};

use super::aside::Aside;
use super::notes::{Doubt, Notes, Provider};
use super::table::{CHECKS, Check};
use crate::kinds::share::Mappings;
use crate::record::{Content, Form, Peeked, Record, State, Store};
use crate::unpoisoned::Unpoisoned;

/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How long one check may take, of many questions.
const CHECK: Duration = Duration::from_secs(10);

/// How long all may take.
pub(super) const ALL: Duration = Duration::from_secs(20);

/// How many ports are dialled at a time.
const ABREAST: usize = 16;

/// `WSAHOST_NOT_FOUND`
/// (<https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2>, also of those below).
const NO_SUCH_HOST: u32 = 11001;

/// The codes of a port that takes no connection: of network and host that are down or out of reach (`WSAENETDOWN`,
/// `WSAENETUNREACH`, `WSAEHOSTDOWN`, `WSAEHOSTUNREACH`), `WSAETIMEDOUT`, `WSAECONNREFUSED`, and of names without address.
/// Others are of this node, which has no socket to spare or may not dial.
const AWAY: [u32; 8] = [
    10050,
    10051,
    TIMED_OUT,
    10061,
    10064,
    10065,
    NO_SUCH_HOST,
    11004,
];
const TIMED_OUT: u32 = 10060;

/// The driver of this node, as who looks knows it.
pub(super) enum Driver {
    /// It looks itself. Whether kubelet has registered it, or why not; `None` leaves that to a sidecar.
    Own(Option<Result<(), String>>),
    /// No driver has the socket, and why that is known.
    Absent(String),
    /// There may be one, which was not asked or did not answer, and why.
    Unknown(String),
    /// One answers that has no such RPC.
    Older,
}

/// Where a look finds what is not the node's.
pub(super) struct Site {
    /// Kubelet's folder, as the node knows it.
    pub(super) kubelet: Option<WinPath>,
    /// Where this driver registers itself, if it does.
    pub(super) registry: Option<Endpoint>,
    /// The folder of the records; `None` has none.
    pub(super) records: Option<PathBuf>,
    pub(super) forms: Vec<Form>,
    /// What reads files of this process's own.
    pub(super) aside: Aside,
}

/// A node that is looked at.
pub(super) struct Subject<'a> {
    pub(super) node: Result<&'a dyn NodeApi, String>,
    pub(super) driver: Driver,
    pub(super) site: &'a Site,
    until: Option<Deadline>,
    /// Of the check that looks.
    until_of_check: Unpoisoned<Option<Deadline>>,
    hung: Unpoisoned<BTreeSet<Provider>>,
    peeked: OnceLock<Result<Peeked, Doubt>>,
    boot: OnceLock<Result<String, Doubt>>,
    mappings: OnceLock<Result<Mappings, Doubt>>,
    sessions: OnceLock<Result<Vec<SessionInfo>, Doubt>>,
    portals: OnceLock<Result<Answers, Doubt>>,
}

/// Why each port took no connection; `None` of one that did.
type Answers = BTreeMap<String, Result<Option<NoConnection>, Doubt>>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoConnection {
    pub(super) why: String,
    /// Whether it may only be slow.
    pub(super) is_late: bool,
}

impl<'a> Subject<'a> {
    /// The time for all questions begins.
    pub(super) fn new(
        node: Result<&'a dyn NodeApi, String>,
        driver: Driver,
        site: &'a Site,
    ) -> Self {
        Self {
            until: node.as_ref().ok().map(|node| node.deadline(ALL)),
            node,
            driver,
            site,
            until_of_check: Unpoisoned::default(),
            hung: Unpoisoned::default(),
            peeked: OnceLock::new(),
            boot: OnceLock::new(),
            mappings: OnceLock::new(),
            sessions: OnceLock::new(),
            portals: OnceLock::new(),
        }
    }

    /// Runs all checks.
    pub(super) fn look(&self) -> Vec<(&'static Check, Notes)> {
        let looks = CHECKS.iter().map(|check| {
            let mut notes = Notes::default();
            let node = self.node.as_ref().ok();
            *self.until_of_check.lock() = node.map(|node| node.deadline(CHECK));
            (check.look)(self, &mut notes);
            *self.until_of_check.lock() = None;
            (check, notes)
        });
        looks.collect()
    }

    /// When the time of the check, or of all, is over.
    fn until(&self) -> Option<Deadline> {
        let of_check = *self.until_of_check.lock();
        self.until.into_iter().chain(of_check).min()
    }

    /// The files of records as they are now. No lock of theirs is taken: a call may have one while its disk hangs.
    pub(super) fn peeked(&self) -> Result<&Peeked, Doubt> {
        let peek = || match self.site.records.clone() {
            Some(folder) => {
                let forms = self.site.forms.clone();
                let peeked = self.ask_aside(move || Store::peek(&folder, &forms))?;
                peeked.map_err(|error| Doubt::Unasked(error.to_string()))
            }
            None => Ok(Peeked::default()),
        };
        let peeked = self.peeked.get_or_init(peek);
        peeked.as_ref().map_err(Clone::clone)
    }

    /// Those of a kind; none if the files are not read, which is for one check to note.
    pub(super) fn records_of<C: Content>(&self) -> impl Iterator<Item = Record<C>> {
        let peeked = self.peeked().ok().into_iter();
        let records = peeked.flat_map(|peeked| &peeked.records);
        records.cloned().filter_map(Record::of)
    }

    /// As [`Self::records_of`], all of them for certain: by whom something is not used is known from nothing less.
    pub(super) fn all_of<C: Content>(&self) -> Result<Vec<Record<C>>, Doubt> {
        let is_whole = self.peeked()?.unreadable.is_empty();
        match (&self.driver, is_whole) {
            (Driver::Own(_), true) => Ok(self.records_of().collect()),
            (Driver::Own(_), false) => Err(Doubt::Unasked("not each record is read".to_owned())),
            _ => {
                let text = "the running driver alone is certain of its records";
                Err(Doubt::Lacking(text.to_owned()))
            }
        }
    }

    /// Those that are staged, in this boot as far as it is known.
    pub(super) fn staged<C: Content>(&self) -> impl Iterator<Item = Record<C>> {
        let is_staged = |record: &Record<C>| {
            record.state == State::Staged && record.is_of_boot(self.boot().ok().as_deref())
        };
        self.records_of().filter(is_staged)
    }

    /// Those that are staged in this boot for certain. What an earlier boot had waits for kubelet.
    pub(super) fn staged_in_this_boot<C: Content>(&self, notes: &mut Notes) -> Vec<Record<C>> {
        let mut staged = Vec::from_iter(self.staged::<C>());
        staged.retain(|record| {
            let known = self.boot().and_then(|_| match record.boot {
                Some(_) => Ok(()),
                None => Err(Doubt::Unasked(format!(
                    "in which boot volume {} was staged is not known",
                    record.volume
                ))),
            });
            notes.seen(known).is_some()
        });
        staged
    }

    /// Windows has a key of the registry made for it, which a driver that staged a volume has made.
    pub(super) fn boot(&self) -> Result<String, Doubt> {
        let ask = || {
            let boot = self.ask(Provider::System, |node, until| node.system().boot_id(until));
            boot.map(|boot| boot.0)
        };
        self.boot.get_or_init(ask).clone()
    }

    /// Asks a part of the node, unless it hangs.
    pub(super) fn ask<T>(
        &self,
        provider: Provider,
        how: impl FnOnce(&dyn NodeApi, Deadline) -> Result<T, Error>,
    ) -> Result<T, Doubt> {
        let node = self.node()?;
        let provider = match node.supports(Feature::MappingList) {
            true => provider,
            false => Provider::Proxy,
        };
        if self.hung.lock().contains(&provider) {
            return Err(Doubt::Hangs(provider));
        }
        self.answer(node, || self.hangs(provider), how)
    }

    /// Asks of one object, whose silence says nothing of others.
    pub(super) fn ask_of<T>(
        &self,
        object: impl fmt::Display,
        how: impl FnOnce(&dyn NodeApi, Deadline) -> Result<T, Error>,
    ) -> Result<T, Doubt> {
        let silent = || Doubt::Unasked(format!("{object} does not answer in time"));
        self.answer(self.node()?, silent, how)
    }

    fn answer<T>(
        &self,
        node: &dyn NodeApi,
        hangs: impl Fn() -> Doubt,
        how: impl FnOnce(&dyn NodeApi, Deadline) -> Result<T, Error>,
    ) -> Result<T, Doubt> {
        let limit = self.limit(node)?;
        how(node, limit.deadline).map_err(|error| match error.cause {
            Cause::Deadline if limit.is_short => Doubt::NoTime,
            Cause::Deadline => hangs(),
            _ if error.is(Condition::NotAnswering) => hangs(),
            Cause::Unsupported { .. } => Doubt::Lacking(error.to_string()),
            _ if is_unasked(&error) => Doubt::Unasked(crate::words::of(&error)),
            _ => Doubt::Failed(crate::words::of(&error)),
        })
    }

    fn node(&self) -> Result<&'a dyn NodeApi, Doubt> {
        let node = self.node.as_ref();
        node.copied().map_err(|why| Doubt::Unasked(why.clone()))
    }

    fn hangs(&self, provider: Provider) -> Doubt {
        self.hung.lock().insert(provider);
        Doubt::Hangs(provider)
    }

    pub(super) fn hung(&self) -> BTreeSet<Provider> {
        self.hung.lock().clone()
    }

    /// For one question, if there is time for one.
    fn limit(&self, node: &dyn NodeApi) -> Result<Limit, Doubt> {
        let (now, own) = (node.deadline(Duration::ZERO), node.deadline(ANSWER));
        let deadline = self.until().map_or(own, |until| own.min(until));
        match deadline <= now {
            true => Err(Doubt::NoTime),
            false => Ok(Limit {
                deadline,
                is_short: deadline < own,
            }),
        }
    }

    /// The node's mappings, asked for once.
    pub(super) fn mappings(&self) -> Result<&Mappings, Doubt> {
        let ask = || {
            self.require(Feature::MappingList)?;
            let mappings = self.ask(Provider::Shares, |node, until| node.smb().mappings(until));
            mappings.map(Mappings::listed)
        };
        let mappings = self.mappings.get_or_init(ask);
        mappings.as_ref().map_err(Clone::clone)
    }

    /// The initiator's sessions, asked for once. Without its service it says that it does not run.
    pub(super) fn sessions(&self) -> Result<&[SessionInfo], Doubt> {
        let ask = || {
            self.require(Feature::SessionList)?;
            self.ask(Provider::Initiator, |node, until| {
                node.iscsi().sessions(until)
            })
        };
        let sessions = self.sessions.get_or_init(ask);
        sessions.as_deref().map_err(Clone::clone)
    }

    pub(super) fn require(&self, feature: Feature) -> Result<(), Doubt> {
        match &self.node {
            Ok(node) if !node.supports(feature) => {
                let text = format!("csi-proxy's pipes have no such view ({feature})");
                Err(Doubt::Lacking(text))
            }
            _ => Ok(()),
        }
    }

    /// As [`Self::dial`], of portals, once.
    pub(super) fn dial_portals(
        &self,
        portals: impl FnOnce() -> Vec<Portal>,
    ) -> Result<&Answers, Doubt> {
        let answers = self.portals.get_or_init(|| self.dial(portals()));
        answers.as_ref().map_err(Clone::clone)
    }

    /// Dials these ports, several at once, and hangs up.
    pub(super) fn dial(&self, ports: Vec<Portal>) -> Result<Answers, Doubt> {
        self.require(Feature::PortalProbe)?;
        let node = self.node()?;
        let (answers, threads) = (Unpoisoned::<Answers>::default(), ports.len().min(ABREAST));
        let ports = Unpoisoned::new(ports.into_iter());
        let next = || ports.lock().next();
        let work = || {
            while let Some(port) = next() {
                let answer = self.limit(node).and_then(|limit| {
                    let probed = node.iscsi().probe(&port, limit.deadline);
                    limit.why_away(probed)
                });
                answers.lock().insert(port.to_string(), answer);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // With fewer threads it takes longer.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        Ok(answers.into_inner())
    }

    /// Whether a folder of this process's own is there; not asked of the node.
    pub(super) fn is_folder(&self, folder: PathBuf) -> Result<bool, Doubt> {
        match self.ask_aside(move || fs::metadata(folder))? {
            Ok(found) => Ok(found.is_dir()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Doubt::Unasked(error.to_string())),
        }
    }

    pub(super) fn ask_aside<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Doubt> {
        let until = self.node.as_ref().ok().zip(self.until());
        let left = until.map(|(node, until)| node.deadline(Duration::ZERO).0.until(until.0));
        let limit = left.map_or(ANSWER, |left| left.min(ANSWER));
        self.site
            .aside
            .ask(limit, read)
            .map_err(|doubt| match doubt {
                Doubt::Hangs(_) if limit < ANSWER => Doubt::NoTime,
                Doubt::Hangs(provider) => self.hangs(provider),
                other => other,
            })
    }
}

/// How long a question may take, and whether that is less than it should have.
struct Limit {
    deadline: Deadline,
    is_short: bool,
}

impl Limit {
    /// Why a port takes no connection, if that is known.
    fn why_away(&self, probed: Result<(), Error>) -> Result<Option<NoConnection>, Doubt> {
        let Err(error) = probed else {
            return Ok(None);
        };
        let is_late = error.cause == Cause::Deadline || is_win32(&error, &[TIMED_OUT]);
        if is_late && self.is_short {
            Err(Doubt::NoTime)
        } else if is_late {
            let why = "no answer (name and port together, 3 s)".to_owned();
            Ok(Some(NoConnection { why, is_late }))
        } else if is_win32(&error, &AWAY) {
            let why = match is_win32(&error, &[NO_SUCH_HOST]) {
                true => "its name has no address here".to_owned(),
                false => error.cause.to_string(),
            };
            Ok(Some(NoConnection { why, is_late }))
        } else {
            Err(Doubt::Unasked(crate::words::of(&error)))
        }
    }
}

fn is_win32(error: &Error, codes: &[u32]) -> bool {
    matches!(error.code(), Some(Code::Win32(Win32(code))) if codes.contains(&code))
}

/// Whether a failure says nothing of the node: the account may not ask, or there was no thread or no turn.
fn is_unasked(error: &Error) -> bool {
    let may_not = matches!(
        error.cause,
        Cause::Refused { .. }
            | Cause::Unreachable {
                reason: Unreachable::AccessDenied,
                ..
            }
    );
    let other = error.is(Condition::Other) && error.code().is_none();
    may_not || other || error.is(Condition::AccessDenied) || error.is(Condition::Crowded)
}

#[cfg(test)]
mod tests;
