//! `wincsi doctor` as a person runs it, beside a driver and without one.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wincsi::sim::smb::ServerHealth::Down;
use wincsi::sim::smb::ServerSpec;
use wire::csi::v1::node::NodeStageVolume;

use crate::fixture::{Driver, Ended, Kubelet, SECRET, call, stage_of_share};

/// The report, and the checks that found something.
fn examine(kubelet: &Kubelet) -> (Value, Vec<String>, Option<i32>) {
    let Ended { code, output } = kubelet.run(&["doctor", "-json"], &[]);
    let report: Value = serde_json::from_str(&output).unwrap_or_else(|_| panic!("{output}"));
    let findings = report["findings"].as_array().unwrap().iter();
    let found = findings.map(|one| one["check"].as_str().unwrap().to_owned());
    let found = found.collect();
    (report, found, code)
}

#[test]
fn the_running_driver_answers() {
    let kubelet = Kubelet::new();
    let driver = Driver::start(&kubelet);
    assert!(!driver.get("/metrics").1.contains("wincsi_findings"));
    let (report, found, code) = examine(&kubelet);
    assert_eq!(
        (&report["way"], &report["version"]),
        (&"driver".into(), &1.into())
    );
    assert_eq!(
        (found, code),
        (vec![String::from("not-registered")], Some(3))
    );
    let line =
        |count| format!("wincsi_findings{{check=\"not-registered\",severity=\"error\"}} {count}\n");
    assert!(driver.get("/metrics").1.contains(&line(1)));
    kubelet.register();
    let healthy = kubelet.run(&["doctor"], &[]);
    assert_eq!(healthy.code, Some(0), "{}", healthy.output);
    assert!(
        healthy.output.contains("nothing known"),
        "{}",
        healthy.output
    );
    assert!(driver.get("/metrics").1.contains(&line(0)));
}

#[test]
fn without_a_driver_the_command_looks_itself() {
    let kubelet = Kubelet::new();
    let (report, found, code) = examine(&kubelet);
    assert_eq!(report["way"], "command");
    assert_eq!(
        (found, code),
        (vec![String::from("driver-absent")], Some(3))
    );
    assert!(!kubelet.simulated_node().exists(), "it made a node");
    drop(Driver::start(&kubelet));
    let broken = kubelet.csi_path().with_file_name("volumes/broken.json");
    fs::write(&broken, "{").unwrap();
    let (_, found, _) = examine(&kubelet);
    assert_eq!(found, ["driver-absent", "record-unreadable"]);
    assert_eq!(fs::read(&broken).unwrap(), b"{");
}

/// What has the socket may be a driver that hangs: the command does not say that none runs.
#[test]
fn a_socket_that_does_not_answer_is_in_doubt() {
    let kubelet = Kubelet::new();
    fs::create_dir(kubelet.csi_path().parent().unwrap()).unwrap();
    let listener = UnixListener::bind(kubelet.csi_path()).unwrap();
    // It hangs up on each, until this process ends.
    thread::spawn(move || listener.incoming().for_each(drop));
    let (report, found, code) = examine(&kubelet);
    let outcome = (&report["way"], found.len(), code);
    assert_eq!(outcome, (&"command".into(), 0, Some(4)));
    let mut in_doubt = report["unseen"].as_array().unwrap().iter();
    assert!(
        in_doubt.any(|one| one["check"] == "driver-absent"),
        "{report}"
    );
}

/// A node whose kubelet lives elsewhere: the driver waits for its call in vain.
#[test]
fn a_missing_folder_of_kubelet_is_the_cause() {
    let kubelet = Kubelet::new();
    let folder = kubelet.registration_path().parent().unwrap().to_owned();
    let _driver = Driver::start(&kubelet);
    fs::remove_dir_all(&folder).unwrap();
    let (_, found, code) = examine(&kubelet);
    assert_eq!(
        (found, code),
        (vec![String::from("kubelet-folder")], Some(3))
    );
}

/// With -registration=off the folder is another program's matter.
#[test]
fn a_sidecars_folder_of_kubelet_is_not_looked_at() {
    let kubelet = Kubelet::new();
    let folder = kubelet.registration_path().parent().unwrap().to_owned();
    fs::remove_dir_all(&folder).unwrap();
    let off = ["-registration=off"];
    let codes = || kubelet.run(&["doctor"], &off).code;
    let without = kubelet.run(&["doctor"], &off);
    assert!(
        !without.output.contains("kubelet-folder"),
        "{}",
        without.output
    );
    let _driver = Driver::with_flags(&kubelet, &off);
    assert_eq!(codes(), Some(0));
}

