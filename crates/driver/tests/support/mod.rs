//! A simulated node with a driver on it.

#![allow(dead_code, reason = "each test program uses a part")]

mod events;
pub(crate) mod requests;
pub(crate) mod served;

use std::collections::BTreeMap;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wincsi::filesystem::Look;
use wincsi::sim::SimNode;
use wincsi::sim::testing::TestNode;
use wincsi::{Deadline, Feature, Node, NodeApi, Options};
use wincsi_driver::doctor::{Doctor, Report};
use wincsi_driver::kinds::{Kind, Row};
use wincsi_driver::life::{Call, Kubelet, Reconciliation, Volumes};
use wincsi_driver::machine::Simulated;
use wincsi_driver::record::Store;

use self::events::Events;
use self::served::Served;
use crate::deaths::{LOCK_OF_RECORDS, Mortal, RECORDS, Snapshot};

pub(crate) use wincsi::sim::testing::path;

pub(crate) const KUBELET: &str = r"C:\var\lib\kubelet";

/// Who does the work on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    InProcess,
    /// csi-proxy, over its pipes.
    Pipes,
}

/// The texts of records and leases, by their files.
pub(crate) type Records = BTreeMap<PathBuf, String>;

/// The driver's name, and its kinds of volumes.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    pub(crate) kinds: fn(&SimNode) -> Vec<Row>,
}

/// A node, and a driver on it.
pub(crate) struct DriverFixture {
    /// What is done on the node past the driver.
    pub(crate) hand: Node,
    served: Option<Served>,
    /// None between two processes: the records are one's alone.
    volumes: Option<Arc<Volumes>>,
    /// How long kubelet waits for a call.
    pub(crate) client: Duration,
    events: Events,
    setup: Setup,
    pub(crate) sim: TestNode,
}

impl DriverFixture {
    /// A driver starts on a node, with the records beside it.
    pub(crate) fn on(sim: TestNode, setup: Setup) -> Self {
        let mut fixture = Self {
            hand: Node::new(sim.os(), Options::default()),
            served: (crate::HOST == Host::Pipes).then(|| Served::start(&sim, sim.home())),
            volumes: None,
            client: Duration::MAX,
            events: Events::default(),
            setup,
            sim,
        };
        fixture.restart_driver();
        fixture
    }

    /// The driver starts on a machine that this is left of.
    pub(crate) fn revived(&self, left: &Snapshot) -> Self {
        let home = tempfile::tempdir().unwrap();
        left.revive(self.home(), home.path());
        Self::on(TestNode::open(home), self.setup)
    }

    /// The driver ends, and nothing comes in its place.
    pub(crate) fn stop_driver(&mut self) {
        self.volumes = None;
    }

    /// The driver is started again on the same machine.
    pub(crate) fn restart_driver(&mut self) {
        self.stop_driver();
        let node: Arc<dyn NodeApi> = match &self.served {
            Some(served) => Arc::new(served.client()),
            None => Arc::new(Node::new(self.os(), Options::default())),
        };
        let machine = Arc::new(self.events.of(Simulated(self.files().clone())));
        let kubelet = Kubelet {
            driver_name: self.setup.name.to_owned(),
            folder: KUBELET.parse().ok(),
        };
        let kinds = (self.setup.kinds)(&self.sim);
        let store = Store::open(&self.records_folder(), &Row::forms(&kinds)).unwrap();
        self.volumes = Some(Arc::new(Volumes::new(node, store, machine, kubelet, kinds)));
    }

    pub(crate) fn reboot(&mut self) {
        self.sim.reboot().unwrap();
        self.restart_driver();
    }

    /// The records are lost.
    pub(crate) fn forget(&mut self) {
        self.stop_driver();
        fs::remove_dir_all(self.records_folder()).unwrap();
        self.restart_driver();
    }

    pub(crate) fn volumes(&self) -> &Arc<Volumes> {
        self.volumes.as_ref().unwrap()
    }

