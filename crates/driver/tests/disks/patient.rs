//! A node with a share and a LUN, and each sickness that the doctor finds there: as it comes about, and as it is mended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use os::{Arguments, Deadline, DiskAccess, Value};
use tempfile::TempDir;
use transport::Endpoint;
use wincsi::disks::DiskNumber;
use wincsi::iscsi::TargetName;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::smb;
use wincsi::sim::smb::ServerHealth::{Down, Dropping, Up};
use wincsi::sim::{Bus, DiskSpec, Effect, IdentifierKind, Rule};
use wincsi::smb::{Credentials, MapRequest, RemotePath};
use wincsi::system::{Dependents, ServiceName};
use wincsi::{NodeApi, Win32};
use wincsi_driver::doctor::{Doctor, Report};
use zeroize::Zeroizing;

use crate::fixture::{STAGING, TARGET};
use crate::iscsi::{ADDRESS, Fixture, IQN, Lasts, log_in_as, start_initiator};
use crate::support::KUBELET;
use crate::support::requests::{map, request_at};

const SECOND: &str = "10.0.0.8";
/// As the array names its first LUN.
pub(crate) const LUN: &str = "600140500000000a";
/// Of the disk that is attached.
pub(crate) const DISK: &str = "6000c29000000001";
/// No volume has it.
pub(crate) const THEIRS: &str = "iqn.2026-01.com.example:canary-theirs";
const ATTACHED: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\i\4\globalmount";
const SHARE: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\i\3\globalmount";

/// Names that are in nothing else by accident.
pub(crate) const SERVER: &str = "canary-files";
pub(crate) const USER: &str = r"CANARY-FILES\canary-user";
pub(crate) const PASSWORD: &str = "correct horse canary";
pub(crate) const VOLUMES: [&str; 3] = ["canary-lun", "canary-share", "canary-disk"];

/// More than a question may take.
const ANSWER: Duration = Duration::from_secs(6);

pub(crate) struct Patient {
    pub(crate) fixture: Fixture,
    targets: Vec<TargetSpec>,
    registry: TempDir,
    is_registered: Arc<AtomicBool>,
}

impl Patient {
    /// A node with a share, a LUN to which two portals lead, a disk, and a target and a disk that are nobody's.
    pub(crate) fn healthy() -> Self {
        let patient = Self::on(Fixture::new());
        assert_eq!(patient.examine().exit_code(), 0);
        patient
    }

