//! Monitoring and policies of a server, over real endpoints.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

mod changes;
mod crowd;
mod disk_guard;
mod exposition;
mod flags;
mod harness;
mod health;
mod recorded;
mod released;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};
use std::{fs, thread};

use program::http::{BarePort, BindAddress};
use program::log;
use serde_json::Value;
use transport::Code;
use wincsi_proxy::flags::Config;
use wire::disk::v1 as disk;
use wire::filesystem;
use wire::smb::v1 as smb;

use self::exposition::Exposition;
use self::harness::{Proxy, mkdir};

fn with_pages(config: &mut Config) {
    config.metrics_address =
        Some(BindAddress::parse("127.0.0.1:0", BarePort::Loopback).expect("an address"));
    config.healthz_address =
        Some(BindAddress::parse(":0", BarePort::Loopback).expect("an address"));
}

fn scraped(proxy: &Proxy) -> Exposition {
    let (status, body) = proxy.get(proxy.server.metrics_address(), "/metrics");
    assert_eq!(status, 200);
    Exposition::parse(&body)
}

#[test]
fn a_scrape_is_well_formed_and_has_csi_proxys_series() {
    let proxy = Proxy::start_with(with_pages);
    let path = r"C:\var\lib\kubelet\a";
    proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(path))
        .expect("made");
    proxy
        .call::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {})
        .expect("listed");
    let missing = disk::GetDiskStatsRequest { disk_number: 99 };
    proxy.refusal::<disk::rpc::GetDiskStats>(&missing);
    let page = scraped(&proxy);
    let labels = |method: &str, service: &str| {
        format!(r#"{{grpc_method="{method}",grpc_service="{service}",grpc_type="unary""#)
    };
    let mkdir = labels("Mkdir", "v1.Filesystem");
    let stats = labels("GetDiskStats", "v1.Disk");
    for (series, value) in [
        (format!("grpc_server_started_total{mkdir}}}"), 1.0),
        (format!("grpc_server_msg_received_total{mkdir}}}"), 1.0),
        (format!("grpc_server_msg_sent_total{mkdir}}}"), 1.0),
        (format!("grpc_server_msg_sent_total{stats}}}"), 1.0),
        (format!("grpc_server_handling_seconds_count{stats}}}"), 1.0),
    ] {
        assert_eq!(page.value(&series), Some(value), "{series}");
    }
    let handled = |code, labels: &str| {
        let labels = labels.trim_start_matches('{');
        page.value(&format!(
            r#"grpc_server_handled_total{{grpc_code="{code}",{labels}}}"#
        ))
    };
    assert_eq!(handled("OK", &mkdir), Some(1.0));
    assert_eq!(handled("Unknown", &stats), Some(1.0));
    assert_eq!(handled("OK", &stats), None);
    assert_eq!(
        page.bounds("grpc_server_handling_seconds"),
        [
            "0.001", "0.01", "0.1", "0.3", "0.6", "1", "3", "6", "9", "20", "30", "60", "90",
            "120", "+Inf"
        ]
    );
    assert!(!page.text().contains("PartitionDisk"), "never called");
    assert_has_ours_and_the_processes(&page);
}

