//! The tables of docs/disks.md, docs/iscsi.md, docs/smb.md and docs/stuck.md are those of the code, their examples are
//! parts of those in deploy/, and the texts by which a reader finds an error are in the code.

mod codes;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, iter};

use wincsi::iscsi::{Portal, TargetName};
use wincsi::{Cause, Condition, Error, Feature};
use wincsi_driver::cluster_dns::ClusterDns;
use wincsi_driver::doctor::{CHECKS, stuck_rows};
use wincsi_driver::in_flight::InFlight;
use wincsi_driver::kinds::block::{self, format_rows};
use wincsi_driver::kinds::disk::attribute_rows;
use wincsi_driver::kinds::iscsi;
use wincsi_driver::kinds::share;
use wincsi_driver::kinds::share::attributes::{RequestError, option_rows};
use wincsi_driver::kubelet::Refusal;
use wincsi_driver::life::{CallError, TooManyWaiting};
use wincsi_driver::path::KubeletPath;
use wincsi_driver::record::{StoreError, TextError, VolumeHandle};

use self::codes::code_rows;

const PAGE: &str = include_str!("../../../../docs/disks.md");
const EXAMPLE: &str = include_str!("../../../../deploy/example.yaml");
const ISCSI: &str = include_str!("../../../../docs/iscsi.md");
const EXAMPLE_OF_ISCSI: &str = include_str!("../../../../deploy/example-iscsi.yaml");
const SHARES: &str = include_str!("../../../../docs/smb.md");
const EXAMPLE_OF_SHARES: &str = include_str!("../../../../deploy/example-smb.yaml");
const STUCK: &str = include_str!("../../../../docs/stuck.md");

/// The sections of docs/stuck.md whose first column has texts of this code.
const SECTIONS: [&str; 3] = ["\n## Disks\n", "\n## Shares\n", "\n## Both\n"];

/// The same of docs/iscsi.md.
const ISCSI_SECTION: &str = "\n## When it fails\n";

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Where these texts are.
const SOURCES: [&str; 3] = ["driver", "node", "os"];

#[test]
fn the_page_of_disks_has_the_tables_of_the_code_and_a_part_of_the_example_that_is_applied() {
    for (name, text) in [
        ("attribute_rows", attribute_rows()),
        ("format_rows", format_rows()),
        ("the part of the example", part(EXAMPLE)),
    ] {
        assert!(
            page().contains(&text),
            "docs/disks.md lacks {name}:\n{text}"
        );
    }
}

#[test]
fn the_page_of_iscsi_has_its_keys_and_the_example() {
    let (page, rows) = (ISCSI.replace("\r\n", "\n"), iscsi::attribute_rows());
    for key in iscsi::keys().iter().chain(&iscsi::SECRET_KEYS) {
        assert_eq!(rows.matches(&format!("`{key}`")).count(), 1, "{key}");
    }
    for (name, text) in [
        ("attribute_rows", rows),
        ("the part of example-iscsi.yaml", part(EXAMPLE_OF_ISCSI)),
    ] {
        assert!(page.contains(&text), "docs/iscsi.md lacks {name}:\n{text}");
    }
}

/// ContainerUser, as which nanoserver runs, makes no files in the root of a new volume.
#[test]
fn the_example_writes_where_its_user_may() {
    let is_allowed = ["runAsUserName: ContainerAdministrator", "rootAcl:"];
    assert!(EXAMPLE.contains(r"> C:\\data\\file.txt"));
    assert!(is_allowed.iter().any(|way| EXAMPLE.contains(way)));
}

#[test]
fn the_page_of_shares_has_the_table_of_options_and_a_part_of_the_example_that_is_applied() {
    for (name, text) in [
        ("option_rows", option_rows()),
        ("the part of example-smb.yaml", part(EXAMPLE_OF_SHARES)),
    ] {
        let page = SHARES.replace("\r\n", "\n");
        assert!(page.contains(&text), "docs/smb.md lacks {name}:\n{text}");
    }
}

