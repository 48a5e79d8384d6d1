//! One at a time, and many at a time: disks just attached by the controller, and folders of one share.

use std::ops::AddAssign;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::Context as _;
use wincsi::Win32;
use wincsi::sim::{Effect, Inventory, Latency, Rule};
use wincsi_trial_driver::{Step, Volume};

use crate::node::TestNode;

/// The system disk has a number below.
const FIRST: u32 = 1_000;

const CREATE: &str = "MSFT_SmbGlobalMapping.Create";

/// All calls for a volume, each after the one before.
const WHOLE_LIFE: &str = "whole-life";

/// So many in a second, on each Linux supported by Rust.
const TICKS: u64 = 100;

pub(crate) fn disks(volumes: u32, alone: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Recorded, Inventory::of(0))?;
    let all = FIRST..FIRST + alone + 2 * volumes;
    let all = all.map(Volume::disk).collect();
    live(&node, all, usize::try_from(alone)?, &|volume| {
        node.plug_in(&volume.handle)
    })
}

/// Folders of one share. The first of the concurrent stages maps it, twice; a third mapping fails its stage.
pub(crate) fn folders(volumes: u32, alone: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Recorded, Inventory::of(0))?;
    let folders = alone + 2 * volumes;
    let all = (0..folders).map(|index| Volume::folder("//files/data", index));
    let all: Vec<_> = all.collect();
    node.add_server("files", &["data"], folders)?;
    let mappings = alone + 2;
    let one_more = Rule::on(CREATE, Effect::fail(Win32::INVALID_PARAMETER));
    node.sim.faults().add(one_more.from_nth(mappings + 1));
    live(&node, all, usize::try_from(alone)?, &|_| Ok(()))
}

/// The lives of volumes, one after another; then the other volumes at a time, in step, and each at its own pace.
pub(crate) fn live(
    node: &TestNode,
    all: Vec<Volume>,
    alone: usize,
    appear: &dyn Fn(&Volume) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (server, endpoint) = node.serve(node.driver()?)?;
    let (alone, together) = all.split_at(alone);
    let (in_step, at_own_pace) = together.split_at(together.len() / 2);
    for volume in alone {
        appear(volume)?;
        let mut life = Cost::default();
        for step in Step::LIFE {
            let cost = Cost::of(|| volume.call(step, &endpoint))?;
            cost.report("alone", step.name(), 1);
            life += cost;
        }
        life.report("alone", WHOLE_LIFE, 1);
    }
    in_step.iter().try_for_each(appear)?;
    for step in Step::LIFE {
        let call = |volume: &Volume| volume.call(step, &endpoint).map(drop);
        let cost = Cost::of(|| at_once(in_step, &call))?;
        cost.report("last", step.name(), in_step.len());
    }
    at_own_pace.iter().try_for_each(appear)?;
    let live = |volume: &Volume| {
        let mut life = Step::LIFE.into_iter();
        life.try_for_each(|step| volume.call(step, &endpoint).map(drop))
    };
    let cost = Cost::of(|| at_once(at_own_pace, &live))?;
    cost.report("last", WHOLE_LIFE, at_own_pace.len());
    server.shutdown(Duration::from_secs(5));
    Ok(())
}

/// How long it takes until the last of the volumes has its answers.
fn at_once(
    volumes: &[Volume],
    act: &(dyn Fn(&Volume) -> anyhow::Result<()> + Sync),
) -> anyhow::Result<Duration> {
    let ready = Barrier::new(volumes.len() + 1);
    thread::scope(|scope| {
        let call = |volume| {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                act(volume)
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

/// The calls' cost: the time until the last answer, and this process's processor time meanwhile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cost {
    took: Duration,
    pub(crate) busy: Duration,
}

impl Cost {
    pub(crate) fn of(calls: impl FnOnce() -> anyhow::Result<Duration>) -> anyhow::Result<Self> {
        let before = processor_time()?;
        let took = calls()?;
        let busy = processor_time()?.saturating_sub(before);
        Ok(Self { took, busy })
    }

    fn report(self, what: &str, call: &str, beside: usize) {
        let [took, busy] = [self.took, self.busy].map(|time| time.as_secs_f64() * 1_000.0);
        println!("{what} {call} {beside} {took:.3} {busy:.3}");
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.took += other.took;
        self.busy += other.busy;
    }
}

/// The kernel's count for this process: client, plugin and simulator.
fn processor_time() -> anyhow::Result<Duration> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // Behind the name (it may hold blanks) the times in user and kernel mode are the twelfth and thirteenth.
    let (_, behind_name) = stat.rsplit_once(')').context("no name")?;
    let times = behind_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.map(str::parse::<u64>).sum::<Result<_, _>>()?;
    Ok(Duration::from_millis(ticks * 1_000 / TICKS))
}
