//! The texts by which the provider names its objects. Their form is that of samples of `Get-Disk` and
//! `Get-Partition` in kubernetes-sigs/azuredisk-csi-driver issue 2661, ansible/ansible pull
//! request 51595 and dsccommunity/StorageDsc issue 224; `formats::fixtures::field` has them.

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

/// `MSFT_Partition.ObjectId`.
pub(super) fn partition(node: &str, disk: &CachedDisk, partition: &CachedPartition) -> String {
    let place = format!("PR:{}{}", offset_id(partition), disk.path);
    object(node, "Partition", &place)
}

/// `MSFT_Partition.UniqueId`.
pub(super) fn unique_partition(
    node: &str,
    disk: &CachedDisk,
    partition: &CachedPartition,
) -> String {
    offset_id(partition) + &unique(node, disk).0
}

/// The GUID by which the provider distinguishes the partitions of a disk: its last eight bytes are the offset,
/// least significant byte first.
fn offset_id(partition: &CachedPartition) -> String {
    braced(Uuid::from_fields(0, 0, 0, &partition.offset.to_le_bytes()))
}

/// `MSFT_Volume.ObjectId`.
pub(super) fn volume(node: &str, partition: &CachedPartition) -> String {
    object(node, "Volume", &format!("VO:{}", VolumeId(partition.id)))
}

/// `MSFT_Disk.UniqueId` and its format: from page 0x83, or from the device's instance if the disk
/// has no identifier.
pub(super) fn unique(node: &str, disk: &CachedDisk) -> (String, u16) {
    match page83::best(&disk.spec.identifier) {
        Some(identifier) if identifier.kind == IdentifierKind::Eui64 => (
            format!("eui.{}", identifier.value.to_uppercase()),
            identifier.kind.number(),
        ),
        Some(identifier) if identifier.kind.is_binary() => {
            (identifier.value.to_uppercase(), identifier.kind.number())
        }
        Some(identifier) => (identifier.value.clone(), identifier.kind.number()),
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