#[test]
fn the_page_of_stuck_pods_has_the_codes_of_failures_and_of_refused_requests() {
    for (name, text) in [("codes", codes()), ("refusals", refusals())] {
        let page = stuck();
        assert!(page.contains(&text), "docs/stuck.md lacks {name}:\n{text}");
    }
}

/// A check that is taken out of the table is missing here.
#[test]
fn the_page_of_stuck_pods_has_the_checks_of_doctor() {
    let rows = stuck_rows();
    assert_eq!(rows.lines().count(), CHECKS.len());
    let page = stuck();
    let (_, section) = page.split_once("\n## What doctor finds\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let table = section.lines().filter(|line| line.starts_with('|'));
    // Behind the head and its line.
    let written = table.skip(2).map(|line| format!("{line}\n"));
    assert_eq!(written.collect::<String>(), rows);
    for check in CHECKS {
        let (page, anchor) = check.page.split_once('#').unwrap();
        let page = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
        let headings = page.lines().filter(|line| line.starts_with('#'));
        let mut anchors = headings.map(|line| {
            let text = line.trim_start_matches('#').trim().to_lowercase();
            let kept = text
                .chars()
                .filter(|one| one.is_alphanumeric() || " -".contains(*one));
            kept.collect::<String>().replace(' ', "-")
        });
        assert!(anchors.any(|one| one == anchor), "{}", check.page);
    }
}

#[test]
fn each_text_by_which_an_error_is_found_is_in_the_code() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources: String = SOURCES
        .iter()
        .flat_map(|name| sources_below(&crates.join(name).join("src")))
        .collect();
    let (page, of_iscsi) = (stuck(), ISCSI.replace("\r\n", "\n"));
    let mut all: Vec<_> = SECTIONS.iter().flat_map(|at| texts(&page, at)).collect();
    assert!(all.len() > 50, "{all:?}");
    let of_iscsi = texts(&of_iscsi, ISCSI_SECTION);
    assert!(of_iscsi.len() > 8, "{of_iscsi:?}");
    all.extend(of_iscsi);
    let mut gone = all;
    gone.retain(|text| !sources.contains(text));
    assert!(gone.is_empty(), "no error has the texts {gone:?}");
}

/// What the first cells of a section's rows quote, as the event has it.
fn texts<'a>(page: &'a str, heading: &str) -> Vec<&'a str> {
    let (_, section) = page.split_once(heading).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.split(" | ").next().unwrap());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter(|text| text.contains(' '))
        .collect()
}

/// The Rust sources below a folder, each text of theirs on one line.
fn sources_below(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources_below(&path),
            false => vec![on_one_line(&fs::read_to_string(path).unwrap())],
        })
        .collect()
}

/// A backslash at the end of a line goes on with the text, without the blanks of the next line.
fn on_one_line(source: &str) -> String {
    let mut parts = source.split("\\\n");
    let first = parts.next().unwrap();
    iter::once(first)
        .chain(parts.map(str::trim_start))
        .collect()
}

/// What an example says of its volume's source: the rest is the same for each driver.
fn part(example: &str) -> String {
    let example = example.replace("\r\n", "\n");
    let (_, rest) = example.split_once("\n  csi:\n").unwrap();
    let (part, _) = rest.split_once("---\n").unwrap();
    format!("```yaml\n  csi:\n{part}```\n")
}

fn page() -> String {
    PAGE.replace("\r\n", "\n")
}

fn stuck() -> String {
    STUCK.replace("\r\n", "\n")
}

