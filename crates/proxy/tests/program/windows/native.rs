//! The program on this machine itself. No disk, share or session of it is changed.

use std::fs;
use std::path::Path;
use std::time::Instant;

use client::{Client, ClientCause, ClientError};
use os_windows_testkit::process::{ControlEvent, thread_names};
use tempfile::TempDir;
use transport::{CallError, Channel, ChannelOptions, Code, Status};
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::iscsi::v1alpha2 as iscsi;
use wire::smb::v1 as smb;
use wire::system::v1alpha1 as system;
use wire::volume::v1 as volume;

use super::life::Service;
use crate::call::page;
use crate::exe::{Server, TIMEOUT, exe, turn};

#[test]
fn this_machine_is_served_on_every_pipe_and_both_pages_say_so() {
    let _turn = turn();
    let server = Server::of_this_machine(&["-metrics-bind-address=127.0.0.1:0"]);
    for group in wire::GROUPS {
        let status = ask_nothing(group);
        assert_eq!(status.code, Code::Unimplemented, "{group}: {status}");
    }
    let output = server.output();
    assert!(output.contains("native node: the disks, shares and services of this machine"));
    assert!(!output.contains("SIMULATED"), "{output}");
    let health = page(&output, "/healthz");
    assert_eq!(wire::GROUPS.len(), 23);
    assert!(health.contains("endpoints: 23 of 23 answer"), "{health}");
    assert!(health.contains("node: windows"), "{health}");
    let metrics = page(&output, "/metrics");
    assert!(metrics.contains(r#"node="windows""#), "{metrics}");
}

#[test]
fn what_is_to_be_native_is_named_beside_a_simulated_node_alone() {
    let ended = exe(&["-native=files"]);
    assert_eq!(ended.code, Some(2), "{}", ended.output);
    let text = "-native without -simulate: everything is this machine's own already";
    assert!(ended.output.contains(text), "{}", ended.output);
    let _turn = turn();
    let folder = TempDir::new().expect("a temporary folder");
    let node = format!("-simulate={}", folder.path().join("node").display());
    let ended = exe(&[&node, "-native=disks"]);
    assert_eq!(ended.code, Some(1), "{}", ended.output);
    let text = "facility disks cannot be this system's own beside a simulated node";
    assert!(ended.output.contains(text), "{}", ended.output);
}

#[test]
fn directories_are_made_seen_and_removed_in_this_machines_own_filesystem() {
    let _turn = turn();
    let root = TempDir::new().expect("a temporary folder");
    let _server = Server::of_this_machine(&[&format!("-working-dir={}", root.path().display())]);
    let client = Client::local("");
    let path = |name: &str| root.path().join(name).display().to_string();
    let directory = path(r"a\b");
    let mkdir = filesystem::MkdirRequest {
        path: directory.clone(),
    };
    done::<filesystem::rpc::Mkdir>(&client, &mkdir);
    assert!(Path::new(&directory).is_dir());
    assert!(exists(&client, &directory));
    fs::write(Path::new(&directory).join("file"), "x").expect("a file");
    let rmdir = |path: String, force: bool| filesystem::RmdirRequest { path, force };
    let full = refusal::<filesystem::rpc::Rmdir>(&client, &rmdir(directory.clone(), false));
    assert!(full.contains("The directory is not empty."), "{full}");
    assert!(Path::new(&directory).join("file").is_file());
    done::<filesystem::rpc::Rmdir>(&client, &rmdir(directory.clone(), true));
    assert!(!Path::new(&directory).exists() && Path::new(&path("a")).is_dir());
    assert!(!exists(&client, &directory));
    let outside = filesystem::MkdirRequest {
        path: r"C:\Windows\wincsi".to_owned(),
    };
    refusal::<filesystem::rpc::Mkdir>(&client, &outside);
    assert!(!Path::new(&outside.path).exists());
}

#[test]
fn services_and_the_firmware_of_this_machine_answer() {
    let _turn = turn();
    let _server = Server::of_this_machine(&[]);
    let client = Client::local("");
    let service = |name: &str| system::GetServiceRequest {
        name: name.to_owned(),
    };
    let plug_and_play = done::<system::rpc::GetService>(&client, &service("PlugPlay"));
    assert_eq!(plug_and_play.status(), system::ServiceStatus::Running);
    let missing = refusal::<system::rpc::GetService>(&client, &service("no-such-service"));
    assert!(missing.contains("no-such-service: not found"), "{missing}");
    // Even without a serial number, the machine's firmware was queried.
    let serial = system::GetBiosSerialNumberRequest {};
    match client.call::<system::rpc::GetBiosSerialNumber>(&serial, TIMEOUT) {
        Ok(answer) => assert!(!answer.serial_number.is_empty()),
        Err(error) => assert!(error.to_string().contains("the firmware gives none")),
    }
}

/// Wine has neither disks nor the providers of storage, SMB and iSCSI. When it has them, this test fails.
#[test]
fn what_is_not_there_fails_by_its_name_and_holds_up_nobody() {
    let _turn = turn();
    let root = TempDir::new().expect("a temporary folder");
    let folder = root.path().display().to_string();
    let server = Server::of_this_machine(&[&format!("-working-dir={folder}")]);
    let client = Client::local("");
    for _ in 0..3 {
        let texts = refusals(&client);
        if is_wine() {
            assert_each_names(&texts);
        }
        assert!(exists(&client, &folder));
    }
    let output = server.output();
    assert!(!output.contains("panicked"), "{output}");
}

/// The failures of harmless calls that need disks or WMI.
fn refusals(client: &Client) -> [(&'static str, String); 7] {
    let remote_path = r"\\no-such-server.invalid\share".to_owned();
    let remove = smb::RemoveSmbGlobalMappingRequest { remote_path };
    let portal = iscsi::TargetPortal {
        target_address: "192.0.2.1".to_owned(),
        target_port: 3260,
    };
    let iscsi_disks = iscsi::GetTargetDisksRequest {
        target_portal: Some(portal.clone()),
        iqn: "iqn.2001-04.com.example:none".to_owned(),
    };
    let remove_portal = iscsi::RemoveTargetPortalRequest {
        target_portal: Some(portal),
    };
    let stats = disk::GetDiskStatsRequest { disk_number: 4_000 };
    let partition = disk::PartitionDiskRequest { disk_number: 4_000 };
    let volume_id = r"\\?\Volume{00000000-0000-0000-0000-0000000000ff}\".to_owned();
    let lies_on = volume::GetDiskNumberFromVolumeIdRequest {
        volume_id: volume_id.clone(),
    };
    let formatted = volume::IsVolumeFormattedRequest { volume_id };
    [
        (
            "disk 4000",
            refusal::<disk::rpc::GetDiskStats>(client, &stats),
        ),
        (
            "disk 4000",
            refusal::<disk::rpc::PartitionDisk>(client, &partition),
        ),
        (
            "Volume{00000000-0000-0000-0000-0000000000ff}",
            refusal::<volume::rpc::GetDiskNumberFromVolumeId>(client, &lies_on),
        ),
        (
            "Volume{00000000-0000-0000-0000-0000000000ff}",
            refusal::<volume::rpc::IsVolumeFormatted>(client, &formatted),
        ),
        (
            "MSFT_SmbGlobalMapping",
            refusal::<smb::rpc::RemoveSmbGlobalMapping>(client, &remove),
        ),
        (
            "192.0.2.1:3260",
            refusal::<iscsi::rpc::GetTargetDisks>(client, &iscsi_disks),
        ),
        (
            "192.0.2.1:3260",
            refusal::<iscsi::rpc::RemoveTargetPortal>(client, &remove_portal),
        ),
    ]
}

fn assert_each_names(texts: &[(&str, String)]) {
    for (missing, text) in texts {
        assert!(text.contains(missing), "{missing}: {text}");
    }
}

#[test]
fn a_service_of_this_machine_runs_answers_and_stops() {
    let _turn = turn();
    let service = Service::of_this_machine();
    service.does("install", 0, "is installed");
    service.does("start", 0, "runs");
    let client = Client::local("");
    refusals(&client);
    service.does("stop", 0, "is stopped");
    service.does("status", 3, "last end: exit code 0 of Windows");
    service.does("uninstall", 0, "is removed");
}

#[test]
fn the_end_comes_through_when_com_is_loaded() {
    let _turn = turn();
    let mut server = Server::of_this_machine(&[]);
    let client = Client::local("");
    refusals(&client);
    let threads = threads(&server);
    assert!(is_named(&threads, "transport"), "{threads:?}");
    assert!(is_named(&threads, "wmi"), "{threads:?}");
    // COM has brought user32.dll along by now.
    super::ask_to_end(&server, ControlEvent::Shutdown);
    assert_eq!(server.end().code(), Some(0), "{}", server.output());
    let output = server.output();
    assert!(output.contains("] stopped: "), "{output}");
}

fn threads(server: &Server) -> Vec<String> {
    thread_names(server.process().id()).expect("a list")
}

fn is_named(threads: &[String], name: &str) -> bool {
    threads.iter().any(|thread| thread == name)
}

fn ask_nothing(group: &wire::Group) -> Status {
    let endpoint =
        transport::Endpoint::local(Path::new(""), &group.pipe_name()).expect("a group's name");
    let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
    match channel.call("/wincsi.Test/Nothing", &[], Instant::now() + TIMEOUT) {
        Err(CallError::Status(status)) => status,
        other => panic!("{group}: {other:?}"),
    }
}

fn done<R: Rpc>(client: &Client, request: &R::Request) -> R::Response {
    client.call::<R>(request, TIMEOUT).expect("it is done")
}

/// The text of a failed call, in csi-proxy's way.
fn refusal<R: Rpc>(client: &Client, request: &R::Request) -> String {
    match client.call::<R>(request, TIMEOUT).map(drop) {
        Err(ClientError {
            cause: ClientCause::Call(CallError::Status(status)),
            ..
        }) if status.code == Code::Unknown => status.message,
        other => panic!("{}: {other:?}", R::PATH),
    }
}

fn exists(client: &Client, path: &str) -> bool {
    let request = filesystem::PathExistsRequest {
        path: path.to_owned(),
    };
    done::<filesystem::rpc::PathExists>(client, &request).exists
}

/// No Windows has this program.
fn is_wine() -> bool {
    Path::new(r"C:\windows\system32\winecfg.exe").exists()
}
