//! The cost of a layer: nanoseconds for an operation that does nothing, plain, with a layer that only runs
//! it, and metered. Prints the medians of interleaved rounds.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use os::layer::forward::ForwardDisks;
use os::layer::{Layer, Op, Ran, Run};
use os::{DiskNumber, Disks, Os, Result};
use os_meter::{Ending, Meter, MeteredOperation};
use os_sim::ClockMode;
use wincsi_os_meter as os_meter;

const ROUNDS: usize = 21;
const CALLS: u32 = 500_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = os_sim::demo::create(folder.path(), ClockMode::Virtual).expect("a node");
    let plain = still(node.os());
    let layered = plain.clone().layered(&(Arc::new(Bare) as Arc<dyn Layer>));
    let metered = os_meter::metered(plain.clone(), &(Arc::new(Deaf) as Arc<dyn Meter>));
    let nodes = [("plain", plain), ("layered", layered), ("metered", metered)];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for ((_, os), times) in nodes.iter().zip(&mut times) {
            times.push(per_call(os));
        }
    }
    for ((name, _), times) in nodes.iter().zip(&mut times) {
        times.sort_unstable();
        println!(
            "{name}: {} ns",
            times[ROUNDS / 2].as_nanos() as f64 / f64::from(CALLS)
        );
    }
}

fn per_call(os: &Os) -> Duration {
    let began = Instant::now();
    for _ in 0..CALLS {
        black_box(os.disks.length(black_box(DiskNumber(0)))).expect("a length");
    }
    began.elapsed()
}

fn still(mut os: Os) -> Os {
    os.disks = Arc::new(Still(os.disks));
    os
}

/// Disks that answer from memory.
struct Still(Arc<dyn Disks>);

impl ForwardDisks for Still {
    fn to(&self) -> &dyn Disks {
        &*self.0
    }

    fn length(&self, disk: DiskNumber) -> Result<u64> {
        Ok(u64::from(disk.0))
    }
}

struct Bare;

impl Layer for Bare {
    fn around<'run>(&self, _: &Op<'_>, run: Run<'run>) -> Result<Ran<'run>> {
        run.run()
    }
}

struct Deaf;

impl Meter for Deaf {
    fn began(&self, _: &MeteredOperation) {}

    fn ended(&self, _: &MeteredOperation, _: Duration, _: Ending) {}
}
