//! The tables of docs/disks.md and docs/smb.md are those of the code, and their examples are those in deploy/.

#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::PathBuf;

use transport::{Code, Status};
use wincsi::{Cause, Error, Feature, WinPath};
use wincsi_driver::cluster_dns::ClusterDns;
use wincsi_driver::in_flight::InFlight;
use wincsi_driver::kinds::block::{ExpandError, StageError};
use wincsi_driver::kinds::share::{Crowded, StageError as ShareError};
use wincsi_driver::kubelet::{Refusal, attribute_rows, format_rows, option_rows};
use wincsi_driver::life::{
    PublishError, Shared, StatsError, UnpublishError, UnstageError, code_rows,
};
use wincsi_driver::record::{Lifetime, StoreError, TextError, VolumeHandle};

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
    let [busy, unreadable] = [Shared::from(busy), Shared::from(unreadable())];
    vec![
        (
            "each",
            refused.code,
            "the request has a field that is missing or cannot be: a volume id of more than 1024 bytes, a path, an attribute, a filesystem, a block volume, writers on many nodes",
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
            "the volume is staged with another capability, at another path or from another disk"
        }
        StageError::Unfinished(_) => {
            "the request is refused, and something is left of an earlier stage of the volume"
        }
        StageError::Shared(_) => "",
    };
    let row = |error: &StageError| ("NodeStage", error.code(), when(error));
    errors.iter().map(row).collect()
}

fn of_shares() -> Vec<Row> {
    let refused = Status::from(Refusal::SecretName);
    let unresolved = ClusterDns::parse("127.0.0.1:1").unwrap();
    // No server is asked for a name that is none.
    let unresolved = unresolved.address_of(&"a".repeat(64)).unwrap_err();
    let crowded = Crowded {
        lifetime: Lifetime::Inline,
        most: 32,
    };
    let before = [
        (
            "NodeStage, NodePublish, NodeGetVolumeStats",
            code_of(crowded.into()),
            "384 calls for shares wait for their servers, or 128 for inline volumes and this one is of one",
        ),
        (
            "NodeStage",
            refused.code,
            "source, user or options are refused: the tables above have each",
        ),
        (
            "NodeStage",
            Status::from(unresolved).code,
            "the cluster's DNS has no address for the server",
        ),
    ];
    before.into_iter().chain(of_share_stage()).collect()
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
            "the share is mapped as another user; or the volume is inline, and the share is mapped with another credential, or with one that nobody knows"
        }
        ShareError::HostLacks { .. } => "`-host=proxy` lacks what the volume needs",
        ShareError::StagedOtherwise { .. } => {
            "the volume is staged from another source, with other options, or at another path"
        }
        ShareError::Unmapping { .. } => "the share is being unmapped for its last volume",
        ShareError::Unfinished(_) => {
            "any of these, where something of an earlier call is left of the volume"
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
        PublishError::NotStaged { .. } => {
            "the volume is not staged there, and cannot be restored; the staging path is missing"
        }
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
        StatsError::Away { .. } => {
            "the volume is away, and neither this process nor its record has its size"
        }
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
            "`-host=proxy` grows a volume by 100 MiB or more, and the disk has grown by less"
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
