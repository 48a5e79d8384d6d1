//! Each operation on files, shares, iSCSI targets and services in each version that has it: the same
//! question and the same answer, regardless of names on the wire.

use std::collections::BTreeSet;

use node::api::{Cause, Needs, NodeApi};
use node::{
    Authentication, Chap, ChapSecret, Credentials, Dependents, MapRequest, Portal, RemotePath,
    ResolvedPath, ServiceName, TargetName,
};
use os::{DiskNumber, ServiceInfo, ServiceState, StartType, WinPath};
use wincsi_client::Node;
use zeroize::Zeroizing;

use crate::support::heard::{Heard, script};
use crate::support::{ProxyFolder, soon};

const TARGET: &str = r"C:\var\lib\kubelet\plugins\a";

fn target() -> WinPath {
    TARGET.parse().unwrap()
}

macro_rules! files_now {
    ($heard:expr, $version:ident; $($more:tt)*) => {
        script!($heard, filesystem $version;
            PathExists |request| format!("exists {}", request.path) => PathExistsResponse { exists: true }
            Mkdir |request| format!("mkdir {}", request.path) => MkdirResponse {}
            Rmdir |request| format!("rmdir {} {}", request.path, request.force) => RmdirResponse {}
            CreateSymlink |request| format!("link {} {}", request.source_path, request.target_path)
                => CreateSymlinkResponse {}
            IsSymlink |request| format!("linked {}", request.path) => IsSymlinkResponse { is_symlink: true }
            $($more)*
        )
    };
}

macro_rules! files_first {
    ($heard:expr, $version:ident) => {
        script!($heard, filesystem $version;
            PathExists |request| format!("exists {}", request.path) => PathExistsResponse {
                error: String::new(),
                exists: true,
            }
            Mkdir |request| format!("mkdir {}", request.path) => MkdirResponse { error: String::new() }
            Rmdir |request| format!("rmdir {} {}", request.path, request.force) => RmdirResponse {
                error: String::new(),
            }
            LinkPath |request| format!("link {} {}", request.source_path, request.target_path)
                => LinkPathResponse { error: String::new() }
            IsMountPoint |request| format!("linked {}", request.path) => IsMountPointResponse {
                error: String::new(),
                is_mount_point: true,
            }
        )
    };
}

#[test]
fn files_are_the_same_in_every_version() {
    let heard = Heard::default();
    let versions = [
        files_now!(heard, v2alpha1;),
        files_now!(heard, v1;),
        files_now!(heard, v1beta2;),
        files_first!(heard, v1beta1),
        files_first!(heard, v1alpha1),
    ];
    let link: WinPath = r"C:\var\lib\kubelet\pods\1".parse().unwrap();
    for script in versions {
        let place = ProxyFolder::new();
        let _proxy = place.serve([script]);
        let node = place.node();
        let (files, deadline) = (node.filesystem(), soon(&node));
        assert_eq!(files.path_exists(&target(), deadline), Ok(true));
        files.make_directory(&target(), deadline).unwrap();
        files.remove_entry(&target(), deadline).unwrap();
        files.remove_tree(&target(), deadline).unwrap();
        files.create_symlink(&target(), &link, deadline).unwrap();
        assert_eq!(files.is_symlink(&link, deadline), Ok(true));
        let expected = [
            format!("exists {TARGET}"),
            format!("mkdir {TARGET}"),
            format!("rmdir {TARGET} false"),
            format!("rmdir {TARGET} true"),
            format!("link {TARGET} {link}"),
            format!("linked {link}"),
        ];
        assert_eq!(heard.take(), expected);
    }
}

#[test]
fn only_the_newest_version_empties_a_directory() {
    let heard = Heard::default();
    let place = ProxyFolder::new();
    let _proxy = place.serve([files_now!(heard, v2alpha1;
        RmdirContents |request| format!("empty {}", request.path) => RmdirContentsResponse {}
    )]);
    let node = place.node();
    let emptied = node.filesystem().remove_contents(&target(), soon(&node));
    emptied.unwrap();
    assert_eq!(heard.take(), [format!("empty {TARGET}")]);
}

