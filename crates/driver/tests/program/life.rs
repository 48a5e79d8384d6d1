//! Kubelet registers the driver and drives a volume through its life, in which the driver dies.

use std::path::PathBuf;

use transport::Code;
use wire::csi::v1::node::{NodeGetInfo, NodePublishVolume};
use wire::pluginregistration::v1::RegistrationStatus;
use wire::pluginregistration::v1::registration::{GetInfo, NotifyRegistrationStatus};

use crate::driver::{DRIVER, Driver};
use crate::kubelet::Volume;

const MIB: u64 = 1 << 20;

#[test]
fn kubelet_registers_the_driver_and_drives_a_volume_through_its_life() {
    let mut driver = Driver::start();
    register(&driver);
    let volume = Volume::new("vol-a");
    let before = driver.entries();
    volume.stage(&driver).unwrap();
    volume.publish(&driver).unwrap();
    let stats = volume.stats(&driver).unwrap();
    let condition = stats.volume_condition.unwrap();
    assert!(
        !condition.abnormal && stats.usage[0].total > 0,
        "{condition:?}"
    );
    driver.die_and_start();
    driver.grow_disk(512 * MIB);
    let size = volume.expand(&driver, 512 << 20).unwrap();
    assert!(size > 480 << 20, "{size}");
    for _ in 0..2 {
        volume.unpublish(&driver).unwrap();
    }
    for _ in 0..2 {
        volume.unstage(&driver).unwrap();
    }
    assert_eq!(driver.records(), []);
    let links = |path: &&PathBuf| path.ends_with("mount") || path.ends_with("globalmount");
    let after = driver.entries();
    assert!(after.difference(&before).find(links).is_none(), "{after:?}");
}

/// After a final code kubelet forgets the publish, and with it a link that stays and keeps the volume staged.
#[test]
fn a_refused_publish_of_a_disk_is_repeated_while_its_link_is_there() {
    let driver = Driver::start();
    let volume = Volume::new("vol-a");
    volume.stage(&driver).unwrap();
    let mut elsewhere = volume.to_publish();
    elsewhere.staging_target_path.push('2');
    let mut of_no_kind = volume.to_publish();
    of_no_kind.volume_capability = None;
    let codes = || {
        [&elsewhere, &of_no_kind].map(|request| {
            let refused = driver.call::<NodePublishVolume>(request);
            refused.unwrap_err().code
        })
    };
    let refused = [Code::FailedPrecondition, Code::InvalidArgument];
    assert_eq!(codes(), refused);
    volume.publish(&driver).unwrap();
    assert_eq!(codes(), [Code::Unavailable; 2]);
    volume.unpublish(&driver).unwrap();
    assert_eq!(codes(), refused);
}

fn register(driver: &Driver) {
    assert!(driver.page("/readyz").contains("503"));
    let info = driver.register::<GetInfo>(&Default::default()).unwrap();
    assert_eq!(
        (info.name.as_str(), info.r#type.as_str()),
        (DRIVER, "CSIPlugin")
    );
    assert!(info.endpoint.starts_with("tcp://"), "{}", info.endpoint);
    let node = driver.call::<NodeGetInfo>(&Default::default()).unwrap();
    assert_eq!(node.node_id, "node-1");
    let status = RegistrationStatus {
        plugin_registered: true,
        error: String::new(),
    };
    driver
        .register::<NotifyRegistrationStatus>(&status)
        .unwrap();
    // The records may be compared with the node still.
    driver.becomes_ready();
}
