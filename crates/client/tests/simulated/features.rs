//! What one backend can do and the other cannot: it says so beforehand, and at the call.

use node::api::{Cause, Condition, Error, Feature, Needs};
use node::{
    Authentication, Connected, Criterion, FileSystemType, FormatOptions, Formatted, LoginOptions,
    MapOutcome, MapRequest, MappingOptions, RemotePath,
};
use os_sim::demo;

use super::{Rig, connect, mapped, path};

/// The feature without which the call fails, which the node says beforehand.
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
    let (in_process, over_pipes) = (Rig::in_process(), Rig::over_pipes());
    for feature in Feature::ALL {
        assert!(in_process.node.supports(*feature), "{feature}");
        assert!(!over_pipes.node.supports(*feature), "{feature}");
    }
}

/// Nothing is sent: what the protocol cannot carry would be a mapping without what was asked for.
#[test]
fn an_option_of_a_mapping_does_not_fit_into_csi_proxys_protocol() {
    let rig = Rig::over_pipes();
    let remote = RemotePath::parse(demo::SHARE).unwrap();
    let signed = MappingOptions::default().with_integrity(true);
    let mapping = MapRequest::of(&remote).with_options(signed);
    let error = rig.node.smb().map(&mapping, rig.soon()).unwrap_err();
    assert_eq!(lacks(&error), Some(Feature::MapOptions), "{error}");
    assert!(error.to_string().contains("RequireIntegrity"), "{error}");
    let error = rig.node.smb().mappings(rig.soon()).unwrap_err();
    assert_eq!(lacks(&error), Some(Feature::MappingList), "{error}");
}

#[test]
fn only_the_node_in_this_process_says_how_a_share_came_to_be_mapped() {
    let link = path("share");
    let twice = |rig: &Rig| {
        let ask = || mapped(rig, demo::SMB_PASSWORD, &link).unwrap();
        [ask(), ask()]
    };
    let here = twice(&Rig::in_process());
    assert_eq!(here, [MapOutcome::Made, MapOutcome::Reused]);
    let over_pipes = twice(&Rig::over_pipes());
    assert_eq!(over_pipes, [MapOutcome::Unreported; 2]);
}

/// What the pipes cannot carry is refused before anything is sent, and never left out.
#[test]
fn sessions_have_options_and_are_listed_in_process_alone() {
    let plainly = LoginOptions::default();
    let options = plainly.clone().with_persistent(true);
    for (rig, in_process) in [(Rig::in_process(), true), (Rig::over_pipes(), false)] {
        let Criterion::IscsiTarget { portal, target } = connect(&rig) else {
            unreachable!("that is how it is named");
        };
        let (iscsi, soon, none) = (rig.node.iscsi(), rig.soon(), Authentication::None);
        let log_in = |options| iscsi.connect_with(&portal, &target, &none, options, soon);
        let plain = log_in(&plainly);
        if in_process {
            let differences = Some(Vec::new());
            assert_eq!(plain, Ok(Connected::Before { differences }));
            iscsi.disconnect(&portal, &target, soon).unwrap();
            assert_eq!(log_in(&options), Ok(Connected::Anew));
            let sessions = iscsi.sessions(soon).unwrap();
            assert_eq!(sessions[0].is_persistent, Some(true));
            assert_eq!(iscsi.refresh(&portal, soon), Ok(()));
            continue;
        }
        assert_eq!(plain, Ok(Connected::Unreported));
        let refused = [
            log_in(&options).map(drop),
            iscsi.sessions(soon).map(drop),
            iscsi.refresh(&portal, soon),
        ];
        let lacking = refused.map(|refused| lacks(&refused.unwrap_err()));
        let features = [
            Feature::LoginOptions,
            Feature::SessionList,
            Feature::PortalRefresh,
        ];
        assert_eq!(lacking, features.map(Some));
    }
}

/// What the pipes cannot carry is refused before anything is sent, and never left out.
#[test]
fn a_format_has_options_in_process_alone() {
    let options = FormatOptions::new(FileSystemType::Refs);
    for (rig, before) in [
        (Rig::in_process(), Formatted::Before),
        (Rig::over_pipes(), Formatted::Unreported),
    ] {
        let (volumes, soon) = (rig.node.volumes(), rig.soon());
        rig.node.disks().partition(&rig.found(), soon).unwrap();
        let volume = rig.found_volume();
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
