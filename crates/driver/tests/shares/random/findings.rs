//! What the doctor finds after each step.

use std::collections::BTreeSet;

use super::World;

impl World {
    /// A node with nothing wrong has no finding. A server that is down is found if a record needs it, and no other one.
    pub(super) fn check_findings(&mut self) -> Result<(), String> {
        if self.upstream.is_some() {
            return Ok(());
        }
        let report = self.fixture.examine();
        let away = report
            .findings
            .iter()
            .filter(|one| one.check == "server-away");
        let away = BTreeSet::from_iter(away.map(|one| one.object.clone()));
        let records = self.fixture.parsed_records().into_iter();
        let servers = records.filter_map(|record| Some(record["server"].as_str()?.to_owned()));
        let down = servers.filter(|server| self.down.contains(server.as_str()));
        let down = BTreeSet::from_iter(down);
        if away != down {
            return Err(format!("{down:?} are down: {report}"));
        }
        let is_healthy = self.is_healthy();
        self.healthy += usize::from(is_healthy);
        match is_healthy && report.exit_code() != 0 {
            true => Err(report.to_string()),
            false => Ok(()),
        }
    }

    /// Whether nothing is wrong with the node, which this driver has.
    pub(super) fn is_healthy(&self) -> bool {
        self.upstream.is_none()
            && self.ill.is_empty()
            && self.let_go.is_empty()
            && self.unreached.is_empty()
            && self.outlived.is_empty()
    }
}