/// Three servers that are down, a provider that hangs, and no log that takes a line.
#[test]
fn a_full_log_disk_keeps_no_finding_back() {
    let kubelet = Kubelet::new();
    let log = [
        "-logtostderr=false",
        "-log_file=/dev/full",
        "-skip_log_headers",
    ];
    let _driver = Driver::with_flags(&kubelet, &log);
    kubelet.register();
    let servers = ["a", "b", "c"];
    for name in servers {
        let (server, user) = (kubelet.servers(), r"AZURE\pods");
        let spec = ServerSpec::sharing("data", user, SECRET);
        server.add_server(name, &spec).unwrap();
        let stage = stage_of_share(name, format!("//{name}/data"), user);
        call::<NodeStageVolume>(&kubelet.csi(), &stage).unwrap();
        server.set_condition(name, Down).unwrap();
    }
    kubelet.hang("IWbemServices.ExecQuery");
    let began = Instant::now();
    let (report, _, code) = examine(&kubelet);
    // Who waits for it was promised so.
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!((&report["way"], code), (&"driver".into(), Some(3)));
    let findings = report["findings"].as_array().unwrap().iter();
    let objects = Vec::from_iter(findings.map(|one| one["object"].as_str().unwrap()));
    assert_eq!(
        objects,
        ["a", "b", "c", "Windows's SMB provider"],
        "{report}"
    );
}

/// A server's name with an `@` leads to WebDAV.
#[test]
fn a_source_that_a_volume_may_not_have_is_not_dialled() {
    let kubelet = Kubelet::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let source = format!("//127.0.0.1@{port}/data");
    for words in [
        ["doctor", source.as_str()],
        ["doctor", "//files/pipe"],
        ["doctor", "stray"],
    ] {
        let refused = kubelet.run(&words, &[&format!("-port={port}")]);
        assert_eq!(refused.code, Some(2), "{}", refused.output);
        assert!(!refused.output.contains(&source[2..]), "{}", refused.output);
    }
    let dialled = listener.accept().unwrap_err();
    assert_eq!(dialled.kind(), ErrorKind::WouldBlock);
}

/// A bundle has the driver's metrics if it runs, and its findings are those of doctor, elsewhere.
#[test]
fn a_bundle_is_read_where_the_node_is_not() {
    let (kubelet, elsewhere) = (Kubelet::new(), Kubelet::new());
    let file = elsewhere.simulated_node().with_file_name("node.tar");
    let file = file.display().to_string();
    let mut driver = Some(Driver::start(&kubelet));
    for is_running in [true, false] {
        if !is_running {
            drop(driver.take());
        }
        let here = kubelet.run(&["doctor"], &[]);
        let bundle = kubelet.run(&["collect"], &[]);
        assert_eq!(bundle.code, Some(0), "{}", bundle.output);
        assert_eq!(
            bundle.output.contains("\nwincsi_registered 0\n"),
            is_running
        );
        fs::write(&file, &bundle.output).unwrap();
        for words in [
            &["doctor", "-from", file.as_str()][..],
            &["doctor", &format!("--from={file}")],
        ] {
            let there = elsewhere.run(words, &[]);
            assert_eq!((there.code, &there.output), (here.code, &here.output));
        }
    }
    fs::write(&file, "none").unwrap();
    for (words, code) in [
        (&["doctor", "-from", file.as_str()][..], 4),
        (&["doctor", "-from", file.as_str(), "//a/b"], 2),
        (&["collect", "-from"], 2),
    ] {
        let refused = elsewhere.run(words, &[]);
        assert_eq!(refused.code, Some(code), "{}", refused.output);
    }
}

/// Who reads a pipe may have seen enough of a report, but not of a bundle.
#[test]
fn an_output_that_is_lost_is_a_failure() {
    let kubelet = Kubelet::new();
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let left = || Stdio::from(io::pipe().unwrap().1);
    for (output, word, code, text) in [
        (left(), "doctor", 3, ""),
        (left(), "-version", 0, ""),
        (full(), "doctor", 4, "No space left"),
        (full(), "-version", 1, "No space left"),
        (left(), "collect", 1, "is not written: Broken pipe"),
        (full(), "collect", 1, "is not written: No space left"),
        (Stdio::null(), "collect", 2, "redirect the output"),
    ] {
        let ended = kubelet.run_into(output, &[word]);
        assert_eq!(ended.code, Some(code), "{word}: {}", ended.output);
        assert!(ended.output.contains(text), "{word}: {}", ended.output);
        assert_eq!(ended.output.is_empty(), text.is_empty(), "{}", ended.output);
    }
}
