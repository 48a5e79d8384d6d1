//! What a look may ask, and what became of its questions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use transport::Endpoint;
use wincsi::iscsi::Portal;
use wincsi::smb::ShareMapping;
use wincsi::{Cause, Code, Condition, Deadline, Error, Feature, NodeApi, Win32, WinPath};

use super::report::{Finding, Report, Unseen, Way};
use super::table::{CHECKS, Check};
use crate::kinds::block::Disk;
use crate::kinds::iscsi::Target;
use crate::kinds::share::Share;
use crate::record::{Content, Record, State, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How long all may take.
pub(super) const ALL: Duration = Duration::from_secs(25);

/// How many volumes a finding names.
const MOST_NAMED: usize = 8;

/// How many ports are dialled at a time.
const ABREAST: usize = 16;

/// `WSAHOST_NOT_FOUND` (<https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2>).
const NO_SUCH_HOST: Code = Code::Win32(Win32(11001));

/// A part of the node that answers for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Provider {
    Files,
    Initiator,
    Services,
    Shares,
    System,
    Threads,
}

impl Provider {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Files => "the filesystem of the node's disk",
            Self::Initiator => "Windows's iSCSI provider",
            Self::Services => "Windows's service control manager",
            Self::Shares => "Windows's SMB provider",
            Self::System => "Windows's registry",
            Self::Threads => "a folder of the driver",
        }
    }
}

/// The driver of this node, as who looks knows it.
pub(super) enum Driver {
    /// It looks itself. Whether kubelet has registered it, or why not; `None` leaves that to a sidecar.
    Own(Option<Result<(), String>>),
    /// No driver answers, and why.
    Absent(String),
    /// One answers that has no such RPC.
    Older,
}

/// A node that is looked at.
pub(super) struct Subject<'a> {
    pub(super) node: Result<&'a dyn NodeApi, String>,
    pub(super) driver: Driver,
    /// Kubelet's folder, as the node knows it.
    pub(super) kubelet: Option<WinPath>,
    pub(super) registry: Endpoint,
    pub(super) boot: Option<String>,
    pub(super) records: Vec<Record>,
    pub(super) unreadable: Vec<String>,
    until: Option<Deadline>,
    hung: Unpoisoned<BTreeSet<Provider>>,
    mappings: OnceLock<Result<Vec<ShareMapping>, Doubt>>,
    portals: OnceLock<Result<Answers, Doubt>>,
}

/// Why each port took no connection; `None` of one that did.
type Answers = BTreeMap<String, Option<String>>;

/// Why a question has no answer.
#[derive(Clone, Debug)]
pub(super) enum Doubt {
    /// The host has no such view.
    Lacking(String),
    Failed(String),
    /// It was asked before, and did not answer in time.
    Hangs(Provider),
}

/// What a check notes.
#[derive(Default)]
pub(super) struct Notes {
    found: Vec<Found>,
    unseen: Vec<Doubt>,
}

