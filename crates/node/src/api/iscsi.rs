use std::collections::BTreeSet;

use os::{Deadline, DiskNumber};

use super::Result;
#[allow(unused_imports, reason = "the pages link to them")]
use super::links::*;
use super::operations::operations;
use crate::{Authentication, ChapSecret, Connected, LoginOptions, Portal, SessionInfo, TargetName};

operations! {
by deadline;

/// The operations on iSCSI portals, targets and sessions.
pub trait Iscsi {
    /// Makes a portal known to the node, and asks it for its targets, with these credentials of discovery; the initiator
    /// keeps them. A portal that is known is left as it is, whatever its credentials, and is not asked.
    ///
    /// # Errors
    /// [`ServerNotFound`], [`ServiceStopped`], [`LogonFailure`], [`AccessDenied`], [`NotReady`].
    /// [`Cause::Unsupported`] with CHAP without [`Feature::PortalAuthentication`].
    fn add_portal(
        &self,
        portal: &Portal,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()>
        = iscsi.add_portal, "add portal", portal;

    /// Whether a portal takes a TCP connection within three seconds. The connection is closed at once.
    ///
    /// # Errors
    /// [`ServerAway`], [`ServerNotFound`]; [`Cause::Deadline`] of one that does not answer. [`Cause::Unsupported`] without
    /// [`Feature::PortalProbe`].
    fn probe(&self, portal: &Portal, deadline: Deadline) -> Result<()>
        = iscsi.probe, "probe portal", portal;

    /// Makes the initiator query a known portal's targets again.
    ///
    /// # Errors
    /// [`NotFound`], [`ServerNotFound`], [`ServiceStopped`], [`NotReady`]. [`Cause::Unsupported`] without
    /// [`Feature::PortalRefresh`].
    fn refresh(&self, portal: &Portal, deadline: Deadline) -> Result<()>
        = iscsi.refresh, "refresh portal", portal;

    /// The qualified names of the targets that a known portal offers, sorted. The portal is queried again, unlike by
    /// csi-proxy; if it does not answer, that is logged and its earlier answer is returned. Windows identifies a
    /// portal's object only by the address, so the ports of one address report their targets together.
    ///
    /// # Errors
    /// [`NotFound`], [`ServerNotFound`], [`ServiceStopped`], [`NotReady`].
    fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>>
        = iscsi.discover, "discover", portal;

    /// Makes the node forget a portal. Sessions that came about through it stay.
    ///
    /// # Errors
    /// [`NotFound`], [`Ambiguous`], [`ServiceStopped`].
    fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()>
        = iscsi.remove_portal, "remove portal", portal;

    /// The portals that the node knows: address and port of each, as Windows spells them.
    ///
    /// # Errors
    /// [`ServiceStopped`], [`NotReady`].
    fn portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>>
        = iscsi.portals, "list", "portals";

    /// Logs in to a target through a portal, until the next restart. A target that is connected stays as it is,
    /// whatever portal and authentication it was connected with: somebody works with it, and its disks are the whole
    /// node's anyway. A target that the portal has not told of is looked for once more after a refresh of the portal.
    ///
    /// # Errors
    /// [`NotFound`], [`AlreadyConnected`], [`LogonFailure`], [`AccessDenied`], [`ServerNotFound`], [`ServiceStopped`].
    fn connect(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()>
        = iscsi.connect, "connect", target => drop;

    /// [`Iscsi::connect`] with a session that has these options. A session that is there already stays as it is, and
    /// the answer lists its differences; without [`Feature::Outcomes`] it is [`Connected::Unreported`].
    ///
    /// # Errors
    /// As [`Iscsi::connect`]. [`Cause::Unsupported`] without [`Feature::LoginOptions`], for each option.
    fn connect_with(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        options: &LoginOptions,
        deadline: Deadline,
    ) -> Result<Connected>
        = iscsi.connect_with, "connect", target;

    /// All sessions of the node, also those that others made, sorted by their identifiers.
    ///
    /// # Errors
    /// [`ServiceStopped`], [`NotReady`]. [`Cause::Unsupported`] without [`Feature::SessionList`].
    fn sessions(&self, deadline: Deadline) -> Result<Vec<SessionInfo>>
        = iscsi.sessions, "list", "sessions";

    /// Logs out of all sessions of a target that the portal leads to, those that would come back after a restart
    /// included, and those that came about through other portals. One that is not connected is left as it is.
    ///
    /// # Errors
    /// [`NotFound`]; [`InUse`] while somebody uses a disk of it; [`ServiceStopped`].
    fn disconnect(&self, portal: &Portal, target: &TargetName, deadline: Deadline) -> Result<()>
        = iscsi.disconnect, "disconnect", target;

    /// Logs out of one session of a target, by the identifier that [`Iscsi::sessions`] reports. A login that would come
    /// back after a restart is taken back first. The other sessions stay, and a session that is gone is left so.
    ///
    /// Before it, the node rescans for disks. A session stays while a disk that no other connected session of the target
    /// brings is online: [`Disks::take_offline`] comes first.
    ///
    /// # Errors
    /// [`InUse`] while such a disk is online, or somebody uses it all the same; [`Other`] if the identifier is another
    /// target's; [`ServiceStopped`]; [`NotReady`]. [`Cause::Unsupported`] without [`Feature::SessionLogout`].
    fn log_out(&self, target: &TargetName, session: &str, deadline: Deadline) -> Result<()>
        = iscsi.log_out, "log out of", target;

    /// The disks of a target, as far as the storage provider knows them; none while it is not connected. In the three
    /// seconds after a login of this process it is waited for a first disk, as the provider notices disks late. What
    /// changes a disk takes one that [`Disks::find`] found, by [`crate::Criterion::IscsiTarget`] say.
    ///
    /// # Errors
    /// [`NotFound`], [`ServiceStopped`], [`NotReady`].
    fn disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>>
        = iscsi.noticed_disks, "list the disks of", target;

    /// Sets the secret by which targets prove themselves to this node, for all of them.
    ///
    /// # Errors
    /// [`ServiceStopped`], [`NotReady`], [`AccessDenied`].
    fn set_mutual_chap_secret(&self, secret: &ChapSecret, deadline: Deadline) -> Result<()>
        = iscsi.set_mutual_chap_secret, "set", "the mutual CHAP secret";
}
}
