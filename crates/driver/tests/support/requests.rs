//! Requests as kubelet makes them.

use std::collections::BTreeMap;

use wincsi_driver::kubelet::Request;
use wincsi_driver::record::{Access, Lifetime, VolumeHandle};
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::volume_capability::access_mode::Mode;
use wire::csi::v1::volume_capability::{AccessMode, AccessType, MountVolume};

pub(crate) fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    owned.collect()
}

/// With any attributes.
pub(crate) fn request_at<T>(
    handle: &str,
    [staging, target]: [&str; 2],
    context: &BTreeMap<String, String>,
    secrets: &BTreeMap<String, String>,
    call: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let (none, mount) = (BTreeMap::new(), MountVolume::default());
    let mode = Mode::SingleNodeWriter;
    let capability = VolumeCapability {
        access_type: Some(AccessType::Mount(mount)),
        access_mode: Some(AccessMode { mode: mode.into() }),
    };
    call(&Request {
        volume: volume(handle),
        lifetime: Lifetime::Persistent,
        staging,
        target,
        context,
        publish_context: &none,
        secrets,
        capability: Some(&capability),
        of_pod: Access::ReadWrite,
    })
}

pub(crate) fn volume(handle: &str) -> VolumeHandle {
    VolumeHandle::parse(handle).unwrap()
}
