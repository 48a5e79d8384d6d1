//! A node with a share and a LUN, and each sickness that the doctor finds there: as it comes about, alone and with each
//! other one, and none once it is mended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use os::DiskAccess;
use tempfile::TempDir;
use transport::Endpoint;
use wincsi::disks::DiskNumber;
use wincsi::iscsi::TargetName;
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::smb;
use wincsi::sim::smb::ServerHealth::{Down, Dropping, Up};
use wincsi::sim::{
    Bus, DiskSpec, Effect, IdentifierKind, NodeSpec, ProcessSpec, Rule, ServiceSpec, Start,
};
use wincsi::smb::{Credentials, MapRequest, RemotePath};
use wincsi::system::{Dependents, ServiceName};
use wincsi::{NodeApi, Win32};
use wincsi_driver::doctor::{CHECKS, Doctor, Report, Severity};
use wincsi_driver::kubelet::Request;
use wire::csi::v1::volume_capability::AccessMode;
use wire::csi::v1::volume_capability::access_mode::Mode;
use zeroize::Zeroizing;

use crate::deaths::Mortal as _;
use crate::fixture::{STAGING, TARGET};
use crate::iscsi::{
    ADDRESS, Fixture, IQN, Lasts, OTHER, SETUP, log_in_as, request, start_initiator,
};
use crate::support::KUBELET;
use crate::support::requests::{map, request_at};

const SECOND: &str = "10.0.0.8";
/// As the array names its first LUN.
const LUN: &str = "600140500000000a";
/// No volume has it.
const THEIRS: &str = "iqn.2026-01.com.example:canary-theirs";
const SHARE: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\i\3\globalmount";

/// Names that are in nothing else by accident.
pub(crate) const SERVER: &str = "canary-files";
pub(crate) const USER: &str = r"CANARY-FILES\canary-user";
pub(crate) const PASSWORD: &str = "correct horse canary";
pub(crate) const VOLUMES: [&str; 2] = ["canary-lun", "canary-share"];

/// More than a question may take.
const ANSWER: Duration = Duration::from_secs(6);

pub(crate) struct Patient {
    pub(crate) fixture: Fixture,
    targets: Vec<TargetSpec>,
    registry: TempDir,
    is_registered: Arc<AtomicBool>,
}

impl Patient {
    /// A node with a share, a LUN to which two portals lead, and a target and a disk that are nobody's.
    pub(crate) fn healthy() -> Self {
        let patient = Self::on(Fixture::new());
        assert_eq!(patient.examine().exit_code(), 0);
        patient
    }

    fn on(fixture: Fixture) -> Self {
        let mut targets = Vec::new();
        let offer = |server: &mut ServerSpec| {
            server.target.push(TargetSpec::named(THEIRS));
            targets.clone_from(&server.target);
        };
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
        // It comes offline.
        let other = DiskSpec::on(Bus::Sas).lun(2);
        patient.fixture.attach("other", &other, 64 << 20);
        patient.fixture.make_directory(SHARE);
        patient.set_portals(&[ADDRESS, SECOND]);
        patient.stage();
        patient
    }

    fn stage(&self) {
        let lun = map(&[
            ("node_attach_driver", "iscsi"),
            ("portal", ADDRESS),
            ("portals", SECOND),
            ("iqn", IQN),
            ("lun", "0"),
        ]);
        let share = map(&[("source", "//canary-files/canary-data")]);
        let user = map(&[("username", USER), ("password", PASSWORD)]);
        for (handle, staging, context, secrets) in [
            (VOLUMES[0], STAGING, lun, map(&[])),
            (VOLUMES[1], SHARE, share, user),
        ] {
            let staged = request_at(handle, [staging, TARGET], &context, &secrets, |request| {
                self.fixture.call().stage(request)
            });
            staged.unwrap();
        }
    }

    fn registry(&self) -> std::path::PathBuf {
        self.registry.path().join("plugins_registry")
    }

    fn strange_record(&self) -> std::path::PathBuf {
        self.fixture.records_folder().join("canary-record.json")
    }

    fn set_portals(&self, portals: &[&str]) {
        let addresses = portals.iter().map(|one| (*one).to_owned()).collect();
        let change = |server: &mut ServerSpec| server.addresses = addresses;
        self.fixture.array().change_server("array", change).unwrap();
    }

    fn set_server(&self, health: smb::ServerHealth) {
        self.fixture.set_server(SERVER, health);
    }

