//! Whether the node answers: one operation at a time, however many ask.

use std::path::Path;
use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};
use std::{io, panic, thread};

use wincsi::{NodeApi, WinPath};

use crate::unpoisoned::Unpoisoned;

/// How long a page waits for the node. A probe of Kubernetes should have a longer timeout.
pub(super) const LIMIT: Duration = Duration::from_secs(3);

const OPERATION: Duration = Duration::from_secs(30);

/// Where the kubelet's folder is no path of Windows, as on a simulated node.
const SOMEWHERE: &str = r"C:\var\lib\kubelet";

const STACK_BYTES: usize = 512 << 10;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProbeError {
    #[error("the node fails: {0}")]
    Failed(String),
    #[error("the node has not answered for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the node cannot be asked: no thread: {0}")]
    Thread(String),
}

type Operation = dyn Fn() -> Result<(), String> + Send + Sync;

/// Asks the node. Those who ask meanwhile wait for the same answer, and an operation that hangs stays the only one.
pub(super) struct NodeProbe {
    operation: Box<Operation>,
    progress: Unpoisoned<Progress>,
    ended: Condvar,
}

#[derive(Default)]
struct Progress {
    running_since: Option<Instant>,
    ended: u64,
    last: Option<Result<(), String>>,
}

impl NodeProbe {
    /// Asks this node whether the kubelet's folder exists: the cheapest operation that reaches Windows, or csi-proxy.
    pub(super) fn of(node: Arc<dyn NodeApi>, kubelet_path: &Path) -> Arc<Self> {
        let path = kubelet_path.to_str().and_then(|path| path.parse().ok());
        Self::by(move || {
            let path: WinPath = match &path {
                Some(path) => WinPath::clone(path),
                None => SOMEWHERE.parse().map_err(|error| format!("{error}"))?,
            };
            let exists = node
                .filesystem()
                .path_exists(&path, node.deadline(OPERATION));
            exists.map(drop).map_err(|error| error.to_string())
        })
    }

    fn by(operation: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            operation: Box::new(operation),
            progress: Unpoisoned::default(),
            ended: Condvar::new(),
        })
    }

    /// The outcome of the operation that runs, or of another.
    pub(super) fn ask(self: &Arc<Self>, limit: Duration) -> Result<(), ProbeError> {
        let mut progress = self.progress.lock();
        let awaited = progress.ended + 1;
        let since = match progress.running_since {
            Some(since) => since,
            None => {
                let spawned = self.run_aside();
                spawned.map_err(|error| ProbeError::Thread(error.to_string()))?;
                *progress.running_since.insert(Instant::now())
            }
        };
        let is_awaited = |progress: &mut Progress| progress.ended < awaited;
        let waited = self.ended.wait_timeout_while(progress, limit, is_awaited);
        let (progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &progress.last {
            Some(last) if progress.ended >= awaited => last.clone().map_err(ProbeError::Failed),
            _ => Err(ProbeError::Silent(since.elapsed())),
        }
    }

    fn run_aside(self: &Arc<Self>) -> io::Result<()> {
        let probe = Arc::clone(self);
        let thread = thread::Builder::new().name(String::from("readiness"));
        let thread = thread.stack_size(STACK_BYTES).spawn(move || {
            let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| (probe.operation)()));
            let outcome = outcome.unwrap_or_else(|_| Err(String::from("the operation panicked")));
            let mut progress = probe.progress.lock();
            progress.running_since = None;
            progress.ended += 1;
            progress.last = Some(outcome);
            probe.ended.notify_all();
        })?;
        drop(thread);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(120);
    const ASKERS: usize = 8;

    #[test]
    fn those_who_ask_at_once_share_one_operation() {
        let (begun, begins) = mpsc::channel();
        let (may_end, end) = mpsc::channel::<()>();
        let (end, count) = (Unpoisoned::new(end), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&count);
        let probe = NodeProbe::by(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            begun.send(()).unwrap();
            end.lock()
                .recv_timeout(LONG)
                .map_err(|error| error.to_string())
        });
        thread::scope(|scope| {
            let first = scope.spawn(|| probe.ask(LONG));
            begins.recv_timeout(LONG).unwrap();
            for _ in 0..ASKERS {
                let impatient = probe.ask(Duration::ZERO);
                assert!(matches!(impatient, Err(ProbeError::Silent(_))));
            }
            may_end.send(()).unwrap();
            assert_eq!(first.join().unwrap(), Ok(()));
        });
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn each_question_after_an_answer_asks_the_node_again() {
        let count = AtomicUsize::new(0);
        let probe = NodeProbe::by(move || match count.fetch_add(1, Ordering::SeqCst) {
            0 => Err(String::from("away")),
            1 => panic!("as told"),
            _ => Ok(()),
        });
        let ask = || probe.ask(LONG);
        assert_eq!(ask(), Err(ProbeError::Failed(String::from("away"))));
        assert!(matches!(ask(), Err(ProbeError::Failed(_))));
        assert_eq!(ask(), Ok(()));
    }
}
