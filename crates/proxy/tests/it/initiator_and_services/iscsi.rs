//! The group iscsi.

use wire::iscsi::v1alpha2 as newest;

use crate::initiator_and_services::fixture::{
    ADDRESS, GUARDED, OPEN, PROOF, SECRET, proxy, proxy_of, servers, spec,
};
use crate::support::Proxy;

const CHAP_RULE: &str = "a CHAP secret must have 12 to 16 bytes, and no NUL";

/// The tests of every RPC common to the versions.
macro_rules! version {
    ($version:ident) => {
        mod $version {
            use wire::disk::v1 as disk;
            use wire::iscsi::$version::*;

            use super::*;

            fn portal(target_address: &str, target_port: u32) -> Option<TargetPortal> {
                Some(TargetPortal {
                    target_address: target_address.to_owned(),
                    target_port,
                })
            }

            fn add(fixture: &Proxy) {
                let target_portal = portal(ADDRESS, 0);
                fixture.answer::<rpc::AddTargetPortal>(&AddTargetPortalRequest { target_portal });
            }

            fn login(iqn: &str, auth_type: i32, secret: &str) -> ConnectTargetRequest {
                ConnectTargetRequest {
                    target_portal: portal(ADDRESS, 3260),
                    iqn: iqn.to_owned(),
                    auth_type,
                    chap_username: "node".to_owned(),
                    chap_secret: secret.to_owned(),
                }
            }

            fn logout(iqn: &str) -> DisconnectTargetRequest {
                DisconnectTargetRequest {
                    target_portal: portal(ADDRESS, 3260),
                    iqn: iqn.to_owned(),
                }
            }

            fn disks(fixture: &Proxy, iqn: &str) -> Vec<String> {
                fixture.answer::<disk::rpc::Rescan>(&disk::RescanRequest {});
                let request = GetTargetDisksRequest {
                    target_portal: portal(ADDRESS, 3260),
                    iqn: iqn.to_owned(),
                };
                fixture.answer::<rpc::GetTargetDisks>(&request).disk_ids
            }

            #[test]
            fn a_portal_is_listed_from_add_until_remove() {
                let fixture = proxy();
                let listed = || {
                    let list =
                        fixture.answer::<rpc::ListTargetPortals>(&ListTargetPortalsRequest {});
                    list.target_portals
                };
                assert_eq!(listed(), []);
                add(&fixture);
                add(&fixture);
                assert_eq!(listed(), [portal(ADDRESS, 3260).unwrap()]);
                let discovered =
                    fixture.answer::<rpc::DiscoverTargetPortal>(&DiscoverTargetPortalRequest {
                        target_portal: portal(ADDRESS, 3260),
                    });
                assert_eq!(discovered.iqns, [GUARDED, OPEN]);
                let remove = RemoveTargetPortalRequest {
                    target_portal: portal(ADDRESS, 0),
                };
                fixture.answer::<rpc::RemoveTargetPortal>(&remove);
                assert_eq!(listed(), []);
                let again = fixture.complaint::<rpc::RemoveTargetPortal>(&remove);
                assert!(again.ends_with(": not found"), "{again}");
                let discover = DiscoverTargetPortalRequest {
                    target_portal: portal(ADDRESS, 3260),
                };
                let unknown = fixture.complaint::<rpc::DiscoverTargetPortal>(&discover);
                assert!(unknown.ends_with(": not found"), "{unknown}");
            }

            #[test]
            fn a_target_is_connected_and_its_disk_found_and_left() {
                let fixture = proxy();
                add(&fixture);
                assert_eq!(disks(&fixture, OPEN), Vec::<String>::new());
                fixture.answer::<rpc::ConnectTarget>(&login(OPEN, 0, ""));
                fixture.answer::<rpc::ConnectTarget>(&login(OPEN, 0, ""));
                let found = disks(&fixture, OPEN);
                assert_eq!(found.len(), 1, "{found:?}");
                assert!(found[0].parse::<u32>().is_ok(), "{found:?}");
                fixture.answer::<rpc::DisconnectTarget>(&logout(OPEN));
                fixture.answer::<rpc::DisconnectTarget>(&logout(OPEN));
                assert_eq!(disks(&fixture, OPEN), Vec::<String>::new());
            }

            #[test]
            fn chap_opens_what_asks_for_it() {
                let fixture = proxy();
                add(&fixture);
                let wrong =
                    fixture.complaint::<rpc::ConnectTarget>(&login(GUARDED, 1, "wrong0123456"));
                assert!(wrong.contains("authentication failed"), "{wrong}");
                assert!(!wrong.contains("wrong0123456"), "{wrong}");
                fixture.answer::<rpc::ConnectTarget>(&login(GUARDED, 1, SECRET));
                assert_eq!(disks(&fixture, GUARDED).len(), 1);
            }

            /// Guards: P25
            #[test]
            fn weakness_1_a_request_without_a_portal_is_an_error_for_its_caller_alone() {
                let fixture = proxy();
                let missing = "target portal is missing";
                let add = AddTargetPortalRequest::default();
                assert_eq!(fixture.complaint::<rpc::AddTargetPortal>(&add), missing);
                let discover = DiscoverTargetPortalRequest::default();
                assert_eq!(
                    fixture.complaint::<rpc::DiscoverTargetPortal>(&discover),
                    missing
                );
                let remove = RemoveTargetPortalRequest::default();
                assert_eq!(
                    fixture.complaint::<rpc::RemoveTargetPortal>(&remove),
                    missing
                );
                let connect = ConnectTargetRequest::default();
                assert_eq!(fixture.complaint::<rpc::ConnectTarget>(&connect), missing);
                let disconnect = DisconnectTargetRequest::default();
                assert_eq!(
                    fixture.complaint::<rpc::DisconnectTarget>(&disconnect),
                    missing
                );
                let of = GetTargetDisksRequest::default();
                assert_eq!(fixture.complaint::<rpc::GetTargetDisks>(&of), missing);
                fixture.answer::<rpc::ListTargetPortals>(&ListTargetPortalsRequest {});
            }

            /// Guards: P39
            #[test]
            fn weakness_25_a_port_beyond_sixteen_bits_is_refused() {
                let fixture = proxy();
                add(&fixture);
                let target_portal = portal(ADDRESS, 65_536 + 3260);
                let text = "target port 68796 is not valid: ports have 16 bits";
                let add = AddTargetPortalRequest {
                    target_portal: target_portal.clone(),
                };
                assert_eq!(fixture.complaint::<rpc::AddTargetPortal>(&add), text);
                let discover = DiscoverTargetPortalRequest {
                    target_portal: target_portal.clone(),
                };
                assert_eq!(
                    fixture.complaint::<rpc::DiscoverTargetPortal>(&discover),
                    text
                );
                let remove = RemoveTargetPortalRequest {
                    target_portal: target_portal.clone(),
                };
                assert_eq!(fixture.complaint::<rpc::RemoveTargetPortal>(&remove), text);
                let mut connect = login(OPEN, 0, "");
                connect.target_portal = target_portal;
                assert_eq!(fixture.complaint::<rpc::ConnectTarget>(&connect), text);
            }

            #[test]
            fn bad_input_is_refused_before_anything_is_done() {
                let fixture = proxy();
                add(&fixture);
                let refused = |request| fixture.complaint::<rpc::ConnectTarget>(&request);
                for auth_type in [3, -1, i32::MAX] {
                    assert_eq!(
                        refused(login(OPEN, auth_type, "")),
                        format!("invalid authentication type authType={auth_type}")
                    );
                }
                for secret in ["", "short", "0123456789abcdefg", "0123456789a\0"] {
                    assert_eq!(refused(login(GUARDED, 1, secret)), CHAP_RULE);
                    assert_eq!(refused(login(GUARDED, 2, secret)), CHAP_RULE);
                }
                let nul = refused(login("iqn.2026-01.com.example:op\0en", 0, ""));
                assert!(nul.contains("is not valid"), "{nul}");
                let mut nobody = login(OPEN, 0, "");
                nobody.target_portal = portal("10.0.0.9\0", 0);
                let nobody = refused(nobody);
                assert!(nobody.contains("neither an IP address"), "{nobody}");
                let mut cut = login(GUARDED, 1, SECRET);
                cut.chap_username = "no\0de".to_owned();
                assert_eq!(refused(cut), "a CHAP user name must have no NUL");
                assert_eq!(disks(&fixture, OPEN), Vec::<String>::new());
            }

            #[test]
            fn what_is_unknown_is_object_not_found_and_what_is_out_of_reach_is_not() {
                let fixture = proxy();
                let of = GetTargetDisksRequest {
                    target_portal: portal(ADDRESS, 3260),
                    iqn: "iqn.2026-01.com.example:none".to_owned(),
                };
                let leave = DisconnectTargetRequest {
                    target_portal: of.target_portal.clone(),
                    iqn: of.iqn.clone(),
                };
                let texts = || {
                    [
                        fixture.complaint::<rpc::GetTargetDisks>(&of),
                        fixture.complaint::<rpc::DisconnectTarget>(&leave),
                    ]
                };
                let are_not_found = || {
                    texts().iter().all(|text| {
                        text.contains("ObjectNotFound") && text.ends_with(": not found")
                    })
                };
                assert!(are_not_found(), "no portal: {:?}", texts());
                add(&fixture);
                assert!(are_not_found(), "no target: {:?}", texts());
                let stop = wire::system::v1alpha1::StopServiceRequest {
                    name: "MSiSCSI".to_owned(),
                    force: false,
                };
                fixture.answer::<wire::system::v1alpha1::rpc::StopService>(&stop);
                for text in texts() {
                    assert!(!text.contains("ObjectNotFound"), "{text}");
                    assert!(text.contains("service is not running"), "{text}");
                }
            }

            #[test]
            fn a_session_without_a_connection_is_logged_in_and_a_refusal_is_not() {
                const TEXT: &str = "The target has already been logged in via an iSCSI session";
                let fixture = proxy();
                add(&fixture);
                let refused = fixture.complaint::<rpc::ConnectTarget>(&login(GUARDED, 0, ""));
                assert!(!refused.contains(TEXT), "{refused}");
                fixture.answer::<rpc::ConnectTarget>(&login(OPEN, 0, ""));
                servers(&fixture).set_down("array", true).unwrap();
                let lost = fixture.complaint::<rpc::ConnectTarget>(&login(OPEN, 0, ""));
                assert!(lost.contains(TEXT), "{lost}");
                let down = fixture.complaint::<rpc::ConnectTarget>(&login(GUARDED, 1, SECRET));
                assert!(!down.contains(TEXT), "{down}");
            }
        }
    };
}

