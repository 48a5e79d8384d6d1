//! The tables of docs/disks.md and docs/smb.md are those of the code, and their examples are those in deploy/.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::PathBuf;

use transport::{Code, Status};
use wincsi::{Cause, Error, Feature, WinPath};
use wincsi_driver::cluster_dns::ClusterDns;
use wincsi_driver::in_flight::InFlight;
use wincsi_driver::kinds::block::{self, format_rows};
use wincsi_driver::kinds::disk::attribute_rows;
use wincsi_driver::kinds::share;
use wincsi_driver::kinds::share::attributes::{RequestError, option_rows};
use wincsi_driver::kubelet::Refusal;
use wincsi_driver::life::{CallError, Crowded, code_rows};
use wincsi_driver::record::{StoreError, TextError, VolumeHandle};

const PAGE: &str = include_str!("../../../docs/disks.md");
const EXAMPLE: &str = include_str!("../../../deploy/example.yaml");
const SHARES: &str = include_str!("../../../docs/smb.md");
const EXAMPLE_OF_SHARES: &str = include_str!("../../../deploy/example-smb.yaml");

#[test]
fn the_page_of_disks_has_the_tables_of_the_code_and_the_example_that_is_applied() {
    let example = EXAMPLE.replace("\r\n", "\n");
    for (name, text) in [
        ("attribute_rows", attribute_rows()),
        ("format_rows", format_rows()),
        ("code_rows", code_rows()),
        ("refusals", refusals()),
        ("the example", format!("```yaml\n{example}```\n")),
    ] {
        assert!(
            page().contains(&text),
            "docs/disks.md lacks {name}:\n{text}"
        );
    }
}

#[test]
fn the_page_of_shares_has_the_tables_of_options_and_codes_and_the_example_that_is_applied() {
    let example = EXAMPLE_OF_SHARES.replace("\r\n", "\n");
    for (name, text) in [
        ("option_rows", option_rows()),
        ("of_shares", rows(of_shares())),
        ("example-smb.yaml", format!("```yaml\n{example}```\n")),
    ] {
        let page = SHARES.replace("\r\n", "\n");
        assert!(page.contains(&text), "docs/smb.md lacks {name}:\n{text}");
    }
}

fn page() -> String {
    PAGE.replace("\r\n", "\n")
}

/// Each error of each RPC but failures of the node, which have a table of their own.
fn refusals() -> String {
    let all = of_each().into_iter().chain(of_stage()).chain(of_publish());
    let all = all.chain(of_unstage()).chain(of_stats()).chain(of_expand());
    rows(all)
}

fn rows(rows: impl IntoIterator<Item = Row>) -> String {
    let rows = rows.into_iter();
    rows.map(|(rpc, code, when)| format!("| {rpc} | {code} | {when} |\n"))
        .collect()
}

type Row = (&'static str, Code, &'static str);

fn of_each() -> Vec<Row> {
    let refused = Status::from(Refusal::Missing("volume id"));
    let running = InFlight::default();
    let _turn = running.alone(&volume()).unwrap();
    let busy = running.alone(&volume()).err().unwrap();
    let [busy, unreadable] = [CallError::from(busy), CallError::from(unreadable())];
    vec![
        (
            "each",
            refused.code,
            "the request has a field that is missing or cannot be: a volume id of more than 1024 bytes, a path, an attribute, a filesystem, a block volume, writers on many nodes",
        ),
        ("each", busy.code(), "another call for the volume runs"),
        (
            "each",
            unreadable.code(),
            "the volume's record cannot be read or written",
        ),
    ]
}

fn of_stage() -> Vec<Row> {
    let of_disk = |refused: block::Refused| (of_disk(&refused), CallError::from(refused).code());
    let other = || block::Refused::OtherAccess {
        volume: volume(),
        other: volume(),
    };
    let rows = [
        of_disk(block::Refused::CameOnlineWritable { volume: volume() }),
        (
            "`-host=proxy` lacks what the volume needs",
            host_lacks().code(),
        ),
        of_disk(other()),
        (
            "the volume is staged with another capability, at another path or from another disk",
            staged_otherwise().code(),
        ),
        (
            "the request is refused, and something is left of an earlier stage of the volume",
            CallError::Unfinished(Box::new(other().into())).code(),
        ),
    ];
    rows.map(|(when, code)| ("NodeStage", code, when)).into()
}

/// When a disk is refused so.
fn of_disk(refused: &block::Refused) -> &'static str {
    match refused {
        block::Refused::CameOnlineWritable { .. } => {
            "the disk of readers on many nodes came online writable"
        }
        block::Refused::OtherAccess { .. } => {
            "another volume has the disk with another access mode"
        }
        block::Refused::TooSmall { .. } => "the disk has not grown yet",
        block::Refused::TooLarge { .. } => "the disk is larger than the limit of the request",
        block::Refused::TooLittle { .. } => {
            "`-host=proxy` grows a volume by 100 MiB or more, and the disk has grown by less"
        }
        block::Refused::NoRoom { .. } => {
            "another partition is behind the volume's, or an MBR does not reach so far"
        }
    }
}

