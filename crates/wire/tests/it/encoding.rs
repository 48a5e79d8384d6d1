//! Messages against bytes worked out by hand: a tag is the field number times 8 plus the wire type.

use std::collections::BTreeMap;
use std::fmt::Debug;

use prost::Message;
use wincsi_wire::{Rpc, csi, disk, filesystem, iscsi, smb, system, volume};
use zeroize::ZeroizeOnDrop;

#[track_caller]
fn assert_wire<M: Message + Default + PartialEq + Debug>(message: M, bytes: &[u8]) {
    assert_eq!(message.encode_to_vec(), bytes);
    assert_eq!(M::decode(bytes), Ok(message));
}

#[test]
fn rmdir_force_is_field_3_up_to_v1beta1_and_field_2_since() {
    let old = filesystem::v1beta1::RmdirRequest {
        path: r"C:\a".into(),
        context: filesystem::v1beta1::PathContext::Pod.into(),
        force: true,
    };
    assert_wire(old, b"\x0a\x04C:\\a\x10\x01\x18\x01");
    let new = filesystem::v1::RmdirRequest {
        path: r"C:\a".into(),
        force: true,
    };
    assert_wire(new, b"\x0a\x04C:\\a\x10\x01");
}

#[test]
fn exists_is_field_2_up_to_v1beta1_and_field_1_since() {
    let old = filesystem::v1alpha1::PathExistsResponse {
        error: String::new(),
        exists: true,
    };
    assert_wire(old, b"\x10\x01");
    assert_wire(
        filesystem::v1::PathExistsResponse { exists: true },
        b"\x08\x01",
    );
}

#[test]
fn disk_locations_are_keyed_by_number_since_v1beta3_and_by_text_before() {
    let location = disk::v1::DiskLocation {
        adapter: "0".into(),
        lun_id: "12".into(),
        ..Default::default()
    };
    let new = disk::v1::ListDiskLocationsResponse {
        disk_locations: [(300, location)].into(),
    };
    assert_wire(new, b"\x0a\x0c\x08\xac\x02\x12\x07\x0a\x010\x22\x0212");

    let location = disk::v1beta2::DiskLocation {
        target: "1".into(),
        ..Default::default()
    };
    let locations = [("2".to_owned(), location)].into();
    let old = disk::v1beta2::ListDiskLocationsResponse {
        disk_locations: locations,
    };
    assert_wire(old, b"\x0a\x08\x0a\x012\x12\x03\x1a\x011");
}

#[test]
fn map_entries_are_written_in_the_order_of_their_keys() {
    let id = |serial: &str| disk::v1::DiskIds {
        page83: String::new(),
        serial_number: serial.into(),
    };
    let message = disk::v1::ListDiskIdsResponse {
        disk_ids: [(2, id("b")), (1, id("a"))].into(),
    };
    assert_wire(
        message,
        b"\x0a\x07\x08\x01\x12\x03\x12\x01a\x0a\x07\x08\x02\x12\x03\x12\x01b",
    );
}

/// Go writes key and value of disk 0 even where they are zero or empty; we leave them out.
#[test]
fn disk_0_is_understood_with_and_without_its_key() {
    let message = disk::v1::ListDiskIdsResponse {
        disk_ids: BTreeMap::from([(0, disk::v1::DiskIds::default())]),
    };
    let from_go = disk::v1::ListDiskIdsResponse::decode(&b"\x0a\x04\x08\x00\x12\x00"[..]);
    assert_eq!(from_go.as_ref(), Ok(&message));
    assert_wire(message, b"\x0a\x00");
}

