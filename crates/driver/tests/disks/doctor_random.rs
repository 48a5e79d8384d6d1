//! Nodes live with disks that were attached, and nothing is wrong with them: the doctor finds nothing after any step.

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use wincsi_driver::record::Access;

use crate::deaths::on_all_processors;
use crate::fixture::{Fixture, TARGET};

/// With the looks of the two random lives over 10,000.
const NODES: usize = 20;
const STEPS: usize = 250;

/// What kubelet and the node do. A call may be refused, as of a volume that is published.
const LIFE: [fn(&mut Fixture); 11] = [
    |it| drop(it.stage()),
    |it| drop(it.stage()),
    |it| drop(it.publish(TARGET)),
    |it| drop(it.unpublish(TARGET)),
    |it| drop(it.unstage()),
    |it| drop(it.stage_another(Access::ReadWrite)),
    |it| drop(it.stage_another(Access::ReadOnly)),
    |it| drop(it.unstage_another()),
    |it| drop(it.reconcile()),
    |it| it.restart_driver(),
    |it| it.reboot(),
];

#[test]
fn a_node_with_healthy_disks_has_no_finding() {
    let nodes = Vec::from_iter((0..NODES).map(|node| u8::try_from(node).unwrap()));
    on_all_processors(&nodes, |node| {
        let mut fixture = Fixture::new();
        fixture.attach_another();
        let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[*node; 32]);
        let mut staged = 0;
        for _ in 0..STEPS {
            let step = usize::try_from(random.next_u32()).unwrap() % LIFE.len();
            LIFE[step](&mut fixture);
            staged += fixture.records();
            let report = fixture.examine();
            assert_eq!(report.exit_code(), 0, "step {step}: {report}");
        }
        assert!(staged > STEPS, "{staged} records");
    });
}
