//! The initiator's behaviour without a target.

use node::{Authentication, Dependents, Portal, ServiceName};
use os::ServiceState;

use super::{Play, declare};
use crate::failure::holds;
use crate::{CaseResult, Failure, NodeFixture};

declare!("initiator";
    a_portal_that_does_not_answer_is_an_error_and_is_not_kept,
);

/// Of every Windows; a server starts it on demand.
const SERVICE: &str = "MSiSCSI";

/// Reserved for documentation: no machine has it.
pub(crate) const NOWHERE: &str = "192.0.2.1";

const PORT: u32 = 3260;

/// The initiator's service; dropping this stops it if this started it.
pub(crate) struct Initiator<'a> {
    play: Play<'a>,
    service: ServiceName,
    ran_before: bool,
}

impl<'a> Initiator<'a> {
    pub(crate) fn started(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        let play = Play::on(fixture);
        let service = ServiceName::parse(SERVICE).map_err(Failure::unexpected)?;
        let system = play.node.system();
        let found = system.service(&service, play.deadline())?;
        system.start_service(&service, play.deadline())?;
        Ok(Self {
            play,
            service,
            ran_before: found.state == ServiceState::Running,
        })
    }

    /// Removes the portal [`NOWHERE`] where Windows has kept it.
    pub(crate) fn forget_nowhere(&self) {
        let Ok(portal) = Portal::parse(NOWHERE, PORT) else {
            return;
        };
        let _ = self
            .play
            .node
            .iscsi()
            .remove_portal(&portal, self.play.deadline());
    }
}

impl Drop for Initiator<'_> {
    fn drop(&mut self) {
        if self.ran_before {
            return;
        }
        let system = self.play.node.system();
        // A service left running does no harm.
        let _ = system.stop_service(&self.service, Dependents::Refuse, self.play.deadline());
    }
}

fn a_portal_that_does_not_answer_is_an_error_and_is_not_kept(
    fixture: &dyn NodeFixture,
) -> CaseResult {
    let initiator = Initiator::started(fixture)?;
    let play = &initiator.play;
    let portal = Portal::parse(NOWHERE, PORT).map_err(Failure::unexpected)?;
    let iscsi = play.node.iscsi();
    let added = iscsi.add_portal(&portal, &Authentication::None, play.deadline());
    holds("adding it fails", added.is_err())?;
    let known = iscsi.portals(play.deadline())?;
    let is_kept = known.iter().any(|(address, _)| address == NOWHERE);
    holds("it is not among the portals", !is_kept)
}