/// Of the whole table of failures what is not `Unavailable`, but the deadline, which has one code everywhere.
fn codes() -> String {
    let whole = code_rows();
    let mut lines = whole.lines().map(cells);
    let head = lines.next().unwrap();
    let rows: Vec<_> = lines.skip(1).collect();
    let (deadline, others): (Vec<_>, Vec<_>) = rows
        .iter()
        .partition(|row| row.first() == Some(&"the deadline passed"));
    let codes_of_deadline = deadline.iter().flat_map(|row| row.iter().skip(1));
    assert!(codes_of_deadline.clone().count() > 0);
    assert!(
        codes_of_deadline
            .into_iter()
            .all(|code| *code == "DeadlineExceeded")
    );
    let cases = head.iter().enumerate().skip(1).flat_map(|(at, rpc)| {
        let others = others.iter();
        others.map(move |row| (*rpc, row[at], row[0]))
    });
    grouped(cases.filter(|(_, code, _)| *code != "Unavailable"))
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// Each error of each RPC but failures of the node, which have a table of their own.
fn refusals() -> String {
    let all = of_each().into_iter().chain(of_stage()).chain(of_login());
    let all = all.chain(of_publish()).chain(of_stats()).chain(of_expand());
    let named = all.map(|(rpc, error, when)| (rpc, error.code().to_string(), when));
    let named: Vec<_> = named.collect();
    grouped(
        named
            .iter()
            .map(|(rpc, code, when)| (*rpc, code.as_str(), *when)),
    )
}

/// A row for each RPC and code, in the order of their first case; one for RPCs that follow each other with the same.
fn grouped<'a>(cases: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> String {
    let mut rows: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (rpc, code, case) in cases {
        match rows.iter_mut().find(|row| (row.0, row.1) == (rpc, code)) {
            Some((_, _, known)) if known.contains(&case) => {}
            Some((_, _, known)) => known.push(case),
            None => rows.push((rpc, code, vec![case])),
        }
    }
    let same = rows.chunk_by(|one, next| (one.1, &one.2) == (next.1, &next.2));
    let line = |rows: &[(&str, &str, Vec<&str>)]| {
        let rpcs: Vec<_> = rows.iter().map(|row| row.0).collect();
        let (_, code, cases) = &rows[0];
        format!("| {} | {code} | {} |\n", rpcs.join(", "), cases.join("; "))
    };
    same.map(line).collect()
}

type Row = (&'static str, CallError, &'static str);

const NOT_RESTORED: &str = "the volume is not staged there and cannot be restored";

fn of_each() -> Vec<Row> {
    let running = InFlight::default();
    let _turn = running.alone(&volume()).unwrap();
    let busy = running.alone(&volume()).err().unwrap();
    let too_many = TooManyWaiting {
        volumes: "inline volumes",
        most: 32,
    };
    vec![
        (
            "each",
            Refusal::Missing("volume id").into(),
            "a field is missing or cannot be: a volume id over 1024 bytes, a path, an attribute, a filesystem, a block volume, writers on many nodes",
        ),
        ("each", busy.into(), "another call for the volume runs"),
        (
            "each",
            unreadable().into(),
            "the volume's record cannot be read or written",
        ),
        (
            "NodeStage, NodePublish, NodeGetVolumeStats",
            too_many.into(),
            "384 calls for shares wait for their servers, or 128 for inline volumes",
        ),
        (
            "NodeStage",
            Refusal::from(RequestError::SecretName).into(),
            "source, user or options of a share",
        ),
    ]
}

fn of_stage() -> Vec<Row> {
    let stage = |error, when| ("NodeStage", error, when);
    // No server is asked for a name that is none.
    let dns = ClusterDns::parse("127.0.0.1:1").unwrap();
    let unresolved = dns.address_of(&"a".repeat(64), Duration::ZERO).unwrap_err();
    let unfinished = CallError::Unfinished(Box::new(staged_otherwise()));
    vec![
        of_share(unresolved.into()),
        of_disk(block::Refused::CameOnlineWritable { volume: volume() }),
        stage(host_lacks(), "`-host=proxy` lacks what the volume needs"),
        of_disk(block::Refused::OtherAccess {
            volume: volume(),
            other: volume(),
        }),
        of_disk(block::Refused::Anonymous { volume: volume() }),
        stage(
            staged_otherwise(),
            "a disk is staged with another capability, at another path or from another disk",
        ),
        stage(
            unfinished,
            "the request is refused, and something is left of an earlier stage",
        ),
        of_share(share::Refused::OtherUser {
            volume: volume(),
            server: String::new(),
            user: None,
            other: volume(),
        }),
        of_share(share::Refused::OtherPort {
            volume: volume(),
            server: String::new(),
            other: volume(),
        }),
        of_share(share::Refused::OthersMapping {
            share: String::new(),
            is_known: true,
        }),
        stage(
            staged_otherwise(),
            "a share is staged from another source, with other options or at another path",
        ),
        of_share(share::Refused::Unmapping {
            volume: volume(),
            share: String::new(),
        }),
        of_share(share::Refused::NoFolder(volume(), String::new())),
    ]
}

