//! Services of the suite's own.

use node::{Dependents, ServiceName};
use os::ServiceState;

use super::{Play, declare};
use crate::failure::{holds, same};
use crate::{CaseResult, Failure, NodeFixture};

declare!("services";
    a_service_brings_up_what_it_needs,
    a_service_that_another_needs_is_not_stopped_unasked,
    a_service_is_stopped_after_those_that_need_it,
);

/// Two services, the second a dependent of the first; both stopped when this is dropped.
struct Chain<'a> {
    play: Play<'a>,
    base: ServiceName,
    dependent: ServiceName,
}

impl<'a> Chain<'a> {
    fn started(fixture: &'a dyn NodeFixture) -> CaseResult<Self> {
        let names = fixture.chained_services();
        let names = names.ok_or(Failure::Unequipped("services of which one needs another"))?;
        let [base, dependent] =
            names.map(|name| ServiceName::parse(name).map_err(Failure::unexpected));
        let chain = Self {
            play: Play::on(fixture),
            base: base?,
            dependent: dependent?,
        };
        let system = chain.play.node.system();
        system.start_service(&chain.dependent, chain.play.deadline())?;
        Ok(chain)
    }

    fn stop_base(&self, dependents: Dependents) -> node::api::Result<()> {
        let system = self.play.node.system();
        system.stop_service(&self.base, dependents, self.play.deadline())
    }

    fn both_are(&self, wanted: ServiceState) -> CaseResult {
        let system = self.play.node.system();
        for name in [&self.base, &self.dependent] {
            let found = system.service(name, self.play.deadline())?;
            same(name.as_str(), &found.state, &wanted)?;
        }
        Ok(())
    }
}

impl Drop for Chain<'_> {
    /// A service left running makes the next case fail, and so shows.
    fn drop(&mut self) {
        let _ = self.stop_base(Dependents::Stop);
    }
}

fn a_service_brings_up_what_it_needs(fixture: &dyn NodeFixture) -> CaseResult {
    let chain = Chain::started(fixture)?;
    chain.both_are(ServiceState::Running)
}

fn a_service_that_another_needs_is_not_stopped_unasked(fixture: &dyn NodeFixture) -> CaseResult {
    let chain = Chain::started(fixture)?;
    let stopped = chain.stop_base(Dependents::Refuse);
    let why = stopped.err().map(|error| error.to_string());
    let names_it = why.is_some_and(|why| why.contains(chain.dependent.as_str()));
    holds("the error names who needs it", names_it)?;
    chain.both_are(ServiceState::Running)
}

fn a_service_is_stopped_after_those_that_need_it(fixture: &dyn NodeFixture) -> CaseResult {
    let chain = Chain::started(fixture)?;
    chain.stop_base(Dependents::Stop)?;
    chain.both_are(ServiceState::Stopped)?;
    chain.stop_base(Dependents::Stop)?;
    chain.both_are(ServiceState::Stopped)
}
