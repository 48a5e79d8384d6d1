//! Volumes that are LUNs of iSCSI targets, from the login to the logout.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::{Deref, DerefMut};

use os::{Arguments, Value};
use transport::Code;
use wincsi::iscsi::{Authentication, LoginOptions, Portal, SessionInfo, TargetName};
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::testing::TestNode;
use wincsi::sim::{Bus, DiskSpec, IdentifierKind, NodeSpec, Op, SimNode, Start};
use wincsi::system::ServiceName;
use wincsi::{Deadline, NodeApi};
use wincsi_driver::kinds::{self, Row};
use wincsi_driver::kubelet::Request;
use wincsi_driver::life::{CallError, Capacity};

use crate::deaths::{Done, Snapshot, deaths_in, on_all_processors};
use crate::fixture::{STAGING, TARGET};
use crate::iscsi_logins::second_look_fails;
use crate::iscsi_others::lun_by_hand;
use crate::support::requests::{map, request_at, volume};
use crate::support::{DriverFixture, Setup, path};

pub(crate) const OTHER: &str = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\i\2\globalmount";
pub(crate) const ADDRESS: &str = "10.0.0.9";
pub(crate) const IQN: &str = "iqn.2026-01.com.example:data";
const LENGTH: u64 = 64 << 20;

pub(crate) const SETUP: Setup = Setup {
    name: "i",
    kinds: |_: &SimNode| -> Vec<Row> { kinds::table(kinds::Settings::default()) },
};

pub(crate) struct Fixture(DriverFixture);

impl Fixture {
    /// An array with a target of two LUNs.
    pub(crate) fn new() -> Self {
        Self::of(TargetSpec::named(IQN))
    }

    pub(crate) fn of(target: TargetSpec) -> Self {
        Self::with(target, |_| {}, SETUP)
    }

    pub(crate) fn with(
        mut target: TargetSpec,
        change: impl FnOnce(&mut NodeSpec),
        setup: Setup,
    ) -> Self {
        let mut spec = NodeSpec::named("n");
        change(&mut spec);
        let sim = TestNode::of(tempfile::tempdir().unwrap(), &spec);
        for lun in ["a", "b"] {
            let identifier = format!("600140500000000{lun}");
            let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, &identifier);
            target = target.with_disk(lun, disk);
            sim.array().set_image(lun, LENGTH).unwrap();
        }
        let server = ServerSpec::at(ADDRESS).offering(target);
        sim.array().add_server("array", &server).unwrap();
        Self(DriverFixture::on(sim, setup))
    }

    fn revived(&self, left: &Snapshot) -> Self {
        Self(self.0.revived(left))
    }

    pub(crate) fn stage(&self) -> Result<(), CallError> {
        self.stage_lun("v", STAGING, "0", &[])
    }

    pub(crate) fn stage_lun(
        &self,
        handle: &str,
        staging: &str,
        lun: &str,
        secrets: &[(&str, &str)],
    ) -> Result<(), CallError> {
        let call = self.call();
        let secrets = map(secrets);
        request((handle, staging), (IQN, lun), &secrets, |request| {
            call.stage(request)
        })
    }

    /// Another target of the array, with one LUN.
    pub(crate) fn add_target(&self, image: &str, target: TargetSpec) {
        self.array().set_image(image, LENGTH).unwrap();
        let disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, "6001405000000009");
        let target = target.with_disk(image, disk);
        let change = |server: &mut ServerSpec| server.target.push(target);
        self.array().change_server("array", change).unwrap();
    }

    pub(crate) fn stage_target(
        &self,
        handle: &str,
        staging: &str,
        iqn: &str,
        secrets: &[(&str, &str)],
    ) -> Result<(), CallError> {
        let call = self.call();
        request((handle, staging), (iqn, "0"), &map(secrets), |request| {
            call.stage(request)
        })
    }

    pub(crate) fn publish(&self) -> Result<(), CallError> {
        let call = self.call();
        request(("v", STAGING), (IQN, "0"), &BTreeMap::new(), |request| {
            call.publish(request)
        })
    }

    fn expand(&self) -> Result<u64, CallError> {
        self.call()
            .expand(&volume("v"), TARGET, Capacity::default())
    }

    pub(crate) fn unstage(&self) -> Result<(), CallError> {
        self.unstage_of("v", STAGING)
    }

    pub(crate) fn unstage_of(&self, handle: &str, staging: &str) -> Result<(), CallError> {
        self.call().unstage(&volume(handle), &path(staging).into())
    }

    pub(crate) fn put_away(&self) {
        let target = path(TARGET).into();
        self.call().unpublish(&volume("v"), &target).unwrap();
        self.unstage().unwrap();
    }

    pub(crate) fn sessions(&self) -> Vec<SessionInfo> {
        NodeApi::iscsi(&self.hand).sessions(self.soon()).unwrap()
    }

    /// Nothing is left of a volume: neither record, lease, session nor portal.
    pub(crate) fn assert_put_away(&self, what: &str) {
        let files = fs::read_dir(self.records_folder()).unwrap().flatten();
        let left: Vec<_> = files
            .map(|file| file.file_name().into_string().unwrap())
            .filter(|name| name != "lock")
            .collect();
        assert_eq!(left, [""; 0], "{what}");
        if self.initiator_runs() {
            assert_eq!(self.sessions(), [], "{what}");
            let portals = NodeApi::iscsi(&self.hand).portals(self.soon()).unwrap();
            assert_eq!(portals, [], "{what}");
        }
    }

    fn initiator_runs(&self) -> bool {
        NodeApi::iscsi(&self.hand).sessions(self.soon()).is_ok()
    }
}

