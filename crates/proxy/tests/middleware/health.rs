//! The health pages for a node with a trouble.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use transport::{
    Call, CallError, Channel, ChannelOptions, Code, Endpoint, Server, ServerOptions, Service,
    Status,
};
use wincsi_proxy::flags::Config;
use wire::disk::v1 as disk;
use wire::filesystem::v1 as filesystem;
use wire::system::v1alpha1 as system;

use crate::harness::{self, Proxy, mkdir};
use crate::with_pages;

const TIMEOUT: Duration = Duration::from_secs(60);

const STOPPED: &str = "degraded: iscsi: service MSiSCSI is stopped";

/// A server on a node with a stopped initiator service and this fault.
fn with_fault(fault: &str) -> Proxy {
    let proxy = Proxy::start_with(with_pages);
    let script = proxy.folder.path().join("node").join("faults.toml");
    fs::write(script, format!("[[fault]]\n{fault}\n")).expect("a script of faults");
    proxy
}

fn page(proxy: &Proxy, path: &str) -> (u16, String) {
    proxy.get(proxy.server.healthz_address(), path)
}

/// The page's lines about groups, if it has this status.
fn troubles(proxy: &Proxy, status: u16) -> Vec<String> {
    let (found, body) = page(proxy, "/readyz");
    assert_eq!(found, status, "{body}");
    let lines: Vec<_> = body.lines().map(str::to_owned).collect();
    assert_eq!(lines[0], if status == 200 { "ok" } else { "not ok" });
    assert!(lines[2].ends_with(" answer"), "{body}");
    lines[3..].to_vec()
}

#[test]
fn a_node_with_a_service_that_is_stopped_is_ready_and_told_to_be_degraded() {
    let proxy = Proxy::start_with(with_pages);
    assert_eq!(troubles(&proxy, 200), [STOPPED]);
    let request = system::StartServiceRequest {
        name: String::from("MSiSCSI"),
    };
    let started = proxy.call::<system::rpc::StartService>(&request);
    started.expect("it starts");
    let begun = Instant::now();
    while !troubles(&proxy, 200).is_empty() {
        assert!(begun.elapsed() < TIMEOUT, "its sessions are asked for");
        thread::yield_now();
    }
}

#[test]
fn a_node_without_a_class_is_ready_and_told_to_be_degraded() {
    let fault = "facility = \"smb\"\nobject = \"*MSFT_SmbGlobalMapping*\"\neffect = { fail = { hresult = 0x80041010 } }";
    let expected = "degraded: smb: this node has no such WMI class (HRESULT 0x80041010)";
    assert_eq!(troubles(&with_fault(fault), 200), [STOPPED, expected]);
}

/// The kubelet's folder is made a junction after csi-proxy has started: every call is refused then.
#[test]
fn a_working_folder_that_appears_as_a_link_is_unready_until_a_restart() {
    let proxy = Proxy::start_with(|config| {
        with_pages(config);
        config.working_dirs = [r"C:\base", r"C:\base\later\work"]
            .map(String::from)
            .to_vec();
    });
    assert_eq!(troubles(&proxy, 200), [STOPPED]);
    let made = proxy.call::<filesystem::rpc::Mkdir>(&mkdir(r"C:\base\elsewhere"));
    made.expect("it is in the first");
    let link = filesystem::CreateSymlinkRequest {
        source_path: String::from(r"C:\base\elsewhere"),
        target_path: String::from(r"C:\base\later"),
    };
    let linked = proxy.call::<filesystem::rpc::CreateSymlink>(&link);
    linked.expect("nothing has the name");
    let expected = "unready: filesystem: a working directory that was missing at the start is a link now: restart csi-proxy";
    let begun = Instant::now();
    while page(&proxy, "/readyz").0 == 200 {
        assert!(begun.elapsed() < TIMEOUT, "an answer holds for a second");
        thread::yield_now();
    }
    assert_eq!(troubles(&proxy, 503), [expected, STOPPED]);
}

#[test]
fn a_group_that_fails_is_unready_and_how_stands_in_the_log() {
    let fault = "operation = \"IWbemServices.ExecQuery\"\nobject = \"*MSFT_Disk*\"\neffect = { fail = { hresult = 0x80041001 } }";
    let expected = "unready: disk: fails, and the log says how";
    assert_eq!(troubles(&with_fault(fault), 503), [expected, STOPPED]);
}

