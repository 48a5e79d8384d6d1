//! What calls cost on nodes of few and of many volumes.

use std::time::Duration;
use std::time::Instant;

use anyhow::Context;
use anyhow::Result;

use crate::Sample;
use crate::Scenario;
use crate::Stage;
use crate::calls::SCENARIOS;

/// How many volumes the nodes have.
pub const SIZES: [u32; 3] = [10, 1_000, 10_000];

const CALLS: [&str; 3] = [
    "volume.GetVolumeIDFromTargetPath",
    "volume.GetVolumeStats",
    "volume.ListVolumesOnDisk",
];

/// One call on a node of so many volumes.
#[derive(Debug, Clone)]
pub struct Growth {
    /// The operation.
    pub operation: &'static str,
    /// How many disks with a volume each the node has beside its system disk.
    pub volumes: u32,
    /// What one call took.
    pub sample: Sample,
    /// How long a call took, the least of several.
    pub time: Duration,
}

impl Growth {
    /// Measures on a node of so many volumes.
    ///
    /// # Errors
    /// The node cannot be made, or a call fails.
    pub fn measure(volumes: u32) -> Result<Vec<Self>> {
        let stage = Stage::of_volumes(volumes)?;
        let growth = |operation| {
            let scenario = scenario(operation)?;
            let mut time = Duration::MAX;
            let sample = scenario.run(&stage)?;
            for _ in 0..20 {
                let began = Instant::now();
                scenario.run(&stage)?;
                time = time.min(began.elapsed());
            }
            Ok(Self {
                operation,
                volumes,
                sample,
                time,
            })
        };
        CALLS.into_iter().map(growth).collect()
    }
}

fn scenario(operation: &str) -> Result<&'static Scenario> {
    let mut all = SCENARIOS.iter().flat_map(|group| group.iter());
    all.find(|scenario| scenario.operation == operation)
        .with_context(|| format!("no scenario of {operation}"))
}