impl Deref for Fixture {
    type Target = DriverFixture;

    fn deref(&self) -> &DriverFixture {
        &self.0
    }
}

impl DerefMut for Fixture {
    fn deref_mut(&mut self) -> &mut DriverFixture {
        &mut self.0
    }
}

/// As democratic-csi writes it.
pub(crate) fn request<T>(
    at: (&str, &str),
    lun: (&str, &str),
    secrets: &BTreeMap<String, String>,
    call: impl FnOnce(&Request<'_>) -> T,
) -> T {
    request_by("10.0.0.9:3260", at, lun, secrets, call)
}

pub(crate) fn request_by<T>(
    portal: &str,
    (handle, staging): (&str, &str),
    (iqn, lun): (&str, &str),
    secrets: &BTreeMap<String, String>,
    call: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let context = map(&[
        ("node_attach_driver", "iscsi"),
        ("portal", portal),
        ("portals", ""),
        ("interface", ""),
        ("iqn", iqn),
        ("lun", lun),
    ]);
    request_at(handle, [staging, TARGET], &context, secrets, call)
}

#[test]
fn a_lun_lives_and_dies_at_each_operation() {
    type Calls = fn(&Fixture) -> Done;
    let calls: [(&str, Calls); 4] = [
        ("stage", |fixture| Ok(fixture.stage()?)),
        ("publish", |fixture| Ok(fixture.publish()?)),
        ("expand", |fixture| Ok(fixture.expand().map(drop)?)),
        ("unstage", |fixture| Ok(fixture.unstage()?)),
    ];
    for (at, (name, call)) in calls.into_iter().enumerate() {
        let fixture = Fixture::new();
        let before = if name == "unstage" { 1 } else { 2 };
        for (_, before) in calls[..at].iter().take(before) {
            before(&fixture).unwrap();
        }
        let deaths = BTreeSet::from_iter(deaths_in(&fixture, name, call));
        on_all_processors(&Vec::from_iter(deaths), |left| {
            let repeated = fixture.revived(left);
            call(&repeated).unwrap();
            repeated.put_away();
            repeated.assert_put_away(name);
            let deleted = fixture.revived(left);
            deleted.put_away();
            deleted.assert_put_away(name);
        });
    }
}

#[test]
fn a_session_of_a_death_after_a_reboot_is_ended() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.reboot();
    let deaths = deaths_in(&fixture, "stage", |fixture| Ok(fixture.stage()?));
    on_all_processors(&Vec::from_iter(BTreeSet::from_iter(deaths)), |left| {
        let deleted = fixture.revived(left);
        deleted.put_away();
        deleted.assert_put_away("deleted");
    });
}

