//! An iSCSI server near a node, and what there is to say of initiator and services.

use std::fmt::Write as _;

use os::schema::iscsi_associations::session_to_disk;
use os::schema::{disk, iscsi_session, iscsi_target, iscsi_target_portal as portal};
use os::{Arguments, Deadline, Instance, Query, ServiceState, Target, Value};
use os_sim::iscsi::{ServerSpec, TargetSpec};
use os_sim::{Bus, DiskSpec, NodeSpec, SanPolicy, ServiceSpec, Start};
use wincsi_node::{
    Authentication, Chap, ChapSecret, Connected, IscsiError, Options, Portal, TargetName,
};
use zeroize::Zeroizing;

use super::{DATA, GIB, NodeFixture};

pub(crate) const ADDRESS: &str = "10.0.0.9";
/// A target that asks nothing, with one disk.
pub(crate) const OPEN: &str = "iqn.2026-01.com.example:open";
/// A target that asks for CHAP and can prove itself, with one disk.
pub(crate) const GUARDED: &str = "iqn.2026-01.com.example:guarded";
pub(crate) const SECRET: &str = "0123456789ab";
pub(crate) const PROOF: &str = "ba9876543210";

/// Services that depend on each other: `left` and `right` on `base`, `top` on both of them.
const DIAMOND: [(&str, &[&str]); 4] = [
    ("base", &[]),
    ("left", &["base"]),
    ("right", &["base"]),
    ("top", &["left", "right"]),
];

impl NodeFixture {
    /// A node whose initiator service runs, with the server `array` near it, and a disk of its own.
    pub(crate) fn with_array() -> Self {
        Self::with_array_of(&with_services(Start::Automatic))
    }

    /// A node whose MPIO makes one disk of those of several sessions, where the initiator knows the portal.
    pub(crate) fn with_mpio() -> Self {
        let mut spec = with_services(Start::Automatic);
        spec.storage.multipath = true;
        let fixture = Self::with_array_of(&spec);
        fixture.add_portal().unwrap();
        fixture
    }

