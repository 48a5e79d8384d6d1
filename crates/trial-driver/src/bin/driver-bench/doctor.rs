//! Looks of the doctor: at a healthy node with staged volumes, and beside stages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use driver::doctor::Doctor;
use transport::Endpoint;
use wincsi::sim::{Inventory, Latency};
use wincsi_trial_driver::{Step, Volume};

use crate::luns;
use crate::node::TestNode;
use crate::side_by_side::Cost;

/// How often the stages run with looks beside them, and how often without.
const RUNS: u32 = 5;

/// The processor's time is counted in hundredths of a second.
const LOOKS: u32 = 200;

const SERVERS: u32 = 10;

const SOURCE: &str = "//files/data";

pub(crate) fn run(volumes: u32) -> anyhow::Result<()> {
    look_at_many(volumes)?;
    stage_beside_looks(volumes)
}

/// Half of the volumes are folders of shares, the others LUNs.
fn look_at_many(volumes: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Own, Inventory::of(0))?;
    luns::add_array(&node, volumes.div_ceil(luns::LUNS))?;
    for server in 0..SERVERS {
        node.add_server(&format!("server-{server}"), &["data"], volumes)?;
    }
    let driver = node.driver_hashing_quickly()?;
    let (_server, endpoint) = node.serve(Arc::clone(&driver))?;
    for index in 0..volumes {
        let volume = match index % 2 {
            0 => Volume::folder(&format!("//server-{}/data", index / 2 % SERVERS), index),
            _ => luns::volume(index / luns::LUNS, index % luns::LUNS),
        };
        volume.call(Step::Stage, &endpoint)?;
        volume.call(Step::Publish, &endpoint)?;
    }
    let doctor = Doctor::new(&driver, None);
    let cost = Cost::of(|| {
        let began = Instant::now();
        for _ in 0..LOOKS {
            let took = look(&doctor)?;
            println!("look {volumes} {:.3}", milliseconds(took));
        }
        Ok(began.elapsed())
    })?;
    println!("busy {volumes} {:.3}", milliseconds(cost.busy / LOOKS));
    Ok(())
}

fn look(doctor: &Doctor) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let report = doctor.examine(Duration::ZERO).context("no other looks")?;
    let took = began.elapsed();
    ensure!(report.findings.is_empty(), "{report}");
    Ok(took)
}

/// Folders of one share, all at once; each run's p50 and p99.
fn stage_beside_looks(volumes: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Recorded, Inventory::of(0))?;
    node.add_server("files", &["data"], volumes)?;
    let driver = node.driver()?;
    let (_server, endpoint) = node.serve(Arc::clone(&driver))?;
    let doctor = Doctor::new(&driver, None);
    let folders = Vec::from_iter((0..volumes).map(|index| Volume::folder(SOURCE, index)));
    for _ in 0..RUNS {
        for (name, doctor) in [("without", None), ("with", Some(&*doctor))] {
            let mut times = beside_looks(doctor, || stage(&folders, &endpoint))?;
            times.sort_unstable();
            let [p50, p99] =
                [50, 99].map(|percent| times[(times.len() * percent).div_ceil(100) - 1]);
            let (p50, p99) = (milliseconds(p50), milliseconds(p99));
            println!("{name} {} {p50:.3} {p99:.3}", Step::Stage.name());
            for folder in &folders {
                folder.call(Step::Unstage, &endpoint)?;
            }
        }
    }
    Ok(())
}

/// One look after another until the work is done.
fn beside_looks<T>(
    doctor: Option<&Doctor>,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let looks = doctor.map(|doctor| {
            let is_over = &is_over;
            scope.spawn(move || -> anyhow::Result<()> {
                while !is_over.load(Ordering::Relaxed) {
                    look(doctor)?;
                }
                Ok(())
            })
        });
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        if let Some(looks) = looks {
            let looked = looks.join();
            looked.map_err(|_| anyhow::anyhow!("a look panicked"))??;
        }
        done
    })
}

fn stage(folders: &[Volume], endpoint: &Endpoint) -> anyhow::Result<Vec<Duration>> {
    thread::scope(|scope| {
        let call = |folder| scope.spawn(move || Volume::call(folder, Step::Stage, endpoint));
        let calls = Vec::from_iter(folders.iter().map(call));
        let times = calls.into_iter().map(|call| {
            let answered = call.join();
            answered.map_err(|_| anyhow::anyhow!("a caller panicked"))?
        });
        times.collect()
    })
}

fn milliseconds(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
