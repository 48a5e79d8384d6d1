//! CSI calls of `wincsi node`, beside the calls to csi-proxy that other drivers make for the same.

use anyhow::Result;
use os_sim::Arrives::Online;
use os_sim::demo;
use wire::csi::v1::node::{
    NodeExpandVolume, NodeGetVolumeStats, NodePublishVolume, NodeStageVolume, NodeUnpublishVolume,
    NodeUnstageVolume,
};
use wire::csi::v1::volume_capability::{AccessType, MountVolume};
use wire::csi::v1::{CapacityRange, VolumeCapability};

use crate::test_node::{GIB, KUBELET, Spare};
use crate::{Cost, Counted, TestNode, rows};

/// A CSI call in a situation that decides what it has to do.
#[derive(Debug, Clone, Copy)]
pub struct CsiRow {
    /// The call.
    pub call: &'static str,
    /// Empty where there is but one.
    pub situation: &'static str,
    /// What the node needs for `wincsi node`.
    pub cost: Cost,
    /// What the drivers of [`DRIVERS`] call csi-proxy for, in their order.
    pub others: [&'static [Call]; DRIVERS.len()],
    /// Brings the situation about, makes the call, and returns what it cost.
    pub run: fn(&TestNode) -> Result<Counted>,
}

/// A call to csi-proxy, and its situation, as the table of calls names both.
pub type Call = (&'static str, &'static str);

/// The drivers that are compared, as they use csi-proxy's pipes.
pub const DRIVERS: [&str; 3] = ["azuredisk", "gce-pd", "aws-ebs"];

/// How many calls a driver makes to csi-proxy, and csi-proxy's queries and methods for them; `None` where a call has
/// no row.
#[must_use]
pub fn sum(calls: &[Call]) -> Option<[u64; 3]> {
    calls
        .iter()
        .try_fold([0; 3], |[count, queries, methods], call| {
            let (_, row) = rows().find(|(name, row)| (*name, row.situation) == *call)?;
            let [more_queries, more_methods] = row.csi_proxy;
            Some([count + 1, queries + more_queries, methods + more_methods])
        })
}

impl CsiRow {
    /// In what a run differs from the row, if it does.
    #[must_use]
    pub fn wrong(&self, node: &TestNode) -> Option<String> {
        let found = match (self.run)(node) {
            Ok(counted) if counted.cost() == self.cost => return None,
            Ok(counted) => format!("{:?}{counted}", counted.cost()),
            Err(error) => format!("{error:#}"),
        };
        Some(format!("{} {}: {found}", self.call, self.situation))
    }
}

const EXISTS: Call = ("filesystem.PathExists", "a folder");
const IS_MISSING: Call = ("filesystem.PathExists", "nothing there");
const LIST_IDS: Call = ("disk.ListDiskIDs", "");
const LOCATIONS: Call = ("disk.ListDiskLocations", "");
const RESCAN: Call = ("disk.Rescan", "");
const DISK_STATS: Call = ("disk.GetDiskStats", "");
const PARTITION: Call = ("disk.PartitionDisk", "a raw disk");
const PARTITIONED: Call = ("disk.PartitionDisk", "it has its partition");
const IS_ONLINE: Call = ("disk.SetDiskState", "it is online");
const TO_OFFLINE: Call = ("disk.SetDiskState", "from online to offline");
const VOLUMES: Call = (
    "volume.ListVolumesOnDisk",
    "a reserved and a data partition",
);
const IS_FORMATTED: Call = ("volume.IsVolumeFormatted", "it is");
const IS_RAW: Call = ("volume.IsVolumeFormatted", "it is not");
const FORMAT: Call = ("volume.FormatVolume", "");
const MOUNT: Call = ("volume.MountVolume", "an empty folder");
const IS_MOUNTED: Call = ("volume.MountVolume", "it is mounted there");
const UNMOUNT: Call = ("volume.UnmountVolume", "the volume is there");
const BY_NUMBER: Call = (
    "volume.ResizeVolume",
    "the same, by the disk's number; an error with csi-proxy",
);
const IS_LARGE: Call = ("volume.ResizeVolume", "to the maximum, which it has");
const RESIZE: Call = ("volume.ResizeVolume", "to the maximum");
const VOLUME_STATS: Call = ("volume.GetVolumeStats", "");
const DISK_NUMBER: Call = ("volume.GetDiskNumberFromVolumeID", "");
const AT_MOUNT: Call = ("volume.GetVolumeIDFromTargetPath", "a mounted folder");
const AT_LINK: Call = (
    "volume.GetVolumeIDFromTargetPath",
    "a link to a mounted folder",
);
const AT_FOLDER: Call = (
    "volume.GetVolumeIDFromTargetPath",
    "a plain folder, an error",
);
const FLUSH: Call = ("volume.WriteVolumeCache", "");
const MKDIR: Call = ("filesystem.Mkdir", "not there");
const UNLINK: Call = ("filesystem.Rmdir", "force, a link");
const RMDIR: Call = ("filesystem.Rmdir", "an empty folder");
const REMOVE_MOUNTED: Call = ("filesystem.Rmdir", "force, a mounted folder");
const LINK: Call = ("filesystem.CreateSymlink", "");
const IS_LINK: Call = ("filesystem.IsSymlink", "a mounted folder");
const IS_NO_LINK: Call = ("filesystem.IsSymlink", "a plain folder");

/// In a row: queries, methods, handles, calls, waits; then the calls of azuredisk, gce-pd and aws-ebs.
#[rustfmt::skip]
pub const ROWS: &[CsiRow] = &[
    row("NodeStageVolume", "a blank disk", [3, 6, 123, 38, 4], [
        &[RESCAN, LOCATIONS, IS_MISSING, PARTITION, VOLUMES, IS_RAW, FORMAT, MOUNT, BY_NUMBER],
        &[LIST_IDS, IS_NO_LINK, DISK_STATS, PARTITION, IS_ONLINE, VOLUMES, IS_RAW, FORMAT, MOUNT,
          AT_MOUNT, IS_LARGE],
        &[LIST_IDS, IS_MISSING, MKDIR, AT_FOLDER, PARTITION, IS_ONLINE, VOLUMES, IS_RAW, FORMAT,
          MOUNT, RESCAN, DISK_STATS, AT_MOUNT, VOLUME_STATS],
    ], |node| with_disk(node, stage)),
    row("NodeStageVolume", "a disk with its volume", [1, 1, 62, 31, 0], [
        &[RESCAN, LOCATIONS, IS_MISSING, PARTITIONED, VOLUMES, IS_FORMATTED, MOUNT, BY_NUMBER],
        &[LIST_IDS, IS_NO_LINK, DISK_STATS, PARTITIONED, IS_ONLINE, VOLUMES, IS_FORMATTED, MOUNT,
          AT_MOUNT, IS_LARGE],
        &[LIST_IDS, IS_MISSING, MKDIR, AT_FOLDER, PARTITIONED, IS_ONLINE, VOLUMES, IS_FORMATTED,
          MOUNT, RESCAN, DISK_STATS, AT_MOUNT, VOLUME_STATS],
    ], |node| with_disk(node, stage_formatted)),
    row("NodeStageVolume", "it is staged", [1, 0, 9, 7, 0], [
        &[RESCAN, LOCATIONS, EXISTS, IS_LINK, PARTITIONED, VOLUMES, IS_FORMATTED, IS_MOUNTED,
          BY_NUMBER],
        &[LIST_IDS, IS_LINK],
        &[LIST_IDS, EXISTS, AT_MOUNT, DISK_NUMBER],
    ], |node| staged(node, stage)),
    row("NodePublishVolume", "", [0, 0, 1, 7, 0], [
        &[IS_MISSING, IS_MISSING, LINK],
        &[IS_MISSING, LINK],
        &[IS_MISSING, IS_MISSING, LINK],
    ], |node| staged(node, publish)),
    row("NodeGetVolumeStats", "", [0, 0, 2, 4, 0], [
        &[AT_LINK, VOLUME_STATS],
        &[AT_LINK, VOLUME_STATS],
        &[EXISTS],
    ], |node| published(node, stats)),
    row("NodeExpandVolume", "the disk has grown", [2, 4, 19, 12, 0], [
        &[AT_LINK, VOLUME_STATS, RESIZE, VOLUME_STATS],
        &[LIST_IDS, AT_LINK, RESIZE, DISK_STATS],
        &[AT_LINK, DISK_NUMBER, LIST_IDS, RESCAN, AT_LINK, RESIZE, DISK_STATS],
    ], |node| published(node, expand)),
    row("NodeUnpublishVolume", "", [0, 0, 1, 3, 0], [
        &[UNLINK],
        &[UNLINK],
        &[UNLINK],
    ], |node| published(node, unpublish)),
    row("NodeUnstageVolume", "", [1, 2, 50, 17, 0], [
        &[AT_MOUNT, FLUSH, REMOVE_MOUNTED],
        &[EXISTS, AT_MOUNT, UNMOUNT, RMDIR, DISK_NUMBER, TO_OFFLINE],
        &[AT_MOUNT, DISK_NUMBER, AT_MOUNT, UNMOUNT, RMDIR, DISK_NUMBER, TO_OFFLINE],
    ], |node| staged(node, unstage)),
];

/// Folders of one share, whose first volume maps it and whose last one unmaps it.
#[rustfmt::skip]
pub const SHARES: &[CsiRow] = &[
    row("NodeStageVolume", "the first", [3, 1, 1, 9, 0], [&[]; 3], |node| act_on_first(node, stage_share)),
    row("NodeStageVolume", "another", [2, 0, 1, 10, 0], [&[]; 3], |node| with_first(node, stage_other)),
    row("NodeStageVolume", "it is staged", [1, 0, 1, 1, 0], [&[]; 3], |node| with_first(node, stage_share)),
    row("NodePublishVolume", "", [1, 0, 1, 4, 0], [&[]; 3], |node| with_first(node, publish_share)),
    row("NodeUnstageVolume", "not the last", [0, 0, 1, 3, 0], [&[]; 3], |node| with_first(node, unstage_other)),
    row("NodeUnstageVolume", "the last", [1, 1, 1, 3, 0], [&[]; 3], |node| with_first(node, unstage_share)),
];

const fn row(
    call: &'static str,
    situation: &'static str,
    cost: Cost,
    others: [&'static [Call]; DRIVERS.len()],
    run: fn(&TestNode) -> Result<Counted>,
) -> CsiRow {
    CsiRow {
        call,
        situation,
        cost,
        others,
        run,
    }
}

/// A disk that the controller has attached.
struct Disk<'a> {
    node: &'a TestNode,
    spare: &'a Spare,
}

impl Disk<'_> {
    fn id(&self) -> String {
        self.spare.page83.clone()
    }

