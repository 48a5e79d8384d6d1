//! The guard's verdicts on the page, also while a disk hangs.

use std::fs;
use std::time::{Duration, Instant};

use node::{Node, Options};
use os::Deadline;
use os_sim::{ClockMode, demo};
use wincsi_proxy::flags::Config;

use crate::harness::Proxy;
use crate::with_pages;

const TIMEOUT: Duration = Duration::from_secs(60);

fn verbose(proxy: &Proxy) -> (u16, String) {
    proxy.get(proxy.server.healthz_address(), "/healthz?verbose")
}

/// A node whose data disk has this trouble before the server starts.
fn with_fault(fault: &'static str) -> impl FnOnce(&mut Config) {
    move |config| {
        with_pages(config);
        let folder = config.simulate.as_deref().expect("a folder");
        let sim = demo::create(folder, ClockMode::Real).expect("a new node");
        let node = Node::new(sim.os(), Options::default());
        let found = node.operations().disks().rescan(Deadline::NEVER);
        found.expect("the data disk is found");
        let script = folder.join("faults.toml");
        fs::write(script, format!("[[fault]]\n{fault}\n")).expect("a script of faults");
    }
}

fn wait_for(proxy: &Proxy, words: &str) -> String {
    let begun = Instant::now();
    loop {
        let (status, body) = verbose(proxy);
        assert_eq!(status, 200, "{body}");
        if body.contains(words) {
            return body;
        }
        assert!(begun.elapsed() < TIMEOUT, "{words}: {body}");
    }
}

#[test]
fn the_page_has_the_verdict_of_each_disk_where_it_is_asked_for() {
    let proxy = Proxy::start_with(with_pages);
    let body = wait_for(
        &proxy,
        "\ndisk 0 is never written: it holds the boot volume\n",
    );
    assert!(body.starts_with("ok\n"), "{body}");
    let (_, brief) = proxy.get(proxy.server.healthz_address(), "/healthz");
    assert!(!brief.contains("disk "), "{brief}");
}

#[test]
fn a_disk_that_hangs_holds_up_neither_the_start_nor_the_page() {
    let hang = "operation = \"IOCTL_DISK_GET_DRIVE_LAYOUT_EX\"\neffect = \"hang\"";
    let proxy = Proxy::start_with(with_fault(hang));
    let (status, body) = verbose(&proxy);
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains("\ndisk guard: the disks have not been looked at yet\n"),
        "{body}"
    );
    let (status, _) = proxy.get(proxy.server.healthz_address(), "/healthz");
    assert_eq!(status, 200);
}

/// Its text names the device, for the log only.
/// Guards: P20
#[test]
fn the_page_says_of_a_failure_that_there_is_one_and_nothing_else() {
    let fail =
        "operation = \"IOCTL_DISK_GET_DRIVE_LAYOUT_EX\"\neffect = { fail = { win32 = 1117 } }";
    let proxy = Proxy::start_with(with_fault(fail));
    let body = wait_for(&proxy, "cannot be read");
    assert!(!body.contains("IOCTL") && !body.contains("1117"), "{body}");
}
