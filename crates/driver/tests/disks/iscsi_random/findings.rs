//! What the doctor finds after each step.

use std::collections::{BTreeMap, BTreeSet};

use wincsi::NodeApi;
use wincsi_driver::doctor::Finding;

use super::World;
use super::steps::{PORTALS, address, target_named, target_of};

impl World {
    /// Each finding is so, as seen past the driver: a node with nothing wrong has none.
    pub(super) fn check_findings(&self) -> Result<(), String> {
        let report = self.fixture.examine();
        let unused = report
            .findings
            .iter()
            .filter(|one| one.check == "session-unused");
        let unused = BTreeSet::from_iter(unused.map(|one| target_named(&one.object)));
        if !unused.is_subset(&self.unused()) {
            return Err(format!("{:?} are of no volume: {report}", self.unused()));
        }
        match report.findings.iter().find(|finding| !self.is_so(finding)) {
            Some(finding) => Err(format!("{finding:?}")),
            None => Ok(()),
        }
    }

    fn is_so(&self, finding: &Finding) -> bool {
        let portals = || {
            let target = target_named(&finding.object);
            let ways = [target / 2 * 2, target / 2 * 2 + 1];
            ways.map(|way| self.answers[way])
        };
        match finding.check.as_str() {
            "target-away" => portals() == [false; 2],
            "portal-away" => {
                let mut dead = (0..PORTALS).filter(|at| !self.answers[*at]);
                dead.any(|at| finding.text.contains(&address(at)))
            }
            "session-unused" => true,
            "session-away" => !self.is_connected(target_named(&finding.object)),
            "iscsi-stopped" => self.seen.sessions.is_none(),
            "disk-offline" => {
                let is_named = |of: &usize| finding.text.contains(&format!("\"v{of}\""));
                self.offline().iter().any(is_named)
            }
            _ => false,
        }
    }

    /// Whether nothing is wrong with what the records need.
    pub(super) fn is_healthy(&self) -> bool {
        let mut volumes = self.seen.records.keys();
        self.answers == [true; PORTALS]
            && volumes.all(|of| self.is_connected(target_of(*of)))
            && self.offline().is_empty()
            && self.unused().is_empty()
    }

    /// The targets of no volume, with a session that a person would have made for good.
    fn unused(&self) -> BTreeSet<usize> {
        let mut targets = BTreeSet::new();
        for session in self.seen.sessions.iter().flat_map(BTreeMap::values) {
            let mut records = self.seen.records.keys();
            if !session.is_persistent && !records.any(|of| target_of(*of) == session.target) {
                targets.insert(session.target);
            }
        }
        targets
    }

    /// The volumes that have a disk, of which none with its identifier is online.
    fn offline(&self) -> BTreeSet<usize> {
        let (disks, soon) = (NodeApi::disks(&self.fixture.hand), self.fixture.soon());
        let mut online = disks.ids(soon).unwrap();
        online.retain(|disk, _| disks.is_online(*disk, soon).unwrap());
        let is_online = |image: &String| online.values().any(|ids| ids.page83.ends_with(image));
        let records = self.seen.records.iter();
        let offline =
            records.filter(|(_, image)| image.as_ref().is_some_and(|one| !is_online(one)));
        offline.map(|(of, _)| *of).collect()
    }

    fn is_connected(&self, target: usize) -> bool {
        let mut sessions = self.seen.sessions.iter().flat_map(BTreeMap::values);
        sessions.any(|one| one.target == target && one.is_connected)
    }
}