    fn staging(&self) -> String {
        format!(r"{KUBELET}\plugins\csi\{}\globalmount", self.spare.name)
    }

    fn target(&self) -> String {
        format!(r"{KUBELET}\pods\{}\mount", self.spare.name)
    }
}

type Act = fn(&Disk<'_>) -> Result<Counted>;

fn with_disk(node: &TestNode, act: Act) -> Result<Counted> {
    node.with_spare(Online, |spare| act(&Disk { node, spare }))
}

fn staged(node: &TestNode, act: Act) -> Result<Counted> {
    node.with_spare(Online, |spare| {
        let disk = Disk { node, spare };
        stage(&disk)?;
        act(&disk)
    })
}

fn published(node: &TestNode, act: Act) -> Result<Counted> {
    node.with_spare(Online, |spare| {
        let disk = Disk { node, spare };
        stage(&disk)?;
        publish(&disk)?;
        act(&disk)
    })
}

fn stage(disk: &Disk<'_>) -> Result<Counted> {
    disk.node.cost::<NodeStageVolume>(|stage| {
        stage.volume_id = disk.id();
        stage.publish_context = [("page83".to_owned(), disk.id())].into();
        stage.staging_target_path = disk.staging();
        stage.volume_capability = Some(mounted());
    })
}

fn stage_formatted(disk: &Disk<'_>) -> Result<Counted> {
    disk.node.formatted_volume_on(disk.spare.number)?;
    stage(disk)
}

fn publish(disk: &Disk<'_>) -> Result<Counted> {
    disk.node.cost::<NodePublishVolume>(|publish| {
        publish.volume_id = disk.id();
        publish.staging_target_path = disk.staging();
        publish.target_path = disk.target();
        publish.volume_capability = Some(mounted());
    })
}

fn stats(disk: &Disk<'_>) -> Result<Counted> {
    disk.node.cost::<NodeGetVolumeStats>(|stats| {
        stats.volume_id = disk.id();
        stats.volume_path = disk.target();
    })
}

fn expand(disk: &Disk<'_>) -> Result<Counted> {
    let hardware = disk.node.sim().hardware();
    hardware.grow_disk(&disk.spare.name, 2 * GIB)?;
    disk.node.cost::<NodeExpandVolume>(|expand| {
        expand.volume_id = disk.id();
        expand.volume_path = disk.target();
        expand.capacity_range = Some(CapacityRange {
            required_bytes: 2 << 30,
            ..Default::default()
        });
    })
}

fn unpublish(disk: &Disk<'_>) -> Result<Counted> {
    disk.node.cost::<NodeUnpublishVolume>(|unpublish| {
        unpublish.volume_id = disk.id();
        unpublish.target_path = disk.target();
    })
}

fn unstage(disk: &Disk<'_>) -> Result<Counted> {
    disk.node.cost::<NodeUnstageVolume>(|unstage| {
        unstage.volume_id = disk.id();
        unstage.staging_target_path = disk.staging();
    })
}

/// A volume that is a folder of the demonstration's share.
struct Share<'a> {
    node: &'a TestNode,
    name: &'static str,
}

