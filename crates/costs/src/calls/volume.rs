use anyhow::Result;
use os_sim::Arrives::Online;
use wire::filesystem::v2alpha1 as filesystem;
use wire::volume::v2alpha1::rpc;

use crate::test_node::{GIB, KUBELET, MOUNTED, Spare};
use crate::{CostedCall, Counted, TestNode, row};

// In a row: queries, methods, handles, calls, waits; csi-proxy's queries and methods.
#[rustfmt::skip]
pub(super) const CALLS: &[CostedCall] = &[
    CostedCall("volume.ListVolumesOnDisk", &[
        row("a reserved and a data partition", [0, 0, 6, 0, 0], [3, 0],
            |node| list(node, node.volume().disk, 0)),
        row("one partition named", [0, 0, 6, 0, 0], [2, 0],
            |node| list(node, node.volume().disk, DATA)),
        row("a disk without a partition", [0, 0, 2, 0, 0], [1, 0], list_nothing),
    ]),
    CostedCall("volume.MountVolume", &[
        row("an empty folder", [0, 0, 1, 2, 0], [0, 0], |node| mount(node, &node.folder()?)),
        row("it is mounted there", [0, 0, 1, 2, 0], [0, 0], |node| mount(node, MOUNTED)),
    ]),
    CostedCall("volume.UnmountVolume", &[
        row("the volume is there", [0, 0, 4, 3, 0], [1, 1],
            |node| unmount(node, node.volume().id, node.mounted()?)),
        row("its disk is gone; an error with csi-proxy", [0, 0, 5, 3, 0], [1, 0],
            unmount_what_is_gone),
    ]),
    CostedCall("volume.IsVolumeFormatted", &[
        row("it is", [0, 0, 0, 1, 0], [1, 0], |node| is_formatted(node, node.volume().id)),
        row("it is not", [0, 0, 0, 1, 0], [1, 0],
            |node| with_raw(node, |id| is_formatted(node, id))),
    ]),
    CostedCall("volume.FormatVolume", &[
        row("", [2, 1, 13, 5, 0], [1, 1],
            |node| with_raw(node, |id| format(node, id))).because(WHOSE_DISK),
    ]),
    CostedCall("volume.ResizeVolume", &[
        row("to a size", [2, 2, 12, 5, 0], [3, 2], |node| resized(node, 3 << 29)),
        row("to the maximum", [2, 3, 11, 5, 0], [3, 3], |node| resized(node, 0)),
        row("it is large enough", [1, 0, 5, 5, 0], [2, 0],
            |node| resize(node, node.volume().id, 1 << 30)),
        row("to the maximum, which it has", [1, 1, 9, 5, 0], [2, 1],
            |node| resize(node, node.volume().id, 0)),
        row("the same, by the disk's number; an error with csi-proxy", [1, 1, 15, 5, 0], [1, 0],
            resize_by_number).because(GROWN),
    ]),
    CostedCall("volume.GetVolumeStats", &[row("", [0, 0, 0, 1, 0], [1, 0],
        |node| node.cost::<rpc::GetVolumeStats>(|get| get.volume_id = node.volume().id))]),
    CostedCall("volume.GetDiskNumberFromVolumeID", &[row("", [0, 0, 1, 0, 0], [2, 0], disk_number)]),
    CostedCall("volume.GetVolumeIDFromTargetPath", &[
        row("a mounted folder", [0, 0, 1, 2, 0], [0, 0], |node| at(node, MOUNTED.to_owned())),
        row("a link to a mounted folder", [0, 0, 2, 3, 0], [0, 0], |node| at(node, node.link()?)),
        row("a plain folder, an error", [0, 0, 0, 1, 0], [0, 0],
            |node| not_at(node, node.folder()?)),
        row("nothing there, an error", [0, 0, 1, 1, 0], [0, 0],
            |node| not_at(node, node.free_path())),
    ]),
    CostedCall("volume.GetClosestVolumeIDFromTargetPath", &[
        row("a mounted folder", [0, 0, 1, 2, 0], [0, 0], |node| closest(node, MOUNTED)),
        row("a folder of a mounted volume", [0, 0, 1, 2, 0], [0, 0], closest_inside),
        row("a folder of drive C", [0, 0, 0, 4, 0], [2, 0], |node| closest(node, KUBELET)),
    ]),
    CostedCall("volume.WriteVolumeCache", &[row("", [0, 0, 1, 0, 0], [1, 1],
        |node| node.cost::<rpc::WriteVolumeCache>(|write| write.volume_id = node.volume().id))]),
];

