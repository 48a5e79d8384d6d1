//! A simulated node and the handlers that serve it, called in this process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use driver::kinds::{self, Row};
use driver::kubelet::{Router, serve_node};
use driver::life::{Kubelet, Volumes};
use driver::machine::Own;
use driver::record::Store;
use node::{Node, Options};
use os::{Os, WinPath};
use os_sim::iscsi::IscsiControl;
use os_sim::smb::SmbControl;
use os_sim::{
    Arrives, Bus, ClockMode, Content, DiskSpec, Effect, IdentifierKind, Inventory, NodeSpec, Rule,
    SimNode, demo,
};
use prost::Message;
use proxy::paths::WorkingDirs;
use proxy::{Middleware, PipeOperations, groups};
use tempfile::TempDir;
use transport::{Call, Service};
use wire::Rpc;
use wire::csi::v1::NodeGetInfoResponse;
use wire::csi::v1::node::NodeStageVolume;
use wire::disk::v1 as disk;
use wire::filesystem::v2alpha1 as filesystem;
use wire::system::v1alpha1 as system;
use wire::volume::v2alpha1 as volume;

use crate::{Counted, Counter};

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";
/// Where the node's volume is mounted.
pub(crate) const MOUNTED: &str = r"C:\var\lib\kubelet\mounted";
pub(crate) const GIB: u64 = 1 << 30;

/// The demonstration's node in its folder.
const NODE: &str = "node";

const LIMIT: Duration = Duration::from_secs(600);

/// A node with the handlers of every group, and one formatted volume that is mounted.
pub struct TestNode {
    services: BTreeMap<String, Arc<dyn Service>>,
    counter: Counter,
    sim: SimNode,
    volume: Volume,
    names: AtomicU32,
    folder: TempDir,
}

/// A volume and its disk.
#[derive(Clone, Default)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) disk: u32,
}

/// A disk that was plugged in for one call.
pub(crate) struct Spare {
    pub(crate) name: String,
    pub(crate) number: u32,
    pub(crate) page83: String,
}

