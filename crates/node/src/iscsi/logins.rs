//! How this process logged in to targets.

use std::collections::BTreeMap;
use std::time::Duration;

use os::Deadline;

use super::connect::WantedLogin;
use super::{LoginOptions, Portal, TargetName};
use crate::unpoisoned::Unpoisoned;

/// How long after a login a first disk of the target is waited for: csi-proxy's integration test wants one as soon as
/// it has logged in.
pub(super) const NOTICED_WITHIN: Duration = Duration::from_secs(3);

/// Drivers repeat their logins, and Windows tells how a target is connected by more questions than whether it
/// is, and not all: so what this process did itself is kept, without the secrets, for as long as its session is
/// there.
#[derive(Default)]
pub(crate) struct Logins(Unpoisoned<BTreeMap<TargetName, Login>>);

struct Login {
    session: String,
    /// Until when a disk of it may still be on its way.
    noticed_by: Deadline,
    portal: Portal,
    authentication: &'static str,
    options: LoginOptions,
}

impl Logins {
    /// To be called when a target was logged in to, with the identifier of the session that came of it.
    pub(super) fn remember(&self, how: &WantedLogin<'_>, session: String) {
        let clock = &*how.initiator.node.os().clock;
        let login = Login {
            session,
            noticed_by: Deadline::within(clock, NOTICED_WITHIN),
            portal: how.portal.clone(),
            authentication: how.authentication.word(),
            options: how.options.clone(),
        };
        self.0.lock().insert(how.name.clone(), login);
    }

    /// To be called when a target was logged out of, or has another session than this process made.
    pub(super) fn forget(&self, target: &TargetName) {
        self.0.lock().remove(target);
    }

    /// To be called when one session of a target is gone.
    pub(super) fn forget_session(&self, target: &TargetName, session: &str) {
        let mut logins = self.0.lock();
        let is_its = |login: &Login| login.session.eq_ignore_ascii_case(session);
        if logins.get(target).is_some_and(is_its) {
            logins.remove(target);
        }
    }

    /// The session that this process made.
    pub(super) fn session(&self, target: &TargetName) -> Option<String> {
        let logins = self.0.lock();
        logins.get(target).map(|login| login.session.clone())
    }

    /// Until when a first disk of a target that this process logged in to is waited for.
    pub(super) fn noticed_by(&self, target: &TargetName) -> Option<Deadline> {
        let logins = self.0.lock();
        logins.get(target).map(|login| login.noticed_by)
    }

    /// In what the login differs from this one, in words; `None` when another process made it.
    pub(super) fn differences(&self, how: &WantedLogin<'_>) -> Option<Vec<String>> {
        let logins = self.0.lock();
        let login = logins.get(how.name)?;
        let (portal, wanted) = (how.portal, how.authentication.word());
        let mut found = Vec::new();
        if login.portal != *portal {
            found.push(format!("portal {}, not {portal}", login.portal));
        }
        if login.authentication != wanted {
            let has = login.authentication;
            found.push(format!("authentication {has}, not {wanted}"));
        }
        found.extend(login.options.differences(how.options));
        Some(found)
    }
}
