//! The texts by which the provider names its objects. Their form is that of samples of `Get-Disk` and
//! `Get-Partition` in kubernetes-sigs/azuredisk-csi-driver issue 2661 and ansible/ansible pull
//! request 51595.

use os::VolumeId;
use uuid::Uuid;

use super::cache::{CachedDisk, CachedPartition};
use crate::hardware::{IdentifierKind, page83};

/// The provider's own GUID, which differs between machines and not between boots.
const PROVIDER: &str = "{bec7662e-a827-11ef-b633-806e6f6e6963}";

/// `MSFT_Disk.ObjectId`.
pub(super) fn disk(node: &str, path: &str) -> String {
    object(node, "Disk", &format!("DI:{path}"))
}

/// `MSFT_Partition.ObjectId`: the GUID in it is the offset, least significant byte first.
pub(super) fn partition(node: &str, disk: &CachedDisk, partition: &CachedPartition) -> String {
    let path = &disk.path;
    let offset: String = partition
        .offset
        .to_le_bytes()
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let place = format!("PR:{{00000000-0000-0000-0000-{offset}}}{path}");
    object(node, "Partition", &place)
}

/// `MSFT_Volume.ObjectId`.
pub(super) fn volume(node: &str, partition: &CachedPartition) -> String {
    object(node, "Volume", &format!("VO:{}", VolumeId(partition.id)))
}

/// `MSFT_Disk.UniqueId` and its format: from page 0x83, or from the device's instance when there is
/// nothing to tell it from others.
pub(super) fn unique(node: &str, disk: &CachedDisk) -> (String, u16) {
    match page83::best(&disk.spec.identifier) {
        Some(identifier) if identifier.kind == IdentifierKind::Eui64 => (
            format!("eui.{}", identifier.value.to_uppercase()),
            identifier.kind.number(),
        ),
        Some(identifier) => (identifier.value.to_uppercase(), identifier.kind.number()),
        None => {
            let instance = disk.path.trim_start_matches(r"\\?\");
            let instance = instance.rsplit_once('#').map_or(instance, |(head, _)| head);
            let instance = instance.replace('#', "\\").to_uppercase();
            (format!("{instance}:{node}"), 0)
        }
    }
}

/// A GUID as WMI prints it.
pub(super) fn braced(id: Uuid) -> String {
    format!("{{{id}}}")
}

fn object(node: &str, class: &str, place: &str) -> String {
    format!(
        r#"{{1}}\\{node}\root/Microsoft/Windows/Storage/Providers_v2\WSP_{class}.ObjectId="{PROVIDER}:{place}""#
    )
}