fn of_login() -> Vec<Row> {
    let all = [
        iscsi::Refused::Busy,
        iscsi::Refused::NoPortal(refused_login()),
        iscsi::Refused::NoPortal(Vec::new()),
        iscsi::Refused::NotConnected(String::new()),
        iscsi::Refused::Mutual,
        iscsi::Refused::OtherMutual(volume()),
        iscsi::Refused::OtherPortal(String::new()),
        iscsi::Refused::Service(String::new()),
    ];
    all.map(of_lun).into()
}

fn host_lacks() -> CallError {
    CallError::HostLacks {
        volume: volume(),
        what: "disk",
        feature: Feature::FormatOptions,
    }
}

fn staged_otherwise() -> CallError {
    CallError::StagedOtherwise(volume(), "disk")
}

fn of_disk(refused: block::Refused) -> Row {
    let (rpc, when) = match &refused {
        block::Refused::CameOnlineWritable { .. } => (
            "NodeStage",
            "the disk of readers on many nodes came online writable",
        ),
        block::Refused::Anonymous { .. } => (
            "NodeStage",
            "an iSCSI disk has no identifier on SCSI page 0x83",
        ),
        block::Refused::OtherAccess { .. } => (
            "NodeStage",
            "another volume has the disk with another access mode",
        ),
        block::Refused::TooSmall { .. } => ("NodeExpand", "the disk has not grown yet"),
        block::Refused::TooLarge { .. } => (
            "NodeExpand",
            "the disk is larger than the limit of the request",
        ),
        block::Refused::TooLittle { .. } => (
            "NodeExpand",
            "`-host=proxy`, and the disk has grown by less than 100 MiB",
        ),
        block::Refused::NoRoom { .. } => (
            "NodeExpand",
            "another partition is behind the volume's, or an MBR does not reach so far",
        ),
    };
    (rpc, refused.into(), when)
}

fn of_lun(why: iscsi::Refused) -> Row {
    let (rpc, when) = match &why {
        iscsi::Refused::Busy => (
            "NodeStage, NodeUnstage",
            "another call logs in to the iSCSI target or out of it",
        ),
        iscsi::Refused::Mutual => ("NodeStage", "mutual CHAP without `-iscsi-mutual-secret`"),
        iscsi::Refused::NoPortal(failed) if failed.is_empty() => {
            ("NodeStage", "no portal of the iSCSI target serves")
        }
        iscsi::Refused::NoPortal(_) => ("NodeStage", "the iSCSI target refuses the secret"),
        iscsi::Refused::NoSecret => ("NodePublish", NOT_RESTORED),
        iscsi::Refused::NotConnected(_) => ("NodeStage", "the iSCSI session has no connection"),
        iscsi::Refused::OtherMutual(_) => ("NodeStage", "another volume has another mutual secret"),
        iscsi::Refused::OtherPortal(_) => (
            "NodeStage",
            "the iSCSI session goes by a portal that the volume does not have",
        ),
        iscsi::Refused::Service(_) => ("NodeStage", "MSiSCSI does not run"),
    };
    let (volume, target) = (
        volume(),
        TargetName::parse("iqn.2026-01.com.example:a").unwrap(),
    );
    let refused = iscsi::NotAttached {
        volume,
        target,
        why,
    };
    (rpc, refused.into(), when)
}

