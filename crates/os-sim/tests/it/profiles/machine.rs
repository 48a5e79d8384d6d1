//! A node of a profile, and the provider's methods on it.

use std::collections::BTreeMap;
use std::time::Duration;

use os::schema::smb_global_mapping::{self, create};
use os::schema::{
    Class, Property, disk, iscsi_target, iscsi_target_portal, partition, storage_setting,
};
use os::{Arguments, Deadline, DiskNumber, Instance, Os, Provider, Query, Target, Value};
use wincsi_os_sim::iscsi::{ServerSpec, TargetSpec};
use wincsi_os_sim::testing::TestNode;
use wincsi_os_sim::{Bus, DiskSpec, NodeSpec, Start, smb};

pub(crate) struct Machine {
    pub(crate) os: Os,
    pub(crate) node: TestNode,
}

impl Machine {
    /// Whose initiator service runs.
    pub(crate) fn of(mut spec: NodeSpec) -> Self {
        let mut services = spec.service.iter_mut();
        services.find(|one| one.name == "MSiSCSI").unwrap().start = Start::Automatic;
        let node = TestNode::of(tempfile::tempdir().unwrap(), &spec);
        let os = node.os();
        Self { os, node }
    }

    /// Plugs a blank disk in; the number that it gets.
    pub(crate) fn attach(&self, name: &str, spec: &DiskSpec, length: u64) -> DiskNumber {
        self.node.attach(name, spec, length);
        self.newest()
    }

    /// The disk that came last, which has the highest number.
    pub(crate) fn newest(&self) -> DiskNumber {
        self.rescan();
        *self.os.disks.list().unwrap().last().unwrap()
    }

    pub(crate) fn rescan(&self) {
        let target = Target::Class("MSFT_StorageSetting");
        let none = Arguments::none();
        let storage = &self.os.storage;
        let outcome = storage.invoke(target, "UpdateHostStorageCache", &none, Deadline::NEVER);
        assert_eq!(outcome.unwrap().code, 0);
    }

    /// Calls a method of a disk.
    pub(crate) fn call(&self, number: DiskNumber, method: &'static str, with: &Arguments) {
        let query = Query::all(disk::CLASS.name, &[]).with("Number", Value::uint32(number.0));
        let row = self.only(&query);
        let target = Target::Instance(&row.path);
        let storage = &self.os.storage;
        let outcome = storage.invoke(target, method, with, Deadline::NEVER);
        assert_eq!(outcome.unwrap().code, 0, "{method}");
    }

    /// Gives a disk a GPT and one partition of all that is left, or from an offset.
    pub(crate) fn partition(&self, number: DiskNumber, offset: Option<u64>) {
        self.call(number, "Initialize", &Arguments::none());
        self.create_partition(number, offset);
    }

    pub(crate) fn create_partition(&self, number: DiskNumber, offset: Option<u64>) {
        let mut with = Arguments::none().with("UseMaximumSize", Value::Bool(true));
        if let Some(offset) = offset {
            with = with
                .with("Offset", Value::uint64(offset))
                .with("DriveLetter", Value::uint16(u16::from(b'G')));
        }
        self.call(number, "CreatePartition", &with);
        self.os.clock.sleep(Duration::from_secs(1));
        self.rescan();
    }

    /// Adds the portal of a server that offers these targets, each with a disk.
    pub(crate) fn add_portal(&self, address: &str, targets: &[&str]) {
        let servers = self.node.array();
        let mut server = ServerSpec::at(address);
        for (target, number) in targets.iter().zip(0..) {
            let image = format!("lun-{number}");
            servers.set_image(&image, 1 << 30).unwrap();
            let target = TargetSpec::named(target).with_disk(&image, DiskSpec::on(Bus::Iscsi));
            server = server.offering(target);
        }
        servers.add_server("array", &server).unwrap();
        let name = iscsi_target_portal::new::TARGET_PORTAL_ADDRESS.name;
        let with = Arguments::none().with(name, Value::text(address));
        self.call_class(&*self.os.iscsi, &iscsi_target_portal::CLASS, "New", &with);
    }

    pub(crate) fn log_in(&self, target: &str) {
        let name = iscsi_target::connect::NODE_ADDRESS.name;
        let with = Arguments::none().with(name, Value::text(target));
        self.call_class(&*self.os.iscsi, &iscsi_target::CLASS, "Connect", &with);
    }

    /// Maps a share of a server that is set up for it.
    pub(crate) fn map_share(&self) {
        let server = smb::ServerSpec::sharing("data", r"FILES\alice", "secret");
        let servers = self.node.servers();
        servers.add_server("files", &server).unwrap();
        let with = Arguments::none()
            .with(create::REMOTE_PATH.name, Value::text(r"\\files\data"))
            .with(create::CREDENTIAL.name, Value::text(r"FILES\\alice:secret"));
        self.call_class(&*self.os.smb, &smb_global_mapping::CLASS, "Create", &with);
    }

    /// The storage setting.
    pub(crate) fn setting(&self) -> Instance {
        let none = Arguments::none();
        let mut out = self.call_class(&*self.os.storage, &storage_setting::CLASS, "Get", &none);
        match out.remove(storage_setting::get::STORAGE_SETTING.name) {
            Some(Value::Object(setting)) => *setting,
            other => panic!("{other:?}"),
        }
    }

    fn call_class(
        &self,
        provider: &dyn Provider,
        class: &Class,
        method: &'static str,
        with: &Arguments,
    ) -> BTreeMap<String, Value> {
        let outcome = provider.invoke(Target::Class(class.name), method, with, Deadline::NEVER);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.code, 0, "{}.{method}", class.name);
        outcome.out
    }

    /// A property of the disk.
    pub(crate) fn disk(
        &self,
        number: DiskNumber,
    ) -> impl Fn(&'static Class, &'static Property) -> Value {
        move |class, property| {
            let select = [property.name];
            let query = Query::all(class.name, &select).with("Number", Value::uint32(number.0));
            self.only(&query).properties[property.name].clone()
        }
    }

    /// A property of the disk's last partition.
    pub(crate) fn last_partition(
        &self,
        number: DiskNumber,
    ) -> impl Fn(&'static Class, &'static Property) -> Value {
        move |class, property| {
            let select = [property.name, partition::OFFSET.name];
            let query = Query::all(class.name, &select).with("DiskNumber", Value::uint32(number.0));
            let rows = self.os.storage.query(&query, Deadline::NEVER).unwrap();
            let last = rows
                .iter()
                .max_by_key(|row| row.u64(partition::OFFSET.name).unwrap());
            last.unwrap().properties[property.name].clone()
        }
    }

    fn only(&self, query: &Query<'_>) -> Instance {
        let mut rows = self.os.storage.query(query, Deadline::NEVER).unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    }
}