/// The session of the target, if there is one.
pub(crate) fn session(fixture: &Fixture) -> Option<String> {
    let mut sessions = fixture.sessions().into_iter();
    let session = sessions.next().map(|session| session.id);
    assert_eq!(sessions.next(), None);
    session
}

#[test]
fn volumes_of_a_target_share_a_session_to_the_last() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    let made = session(&fixture).unwrap();
    fixture.stage_lun("w", OTHER, "1", &[]).unwrap();
    assert_eq!(session(&fixture).as_ref(), Some(&made));
    fixture.unstage().unwrap();
    assert_eq!(session(&fixture).as_ref(), Some(&made), "w uses it");
    // The lease tells the next process that the session is the driver's.
    fixture.stop_driver();
    fixture.restart_driver();
    fixture.unstage_of("w", OTHER).unwrap();
    fixture.assert_put_away("both");
}

/// The session of the one made now brings the disk of the other one online again, which so keeps it to the end.
#[test]
fn a_session_stays_for_a_record_of_an_earlier_boot() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.reboot();
    fixture.stage_lun("w", OTHER, "1", &[]).unwrap();
    fixture.unstage_of("w", OTHER).unwrap();
    assert_eq!(fixture.sessions().len(), 1, "v has a record");
    fixture.unstage().unwrap();
    fixture.assert_put_away("both");
}

const MORE: &str = "iqn.2026-01.com.example:more";

/// Two portals of an array, each of which tells of both targets.
fn of_two_portals() -> Fixture {
    let fixture = Fixture::new();
    let change = |server: &mut ServerSpec| server.addresses.push(String::from("10.0.0.8"));
    fixture.array().change_server("array", change).unwrap();
    fixture.add_target("c", TargetSpec::named(MORE));
    fixture
}

/// By the second portal, if it answers.
fn stage_more(fixture: &Fixture) {
    let portals = "10.0.0.8,10.0.0.9";
    let more = map(&[("iqn", MORE), ("lun", "0"), ("portals", portals)]);
    let (call, none) = (fixture.call(), BTreeMap::new());
    let staged = request_at("w", [OTHER, TARGET], &more, &none, |request| {
        call.stage(request)
    });
    staged.unwrap();
}

/// By which portal the session of w goes is not known: that of v stays, and then goes with w.
#[test]
fn a_portal_that_stays_is_of_the_session_through_it() {
    for restarts in [false, true] {
        let mut fixture = of_two_portals();
        fixture.stage().unwrap();
        fixture.fault(second_look_fails());
        stage_more(&fixture);
        fixture.unstage().unwrap();
        assert_eq!(known_portals(&fixture).len(), 2);
        if restarts {
            fixture.restart_driver();
        }
        fixture.unstage_of("w", OTHER).unwrap();
        fixture.assert_put_away("both");
    }
}

#[test]
fn a_portal_goes_with_its_own_session_or_its_successor() {
    let mut fixture = of_two_portals();
    fixture.stage().unwrap();
    stage_more(&fixture);
    fixture.unstage().unwrap();
    assert_eq!(
        known_portals(&fixture),
        ["10.0.0.8"],
        "w is not through the other one"
    );
    // After a reboot the first is dead, and the second serves in its place.
    let first_dies = |server: &mut ServerSpec| server.addresses.truncate(1);
    fixture.array().change_server("array", first_dies).unwrap();
    fixture.stage().unwrap();
    fixture.reboot();
    stage_more(&fixture);
    assert_eq!(known_portals(&fixture), ["10.0.0.9"]);
    // Who added it leaves first: it goes with the other.
    fixture.unstage().unwrap();
    assert_eq!(known_portals(&fixture), ["10.0.0.9"]);
    fixture.unstage_of("w", OTHER).unwrap();
    fixture.assert_put_away("both");
}

/// Since the boot it has told of no target, so that nobody's session is through it.
/// Guards: P84
#[test]
fn a_dead_portal_keeps_no_unstage_beside_strangers() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.array().set_down("array", true).unwrap();
    fixture.reboot();
    let target = TargetSpec::named("iqn.2026-01.com.example:theirs");
    let server = ServerSpec::at("10.0.0.7").offering(target);
    fixture.array().add_server("theirs", &server).unwrap();
    log_in_at(&fixture, "10.0.0.7", "iqn.2026-01.com.example:theirs");
    fixture.unstage().unwrap();
    assert_eq!(known_portals(&fixture), ["10.0.0.7"]);
    assert_eq!(fixture.sessions().len(), 1, "theirs");
}

