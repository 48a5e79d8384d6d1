use std::mem;

use zeroize::Zeroizing;

use crate::operations::{LoginRequest, PortalRequest, TargetRequest};
use crate::registry::Registry;

pub(super) fn register(registry: &mut Registry) {
    v1alpha1::register(registry);
    v1alpha2::register(registry);
    registry.on::<wire::iscsi::v1alpha2::rpc::SetMutualChapSecret>(
        |proxy, mut request, deadline| {
            let secret = Zeroizing::new(mem::take(&mut request.mutual_chap_secret));
            proxy.set_mutual_chap_secret(secret, deadline)?;
            Ok(wire::iscsi::v1alpha2::SetMutualChapSecretResponse {})
        },
    );
}

/// Both versions have the same messages under other packages.
macro_rules! version {
    ($version:ident) => {
        mod $version {
            use wire::iscsi::$version::*;

            use super::*;

            pub(super) fn register(registry: &mut Registry) {
                portals(registry);
                targets(registry);
            }

            fn portals(registry: &mut Registry) {
                registry.on::<rpc::AddTargetPortal>(|proxy, request, deadline| {
                    proxy.add_target_portal(portal(&request.target_portal), deadline)?;
                    Ok(AddTargetPortalResponse {})
                });
                registry.on::<rpc::DiscoverTargetPortal>(|proxy, request, deadline| {
                    let portal = portal(&request.target_portal);
                    let iqns = proxy.discover_target_portal(portal, deadline)?;
                    Ok(DiscoverTargetPortalResponse { iqns })
                });
                registry.on::<rpc::RemoveTargetPortal>(|proxy, request, deadline| {
                    proxy.remove_target_portal(portal(&request.target_portal), deadline)?;
                    Ok(RemoveTargetPortalResponse {})
                });
                registry.on::<rpc::ListTargetPortals>(|proxy, _, deadline| {
                    let portals = proxy.target_portals(deadline)?.into_iter();
                    let target_portals = portals.map(wire_portal).collect();
                    Ok(ListTargetPortalsResponse { target_portals })
                });
            }

            fn targets(registry: &mut Registry) {
                registry.on::<rpc::ConnectTarget>(|proxy, mut request, deadline| {
                    let chap_secret = Zeroizing::new(mem::take(&mut request.chap_secret));
                    let login = LoginRequest {
                        auth_type: request.auth_type,
                        chap_username: &request.chap_username,
                        chap_secret,
                    };
                    let target = target(&request.target_portal, &request.iqn);
                    proxy.connect_target(target, login, deadline)?;
                    Ok(ConnectTargetResponse {})
                });
                registry.on::<rpc::DisconnectTarget>(|proxy, request, deadline| {
                    let target = target(&request.target_portal, &request.iqn);
                    proxy.disconnect_target(target, deadline)?;
                    Ok(DisconnectTargetResponse {})
                });
                registry.on::<rpc::GetTargetDisks>(|proxy, request, deadline| {
                    let target = target(&request.target_portal, &request.iqn);
                    let disk_ids = proxy.target_disks(target, deadline)?;
                    Ok(GetTargetDisksResponse { disk_ids })
                });
            }

            fn target<'a>(named: &'a Option<TargetPortal>, iqn: &'a str) -> TargetRequest<'a> {
                let portal = portal(named);
                TargetRequest { portal, iqn }
            }

            fn portal(named: &Option<TargetPortal>) -> PortalRequest<'_> {
                let portal = named.as_ref();
                PortalRequest(portal.map(|it| (it.target_address.as_str(), it.target_port)))
            }

            fn wire_portal((target_address, target_port): (String, u32)) -> TargetPortal {
                TargetPortal {
                    target_address,
                    target_port,
                }
            }
        }
    };
}

version!(v1alpha1);
version!(v1alpha2);
