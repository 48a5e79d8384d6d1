//! What each CSI call costs the node: the operations of the system, counted, beside those of costs.txt.

use std::sync::Arc;
use std::{env, fs};

use os_meter::{Counts, Kind, Meter, Tally};
use tempfile::TempDir;
use wincsi::disks::DiskNumber;
use wincsi::sim::{Arrives, Bus, ClockMode, Content, DiskSpec, IdentifierKind, SimNode, demo};
use wincsi::{Deadline, Node, NodeApi, Options};
use wincsi_driver::kinds::share::attributes::ShareRules;
use wire::Rpc;
use wire::csi::v1::VolumeCapability;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetVolumeStats, NodePublishVolume, NodeStageVolume, NodeUnpublishVolume,
    NodeUnstageVolume,
};
use wire::csi::v1::volume_capability::{AccessType, MountVolume};

use crate::share_requests::fixture::{Fixture, owned};

const ROWS: &str = include_str!("costs.txt");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/costs.txt");
const PAGE: &str = include_str!("../../../../docs/benchmarks.md");
const HEADING: &str = "| call | situation | queries | methods | handles | calls | waits |";

const KINDS: [Kind; 5] = [
    Kind::Query,
    Kind::Method,
    Kind::Handle,
    Kind::Call,
    Kind::Wait,
];

const KUBELET: &str = r"C:\var\lib\kubelet";
const DISK: &str = "spare";
const PAGE83: &str = "60022480000000000000000000000002";
const GIB: u64 = 1 << 30;

/// A driver on the demo's node, whose operations are counted, with one disk more.
struct CostFixture {
    driver: Fixture,
    sim: SimNode,
    /// What is done on the node past the driver.
    hand: Node,
    tally: Arc<Tally>,
    /// The rows as they should be, each with its operations.
    found: Vec<(String, Counts)>,
}

impl CostFixture {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let sim = demo::create(&home.path().join("node"), ClockMode::Virtual).unwrap();
        attach(&sim);
        let tally = Arc::<Tally>::default();
        let meter: Arc<dyn Meter> = Arc::clone(&tally) as _;
        let counted = Node::new(os_meter::metered(sim.os(), &meter), Options::default());
        let hand = Node::new(sim.os(), Options::default());
        make_volume(&hand, DiskNumber(1));
        let driver = Fixture::on(ShareRules::default(), |_, _| {
            (Arc::new(counted), Some(Box::new(home)))
        });
        Self {
            driver,
            sim,
            hand,
            tally,
            found: Vec::new(),
        }
    }

    /// Makes a call for a volume, which succeeds, and counts what it costs.
    fn count<R: Rpc>(&mut self, situation: &str, fill: impl FnOnce(&mut R::Request)) {
        let mut request = R::Request::default();
        fill(&mut request);
        let (answer, counts) = self.tally.during(|| self.driver.call::<R>(&request));
        answer.unwrap();
        let cells = KINDS.map(|kind| counts.of(kind).to_string()).join(" | ");
        let row = format!("| {} | {situation} | {cells} |", R::METHOD.name);
        self.found.push((row, counts));
    }

    fn stage_disk(&mut self, situation: &str) {
        self.count::<NodeStageVolume>(situation, |stage| {
            stage.volume_id = DISK.to_owned();
            stage.publish_context = owned(&[("page83", PAGE83)]);
            stage.staging_target_path = staging(DISK);
            stage.volume_capability = Some(mounted());
        });
    }

    /// After kubelet has made the staging folder.
    fn stage_share(&mut self, situation: &str, volume: &str) {
        let (folder, files) = (staging(volume).parse(), NodeApi::filesystem(&self.hand));
        files
            .make_directory(&folder.unwrap(), Deadline::NEVER)
            .unwrap();
        let user = [
            ("username", demo::SMB_USER),
            ("password", demo::SMB_PASSWORD),
        ];
        self.count::<NodeStageVolume>(situation, |stage| {
            stage.volume_id = volume.to_owned();
            stage.volume_context = owned(&[("source", demo::SHARE)]);
            stage.secrets = owned(&user);
            stage.staging_target_path = staging(volume);
            stage.volume_capability = Some(mounted());
        });
    }

    fn publish(&mut self, volume: &str) {
        self.count::<NodePublishVolume>("", |publish| {
            publish.volume_id = volume.to_owned();
            publish.staging_target_path = staging(volume);
            publish.target_path = target(volume);
            publish.volume_capability = Some(mounted());
            if volume != DISK {
                publish.volume_context = owned(&[("source", demo::SHARE)]);
            }
        });
    }

    fn unpublish(&mut self, volume: &str) {
        self.count::<NodeUnpublishVolume>("", |unpublish| {
            unpublish.volume_id = volume.to_owned();
            unpublish.target_path = target(volume);
        });
    }

    fn unstage(&mut self, situation: &str, volume: &str) {
        self.count::<NodeUnstageVolume>(situation, |unstage| {
            unstage.volume_id = volume.to_owned();
            unstage.staging_target_path = staging(volume);
        });
    }

    fn live_with_a_disk(&mut self) {
        self.stage_disk("a blank disk");
        self.stage_disk("it is staged");
        self.publish(DISK);
        self.count::<NodeGetVolumeStats>("", |stats| {
            stats.volume_id = DISK.to_owned();
            stats.volume_path = target(DISK);
        });
        self.sim.hardware().grow_disk(DISK, 2 * GIB).unwrap();
        self.count::<NodeExpandVolume>("the disk has grown", |expand| {
            expand.volume_id = DISK.to_owned();
            expand.volume_path = target(DISK);
        });
        self.unpublish(DISK);
        self.unstage("", DISK);
        self.sim.hardware().detach_disk(DISK).unwrap();
        NodeApi::disks(&self.hand).rescan(Deadline::NEVER).unwrap();
        attach(&self.sim);
        make_volume(&self.hand, DiskNumber(2));
        self.stage_disk("a disk with its volume");
    }

    /// Volumes that are folders of one share: the first one maps it, the last one unmaps it.
    fn live_with_a_share(&mut self) {
        self.stage_share("the first", "first");
        self.stage_share("another", "other");
        self.unstage("not the last", "other");
        self.stage_share("it is staged", "first");
        self.publish("first");
        self.unpublish("first");
        self.unstage("the last", "first");
    }
}

