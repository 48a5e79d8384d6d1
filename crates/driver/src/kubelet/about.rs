//! What the log has of a call for a volume: volume, claim and pod, and at `-v=5` the fields on the lists here. Secrets,
//! tokens, mount options and attributes of others are on none.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};

use program::escape::counted;
use program::hidden::NOT_SHOWN;
use tracing::Level;
use wire::csi::v1::volume_capability::{AccessMode, AccessType};
use wire::csi::v1::{self, CapacityRange, VolumeCapability};

/// The attributes of a volume.
const ATTRIBUTES: &str = "source subDir onDelete \
    node_attach_driver portal targetPortal portals iqn \
    page83 diskUUID deviceName serialNumber adapter port target lun namespace LUN \
    allocationUnitSize label rootAcl csi.storage.k8s.io/ephemeral csi.storage.k8s.io/pv/name";

/// Whose it is, as the provisioner (`--extra-create-metadata`) and kubelet (`podInfoOnMount`) write.
const OWNERS: [&str; 4] = ["pod.name", "pod.namespace", "pvc/name", "pvc/namespace"];

/// A request for a volume.
pub trait ForVolume {
    /// Each with a blank before it: `name=value`.
    fn about(&self) -> String;
}

macro_rules! for_volume {
    ($($request:ident: $id:ident $(, $field:ident)*;)+) => {$(
        impl ForVolume for v1::$request {
            fn about(&self) -> String {
                let mut line = String::new();
                add(&mut line, "volume", &self.$id);
                $(self.$field.add_to(&mut line, stringify!($field));)*
                line
            }
        }
    )+};
}

for_volume! {
    NodeStageVolumeRequest: volume_id, volume_context, publish_context, staging_target_path, volume_capability;
    NodePublishVolumeRequest: volume_id, volume_context, publish_context, staging_target_path, target_path,
        readonly, volume_capability;
    NodeUnstageVolumeRequest: volume_id, staging_target_path;
    NodeUnpublishVolumeRequest: volume_id, target_path;
    NodeGetVolumeStatsRequest: volume_id, volume_path;
    NodeExpandVolumeRequest: volume_id, volume_path, capacity_range;
    CreateVolumeRequest: name, parameters, capacity_range;
    DeleteVolumeRequest: volume_id;
    CreateSnapshotRequest: source_volume_id, name, parameters;
    DeleteSnapshotRequest: snapshot_id;
    ListSnapshotsRequest: snapshot_id, source_volume_id;
    ControllerExpandVolumeRequest: volume_id, capacity_range;
    ValidateVolumeCapabilitiesRequest: volume_id, volume_context;
}

trait Field: Debug {
    fn add_to(&self, line: &mut String, name: &str) {
        if tracing::enabled!(Level::TRACE) {
            add(line, name, self);
        }
    }
}

impl Field for String {}
impl Field for bool {}
impl Field for Option<AccessMode> {}
impl Field for Option<CapacityRange> {}

impl Field for Option<VolumeCapability> {
    fn add_to(&self, line: &mut String, _name: &str) {
        let Some(capability) = self else { return };
        capability.access_mode.add_to(line, "access_mode");
        if let Some(AccessType::Mount(mount)) = &capability.access_type {
            mount.fs_type.add_to(line, "fs_type");
        }
    }
}

impl Field for BTreeMap<String, String> {
    fn add_to(&self, line: &mut String, _name: &str) {
        for (key, value) in self {
            match key.strip_prefix("csi.storage.k8s.io/") {
                Some(name) if OWNERS.contains(&name) => add(line, name, value),
                _ if ATTRIBUTES.split(' ').any(|it| it.eq_ignore_ascii_case(key)) => {
                    value.add_to(line, key);
                }
                _ => {}
            }
        }
    }
}

fn add(line: &mut String, name: &str, value: &(impl Debug + ?Sized)) {
    let text = match format!("{value:?}") {
        // People write passwords before it.
        text if text.contains('@') => NOT_SHOWN.to_owned(),
        text => text,
    };
    // Writing to a String cannot fail. The line needs room for its error.
    let _ = write!(line, " {name}={}", counted(&text, 300));
}
