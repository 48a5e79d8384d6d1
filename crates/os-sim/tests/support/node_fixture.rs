//! Helpers of the tests of the gate.

use std::ops::Deref;
use std::time::Duration;

use os::{
    Arguments, Component, Deadline, DiskNumber, LinkKind, Os, Outcome, Pin, Placeholder, Query,
    Result, Target, VolumeId, VolumeLock, WinPath,
};
use wincsi_os_sim::NodeSpec;
use wincsi_os_sim::testing::TestNode;

/// The disk that the node runs from.
pub(crate) const DISK: DiskNumber = DiskNumber(0);

/// A node with a held directory, and a lock on its EFI system volume, which no test needs otherwise.
pub(crate) struct NodeFixture {
    pub(crate) efi: VolumeId,
    pub(crate) held: Pin,
    pub(crate) lock: Box<dyn VolumeLock>,
    pub(crate) os: Os,
    pub(crate) placeholder: Box<dyn Placeholder>,
    pub(crate) node: TestNode,
}

impl Deref for NodeFixture {
    type Target = TestNode;

    fn deref(&self) -> &TestNode {
        &self.node
    }
}

impl NodeFixture {
    pub(crate) fn new() -> Self {
        let node = TestNode::of(tempfile::tempdir().unwrap(), &NodeSpec::default());
        let os = node.os();
        let layout = os.disks.layout(DISK).unwrap();
        let efi = layout
            .partitions
            .iter()
            .find(|it| it.kind == os::PartitionEntry::EFI_SYSTEM);
        let efi = VolumeId(efi.unwrap().id);
        os.files.create_directory(&path("held")).unwrap();
        let held = os.files.pin(&path("held")).unwrap();
        let reserved = Component::parse("reserved").unwrap();
        Self {
            efi,
            placeholder: held.reserve(&reserved, LinkKind::Directory).unwrap(),
            held,
            lock: os.volumes.lock(efi).unwrap(),
            node,
            os,
        }
    }

    /// A method with a deadline.
    pub(crate) fn refresh(&self, deadline: Deadline) -> Result<Outcome> {
        let found = self
            .os
            .storage
            .query(&Query::all("MSFT_Disk", &[]), Deadline::NEVER)?;
        let target = Target::Instance(&found[0].path);
        self.os
            .storage
            .invoke(target, "Refresh", &Arguments::none(), deadline)
    }

    pub(crate) fn in_a_second(&self) -> Deadline {
        Deadline::within(&*self.os.clock, Duration::from_secs(1))
    }
}

/// A path on drive C.
pub(crate) fn path(name: &str) -> WinPath {
    format!(r"C:\{name}").parse().unwrap()
}
