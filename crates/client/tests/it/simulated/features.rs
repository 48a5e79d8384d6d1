//! Abilities of only one backend: the other reports the lack beforehand, and at the call.

use node::api::{Cause, Condition, Error, Feature, Needs};
use node::{
    Authentication, Chap, ChapSecret, Connected, Credentials, Criterion, FileSystemType,
    FormatOptions, Formatted, LoginOptions, Look, MapOutcome, MapRequest, MappingOptions, NewSize,
    RemotePath, Resized,
};
use os_sim::{HardwareControl, demo};
use zeroize::Zeroizing;

use super::{ClientFixture, connect, mapped, path};

/// The feature whose lack fails the call, as the node reports it beforehand, too.
pub(crate) fn lacks(error: &Error) -> Option<Feature> {
    match &error.cause {
        Cause::Unsupported {
            needs: Needs::Feature(feature),
            ..
        } => Some(*feature),
        _ => None,
    }
}

#[test]
fn what_a_backend_lacks_it_says_beforehand() {
    let (in_process, over_pipes) = (ClientFixture::in_process(), ClientFixture::over_pipes());
    for feature in Feature::ALL {
        assert!(in_process.node.supports(*feature), "{feature}");
        assert!(!over_pipes.node.supports(*feature), "{feature}");
    }
}

/// Nothing is sent: the mapping would lack the requested options.
#[test]
fn an_option_of_a_mapping_does_not_fit_into_csi_proxys_protocol() {
    let own = ClientFixture::over_pipes();
    let remote = RemotePath::parse(demo::SHARE).unwrap();
    let signed = MappingOptions::default().with_integrity(true);
    let mapping = MapRequest::of(&remote).with_options(signed);
    let error = own.node.smb().map(&mapping, own.soon()).unwrap_err();
    assert_eq!(lacks(&error), Some(Feature::MapOptions), "{error}");
    assert!(error.to_string().contains("RequireIntegrity"), "{error}");
    let error = own.node.smb().mappings(own.soon()).unwrap_err();
    assert_eq!(lacks(&error), Some(Feature::MappingList), "{error}");
}

/// csi-proxy would map and unmap the share instead, which others use.
#[test]
fn a_folders_own_mapping_does_not_fit_into_csi_proxys_protocol() {
    let own = ClientFixture::over_pipes();
    let folder = format!(r"{}\folder", demo::SHARE);
    let remote = RemotePath::parse(&folder).unwrap().folder_itself();
    let mapped = own.node.smb().map(&MapRequest::of(&remote), own.soon());
    let unmapped = own.node.smb().unmap(&remote, own.soon());
    for error in [mapped.unwrap_err(), unmapped.unwrap_err()] {
        assert_eq!(lacks(&error), Some(Feature::FolderMappings), "{error}");
    }
}

/// Operations that need a lock of the node, or an attribute that the protocol lacks, are not half
/// done.
#[test]
fn disks_for_readers_and_unmapping_what_is_unused_are_offered_in_process_alone() {
    let (in_process, over_pipes) = (ClientFixture::in_process(), ClientFixture::over_pipes());
    let remote = RemotePath::parse(demo::SHARE).unwrap();
    let online = |own: &ClientFixture| {
        let disks = own.node.disks();
        disks.bring_online_read_only(&own.found(), own.soon())
    };
    online(&in_process).unwrap();
    let error = online(&over_pipes).unwrap_err();
    assert_eq!(lacks(&error), Some(Feature::ReadOnlyDisks), "{error}");
    let unmap = |own: &ClientFixture| {
        let used = Box::new(|| panic!("asked"));
        own.node.smb().unmap_unless(&remote, used, own.soon())
    };
    assert!(unmap(&in_process).unwrap_err().is(Condition::NotMapped));
    let error = unmap(&over_pipes).unwrap_err();
    assert_eq!(lacks(&error), Some(Feature::ConditionalUnmap), "{error}");
}

