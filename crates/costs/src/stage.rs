//! A simulated node and the handlers that serve it, called in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::Result;
use anyhow::ensure;
use node::Node;
use node::Options;
use os::Os;
use os::WinPath;
use os_meter::Meter;
use os_sim::Arrives;
use os_sim::Bus;
use os_sim::ClockMode;
use os_sim::Content;
use os_sim::DiskSpec;
use os_sim::Faults;
use os_sim::HardwareControl;
use os_sim::IdentifierKind;
use os_sim::Inventory;
use os_sim::NodeSpec;
use os_sim::SimNode;
use os_sim::demo;
use os_sim::iscsi::IscsiControl;
use os_sim::smb::SmbControl;
use prost::Message;
use proxy::Operations;
use proxy::Oversight;
use proxy::groups;
use proxy::paths::WorkingDirs;
use tempfile::TempDir;
use transport::Call;
use transport::Service;
use wire::Rpc;
use wire::disk::v1 as disk;
use wire::filesystem::v2alpha1 as filesystem;
use wire::system::v1alpha1 as system;
use wire::volume::v2alpha1 as volume;

use crate::Frontier;
use crate::Sample;
use crate::sample::Gauge;

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";
/// Where the stage's volume is mounted.
pub(crate) const MOUNTED: &str = r"C:\var\lib\kubelet\mounted";
pub(crate) const GIB: u64 = 1 << 30;

/// The demonstration's node in its folder.
const NODE: &str = "node";

const LIMIT: Duration = Duration::from_secs(600);

/// A node with the handlers of every group, and one formatted volume that is mounted.
pub struct Stage {
    services: BTreeMap<String, Arc<dyn Service>>,
    gauge: Arc<Gauge>,
    hardware: HardwareControl,
    faults: Faults,
    os: Os,
    volume: Known,
    spares: AtomicU32,
    folder: TempDir,
}

/// A volume and its disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) disk: u32,
    pub(crate) volume: String,
}

/// A disk that was plugged in for one call.
pub(crate) struct Spare {
    pub(crate) name: String,
    pub(crate) number: u32,
}

impl Stage {
    /// The demonstration's node: a system disk, a data disk with the volume, a file server and an
    /// iSCSI server.
    ///
    /// # Errors
    /// The node cannot be made.
    pub fn new() -> Result<Self> {
        Self::through(|os| os, None)
    }

    /// The same, whose operations go through what `way` makes of the node's facilities; what crosses a
    /// frontier in there is counted too.
    ///
    /// # Errors
    /// The node cannot be made, or the way does not lead there.
    pub fn through(
        way: impl FnOnce(Os) -> Os,
        frontier: Option<Arc<dyn Frontier>>,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let node = demo::create(&folder.path().join(NODE), ClockMode::Virtual)?;
        let mut stage = Self::on(&node, folder, way, frontier)?;
        stage.rescan()?;
        let disk = stage.number_of(demo::DISK_SERIAL)?;
        stage.volume = stage.volume_on(disk)?;
        stage.mount()?;
        stage.call::<system::rpc::StartService>(&system::StartServiceRequest {
            name: "MSiSCSI".to_owned(),
        })?;
        Ok(stage)
    }

    /// A node in memory with so many disks of one formatted volume each, of which one is mounted.
    ///
    /// # Errors
    /// The node cannot be made.
    pub fn of_volumes(volumes: u32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let spec = NodeSpec::named("many");
        let inventory = Inventory::of(volumes);
        let clock = ClockMode::Virtual;
        let node = SimNode::in_memory_with_files(&spec, inventory, clock, folder.path())?;
        let kubelet: WinPath = KUBELET.parse()?;
        for depth in 1..=kubelet.components().len() {
            node.os().files.create_directory(&kubelet.prefix(depth))?;
        }
        let mut stage = Self::on(&node, folder, |os| os, None)?;
        // Number 0 is the system disk.
        stage.volume = stage.known_on(1)?;
        stage.mount()?;
        Ok(stage)
    }