impl TestNode {
    /// The demonstration's node: a system disk, a data disk with the volume, a file server and an
    /// iSCSI server. Its operations go through what `layer` makes of its facilities.
    ///
    /// # Errors
    /// The node cannot be made.
    pub fn through(layer: impl FnOnce(Os) -> Os) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let sim = demo::create(&folder.path().join(NODE), ClockMode::Virtual)?;
        let mut node = Self::on(sim, folder, layer)?;
        node.rescan()?;
        let disk = node.number_of(demo::DISK_SERIAL)?;
        node.volume = node.formatted_volume_on(disk)?;
        node.mount_at(MOUNTED)?;
        node.call::<system::rpc::StartService>(|start| start.name = "MSiSCSI".to_owned())?;
        Ok(node)
    }

    /// A node in memory with so many disks of one formatted volume each, of which one is mounted.
    ///
    /// # Errors
    /// The node cannot be made.
    pub fn of_volumes(volumes: u32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let (spec, inventory) = (NodeSpec::named("many"), Inventory::of(volumes));
        let clock = ClockMode::Virtual;
        let sim = SimNode::in_memory_with_files(&spec, inventory, clock, folder.path())?;
        let kubelet: WinPath = KUBELET.parse()?;
        for depth in 1..=kubelet.components().len() {
            sim.os().files.create_directory(&kubelet.prefix(depth))?;
        }
        let mut node = Self::on(sim, folder, |os| os)?;
        // Number 0 is the system disk.
        node.volume = node.volume_on(1)?;
        node.mount_at(MOUNTED)?;
        Ok(node)
    }

    fn on(sim: SimNode, folder: TempDir, layer: impl FnOnce(Os) -> Os) -> Result<Self> {
        let (os, counter) = Counter::around(layer(sim.os()));
        let node = Node::new(os, Options::default());
        let csi = plugin(node.clone(), folder.path())?;
        let working_dirs = WorkingDirs::parse(vec![KUBELET.to_owned()])?;
        let operations = PipeOperations::new(node, working_dirs);
        let registry = groups::registry();
        let services = registry.into_services(&Arc::new(operations), &Middleware::default());
        let named = services.into_iter();
        let services = named.map(|(group, service)| (group.to_string(), service));
        let csi = (NodeStageVolume::GROUP.to_string(), csi);
        Ok(Self {
            services: services.chain([csi]).collect(),
            counter,
            sim,
            volume: Volume::default(),
            names: AtomicU32::new(0),
            folder,
        })
    }

    /// Makes a call that succeeds, and returns what it cost.
    pub(crate) fn cost<R: Rpc>(&self, set: impl FnOnce(&mut R::Request)) -> Result<Counted> {
        let (answer, counted) = self.tried::<R>(set)?;
        answer.map(|_| counted)
    }

    /// Makes a call that is refused, and returns what it cost.
    pub(crate) fn refused<R: Rpc>(&self, set: impl FnOnce(&mut R::Request)) -> Result<Counted> {
        let (answer, counted) = self.tried::<R>(set)?;
        ensure!(answer.is_err(), "{} is not refused", R::PATH);
        Ok(counted)
    }

    /// Makes a call that succeeds.
    pub(crate) fn call<R: Rpc>(&self, set: impl FnOnce(&mut R::Request)) -> Result<R::Response> {
        self.tried::<R>(set)?.0
    }

    fn tried<R: Rpc>(
        &self,
        set: impl FnOnce(&mut R::Request),
    ) -> Result<(Result<R::Response>, Counted)> {
        let service = self.services.get(&R::GROUP.to_string());
        let service = service.with_context(|| format!("nobody serves {}", R::GROUP))?;
        let mut request = R::Request::default();
        set(&mut request);
        let message = request.encode_to_vec().into();
        let call = Call::in_process(R::PATH, message, Instant::now() + LIMIT);
        let call = call.context("a method's path")?;
        let (answer, counted) = self.counter.during(|| service.call(&call));
        let answer = match answer {
            Ok(answer) => Ok(R::Response::decode(answer.as_slice())?),
            Err(status) => Err(anyhow!("{}: {}", R::PATH, status.message)),
        };
        Ok((answer, counted))
    }

    /// The volume that is formatted and mounted, and its disk.
    pub(crate) fn volume(&self) -> Volume {
        self.volume.clone()
    }

    /// The node by other hands than ours, which nobody counts.
    pub(crate) fn sim(&self) -> &SimNode {
        &self.sim
    }

    /// The iSCSI servers around the node.
    pub(crate) fn arrays(&self) -> IscsiControl {
        IscsiControl::at(self.folder.path().join(NODE))
    }

    /// The SMB servers around the node.
    pub(crate) fn file_servers(&self) -> SmbControl {
        SmbControl::at(self.folder.path().join(NODE))
    }

    /// While an operation fails as `rule` has it.
    pub(crate) fn failing<T>(&self, operation: &str, effect: Effect, act: impl FnOnce() -> T) -> T {
        let fault = self.sim.faults().add(Rule::on(operation, effect).times(1));
        let done = act();
        self.sim.faults().remove(fault);
        done
    }

    /// A path in the kubelet's folder where nothing is.
    pub(crate) fn free_path(&self) -> String {
        format!(r"{KUBELET}\free{}", self.number())
    }

    /// A new folder.
    pub(crate) fn folder(&self) -> Result<String> {
        let path = self.free_path();
        self.make_folder(&path)?;
        Ok(path)
    }

    pub(crate) fn make_folder(&self, path: &str) -> Result<()> {
        self.call::<filesystem::rpc::Mkdir>(|mkdir| path.clone_into(&mut mkdir.path))?;
        Ok(())
    }

    /// A new link to the mounted folder, as drivers publish it.
    pub(crate) fn link(&self) -> Result<String> {
        let path = self.free_path();
        self.call::<filesystem::rpc::CreateSymlink>(|link| {
            link.source_path = MOUNTED.to_owned();
            link.target_path.clone_from(&path);
        })?;
        Ok(path)
    }

    /// A new folder at which the volume is mounted too.
    pub(crate) fn mounted(&self) -> Result<String> {
        let path = self.folder()?;
        self.mount_at(&path)?;
        Ok(path)
    }

    /// While a spare disk is plugged in.
    pub(crate) fn with_spare<T>(
        &self,
        arrives: Arrives,
        act: impl FnOnce(&Spare) -> Result<T>,
    ) -> Result<T> {
        let spare = self.plug(arrives)?;
        let done = act(&spare);
        self.pull(&spare)?;
        done
    }

    /// Plugs in a blank disk of 1 GiB that everybody knows.
    pub(crate) fn plug(&self, arrives: Arrives) -> Result<Spare> {
        let serial = self.number();
        let name = format!("spare{serial}");
        let spec = DiskSpec::on(Bus::Sas).serial(&name).lun(9);
        let page83 = format!("6002248{serial:025x}");
        let spec = spec.identified(IdentifierKind::Naa, &page83);
        let spec = spec.arriving(arrives);
        let blank = Content::blank(GIB);
        self.sim.hardware().attach_disk(&name, &spec, &blank)?;
        self.rescan()?;
        let number = self.number_of(&name)?;
        Ok(Spare {
            name,
            number,
            page83,
        })
    }

    pub(crate) fn pull(&self, spare: &Spare) -> Result<()> {
        self.sim.hardware().detach_disk(&spare.name)?;
        self.rescan()
    }

    /// Has the storage provider see what was plugged in, pulled out or grew.
    pub(crate) fn rescan(&self) -> Result<()> {
        self.call::<disk::rpc::Rescan>(|_| {}).map(drop)
    }

    /// The volume of a blank disk, without a filesystem.
    pub(crate) fn raw_volume_on(&self, disk: u32) -> Result<Volume> {
        self.call::<disk::rpc::PartitionDisk>(|partition| partition.disk_number = disk)?;
        self.volume_on(disk)
    }

    /// The volume of a blank disk, formatted.
    pub(crate) fn formatted_volume_on(&self, disk: u32) -> Result<Volume> {
        let volume = self.raw_volume_on(disk)?;
        self.call::<volume::rpc::FormatVolume>(|format| format.volume_id.clone_from(&volume.id))?;
        Ok(volume)
    }

    fn volume_on(&self, disk: u32) -> Result<Volume> {
        let listed = self.call::<volume::rpc::ListVolumesOnDisk>(|list| list.disk_number = disk)?;
        let [id] = listed.volume_ids.as_slice() else {
            anyhow::bail!("disk {disk} has not one volume: {:?}", listed.volume_ids);
        };
        let id = id.clone();
        Ok(Volume { id, disk })
    }

    fn number_of(&self, serial: &str) -> Result<u32> {
        let listed = self.call::<disk::rpc::ListDiskIds>(|_| {})?;
        let mut all = listed.disk_ids.iter();
        let found = all.find(|(_, ids)| ids.serial_number == serial);
        let (number, _) = found.with_context(|| format!("no disk {serial}"))?;
        Ok(*number)
    }

    fn mount_at(&self, path: &str) -> Result<()> {
        self.make_folder(path)?;
        self.call::<volume::rpc::MountVolume>(|mount| {
            mount.volume_id.clone_from(&self.volume.id);
            mount.target_path = path.to_owned();
        })?;
        Ok(())
    }

    fn number(&self) -> u32 {
        self.names.fetch_add(1, Ordering::Relaxed)
    }
}

/// The node plugin's Node service.
fn plugin(node: Node, home: &Path) -> Result<Arc<dyn Service>> {
    let kinds = kinds::table(kinds::Settings::default());
    let store = Store::open(&home.join("records"), &Row::forms(&kinds))?;
    let kubelet = Kubelet {
        driver_name: driver::NAME.to_owned(),
        folder: None,
    };
    let volumes = Volumes::new(Arc::new(node), store, Arc::new(Own), kubelet, kinds);
    let mut router = Router::default();
    serve_node(
        &Arc::new(volumes),
        NodeGetInfoResponse::default(),
        &mut router,
    );
    Ok(Arc::new(router))
}