fn attach(sim: &SimNode) {
    let disk = DiskSpec::on(Bus::Sas).lun(9).arriving(Arrives::Online);
    let disk = disk.identified(IdentifierKind::Naa, PAGE83);
    let blank = Content::blank(GIB);
    sim.hardware().attach_disk(DISK, &disk, &blank).unwrap();
}

fn make_volume(node: &Node, disk: DiskNumber) {
    let (disks, volumes) = (node.operations().disks(), node.operations().volumes());
    let soon = Deadline::NEVER;
    disks.rescan(soon).unwrap();
    disks.partition(disk, soon).unwrap();
    let volume = volumes.sole_on_disk(disk, soon).unwrap();
    volumes.format(volume, soon).unwrap();
}

fn staging(volume: &str) -> String {
    format!(r"{KUBELET}\plugins\csi\{volume}\globalmount")
}

fn target(volume: &str) -> String {
    format!(r"{KUBELET}\pods\{volume}\mount")
}

fn mounted() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        access_mode: None,
    }
}

#[test]
fn each_csi_call_costs_what_its_row_says() {
    let mut fixture = CostFixture::new();
    fixture.live_with_a_disk();
    fixture.live_with_a_share();
    let (mut found, mut differences) = (fixture.found.into_iter(), Vec::new());
    let lines = ROWS.lines().map(|row| {
        if row.starts_with('#') {
            return row.to_owned();
        }
        let (is, counts) = found.next().unwrap();
        if is != row {
            let operations = counts.iter();
            let operations =
                operations.map(|(op, times)| format!("{} {} x{times}", op.name, op.subject));
            let operations = operations.collect::<Vec<_>>().join("; ");
            differences.push(format!("is {is}\nshould be {row}: {operations}\n"));
        }
        is
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert!(found.next().is_none(), "a call has no row");
    if env::var_os("WINCSI_UPDATE_COUNTS").is_some() {
        fs::write(FILE, text).unwrap();
    }
    let differences = differences.concat();
    let hint = "with WINCSI_UPDATE_COUNTS=1 the test writes these counts to";
    assert!(differences.is_empty(), "{differences}{hint} {FILE}");
}

/// All of them, and no others; of shares it has queries and methods.
#[test]
fn the_page_has_the_counts_of_the_rows() {
    let (disks, shares) = ROWS.split_once("\n# Folders").unwrap();
    let disks = disks.lines().skip(1).map(str::to_owned);
    assert_eq!(table_on_page(), sorted(disks), "docs/benchmarks.md");
    let shares = shares.lines().skip(1).map(in_words);
    assert_eq!(shares_on_page(), sorted(shares), "docs/benchmarks.md");
}

/// The table's rows without the last three cells: nothing counts other drivers' calls.
fn table_on_page() -> Vec<String> {
    let (_, table) = PAGE.split_once(HEADING).unwrap();
    let rows = table.lines().skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    sorted(rows.map(|row| row.split_inclusive('|').take(8).collect()))
}

fn shares_on_page() -> Vec<String> {
    let (_, line) = PAGE.split_once("\nFolders of a share: ").unwrap();
    let line = line.lines().next().unwrap();
    let shares = line.strip_suffix('.').unwrap().split("; ");
    sorted(shares.map(str::to_owned))
}

/// A row of a share, as the page has it.
fn in_words(row: &str) -> String {
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    let [_, call, situation, queries, methods, ..] = cells[..] else {
        panic!("{row}");
    };
    let situation = format!("{call}, {situation}");
    format!("{} {queries}/{methods}", situation.trim_end_matches(", "))
}

fn sorted(rows: impl Iterator<Item = String>) -> Vec<String> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}
