//! How long the node has no driver, as the scheduler sees it: CSINode, watched during a restart of the driver.

use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::api::Api;
use super::objects::{self, text};
use super::running::RunningCluster;

const WATCH: &str = "csinode-watch";

/// How exactly the time of a change is known.
const PACE: Duration = Duration::from_millis(5);

/// The changes of the one CSINode of a cluster, from its start on.
pub(super) struct CsiNodeWatch(Arc<Mutex<Vec<Change>>>);

struct Change {
    at: Instant,
    version: String,
    has_driver: bool,
}

impl CsiNodeWatch {
    /// Begins to watch, and returns when the driver was seen there.
    pub(super) fn start(running: &mut RunningCluster, api: &Api) -> Result<Self> {
        running.start(WATCH, &mut api.watch(objects::CSI_NODES))?;
        let log = running.log(WATCH)?;
        let file = File::open(log).with_context(|| log.display().to_string())?;
        let watch = Self(Arc::default());
        let changes = Arc::downgrade(&watch.0);
        thread::spawn(move || follow(file, &changes));
        let seen = || Ok(watch.version_with_driver().map(drop));
        running.wait("CSINode has the driver", seen)?;
        Ok(watch)
    }

    /// Ends the watch when it has come to the object as it is now, with the driver, and answers for how long the object
    /// had none.
    pub(super) fn end(self, running: &mut RunningCluster, api: &Api) -> Result<Duration> {
        running.wait("CSINode has the driver again", || {
            let now = api.find(&objects::csi_node_path())?;
            let now = now.as_ref().and_then(version);
            let is_latest = now.is_some() && self.version_with_driver().as_deref() == now;
            Ok(is_latest.then_some(()))
        })?;
        running.kill(WATCH)?;
        Ok(without_driver(&self.changes()))
    }

    /// The last version seen, if it has the driver.
    fn version_with_driver(&self) -> Option<String> {
        let changes = self.changes();
        let last = changes.last().filter(|change| change.has_driver)?;
        Some(last.version.clone())
    }

    fn changes(&self) -> MutexGuard<'_, Vec<Change>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes changes as they are written, as long as the watch exists.
fn follow(mut file: File, changes: &Weak<Mutex<Vec<Change>>>) {
    let mut unread = String::new();
    while let Some(changes) = changes.upgrade() {
        if file.read_to_string(&mut unread).is_err() {
            return;
        }
        let at = Instant::now();
        while let Some((line, rest)) = unread.split_once('\n') {
            let mut changes = changes.lock().unwrap_or_else(PoisonError::into_inner);
            changes.extend(Change::read(line, at));
            unread = rest.to_owned();
        }
        drop(changes);
        thread::sleep(PACE);
    }
}

impl Change {
    fn read(line: &str, at: Instant) -> Option<Self> {
        let event: Value = serde_json::from_str(line).ok()?;
        let object = &event["object"];
        Some(Self {
            at,
            version: version(object)?.to_owned(),
            has_driver: objects::has_driver(object),
        })
    }
}

fn version(object: &Value) -> Option<&str> {
    text(object, "/metadata/resourceVersion")
}

/// The time from each change without the driver to the next one with it.
fn without_driver(changes: &[Change]) -> Duration {
    let pairs = changes.iter().zip(changes.iter().skip(1));
    let without = pairs.filter(|(change, _)| !change.has_driver);
    without.map(|(change, next)| next.at - change.at).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(at: Instant, milliseconds: u64, drivers: &Value) -> Option<Change> {
        let object = json!({
            "metadata": {"resourceVersion": milliseconds.to_string()},
            "spec": {"drivers": drivers},
        });
        let line = json!({"type": "MODIFIED", "object": object}).to_string();
        Change::read(&line, at + Duration::from_millis(milliseconds))
    }

    #[test]
    fn a_gap_lasts_from_the_loss_of_the_driver_until_it_is_back() {
        let (begin, driver) = (Instant::now(), json!([{"name": objects::DRIVER}]));
        let none = json!(null);
        let seen = |states: &[(u64, &Value)]| {
            let all = states.iter();
            let all = all.map(|(at, drivers)| change(begin, *at, drivers).unwrap());
            without_driver(&all.collect::<Vec<_>>())
        };
        assert_eq!(seen(&[(0, &driver), (70, &driver)]), Duration::ZERO);
        let gap = seen(&[(0, &driver), (70, &none), (80, &none), (100, &driver)]);
        assert_eq!(gap, Duration::from_millis(30));
        assert!(Change::read("{", begin).is_none());
    }
}