fn host_lacks() -> CallError {
    CallError::HostLacks {
        volume: volume(),
        what: "disk",
        feature: Feature::FormatOptions,
    }
}

fn staged_otherwise() -> CallError {
    CallError::StagedOtherwise {
        volume: volume(),
        what: "disk",
    }
}

fn of_shares() -> Vec<Row> {
    let refused = Status::from(Refusal::from(RequestError::SecretName));
    let unresolved = ClusterDns::parse("127.0.0.1:1").unwrap();
    // No server is asked for a name that is none.
    let unresolved = unresolved.address_of(&"a".repeat(64)).unwrap_err();
    let crowded = Crowded {
        volumes: "inline volumes",
        most: 32,
    };
    let before = [
        (
            "NodeStage, NodePublish, NodeGetVolumeStats",
            CallError::from(crowded).code(),
            "384 calls for shares wait for their servers, or 128 for inline volumes and this one is of one",
        ),
        (
            "NodeStage",
            refused.code,
            "source, user or options are refused: the tables above have each",
        ),
        (
            "NodeStage",
            share::Refused::from(unresolved).code(),
            "the cluster's DNS has no address for the server",
        ),
    ];
    before.into_iter().chain(of_share_stage()).collect()
}

fn of_share_stage() -> Vec<Row> {
    let (name, other) = (String::new, volume);
    let refused = |refused: share::Refused| (of_share(&refused), CallError::from(refused).code());
    let unmapping = || share::Refused::Unmapping {
        volume: volume(),
        share: name(),
    };
    let rows = [
        refused(share::Refused::OtherUser {
            volume: volume(),
            server: name(),
            user: None,
            other: other(),
        }),
        refused(share::Refused::OtherPort {
            volume: volume(),
            server: name(),
            other: other(),
        }),
        refused(share::Refused::OthersMapping {
            volume: volume(),
            share: name(),
            is_known: true,
        }),
        (
            "`-host=proxy` lacks what the volume needs",
            host_lacks().code(),
        ),
        (
            "the volume is staged from another source, with other options, or at another path",
            staged_otherwise().code(),
        ),
        refused(unmapping()),
        (
            "any of these, where something of an earlier call is left of the volume",
            CallError::Unfinished(Box::new(unmapping().into())).code(),
        ),
    ];
    rows.map(|(when, code)| ("NodeStage", code, when)).into()
}

/// When a share is refused so.
fn of_share(refused: &share::Refused) -> &'static str {
    match refused {
        share::Refused::OtherUser { .. } => "another volume uses the server as another user",
        share::Refused::OtherPort { .. } => "another volume uses the server at another port",
        share::Refused::OthersMapping { .. } => {
            "the share is mapped as another user; or the volume is inline, and the share is mapped with another credential, or with one that nobody knows"
        }
        share::Refused::Unmapping { .. } => "the share is being unmapped for its last volume",
        share::Refused::NoFigures { .. } => "`-host=proxy` has no figures of shares",
        share::Refused::Lookup(_) => "the cluster's DNS has no address for the server",
    }
}

fn of_publish() -> Vec<Row> {
    let taken = CallError::TargetTaken {
        volume: volume(),
        error: Box::new(Error::new("", "", Cause::Deadline)),
    };
    let not_staged = CallError::NotStaged {
        volume: volume(),
        staging: path(),
        why: None,
    };
    let elsewhere = CallError::PublishedElsewhere {
        volume: volume(),
        target: path(),
    };
    [
        (
            not_staged,
            "the volume is not staged there, and cannot be restored; the staging path is missing",
        ),
        (elsewhere, "the volume's one target is another"),
        (taken, "something else is at the target"),
    ]
    .map(|(error, when)| ("NodePublish", error.code(), when))
    .into()
}

fn of_unstage() -> Vec<Row> {
    let published = CallError::Published {
        volume: volume(),
        target: path(),
    };
    vec![("NodeUnstage", published.code(), "the volume is published")]
}

fn of_stats() -> Vec<Row> {
    let (name, at) = (volume, String::new);
    let no_figures = share::Refused::NoFigures {
        volume: volume(),
        feature: Feature::SpaceByPath,
    };
    let not_there = CallError::NotThere {
        volume: name(),
        path: at(),
    };
    let away = CallError::Away {
        volume: name(),
        path: at(),
    };
    [
        (
            CallError::NoVolume { volume: name() },
            "the volume is not staged",
        ),
        (
            not_there,
            "the volume is not at that path, or it is no path",
        ),
        (
            away,
            "the volume is away, and neither this process nor its record has its size",
        ),
        (no_figures.into(), "`-host=proxy` has no figures of shares"),
    ]
    .map(|(error, when)| ("NodeGetVolumeStats", error.code(), when))
    .into()
}

fn of_expand() -> Vec<Row> {
    let of_disk = |refused: block::Refused| (of_disk(&refused), CallError::from(refused).code());
    let away = CallError::Away {
        volume: volume(),
        path: String::new(),
    };
    let rows = [
        (
            "the volume is not staged",
            CallError::NoVolume { volume: volume() }.code(),
        ),
        (
            "the volume is not at that path now, or it is no path",
            away.code(),
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
    ];
    rows.map(|(when, code)| ("NodeExpand", code, when)).into()
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