    pub(crate) fn on(fixture: Fixture) -> Self {
        let mut targets = Vec::new();
        let offer = |server: &mut ServerSpec| {
            let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, "6001405000000c01");
            server
                .target
                .push(TargetSpec::named(THEIRS).with_disk("theirs", disk));
            targets.clone_from(&server.target);
        };
        fixture.array().set_image("theirs", 64 << 20).unwrap();
        fixture.array().change_server("array", offer).unwrap();
        let server = smb::ServerSpec::sharing("canary-data", USER, PASSWORD);
        fixture.servers().add_server(SERVER, &server).unwrap();
        let patient = Self {
            fixture,
            targets,
            registry: tempfile::tempdir().unwrap(),
            is_registered: Arc::new(AtomicBool::new(true)),
        };
        fs::create_dir(patient.registry()).unwrap();
        // They come offline.
        let disk = DiskSpec::on(Bus::Sas).lun(2);
        let own = disk.clone().identified(IdentifierKind::Naa, DISK);
        patient.fixture.attach("own", &own, 64 << 20);
        patient.fixture.attach("other", &disk.lun(5), 64 << 20);
        patient.fixture.make_directory(SHARE);
        patient.fixture.make_directory(ATTACHED);
        patient.set_portals(&[ADDRESS, SECOND]);
        (0..VOLUMES.len()).for_each(|which| patient.stage(which));
        patient
    }

    /// As kubelet stages the volume of this index.
    fn stage(&self, which: usize) {
        let lun = map(&[
            ("node_attach_driver", "iscsi"),
            ("portal", ADDRESS),
            ("portals", SECOND),
            ("iqn", IQN),
            ("lun", "0"),
        ]);
        let share = map(&[("source", "//canary-files/canary-data")]);
        let user = map(&[("username", USER), ("password", PASSWORD)]);
        let disk = map(&[("page83", DISK)]);
        let (staging, context, secrets) = match which {
            0 => (STAGING, lun, map(&[])),
            1 => (SHARE, share, user),
            _ => (ATTACHED, disk, map(&[])),
        };
        let handle = VOLUMES[which];
        let staged = request_at(handle, [staging, TARGET], &context, &secrets, |request| {
            self.fixture.call().stage(request)
        });
        staged.unwrap();
    }

    fn registry(&self) -> std::path::PathBuf {
        self.registry.path().join("plugins_registry")
    }

    fn strange_record(&self) -> std::path::PathBuf {
        self.fixture.records_folder().join("canary-record.json")
    }

    pub(crate) fn set_portals(&self, portals: &[&str]) {
        let addresses = portals.iter().map(|one| (*one).to_owned()).collect();
        let change = |server: &mut ServerSpec| server.addresses = addresses;
        self.fixture.array().change_server("array", change).unwrap();
    }

    fn set_server(&self, health: smb::ServerHealth) {
        self.fixture.set_server(SERVER, health);
    }

    pub(crate) fn set_registered(&self, is_registered: bool) {
        self.is_registered.store(is_registered, Ordering::SeqCst);
    }

    pub(crate) fn set_targets(&self, targets: Vec<TargetSpec>) {
        let change = |server: &mut ServerSpec| server.target = targets;
        self.fixture.array().change_server("array", change).unwrap();
    }

    pub(crate) fn examine(&self) -> Report {
        self.doctor().examine(Duration::ZERO).unwrap()
    }

    pub(crate) fn doctor(&self) -> Arc<Doctor> {
        let registry = Endpoint::socket(self.registry().join("i-reg.sock"));
        let doctor = Doctor::new(self.fixture.volumes(), Some(registry));
        let is_registered = Arc::clone(&self.is_registered);
        doctor.learn_registration(move || {
            let is_registered = is_registered.load(Ordering::SeqCst);
            Some(is_registered.then_some(()).ok_or_else(String::new))
        });
        doctor
    }

    pub(crate) fn found(&self) -> Vec<String> {
        let findings = self.examine().findings.into_iter();
        findings.map(|one| one.check).collect()
    }

    /// As [`Self::found`], in time.
    pub(crate) fn found_with(&self, sick: &[&Sickness]) -> BTreeSet<String> {
        let found = self.in_time(sick, Self::found);
        found.into_iter().collect()
    }

    /// A look. Time passes while a part of Windows hangs.
    pub(crate) fn in_time<T: Send>(
        &self,
        sick: &[&Sickness],
        look: impl FnOnce(&Self) -> T + Send,
    ) -> T {
        let hangs = sick.iter().any(|one| one.check == "node-hangs");
        thread::scope(|scope| {
            let looks = scope.spawn(|| look(self));
            if hangs {
                self.fixture.wait_for_hang(1);
                self.fixture.let_pass(ANSWER);
            }
            looks.join().unwrap()
        })
    }
}

/// What a check finds, how it comes about, and how it is mended.
pub(crate) struct Sickness {
    pub(crate) check: &'static str,
    pub(crate) comes: fn(&Patient),
    goes: fn(&Patient),
    pub(crate) is_late: bool,
    /// Whether nothing else is of its server or target.
    pub(crate) is_alone: bool,
}

impl Sickness {
    /// It may only be slow, as a server that is silent, and explains no error.
    fn late(mut self) -> Self {
        self.is_late = true;
        self
    }

    pub(crate) fn mend(&self, patient: &Patient) {
        (self.goes)(patient);
        // A disk's volume comes a little later.
        patient.fixture.let_pass(Duration::from_secs(1));
    }

    fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }
}