    fn with_array_of(spec: &NodeSpec) -> Self {
        let fixture = Self::of(spec, Options::default());
        fixture.array().add_server("array", &array()).unwrap();
        for image in ["open", "guarded"] {
            fixture.array().set_image(image, GIB).unwrap();
        }
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, 4 * GIB);
        fixture
    }

    /// The same, where the initiator knows the portal.
    pub(crate) fn with_portal() -> Self {
        let fixture = Self::with_array();
        fixture.add_portal().unwrap();
        fixture
    }

    /// A node where the diamond of services runs, or not.
    pub(crate) fn with_diamond(start: Start) -> Self {
        let fixture = Self::of(&with_services(start), Options::default());
        fixture.plug(&DiskSpec::on(Bus::Sas).serial(DATA).lun(1), DATA, 4 * GIB);
        fixture
    }

    pub(crate) fn add_portal(&self) -> Result<(), IscsiError> {
        self.add_portal_with(&Authentication::None)
    }

    pub(crate) fn add_portal_with(
        &self,
        authentication: &Authentication,
    ) -> Result<(), IscsiError> {
        let iscsi = self.iscsi();
        iscsi.add_portal(&at(ADDRESS), authentication, self.soon())
    }

    pub(crate) fn connect(
        &self,
        target: &str,
        authentication: &Authentication,
    ) -> Result<Connected, IscsiError> {
        let iscsi = self.iscsi();
        iscsi.connect(&at(ADDRESS), &named(target), authentication, self.soon())
    }

    pub(crate) fn disconnect(&self, target: &str) -> Result<(), IscsiError> {
        let iscsi = self.iscsi();
        iscsi.disconnect(&at(ADDRESS), &named(target), self.soon())
    }

    /// Logs in by another hand than ours: once more, and for good.
    pub(crate) fn log_in_again(&self, target: &str) {
        let name = Value::text(target);
        let login = Arguments::none()
            .with(iscsi_target::connect::NODE_ADDRESS.name, name)
            .with(
                iscsi_target::connect::IS_MULTIPATH_ENABLED.name,
                Value::Bool(true),
            )
            .with(iscsi_target::connect::IS_PERSISTENT.name, Value::Bool(true));
        let on = Target::Class(iscsi_target::CLASS.name);
        let method = iscsi_target::CONNECT.name;
        let iscsi = &self.os().iscsi;
        let outcome = iscsi.invoke(on, method, &login, Deadline::NEVER);
        assert_eq!(outcome.unwrap().code, 0);
    }

    pub(crate) fn sessions(&self) -> Vec<Instance> {
        const SELECT: &[&str] = &[
            iscsi_session::AUTHENTICATION_TYPE.name,
            iscsi_session::IS_PERSISTENT.name,
            iscsi_session::TARGET_NODE_ADDRESS.name,
        ];
        let query = Query::all(iscsi_session::CLASS.name, SELECT);
        self.os().iscsi.query(&query, Deadline::NEVER).unwrap()
    }

    pub(crate) fn state_of(&self, service: &str) -> ServiceState {
        self.os().services.query(service).unwrap().state
    }

    pub(super) fn say_services(&self, text: &mut String) {
        let usual = NodeSpec::default().service;
        let diamond = DIAMOND.iter().map(|(name, _)| (*name).to_owned());
        for name in usual.into_iter().map(|service| service.name).chain(diamond) {
            if let Ok(service) = self.os().services.query(&name) {
                let _ = writeln!(text, "service {name} {:?}", service.state);
            }
        }
    }

    pub(super) fn say_initiator(&self, text: &mut String) {
        if self.state_of("MSiSCSI") != ServiceState::Running {
            return;
        }
        let ports = [
            portal::TARGET_PORTAL_ADDRESS.name,
            portal::TARGET_PORTAL_PORT_NUMBER.name,
        ];
        let query = Query::all(portal::CLASS.name, &ports);
        for row in self.os().iscsi.query(&query, Deadline::NEVER).unwrap() {
            let _ = writeln!(text, "portal {:?}", row.properties);
        }
        let query = Query::all(
            iscsi_target::CLASS.name,
            &[
                iscsi_target::NODE_ADDRESS.name,
                iscsi_target::IS_CONNECTED.name,
            ],
        );
        for row in self.os().iscsi.query(&query, Deadline::NEVER).unwrap() {
            let _ = writeln!(text, "target {:?}", row.properties);
        }
        for row in self.sessions() {
            let disks = self.os().iscsi.associators(
                &row.path,
                session_to_disk::CLASS.name,
                disk::CLASS.name,
                Deadline::NEVER,
            );
            let disks = disks.unwrap().len();
            let _ = writeln!(text, "session {:?}, {disks} disks", row.properties);
        }
    }
}

pub(crate) fn at(address: &str) -> Portal {
    Portal::parse(address, 0).unwrap()
}

pub(crate) fn named(target: &str) -> TargetName {
    TargetName::parse(target).unwrap()
}

pub(crate) fn secret(text: &str) -> ChapSecret {
    ChapSecret::new(Zeroizing::new(text.to_owned())).unwrap()
}

pub(crate) fn chap() -> Chap {
    Chap::new("node", secret(SECRET)).unwrap()
}

/// The server that [`NodeFixture::with_array`] puts up.
pub(crate) fn array() -> ServerSpec {
    let disk = |serial| DiskSpec::on(Bus::Iscsi).serial(serial);
    ServerSpec::at(ADDRESS)
        .offering(TargetSpec::named(OPEN).with_disk("open", disk("open")))
        .offering(
            TargetSpec::named(GUARDED)
                .with_disk("guarded", disk("guarded"))
                .asking("node", SECRET)
                .proving(PROOF),
        )
}

fn with_services(start: Start) -> NodeSpec {
    let mut spec = NodeSpec::named("node-1").san_policy(SanPolicy::OnlineAll);
    for service in &mut spec.service {
        if service.name == "MSiSCSI" {
            service.start = Start::Automatic;
        }
    }
    let diamond = DIAMOND.iter().map(|(name, depends_on)| ServiceSpec {
        name: (*name).to_owned(),
        start,
        depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        ..ServiceSpec::default()
    });
    spec.service.extend(diamond);
    spec
}
