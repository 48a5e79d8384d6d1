//! The system's text in its own language reaches the log, and changes no text for clients.

#![allow(clippy::panic, reason = "helpers of tests fail like tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{Client, ClientCause, Endpoint, Group};
use node::api::{Condition, NodeApi};
use node::{Criterion, DiskQuery, SerialNumber};
use program::log;
use transport::CallError;
use wincsi_proxy::flags::{self, Invocation};
use wincsi_proxy::serve;
use wire::disk::v1 as disk;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Where a proxy with `-listen=FOLDER` serves: its pipes on Windows, sockets elsewhere.
fn over_pipes(sockets: PathBuf) -> client::Node {
    let place = move |group: &Group| Endpoint::local(&sockets, &group.pipe_name());
    client::Node::at(place, client::Options::default())
}

/// The demo's data disk.
const DATA: u32 = 1;

/// Faults of a disk's initialisation, and their conditions for a driver.
const FAILURES: [(&str, Condition); 3] = [
    ("fail = { win32 = 5 }", Condition::AccessDenied),
    ("fail = { hresult = 0x80041001 }", Condition::Other),
    ("answer = { code = 40003 SAID }", Condition::OutOfDate),
];

/// Texts of the system for it: none, German, and the drivers' text for "not there".
const SYSTEM_TEXTS: [&str; 3] = ["", "Zugriff verweigert", node::driver_texts::MISSING];

#[test]
fn the_language_of_the_node_changes_nothing_that_a_client_can_match_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path());
    log::start(&config.log).expect("a log file");
    let _server = serve::start(&config).expect("a simulated node can be served");
    let client = Client::local(&config.listen);
    let node = over_pipes(config.listen);
    let rescanned = node.disks().rescan(node.deadline(TIMEOUT));
    rescanned.expect("the data disk is seen");
    let serial = SerialNumber::parse(os_sim::demo::DISK_SERIAL).expect("a serial number");
    let wanted = DiskQuery::all([Criterion::Serial(serial)]).expect("a name is enough");
    let found = node.disks().find(&wanted, node.deadline(TIMEOUT));
    let found = found.expect("the data disk is found");
    for (failure, condition) in FAILURES {
        let texts = SYSTEM_TEXTS.map(|text_of_system| {
            script(folder.path(), failure, text_of_system);
            let deadline = node.deadline(TIMEOUT);
            let error = node.disks().partition(&found, deadline);
            let error = error.expect_err("a failure");
            assert_eq!(error.condition(), Some(condition), "{error}");
            assert_eq!(error.system_text(), None);
            text(&client)
        });
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
        assert!(!texts[0].is_empty());
    }
    let log = fs::read_to_string(folder.path().join("log")).expect("the log");
    for text_of_system in SYSTEM_TEXTS
        .iter()
        .filter(|text_of_system| !text_of_system.is_empty())
    {
        assert!(
            log.contains(&format!("system={text_of_system}\n")),
            "{text_of_system}: {log}"
        );
    }
}

/// The text on the wire of a failing call.
fn text(client: &Client) -> String {
    let request = disk::PartitionDiskRequest { disk_number: DATA };
    let failed = client.call::<disk::rpc::PartitionDisk>(&request, TIMEOUT);
    match failed.expect_err("a failure").cause {
        ClientCause::Call(CallError::Status(status)) => status.message,
        other => panic!("{other}"),
    }
}

/// Has the disk fail so from now on.
fn script(folder: &Path, failure: &str, text_of_system: &str) {
    let (text, answered) = match text_of_system {
        "" => (String::new(), String::new()),
        text_of_system => (
            format!("text = {text_of_system:?}"),
            format!(", text = {text_of_system:?}"),
        ),
    };
    let effect = failure.replace("SAID", &answered);
    let rule = format!(
        "[[fault]]\noperation = \"MSFT_Disk.Initialize\"\neffect = {{ {effect} }}\n{text}\n"
    );
    fs::write(folder.join("node").join("faults.toml"), rule).expect("the node's folder");
}

fn config(folder: &Path) -> flags::Config {
    let path = |name: &str| folder.join(name).display().to_string();
    let line = [
        String::from("-logtostderr=false"),
        format!("-log_file={}", path("log")),
        format!("-listen={}", path("sockets")),
        format!("-simulate={}", path("node")),
    ];
    match flags::parse(line) {
        Ok(Invocation::Serve(config)) => *config,
        other => panic!("{other:?}"),
    }
}
