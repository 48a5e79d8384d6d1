//! Logging out of one session of a target.

use std::collections::BTreeSet;

use os::DiskNumber;

use super::initiator::{Initiator, KnownTarget, Session};
use super::{IscsiError, TargetName, disconnect};
use crate::locks::{Key, LockGuard};
use crate::storage;

/// The operation's name in errors.
const NAME: &str = "log out";

/// A logout from one session of a target.
pub(super) struct Logout<'a> {
    pub(super) initiator: Initiator<'a>,
    pub(super) name: &'a TargetName,
    /// The session's identifier.
    pub(super) id: &'a str,
}

/// The session that is to end.
struct Leaving {
    target: KnownTarget,
    session: Session,
    /// The disks that go with it.
    disks: BTreeSet<DiskNumber>,
}

impl Logout<'_> {
    pub(super) fn run(&self) -> Result<(), IscsiError> {
        let Initiator { node, deadline } = self.initiator;
        if let Some((_held, leaving)) = self.lock()? {
            self.refuse_online(&leaving.disks)?;
            node.check(deadline, NAME, self.name)?;
            disconnect::end(&self.initiator, &leaving.target, &leaving.session)?;
        }
        node.state.logins.forget_session(self.name, self.id);
        Ok(())
    }

    /// The session, under the locks of its target and of the disks that go with it; `None` if it is gone. Its disks are
    /// known only after a query, and the storage provider lists a new one late: so all is queried again after a
    /// rescan under the locks, until no other disk has come.
    fn lock(&self) -> Result<Option<(LockGuard, Leaving)>, IscsiError> {
        let Initiator { node, deadline } = self.initiator;
        loop {
            let keys = [Key::IscsiTarget(self.name.clone())];
            let mut held = node.lock(NAME, keys, deadline)?;
            let Some(before) = self.find()? else {
                return Ok(None);
            };
            for disk in &before.disks {
                held.add(Key::Disk(*disk), deadline)?;
            }
            storage::rescan(node)?;
            match self.find()? {
                Some(now) if !now.disks.is_subset(&before.disks) => {}
                now => return Ok(now.map(|now| (held, now))),
            }
        }
    }

    fn find(&self) -> Result<Option<Leaving>, IscsiError> {
        let Some(target) = self.initiator.any_target(self.name)? else {
            return self.nothing();
        };
        let sessions = self.initiator.sessions(&target)?;
        let is_meant = |session: &Session| session.id.eq_ignore_ascii_case(self.id);
        let (ours, others): (Vec<_>, Vec<_>) = sessions.into_iter().partition(is_meant);
        let Some(session) = ours.into_iter().next() else {
            return self.nothing();
        };
        let mut disks = self.initiator.disks_of(&session)?;
        for other in others.iter().filter(|other| other.is_connected) {
            for disk in self.initiator.disks_of(other)? {
                disks.remove(&disk);
            }
        }
        Ok(Some(Leaving {
            target,
            session,
            disks,
        }))
    }

    /// The target has no such session: it is gone, unless the initiator still lists it.
    fn nothing<T>(&self) -> Result<Option<T>, IscsiError> {
        let (target, session) = (self.name.to_string(), self.id.to_owned());
        match self.initiator.target_of_session(self.id)? {
            None => Ok(None),
            Some(own) if self.name.is(&own) => Err(IscsiError::SessionRemains { target, session }),
            Some(other) => Err(IscsiError::SessionOfAnother {
                target,
                session,
                other,
            }),
        }
    }

    fn refuse_online(&self, disks: &BTreeSet<DiskNumber>) -> Result<(), IscsiError> {
        for disk in disks {
            let (target, session) = (self.name.to_string(), self.id.to_owned());
            match self.initiator.node.os().disks.attributes(*disk) {
                Err(error) if error.is_not_found() => {}
                Err(source) => {
                    return Err(IscsiError::DiskUnread {
                        target,
                        session,
                        disk: *disk,
                        source,
                    });
                }
                Ok(attributes) if attributes.offline => {}
                Ok(_) => {
                    return Err(IscsiError::DiskOnline {
                        target,
                        session,
                        disk: *disk,
                    });
                }
            }
        }
        Ok(())
    }
}