pub(crate) fn known_portals(fixture: &Fixture) -> Vec<String> {
    let portals = NodeApi::iscsi(&fixture.hand).portals(fixture.soon());
    portals.unwrap().into_iter().map(|(host, _)| host).collect()
}

/// A stranger's login, and portal.
pub(crate) fn log_in_by_hand(fixture: &Fixture) -> String {
    log_in_at(fixture, ADDRESS, IQN);
    session(fixture).unwrap()
}

pub(crate) fn start_initiator(fixture: &Fixture) {
    let (system, soon) = (NodeApi::system(&fixture.hand), fixture.soon());
    let service = ServiceName::parse("MSiSCSI").unwrap();
    system.start_service(&service, soon).unwrap();
}

/// A second session to the target.
pub(crate) fn log_in_beside(fixture: &Fixture) {
    let login = Arguments::none()
        .with("NodeAddress", Value::text(IQN))
        .with("IsMultipathEnabled", Value::Bool(true));
    let (on, os) = (os::Target::Class("MSFT_iSCSITarget"), fixture.os());
    let made = os.iscsi.invoke(on, "Connect", &login, Deadline::NEVER);
    made.unwrap();
}

pub(crate) fn log_in_at(fixture: &Fixture, address: &str, iqn: &str) {
    log_in_as(fixture, address, iqn, Lasts::OverBoots);
}

/// How long a login lasts.
#[derive(Clone, Copy)]
pub(crate) enum Lasts {
    OverBoots,
    UntilBoot,
}

pub(crate) fn log_in_as(fixture: &Fixture, address: &str, iqn: &str, lasts: Lasts) {
    let (iscsi, soon) = (NodeApi::iscsi(&fixture.hand), fixture.soon());
    let (portal, target) = (
        Portal::parse(address, 0).unwrap(),
        TargetName::parse(iqn).unwrap(),
    );
    start_initiator(fixture);
    let none = Authentication::None;
    iscsi.add_portal(&portal, &none, soon).unwrap();
    let persistent = LoginOptions::default().with_persistent(matches!(lasts, Lasts::OverBoots));
    iscsi
        .connect_with(&portal, &target, &none, &persistent, soon)
        .unwrap();
}

/// Guards: P84
#[test]
fn a_strangers_session_serves_and_stays_as_it_is() {
    let fixture = Fixture::new();
    let theirs = log_in_by_hand(&fixture);
    fixture.stage().unwrap();
    fixture.unstage().unwrap();
    let [left] = &fixture.sessions()[..] else {
        panic!("one session");
    };
    assert_eq!((&left.id, left.is_persistent), (&theirs, Some(true)));
    let portals = NodeApi::iscsi(&fixture.hand).portals(fixture.soon());
    assert_eq!(portals.unwrap().len(), 1, "their portal stays");
}

/// Without MPIO a second session brings a second disk, and nothing tells which of both is in use.
#[test]
fn a_second_session_is_refused_with_both_disks_and_mpio() {
    let fixture = Fixture::new();
    log_in_by_hand(&fixture);
    log_in_beside(&fixture);
    let refused = fixture.stage().unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let text = refused.to_string();
    assert!(
        text.contains("not one disk but 2") && text.contains("MPIO"),
        "{text}"
    );
    assert_eq!(fixture.sessions().len(), 2, "both are others'");
}

#[test]
fn a_disabled_initiator_refuses_a_stage_and_no_unstage() {
    let disable = |spec: &mut NodeSpec| {
        let mut services = spec.service.iter_mut();
        let initiator = services.find(|service| service.name == "MSiSCSI");
        initiator.unwrap().start = Start::Disabled;
    };
    let fixture = Fixture::with(TargetSpec::named(IQN), disable, SETUP);
    let refused = fixture.stage().unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    assert!(
        refused.to_string().contains("Set-Service MSiSCSI"),
        "{refused}"
    );
    fixture.unstage().unwrap();
    fixture.assert_put_away("disabled");
}

