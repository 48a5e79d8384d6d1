//! A node with a data disk, and the calls that the operations above the seam make.

use std::fmt::Debug;
use std::ops::Deref;
use std::time::Duration;

use os::{
    Arguments, Deadline, DiskNumber, Instance, ObjectPath, Os, Outcome, Query, Target, Value,
    VolumeId, WinPath,
};
use wincsi_os_sim::testing::TestNode;
use wincsi_os_sim::{Bus, DiskSpec, NodeSpec};

pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const MIB: u64 = 1 << 20;
/// The data disk of a [`StorageFixture`] that has one.
pub(crate) const DATA: DiskNumber = DiskNumber(1);

/// A node, and the calls that the operations above the seam make.
pub(crate) struct StorageFixture {
    pub(crate) os: Os,
    pub(crate) node: TestNode,
}

impl Deref for StorageFixture {
    type Target = TestNode;

    fn deref(&self) -> &TestNode {
        &self.node
    }
}

impl StorageFixture {
    pub(crate) fn new() -> Self {
        Self::of(&NodeSpec::default())
    }

    pub(crate) fn of(spec: &NodeSpec) -> Self {
        Self::on(TestNode::of(tempfile::tempdir().unwrap(), spec))
    }

    fn on(node: TestNode) -> Self {
        let os = node.os();
        Self { os, node }
    }

    /// With a blank data disk that both views know.
    pub(crate) fn with_disk(spec: &DiskSpec) -> Self {
        Self::new().and_disk(spec)
    }

    pub(crate) fn and_disk(self, spec: &DiskSpec) -> Self {
        self.attach("data1", spec, GIB);
        self.rescan();
        self
    }

    pub(crate) fn query(&self, query: &Query<'_>) -> Vec<Instance> {
        self.os.storage.query(query, Deadline::NEVER).unwrap()
    }

    pub(crate) fn disk(&self) -> Instance {
        let select = &[
            "Number",
            "Size",
            "PartitionStyle",
            "IsOffline",
            "IsReadOnly",
        ];
        let query = Query::all("MSFT_Disk", select).with("Number", Value::uint32(DATA.0));
        one(self.query(&query))
    }

    pub(crate) fn partition(&self) -> Instance {
        let reserved = Value::text("{e3c9e316-0b5c-4db8-817d-f92df00215ae}");
        let query = Query::all("MSFT_Partition", &["Size", "Offset", "AccessPaths"])
            .with("DiskNumber", Value::uint32(DATA.0))
            .without("GptType", reserved);
        one(self.query(&query))
    }

    pub(crate) fn volumes(&self) -> Vec<Instance> {
        let partition = self.partition().path;
        let association = "MSFT_PartitionToVolume";
        let found =
            self.os
                .storage
                .associators(&partition, association, "MSFT_Volume", Deadline::NEVER);
        found.unwrap()
    }

    pub(crate) fn volume(&self) -> VolumeId {
        self.os.clock.sleep(Duration::from_secs(1));
        one(self.volumes())
            .text("UniqueId")
            .unwrap()
            .parse()
            .unwrap()
    }

    pub(crate) fn call(
        &self,
        path: &ObjectPath,
        method: &'static str,
        arguments: &Arguments,
    ) -> Outcome {
        let target = Target::Instance(path);
        self.os
            .storage
            .invoke(target, method, arguments, Deadline::NEVER)
            .unwrap()
    }

    pub(crate) fn rescan(&self) {
        let target = Target::Class("MSFT_StorageSetting");
        let method = "UpdateHostStorageCache";
        let none = Arguments::none();
        let outcome = self
            .os
            .storage
            .invoke(target, method, &none, Deadline::NEVER);
        assert_eq!(outcome.unwrap().code, 0);
    }

    pub(crate) fn partitioned(spec: &DiskSpec) -> Self {
        let fixture = Self::with_disk(spec);
        let disk = fixture.disk().path;
        assert_eq!(fixture.call(&disk, "Initialize", &gpt()).code, 0);
        assert_eq!(fixture.call(&disk, "Online", &Arguments::none()).code, 0);
        assert_eq!(
            fixture.call(&disk, "CreatePartition", &whole_disk()).code,
            0
        );
        fixture
    }

    pub(crate) fn formatted() -> (Self, VolumeId) {
        let fixture = Self::partitioned(&DiskSpec::on(Bus::Sas).lun(1));
        let volume = fixture.volume();
        let path = one(fixture.volumes()).path;
        assert_eq!(fixture.call(&path, "Format", &ntfs()).code, 0);
        (fixture, volume)
    }

    /// Kills the process and starts another on the same node.
    pub(crate) fn revived(self) -> Self {
        Self::on(self.node.reopened())
    }

    pub(crate) fn new_folder(&self, path: &str) -> WinPath {
        let path: WinPath = path.parse().unwrap();
        self.os.files.create_directory(&path).unwrap();
        path
    }
}

pub(crate) fn one<T: Debug>(mut found: Vec<T>) -> T {
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

pub(crate) fn gpt() -> Arguments {
    Arguments::none().with("PartitionStyle", Value::uint16(2))
}

pub(crate) fn whole_disk() -> Arguments {
    let basic_data = Value::text("{ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}");
    Arguments::none()
        .with("UseMaximumSize", Value::Bool(true))
        .with("AssignDriveLetter", Value::Bool(false))
        .with("GptType", basic_data)
        .with("IsHidden", Value::Bool(false))
        .with("IsActive", Value::Bool(false))
}

pub(crate) fn ntfs() -> Arguments {
    Arguments::none()
        .with("FileSystem", Value::text("NTFS"))
        .with("Full", Value::Bool(false))
        .with("Force", Value::Bool(true))
}
