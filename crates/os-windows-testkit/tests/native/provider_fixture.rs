//! A simulated node with a blank disk, queried through native code.

#![allow(dead_code, reason = "each test uses a part")]

use std::sync::Arc;
use std::time::Duration;

use os::schema::disk::{self, partition_style};
use os::schema::storage_setting;
use os::{
    Arguments, Clock, Deadline, Hresult, Instance, ObjectPath, Os, Outcome, Provider, Query,
    Result, Target, Value,
};
use os_sim::{Bus, ClockMode, Content, DiskSpec, Inventory, NodeSpec, SimNode};
use os_windows::{Connect, NativeClock, NativeProvider};
use wincsi_os_windows_testkit::{InProcessWmi, OutParameters};

/// How long a test waits for an expected event.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// The first wait for a call without an end.
pub(crate) const A_MOMENT: Duration = Duration::from_millis(100);

/// So many threads make the calls of a namespace, each with a connection of its own, as `wmi::pool` documents.
pub(crate) const THREADS: usize = 3;

/// The call was never sent.
pub(crate) const UNSENT: Hresult = Hresult::RPC_S_SERVER_UNAVAILABLE;

/// `RPC_S_CALL_FAILED`: it may have been sent.
pub(crate) const CUT: Hresult = Hresult(0x8007_06BE);

const DATA: u32 = 1;

pub(crate) struct ProviderFixture {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) native: NativeProvider,
    pub(crate) node: SimNode,
    pub(crate) wmi: InProcessWmi,
}

impl ProviderFixture {
    pub(crate) fn new() -> Self {
        Self::answering(OutParameters::Result)
    }

    pub(crate) fn answering(place: OutParameters) -> Self {
        let spec = NodeSpec::default();
        let node = SimNode::in_memory(&spec, Inventory::of(0), ClockMode::Virtual).expect("a node");
        let blank = Content::blank(1 << 30);
        let data = DiskSpec::on(Bus::Sas).lun(1);
        let plugged = node.hardware().attach_disk("data", &data, &blank);
        plugged.expect("a disk");
        let fixture = Self::over(node.os(), place, node);
        assert_eq!(fixture.rescan().code, 0);
        fixture
    }

    /// With other providers in place of the node's.
    pub(crate) fn over(os: Os, place: OutParameters, node: SimNode) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(NativeClock::new());
        let wmi = InProcessWmi::over(os, place);
        let connect: Arc<dyn Connect> = Arc::new(wmi.clone());
        let native = NativeProvider::over(Arc::clone(&clock), connect);
        Self {
            clock,
            native,
            node,
            wmi,
        }
    }

    pub(crate) fn disks(&self) -> Result<Vec<Instance>> {
        self.native.query(&all_disks(), Deadline::NEVER)
    }

    pub(crate) fn disk(&self) -> Instance {
        let query = all_disks().with(disk::NUMBER.name, Value::uint32(DATA));
        let found = self.native.query(&query, Deadline::NEVER).expect("disks");
        let [found] = found.try_into().expect("one disk");
        found
    }

    pub(crate) fn is_initialised(&self) -> bool {
        let style = self.disk().u32(disk::PARTITION_STYLE.name);
        style == Ok(partition_style::GPT.value)
    }

    pub(crate) fn wait_until_initialised(&self) {
        let begun = self.clock.now();
        while !self.is_initialised() {
            let waited = begun.until(self.clock.now());
            assert!(waited < TIMEOUT, "the method did not go on");
        }
    }

    pub(crate) fn initialise(&self, deadline: Deadline) -> Result<Outcome> {
        self.call(&self.disk().path, disk::INITIALIZE.name, &gpt(), deadline)
    }

    pub(crate) fn call(
        &self,
        on: &ObjectPath,
        method: &'static str,
        arguments: &Arguments,
        deadline: Deadline,
    ) -> Result<Outcome> {
        let target = Target::Instance(on);
        self.native.invoke(target, method, arguments, deadline)
    }

    /// A method without a relevant effect.
    pub(crate) fn refresh(&self) -> Result<Outcome> {
        let none = Arguments::none();
        self.call(
            &self.disk().path,
            disk::REFRESH.name,
            &none,
            Deadline::NEVER,
        )
    }

    /// A method without parameters.
    pub(crate) fn rescan(&self) -> Outcome {
        let class = Target::Class(storage_setting::CLASS.name);
        let method = storage_setting::UPDATE_HOST_STORAGE_CACHE.name;
        let done = self
            .native
            .invoke(class, method, &Arguments::none(), Deadline::NEVER);
        done.expect("a rescan")
    }

    /// How often the node has run the operation since the last query.
    pub(crate) fn times(&self, operation: &str) -> usize {
        let trace = self.node.take_trace();
        trace.iter().filter(|op| op.operation == operation).count()
    }
}

/// The arguments of `MSFT_Disk.Initialize`.
pub(crate) fn gpt() -> Arguments {
    let style = u16::try_from(partition_style::GPT.value).expect("its type");
    let name = disk::initialize::PARTITION_STYLE.name;
    Arguments::none().with(name, Value::uint16(style))
}

fn all_disks() -> Query<'static> {
    Query::all(
        disk::CLASS.name,
        &[disk::NUMBER.name, disk::PARTITION_STYLE.name],
    )
}
