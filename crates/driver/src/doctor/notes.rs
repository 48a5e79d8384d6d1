//! What checks note, and how it becomes a report.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{Finding, Report, Severity, Unseen, Way};
use super::subject::{Driver, Subject};
use super::table::{CHECKS, Check};
use crate::kinds::block::Disk;
use crate::kinds::iscsi::Target;
use crate::kinds::share::Share;
use crate::record::VolumeHandle;

/// How many volumes a finding names.
const MOST_NAMED: usize = 8;

/// A part of the node that answers for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Provider {
    Disks,
    Files,
    Initiator,
    OwnDisk,
    Processes,
    /// Of a host that works through pipes.
    Proxy,
    Services,
    Shares,
    System,
    Volumes,
}

impl Provider {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Disks => "Windows's storage provider",
            Self::Files => "the filesystem of the node's disk",
            Self::Initiator => "Windows's iSCSI provider",
            Self::OwnDisk => "the disk of the driver's folders",
            Self::Processes => "Windows's list of processes",
            Self::Proxy => "csi-proxy",
            Self::Services => "Windows's service control manager",
            Self::Shares => "Windows's SMB provider",
            Self::System => "Windows's registry",
            Self::Volumes => "a volume",
        }
    }
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The host has no such view.
    Lacking(String),
    /// The node answers with a failure.
    Failed(String),
    /// It was not asked, or the failure is the asker's.
    Unasked(String),
    /// It was asked before, and did not answer in time.
    Hangs(Provider),
    /// The time for all questions was over before it had its own.
    NoTime,
}

/// What a check notes.
#[derive(Default)]
pub(super) struct Notes {
    found: Vec<Found>,
    unseen: Vec<Doubt>,
}

struct Found {
    object: String,
    text: String,
    volumes: BTreeSet<VolumeHandle>,
    is_certain: bool,
    /// A word of the check's advice, and what to write there.
    fills: Option<(&'static str, String)>,
}

impl Notes {
    /// Something of an object is not as it should be; these volumes need it.
    pub(super) fn found(
        &mut self,
        object: &str,
        text: String,
        volumes: impl IntoIterator<Item = VolumeHandle>,
    ) {
        self.note(object, text, volumes, true);
    }

    /// As [`Self::found`], of what did not answer in time: it may only be slow, and explains no error.
    pub(super) fn found_late(
        &mut self,
        object: &str,
        text: String,
        volumes: impl IntoIterator<Item = VolumeHandle>,
    ) {
        self.note(object, text, volumes, false);
    }

    fn note(
        &mut self,
        object: &str,
        text: String,
        volumes: impl IntoIterator<Item = VolumeHandle>,
        is_certain: bool,
    ) {
        let mut all = self.found.iter_mut();
        let known = all.find(|one| one.object == object && one.text == text);
        match known {
            Some(known) => known.volumes.extend(volumes),
            None => self.found.push(Found {
                object: object.to_owned(),
                text,
                volumes: volumes.into_iter().collect(),
                is_certain,
                fills: None,
            }),
        }
    }

    /// What to write for a word of the advice, of the finding that was noted last.
    pub(super) fn fill(&mut self, word: &'static str, value: String) {
        if let Some(found) = self.found.last_mut() {
            found.fills = Some((word, value));
        }
    }

    pub(super) fn unseen(&mut self, doubt: Doubt) {
        if !self.unseen.contains(&doubt) {
            self.unseen.push(doubt);
        }
    }

    /// An answer, if there is one.
    pub(super) fn seen<T>(&mut self, answer: Result<T, Doubt>) -> Option<T> {
        answer.map_err(|doubt| self.unseen(doubt)).ok()
    }
}

impl Subject<'_> {
    /// The report of a look during which these volumes had calls.
    pub(super) fn report(
        &self,
        way: Way,
        looked: Vec<(&'static Check, Notes)>,
        called: &BTreeSet<VolumeHandle>,
    ) -> Report {
        let (mut findings, mut unseen) = (Vec::new(), Vec::new());
        let mut causes = Causes::new();
        for (check, mut notes) in looked {
            if check.is_moved_by_calls {
                self.leave_to_calls(&mut notes, called);
            }
            let Notes {
                mut found,
                unseen: doubts,
            } = notes;
            found.retain(|one| !is_covered(check, &one.object, &causes));
            for one in &found {
                let mut objects = self.objects_of(&one.volumes);
                objects.insert(one.object.clone());
                let noted = objects.into_iter().map(|object| (check.id, object));
                causes.extend(noted.map(|of| (of, one.is_certain)));
            }
            findings.extend(found.into_iter().map(|one| one.by(check)));
            unseen.extend(doubts.into_iter().map(|doubt| doubt.of(check)));
        }
        Report::new(way, CHECKS.len(), findings, unseen)
    }

    /// What calls may be at is in doubt, not found.
    fn leave_to_calls(&self, notes: &mut Notes, called: &BTreeSet<VolumeHandle>) {
        let before = notes.found.len();
        let peeked = self.peeked().map(|peeked| peeked.records.as_slice());
        let records = peeked.unwrap_or_default();
        let has_record =
            |volume: &VolumeHandle| records.iter().any(|record| record.volume == *volume);
        let are_known = called.iter().all(has_record)
            && !matches!(self.driver, Driver::Unknown(_) | Driver::Older);
        let busy = self.objects_of(called);
        notes.found.retain(|one| {
            are_known && !busy.contains(&one.object) && one.volumes.is_disjoint(called)
        });
        if notes.found.len() < before {
            let text = "calls for it run, or may run: look again";
            notes.unseen(Doubt::Unasked(text.to_owned()));
        }
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
}

/// Causes by check and object, or server or target of their volumes, and whether each is certain.
type Causes = BTreeMap<(&'static str, String), bool>;

/// What may only be slow explains a warning, such as a mapping that is disconnected; an error is said beside it.
fn is_covered(check: &Check, object: &str, causes: &Causes) -> bool {
    causes.iter().any(|((cause, of), is_certain)| {
        check.covered_by.contains(cause)
            && (of.is_empty() || of == object)
            && (*is_certain || check.severity == Severity::Warning)
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
        let advice = match self.fills {
            Some((word, value)) => check.advice.replace(word, &value),
            None => check.advice.to_owned(),
        };
        Finding {
            check: check.id.to_owned(),
            severity: check.severity,
            object: self.object,
            text,
            advice,
            page: check.page.to_owned(),
        }
    }
}

impl Doubt {
    fn of(self, check: &Check) -> Unseen {
        let is_lasting = matches!(self, Self::Lacking(_));
        Unseen {
            check: check.id.to_owned(),
            reason: self.reason(),
            is_lasting,
        }
    }

    pub(super) fn reason(self) -> String {
        match self {
            Self::Lacking(reason) | Self::Failed(reason) | Self::Unasked(reason) => reason,
            Self::Hangs(provider) => format!("{} does not answer in time", provider.name()),
            Self::NoTime => String::from("no time was left"),
        }
    }
}
