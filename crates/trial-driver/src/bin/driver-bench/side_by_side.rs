//! One at a time, and many at a time: disks that the controller has just attached, and folders of one share.

use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::Context as _;
use transport::Endpoint;
use wincsi::Win32;
use wincsi::sim::{Effect, Inventory, Latency, Rule};

use crate::calls::{Step, Volume};
use crate::node::TestNode;

/// The system disk has a number below.
const FIRST: u32 = 1_000;

const CREATE: &str = "MSFT_SmbGlobalMapping.Create";

/// So many in a second, on each Linux that Rust supports.
const TICKS: u64 = 100;

pub(crate) fn disks(volumes: u32, alone: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Recorded, Inventory::of(0))?;
    let all = (FIRST..FIRST + volumes + alone).map(Volume::disk).collect();
    live(&node, all, usize::try_from(alone)?, &|volume| {
        node.plug_in(&volume.handle)
    })
}

/// Folders of one share. The first stage of those at a time maps it; a second mapping fails its stage.
pub(crate) fn folders(volumes: u32, alone: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Recorded, Inventory::of(0))?;
    let all: Vec<_> = (0..volumes + alone)
        .map(|index| Volume::folder("//files/data", index))
        .collect();
    node.add_server("files", &["data"], volumes + alone)?;
    let mappings = alone + 1;
    let one_more = Rule::on(CREATE, Effect::fail(Win32::INVALID_PARAMETER));
    node.sim.faults().add(one_more.from_nth(mappings + 1));
    live(&node, all, usize::try_from(alone)?, &|_| Ok(()))
}

/// The lives of volumes, one after another, and then of the others at a time.
fn live(
    node: &TestNode,
    all: Vec<Volume>,
    alone: usize,
    appear: &dyn Fn(&Volume) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (server, endpoint) = node.serve(node.driver()?)?;
    let (alone, together) = all.split_at(alone);
    for volume in alone {
        appear(volume)?;
        for step in Step::LIFE {
            report(("alone", step, 1), || volume.call(step, &endpoint))?;
        }
    }
    together.iter().try_for_each(appear)?;
    for step in Step::LIFE {
        let what = ("last", step, together.len());
        report(what, || at_once(together, step, &endpoint))?;
    }
    server.shutdown(Duration::from_secs(5));
    Ok(())
}

/// How long it takes until the last of the calls is answered.
fn at_once(volumes: &[Volume], step: Step, endpoint: &Endpoint) -> anyhow::Result<Duration> {
    let ready = Barrier::new(volumes.len() + 1);
    thread::scope(|scope| {
        let call = |volume| {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                Volume::call(volume, step, endpoint)
            })
        };
        let calls: Vec<_> = volumes.iter().map(call).collect();
        ready.wait();
        let began = Instant::now();
        for call in calls {
            let answered = call
                .join()
                .map_err(|_| anyhow::anyhow!("a caller panicked"))?;
            answered?;
        }
        Ok(began.elapsed())
    })
}

/// Prints how long the calls took, and the processor time that this process used meanwhile.
fn report(
    (what, step, beside): (&str, Step, usize),
    calls: impl FnOnce() -> anyhow::Result<Duration>,
) -> anyhow::Result<()> {
    let before = processor_time()?;
    let took = calls()?.as_secs_f64() * 1_000.0;
    let busy = processor_time()?.saturating_sub(before).as_secs_f64() * 1_000.0;
    println!("{what} {} {beside} {took:.3} {busy:.3}", step.name());
    Ok(())
}

/// What the kernel counted for this process: client, plugin and simulator.
fn processor_time() -> anyhow::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may hold blanks, the times in user and kernel mode are the twelfth and thirteenth.
    let (_, behind_name) = stat.rsplit_once(')').context("no name")?;
    let times = behind_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.map(str::parse::<u64>).sum::<Result<_, _>>()?;
    Ok(Duration::from_millis(ticks * 1_000 / TICKS))
}
