//! The tables of docs/disks.md, docs/smb.md and docs/stuck.md are those of the code, their examples are parts of those in deploy/, and
//! the texts by which a reader finds an error are in the code.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::{fs, iter};

use transport::{Code, Status};
use wincsi::{Cause, Error, Feature, WinPath};
use wincsi_driver::cluster_dns::ClusterDns;
use wincsi_driver::in_flight::InFlight;
use wincsi_driver::kubelet::{Refusal, attribute_rows, format_rows, option_rows};
use wincsi_driver::record::{Lifetime, StoreError, TextError, VolumeHandle};
use wincsi_driver::volume::disk::{ExpandError, StageError};
use wincsi_driver::volume::share::{Crowded, StageError as ShareError};
use wincsi_driver::volume::{
    PublishError, Shared, StatsError, UnpublishError, UnstageError, code_rows,
};

const PAGE: &str = include_str!("../../../docs/disks.md");
const EXAMPLE: &str = include_str!("../../../deploy/example.yaml");
const SHARES: &str = include_str!("../../../docs/smb.md");
const EXAMPLE_OF_SHARES: &str = include_str!("../../../deploy/example-smb.yaml");
const STUCK: &str = include_str!("../../../docs/stuck.md");

/// The sections of docs/stuck.md whose first column has texts of this code.
const SECTIONS: [&str; 3] = ["\n## Disks\n", "\n## Shares\n", "\n## Both\n"];

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

#[test]
fn each_text_of_the_page_of_stuck_pods_is_in_the_code() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources: String = SOURCES
        .iter()
        .flat_map(|name| sources_below(&crates.join(name).join("src")))
        .collect();
    let page = stuck();
    let texts: Vec<_> = SECTIONS.iter().flat_map(|at| texts(&page, at)).collect();
    assert!(texts.len() > 60, "{texts:?}");
    let mut gone = texts;
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
    let all = of_each().into_iter().chain(of_shares_at_first());
    let all = all.chain(of_stage()).chain(of_share_stage());
    let all = all.chain(of_publish()).chain(of_unstage());
    let all: Vec<_> = all.chain(of_stats()).chain(of_expand()).collect();
    let named = all
        .iter()
        .map(|(rpc, code, when)| (*rpc, code.to_string(), *when));
    let named: Vec<_> = named.collect();
    grouped(
        named
            .iter()
            .map(|(rpc, code, when)| (*rpc, code.as_str(), *when)),
    )
}

/// A row for each RPC and code, in the order of their first case.
fn grouped<'a>(cases: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> String {
    let mut rows: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for (rpc, code, case) in cases {
        match rows.iter_mut().find(|row| (row.0, row.1) == (rpc, code)) {
            Some((_, _, known)) if known.contains(&case) => {}
            Some((_, _, known)) => known.push(case),
            None => rows.push((rpc, code, vec![case])),
        }
    }
    let rows = rows.into_iter();
    rows.map(|(rpc, code, cases)| format!("| {rpc} | {code} | {} |\n", cases.join("; ")))
        .collect()
}

type Row = (&'static str, Code, &'static str);

fn of_each() -> Vec<Row> {
    let refused = Status::from(Refusal::Missing("volume id"));
    let running = InFlight::default();
    let _turn = running.alone(&volume()).unwrap();
    let busy = running.alone(&volume()).err().unwrap();
    let [busy, unreadable] = [Shared::from(busy), Shared::from(unreadable())];
    vec![
        (
            "each",
            refused.code,
            "a field is missing or cannot be: a volume id over 1024 bytes, a path, an attribute, a filesystem, a block volume, writers on many nodes",
        ),
        ("each", code_of(busy), "another call for the volume runs"),
        (
            "each",
            code_of(unreadable),
            "the volume's record cannot be read or written",
        ),
    ]
}

/// No RPC answers what each of them shares otherwise.
fn code_of(shared: Shared) -> Code {
    UnpublishError::from(shared).code()
}

