//! Shares of many servers, a few of them silent, beside a node without silent ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use transport::{Endpoint, Server};
use wincsi::sim::smb::ServerHealth;
use wincsi::sim::{Effect, Inventory, Latency, Rule};
use wincsi_trial_driver::{Step, Volume};

use crate::node::TestNode;

const SERVERS: u32 = 20;

/// So many of them die.
const DEAD: u32 = 3;

/// How many of kubelet's calls for volumes of dead servers are under way, of each kind.
const BESIDE: u32 = 8;

/// How many shares are staged at a time.
const STAGERS: u32 = 8;

/// The staged folder of each share, and the next one.
const STAGED: u32 = 0;
const COMES: u32 = 1;

const FOLDERS: u32 = 2;

pub(crate) fn run(shares: u32, calls: u32) -> anyhow::Result<()> {
    let healthy = Shares::staged(shares)?;
    let wounded = Shares::staged(shares)?;
    wounded.lose_servers()?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for caller in 0..BESIDE {
            for (step, folder) in [(Step::Stats, STAGED), (Step::Stage, COMES)] {
                let (wounded, is_over) = (&wounded, &is_over);
                scope.spawn(move || wounded.call_dead((step, folder), caller, is_over));
            }
        }
        let measured = compare(&healthy, &wounded, calls);
        is_over.store(true, Ordering::Relaxed);
        wounded.node.sim.faults().clear();
        measured
    })
}

/// Calls in turn on both nodes, for volumes of live servers.
fn compare(healthy: &Shares, wounded: &Shares, calls: u32) -> anyhow::Result<()> {
    for index in 0..calls {
        for (name, shares) in [("none", healthy), ("dead", wounded)] {
            let source = shares.living(index);
            let comes = Volume::folder(&source, COMES);
            let steps = [
                (Step::Stage, &comes),
                (Step::Stats, &Volume::folder(&source, STAGED)),
                (Step::Unstage, &comes),
            ];
            for (step, volume) in steps {
                let took = volume.call(step, &shares.endpoint)?;
                println!("{name} {} {:.3}", step.name(), took.as_secs_f64() * 1_000.0);
            }
        }
    }
    Ok(())
}

/// A node with a folder of each share staged and published.
struct Shares {
    node: TestNode,
    /// Served until this is dropped.
    _server: Server,
    endpoint: Endpoint,
    /// How many each server has.
    shares: u32,
}

impl Shares {
    fn staged(shares: u32) -> anyhow::Result<Self> {
        let node = TestNode::new(Latency::Own, Inventory::of(0))?;
        let names: Vec<_> = (0..shares).map(share).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        for index in 0..SERVERS {
            node.add_server(&server(index), &names, FOLDERS)?;
        }
        let (server, endpoint) = node.serve(node.driver_hashing_quickly()?)?;
        let staged = Self {
            node,
            _server: server,
            endpoint,
            shares,
        };
        staged.stage_all()?;
        Ok(staged)
    }

    fn stage_all(&self) -> anyhow::Result<()> {
        let stage = |first: u32| -> anyhow::Result<()> {
            for index in (first..SERVERS * self.shares).step_by(usize::try_from(STAGERS)?) {
                let volume = Volume::folder(&source(0, SERVERS, index), STAGED);
                volume.call(Step::Stage, &self.endpoint)?;
                volume.call(Step::Publish, &self.endpoint)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let mut stagers = Vec::new();
            for first in 0..STAGERS {
                stagers.push(scope.spawn(move || stage(first)));
            }
            stagers.into_iter().try_for_each(|stager| {
                let staged = stager.join();
                staged.map_err(|_| anyhow::anyhow!("a stager panicked"))?
            })
        })
    }

    /// Servers die: Windows reports their mappings as disconnected, and a call to them waits.
    fn lose_servers(&self) -> anyhow::Result<()> {
        for index in SERVERS - DEAD..SERVERS {
            let name = server(index);
            self.node.smb().set_condition(&name, ServerHealth::Down)?;
            let silent = Rule::on("*", Effect::Hang).object(&format!(r"\\{name}\*"));
            self.node.sim.faults().add(silent);
        }
        Ok(())
    }

    /// A share of a live server.
    fn living(&self, index: u32) -> String {
        source(0, SERVERS - DEAD, index % ((SERVERS - DEAD) * self.shares))
    }

    /// Calls for shares of dead servers, one after another.
    fn call_dead(&self, (step, folder): (Step, u32), caller: u32, is_over: &AtomicBool) {
        let mut index = caller;
        while !is_over.load(Ordering::Relaxed) {
            let volume = Volume::folder(&source(SERVERS - DEAD, DEAD, index), folder);
            // It fails, or has the figures from before.
            let _ = volume.call(step, &self.endpoint);
            index = (index + BESIDE) % (DEAD * self.shares);
        }
    }
}

/// The share of this number among those of so many servers.
fn source(first: u32, servers: u32, index: u32) -> String {
    let (server, share) = (server(first + index % servers), share(index / servers));
    format!("//{server}/{share}")
}

fn server(index: u32) -> String {
    format!("server-{index}")
}

fn share(index: u32) -> String {
    format!("share-{index}")
}