fn assert_has_ours_and_the_processes(page: &Exposition) {
    let made = r#"wincsi_os_operation_seconds_count{facility="files",operation="NtCreateFile create directory"}"#;
    assert!(page.value(made).is_some_and(|count| count >= 1.0));
    for figure in [
        "process_cpu_seconds_total",
        "process_max_fds",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
    ] {
        assert!(page.value(figure).is_some(), "{figure}");
    }
    assert!(
        page.value("wincsi_connections")
            .is_some_and(|count| count >= 2.0)
    );
    assert!(page.text().contains(r#"node="SIMULATED""#));
}

#[test]
fn a_scrape_has_what_the_pipes_have_refused() {
    let page = scraped(&Proxy::start_with(with_pages));
    for counter in [
        "wincsi_refused_calls_total",
        "wincsi_turned_away_connections_total",
        "wincsi_failed_accepts_total",
    ] {
        assert_eq!(page.value(counter), Some(0.0), "{counter}");
    }
}

#[test]
fn health_tells_of_every_endpoint_and_of_simulation() {
    let proxy = Proxy::start_with(with_pages);
    for address in [
        proxy.server.metrics_address(),
        proxy.server.healthz_address(),
    ] {
        let (status, body) = proxy.get(address, "/healthz");
        let lines: Vec<_> = body.lines().collect();
        assert_eq!((status, lines[0], lines[1]), (200, "ok", "node: SIMULATED"));
        let count = wincsi_proxy::groups::registry()
            .methods()
            .map(|(group, _)| (group.to_string(), ()))
            .collect::<BTreeMap<_, _>>()
            .len();
        assert_eq!(lines[2], format!("endpoints: {count} of {count} answer"));
    }
    let (status, _) = proxy.get(proxy.server.healthz_address(), "/metrics");
    assert_eq!(status, 404, "the address for health has no metrics");
}

/// Guards: P36
#[test]
fn an_address_that_is_taken_is_served_once_it_is_free_and_the_pipes_meanwhile() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound");
    let proxy = Proxy::start_with(|config| {
        config.metrics_address = BindAddress::parse(&address.to_string(), BarePort::Loopback).ok();
        config.healthz_address = BindAddress::parse("127.0.0.1:0", BarePort::Loopback).ok();
    });
    assert_eq!(proxy.server.metrics_address(), None);
    proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(r"C:\var\lib\kubelet\a"))
        .expect("made");
    let (status, _) = proxy.get(proxy.server.healthz_address(), "/healthz");
    assert_eq!(status, 200, "the other page has its address");
    drop(taken);
    let patience = Instant::now() + Duration::from_secs(60);
    while proxy.server.metrics_address().is_none() {
        assert!(Instant::now() < patience, "the page never comes");
        thread::yield_now();
    }
    assert_eq!(proxy.server.metrics_address(), Some(address));
    assert!(scraped(&proxy).text().contains("Mkdir"));
}

/// Guards: P16
#[test]
fn a_policy_that_cannot_be_read_ends_the_start() {
    let error = Proxy::start_error(|config| {
        let path = config.listen.with_file_name("policy.toml");
        fs::write(&path, "default = 'allow'\ndeny = ['volume.Fromat']").expect("written");
        config.policy_file = Some(path);
    });
    assert!(error.to_string().contains("volume.Fromat"), "{error}");
}

/// The log of this process, made once for all tests.
fn log_file() -> PathBuf {
    let name = format!("middleware-{}.log", std::env::consts::OS);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn start_log(config: &mut Config) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Drop the lines of an earlier run.
        let _ = fs::remove_file(log_file());
        config.log.file = Some(log_file());
        config.log.to_stderr = false;
        log::start(&config.log).expect("a log file");
    });
}

/// Clients cause these lines as they like.
/// Guards: P19
#[test]
fn the_log_of_a_failed_call_is_cut_and_says_by_how_much() {
    let proxy = Proxy::start_with(start_log);
    let path = format!(r"C:\outside\{}", r"folder\".repeat(400));
    let request = filesystem::v1::IsSymlinkRequest { path };
    let (_, text) = proxy.refusal::<filesystem::v1::rpc::IsSymlink>(&request);
    assert!(text.len() > 2500, "{text}");
    let expected = format!("... ({} bytes more)", text.len() - 512);
    let log = fs::read_to_string(log_file()).expect("the log");
    let line = log.lines().find(|line| line.contains(&expected));
    assert!(line.is_some_and(|line| line.len() < 1024), "{log}");
}

/// Guards: P16, P18
#[test]
fn a_policy_covers_all_versions_and_changes_without_a_restart() {
    let proxy = Proxy::start_with(|config| {
        let path = config.listen.with_file_name("policy.toml");
        let rules = "default = 'allow'\ndeny = ['filesystem.IsSymlink', 'filesystem.Mkdir']";
        fs::write(&path, rules).expect("written");
        config.policy_file = Some(path);
        config.audit_log = Some(config.listen.with_file_name("audit.log"));
        start_log(config);
    });
    let path = String::from(r"C:\var\lib\kubelet\a");
    let denied = |operation: &str| {
        let text = format!("filesystem.{operation} is not allowed by the policy of this node");
        (Code::PermissionDenied, text)
    };
    let old = filesystem::v1beta1::IsMountPointRequest { path: path.clone() };
    let answer = proxy.refusal::<filesystem::v1beta1::rpc::IsMountPoint>(&old);
    assert_eq!(answer, denied("IsSymlink"));
    let request = filesystem::v1::IsSymlinkRequest { path: path.clone() };
    let answer = proxy.refusal::<filesystem::v1::rpc::IsSymlink>(&request);
    assert_eq!(answer, denied("IsSymlink"));
    let answer = proxy.refusal::<filesystem::v1::rpc::Mkdir>(&mkdir(&path));
    assert_eq!(answer, denied("Mkdir"));
    assert!(!proxy.exists(&path), "what was refused was not done");
    let audited = proxy.audit_lines();
    assert_eq!(audited.len(), 1, "the refused change: {audited:?}");
    assert_eq!(audited[0]["outcome"], "PermissionDenied");
    let caller = format!("client=Some({})", std::process::id());
    let log = fs::read_to_string(log_file()).expect("the log");
    for method in ["/v1beta1.Filesystem/IsMountPoint", "/v1.Filesystem/Mkdir"] {
        let is_refusal = |line: &&str| {
            let words = ["refused by the policy", method, &caller];
            words.iter().all(|word| line.contains(word))
        };
        assert!(log.lines().any(|line| is_refusal(&line)), "{method}: {log}");
    }

    let policy = proxy.folder.path().join("policy.toml");
    fs::write(policy, "default = 'allow'").expect("written");
    let patience = Instant::now() + Duration::from_secs(60);
    while proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(&path))
        .is_err()
    {
        assert!(Instant::now() < patience, "the new policy is never adopted");
    }
    assert!(proxy.exists(&path));
}

