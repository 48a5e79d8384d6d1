//! How long the node has no driver, as the scheduler sees it: CSINode, during a restart of the driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use super::api::Api;
use super::objects;

/// How exactly the time is known, but for that of a look.
const PACE: Duration = Duration::from_millis(50);

/// No watch lasts longer.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// Looks at the one CSINode of a cluster until it is ended.
pub(super) struct CsiNodeWatch {
    ends: Arc<AtomicBool>,
    looks: JoinHandle<Result<Duration>>,
}

impl CsiNodeWatch {
    /// Begins while the driver is there.
    pub(super) fn start(api: &Api) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (api, end) = (api.clone(), Arc::clone(&ends));
        let looks = thread::spawn(move || time_without_driver(&api, &end));
        Self { ends, looks }
    }

    /// Ends the watch when the driver is there, and answers for how long it was not.
    pub(super) fn end(self) -> Result<Duration> {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.looks.join();
        ended.map_err(|_| anyhow!("the watch of CSINode panicked"))?
    }
}

fn time_without_driver(api: &Api, end: &AtomicBool) -> Result<Duration> {
    let began = Instant::now();
    let (mut without, mut last) = (Duration::ZERO, began);
    while began.elapsed() < LIMIT {
        let is_last = end.load(Ordering::Relaxed);
        let csi_node = api.find(&objects::csi_node_path())?;
        let has_driver = csi_node.as_ref().is_some_and(objects::has_driver);
        let now = Instant::now();
        if !has_driver {
            without += now - last;
        } else if is_last {
            return Ok(without);
        }
        last = now;
        thread::sleep(PACE);
    }
    bail!("CSINode lacks the driver after {} s", LIMIT.as_secs());
}