    fn on(
        node: &SimNode,
        folder: TempDir,
        way: impl FnOnce(Os) -> Os,
        frontier: Option<Arc<dyn Frontier>>,
    ) -> Result<Self> {
        let gauge = Arc::new(Gauge::at(frontier));
        let os = os_meter::metered(way(node.os()), &(Arc::clone(&gauge) as Arc<dyn Meter>));
        let working_dirs = WorkingDirs::parse(vec![KUBELET.to_owned()])?;
        let operations = Operations::new(Node::new(os, Options::default()), working_dirs);
        let registry = groups::registry();
        let services = registry.into_services(&Arc::new(operations), &Oversight::default());
        Ok(Self {
            services: services
                .into_iter()
                .map(|(group, service)| (group.to_string(), service))
                .collect(),
            gauge,
            hardware: node.hardware().clone(),
            faults: node.faults().clone(),
            os: node.os(),
            volume: Known::default(),
            spares: AtomicU32::new(0),
            folder,
        })
    }

    /// Calls, and tells what the call took.
    pub(crate) fn measured<R: Rpc>(&self, request: &R::Request) -> Result<Sample> {
        Ok(self.answered::<R>(request)?.1)
    }

    pub(crate) fn call<R: Rpc>(&self, request: &R::Request) -> Result<R::Response> {
        Ok(self.answered::<R>(request)?.0)
    }

    /// Makes a call that is refused, and tells what it took.
    pub(crate) fn refused<R: Rpc>(&self, request: &R::Request) -> Result<Sample> {
        let (answer, sample) = self.tried::<R>(request)?;
        ensure!(answer.is_err(), "{} is not refused", R::PATH);
        Ok(sample)
    }

    fn answered<R: Rpc>(&self, request: &R::Request) -> Result<(R::Response, Sample)> {
        let (answer, sample) = self.tried::<R>(request)?;
        Ok((answer?, sample))
    }

    /// What is answered, refusals too.
    fn tried<R: Rpc>(&self, request: &R::Request) -> Result<(Result<R::Response>, Sample)> {
        let service = self.services.get(&R::GROUP.to_string());
        let service = service.with_context(|| format!("nobody serves {}", R::GROUP))?;
        let message = request.encode_to_vec().into();
        let call = Call::in_process(R::PATH, message, Instant::now() + LIMIT);
        let call = call.context("a method's path")?;
        let (answer, sample) = self.gauge.measure(|| service.call(&call));
        let answer = match answer {
            Ok(answer) => Ok(R::Response::decode(answer.as_slice())?),
            Err(status) => Err(anyhow::anyhow!("{}: {}", R::PATH, status.message)),
        };
        Ok((answer, sample))
    }

    /// The volume that is formatted and mounted, and its disk.
    pub(crate) fn volume(&self) -> &Known {
        &self.volume
    }

    pub(crate) fn hardware(&self) -> &HardwareControl {
        &self.hardware
    }

    /// What goes wrong on the node.
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The node by other hands than ours, which nobody counts.
    pub(crate) fn os(&self) -> &Os {
        &self.os
    }

    /// The iSCSI servers around the demonstration's node.
    pub(crate) fn arrays(&self) -> IscsiControl {
        IscsiControl::at(self.folder.path().join(NODE))
    }

    /// The SMB servers around the demonstration's node.
    pub(crate) fn file_servers(&self) -> SmbControl {
        SmbControl::at(self.folder.path().join(NODE))
    }

    /// A path in the kubelet's folder where nothing is.
    pub(crate) fn free_path(&self) -> String {
        let number = self.spares.fetch_add(1, Ordering::Relaxed);
        format!(r"{KUBELET}\free{number}")
    }