/// What the checks noted.
pub(super) struct Looked(Vec<(&'static Check, Notes)>);

struct Found {
    object: String,
    text: String,
    volumes: BTreeSet<VolumeHandle>,
}

impl Notes {
    /// Something of an object is not as it should be; these volumes need it.
    pub(super) fn found(
        &mut self,
        object: &str,
        text: String,
        volumes: impl IntoIterator<Item = VolumeHandle>,
    ) {
        let mut all = self.found.iter_mut();
        let known = all.find(|one| one.object == object && one.text == text);
        match known {
            Some(known) => known.volumes.extend(volumes),
            None => self.found.push(Found {
                object: object.to_owned(),
                text,
                volumes: volumes.into_iter().collect(),
            }),
        }
    }

    pub(super) fn unseen(&mut self, doubt: Doubt) {
        self.unseen.push(doubt);
    }

    /// An answer, if there is one.
    pub(super) fn seen<T>(&mut self, answer: Result<T, Doubt>) -> Option<T> {
        answer.map_err(|doubt| self.unseen(doubt)).ok()
    }
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        node: Result<&'a dyn NodeApi, String>,
        driver: Driver,
        kubelet: Option<WinPath>,
        registry: Endpoint,
        (records, unreadable): (Vec<Record>, Vec<String>),
    ) -> Self {
        Self {
            until: node.as_ref().ok().map(|node| node.deadline(ALL)),
            node,
            driver,
            kubelet,
            registry,
            boot: None,
            records,
            unreadable,
            hung: Unpoisoned::default(),
            mappings: OnceLock::new(),
            portals: OnceLock::new(),
        }
    }

    /// Runs all checks.
    pub(super) fn look(&self) -> Looked {
        let looks = CHECKS.iter().map(|check| {
            let mut notes = Notes::default();
            (check.look)(self, &mut notes);
            (check, notes)
        });
        Looked(looks.collect())
    }

    /// The report of a look during which these volumes had calls.
    pub(super) fn report(
        &self,
        way: Way,
        looked: Looked,
        called: &BTreeSet<VolumeHandle>,
    ) -> Report {
        let busy = self.objects_of(called);
        let (mut findings, mut unseen) = (Vec::<Finding>::new(), Vec::new());
        for (check, notes) in looked.0 {
            let mut found = notes.found;
            if check.is_moved_by_calls {
                found.retain(|one| !busy.contains(&one.object) && one.volumes.is_disjoint(called));
            }
            found.retain(|one| !is_covered(check, &one.object, &findings));
            findings.extend(found.into_iter().map(|one| one.by(check)));
            unseen.extend(notes.unseen.into_iter().map(|doubt| doubt.of(check)));
        }
        let checks = u32::try_from(CHECKS.len()).unwrap_or(u32::MAX);
        Report::new(way, checks, findings, unseen)
    }

    /// The servers and targets of volumes.
    fn objects_of(&self, volumes: &BTreeSet<VolumeHandle>) -> BTreeSet<String> {
        let is_of = |volume: &VolumeHandle| volumes.contains(volume);
        let shares = self.records_of::<Share>();
        let servers = shares.filter(|record| is_of(&record.volume));
        let luns = self.records_of::<Disk<Target>>();
        let targets = luns.filter(|record| is_of(&record.volume));
        let servers = servers.map(|record| record.content.server);
        let targets = targets.map(|record| record.content.source.iqn.to_string());
        servers.chain(targets).collect()
    }

    pub(super) fn records_of<C: Content>(&self) -> impl Iterator<Item = Record<C>> {
        self.records.iter().cloned().filter_map(Record::of)
    }

    /// Those that are staged, in this boot as far as it is known.
    pub(super) fn staged<C: Content>(&self) -> impl Iterator<Item = Record<C>> {
        let is_staged = |record: &Record<C>| {
            record.state == State::Staged && record.is_of_boot(self.boot.as_deref())
        };
        self.records_of().filter(is_staged)
    }

    /// Asks a part of the node, unless it hangs.
    pub(super) fn ask<T>(
        &self,
        provider: Provider,
        how: impl FnOnce(&dyn NodeApi, Deadline) -> Result<T, Error>,
    ) -> Result<T, Doubt> {
        let node = *self.node.as_ref().map_err(|it| Doubt::Failed(it.clone()))?;
        if self.hung.lock().contains(&provider) {
            return Err(Doubt::Hangs(provider));
        }
        how(node, self.deadline(node)).map_err(|error| match error.cause {
            Cause::Deadline => self.hangs(provider),
            _ if error.is(Condition::NotAnswering) => self.hangs(provider),
            Cause::Unsupported { .. } => Doubt::Lacking(error.to_string()),
            _ => Doubt::Failed(crate::words::of(&error)),
        })
    }

    fn hangs(&self, provider: Provider) -> Doubt {
        self.hung.lock().insert(provider);
        Doubt::Hangs(provider)
    }

    pub(super) fn hung(&self) -> BTreeSet<Provider> {
        self.hung.lock().clone()
    }

    fn deadline(&self, node: &dyn NodeApi) -> Deadline {
        let own = node.deadline(ANSWER);
        self.until.map_or(own, |until| own.min(until))
    }

    /// The node's mappings, asked for once.
    pub(super) fn mappings(&self) -> Result<&[ShareMapping], Doubt> {
        let ask = || {
            self.require(Feature::MappingList)?;
            self.ask(Provider::Shares, |node, until| node.smb().mappings(until))
        };
        let mappings = self.mappings.get_or_init(ask);
        mappings.as_deref().map_err(Clone::clone)
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
        let node = *self.node.as_ref().map_err(|it| Doubt::Failed(it.clone()))?;
        let (answers, threads) = (Unpoisoned::<Answers>::default(), ports.len().min(ABREAST));
        let ports = Unpoisoned::new(ports.into_iter());
        let next = || ports.lock().next();
        let work = || {
            while let Some(port) = next() {
                let probed = node.iscsi().probe(&port, self.deadline(node));
                let answer = probed.err().map(|error| why(&error));
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
        let (sender, answer) = mpsc::channel();
        let look = move || sender.send(folder.is_dir());
        let spawned = thread::Builder::new().spawn(look);
        spawned.map_err(|error| Doubt::Failed(format!("no thread: {error}")))?;
        let answer = answer.recv_timeout(ANSWER);
        answer.map_err(|_| self.hangs(Provider::Threads))
    }
}

/// Why a port took no connection.
fn why(error: &Error) -> String {
    match error.cause {
        _ if error.code() == Some(NO_SUCH_HOST) => "its name has no address here".to_owned(),
        Cause::Deadline => "no answer in 3 s".to_owned(),
        _ => error.cause.to_string(),
    }
}

fn is_covered(check: &Check, object: &str, findings: &[Finding]) -> bool {
    findings.iter().any(|finding| {
        check.covered_by.contains(&finding.check.as_str())
            && (finding.object.is_empty() || finding.object == object)
    })
}

impl Found {
    fn by(self, check: &Check) -> Finding {
        let named = self.volumes.iter().take(MOST_NAMED);
        let named = Vec::from_iter(named.map(ToString::to_string)).join(", ");
        let text = match self.volumes.len() {
            0 => self.text,
            1..=MOST_NAMED => format!("{} (volumes {named})", self.text),
            count => format!("{} ({count} volumes, as {named})", self.text),
        };
        Finding {
            check: check.id.to_owned(),
            severity: check.severity,
            object: self.object,
            text,
            advice: check.advice.to_owned(),
            page: check.page.to_owned(),
        }
    }
}

impl Doubt {
    fn of(self, check: &Check) -> Unseen {
        let is_lasting = matches!(self, Self::Lacking(_));
        let reason = match self {
            Self::Lacking(reason) | Self::Failed(reason) => reason,
            Self::Hangs(provider) => format!("{} does not answer in time", provider.name()),
        };
        Unseen {
            check: check.id.to_owned(),
            reason,
            is_lasting,
        }
    }
}

#[cfg(test)]
mod tests {
    use wincsi::sim::{ClockMode, Inventory, NodeSpec, SimNode};
    use wincsi::{Node, Options};

    use super::*;

    #[test]
    fn what_hangs_is_asked_no_more() {
        let (spec, none) = (NodeSpec::named("n"), Inventory::of(0));
        let sim = SimNode::in_memory(&spec, none, ClockMode::Virtual).unwrap();
        let node = Node::new(sim.os(), Options::default());
        let registry = "tcp://127.0.0.1:9".parse().unwrap();
        let records = (Vec::new(), Vec::new());
        let subject = Subject::new(Ok(&node), Driver::Own(None), None, registry, records);
        let hangs = |_: &dyn NodeApi, _| Err::<(), _>(Error::new("ask", "it", Cause::Deadline));
        let doubt = subject.ask(Provider::Shares, hangs);
        assert!(matches!(doubt, Err(Doubt::Hangs(Provider::Shares))));
        let again = subject.ask(Provider::Shares, |_, _| Ok(()));
        assert!(matches!(again, Err(Doubt::Hangs(Provider::Shares))));
        assert!(subject.ask(Provider::Files, |_, _| Ok(())).is_ok());
        assert_eq!(subject.hung(), BTreeSet::from([Provider::Shares]));
    }
}
