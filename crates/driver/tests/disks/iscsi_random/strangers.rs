//! Others log in and out, and add portals, past the driver.

use std::collections::BTreeSet;

use os::{Arguments, Deadline, Value};
use wincsi::iscsi::{Authentication, LoginOptions, TargetName};
use wincsi::system::ServiceName;
use wincsi::{Node, NodeApi};

use super::World;
use super::steps::{iqn, portal};
use crate::support::DriverFixture;

impl World {
    pub(super) fn log_in(&mut self, target: usize, is_lasting: bool) {
        let (iscsi, soon) = (NodeApi::iscsi(self.node()), self.fixture.soon());
        let mut sessions = self.seen.sessions.iter().flatten();
        let is_second = sessions.any(|(_, other)| other.target == target);
        let name = TargetName::parse(&iqn(target)).unwrap();
        let mut known = self
            .seen
            .portals
            .iter()
            .filter(|portal| *portal / 2 == target / 2);
        let before = session_ids(&self.fixture);
        match (is_second, known.next()) {
            (true, _) => {
                let login = Arguments::none()
                    .with("NodeAddress", Value::text(iqn(target)))
                    .with("IsMultipathEnabled", Value::Bool(true));
                let on = os::Target::Class("MSFT_iSCSITarget");
                let os = self.fixture.os();
                drop(os.iscsi.invoke(on, "Connect", &login, Deadline::NEVER));
            }
            (false, Some(known)) => {
                let none = Authentication::None;
                let options = LoginOptions::default().with_persistent(is_lasting);
                drop(iscsi.connect_with(&portal(*known), &name, &none, &options, soon));
            }
            (false, None) => {}
        }
        let after = session_ids(&self.fixture);
        for made in after.difference(&before) {
            self.theirs.insert(made.clone(), target);
            if is_lasting && !is_second {
                self.lasting.insert(target);
            }
        }
    }

    pub(super) fn log_out(&mut self, index: usize) {
        let Some((id, target)) = self.theirs.iter().cycle().nth(index) else {
            return;
        };
        let (id, target) = (id.clone(), *target);
        let name = TargetName::parse(&iqn(target)).unwrap();
        let done = NodeApi::iscsi(self.node()).log_out(&name, &id, self.fixture.soon());
        if done.is_ok() {
            // A login that comes back is taken back first.
            self.lasting.remove(&target);
            self.theirs.remove(&id);
        }
    }

    /// The node, with its initiator running.
    pub(super) fn node(&self) -> &Node {
        let (service, soon) = (ServiceName::parse("MSiSCSI").unwrap(), self.fixture.soon());
        let system = NodeApi::system(&self.fixture.hand);
        system.start_service(&service, soon).unwrap();
        &self.fixture.hand
    }
}

fn session_ids(fixture: &DriverFixture) -> BTreeSet<String> {
    let sessions = NodeApi::iscsi(&fixture.hand).sessions(fixture.soon());
    sessions
        .unwrap()
        .into_iter()
        .map(|session| session.id)
        .collect()
}
