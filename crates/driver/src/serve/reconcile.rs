use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use crate::life::Volumes;

/// Whether the records were compared with the node since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Reconciled(Arc<AtomicBool>);

impl Reconciled {
    /// Compares them on a thread of its own, beside calls: nobody waits for a server that hangs.
    pub(super) fn in_background(volumes: &Arc<Volumes>) -> Self {
        let reconciled = Self::default();
        let (volumes, done) = (Arc::clone(volumes), reconciled.clone());
        let compare = move || {
            let began = Instant::now();
            volumes.reconcile();
            tracing::info!("records compared in {:?}", began.elapsed());
            done.0.store(true, Ordering::Release);
        };
        let thread = thread::Builder::new().name(String::from("reconcile"));
        if let Err(error) = thread.spawn(compare) {
            tracing::error!("the records are not compared with the node: no thread: {error}");
        }
        reconciled
    }

    pub(super) fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wincsi::sim::{ClockMode, Effect, Inventory, NodeSpec, Rule, SimNode};
    use wincsi::{Node, Options};

    use super::*;
    use crate::life::Kubelet;
    use crate::machine::Simulated;
    use crate::record::Store;

    /// Only a test that has failed already waits so long.
    const LONG: Duration = Duration::from_secs(120);

    #[test]
    fn records_are_compared_once_the_comparison_is_over() {
        let home = tempfile::tempdir().unwrap();
        let (spec, none) = (NodeSpec::named("n"), Inventory::of(0));
        let sim = SimNode::in_memory(&spec, none, ClockMode::Virtual).unwrap();
        let node = Arc::new(Node::new(sim.os(), Options::default()));
        let store = Store::open(&home.path().join("records"), &[]).unwrap();
        let machine = Arc::new(Simulated(sim.files().clone()));
        let kubelet = Kubelet {
            driver_name: String::from("d"),
            folder: None,
        };
        let volumes = Arc::new(Volumes::new(node, store, machine, kubelet, Vec::new()));
        let faults = sim.faults();
        faults.add(Rule::on("*", Effect::Hang));
        let reconciled = Reconciled::in_background(&volumes);
        assert!(faults.wait_until_hanging(1, LONG));
        assert!(!reconciled.is_done());
        faults.clear();
        let began = Instant::now();
        while !reconciled.is_done() && began.elapsed() < LONG {
            thread::yield_now();
        }
        assert!(reconciled.is_done());
    }
}
