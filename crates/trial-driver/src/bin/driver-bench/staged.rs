//! Many staged volumes beside few.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::Context as _;
use driver::kinds::block::{Disk, Format, RequestedDisk};
use driver::kinds::disk::{Attached, Attributes, Luns};
use driver::life::Volumes;
use driver::record::{Access, Form, Record, State, Store, VolumeHandle};
use transport::{Endpoint, Server};
use wincsi::filesystem::LinkKind;
use wincsi::sim::{Effect, Inventory, Latency, Rule};
use wincsi::volumes::VolumeId;
use wincsi::{NodeApi, WinPath};
use wincsi_trial_driver::{Step, Volume};

use crate::node::TestNode;

const FORMS: [Form; 1] = [Form::of::<Disk<Attached>>()];

const FEW: u32 = 10;

/// How many records are written at a time: each write waits for this machine's disk.
const WRITERS: u32 = 32;

const SOON: Duration = Duration::from_secs(60);

pub(crate) fn run(volumes: u32, calls: u32) -> anyhow::Result<()> {
    let few = Staged::of(FEW)?;
    let many = Staged::of(volumes)?;
    for staged in [&few, &many] {
        let (opened, reconciled) = staged.start()?;
        println!("open {} {}", staged.volumes, milliseconds(opened));
        println!("reconcile {} {}", staged.volumes, milliseconds(reconciled));
        staged.node.sim.faults().add(mount_manager());
        let (_, reconciled) = staged.start()?;
        staged.node.sim.faults().clear();
        println!("recorded {} {}", staged.volumes, milliseconds(reconciled));
    }
    let served = [few.serve()?, many.serve()?];
    for index in 0..calls {
        for (staged, (_, endpoint)) in [&few, &many].into_iter().zip(&served) {
            // A stride without a common divisor with either number of volumes.
            let volume = Volume::disk(index * 7919 % staged.volumes);
            let took = volume.call(Step::Stats, endpoint)?;
            println!("stats {} {}", staged.volumes, milliseconds(took));
        }
    }
    Ok(())
}

/// How long the mount manager of a real node takes (`os-sim/src/latency.rs`).
fn mount_manager() -> Rule {
    let delay = Effect::Delay(Duration::from_millis(9));
    Rule::on("GetVolumeNameForVolumeMountPointW", delay)
}

/// Writes the records of so many staged volumes.
pub(crate) fn write_records(folder: &Path, volumes: u32) -> anyhow::Result<()> {
    let store = Store::open(folder, &FORMS)?;
    write(&store, volumes, &|_| Ok((None, None)))
}

/// A node with so many volumes staged and published.
struct Staged {
    node: TestNode,
    volumes: u32,
}

impl Staged {
    fn of(volumes: u32) -> anyhow::Result<Self> {
        let node = TestNode::new(Latency::Own, Inventory::of(volumes))?;
        let mounted = mount(&node, volumes)?;
        let boot = node.node.system().boot_id(node.node.deadline(SOON))?;
        let store = Store::open(&node.records(), &FORMS)?;
        write(&store, volumes, &|index| {
            let volume = mounted.get(&index).context("a disk without a volume")?;
            Ok((Some(*volume), Some(boot.0.clone())))
        })?;
        Ok(Self { node, volumes })
    }

    /// How long a start takes to read the records, and to compare them with the node.
    fn start(&self) -> anyhow::Result<(Duration, Duration)> {
        let began = Instant::now();
        let driver = self.node.driver()?;
        let opened = began.elapsed();
        let found = driver.reconcile();
        anyhow::ensure!(found.volumes == usize::try_from(self.volumes)?, "{found:?}");
        Ok((opened, began.elapsed().saturating_sub(opened)))
    }

    fn serve(&self) -> anyhow::Result<(Server, Endpoint)> {
        let driver: Arc<Volumes> = self.node.driver()?;
        self.node.serve(driver)
    }
}

/// Mounts each volume at its staging path, and links its target there. The volumes, by their disks' places in the
/// inventory.
fn mount(node: &TestNode, volumes: u32) -> anyhow::Result<BTreeMap<u32, VolumeId>> {
    let os = node.sim.os();
    let mut mounted = BTreeMap::new();
    for volume in os.volumes.list()? {
        // Number 0 is the system disk.
        let extents = os.volumes.extents(volume)?;
        let disk = extents
            .first()
            .and_then(|extent| extent.disk.0.checked_sub(1));
        mounted.extend(disk.map(|index| (index, volume)));
    }
    for index in 0..volumes {
        let volume = mounted.get(&index).context("a disk without a volume")?;
        let paths = Volume::disk(index);
        let (staging, target) = (paths.staging.parse()?, paths.target.parse()?);
        make_folders(node, &staging)?;
        os.volumes.set_mount_point(&staging, *volume)?;
        let parent = WinPath::parent(&target).context("a target without a folder")?;
        make_folders(node, &parent)?;
        let staging = staging.to_string();
        os.files
            .create_symlink(&target, &staging, LinkKind::Directory)?;
    }
    Ok(mounted)
}

fn make_folders(node: &TestNode, path: &WinPath) -> anyhow::Result<()> {
    let host = node.sim.files().host_path(&r"C:\".parse()?)?;
    let below = path.components().iter().map(ToString::to_string);
    fs::create_dir_all(below.fold(host, |folder, name| folder.join(name)))?;
    Ok(())
}

type Known<'a> = &'a (dyn Fn(u32) -> anyhow::Result<(Option<VolumeId>, Option<String>)> + Sync);

fn write(store: &Store, volumes: u32, known: Known<'_>) -> anyhow::Result<()> {
    let step = usize::try_from(WRITERS)?;
    thread::scope(|scope| {
        let mut writers = Vec::new();
        for first in 0..WRITERS {
            writers.push(scope.spawn(move || {
                let mut own = (first..volumes).step_by(step);
                own.try_for_each(|index| put(store, index, known(index)?))
            }));
        }
        writers.into_iter().try_for_each(|writer| {
            let written = writer.join();
            written.map_err(|_| anyhow::anyhow!("a writer panicked"))?
        })
    })
}

fn put(
    store: &Store,
    index: u32,
    (mounted, boot): (Option<VolumeId>, Option<String>),
) -> anyhow::Result<()> {
    let volume = Volume::disk(index);
    let handle = VolumeHandle::parse(&volume.handle).context("a handle")?;
    let attributes = BTreeMap::from([("page83".to_owned(), volume.handle.clone())]);
    let attributes = Attributes {
        handle: &volume.handle,
        publish: &attributes,
        volume: &BTreeMap::new(),
    };
    let content = Disk {
        source: Attached {
            disk: attributes.query(Luns::Unknown)?,
        },
        wanted: RequestedDisk {
            format: Format::default(),
            access: Access::ReadWrite,
        },
        brought_online: true,
        mounted,
        identity: None,
        size: None,
        disk_bytes: None,
    };
    let mut record = Record::new(handle.clone(), volume.staging.parse()?, content);
    record.state = State::Staged;
    record.boot = boot;
    record.published = vec![volume.target.parse()?];
    Ok(store.slot(&handle)?.put(record)?)
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
