//! The iSCSI initiator: portals, targets, sessions and the disks that they bring.

mod chap;
mod connect;
mod disconnect;
mod error;
mod initiator;
mod logins;
mod logout;
mod name;
mod options;
mod portal;
mod probe;
mod session;

use std::collections::BTreeSet;

use os::schema::{iscsi_codes, iscsi_session, iscsi_target_portal};
use os::{Arguments, Deadline, DiskNumber, Value};

pub use self::chap::{Authentication, Chap, ChapSecret};
pub use self::connect::Connected;
use self::connect::WantedLogin;
pub use self::error::IscsiError;
use self::initiator::{Endpoint, Initiator, KnownTarget};
pub(crate) use self::logins::Logins;
use self::logins::NOTICED_WITHIN;
use self::logout::Logout;
pub use self::name::TargetName;
pub use self::options::LoginOptions;
pub use self::portal::Portal;
pub use self::session::SessionInfo;
use crate::locks::Key;
use crate::{Iscsi, ProviderError, poll};

#[allow(missing_docs, reason = "documented in `api::Iscsi`")]
impl<'a> Iscsi<'a> {
    pub fn add_portal(
        &self,
        portal: &Portal,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<(), IscsiError> {
        let keys = [Key::IscsiPortal(portal.clone())];
        let _held = self.node.lock("add portal", keys, deadline)?;
        let initiator = self.initiator(deadline);
        if is_known(&initiator, portal)? {
            return Ok(());
        }
        self.node.check(deadline, "add portal", portal)?;
        let arguments = address(
            portal,
            iscsi_target_portal::new::TARGET_PORTAL_ADDRESS.name,
            iscsi_target_portal::new::TARGET_PORTAL_PORT_NUMBER.name,
        );
        let arguments = authentication.of_discovery(arguments);
        let class = initiator.class(&iscsi_target_portal::CLASS, portal);
        let method = (&iscsi_target_portal::NEW, arguments.expose());
        let is_added = || is_known(&initiator, portal);
        let added = class.invoke_and_verify(method, (self.node, deadline), is_added);
        match added {
            // Somebody else was faster.
            Err(error) if error.is(iscsi_codes::TARGET_PORTAL_ALREADY_EXISTS) => Ok(()),
            done => done,
        }
    }

    pub fn portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>, IscsiError> {
        let known = self.initiator(deadline).portals()?.into_iter();
        Ok(known.map(|known| (known.address, known.port)).collect())
    }

    pub fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<(), IscsiError> {
        let keys = [Key::IscsiPortal(portal.clone())];
        let _held = self.node.lock("remove portal", keys, deadline)?;
        let initiator = self.initiator(deadline);
        let known = sole_portal(portal, initiator.portal(portal)?)?;
        self.node.check(deadline, "remove portal", portal)?;
        let arguments = spelled(
            &known,
            iscsi_target_portal::remove::TARGET_PORTAL_ADDRESS.name,
            iscsi_target_portal::remove::TARGET_PORTAL_PORT_NUMBER.name,
        );
        let object = initiator.instance(&iscsi_target_portal::CLASS, &known.path, portal);
        let method = (&iscsi_target_portal::REMOVE, &arguments);
        let is_removed = || Ok(!is_known(&initiator, portal)?);
        object.invoke_and_verify(method, (self.node, deadline), is_removed)
    }

    pub fn refresh(&self, portal: &Portal, deadline: Deadline) -> Result<(), IscsiError> {
        let keys = [Key::IscsiPortal(portal.clone())];
        let _held = self.node.lock("refresh", keys, deadline)?;
        let initiator = self.initiator(deadline);
        let known = initiator.portal(portal)?;
        refresh(&initiator, portal, &known)
    }

    pub fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>, IscsiError> {
        let keys = [Key::IscsiPortal(portal.clone())];
        let _held = self.node.lock("discover", keys, deadline)?;
        let initiator = self.initiator(deadline);
        let known = initiator.portal(portal)?;
        let refreshed = refresh(&initiator, portal, &known);
        let targets = initiator.targets_of(&known)?;
        match refreshed {
            Err(error) if targets.is_empty() => return Err(error),
            Err(error) => tracing::warn!(%portal, %error, "a portal is not discovered anew"),
            Ok(()) => {}
        }
        let names: BTreeSet<_> = targets.into_iter().map(|target| target.name).collect();
        Ok(names.into_iter().collect())
    }

    pub fn connect(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<Connected, IscsiError> {
        let options = LoginOptions::default();
        self.connect_with(portal, target, authentication, &options, deadline)
    }

    pub fn connect_with(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        options: &LoginOptions,
        deadline: Deadline,
    ) -> Result<Connected, IscsiError> {
        let keys = [Key::IscsiTarget(target.clone())];
        let held = self.node.lock("connect", keys, deadline)?;
        let login = WantedLogin {
            initiator: self.initiator(deadline),
            name: target,
            portal,
            authentication,
            options,
        };
        login.connect(held)
    }

    pub fn disconnect(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<(), IscsiError> {
        let keys = [Key::IscsiTarget(target.clone())];
        let _held = self.node.lock("disconnect", keys, deadline)?;
        let initiator = self.initiator(deadline);
        let known = find(&initiator, portal, target)?;
        disconnect::end_sessions(&initiator, target, &known)?;
        self.node.state.logins.forget(target);
        Ok(())
    }

    pub fn log_out(
        &self,
        target: &TargetName,
        session: &str,
        deadline: Deadline,
    ) -> Result<(), IscsiError> {
        let logout = Logout {
            initiator: self.initiator(deadline),
            name: target,
            id: session,
        };
        logout.run()
    }

    pub fn disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>, IscsiError> {
        let initiator = self.initiator(deadline);
        let known = find(&initiator, portal, target)?;
        initiator.disks_of_target(&known)
    }

    /// As [`Iscsi::disks`], which is for callers that rescan.
    pub fn noticed_disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>, IscsiError> {
        let initiator = self.initiator(deadline);
        let known = find(&initiator, portal, target)?;
        let Some(noticed_by) = self.node.state.logins.noticed_by(target) else {
            return initiator.disks_of_target(&known);
        };
        let (clock, by) = (&*self.node.os().clock, deadline.min(noticed_by));
        let noticed = poll::until(clock, by, NOTICED_WITHIN, || {
            let disks = initiator.disks_of_target(&known)?;
            Ok::<_, IscsiError>((!disks.is_empty()).then_some(disks))
        })?;
        Ok(noticed.unwrap_or_default())
    }

    pub fn set_mutual_chap_secret(
        &self,
        secret: &ChapSecret,
        deadline: Deadline,
    ) -> Result<(), IscsiError> {
        let operation = "set mutual CHAP secret";
        let _held = self.node.lock(operation, [Key::IscsiInitiator], deadline)?;
        let name = iscsi_session::set_chap_secret::CHAP_SECRET.name;
        let arguments = secret.argument(Arguments::none(), name);
        let initiator = self.initiator(deadline);
        let class = initiator.class(&iscsi_session::CLASS, "the initiator");
        // Nothing shows the secret, until a target is to prove itself by it.
        let method = &iscsi_session::SET_CHAP_SECRET;
        Ok(class.invoke_unverified(method, arguments.expose(), &[])?)
    }

    fn initiator(&self, deadline: Deadline) -> Initiator<'a> {
        Initiator {
            node: self.node,
            deadline,
        }
    }
}

fn is_known(initiator: &Initiator<'_>, portal: &Portal) -> Result<bool, IscsiError> {
    match initiator.portal(portal) {
        Err(IscsiError::PortalNotFound { .. }) => Ok(false),
        found => found.map(|_| true),
    }
}

/// Makes the initiator query a portal's targets again.
fn refresh(
    initiator: &Initiator<'_>,
    portal: &Portal,
    known: &[Endpoint],
) -> Result<(), IscsiError> {
    let mut asked = BTreeSet::new();
    for known in known {
        if !asked.insert(known.path.clone()) {
            continue;
        }
        initiator
            .node
            .check(initiator.deadline, "discover", portal)?;
        let arguments = spelled(
            known,
            iscsi_target_portal::update::TARGET_PORTAL_ADDRESS.name,
            iscsi_target_portal::update::TARGET_PORTAL_PORT_NUMBER.name,
        );
        let object = initiator.instance(&iscsi_target_portal::CLASS, &known.path, portal);
        // The portal's targets are read next in any case.
        object.invoke_unverified(&iscsi_target_portal::UPDATE, &arguments, &[])?;
    }
    Ok(())
}

/// The target that a portal leads to: it has told of it, or a session leads there. A session that has no
/// connection leads anywhere: the target may be gone for good, and somebody has to end it.
fn find(
    initiator: &Initiator<'_>,
    portal: &Portal,
    name: &TargetName,
) -> Result<KnownTarget, IscsiError> {
    find_behind(initiator, initiator.portal(portal), portal, name)
}

/// The same, where the portal has been looked up.
fn find_behind(
    initiator: &Initiator<'_>,
    known: Result<Vec<Endpoint>, IscsiError>,
    portal: &Portal,
    name: &TargetName,
) -> Result<KnownTarget, IscsiError> {
    let targets = match known.and_then(|known| initiator.target_of(&known, name)) {
        Ok(Some(target)) => return Ok(target),
        Ok(None) => IscsiError::TargetNotFound {
            target: name.to_string(),
            portal: portal.to_string(),
        },
        Err(error @ IscsiError::PortalNotFound { .. }) => error,
        Err(error) => return Err(error),
    };
    let target = initiator.any_target(name)?.ok_or_else(|| targets.clone())?;
    let sessions = initiator.sessions(&target)?;
    if sessions.is_empty() {
        return Err(targets);
    }
    let connections = initiator.connections(&target)?;
    let mut leads = connections
        .iter()
        .map(|one| portal.is(&one.address, one.port));
    if connections.is_empty() || leads.any(|leads| leads) {
        return Ok(target);
    }
    Err(IscsiError::Elsewhere {
        target: name.to_string(),
        portal: portal.to_string(),
        sessions: sessions.into_iter().map(|session| session.id).collect(),
    })
}

fn sole_portal(portal: &Portal, known: Vec<Endpoint>) -> Result<Endpoint, IscsiError> {
    let seen: Vec<_> = known.iter().map(|one| one.path.to_string()).collect();
    let mut known = known.into_iter();
    match (known.next(), known.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(ProviderError::several(&format_args!("target portal {portal}"), seen).into()),
    }
}

/// The arguments that name a portal as we spell it.
fn address(portal: &Portal, address: &'static str, port: &'static str) -> Arguments {
    Arguments::none()
        .with(address, Value::text(portal.host()))
        .with(port, Value::uint16(portal.port()))
}

/// The arguments that name a portal as Windows spells it.
fn spelled(known: &Endpoint, address: &'static str, port: &'static str) -> Arguments {
    Arguments::none()
        .with(address, Value::text(&known.address))
        .with(port, Value::uint32(known.port))
}
