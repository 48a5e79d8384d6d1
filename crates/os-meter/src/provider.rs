use std::collections::BTreeSet;
use std::sync::Arc;

use os::Arguments;
use os::Deadline;
use os::Instance;
use os::ObjectPath;
use os::Outcome;
use os::Provider;
use os::Query;
use os::Result;
use os::Target;

use crate::Kind;
use crate::Probe;

/// A provider whose operations are told.
pub(crate) struct Metered(pub(crate) Arc<dyn Provider>, pub(crate) Probe);

impl Provider for Metered {
    fn query(&self, query: &Query<'_>, deadline: Deadline) -> Result<Vec<Instance>> {
        let run = || self.0.query(query, deadline);
        self.1.run(Kind::Query, "query", query.class, run)
    }

    fn associators(
        &self,
        of: &ObjectPath,
        association: &'static str,
        result_class: &'static str,
        deadline: Deadline,
    ) -> Result<Vec<Instance>> {
        let run = || self.0.associators(of, association, result_class, deadline);
        self.1.run(Kind::Query, "associators", result_class, run)
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        let run = || self.0.invoke(target, method, arguments, deadline);
        let is_done =
            |answer: &Result<Outcome>| answer.as_ref().is_ok_and(|outcome| outcome.code == 0);
        self.1.judged(Kind::Method, "invoke", method, run, is_done)
    }

    fn parameters(
        &self,
        class: &'static str,
        method: &'static str,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>> {
        let run = || self.0.parameters(class, method, deadline);
        self.1.run(Kind::Query, "parameters", method, run)
    }
}