fn of_stage() -> Vec<Row> {
    let what = "disk";
    let feature = Feature::FormatOptions;
    let errors = [
        StageError::CameOnlineWritable { volume: volume() },
        StageError::HostLacks {
            volume: volume(),
            what,
            feature,
        },
        StageError::OtherAccess {
            volume: volume(),
            other: volume(),
        },
        StageError::StagedOtherwise {
            volume: volume(),
            what,
        },
        StageError::Unfinished(Box::new(StageError::OtherAccess {
            volume: volume(),
            other: volume(),
        })),
    ];
    let when = |error: &StageError| match error {
        StageError::CameOnlineWritable { .. } => {
            "the disk of readers on many nodes came online writable"
        }
        StageError::HostLacks { .. } => "`-host=proxy` lacks what the volume needs",
        StageError::OtherAccess { .. } => "another volume has the disk with another access mode",
        StageError::StagedOtherwise { .. } => {
            "a disk is staged with another capability, at another path or from another disk"
        }
        StageError::Unfinished(_) => {
            "the request is refused, and something is left of an earlier stage"
        }
        StageError::Shared(_) => "",
    };
    let row = |error: &StageError| ("NodeStage", error.code(), when(error));
    errors.iter().map(row).collect()
}

fn of_shares_at_first() -> Vec<Row> {
    let refused = Status::from(Refusal::SecretName);
    let unresolved = ClusterDns::parse("127.0.0.1:1").unwrap();
    // No server is asked for a name that is none.
    let unresolved = unresolved.address_of(&"a".repeat(64)).unwrap_err();
    let crowded = Crowded {
        lifetime: Lifetime::Inline,
        most: 32,
    };
    vec![
        (
            "NodeStage, NodePublish, NodeGetVolumeStats",
            code_of(crowded.into()),
            "384 calls for shares wait for their servers, or 128 for inline volumes",
        ),
        (
            "NodeStage",
            refused.code,
            "source, user or options of a share",
        ),
        (
            "NodeStage",
            Status::from(unresolved).code,
            "the cluster's DNS has no address for the server",
        ),
    ]
}

fn share_errors() -> [ShareError; 7] {
    let share = String::new;
    [
        ShareError::OtherUser {
            volume: volume(),
            server: share(),
            user: None,
            other: volume(),
        },
        ShareError::OtherPort {
            volume: volume(),
            server: share(),
            other: volume(),
        },
        ShareError::OthersMapping {
            volume: volume(),
            share: share(),
            is_known: true,
        },
        ShareError::HostLacks {
            volume: volume(),
            what: "",
            feature: Feature::MappingList,
        },
        ShareError::StagedOtherwise {
            volume: volume(),
            what: "",
        },
        ShareError::Unmapping {
            volume: volume(),
            share: share(),
        },
        ShareError::Unfinished(Box::new(ShareError::Unmapping {
            volume: volume(),
            share: share(),
        })),
    ]
}

fn of_share_stage() -> Vec<Row> {
    let when = |error: &ShareError| match error {
        ShareError::OtherUser { .. } => "another volume uses the server as another user",
        ShareError::OtherPort { .. } => "another volume uses the server at another port",
        ShareError::OthersMapping { .. } => {
            "the share is mapped as another user or, for an inline volume, with another or an unknown credential"
        }
        ShareError::HostLacks { .. } => "`-host=proxy` lacks what the volume needs",
        ShareError::StagedOtherwise { .. } => {
            "a share is staged from another source, with other options or at another path"
        }
        ShareError::Unmapping { .. } => "the share is being unmapped for its last volume",
        ShareError::Unfinished(_) => {
            "the request is refused, and something is left of an earlier stage"
        }
        ShareError::Shared(_) => "",
    };
    let row = |error: &ShareError| ("NodeStage", error.code(), when(error));
    share_errors().iter().map(row).collect()
}