fn refused_login() -> Vec<(Portal, Error)> {
    let cause = Cause::failed(Condition::LogonFailure, "");
    let portal = Portal::parse("10.0.0.9", 0).unwrap();
    vec![(portal, Error::new("", "", cause))]
}

fn of_share(refused: share::Refused) -> Row {
    let (rpc, when) = match &refused {
        share::Refused::OtherUser { .. } => (
            "NodeStage",
            "another volume uses the server as another user",
        ),
        share::Refused::OtherPort { .. } => (
            "NodeStage",
            "another volume uses the server at another port",
        ),
        share::Refused::OthersMapping { .. } => (
            "NodeStage",
            "the share is mapped as another user or, for an inline volume, with another or an unknown credential",
        ),
        share::Refused::Unmapping { .. } => (
            "NodeStage",
            "the share is being unmapped for its last volume",
        ),
        share::Refused::NoFolder(..) => ("NodeStage", "the folder of the share is none"),
        share::Refused::Lookup(_) => (
            "NodeStage",
            "the cluster's DNS has no address for the server",
        ),
        share::Refused::NoFigures { .. } => (
            "NodeGetVolumeStats",
            "`-host=proxy` has no figures of shares",
        ),
    };
    (rpc, refused.into(), when)
}

fn of_publish() -> Vec<Row> {
    let not_staged = CallError::NotStaged {
        volume: volume(),
        staging: path(),
        why: None,
    };
    let elsewhere = CallError::PublishedElsewhere(volume(), path());
    let taken = CallError::TargetTaken(volume(), Box::new(Error::new("", "", Cause::Deadline)));
    let published = CallError::Published(volume(), path());
    vec![
        ("NodePublish", not_staged, NOT_RESTORED),
        of_lun(iscsi::Refused::NoSecret),
        (
            "NodePublish",
            elsewhere,
            "the volume's one target is another",
        ),
        ("NodePublish", taken, "something else is at the target"),
        ("NodeUnstage", published, "the volume is published"),
    ]
}

fn no_volume() -> CallError {
    CallError::NoVolume(volume())
}

fn away() -> CallError {
    CallError::Away(volume(), String::new())
}

fn of_stats() -> Vec<Row> {
    let not_there = CallError::NotThere(volume(), String::new());
    let stats = |error, when| ("NodeGetVolumeStats", error, when);
    vec![
        stats(no_volume(), "the volume is not staged"),
        stats(
            not_there,
            "the volume is not at that path, or it is no path",
        ),
        stats(away(), "the volume is away, and its size is not known"),
        of_share(share::Refused::NoFigures {
            volume: volume(),
            feature: Feature::SpaceByPath,
        }),
    ]
}

fn of_expand() -> Vec<Row> {
    let expand = |error, when| ("NodeExpand", error, when);
    vec![
        expand(no_volume(), "the volume is not staged"),
        expand(
            away(),
            "the volume is not at that path now, or it is no path",
        ),
        of_disk(block::Refused::TooSmall {
            volume: volume(),
            disk: 1,
            wanted: 2,
        }),
        of_disk(block::Refused::TooLarge {
            volume: volume(),
            disk: 2,
            limit: 1,
        }),
        of_disk(block::Refused::TooLittle {
            volume: volume(),
            grown: 1,
            least: 2,
        }),
        of_disk(block::Refused::NoRoom {
            volume: volume(),
            size: 1,
            why: Box::new(Error::new("", "", Cause::Deadline)),
        }),
    ]
}

fn volume() -> VolumeHandle {
    VolumeHandle::parse("volume").unwrap()
}

fn path() -> KubeletPath {
    r"C:\path".parse().unwrap()
}

fn unreadable() -> StoreError {
    let (file, reason) = (PathBuf::new(), TextError::Version(3));
    StoreError::Unreadable { file, reason }
}