#[test]
fn a_folder_that_a_share_lacks_is_refused_in_process_alone() {
    let remote = RemotePath::parse(&format!(r"{}\missing", demo::SHARE)).unwrap();
    let password = || Zeroizing::new(demo::SMB_PASSWORD.to_owned());
    let map = |own: &ClientFixture| {
        let credentials = Credentials::new(demo::SMB_USER, password());
        let request = MapRequest::of(&remote).with_credentials(credentials.as_ref());
        own.node.smb().map(&request, own.soon())
    };
    let error = map(&ClientFixture::in_process()).unwrap_err();
    assert!(error.is(Condition::NotFound), "{error}");
    assert_eq!(
        map(&ClientFixture::over_pipes()),
        Ok(MapOutcome::Unreported)
    );
}

#[test]
fn only_the_node_in_this_process_says_how_a_share_came_to_be_mapped() {
    let link = path("share");
    let twice = |own: &ClientFixture| {
        let ask = || mapped(own, demo::SMB_PASSWORD, &link).unwrap();
        [ask(), ask()]
    };
    let here = twice(&ClientFixture::in_process());
    assert_eq!(here, [MapOutcome::Made, MapOutcome::Reused]);
    let over_pipes = twice(&ClientFixture::over_pipes());
    assert_eq!(over_pipes, [MapOutcome::Unreported; 2]);
}

/// Options that the pipes cannot carry are refused before anything is sent, never dropped.
#[test]
fn sessions_have_options_and_are_listed_in_process_alone() {
    let plainly = LoginOptions::default();
    let options = plainly.clone().with_persistent(true);
    for (own, in_process) in [
        (ClientFixture::in_process(), true),
        (ClientFixture::over_pipes(), false),
    ] {
        let Criterion::IscsiTarget { portal, target } = connect(&own) else {
            unreachable!("that is how it is named");
        };
        let (iscsi, soon, none) = (own.node.iscsi(), own.soon(), Authentication::None);
        let log_in = |options| iscsi.connect_with(&portal, &target, &none, options, soon);
        let plain = log_in(&plainly);
        if in_process {
            let differences = Some(Vec::new());
            assert_eq!(plain, Ok(Connected::Before { differences }));
            iscsi.disconnect(&portal, &target, soon).unwrap();
            assert_eq!(log_in(&options), Ok(Connected::Anew));
            let sessions = iscsi.sessions(soon).unwrap();
            assert_eq!(sessions[0].is_persistent, Some(true));
            assert_eq!(iscsi.probe(&portal, soon), Ok(()));
            assert_eq!(iscsi.log_out(&target, &sessions[0].id, soon), Ok(()));
            assert_eq!(iscsi.sessions(soon), Ok(Vec::new()));
            assert_eq!(iscsi.refresh(&portal, soon), Ok(()));
            continue;
        }
        assert_eq!(plain, Ok(Connected::Unreported));
        let refused = [
            log_in(&options).map(drop),
            iscsi.sessions(soon).map(drop),
            iscsi.probe(&portal, soon),
            iscsi.log_out(&target, "x", soon),
            iscsi.refresh(&portal, soon),
        ];
        let lacking = refused.map(|refused| lacks(&refused.unwrap_err()));
        let features = [
            Feature::LoginOptions,
            Feature::SessionList,
            Feature::PortalProbe,
            Feature::SessionLogout,
            Feature::PortalRefresh,
        ];
        assert_eq!(lacking, features.map(Some));
    }
}

/// A portal that is known needs no credentials.
#[test]
fn discovery_has_credentials_in_process_alone() {
    let add = |own: &ClientFixture| {
        let Criterion::IscsiTarget { portal, .. } = connect(own) else {
            unreachable!("that is how it is named");
        };
        let secret = ChapSecret::new(Zeroizing::new(demo::ISCSI_SECRET.to_owned())).unwrap();
        let chap = Chap::new(demo::ISCSI_USER, secret).unwrap();
        let one_way = Authentication::OneWayChap(chap);
        own.node.iscsi().add_portal(&portal, &one_way, own.soon())
    };
    assert_eq!(add(&ClientFixture::in_process()), Ok(()));
    let error = add(&ClientFixture::over_pipes()).unwrap_err();
    assert_eq!(
        lacks(&error),
        Some(Feature::PortalAuthentication),
        "{error}"
    );
}