    pub(crate) fn kind<K: Kind>(&self) -> &K {
        self.volumes().kind().unwrap()
    }

    pub(crate) fn call(&self) -> Call<'_, Volumes> {
        self.volumes().within(self.client)
    }

    pub(crate) fn reconcile(&self) -> Reconciliation {
        self.volumes().reconcile()
    }

    pub(crate) fn metrics(&self) -> String {
        let mut page = program::metrics::Exposition::default();
        self.volumes().render(&mut page);
        page.into_text()
    }

    /// What the driver finds, whom kubelet has registered.
    pub(crate) fn examine(&self) -> Report {
        self.doctor().examine(Duration::ZERO).unwrap()
    }

    pub(crate) fn doctor(&self) -> Arc<Doctor> {
        let doctor = Doctor::new(self.volumes(), None);
        doctor.learn_registration(|| Some(Ok(())));
        doctor
    }

    /// The checks that find something.
    pub(crate) fn found(&self) -> Vec<String> {
        let findings = self.examine().findings;
        findings.into_iter().map(|one| one.check).collect()
    }

    /// What the driver reported to the event log.
    pub(crate) fn events(&self) -> Vec<String> {
        self.events.all()
    }

    /// Whether what does the work has this.
    pub(crate) fn host_supports(&self, feature: Feature) -> bool {
        match &self.served {
            Some(served) => served.client().supports(feature),
            None => NodeApi::supports(&self.hand, feature),
        }
    }

    pub(crate) fn soon(&self) -> Deadline {
        self.hand.deadline(Duration::from_secs(60))
    }

    pub(crate) fn records_folder(&self) -> PathBuf {
        self.home().join(RECORDS)
    }

    /// The files of records, and those of leases.
    pub(crate) fn record_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.records_folder()).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        files
            .filter(|file| !file.ends_with(LOCK_OF_RECORDS))
            .collect()
    }

    pub(crate) fn copy_of_records(&self) -> Records {
        let files = self.record_files().into_iter();
        files
            .map(|file| (file.clone(), fs::read_to_string(file).unwrap()))
            .collect()
    }

    /// The driver starts after a death that left these records.
    pub(crate) fn restart_with(&mut self, records: &Records) {
        self.stop_driver();
        for file in self.record_files() {
            fs::remove_file(file).unwrap();
        }
        for (file, text) in records {
            fs::write(file, text).unwrap();
        }
        self.restart_driver();
    }

    /// No record and no lease is written as long as these folders are in the way.
    pub(crate) fn bar_records(&self) -> Vec<PathBuf> {
        let files = self.record_files().into_iter();
        let folders = files.map(|file| file.with_extension("new"));
        folders.inspect(|at| fs::create_dir(at).unwrap()).collect()
    }

    pub(crate) fn make_directory(&self, at: &str) {
        let files = NodeApi::filesystem(&self.hand);
        files.make_directory(&path(at), self.soon()).unwrap();
    }

    pub(crate) fn remove_directory(&self, at: &str) {
        let files = NodeApi::filesystem(&self.hand);
        files.remove_entry(&path(at), self.soon()).unwrap();
    }

    pub(crate) fn entry(&self, at: &str) -> Look {
        let files = NodeApi::filesystem(&self.hand);
        files.look(&path(at), self.soon()).unwrap()
    }

    /// Whether anything is at a path.
    pub(crate) fn exists(&self, at: &str) -> bool {
        self.entry(at) != Look::Missing
    }
}

impl Deref for DriverFixture {
    type Target = TestNode;

    fn deref(&self) -> &TestNode {
        &self.sim
    }
}

/// Each fixture that is one of these and more.
impl<F: Deref<Target = DriverFixture> + Sync> Mortal for F {
    fn sim(&self) -> &SimNode {
        &self.sim
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of(self.home())
    }
}
