use std::collections::BTreeSet;
use std::fmt;

use node::api::{Error, Feature, Iscsi, Result};
use node::{Authentication, ChapSecret, Connected, LoginOptions, Portal, SessionInfo, TargetName};
use os::{Deadline, DiskNumber};
use wire::iscsi::{v1alpha1, v1alpha2};

use super::{disk_of_text, unsupported};
use crate::Node;
use crate::dialect::dialects;

impl Iscsi for Node {
    fn add_portal(
        &self,
        portal: &Portal,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()> {
        if !matches!(authentication, Authentication::None) {
            let cause = unsupported("CHAP at discovery", Feature::PortalAuthentication);
            return Err(Error::new("add portal", portal, cause));
        }
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] AddTargetPortal: AddTargetPortalRequest {
                target_portal: Some(Sent(portal).into()),
            } => |_| Ok(());
        ];
        self.change("add portal", &[portal], deadline, &spoken)
    }

    fn probe(&self, portal: &Portal, _deadline: Deadline) -> Result<()> {
        let cause = unsupported("probing a portal", Feature::PortalProbe);
        Err(Error::new("probe portal", portal, cause))
    }

    fn refresh(&self, portal: &Portal, _deadline: Deadline) -> Result<()> {
        let cause = unsupported("refreshing a portal", Feature::PortalRefresh);
        Err(Error::new("refresh portal", portal, cause))
    }

    fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] DiscoverTargetPortal: DiscoverTargetPortalRequest {
                target_portal: Some(Sent(portal).into()),
            } => |answer| Ok(answer.iqns);
        ];
        self.look("discover", &[portal], deadline, &spoken)
    }

    fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] RemoveTargetPortal: RemoveTargetPortalRequest {
                target_portal: Some(Sent(portal).into()),
            } => |_| Ok(());
        ];
        self.change("remove portal", &[portal], deadline, &spoken)
    }

    fn portals(&self, deadline: Deadline) -> Result<Vec<(String, u32)>> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] ListTargetPortals: ListTargetPortalsRequest {} => |answer| {
                let portals = answer.target_portals.into_iter();
                Ok(portals.map(|one| (one.target_address, one.target_port)).collect())
            };
        ];
        self.look("list the portals", &[], deadline, &spoken)
    }

    fn connect(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        deadline: Deadline,
    ) -> Result<()> {
        let (auth_type, chap) = match authentication {
            Authentication::None => (v1alpha2::AuthenticationType::None, None),
            Authentication::OneWayChap(chap) => {
                (v1alpha2::AuthenticationType::OneWayChap, Some(chap))
            }
            Authentication::MutualChap(chap) => {
                (v1alpha2::AuthenticationType::MutualChap, Some(chap))
            }
        };
        let username = chap.and_then(|chap| chap.username()).unwrap_or_default();
        let secret = chap.map_or("", |chap| chap.secret().expose());
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] ConnectTarget: ConnectTargetRequest {
                target_portal: Some(Sent(portal).into()),
                iqn: target.to_string(),
                auth_type: auth_type.into(),
                chap_username: username.to_owned(),
                chap_secret: secret.to_owned(),
            } => |_| Ok(());
        ];
        self.change("connect", &[target, portal], deadline, &spoken)
    }

    fn connect_with(
        &self,
        portal: &Portal,
        target: &TargetName,
        authentication: &Authentication,
        options: &LoginOptions,
        deadline: Deadline,
    ) -> Result<Connected> {
        if let Some(option) = options.names().next() {
            let cause = unsupported(option, Feature::LoginOptions);
            return Err(Error::new("connect", target, cause));
        }
        let connected = self.connect(portal, target, authentication, deadline);
        connected.map(|()| Connected::Unreported)
    }

    fn sessions(&self, _deadline: Deadline) -> Result<Vec<SessionInfo>> {
        let cause = unsupported("listing sessions", Feature::SessionList);
        Err(Error::new("list", "sessions", cause))
    }

    fn disconnect(&self, portal: &Portal, target: &TargetName, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] DisconnectTarget: DisconnectTargetRequest {
                target_portal: Some(Sent(portal).into()),
                iqn: target.to_string(),
            } => |_| Ok(());
        ];
        self.change("disconnect", &[target, portal], deadline, &spoken)
    }

    fn log_out(&self, target: &TargetName, _session: &str, _deadline: Deadline) -> Result<()> {
        let cause = unsupported("logging out of one session", Feature::SessionLogout);
        Err(Error::new("log out of", target, cause))
    }

    /// With several connections csi-proxy names a disk several times.
    fn disks(
        &self,
        portal: &Portal,
        target: &TargetName,
        deadline: Deadline,
    ) -> Result<BTreeSet<DiskNumber>> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] GetTargetDisks: GetTargetDisksRequest {
                target_portal: Some(Sent(portal).into()),
                iqn: target.to_string(),
            } => |answer| answer.disk_ids.iter().map(|id| disk_of_text(id)).collect();
        ];
        let about: [&dyn fmt::Display; 2] = [target, portal];
        self.look("list the disks of", &about, deadline, &spoken)
    }

    fn set_mutual_chap_secret(&self, secret: &ChapSecret, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            iscsi[v1alpha2] SetMutualChapSecret: SetMutualChapSecretRequest {
                mutual_chap_secret: secret.expose().to_owned(),
            } => |_| Ok(());
        ];
        self.change("set the mutual CHAP secret", &[], deadline, &spoken)
    }
}

/// A portal on its way into a message.
struct Sent<'a>(&'a Portal);

impl From<Sent<'_>> for v1alpha1::TargetPortal {
    fn from(Sent(portal): Sent<'_>) -> Self {
        Self {
            target_address: portal.host(),
            target_port: portal.port().into(),
        }
    }
}

impl From<Sent<'_>> for v1alpha2::TargetPortal {
    fn from(Sent(portal): Sent<'_>) -> Self {
        Self {
            target_address: portal.host(),
            target_port: portal.port().into(),
        }
    }
}