fn of_publish() -> Vec<Row> {
    let errors = [
        PublishError::NotStaged {
            volume: volume(),
            staging: path(),
            why: None,
        },
        PublishError::PublishedElsewhere {
            volume: volume(),
            target: path(),
        },
        PublishError::TargetTaken {
            volume: volume(),
            error: Box::new(Error::new("", "", Cause::Deadline)),
        },
    ];
    let when = |error: &PublishError| match error {
        PublishError::NotStaged { .. } => "the volume is not staged there and cannot be restored",
        PublishError::PublishedElsewhere { .. } => "the volume's one target is another",
        PublishError::TargetTaken { .. } => "something else is at the target",
        PublishError::Shared(_) => "",
    };
    let row = |error: &PublishError| ("NodePublish", error.code(), when(error));
    errors.iter().map(row).collect()
}

fn of_unstage() -> Vec<Row> {
    let errors = [UnstageError::Published {
        volume: volume(),
        target: path(),
    }];
    let when = |error: &UnstageError| match error {
        UnstageError::Published { .. } => "the volume is published",
        UnstageError::Shared(_) => "",
    };
    let row = |error: &UnstageError| ("NodeUnstage", error.code(), when(error));
    errors.iter().map(row).collect()
}

fn of_stats() -> Vec<Row> {
    let errors = [
        StatsError::NoVolume { volume: volume() },
        StatsError::NotThere {
            volume: volume(),
            path: String::new(),
        },
        StatsError::Away {
            volume: volume(),
            path: path(),
        },
        StatsError::HostLacks {
            volume: volume(),
            feature: Feature::MapOptions,
        },
    ];
    let when = |error: &StatsError| match error {
        StatsError::NoVolume { .. } => "the volume is not staged",
        StatsError::NotThere { .. } => "the volume is not at that path, or it is no path",
        StatsError::Away { .. } => "the volume is away, and its size is not known",
        StatsError::HostLacks { .. } => "`-host=proxy` has no figures of shares",
        StatsError::Shared(_) => "",
    };
    let row = |error: &StatsError| ("NodeGetVolumeStats", error.code(), when(error));
    errors.iter().map(row).collect()
}

fn of_expand() -> Vec<Row> {
    let errors = [
        ExpandError::NoVolume { volume: volume() },
        ExpandError::Away {
            volume: volume(),
            path: String::new(),
        },
        ExpandError::TooSmall {
            volume: volume(),
            disk: 1,
            wanted: 2,
        },
        ExpandError::TooLarge {
            volume: volume(),
            disk: 2,
            limit: 1,
        },
        ExpandError::TooLittle {
            volume: volume(),
            grown: 1,
            least: 2,
        },
        ExpandError::NoRoom {
            volume: volume(),
            size: 1,
            why: Box::new(Error::new("", "", Cause::Deadline)),
        },
    ];
    let when = |error: &ExpandError| match error {
        ExpandError::NoVolume { .. } => "the volume is not staged",
        ExpandError::Away { .. } => "the volume is not at that path now, or it is no path",
        ExpandError::TooSmall { .. } => "the disk has not grown yet",
        ExpandError::TooLarge { .. } => "the disk is larger than the limit of the request",
        ExpandError::TooLittle { .. } => {
            "`-host=proxy`, and the disk has grown by less than 100 MiB"
        }
        ExpandError::NoRoom { .. } => {
            "another partition is behind the volume's, or an MBR does not reach so far"
        }
        ExpandError::Shared(_) => "",
    };
    let row = |error: &ExpandError| ("NodeExpand", error.code(), when(error));
    errors.iter().map(row).collect()
}

fn volume() -> VolumeHandle {
    VolumeHandle::parse("volume").unwrap()
}

fn path() -> WinPath {
    r"C:\path".parse().unwrap()
}

fn unreadable() -> StoreError {
    let (file, reason) = (PathBuf::new(), TextError::Version(3));
    StoreError::Unreadable {
        file,
        reason: reason.into(),
    }
}
