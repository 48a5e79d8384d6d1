mod logins;
mod sessions;

use os::schema::iscsi_associations::{target_to_connection, target_to_session};
use os::schema::{
    ReturnCode, iscsi_connection, iscsi_session, iscsi_target, iscsi_target_portal, storage_setting,
};
use os::{Arguments, Cause, Deadline, Hresult, Instance, ObjectPath, Os, Query, Target, Value};
use tempfile::TempDir;

use super::{IscsiControl, ServerSpec, TargetSpec};
use crate::{Bus, ClockMode, DiskSpec, NodeSpec, SimNode, Start, StorageConditions};

const ADDRESS: &str = "10.0.0.9";
/// A target that asks nothing, with one disk.
const OPEN: &str = "iqn.2026-01.com.example:open";
/// A target that asks for CHAP and can prove itself.
const GUARDED: &str = "iqn.2026-01.com.example:guarded";
const SECRET: &str = "0123456789ab";
const PROOF: &str = "ba9876543210";
const GIB: u64 = 1 << 30;

/// A node whose initiator service starts by itself, and an iSCSI server.
struct InitiatorFixture {
    folder: TempDir,
    node: SimNode,
    servers: IscsiControl,
}

impl InitiatorFixture {
    fn new() -> Self {
        Self::storing(StorageConditions::default())
    }

    fn storing(storage: StorageConditions) -> Self {
        let mut spec = NodeSpec {
            storage,
            ..NodeSpec::default()
        };
        for service in &mut spec.service {
            if service.name == crate::iscsi::SERVICE {
                service.start = Start::Automatic;
            }
        }
        Self::of(&spec)
    }

    fn of(spec: &NodeSpec) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let node = SimNode::create(folder.path(), spec, ClockMode::Virtual).unwrap();
        let servers = IscsiControl::at(folder.path());
        let disk = |serial| DiskSpec::on(Bus::Iscsi).serial(serial);
        let server = ServerSpec::at(ADDRESS)
            .offering(TargetSpec::named(OPEN).with_disk("open", disk("1")))
            .offering(
                TargetSpec::named(GUARDED)
                    .with_disk("guarded", disk("2"))
                    .asking("node", SECRET)
                    .proving(PROOF),
            );
        servers.add_server("array", &server).unwrap();
        servers.set_image("open", GIB).unwrap();
        servers.set_image("guarded", GIB).unwrap();
        Self {
            folder,
            node,
            servers,
        }
    }

    /// With the portal added.
    fn discovered() -> Self {
        let fixture = Self::new();
        fixture.add_portal(ADDRESS).unwrap();
        fixture
    }

    /// With a session of the open target.
    fn connected() -> Self {
        let fixture = Self::discovered();
        fixture.connect(&login(OPEN)).unwrap();
        fixture
    }

    fn reopened(self) -> Self {
        self.node.kill();
        drop(self.node);
        let node = SimNode::open(self.folder.path(), ClockMode::Virtual).unwrap();
        Self { node, ..self }
    }

    fn os(&self) -> Os {
        self.node.os()
    }

    fn invoke(
        &self,
        target: Target<'_>,
        method: &'static str,
        arguments: &Arguments,
    ) -> Result<(), Cause> {
        let os = self.os();
        let done = os.iscsi.invoke(target, method, arguments, Deadline::NEVER);
        let outcome = done.map_err(|error| error.cause)?;
        assert_eq!(outcome.code, 0);
        Ok(())
    }

    fn add_portal(&self, address: &str) -> Result<(), Cause> {
        let portal = Arguments::none().with("TargetPortalAddress", Value::text(address));
        self.invoke(
            Target::Class(iscsi_target_portal::CLASS.name),
            "New",
            &portal,
        )
    }

    fn connect(&self, login: &Arguments) -> Result<(), Cause> {
        self.invoke(Target::Class(iscsi_target::CLASS.name), "Connect", login)
    }

    fn disconnect(&self, target: &ObjectPath, session: &Instance) -> Result<(), Cause> {
        let id = session.text("SessionIdentifier").unwrap();
        let session = Arguments::none().with("SessionIdentifier", Value::text(id));
        self.invoke(Target::Instance(target), "Disconnect", &session)
    }

    fn query(&self, query: &Query<'_>) -> Vec<Instance> {
        self.os().iscsi.query(query, Deadline::NEVER).unwrap()
    }

    fn associated(
        &self,
        of: &ObjectPath,
        association: &'static str,
        class: &'static str,
    ) -> Vec<Instance> {
        let os = self.os();
        let found = os
            .iscsi
            .associators(of, association, class, Deadline::NEVER);
        found.unwrap()
    }

    fn target(&self, name: &str) -> Option<Instance> {
        let query = Query::all(iscsi_target::CLASS.name, &["NodeAddress", "IsConnected"])
            .with("NodeAddress", Value::text(name));
        self.query(&query).pop()
    }

    fn portal(&self) -> ObjectPath {
        let query = Query::all(iscsi_target_portal::CLASS.name, &[]);
        self.query(&query).pop().unwrap().path
    }

    fn sessions(&self, target: &str) -> Vec<Instance> {
        let target = self.target(target).unwrap();
        let association = target_to_session::CLASS.name;
        self.associated(&target.path, association, iscsi_session::CLASS.name)
    }

    fn connections(&self, target: &str) -> Vec<Instance> {
        let target = self.target(target).unwrap();
        let association = target_to_connection::CLASS.name;
        self.associated(&target.path, association, iscsi_connection::CLASS.name)
    }

    /// How many disks the kernel has, the system disk not counted.
    fn disks(&self) -> usize {
        self.os().disks.list().unwrap().len() - 1
    }

    fn rescan(&self) {
        let target = Target::Class(storage_setting::CLASS.name);
        let method = "UpdateHostStorageCache";
        let os = self.os();
        os.storage
            .invoke(target, method, &Arguments::none(), Deadline::NEVER)
            .unwrap();
    }
}

fn login(target: &str) -> Arguments {
    Arguments::none().with("NodeAddress", Value::text(target))
}

fn chap(target: &str, kind: &str, user: &str, secret: &str) -> Arguments {
    login(target)
        .with("AuthenticationType", Value::text(kind))
        .with("ChapUsername", Value::text(user))
        .with("ChapSecret", Value::text(secret))
}

fn failing<T>(code: ReturnCode) -> Result<T, Cause> {
    Err(Cause::Hresult(Hresult(code.code)))
}
