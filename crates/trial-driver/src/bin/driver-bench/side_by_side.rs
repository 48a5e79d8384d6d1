//! One at a time, and many at a time, of disks that the controller has just attached.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use transport::Endpoint;
use wincsi::sim::{Inventory, Latency};

use crate::calls::{Step, Volume};
use crate::node::TestNode;

/// The system disk has a number below.
const FIRST: u32 = 1_000;

pub(crate) fn run(volumes: u32, alone: u32) -> anyhow::Result<()> {
    let node = TestNode::new(Latency::Recorded, Inventory::of(0))?;
    let all: Vec<_> = (FIRST..FIRST + volumes + alone)
        .map(Volume::numbered)
        .collect();
    let (server, endpoint) = node.serve(node.driver()?)?;
    let (alone, together) = all.split_at(usize::try_from(alone)?);
    for volume in alone {
        node.plug_in(&volume.page83)?;
        for step in Step::LIFE {
            report("alone", step, 1, volume.call(step, &endpoint)?);
        }
    }
    for volume in together {
        node.plug_in(&volume.page83)?;
    }
    for step in Step::LIFE {
        report("last", step, volumes, at_once(together, step, &endpoint)?);
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

fn report(what: &str, step: Step, beside: u32, took: Duration) {
    let (step, took) = (step.name(), took.as_secs_f64() * 1_000.0);
    println!("{what} {step} {beside} {took:.3}");
}
