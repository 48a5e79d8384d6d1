//! Whether a portal answers, before a login waits for it: one to a dead portal takes minutes
//! (<https://github.com/NetApp/trident/issues/321>, <https://github.com/NetApp/trident/issues/909>).

use std::time::Duration;

use os::Deadline;

use super::{IscsiError, Portal};
use crate::Iscsi;
use crate::bounded::race;

const WITHIN: Duration = Duration::from_secs(3);

#[allow(missing_docs, reason = "documented in `api::Iscsi`")]
impl Iscsi<'_> {
    pub fn probe(&self, portal: &Portal, deadline: Deadline) -> Result<(), IscsiError> {
        let os = self.node.os().clone();
        let limit = deadline.min(Deadline::within(&*os.clock, WITHIN));
        let left = limit.left(&*os.clock).unwrap_or_default();
        let (clock, host, port) = (os.clock.clone(), portal.host(), portal.port());
        // The look-up of a name is not within the bound.
        let connect = move || os.afunix.connect(&host, port, left);
        Ok(race(&*clock, "probe portal", limit, connect)??)
    }
}