type ShareAct = fn(&Share<'_>) -> Result<Counted>;

/// Nothing of the share is left after it.
fn act_on_first(
    node: &TestNode,
    act: impl FnOnce(&Share<'_>) -> Result<Counted>,
) -> Result<Counted> {
    let share = Share {
        node,
        name: "first",
    };
    let counted = act(&share);
    unpublish_share(&share)?;
    unstage_share(&share)?;
    counted
}

/// While one volume of the share is staged.
fn with_first(node: &TestNode, act: ShareAct) -> Result<Counted> {
    act_on_first(node, |first| {
        stage_share(first)?;
        act(first)
    })
}

fn stage_other(first: &Share<'_>) -> Result<Counted> {
    let other = Share {
        name: "other",
        ..*first
    };
    let counted = stage_share(&other);
    unstage_share(&other)?;
    counted
}

fn unstage_other(first: &Share<'_>) -> Result<Counted> {
    let other = Share {
        name: "other",
        ..*first
    };
    stage_share(&other)?;
    unstage_share(&other)
}

impl Share<'_> {
    fn staging(&self) -> String {
        format!(r"{KUBELET}\plugins\csi\{}\globalmount", self.name)
    }

    fn target(&self) -> String {
        format!(r"{KUBELET}\pods\{}\mount", self.name)
    }
}

/// After kubelet has made the staging folder.
fn stage_share(share: &Share<'_>) -> Result<Counted> {
    share.node.make_folder(&share.staging())?;
    share.node.cost::<NodeStageVolume>(|stage| {
        stage.volume_id = share.name.to_owned();
        stage.volume_context = [("source".to_owned(), demo::SHARE.to_owned())].into();
        let secrets = [
            ("username", demo::SMB_USER),
            ("password", demo::SMB_PASSWORD),
        ];
        stage.secrets = secrets
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        stage.staging_target_path = share.staging();
        stage.volume_capability = Some(mounted());
    })
}

fn publish_share(share: &Share<'_>) -> Result<Counted> {
    share.node.cost::<NodePublishVolume>(|publish| {
        publish.volume_id = share.name.to_owned();
        publish.volume_context = [("source".to_owned(), demo::SHARE.to_owned())].into();
        publish.staging_target_path = share.staging();
        publish.target_path = share.target();
        publish.volume_capability = Some(mounted());
    })
}

fn unpublish_share(share: &Share<'_>) -> Result<Counted> {
    share.node.cost::<NodeUnpublishVolume>(|unpublish| {
        unpublish.volume_id = share.name.to_owned();
        unpublish.target_path = share.target();
    })
}

fn unstage_share(share: &Share<'_>) -> Result<Counted> {
    share.node.cost::<NodeUnstageVolume>(|unstage| {
        unstage.volume_id = share.name.to_owned();
        unstage.staging_target_path = share.staging();
    })
}

fn mounted() -> VolumeCapability {
    VolumeCapability {
        access_type: Some(AccessType::Mount(MountVolume::default())),
        ..Default::default()
    }
}
