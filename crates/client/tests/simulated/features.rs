//! What csi-proxy's protocol does not carry.

use node::api::{Error, Feature};
use node::{Look, NewSize, Resized};
use os_sim::{HardwareControl, demo};

use super::{Rig, lacks, path};

#[test]
fn what_a_backend_lacks_it_says_beforehand() {
    let (in_process, over_pipes) = (Rig::in_process(), Rig::over_pipes());
    for feature in Feature::ALL {
        assert!(in_process.node.supports(*feature), "{feature}");
        assert!(!over_pipes.node.supports(*feature), "{feature}");
    }
}

/// What kubelet's calls need and csi-proxy's protocol does not have.
#[test]
fn entries_links_space_and_the_system_are_told_in_process_alone() {
    type Ask = fn(&Rig) -> Result<(), Error>;
    let asks: [(Feature, Ask); 8] = [
        (Feature::DirectoryLinks, |rig| {
            let (to, at) = (path("away"), path("link"));
            rig.node.filesystem().link_directory(&to, &at, rig.soon())
        }),
        (Feature::EntryLooks, |rig| {
            let filesystem = rig.node.filesystem();
            let looked = filesystem.look(&path("missing"), rig.soon())?;
            assert_eq!(looked, Look::Missing);
            Ok(())
        }),
        (Feature::EntryLooks, |rig| {
            let filesystem = rig.node.filesystem();
            filesystem
                .read_link(&rig.folder("pods"), rig.soon())
                .map(drop)
        }),
        (Feature::EntryLooks, |rig| {
            let filesystem = rig.node.filesystem();
            filesystem
                .list(&rig.folder("pods"), 10, rig.soon())
                .map(drop)
        }),
        (Feature::SpaceByPath, |rig| {
            let filesystem = rig.node.filesystem();
            filesystem.space(&rig.folder("pods"), rig.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |rig| {
            rig.node.system().boot_id(rig.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |rig| {
            rig.node.system().computer_name(rig.soon()).map(drop)
        }),
        (Feature::SystemIdentity, |rig| {
            rig.node.system().uuid(rig.soon()).map(drop)
        }),
    ];
    let (in_process, over_pipes) = (Rig::in_process(), Rig::over_pipes());
    for (feature, ask) in asks {
        assert_eq!(ask(&in_process), Ok(()), "{feature}");
        let error = ask(&over_pipes).unwrap_err();
        assert_eq!(lacks(&error), Some(feature), "{error}");
    }
}

/// A caller is never told of a growth that was none.
#[test]
fn a_growth_that_is_none_to_csi_proxy_is_one_in_process() {
    for (rig, in_process) in [(Rig::in_process(), true), (Rig::over_pipes(), false)] {
        let volume = rig.formatted_volume();
        let hardware = HardwareControl::at(&rig.simulated);
        hardware
            .grow_disk(demo::DISK, (2 << 30) + (50 << 20))
            .unwrap();
        let (volumes, found, soon) = (rig.node.volumes(), rig.found_volume(), rig.soon());
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