macro_rules! shares {
    ($heard:expr, $version:ident $answer:tt) => {
        script!($heard, smb $version;
            NewSmbGlobalMapping |request| format!(
                "map {} {} {} {}",
                request.remote_path, request.local_path, request.username, request.password
            ) => NewSmbGlobalMappingResponse $answer
            RemoveSmbGlobalMapping |request| format!("unmap {}", request.remote_path)
                => RemoveSmbGlobalMappingResponse $answer
        )
    };
}

#[test]
fn shares_are_the_same_in_every_version() {
    let heard = Heard::default();
    let versions = [
        shares!(heard, v1 {}),
        shares!(heard, v1beta2 {}),
        shares!(
            heard,
            v1beta1 {
                error: String::new()
            }
        ),
        shares!(
            heard,
            v1alpha1 {
                error: String::new()
            }
        ),
    ];
    let remote = RemotePath::parse("//Server/share/sub").unwrap();
    let credentials = Credentials::new(r"DOM\user", Zeroizing::new("secret".to_owned()));
    for script in versions {
        let place = ProxyFolder::new();
        let _proxy = place.serve([script]);
        let (node, link) = (place.node(), ResolvedPath::from(&target()));
        let linked = MapRequest::of(&remote)
            .with_credentials(credentials.as_ref())
            .with_link(&link);
        let bare = MapRequest::of(&remote);
        node.smb().map(&linked, soon(&node)).unwrap();
        node.smb().map(&bare, soon(&node)).unwrap();
        node.smb().unmap(&remote, soon(&node)).unwrap();
        let expected = [
            format!(r"map \\Server\share\sub {TARGET} DOM\user secret"),
            r"map \\Server\share\sub   ".to_owned(),
            r"unmap \\Server\share\sub".to_owned(),
        ];
        assert_eq!(heard.take(), expected);
    }
}

macro_rules! portal_words {
    ($portal:expr) => {{
        let portal = $portal.unwrap();
        format!("{}:{}", portal.target_address, portal.target_port)
    }};
}

macro_rules! iscsi {
    ($heard:expr, $version:ident; $($more:tt)*) => {
        script!($heard, iscsi $version;
            AddTargetPortal |request| format!("add {}", portal_words!(request.target_portal))
                => AddTargetPortalResponse {}
            DiscoverTargetPortal |request| format!("discover {}", portal_words!(request.target_portal))
                => DiscoverTargetPortalResponse { iqns: vec!["iqn.a".into()] }
            RemoveTargetPortal |request| format!("remove {}", portal_words!(request.target_portal))
                => RemoveTargetPortalResponse {}
            ListTargetPortals |_request| "portals" => ListTargetPortalsResponse {
                target_portals: vec![wire::iscsi::$version::TargetPortal {
                    target_address: "10.0.0.1".into(),
                    target_port: 3260,
                }],
            }
            ConnectTarget |request| format!(
                "connect {} {} {} {} {}",
                portal_words!(request.target_portal.clone()), request.iqn, request.auth_type,
                request.chap_username, request.chap_secret
            ) => ConnectTargetResponse {}
            DisconnectTarget |request| format!("disconnect {}", request.iqn) => DisconnectTargetResponse {}
            GetTargetDisks |request| format!("disks {}", request.iqn) => GetTargetDisksResponse {
                disk_ids: vec!["2".into(), "1".into(), "2".into()],
            }
            $($more)*
        )
    };
}

fn chap() -> Chap {
    Chap::new("me", secret()).unwrap()
}

fn secret() -> ChapSecret {
    ChapSecret::new(Zeroizing::new("twelve bytes".to_owned())).unwrap()
}