fn sickness(check: &'static str, comes: fn(&Patient), goes: fn(&Patient)) -> Sickness {
    Sickness {
        check,
        comes,
        goes,
        is_late: false,
        is_alone: false,
    }
}

fn stop_initiator(patient: &Patient) {
    let (service, soon) = (ServiceName::parse("MSiSCSI"), patient.fixture.soon());
    let system = NodeApi::system(&patient.fixture.hand);
    let stopped = system.stop_service(&service.unwrap(), Dependents::Refuse, soon);
    stopped.unwrap();
}

fn unmap(patient: &Patient) {
    let remote = RemotePath::parse(r"\\canary-files\canary-data")
        .unwrap()
        .folder_itself();
    let (smb, soon) = (NodeApi::smb(&patient.fixture.hand), patient.fixture.soon());
    smb.unmap(&remote, soon).unwrap();
}

fn disk_of(patient: &Patient, page83: &str) -> DiskNumber {
    let (disks, soon) = (
        NodeApi::disks(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    let ids = disks.ids(soon).unwrap();
    let mut luns = ids.iter().filter(|(_, ids)| ids.page83 == page83);
    *luns.next().unwrap().0
}

pub(crate) fn set_access(patient: &Patient, page83: &str, access: DiskAccess) {
    let os = patient.fixture.os();
    os.disks
        .set_access(disk_of(patient, page83), access)
        .unwrap();
}

fn protect(patient: &Patient, is_protected: bool) {
    let hardware = patient.fixture.hardware();
    hardware.set_write_protected("own", is_protected).unwrap();
}

/// The login of a driver that is gone.
fn log_in(patient: &Patient) {
    log_in_as(&patient.fixture, ADDRESS, THEIRS, Lasts::UntilBoot);
    let (disks, soon) = (
        NodeApi::disks(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    disks.rescan(soon).unwrap();
}

fn log_out(patient: &Patient) {
    let (iscsi, soon) = (
        NodeApi::iscsi(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    let mut sessions = iscsi.sessions(soon).unwrap();
    sessions.retain(|session| session.target == THEIRS);
    let name = TargetName::parse(THEIRS).unwrap();
    iscsi.log_out(&name, &sessions[0].id, soon).unwrap();
}

/// As others write secrets into paths.
pub(crate) const SECRET_SHARE: &str = "user;canary@data";

/// A person's, of what [`map_others`] has mapped.
pub(crate) fn map_with_letter(patient: &Patient) {
    let user = USER.replace('\\', r"\\");
    let arguments = Arguments::none()
        .with(
            "RemotePath",
            Value::text(format!(r"\\others-0\{SECRET_SHARE}")),
        )
        .with("LocalPath", Value::text("Z:"))
        .with("Credential", Value::text(format!("{user}:{PASSWORD}")));
    let class = os::Target::Class("MSFT_SmbGlobalMapping");
    let smb = patient.fixture.os().smb;
    let made = smb.invoke(class, "Create", &arguments, Deadline::NEVER);
    made.unwrap();
}

/// So many shares of servers that no volume uses.
pub(crate) fn map_others(patient: &Patient, count: usize) {
    for number in 0..count {
        let name = format!("others-{number}");
        let server = smb::ServerSpec::sharing(SECRET_SHARE, USER, PASSWORD);
        drop(patient.fixture.servers().add_server(&name, &server));
        let remote = RemotePath::parse(&format!(r"\\{name}\{SECRET_SHARE}")).unwrap();
        let user = Credentials::new(USER, Zeroizing::new(PASSWORD.to_owned()));
        let request = MapRequest::of(&remote).with_credentials(user.as_ref());
        let smb = NodeApi::smb(&patient.fixture.hand);
        smb.map(&request, patient.fixture.soon()).unwrap();
    }
}

fn unmap_others(patient: &Patient) {
    let (smb, soon) = (NodeApi::smb(&patient.fixture.hand), patient.fixture.soon());
    for mapping in smb.mappings(soon).unwrap() {
        if mapping.remote.contains("others-") {
            let remote = RemotePath::parse(&mapping.remote).unwrap();
            smb.unmap(&remote, soon).unwrap();
        }
    }
}

pub(crate) fn set_online(patient: &Patient, is_online: bool) {
    let (soon, disks) = (
        patient.fixture.soon(),
        patient.fixture.hand.operations().disks(),
    );
    let disk = disk_of(patient, LUN);
    match is_online {
        true => disks.set_online(disk, soon).unwrap(),
        false => disks.set_offline(disk, soon).unwrap(),
    }
}

fn no_names(patient: &Patient) {
    let no_such_host = Win32(11001);
    patient
        .fixture
        .fail_on("connect", "canary-files:445", no_such_host);
}

fn fail(patient: &Patient) {
    let operation = "GetFileAttributesExW";
    patient
        .fixture
        .fail_on(operation, KUBELET, Win32::IO_DEVICE);
}

fn hang_mappings(patient: &Patient) {
    let hangs = Rule::on("IWbemServices.ExecQuery", Effect::Hang);
    let hangs = hangs.object("MSFT_SmbGlobalMapping");
    patient.fixture.fault(hangs);
}

fn start_and_stage(patient: &Patient) {
    start_initiator(&patient.fixture);
    patient.stage(0);
}

fn both_portals(patient: &Patient) {
    patient.set_portals(&[ADDRESS, SECOND]);
}

fn target_back(patient: &Patient) {
    patient.set_targets(patient.targets.clone());
}

fn server_up(patient: &Patient) {
    patient.set_server(Up);
}

fn write_strange(patient: &Patient) {
    fs::write(patient.strange_record(), r#"{"version": 9}"#).unwrap();
}

fn remove_strange(patient: &Patient) {
    fs::remove_file(patient.strange_record()).unwrap();
}

fn remove_registry(patient: &Patient) {
    fs::remove_dir(patient.registry()).unwrap();
}

fn make_registry(patient: &Patient) {
    fs::create_dir(patient.registry()).unwrap();
}

fn registered(patient: &Patient) {
    patient.set_registered(true);
}

fn heal(patient: &Patient) {
    patient.fixture.heal();
}

/// In this order they come together, and in the other one they go: a volume is staged again last.
pub(crate) fn sicknesses() -> [Sickness; 19] {
    [
        sickness(
            "disk-offline",
            |it| set_online(it, false),
            |it| set_online(it, true),
        ),
        sickness(
            "disk-read-only",
            |it| set_access(it, LUN, DiskAccess::ReadOnly),
            |it| set_access(it, LUN, DiskAccess::ReadWrite),
        ),
        sickness(
            "disk-read-only",
            |it| set_access(it, DISK, DiskAccess::ReadOnly),
            |it| set_access(it, DISK, DiskAccess::ReadWrite),
        )
        .alone(),
        // Its device.
        sickness(
            "disk-read-only",
            |it| protect(it, true),
            |it| protect(it, false),
        )
        .alone(),
        sickness("session-unused", log_in, log_out),
        sickness("mappings-unused", |it| map_others(it, 100), unmap_others),
        sickness("iscsi-stopped", stop_initiator, start_and_stage),
        sickness("share-not-mapped", unmap, |it| it.stage(1)),
        sickness("portal-away", |it| it.set_portals(&[ADDRESS]), both_portals),
        sickness(
            "target-away",
            |it| it.set_portals(&["10.0.0.7"]),
            both_portals,
        ),
        sickness("session-away", |it| it.set_targets(Vec::new()), target_back),
        sickness("server-away", |it| it.set_server(Down), server_up).late(),
        sickness("mapping-not-ok", |it| it.set_server(Dropping), server_up),
        sickness("record-unreadable", write_strange, remove_strange),
        sickness("kubelet-folder", remove_registry, make_registry),
        sickness("not-registered", |it| it.set_registered(false), registered),
        // No name of a server is resolved.
        sickness("server-away", no_names, heal),
        sickness("node-fails", fail, heal),
        sickness("node-hangs", hang_mappings, heal),
    ]
}