/// Options that the pipes cannot carry are refused before anything is sent, never dropped.
#[test]
fn a_format_has_options_in_process_alone() {
    let options = FormatOptions::new(FileSystemType::Refs);
    for (own, before) in [
        (ClientFixture::in_process(), Formatted::Before),
        (ClientFixture::over_pipes(), Formatted::Unreported),
    ] {
        let (volumes, soon) = (own.node.volumes(), own.soon());
        own.node.disks().partition(&own.found(), soon).unwrap();
        let volume = own.found_volume();
        let ensure = |options| volumes.ensure_formatted(&volume, options, soon);
        let plain = FormatOptions::default();
        assert_eq!(ensure(&plain), Ok(Formatted::Now));
        assert_eq!(ensure(&plain), Ok(before));
        let error = ensure(&options).unwrap_err();
        match before {
            Formatted::Before => {
                assert_eq!(
                    error.condition(),
                    Some(Condition::OtherFileSystem),
                    "{error}"
                );
            }
            _ => assert_eq!(lacks(&error), Some(Feature::FormatOptions), "{error}"),
        }
    }
}

type Ask = fn(&ClientFixture) -> Result<(), Error>;

/// Operations that kubelet's calls need and csi-proxy's protocol lacks.
#[test]
fn entries_links_space_and_the_system_are_told_in_process_alone() {
    let asks: [(Feature, Ask); 11] = [
        (Feature::DirectoryLinks, |own| {
            let (to, at) = (path("away"), path("link"));
            own.node.filesystem().link_directory(&to, &at, own.soon())
        }),
        (Feature::EntryLooks, |own| {
            let filesystem = own.node.filesystem();
            let looked = filesystem.look(&path("missing"), own.soon())?;
            assert_eq!(looked, Look::Missing);
            Ok(())
        }),
        (Feature::EntryLooks, |own| {
            let (files, folder) = (own.node.filesystem(), own.folder("pods"));
            files.read_link(&folder, own.soon()).map(drop)
        }),
        (Feature::EntryLooks, |own| {
            let (files, folder) = (own.node.filesystem(), own.folder("pods"));
            files.list(&folder, 10, own.soon()).map(drop)
        }),
        (Feature::SpaceByPath, |own| {
            let filesystem = own.node.filesystem();
            filesystem.space(&own.folder("pods"), own.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |own| {
            own.node.system().boot_id(own.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |own| {
            own.node.system().command_lines("x", own.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |own| {
            own.node.system().computer_name(own.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |own| {
            own.node.system().uuid(own.soon()).map(drop)
        }),
        (Feature::OfflineReasons, |own| {
            let disk = own.found().number();
            own.node.disks().offline_reason(disk, own.soon()).map(drop)
        }),
        (Feature::WriteProtection, |own| {
            let (disks, disk) = (own.node.disks(), own.found().number());
            disks.is_write_protected(disk, own.soon()).map(drop)
        }),
    ];
    let (in_process, over_pipes) = (ClientFixture::in_process(), ClientFixture::over_pipes());
    for (feature, ask) in asks {
        assert_eq!(ask(&in_process), Ok(()), "{feature}");
        let error = ask(&over_pipes).unwrap_err();
        assert_eq!(lacks(&error), Some(feature), "{error}");
    }
}

/// A caller is never told of a growth that was none.
#[test]
fn a_growth_that_is_none_to_csi_proxy_is_one_in_process() {
    for (own, in_process) in [
        (ClientFixture::in_process(), true),
        (ClientFixture::over_pipes(), false),
    ] {
        let volume = own.formatted_volume();
        let hardware = HardwareControl::at(&own.simulated);
        hardware
            .grow_disk(demo::DISK, (2 << 30) + (50 << 20))
            .unwrap();
        let (volumes, found, soon) = (own.node.volumes(), own.found_volume(), own.soon());
        let before = volumes.stats(volume, soon).unwrap().total;
        let grown = volumes.resize(&found, NewSize::Maximum, soon).unwrap();
        let by = volumes.stats(volume, soon).unwrap().total - before;
        match in_process {
            true => assert!(matches!(grown, Resized::Grown { .. }), "{grown:?}"),
            false => assert_eq!(grown, Resized::Unreported),
        }
        assert_eq!(by, if in_process { 50 << 20 } else { 0 });
        let again = volumes.resize(&found, NewSize::Maximum, soon).unwrap();
        match in_process {
            true => assert!(matches!(again, Resized::Unchanged { .. }), "{again:?}"),
            false => assert_eq!(again, Resized::Unreported),
        }
    }
}
