//! A driver's values for the fields of its requests, on the demo's node.

use os_sim::demo;

use crate::messages::{Leaf, number, text};

const NAA: &str = "600224801234567890abcdef00000001";
pub(crate) const SERVICE: &str = "MSiSCSI";

/// The text of a field.
pub(crate) fn text_of<'a>(field: &str, volume_id: &'a str) -> &'a str {
    match field {
        "path" | "source_path" | "target_path" | "mount" => r"C:\var\lib\kubelet\ordinary",
        "volume_id" => volume_id,
        "disk_id" | "diskID" => "1",
        "disk_name" => NAA,
        "remote_path" => demo::SHARE,
        "local_path" => r"C:\var\lib\kubelet\link",
        "username" => demo::SMB_USER,
        "password" => demo::SMB_PASSWORD,
        "name" => SERVICE,
        "target_address" => demo::ISCSI_ADDRESS,
        "iqn" => demo::ISCSI_GUARDED_TARGET,
        "chap_username" => demo::ISCSI_USER,
        "chap_secret" => demo::ISCSI_SECRET,
        "MutualChapSecret" => demo::ISCSI_PROOF,
        other => panic!("what does a driver write into {other}?"),
    }
}

/// The bytes on the wire for a field of this number.
pub(crate) fn value(leaf: &Leaf, field: u32, volume_id: &str) -> Vec<u8> {
    if leaf.is_text {
        return text(field, text_of(&leaf.name, volume_id).as_bytes());
    }
    let value = match leaf.name.as_str() {
        "disk_number" | "is_online" | "isOnline" | "auth_type" => 1,
        "target_port" => 3260,
        "context" | "force" | "partition_number" | "size" | "size_bytes" => 0,
        other => panic!("what does a driver write into {other}?"),
    };
    number(field, value)
}