/// A hung check is not repeated, and liveness checks nothing.
#[test]
fn a_group_that_hangs_is_unready_and_the_process_lives() {
    let proxy = with_fault("facility = \"smb\"\neffect = \"hang\"");
    let expected = "unready: smb: no answer within 5 s";
    assert_eq!(troubles(&proxy, 503), [STOPPED, expected]);
    assert_eq!(page(&proxy, "/livez"), (200, String::from("ok\n")));
    assert_eq!(page(&proxy, "/healthz").0, 200);
    let again = "unready: smb: the look from before has not ended";
    let begun = Instant::now();
    while troubles(&proxy, 503) != [STOPPED, again] {
        assert!(begun.elapsed() < TIMEOUT, "it is looked at again");
        thread::yield_now();
    }
}

/// Has each group check the node, as the page does, and returns each code.
fn codes_of_looks(sockets: &Path) -> Vec<(String, Code)> {
    let groups = wire::GROUPS.iter();
    let codes = groups.map(|group| {
        let endpoint = Endpoint::local(sockets, &group.pipe_name()).expect("a group's name");
        let channel = Channel::connect(endpoint, ChannelOptions::default()).expect("it listens");
        match channel.call("/wincsi.Health/Look", &[], Instant::now() + TIMEOUT) {
            Ok(_) => (group.to_string(), Code::Ok),
            Err(CallError::Status(status)) => (group.to_string(), status.code),
            Err(error) => panic!("{error}"),
        }
    });
    codes.collect()
}

/// Checks run outside of the policy, and one at a time, so a client's would fail the page's own.
/// Guards: P17
#[test]
fn other_processes_cannot_run_the_health_check() {
    if let Some(sockets) = harness::sockets_of_another_process() {
        for _ in 0..20 {
            let codes = codes_of_looks(&sockets);
            let is_refused = |(_, code): &(String, Code)| *code == Code::Unimplemented;
            assert!(codes.iter().all(is_refused), "{codes:?}");
        }
        return;
    }
    let proxy = Proxy::start_with(with_pages);
    let test = "health::other_processes_cannot_run_the_health_check";
    let mut other = proxy.have_another_process_run(test);
    let ended = loop {
        assert_eq!(troubles(&proxy, 200), [STOPPED]);
        if let Some(ended) = other.try_wait().expect("it is ours") {
            break ended;
        }
    };
    assert!(ended.success(), "{ended}");
}

/// Answers every call, so its endpoint is not named for silence.
struct Squatter;

impl Service for Squatter {
    fn call(&self, _: &Call) -> Result<Vec<u8>, Status> {
        Ok(Vec::new())
    }
}

/// Serves an endpoint before the proxy does.
fn take(config: &Config, name: &str) -> (Server, Endpoint) {
    fs::create_dir_all(&config.listen).expect("a folder for sockets");
    let endpoint = Endpoint::local(&config.listen, name).expect("a name");
    let service: Arc<dyn Service> = Arc::new(Squatter);
    let services = vec![(endpoint.clone(), service)];
    let server = Server::bind(services, ServerOptions::default());
    (server.expect("nobody has it yet"), endpoint)
}

/// The others are served meanwhile, even those of the same group.
/// Guards: P3
#[test]
fn an_endpoint_that_is_taken_fails_readiness_by_its_name_until_it_is_free_and_served() {
    let mut taken = None;
    let proxy = Proxy::start_with(|config| {
        with_pages(config);
        taken = Some(take(config, "csi-proxy-disk-v1"));
    });
    let (squatter, endpoint) = taken.expect("the proxy is configured");
    let expected = format!("{endpoint}: served by another process");
    assert_eq!(troubles(&proxy, 503), [expected.as_str(), STOPPED]);
    let (status, body) = page(&proxy, "/healthz");
    assert_eq!(status, 503);
    assert!(
        body.contains("22 of 23 answer") && body.contains(&expected),
        "{body}"
    );
    for group in wire::GROUPS.iter().filter(|group| **group != disk::GROUP) {
        proxy.call_empty(group, group.methods[0].name);
    }
    drop(squatter);
    let begun = Instant::now();
    while page(&proxy, "/readyz").0 != 200 {
        assert!(begun.elapsed() < TIMEOUT, "it is tried again");
        thread::yield_now();
    }
    let disks = proxy.call::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {});
    disks.expect("it is served here");
}