fn every_iscsi_operation(node: &Node) {
    let (iscsi, deadline) = (node.iscsi(), soon(node));
    let portal = Portal::parse("10.0.0.1", 0).unwrap();
    let target = TargetName::parse("iqn.a").unwrap();
    let none = Authentication::None;
    iscsi.add_portal(&portal, &none, deadline).unwrap();
    let found = iscsi.discover(&portal, deadline);
    assert_eq!(found, Ok(vec!["iqn.a".to_owned()]));
    let portals = iscsi.portals(deadline);
    assert_eq!(portals, Ok(vec![("10.0.0.1".to_owned(), 3260)]));
    for authentication in [
        Authentication::None,
        Authentication::OneWayChap(chap()),
        Authentication::MutualChap(chap()),
    ] {
        let connected = iscsi.connect(&portal, &target, &authentication, deadline);
        connected.unwrap();
    }
    let disks = iscsi.disks(&portal, &target, deadline);
    assert_eq!(disks, Ok(BTreeSet::from([DiskNumber(1), DiskNumber(2)])));
    iscsi.disconnect(&portal, &target, deadline).unwrap();
    iscsi.remove_portal(&portal, deadline).unwrap();
}

#[test]
fn iscsi_is_the_same_in_both_versions() {
    let expected = [
        "add 10.0.0.1:3260",
        "discover 10.0.0.1:3260",
        "portals",
        "connect 10.0.0.1:3260 iqn.a 0  ",
        "connect 10.0.0.1:3260 iqn.a 1 me twelve bytes",
        "connect 10.0.0.1:3260 iqn.a 2 me twelve bytes",
        "disks iqn.a",
        "disconnect iqn.a",
        "remove 10.0.0.1:3260",
    ];
    let heard = Heard::default();
    for script in [iscsi!(heard, v1alpha2;), iscsi!(heard, v1alpha1;)] {
        let place = ProxyFolder::new();
        let _proxy = place.serve([script]);
        every_iscsi_operation(&place.node());
        assert_eq!(heard.take(), expected);
    }
}

#[test]
fn the_mutual_secret_came_with_the_second_version() {
    let heard = Heard::default();
    let place = ProxyFolder::new();
    let second = iscsi!(heard, v1alpha2;
        SetMutualChapSecret |request| request.mutual_chap_secret.clone() => SetMutualChapSecretResponse {}
    );
    let proxy = place.serve([second]);
    let node = place.node();
    node.iscsi()
        .set_mutual_chap_secret(&secret(), soon(&node))
        .unwrap();
    assert_eq!(heard.take(), ["twelve bytes"]);
    drop(proxy);
    let _older = place.serve([iscsi!(heard, v1alpha1;)]);
    let error = node.iscsi().set_mutual_chap_secret(&secret(), soon(&node));
    let error = error.unwrap_err();
    let Cause::Unsupported { needs, .. } = &error.cause else {
        panic!("{error}")
    };
    assert!(matches!(needs, Needs::Version { .. }), "{error}");
    assert!(!error.to_string().contains("twelve"), "{error}");
}

#[test]
fn the_system_group_has_one_version() {
    let heard = Heard::default();
    let place = ProxyFolder::new();
    let _proxy = place.serve([script!(heard, system v1alpha1;
        GetBiosSerialNumber |_request| "serial" => GetBiosSerialNumberResponse {
            serial_number: "VMware-56 4d  \r\n".into(),
        }
        GetService |request| format!("service {}", request.name) => GetServiceResponse {
            display_name: "iSCSI".into(),
            start_type: 3,
            status: 4,
        }
        StartService |request| format!("start {}", request.name) => StartServiceResponse {}
        StopService |request| format!("stop {} {}", request.name, request.force) => StopServiceResponse {}
    )]);
    let node = place.node();
    let (system, deadline) = (node.system(), soon(&node));
    let name = ServiceName::parse("msiscsi").unwrap();
    assert_eq!(system.serial_number(deadline).unwrap(), "VMware-56 4d");
    let service = ServiceInfo::new("iSCSI", StartType::Manual, ServiceState::Running);
    assert_eq!(system.service(&name, deadline), Ok(service));
    system.start_service(&name, deadline).unwrap();
    for dependents in [Dependents::Refuse, Dependents::Stop] {
        system.stop_service(&name, dependents, deadline).unwrap();
    }
    let expected = [
        "serial",
        "service msiscsi",
        "start msiscsi",
        "stop msiscsi false",
        "stop msiscsi true",
    ];
    assert_eq!(heard.take(), expected);
}
