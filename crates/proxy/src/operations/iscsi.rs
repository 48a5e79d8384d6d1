use node::{Authentication, Chap, ChapSecret, IscsiError, Portal, TargetName};
use os::Deadline;
use zeroize::Zeroizing;

use super::PipeOperations;

/// A portal as a client names it: nothing when the message has none.
#[derive(Clone, Copy)]
pub(crate) struct PortalRequest<'a>(pub(crate) Option<(&'a str, u32)>);

/// A target of a portal, as a client names it.
#[derive(Clone, Copy)]
pub(crate) struct TargetRequest<'a> {
    pub(crate) portal: PortalRequest<'a>,
    pub(crate) iqn: &'a str,
}

/// How a client wants to log in. The secret is taken out of its message, not copied.
pub(crate) struct LoginRequest<'a> {
    pub(crate) auth_type: i32,
    pub(crate) chap_username: &'a str,
    pub(crate) chap_secret: Zeroizing<String>,
}

/// A message without a required part, or a failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IscsiFailure {
    /// An unknown kind of authentication. The text is csi-proxy's.
    #[error("invalid authentication type authType={0}")]
    AuthenticationType(i32),
    #[error("target portal is missing")]
    NoPortal,
    #[error(transparent)]
    Operation(#[from] IscsiError),
}

type Result<T> = std::result::Result<T, IscsiFailure>;

impl PipeOperations {
    pub(crate) fn add_target_portal(
        &self,
        portal: PortalRequest<'_>,
        deadline: Deadline,
    ) -> Result<()> {
        let portal = portal.parse()?;
        let iscsi = self.node.operations().iscsi();
        Ok(iscsi.add_portal(&portal, &Authentication::None, deadline)?)
    }

    pub(crate) fn discover_target_portal(
        &self,
        portal: PortalRequest<'_>,
        deadline: Deadline,
    ) -> Result<Vec<String>> {
        Ok(self
            .node
            .operations()
            .iscsi()
            .discover(&portal.parse()?, deadline)?)
    }

    pub(crate) fn target_portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>> {
        Ok(self.node.operations().iscsi().portals(deadline)?)
    }

    pub(crate) fn remove_target_portal(
        &self,
        portal: PortalRequest<'_>,
        deadline: Deadline,
    ) -> Result<()> {
        let portal = portal.parse()?;
        Ok(self
            .node
            .operations()
            .iscsi()
            .remove_portal(&portal, deadline)?)
    }

    /// A target that is connected otherwise is success, as for csi-proxy; `node` logs the difference.
    pub(crate) fn connect_target(
        &self,
        target: TargetRequest<'_>,
        login: LoginRequest<'_>,
        deadline: Deadline,
    ) -> Result<()> {
        let (portal, name) = target.parse()?;
        let authentication = login.parse()?;
        let iscsi = self.node.operations().iscsi();
        iscsi.connect(&portal, &name, &authentication, deadline)?;
        Ok(())
    }

    pub(crate) fn disconnect_target(
        &self,
        target: TargetRequest<'_>,
        deadline: Deadline,
    ) -> Result<()> {
        let (portal, name) = target.parse()?;
        Ok(self
            .node
            .operations()
            .iscsi()
            .disconnect(&portal, &name, deadline)?)
    }

    /// The numbers of the target's disks as decimal text, in order of the numbers.
    pub(crate) fn target_disks(
        &self,
        target: TargetRequest<'_>,
        deadline: Deadline,
    ) -> Result<Vec<String>> {
        let (portal, name) = target.parse()?;
        let iscsi = self.node.operations().iscsi();
        let disks = iscsi.noticed_disks(&portal, &name, deadline)?;
        Ok(disks.iter().map(ToString::to_string).collect())
    }

    pub(crate) fn set_mutual_chap_secret(
        &self,
        secret: Zeroizing<String>,
        deadline: Deadline,
    ) -> Result<()> {
        let secret = ChapSecret::new(secret)?;
        let iscsi = self.node.operations().iscsi();
        Ok(iscsi.set_mutual_chap_secret(&secret, deadline)?)
    }
}

impl PortalRequest<'_> {
    fn parse(self) -> Result<Portal> {
        let (address, port) = self.0.ok_or(IscsiFailure::NoPortal)?;
        Ok(Portal::parse(address, port)?)
    }
}

impl TargetRequest<'_> {
    fn parse(self) -> Result<(Portal, TargetName)> {
        Ok((self.portal.parse()?, TargetName::parse(self.iqn)?))
    }
}

impl LoginRequest<'_> {
    /// The numbers of `AuthenticationType`, the same in every version.
    fn parse(self) -> Result<Authentication> {
        match self.auth_type {
            0 => Ok(Authentication::None),
            1 => Ok(Authentication::OneWayChap(self.chap()?)),
            2 => Ok(Authentication::MutualChap(self.chap()?)),
            other => Err(IscsiFailure::AuthenticationType(other)),
        }
    }

    fn chap(self) -> Result<Chap> {
        let secret = ChapSecret::new(self.chap_secret)?;
        Ok(Chap::new(self.chap_username, secret)?)
    }
}
