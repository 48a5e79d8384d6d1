//! Calls over the wire to a server with a simulated node, as a driver makes them.

use transport::Code;
use wire::disk::v1 as disk;
use wire::filesystem;
use wire::volume::v1 as volume;

use crate::support::Proxy;

fn mkdir(path: &str) -> filesystem::v1::MkdirRequest {
    filesystem::v1::MkdirRequest {
        path: path.to_owned(),
    }
}

fn exists(proxy: &Proxy, path: &str) -> bool {
    let request = filesystem::v1::PathExistsRequest {
        path: path.to_owned(),
    };
    let answer = proxy.call::<filesystem::v1::rpc::PathExists>(&request);
    answer.expect("the path is inside").exists
}

#[test]
fn directories_are_made_seen_and_removed() {
    let proxy = Proxy::start();
    let path = r"C:\var\lib\kubelet\plugins\a\b";
    assert!(!exists(&proxy, path));
    proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(path))
        .expect("made");
    proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(path))
        .expect("made already");
    assert!(exists(&proxy, path));
    let not_empty = filesystem::v1::RmdirRequest {
        path: r"C:\var\lib\kubelet\plugins\a".into(),
        force: false,
    };
    let (code, text) = proxy.refusal::<filesystem::v1::rpc::Rmdir>(&not_empty);
    assert_eq!(code, Code::Unknown);
    assert!(text.contains("The directory is not empty."), "{text}");
    let all = filesystem::v1::RmdirRequest {
        force: true,
        ..not_empty
    };
    proxy
        .call::<filesystem::v1::rpc::Rmdir>(&all)
        .expect("removed");
    assert!(!exists(&proxy, path));
}

#[test]
fn force_is_read_from_its_own_field_in_each_version() {
    let proxy = Proxy::start();
    proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(r"C:\var\lib\kubelet\x\y"))
        .expect("made");
    let request = filesystem::v1beta1::RmdirRequest {
        path: r"C:\var\lib\kubelet\x".into(),
        context: 1,
        force: true,
    };
    let answer = proxy
        .call::<filesystem::v1beta1::rpc::Rmdir>(&request)
        .expect("removed");
    assert_eq!(answer.error, "");
    assert!(!exists(&proxy, r"C:\var\lib\kubelet\x"));
}

/// Guards: P23
#[test]
fn failures_are_unknown_with_csi_proxys_text() {
    let proxy = Proxy::start();
    let (code, text) = proxy.refusal::<filesystem::v1::rpc::Mkdir>(&mkdir(r"C:\Windows\x"));
    assert_eq!(code, Code::Unknown);
    assert_eq!(
        text,
        r"path: C:\Windows\x is not within the working directories: [C:\var\lib\kubelet]"
    );
    let missing = disk::GetDiskStatsRequest { disk_number: 99 };
    let (code, text) = proxy.refusal::<disk::rpc::GetDiskStats>(&missing);
    assert_eq!(
        (code, text.as_str()),
        (Code::Unknown, "failed to query disk 99. error: not found")
    );
    let empty = volume::MountVolumeRequest::default();
    let (_, text) = proxy.refusal::<volume::rpc::MountVolume>(&empty);
    assert_eq!(text, "MountVolumeRequest.VolumeId is empty");
}

#[test]
fn what_is_not_served_is_unimplemented_and_junk_is_refused() {
    let proxy = Proxy::start();
    let group = &filesystem::v1::GROUP;
    assert_eq!(
        proxy.raw(group, "/v1.Filesystem/RmdirContents", &[]),
        (
            Code::Unimplemented,
            "unknown method RmdirContents for service v1.Filesystem".into()
        )
    );
    assert_eq!(
        proxy.raw(group, "/v1.Disk/Rescan", &[]),
        (Code::Unimplemented, "unknown service v1.Disk".into())
    );
    let (code, text) = proxy.raw(group, "/v1.Filesystem/PathExists", &[0xff; 64]);
    assert_eq!(code, Code::Internal);
    assert!(
        text.starts_with("grpc: error unmarshalling request"),
        "{text}"
    );
    assert!(!exists(&proxy, r"C:\var\lib\kubelet\still-there"));
}

/// Guards: P59
#[test]
fn the_boot_disk_is_never_changed() {
    let proxy = Proxy::start();
    let request = disk::SetDiskStateRequest {
        disk_number: 0,
        is_online: false,
    };
    let (code, text) = proxy.refusal::<disk::rpc::SetDiskState>(&request);
    assert_eq!(code, Code::Unknown);
    assert!(text.contains("disk 0 is not changed"), "{text}");
}

/// A NUL ends a text for Windows: csi-proxy hands Win32 a null pointer, or half of the path.
/// Guards: P49
#[test]
fn a_text_with_a_nul_in_it_is_an_error_for_its_caller() {
    let proxy = Proxy::start();
    let path = "C:\\var\\lib\\kubelet\\a\0b".to_owned();
    let volume_id = r"\\?\Volume{00000000-0000-0000-0000-000000000001}\".to_owned();
    let mount = volume::MountVolumeRequest {
        volume_id: volume_id.clone(),
        target_path: path.clone(),
    };
    let unmount = volume::UnmountVolumeRequest {
        volume_id: volume_id.clone(),
        target_path: path.clone(),
    };
    let look_up = volume::GetVolumeIdFromTargetPathRequest { target_path: path };
    let format = volume::FormatVolumeRequest {
        volume_id: format!("{volume_id}\0"),
    };
    let remove = wire::smb::v1::RemoveSmbGlobalMappingRequest {
        remote_path: "\\\\server\\sha\0re".to_owned(),
    };
    let characters = "path contains invalid characters: ";
    let mount = proxy.complaint::<volume::rpc::MountVolume>(&mount);
    assert!(mount.starts_with(characters), "{mount}");
    let unmount = proxy.complaint::<volume::rpc::UnmountVolume>(&unmount);
    assert!(unmount.starts_with(characters), "{unmount}");
    let look_up = proxy.complaint::<volume::rpc::GetVolumeIdFromTargetPath>(&look_up);
    assert!(look_up.starts_with(characters), "{look_up}");
    let format = proxy.complaint::<volume::rpc::FormatVolume>(&format);
    assert!(format.ends_with(": not found"), "{format}");
    let remove = proxy.complaint::<wire::smb::v1::rpc::RemoveSmbGlobalMapping>(&remove);
    assert!(remove.ends_with("is invalid"), "{remove}");
    assert!(!exists(&proxy, r"C:\var\lib\kubelet\a"));
}