/// The LUN has another image behind its number after the reboot.
/// Guards: P86
#[test]
fn another_disk_behind_the_number_is_not_touched() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish().unwrap();
    fixture.stop_driver();
    exchange(&fixture);
    fixture.restart_driver();
    fixture.reboot();
    let trace = fixture.trace(|| {
        let refused = fixture.stage().unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        assert!(
            refused.to_string().contains("is in place of the disk"),
            "{refused}"
        );
    });
    let changes = ["Online", "Initialize", "CreatePartition", "Format"];
    let is_change = |op: &&Op| changes.iter().any(|change| op.operation.ends_with(change));
    assert_eq!(trace.iter().find(is_change), None);
    fixture.put_away();
}

/// Both LUNs of the target have the other one's number.
fn exchange(fixture: &Fixture) {
    let change = |server: &mut ServerSpec| {
        let luns = &mut server.target[0].lun;
        luns.swap(0, 1);
        for (number, lun) in (0..).zip(luns) {
            lun.number = number;
        }
    };
    fixture.array().change_server("array", change).unwrap();
}

/// A clone has the same volumes, so that they do not tell it from the disk that was staged.
/// Guards: P86
#[test]
fn a_clone_behind_the_number_is_not_the_disk() {
    let fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.publish().unwrap();
    let [staged, clone] = ["a", "c"].map(|image| fixture.array().image(image));
    fs::copy(staged, clone).unwrap();
    fixture.array().set_image("c", 2 * LENGTH).unwrap();
    let change = |server: &mut ServerSpec| {
        let lun = &mut server.target[0].lun[0];
        "c".clone_into(&mut lun.image);
        lun.disk = DiskSpec::on(Bus::Iscsi).identified(IdentifierKind::Naa, "600140500000000c");
    };
    fixture.array().change_server("array", change).unwrap();
    let before = fs::read(fixture.array().image("c")).unwrap();
    let assert_refused = |call: &dyn Fn(&Fixture) -> Result<(), CallError>| {
        let refused = call(&fixture).unwrap_err().to_string();
        assert!(refused.contains("is in place of the disk"), "{refused}");
    };
    assert_refused(&Fixture::stage);
    assert_refused(&Fixture::publish);
    // Online it has the volume that was staged, and where it was.
    let (clone, soon) = (lun_by_hand(&fixture, 0), fixture.soon());
    let (disks, volumes) = (
        NodeApi::disks(&fixture.hand),
        NodeApi::volumes(&fixture.hand),
    );
    disks.bring_online(&clone, soon).unwrap();
    volumes.find_on(&clone, soon).unwrap();
    assert_refused(&Fixture::publish);
    assert_refused(&|fixture| fixture.expand().map(drop));
    assert_refused(&Fixture::stage);
    let after = fs::read(fixture.array().image("c")).unwrap();
    assert!(before == after, "it was written to");
}

/// The folder of the mount is there after a reboot and leads nowhere: kubelet could not make it.
#[test]
fn democratic_csi_342_kubelet_makes_its_folder() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    fixture.array().set_down("array", true).unwrap();
    fixture.reboot();
    assert!(fixture.exists(STAGING), "it leads nowhere");
    fixture.restart_driver();
    assert_eq!(fixture.reconcile().removed.len(), 1);
    fixture.make_directory(STAGING);
    fixture.array().set_down("array", false).unwrap();
    fixture.stage().unwrap();
    fixture.put_away();
    fixture.assert_put_away("after the reboot");
}

#[test]
fn a_lost_array_is_abnormal_and_no_volume_is_stuck() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    let stats = |fixture: &Fixture| {
        let call = fixture.call();
        call.stats(&volume("v"), STAGING).unwrap().abnormal
    };
    assert_eq!(stats(&fixture), None);
    fixture.array().set_down("array", true).unwrap();
    let lost = stats(&fixture).unwrap();
    assert!(
        lost.contains("by portal 10.0.0.9:3260 is not connected"),
        "{lost}"
    );
    let refused = fixture.publish().unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    fixture.array().set_down("array", false).unwrap();
    fixture.reboot();
    fixture.stage().unwrap();
    assert_eq!(stats(&fixture), None);
    fixture.array().set_down("array", true).unwrap();
    fixture.put_away();
    fixture.assert_put_away("lost");
}