/// Guards: P18
#[test]
fn the_audit_log_has_a_line_for_each_change_and_none_for_looking() {
    let proxy = Proxy::start_with(|config| {
        config.audit_log = Some(config.listen.with_file_name("audit.log"));
    });
    let path = r"C:\var\lib\kubelet\a";
    proxy
        .call::<filesystem::v1::rpc::Mkdir>(&mkdir(path))
        .expect("made");
    assert!(proxy.exists(path));
    let offline = disk::SetDiskStateRequest {
        disk_number: 0,
        is_online: false,
    };
    let (_, refusal) = proxy.refusal::<disk::rpc::SetDiskState>(&offline);
    let share = smb::NewSmbGlobalMappingRequest {
        remote_path: String::from(r"\\nowhere\share"),
        local_path: String::new(),
        username: String::from("ann"),
        password: String::from("a secret"),
    };
    proxy.refusal::<smb::rpc::NewSmbGlobalMapping>(&share);
    let lines = proxy.audit_lines();
    let [made, kept, mapped] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_is_mkdir(made, path);
    assert_eq!(kept["object"]["disk_number"], 0);
    assert_eq!(
        (&kept["outcome"], &kept["text"]),
        (&Value::from("Unknown"), &Value::from(refusal))
    );
    assert_eq!(mapped["object"]["username"], "ann");
    assert_eq!(mapped["object"].get("password"), None);
    let pid = Value::from(std::process::id());
    assert!(
        lines.iter().all(|line| line["client_pid"] == pid),
        "{lines:?}"
    );
}

fn assert_is_mkdir(made: &Value, path: &str) {
    assert_eq!(made["operation"], "filesystem.Mkdir");
    assert_eq!(
        (&made["group"], &made["version"]),
        (&Value::from("filesystem"), &Value::from("v1"))
    );
    assert_eq!(
        (&made["outcome"], &made["text"]),
        (&Value::from("OK"), &Value::from(""))
    );
    assert_eq!(made["object"]["path"], path);
    assert!(
        made["time"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
    assert!(
        made["duration_seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 0.0)
    );
}

#[test]
fn an_audit_log_that_takes_nothing_fails_no_call_and_is_told() {
    let proxy = Proxy::start_with(|config| {
        with_pages(config);
        config.audit_log = Some(config.listen.with_file_name("audit.log"));
    });
    let audit = proxy.folder.path().join("audit.log");
    fs::rename(&audit, audit.with_extension("moved")).expect("renamed");
    fs::create_dir(&audit).expect("a folder in its place");
    let patience = Instant::now() + Duration::from_secs(60);
    let lost = || scraped(&proxy).value("wincsi_audit_records_lost_total");
    while lost() == Some(0.0) {
        proxy
            .call::<filesystem::v1::rpc::Mkdir>(&mkdir(r"C:\var\lib\kubelet\a"))
            .expect("made all the same");
        assert!(Instant::now() < patience, "the loss is never told");
    }
}