    fn set_registered(&self, is_registered: bool) {
        self.is_registered.store(is_registered, Ordering::SeqCst);
    }

    fn set_targets(&self, targets: Vec<TargetSpec>) {
        let change = |server: &mut ServerSpec| server.target = targets;
        self.fixture.array().change_server("array", change).unwrap();
    }

    fn examine(&self) -> Report {
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

    fn found(&self) -> Vec<String> {
        let findings = self.examine().findings.into_iter();
        findings.map(|one| one.check).collect()
    }

    /// As [`Self::found`], in time.
    fn found_with(&self, sick: &[&Sickness]) -> BTreeSet<String> {
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
    is_late: bool,
}

impl Sickness {
    /// It may only be slow, as a server that is silent, and explains no error.
    fn late(mut self) -> Self {
        self.is_late = true;
        self
    }
}

fn sickness(check: &'static str, comes: fn(&Patient), goes: fn(&Patient)) -> Sickness {
    Sickness {
        check,
        comes,
        goes,
        is_late: false,
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

fn lun(patient: &Patient) -> DiskNumber {
    let (disks, soon) = (
        NodeApi::disks(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    let ids = disks.ids(soon).unwrap();
    let mut luns = ids.iter().filter(|(_, ids)| ids.page83 == LUN);
    *luns.next().unwrap().0
}

fn set_access(patient: &Patient, access: DiskAccess) {
    let os = patient.fixture.os();
    os.disks.set_access(lun(patient), access).unwrap();
}

/// The login of a driver that is gone.
fn log_in(patient: &Patient) {
    log_in_as(&patient.fixture, ADDRESS, THEIRS, Lasts::UntilBoot);
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

/// So many shares of servers that no volume uses.
fn map_others(patient: &Patient, count: usize) {
    for number in 0..count {
        let name = format!("others-{number}");
        let server = smb::ServerSpec::sharing("canary-data", USER, PASSWORD);
        drop(patient.fixture.servers().add_server(&name, &server));
        let remote = RemotePath::parse(&format!(r"\\{name}\canary-data")).unwrap();
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

fn set_online(patient: &Patient, is_online: bool) {
    let (soon, disks) = (
        patient.fixture.soon(),
        patient.fixture.hand.operations().disks(),
    );
    let disk = lun(patient);
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
    patient.stage();
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
pub(crate) fn sicknesses() -> [Sickness; 17] {
    [
        sickness(
            "disk-offline",
            |it| set_online(it, false),
            |it| set_online(it, true),
        ),
        sickness(
            "disk-read-only",
            |it| set_access(it, DiskAccess::ReadOnly),
            |it| set_access(it, DiskAccess::ReadWrite),
        ),
        sickness("session-unused", log_in, log_out),
        sickness("mappings-unused", |it| map_others(it, 100), unmap_others),
        sickness("iscsi-stopped", stop_initiator, start_and_stage),
        sickness("share-not-mapped", unmap, Patient::stage),
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

/// One server, mapping, array or disk cannot be both.
const APART: [(&str, &str); 6] = [
    ("disk-offline", "disk-read-only"),
    ("iscsi-stopped", "session-unused"),
    ("share-not-mapped", "mapping-not-ok"),
    ("portal-away", "target-away"),
    ("server-away", "mapping-not-ok"),
    ("server-away", "server-away"),
];

/// What Windows's SMB provider is asked for.
const OF_MAPPINGS: [&str; 3] = ["share-not-mapped", "mapping-not-ok", "mappings-unused"];

#[test]
fn each_sickness_is_found_until_it_is_mended() {
    let patient = Patient::healthy();
    for sickness in sicknesses() {
        (sickness.comes)(&patient);
        let found = patient.found_with(&[&sickness]);
        assert_eq!(found, BTreeSet::from([sickness.check.to_owned()]));
        (sickness.goes)(&patient);
        assert_eq!(patient.found(), [""; 0], "after {}", sickness.check);
    }
    let sick = sicknesses().map(|one| one.check);
    let others = CHECKS.iter().filter(|check| !sick.contains(&check.id));
    // The driver that looks is there, and works in this process.
    assert_eq!(
        Vec::from_iter(others.map(|check| check.id)),
        ["driver-absent", "csi-proxy-service"]
    );
}

fn kubelet(command: Option<&str>) -> ProcessSpec {
    ProcessSpec {
        name: "Kubelet.exe".to_owned(),
        command: command.map(str::to_owned),
    }
}

/// Of a service that runs kubelet itself, or of the process that nssm or RKE2 started. Once kubelet has registered the
/// driver, neither says otherwise.
#[test]
fn kubelet_has_the_drivers_folder() {
    let (other, own) = (
        r"kubelet.exe --root-dir=D:\k",
        r"kubelet.exe --root-dir=c:\VAR\lib\kubelet",
    );
    let (folder, registration) = ("kubelet-folder", "not-registered");
    let (nssm, hidden) = (r"C:\k\nssm.exe", None);
    for (command, start, processes, finding, is_seen) in [
        (other, Start::Automatic, &[Some(own)][..], folder, true),
        (own, Start::Automatic, &[Some(other)], registration, true),
        (nssm, Start::Automatic, &[], registration, false),
        (other, Start::Disabled, &[], registration, false),
        (nssm, Start::Automatic, &[Some(other)], folder, true),
        (nssm, Start::Automatic, &[Some(own); 2], registration, true),
        (
            nssm,
            Start::Automatic,
            &[Some(other), Some(own)],
            registration,
            false,
        ),
        (
            nssm,
            Start::Automatic,
            &[Some(other), hidden],
            registration,
            false,
        ),
        (other, Start::Disabled, &[Some(own)], registration, true),
    ] {
        let service = ServiceSpec {
            name: "kubelet".to_owned(),
            command: Some(command.to_owned()),
            start,
            ..ServiceSpec::default()
        };
        let change = |spec: &mut NodeSpec| {
            spec.service.push(service);
            spec.process = processes.iter().copied().map(kubelet).collect();
        };
        let patient = Patient::on(Fixture::with(TargetSpec::named(IQN), change, SETUP));
        assert_eq!(patient.found(), [""; 0], "{command}");
        patient.set_registered(false);
        let report = patient.examine();
        let checks = report.findings.iter().map(|one| one.check.as_str());
        assert_eq!(Vec::from_iter(checks), [finding], "{command}");
        let unseen = report.unseen.iter().any(|one| one.check == folder);
        assert_eq!(!unseen, is_seen, "{command}");
    }
}

#[test]
fn a_driver_that_kubelet_cannot_call_has_the_reason() {
    for is_dead in [false, true] {
        let service = ServiceSpec {
            name: "afunix".to_owned(),
            start: Start::System,
            dies_at_start: is_dead,
            ..ServiceSpec::default()
        };
        let change = |spec: &mut NodeSpec| spec.service.push(service);
        let patient = Patient::on(Fixture::with(TargetSpec::named(IQN), change, SETUP));
        patient.set_registered(false);
        let report = patient.examine();
        let [finding] = &report.findings[..] else {
            panic!("{report}")
        };
        assert_eq!(finding.text.contains("afunix"), is_dead, "{finding:?}");
    }
}

/// A person's login, a few mappings, and a disk of readers.
#[test]
fn what_is_as_it_should_be_is_no_finding() {
    let patient = Patient::healthy();
    map_others(&patient, 99);
    log_in_as(&patient.fixture, ADDRESS, THEIRS, Lasts::OverBoots);
    patient.fixture.stage_lun("w", OTHER, "1", &[]).unwrap();
    patient.fixture.unstage_of("w", OTHER).unwrap();
    let staged = request(("w", OTHER), (IQN, "1"), &map(&[]), |request| {
        let mut capability = request.capability.unwrap().clone();
        let mode = Mode::MultiNodeReaderOnly.into();
        capability.access_mode = Some(AccessMode { mode });
        patient.fixture.call().stage(&Request {
            volume: request.volume.clone(),
            capability: Some(&capability),
            ..*request
        })
    });
    staged.unwrap();
    assert_eq!(patient.found(), [""; 0]);
}

#[test]
fn an_offline_disk_has_its_reason() {
    let patient = Patient::healthy();
    set_online(&patient, false);
    let report = patient.examine();
    let [finding] = &report.findings[..] else {
        panic!("{report:?}")
    };
    let expected = "is offline: Policy, as Windows knew it last (volumes \"canary-lun\")";
    assert!(finding.text.ends_with(expected), "{finding:?}");
}

/// Windows keeps all but one of them offline by itself.
#[test]
fn a_disk_with_a_path_that_is_online_is_well() {
    let patient = Patient::healthy();
    let path = DiskSpec::on(Bus::Sas).lun(3);
    let path = path.identified(IdentifierKind::Naa, LUN);
    patient.fixture.attach("path", &path, 64 << 20);
    let (disks, soon) = (
        NodeApi::disks(&patient.fixture.hand),
        patient.fixture.soon(),
    );
    disks.rescan(soon).unwrap();
    assert_eq!(patient.found(), [""; 0]);
    set_online(&patient, false);
    assert_eq!(patient.found(), ["disk-offline"; 2]);
}

/// Both are found, unless the table has one as the cause of the other, or what hangs is what would report it.
#[test]
fn two_sicknesses_are_found_or_covered() {
    let (sicknesses, mut pairs) = (sicknesses(), 0);
    for (at, one) in sicknesses.iter().enumerate() {
        let patient = Patient::healthy();
        for other in &sicknesses[at + 1..] {
            let (checks, sick) = ([one.check, other.check], [one, other]);
            if APART.contains(&checks.into()) || APART.contains(&(checks[1], checks[0])) {
                continue;
            }
            sick.iter().for_each(|it| (it.comes)(&patient));
            let found = patient.found_with(&sick);
            let is_hidden = |check: &str| {
                let row = CHECKS.iter().find(|row| row.id == check).unwrap();
                let is_warning = row.severity == Severity::Warning;
                let mut causes = sick.iter().filter(|it| is_warning || !it.is_late);
                let is_covered = causes.any(|cause| row.covered_by.contains(&cause.check));
                is_covered || checks.contains(&"node-hangs") && OF_MAPPINGS.contains(&check)
            };
            let shown = checks.into_iter().filter(|check| !is_hidden(check));
            let shown = BTreeSet::from_iter(shown.map(str::to_owned));
            assert_eq!(found, shown, "{checks:?}");
            sick.iter().rev().for_each(|it| (it.goes)(&patient));
            assert_eq!(patient.found(), [""; 0], "after {checks:?}");
            pairs += 1;
        }
    }
    println!("{pairs} pairs");
    assert!(pairs > 60, "{pairs}");
}

/// One portal refuses. The other one may only be slow, and then what is away is said beside it.
#[test]
fn slow_outweighs_refused() {
    for (code, expected) in [
        (10061, &["target-away"][..]),
        (10060, &["target-away", "session-away"]),
    ] {
        let patient = Patient::healthy();
        patient.set_targets(Vec::new());
        for (portal, code) in [("10.0.0.9:3260", 10061), ("10.0.0.8:3260", code)] {
            patient.fixture.fail_on("connect", portal, Win32(code));
        }
        assert_eq!(patient.found(), expected, "{code}");
    }
}

/// A session may be gone as the node was reset, if nobody knows when that was; so may a mapping.
#[test]
fn in_an_unknown_boot_nothing_is_missed() {
    let mut patient = Patient::healthy();
    patient.fixture.reboot();
    start_initiator(&patient.fixture);
    assert_eq!(patient.fixture.sessions(), []);
    assert_eq!(patient.found(), [""; 0]);
    patient
        .fixture
        .fail_on("NtQuerySystemInformation", "*", Win32::IO_DEVICE);
    let report = patient.examine();
    let outcome = (report.findings.len(), report.exit_code());
    assert_eq!(outcome, (0, 4), "{report}");
}

/// The operations of a look are on this list, of which none changes the node; and neither node nor records are changed.
#[test]
fn a_look_changes_nothing() {
    const READS: [&str; 8] = [
        "GetFileAttributesExW",
        "IOCTL_DISK_GET_DISK_ATTRIBUTES",
        "IOCTL_STORAGE_GET_DEVICE_NUMBER",
        "IOCTL_STORAGE_QUERY_PROPERTY",
        "IWbemServices.ExecQuery",
        "NtQuerySystemInformation",
        "QueryServiceStatusEx",
        "connect",
    ];
    let mut asked = BTreeSet::new();
    for sickness in sicknesses() {
        let patient = Patient::healthy();
        (sickness.comes)(&patient);
        if sickness.check != "node-hangs" {
            // The kernel notes what happened to the array when it is next asked.
            patient.found();
        }
        let before = patient.fixture.snapshot();
        drop(patient.fixture.sim.take_trace());
        patient.found_with(&[&sickness]);
        let operations = patient.fixture.sim.take_trace();
        asked.extend(operations.iter().map(|op| op.operation));
        assert!(patient.fixture.snapshot() == before, "{}", sickness.check);
        // What hangs does so until the fixture ends.
        patient.fixture.heal();
    }
    asked.remove("Sleep");
    assert_eq!(asked, BTreeSet::from(READS));
}
