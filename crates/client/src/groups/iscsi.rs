use node::api::ChapSecret;
use node::api::Iscsi;
use node::api::Login;
use node::api::Portal;
use node::api::Result;
use node::api::Target;
use os::Deadline;
use os::DiskNumber;
use wire::iscsi::v1alpha1;
use wire::iscsi::v1alpha2;

use super::Read;
use super::disk_of_text;
use super::malformed;
use crate::Node;
use crate::dialect::dialects;

impl Iscsi for Node {
    fn add_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] AddTargetPortal: AddTargetPortalRequest {
                target_portal: Some(Sent(portal).into()),
            } => |_| Ok(());
        ];
        self.change("add portal", &[portal], deadline, &spoken)
    }

    fn discover(&self, portal: &Portal, deadline: Deadline) -> Result<Vec<String>> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] DiscoverTargetPortal: DiscoverTargetPortalRequest {
                target_portal: Some(Sent(portal).into()),
            } => |answer| Ok(answer.iqns);
        ];
        self.look(
            "discover the targets of portal",
            &[portal],
            deadline,
            &spoken,
        )
    }

    fn remove_portal(&self, portal: &Portal, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] RemoveTargetPortal: RemoveTargetPortalRequest {
                target_portal: Some(Sent(portal).into()),
            } => |_| Ok(());
        ];
        self.change("remove portal", &[portal], deadline, &spoken)
    }

    fn portals(&self, deadline: Deadline) -> Result<Vec<Portal>> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] ListTargetPortals: ListTargetPortalsRequest {} => |answer| {
                let portals = answer.target_portals.into_iter();
                portals.map(|one| portal(one.target_address, one.target_port)).collect()
            };
        ];
        self.look("list the portals", &[], deadline, &spoken)
    }

    fn connect(&self, target: &Target, login: Login<'_>, deadline: Deadline) -> Result<()> {
        let username = login.chap().map_or("", |chap| &chap.username);
        let secret = login.chap().map_or("", |chap| chap.secret.expose());
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] ConnectTarget: ConnectTargetRequest {
                target_portal: Some(Sent(&target.portal).into()),
                iqn: target.iqn.clone(),
                auth_type: auth_type(login),
                chap_username: username.to_owned(),
                chap_secret: secret.to_owned(),
            } => |_| Ok(());
        ];
        self.change(
            "connect to",
            &[&target.iqn, &target.portal],
            deadline,
            &spoken,
        )
    }

    fn disconnect(&self, target: &Target, deadline: Deadline) -> Result<()> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] DisconnectTarget: DisconnectTargetRequest {
                target_portal: Some(Sent(&target.portal).into()),
                iqn: target.iqn.clone(),
            } => |_| Ok(());
        ];
        let about: [&dyn std::fmt::Display; 2] = [&target.iqn, &target.portal];
        self.change("disconnect from", &about, deadline, &spoken)
    }

    /// With several connections csi-proxy names a disk several times.
    fn target_disks(&self, target: &Target, deadline: Deadline) -> Result<Vec<DiskNumber>> {
        let spoken = dialects![
            iscsi[v1alpha2 v1alpha1] GetTargetDisks: GetTargetDisksRequest {
                target_portal: Some(Sent(&target.portal).into()),
                iqn: target.iqn.clone(),
            } => |answer| answer.disk_ids.iter().map(|id| disk_of_text(id)).collect();
        ];
        let about: [&dyn std::fmt::Display; 2] = [&target.iqn, &target.portal];
        let mut disks: Vec<_> = self.look("list the disks of", &about, deadline, &spoken)?;
        disks.sort_unstable();
        disks.dedup();
        Ok(disks)
    }

    fn set_mutual_secret(&self, secret: &ChapSecret, deadline: Deadline) -> Result<()> {
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
            target_address: portal.address.clone(),
            target_port: portal.port.into(),
        }
    }
}

impl From<Sent<'_>> for v1alpha2::TargetPortal {
    fn from(Sent(portal): Sent<'_>) -> Self {
        Self {
            target_address: portal.address.clone(),
            target_port: portal.port.into(),
        }
    }
}

/// A port of zero stands for iSCSI's own.
fn portal(address: String, port: u32) -> Read<Portal> {
    let wrong = |_| malformed(format_args!("a portal at port {port}"));
    let port = match u16::try_from(port).map_err(wrong)? {
        0 => Portal::PORT,
        port => port,
    };
    Ok(Portal { address, port })
}

/// `NONE`, `ONE_WAY_CHAP`, `MUTUAL_CHAP`: the same numbers in both versions.
fn auth_type(login: Login<'_>) -> i32 {
    match login {
        Login::Anonymous => 0,
        Login::OneWay(_) => 1,
        Login::Mutual(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_never_cut() {
        assert_eq!(portal("a".into(), 0), Ok(Portal::at("a")));
        assert!(portal("a".into(), 65_536 + 3260).is_err());
    }
}
