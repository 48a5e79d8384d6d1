//! One walk through all situations, by the native way to a simulated node's providers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::OnceLock;
use std::sync::PoisonError;

use fidelity::Record;
use fidelity::Recorder;
use os::Facility;
use os::Os;
use os::Provider;
use os_windows::NativeProvider;
use os_windows_testkit::InProcessWmi;
use os_windows_testkit::Place;
use wincsi_costs as costs;

use costs::Crossing;
use costs::Frontier;
use costs::Sample;
use costs::Scenario;
use costs::Stage;
use costs::WbemCall;

pub(crate) struct Walk {
    pub(crate) samples: Vec<(&'static Scenario, Sample)>,
    pub(crate) record: Record,
    /// What crossed in all, for preparations too.
    pub(crate) whole: Vec<Crossing>,
    pub(crate) connections: usize,
}

pub(crate) fn walk() -> &'static Walk {
    static WALK: OnceLock<Walk> = OnceLock::new();
    WALK.get_or_init(Walk::through_all)
}

impl Walk {
    fn through_all() -> Self {
        let counted = Arc::new(Counted::default());
        let recorder = Recorder::default();
        let way = |os| fidelity::watched(counted.native(os), &recorder);
        let frontier = Arc::clone(&counted) as Arc<dyn Frontier>;
        let stage = Stage::through(way, Some(frontier)).expect("a node");
        let run = |scenario: &'static Scenario| {
            let sample = scenario.run(&stage);
            (scenario, sample.expect("a call that succeeds"))
        };
        let samples = costs::SCENARIOS
            .iter()
            .copied()
            .flatten()
            .map(run)
            .collect();
        counted.take();
        let whole = counted.whole().clone();
        let connections: BTreeSet<_> = whole.iter().map(|crossing| crossing.connection).collect();
        let providers = [Facility::Iscsi, Facility::Smb, Facility::Storage];
        Self {
            samples,
            record: recorder.take().of(&providers),
            connections: connections.len(),
            whole,
        }
    }
}

/// The frontier: objects in the process that count.
#[derive(Default)]
struct Counted {
    wmi: OnceLock<InProcessWmi>,
    whole: Mutex<Vec<Crossing>>,
}

impl Counted {
    /// The node with the native way to its providers.
    fn native(&self, os: Os) -> Os {
        let wmi = InProcessWmi::over(os.clone(), Place::Result);
        let wmi = self.wmi.get_or_init(|| wmi);
        let clock = Arc::clone(&os.clock);
        let native: Arc<dyn Provider> =
            Arc::new(NativeProvider::over(clock, Arc::new(wmi.clone())));
        Os {
            iscsi: Arc::clone(&native),
            smb: Arc::clone(&native),
            storage: native,
            ..os
        }
    }

    fn whole(&self) -> MutexGuard<'_, Vec<Crossing>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Frontier for Counted {
    fn take(&self) -> Vec<Crossing> {
        let taken = self.wmi.get().map(InProcessWmi::take_crossings);
        let taken: Vec<_> = taken.into_iter().flatten().map(crossing).collect();
        self.whole().extend(taken.iter().cloned());
        taken
    }
}

fn crossing(seen: os_windows_testkit::Crossing) -> Crossing {
    let call = match seen.call {
        "ExecMethod" => WbemCall::Method(seen.of),
        "GetObject" => WbemCall::Definition(seen.of),
        _ => WbemCall::Query,
    };
    Crossing {
        connection: seen.connection,
        call,
        times: seen.times,
    }
}
