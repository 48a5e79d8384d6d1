//! The page of figures beside that of a Go server; `recorded/README.md` says how it was made.

use client::ClientError;
use wire::filesystem::v1 as filesystem;

use super::harness::Proxy;
use super::with_pages;

const RECORDED: &str = include_str!("recorded/metrics.prom");

/// The calls of the recorded page.
fn calls(proxy: &Proxy) {
    let exists = |path: &str| -> Result<_, ClientError> {
        let path = path.to_owned();
        proxy.call::<filesystem::rpc::PathExists>(&filesystem::PathExistsRequest { path })
    };
    for path in [r"C:\var\lib\kubelet\a", r"C:\var\lib\kubelet\b"] {
        exists(path).expect("it is inside");
    }
    exists("").expect_err("an empty path");
    let empty = filesystem::IsSymlinkRequest::default();
    let refused = proxy.call::<filesystem::rpc::IsSymlink>(&empty);
    refused.expect_err("an empty path");
}

/// The lines of calls, without times.
fn of_calls(page: &str) -> Vec<&str> {
    let is_of_calls = |line: &&str| line.contains("grpc_server_");
    let without_time = |line| match line {
        line if is_time(line) => line.rsplit_once(' ').expect("a value").0,
        line => line,
    };
    page.lines().filter(is_of_calls).map(without_time).collect()
}

fn is_time(line: &str) -> bool {
    line.contains("_seconds_bucket{") || line.contains("_seconds_sum{")
}

#[test]
fn the_series_of_calls_are_those_of_a_go_server() {
    let proxy = Proxy::start_with(with_pages);
    calls(&proxy);
    let (status, page) = proxy.get(proxy.server.metrics_address(), "/metrics");
    assert_eq!(status, 200);
    assert_eq!(of_calls(&page), of_calls(RECORDED));
}