/// The first partition is reserved.
const DATA: u32 = 2;

const WHOSE_DISK: &str = "\
    MSFT_Disk reports whether Windows starts from the disk or a cluster owns it, and its Path shows whether the \
    number is still that of the disk: the provider answers from a cache, and numbers change hands. csi-proxy \
    formats a volume of the node's own disk for a driver with a wrong number. MSFT_Volume reports none of this";

const GROWN: &str = "\
    UpdateHostStorageCache checks whether the disk has grown; csi-proxy calls GetSupportedSize for a volume by \
    name, and refuses a number. azuredisk's driver sends the number at each stage: there the second attempt stages \
    the volume, and it never grows";

fn list(node: &TestNode, disk: u32, partition: u32) -> Result<Counted> {
    node.cost::<rpc::ListVolumesOnDisk>(|list| {
        list.disk_number = disk;
        list.partition_number = partition;
    })
}

fn list_nothing(node: &TestNode) -> Result<Counted> {
    node.with_spare(Online, |spare| list(node, spare.number, 0))
}

fn mount(node: &TestNode, path: &str) -> Result<Counted> {
    node.cost::<rpc::MountVolume>(|mount| {
        mount.volume_id = node.volume().id;
        mount.target_path = path.to_owned();
    })
}

fn unmount(node: &TestNode, id: String, path: String) -> Result<Counted> {
    node.cost::<rpc::UnmountVolume>(|unmount| {
        unmount.volume_id = id;
        unmount.target_path = path;
    })
}

fn unmount_what_is_gone(node: &TestNode) -> Result<Counted> {
    let spare = node.plug(Online)?;
    let id = node.formatted_volume_on(spare.number)?.id;
    let path = node.folder()?;
    node.call::<rpc::MountVolume>(|mount| {
        mount.volume_id.clone_from(&id);
        mount.target_path.clone_from(&path);
    })?;
    node.pull(&spare)?;
    unmount(node, id, path)
}

fn is_formatted(node: &TestNode, id: String) -> Result<Counted> {
    node.cost::<rpc::IsVolumeFormatted>(|is_formatted| is_formatted.volume_id = id)
}

fn format(node: &TestNode, id: String) -> Result<Counted> {
    node.cost::<rpc::FormatVolume>(|format| format.volume_id = id)
}

/// With a volume that has no filesystem.
fn with_raw(node: &TestNode, act: impl FnOnce(String) -> Result<Counted>) -> Result<Counted> {
    let volume = |spare: &Spare| node.raw_volume_on(spare.number);
    node.with_spare(Online, |spare| act(volume(spare)?.id))
}

/// A disk has grown, and the driver has had it looked at, as it must with csi-proxy.
fn resized(node: &TestNode, size: i64) -> Result<Counted> {
    node.with_spare(Online, |spare| {
        let id = node.formatted_volume_on(spare.number)?.id;
        node.sim().hardware().grow_disk(&spare.name, 2 * GIB)?;
        node.rescan()?;
        resize(node, id, size)
    })
}

fn resize_by_number(node: &TestNode) -> Result<Counted> {
    resize(node, node.volume().disk.to_string(), 0)
}

fn resize(node: &TestNode, id: String, size: i64) -> Result<Counted> {
    node.cost::<rpc::ResizeVolume>(|resize| {
        resize.volume_id = id;
        resize.size_bytes = size;
    })
}

fn disk_number(node: &TestNode) -> Result<Counted> {
    node.cost::<rpc::GetDiskNumberFromVolumeId>(|get| get.volume_id = node.volume().id)
}

fn at(node: &TestNode, path: String) -> Result<Counted> {
    node.cost::<rpc::GetVolumeIdFromTargetPath>(|get| get.target_path = path)
}

fn not_at(node: &TestNode, path: String) -> Result<Counted> {
    node.refused::<rpc::GetVolumeIdFromTargetPath>(|get| get.target_path = path)
}

fn closest_inside(node: &TestNode) -> Result<Counted> {
    let path = format!(r"{MOUNTED}\inside");
    node.call::<filesystem::rpc::Mkdir>(|mkdir| mkdir.path.clone_from(&path))?;
    closest(node, &path)
}

fn closest(node: &TestNode, path: &str) -> Result<Counted> {
    node.cost::<rpc::GetClosestVolumeIdFromTargetPath>(|get| get.target_path = path.to_owned())
}