/// Guards: P39
#[test]
fn negative_sizes_take_ten_bytes_and_survive() {
    let message = volume::v1::ResizeVolumeRequest {
        volume_id: "v".into(),
        size_bytes: -1,
    };
    assert_wire(
        message,
        b"\x0a\x01v\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    );
}

#[test]
fn repeated_strings_stand_one_after_the_other() {
    let message = iscsi::v1alpha1::GetTargetDisksResponse {
        disk_ids: vec!["1".into(), "2".into()],
    };
    assert_wire(message, b"\x0a\x011\x0a\x012");
}

#[test]
fn service_states_are_enums() {
    let message = system::v1alpha1::GetServiceResponse {
        display_name: "d".into(),
        start_type: system::v1alpha1::StartType::Automatic.into(),
        status: system::v1alpha1::ServiceStatus::Running.into(),
    };
    assert_wire(message, b"\x0a\x01d\x10\x02\x18\x04");
}

#[test]
fn a_field_that_a_version_does_not_know_is_passed_over() {
    let from_v1beta1 = filesystem::v1::RmdirRequest::decode(&b"\x0a\x04C:\\a\x18\x01"[..]);
    let expected = filesystem::v1::RmdirRequest {
        path: r"C:\a".into(),
        force: false,
    };
    assert_eq!(from_v1beta1, Ok(expected));
}

#[test]
fn a_string_that_is_not_utf_8_is_refused() {
    assert!(filesystem::v1::MkdirRequest::decode(&b"\x0a\x01\xff"[..]).is_err());
}

fn connect_request() -> iscsi::v1alpha2::ConnectTargetRequest {
    iscsi::v1alpha2::ConnectTargetRequest {
        target_portal: Some(iscsi::v1alpha2::TargetPortal {
            target_address: "a".into(),
            target_port: 3260,
        }),
        iqn: "q".into(),
        auth_type: iscsi::v1alpha2::AuthenticationType::OneWayChap.into(),
        chap_username: "u".into(),
        chap_secret: "hunter2".into(),
    }
}

#[test]
fn messages_with_secrets_are_on_the_wire_like_any_other() {
    assert_wire(
        connect_request(),
        b"\x0a\x06\x0a\x01a\x10\xbc\x19\x12\x01q\x18\x01\x22\x01u\x2a\x07hunter2",
    );
    let message = iscsi::v1alpha2::SetMutualChapSecretRequest {
        mutual_chap_secret: "hunter2".into(),
    };
    assert_wire(message, b"\x0a\x07hunter2");
}

#[test]
fn debug_output_shows_no_secret() {
    let mut mapping = smb::v1::NewSmbGlobalMappingRequest::default();
    mapping.remote_path = "share".into();
    mapping.password = "hunter2".into();
    let text = format!("{mapping:?}");
    assert!(
        text.contains("share") && text.contains("password: <redacted>"),
        "{text}"
    );

    let secret = iscsi::v1alpha2::SetMutualChapSecretRequest {
        mutual_chap_secret: "hunter2".into(),
    };
    for text in [
        text,
        format!("{:#?}", connect_request()),
        format!("{secret:?}"),
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

fn stage_request() -> csi::v1::NodeStageVolumeRequest {
    let mut request = csi::v1::NodeStageVolumeRequest::default();
    request.volume_id = "v".into();
    request.secrets.insert("password".into(), "hunter2".into());
    request
}

#[test]
fn secrets_of_csi_are_a_map_that_is_sent_and_listed_and_never_shown() {
    let request = stage_request();
    let text = format!("{request:?}");
    assert!(text.contains("secrets: <redacted>"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(
        csi::v1::node::NodeStageVolume::secrets(&request),
        ["hunter2"]
    );
    assert_wire(request, b"\x0a\x01v\x2a\x13\x0a\x08password\x12\x07hunter2");
}

/// Guards: P21
#[test]
fn debug_output_shows_the_keys_of_contexts_and_no_value() {
    let key = "csi.storage.k8s.io/serviceAccount.tokens";
    let context = || [(key.to_owned(), "hunter2".to_owned())].into();
    let mut stage = stage_request();
    stage.volume_context = context();
    stage.publish_context = context();
    let mut publish = csi::v1::NodePublishVolumeRequest::default();
    publish.volume_context = context();
    let volume = csi::v1::Volume {
        volume_context: context(),
        ..Default::default()
    };
    let published = csi::v1::ControllerPublishVolumeResponse {
        publish_context: context(),
    };
    let confirmed = csi::v1::validate_volume_capabilities_response::Confirmed {
        volume_context: context(),
        ..Default::default()
    };
    for text in [
        format!("{stage:?}"),
        format!("{publish:?}"),
        format!("{volume:#?}"),
        format!("{published:?}"),
        format!("{confirmed:?}"),
    ] {
        assert!(text.contains(key) && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn wrapped_values_of_csi_tell_false_from_unsaid() {
    let ready = |ready| csi::v1::ProbeResponse { ready };
    assert_wire(ready(None), b"");
    assert_wire(ready(Some(false)), b"\x0a\x00");
    assert_wire(ready(Some(true)), b"\x0a\x02\x08\x01");
}

/// Wiped memory cannot be read without unsafe code; this checks that each type promises the wipe.
/// Guards: P22
#[test]
fn messages_with_secrets_promise_to_wipe_them() {
    fn promises<M: Message + ZeroizeOnDrop>() {}
    promises::<smb::v1alpha1::NewSmbGlobalMappingRequest>();
    promises::<smb::v1beta1::NewSmbGlobalMappingRequest>();
    promises::<smb::v1beta2::NewSmbGlobalMappingRequest>();
    promises::<smb::v1::NewSmbGlobalMappingRequest>();
    promises::<iscsi::v1alpha1::ConnectTargetRequest>();
    promises::<iscsi::v1alpha2::ConnectTargetRequest>();
    promises::<iscsi::v1alpha2::SetMutualChapSecretRequest>();
    promises::<csi::v1::NodeStageVolumeRequest>();
    promises::<csi::v1::NodePublishVolumeRequest>();
    promises::<csi::v1::NodeExpandVolumeRequest>();
    promises::<csi::v1::CreateVolumeRequest>();
    promises::<csi::v1::ControllerPublishVolumeRequest>();
}