    /// A new folder.
    pub(crate) fn folder(&self) -> Result<String> {
        let path = self.free_path();
        self.call::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest { path: path.clone() })?;
        Ok(path)
    }

    /// A new link to the mounted folder, as drivers publish it.
    pub(crate) fn link(&self) -> Result<String> {
        let path = self.free_path();
        self.call::<filesystem::rpc::CreateSymlink>(&filesystem::CreateSymlinkRequest {
            source_path: MOUNTED.to_owned(),
            target_path: path.clone(),
        })?;
        Ok(path)
    }

    /// Takes away what [`Stage::folder`] or [`Stage::link`] made.
    pub(crate) fn clear(&self, path: String) -> Result<()> {
        let force = false;
        self.call::<filesystem::rpc::Rmdir>(&filesystem::RmdirRequest { path, force })?;
        Ok(())
    }

    /// Plugs in a blank disk of 1 GiB that everybody knows.
    pub(crate) fn plug(&self, arrives: Arrives) -> Result<Spare> {
        let serial = self.spares.fetch_add(1, Ordering::Relaxed);
        let name = format!("spare{serial}");
        let spec = DiskSpec::on(Bus::Sas)
            .serial(&name)
            .lun(9)
            .identified(IdentifierKind::Naa, &format!("6002248{serial:025x}"))
            .arriving(arrives);
        self.hardware
            .attach_disk(&name, &spec, &Content::blank(GIB))?;
        self.rescan()?;
        let number = self.number_of(&name)?;
        Ok(Spare { name, number })
    }

    pub(crate) fn pull(&self, spare: &Spare) -> Result<()> {
        self.hardware.detach_disk(&spare.name)?;
        self.rescan()
    }

    /// Has the storage provider see what was plugged in, pulled out or grew.
    pub(crate) fn rescan(&self) -> Result<()> {
        self.call::<disk::rpc::Rescan>(&disk::RescanRequest {})?;
        Ok(())
    }

    /// The volume of a blank disk, without a filesystem.
    pub(crate) fn raw_volume_on(&self, disk_number: u32) -> Result<Known> {
        self.call::<disk::rpc::PartitionDisk>(&disk::PartitionDiskRequest { disk_number })?;
        self.known_on(disk_number)
    }

    /// The volume of a blank disk, formatted.
    pub(crate) fn volume_on(&self, disk_number: u32) -> Result<Known> {
        let known = self.raw_volume_on(disk_number)?;
        let volume_id = known.volume.clone();
        self.call::<volume::rpc::FormatVolume>(&volume::FormatVolumeRequest { volume_id })?;
        Ok(known)
    }

    fn known_on(&self, disk: u32) -> Result<Known> {
        let request = volume::ListVolumesOnDiskRequest {
            disk_number: disk,
            partition_number: 0,
        };
        let listed = self.call::<volume::rpc::ListVolumesOnDisk>(&request)?;
        let [volume] = listed.volume_ids.as_slice() else {
            anyhow::bail!("disk {disk} has not one volume: {:?}", listed.volume_ids);
        };
        Ok(Known {
            disk,
            volume: volume.clone(),
        })
    }

    fn number_of(&self, serial: &str) -> Result<u32> {
        let listed = self.call::<disk::rpc::ListDiskIds>(&disk::ListDiskIdsRequest {})?;
        let mut found = listed
            .disk_ids
            .iter()
            .filter(|(_, ids)| ids.serial_number == serial)
            .map(|(number, _)| *number);
        let number = found.next().with_context(|| format!("no disk {serial}"))?;
        ensure!(found.next().is_none(), "several disks {serial}");
        Ok(number)
    }

    fn mount(&self) -> Result<()> {
        self.call::<filesystem::rpc::Mkdir>(&filesystem::MkdirRequest {
            path: MOUNTED.to_owned(),
        })?;
        self.call::<volume::rpc::MountVolume>(&volume::MountVolumeRequest {
            volume_id: self.volume.volume.clone(),
            target_path: MOUNTED.to_owned(),
        })?;
        Ok(())
    }
}
