//! Nodes live with disks that were attached, and nothing is wrong with them: the doctor finds nothing after any step.

use proptest::prelude::Rng as _;
use proptest::test_runner::{RngAlgorithm, TestRng};
use wincsi_driver::record::Access;

use crate::deaths::on_all_processors;
use crate::fixture::{Fixture, TARGET};

const NODES: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
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
    on_all_processors(&NODES, |node| {
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