version!(v1alpha1);
version!(v1alpha2);

/// As csi-proxy's own integration test lists them.
#[test]
fn a_disk_is_listed_right_after_the_login() {
    let mut spec = spec();
    spec.storage.arrival_delay_ms = 100;
    let fixture = proxy_of(&spec);
    let target_portal = Some(newest::TargetPortal {
        target_address: ADDRESS.to_owned(),
        target_port: 0,
    });
    let add = newest::AddTargetPortalRequest {
        target_portal: target_portal.clone(),
    };
    fixture.answer::<newest::rpc::AddTargetPortal>(&add);
    let login = newest::ConnectTargetRequest {
        target_portal: target_portal.clone(),
        iqn: OPEN.to_owned(),
        auth_type: newest::AuthenticationType::None.into(),
        chap_username: String::new(),
        chap_secret: String::new(),
    };
    fixture.answer::<newest::rpc::ConnectTarget>(&login);
    let of = newest::GetTargetDisksRequest {
        target_portal,
        iqn: OPEN.to_owned(),
    };
    let listed = fixture.answer::<newest::rpc::GetTargetDisks>(&of);
    assert_eq!(listed.disk_ids.len(), 1);
}

#[test]
fn the_mutual_secret_opens_what_proves_itself() {
    let fixture = proxy();
    let target_portal = Some(newest::TargetPortal {
        target_address: ADDRESS.to_owned(),
        target_port: 0,
    });
    let add = newest::AddTargetPortalRequest {
        target_portal: target_portal.clone(),
    };
    fixture.answer::<newest::rpc::AddTargetPortal>(&add);
    let login = newest::ConnectTargetRequest {
        target_portal,
        iqn: GUARDED.to_owned(),
        auth_type: newest::AuthenticationType::MutualChap.into(),
        chap_username: "node".to_owned(),
        chap_secret: SECRET.to_owned(),
    };
    let secret = |text: &str| newest::SetMutualChapSecretRequest {
        mutual_chap_secret: text.to_owned(),
    };
    fixture.complaint::<newest::rpc::ConnectTarget>(&login);
    for text in ["", "short", "0123456789abcdefg"] {
        let refused = fixture.complaint::<newest::rpc::SetMutualChapSecret>(&secret(text));
        assert_eq!(refused, CHAP_RULE);
    }
    fixture.answer::<newest::rpc::SetMutualChapSecret>(&secret(PROOF));
    fixture.answer::<newest::rpc::ConnectTarget>(&login);
}
