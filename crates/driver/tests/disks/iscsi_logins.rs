//! Logins to iSCSI targets and their portals: which serves, which are dead, several at once, and what Windows refuses.

use std::thread;
use std::time::Duration;

use transport::Code;
use wincsi::iscsi::{Authentication, Portal};
use wincsi::sim::iscsi::{ServerSpec, TargetSpec};
use wincsi::sim::{Effect, NodeSpec, Op, Rule};
use wincsi::{Deadline, Hresult, NodeApi, Win32};
use wincsi_driver::life::CallError;

use crate::fixture::{STAGING, TARGET};
use crate::iscsi::{
    ADDRESS, Fixture, IQN, OTHER, SETUP, known_portals, log_in_at, log_in_beside, log_in_by_hand,
    session, start_initiator,
};
use crate::support::requests::{map, request_at};

pub(crate) const MORE: &str = "iqn.2026-01.com.example:more";
const CONNECT: &str = "MSFT_iSCSITarget.Connect";
const DISCONNECT: &str = "MSFT_iSCSITarget.Disconnect";
/// The bound of a probe.
const PROBE: Duration = Duration::from_secs(3);
const MINUTE: Duration = Duration::from_secs(60);
/// Longer than a call takes that does not wait.
const WHILE: Duration = Duration::from_millis(500);

type Call = fn(&Fixture) -> Result<(), CallError>;

/// Heals the node at the end, also of a test that fails.
struct Heals<'a>(&'a Fixture);

impl Drop for Heals<'_> {
    fn drop(&mut self) {
        self.0.heal();
    }
}

fn change(fixture: &Fixture, act: impl FnOnce(&mut ServerSpec)) {
    fixture.array().change_server("array", act).unwrap();
}

/// How many of the operations have a name that ends so.
fn count(trace: &[Op], operation: &str) -> usize {
    let is_it = |op: &&Op| op.operation.ends_with(operation);
    trace.iter().filter(is_it).count()
}

/// The text of the one lease.
fn lease(fixture: &Fixture) -> String {
    let mut texts = fixture.copy_of_records().into_values();
    texts.find(|text| text.contains("addedPortal")).unwrap()
}

/// An array of two addresses, one without the target, and one that is down.
fn several() -> Fixture {
    let fixture = Fixture::new();
    change(&fixture, |array| array.addresses.push("10.0.0.8".into()));
    for (name, address) in [("without", "10.0.0.7"), ("dead", "10.0.0.6")] {
        let server = ServerSpec::at(address);
        fixture.array().add_server(name, &server).unwrap();
    }
    fixture.array().set_down("dead", true).unwrap();
    fixture
}

/// Another volume of the target.
fn stage_other(fixture: &Fixture, portals: &str, within: Duration) -> Result<(), CallError> {
    let context = map(&[("iqn", IQN), ("lun", "1"), ("portals", portals)]);
    let call = fixture.volumes().within(within);
    request_at("w", [OTHER, TARGET], &context, &map(&[]), |request| {
        call.stage(request)
    })
}

fn assert_refused(staged: Result<(), CallError>, code: Code, words: &str) {
    let refused = staged.unwrap_err();
    let is_it = refused.code() == code && refused.to_string().contains(words);
    assert!(is_it, "{code:?}, {words}: {refused}");
}

fn unstage_other(fixture: &Fixture) {
    fixture.unstage_of("w", OTHER).unwrap();
}

#[test]
fn portals_are_tried_in_order_and_one_is_leased() {
    for (portals, serves) in [
        ("10.0.0.9,10.0.0.8", "10.0.0.9"),
        ("10.0.0.8,10.0.0.9", "10.0.0.8"),
        ("10.0.0.6,10.0.0.8,10.0.0.9", "10.0.0.8"),
        ("10.0.0.7,10.0.0.6,10.0.0.9", "10.0.0.9"),
    ] {
        let fixture = several();
        stage_other(&fixture, portals, MINUTE).unwrap();
        assert_eq!(known_portals(&fixture), [serves], "{portals}");
        assert!(lease(&fixture).contains(&format!("{serves}:3260")));
        unstage_other(&fixture);
        fixture.assert_put_away(portals);
    }
}

#[test]
fn portals_are_probed_at_once_and_their_death_shared() {
    let fixture = &several();
    let began = fixture.os().clock.now();
    fixture.hang("connect");
    thread::scope(|scope| {
        let _heals = Heals(fixture);
        let portals = "10.0.0.9,10.0.0.8,10.0.0.6";
        let staging = scope.spawn(move || stage_other(fixture, portals, MINUTE));
        fixture.wait_for_hang(3);
        fixture.let_pass(PROBE);
        let words = "10.0.0.9:3260: did not end before its deadline; 10.0.0.8:3260: probe";
        assert_refused(staging.join().unwrap(), Code::Unavailable, words);
    });
    assert!(began.until(fixture.os().clock.now()) < Duration::from_secs(10));
    for (passes, portals, probes) in [
        (0, "10.0.0.8,10.0.0.7", 1),
        (29, ADDRESS, 0),
        (2, ADDRESS, 1),
    ] {
        fixture.let_pass(Duration::from_secs(passes));
        let trace = fixture.trace(|| drop(stage_other(fixture, portals, MINUTE)));
        assert_eq!(count(&trace, "connect"), probes, "{passes} {portals}");
    }
    assert_eq!(known_portals(fixture), [ADDRESS]);
}

#[test]
fn a_call_without_time_calls_no_portal_dead() {
    let fixture = Fixture::new();
    fixture.hang("connect");
    thread::scope(|scope| {
        let _heals = Heals(&fixture);
        let staging = scope.spawn(|| stage_other(&fixture, ADDRESS, PROBE / 2));
        fixture.wait_for_hang(1);
        fixture.let_pass(PROBE / 2);
        staging.join().unwrap().unwrap_err();
    });
    stage_other(&fixture, ADDRESS, MINUTE).unwrap();
}

#[test]
fn discovery_asks_for_a_secret_of_its_own() {
    let fixture = Fixture::new();
    let chap = TargetSpec::named(IQN).asking("node", "0123456789ab").chap;
    change(&fixture, |array| array.discovery = chap);
    let by = |user, secret| {
        [
            ("node.sendtargets.auth.username", user),
            ("node.sendtargets.auth.password", secret),
        ]
    };
    let (right, wrong) = (by("node", "0123456789ab"), by("node", "ba9876543210"));
    for secrets in [&[][..], &wrong, &by("other", "0123456789ab")] {
        let staged = fixture.stage_lun("v", STAGING, "0", secrets);
        assert_refused(staged, Code::Unauthenticated, "10.0.0.9:3260: ");
        fixture.assert_put_away("refused");
    }
    fixture.stage_lun("v", STAGING, "0", &right).unwrap();
    // The session is there, and asks nothing.
    fixture.stage_lun("w", OTHER, "1", &wrong).unwrap();
    unstage_other(&fixture);
    fixture.put_away();
    fixture.assert_put_away("staged");
}

/// The initiator does not know the target of a portal that told of it: 0xefff0029.
#[test]
fn only_an_own_unused_portal_is_added_once_more() {
    let nothing: fn(&mut Fixture) = |_| {};
    let theirs: fn(&mut Fixture) = |fixture| {
        start_initiator(fixture);
        let (portal, none) = (Portal::parse(ADDRESS, 0).unwrap(), Authentication::None);
        let iscsi = NodeApi::iscsi(&fixture.hand);
        iscsi.add_portal(&portal, &none, fixture.soon()).unwrap();
    };
    let used: fn(&mut Fixture) = |fixture| {
        fixture.add_target("c", TargetSpec::named(MORE));
        fixture.stage().unwrap();
        fixture.reboot();
        log_in_at(fixture, ADDRESS, MORE);
    };
    // How often the login fails; how often a login is tried, and the portal removed and added; and whether it stays.
    for (name, prepare, fails, calls, stays) in [
        ("ours", nothing, 1, [2, 1, 2], false),
        ("ours for good", nothing, 9, [2, 2, 2], false),
        ("theirs", theirs, 1, [1, 0, 0], true),
        ("ours, and used", used, 1, [1, 0, 0], true),
    ] {
        let mut fixture = Fixture::new();
        prepare(&mut fixture);
        let unknown = Effect::fail(Hresult(0xEFFF_0029));
        fixture.fault(Rule::on(CONNECT, unknown).times(fails));
        let trace = fixture.trace(|| assert_eq!(fixture.stage().is_ok(), name == "ours", "{name}"));
        let operations = [CONNECT, "TargetPortal.Remove", "TargetPortal.New"];
        assert_eq!(operations.map(|one| count(&trace, one)), calls, "{name}");
        fixture.heal();
        fixture.stage().unwrap();
        fixture.put_away();
        assert_eq!(known_portals(&fixture).len(), usize::from(stays), "{name}");
    }
}

/// The first portal lets nobody log in, and cannot be forgotten at once.
#[test]
fn a_portal_that_stays_for_now_is_forgotten_later() {
    let fixture = several();
    let fails = |operation| Rule::on(operation, Effect::fail(Win32::GEN_FAILURE)).times(1);
    fixture.fault(fails(CONNECT));
    fixture.fault(fails("MSFT_iSCSITargetPortal.Remove"));
    stage_other(&fixture, "10.0.0.8,10.0.0.9", MINUTE).unwrap();
    assert_eq!(known_portals(&fixture).len(), 2);
    unstage_other(&fixture);
    fixture.assert_put_away("both portals");
}

/// Guards: P84
#[test]
fn a_login_that_failed_and_came_through_is_ours() {
    let dies = || Rule::on(CONNECT, Effect::FailAfter(Hresult(0x8007_06BE).into()));
    let is_late = || Rule::on("MSFT_iSCSITargetPortal.New", Effect::Overrun);
    let (stage, unstage): (Call, Call) = (Fixture::stage, Fixture::unstage);
    for (name, fails, call) in [
        ("died", vec![dies()], stage),
        ("died, and unstaged", vec![dies()], unstage),
        ("not looked up", vec![dies(), second_look_fails()], unstage),
        ("its portal late", vec![is_late()], stage),
    ] {
        let fixture = Fixture::new();
        for rule in fails {
            fixture.fault(rule.times(1));
        }
        fixture.stage().unwrap_err();
        call(&fixture).unwrap();
        fixture.put_away();
        fixture.assert_put_away(name);
    }
}

/// Windows goes on with it, has the session later, and has it come back at each boot, though nobody asked for that.
#[test]
fn a_slow_login_that_outlasts_its_call_is_ours() {
    let calls: [Call; 2] = [Fixture::stage, Fixture::unstage];
    for call in calls {
        let fixture = &Fixture::new();
        change(fixture, |array| {
            (array.answers_after_ms, array.first_login_persists) = (60_000, true);
        });
        fixture.hang(CONNECT);
        thread::scope(|scope| {
            let _heals = Heals(fixture);
            let login = scope.spawn(|| fixture.stage());
            fixture.wait_for_hang(1);
            fixture.let_pass(MINUTE);
            assert_refused(login.join().unwrap(), Code::DeadlineExceeded, "");
            let next = scope.spawn(|| call(fixture));
            // Nothing of it begins before the login has ended.
            fixture.hang("MSFT_iSCSITargetPortal.Remove");
            let is_early = fixture.faults().wait_until_hanging(2, WHILE);
            fixture.heal();
            next.join().unwrap().unwrap();
            assert!(!is_early);
        });
        fixture.put_away();
        fixture.assert_put_away("late");
    }
}

/// A portal that takes the connection, and no login, or does not tell of its targets.
#[test]
fn a_portal_that_lets_nobody_log_in_is_passed_over() {
    for silent in [CONNECT, "MSFT_iSCSITargetPortal.New"] {
        let fixture = several();
        let portals = "10.0.0.8,10.0.0.9";
        let fails = Effect::Fail(os::Cause::TimedOut);
        fixture.fault(Rule::on(silent, fails).times(1));
        let stage = || stage_other(&fixture, portals, 2 * MINUTE);
        assert_refused(stage(), Code::DeadlineExceeded, "");
        stage().unwrap();
        assert!(lease(&fixture).contains(r#""portal":"10.0.0.9:3260""#));
    }
}

#[test]
fn a_target_that_is_gone_after_a_reboot_may_return() {
    let mut fixture = Fixture::new();
    fixture.stage().unwrap();
    let before = fixture.array().server("array").unwrap();
    for returns in [true, false] {
        change(&fixture, |array| array.target.clear());
        fixture.reboot();
        assert_refused(fixture.stage(), Code::Unavailable, "10.0.0.9:3260: ");
        if returns {
            change(&fixture, |array| *array = before.clone());
            fixture.publish().unwrap();
        }
    }
    fixture.put_away();
    fixture.assert_put_away("gone");
}

#[test]
fn an_mpio_disk_is_one_and_keeps_its_paths() {
    for is_first_ours in [false, true] {
        let mpio = |spec: &mut NodeSpec| spec.storage.multipath = true;
        let fixture = Fixture::with(TargetSpec::named(IQN), mpio, SETUP);
        match is_first_ours {
            true => fixture.stage().unwrap(),
            false => drop(log_in_by_hand(&fixture)),
        }
        log_in_beside(&fixture);
        let mut paths = fixture.sessions();
        fixture.stage().unwrap();
        fixture.publish().unwrap();
        fixture.put_away();
        if is_first_ours {
            paths.remove(0);
        }
        assert_eq!(fixture.sessions(), paths, "{is_first_ours}");
        assert_eq!(known_portals(&fixture), [ADDRESS], "{is_first_ours}");
    }
}

/// A stage beside a call that is within such an operation waits for it. How many logins there are.
fn logins_beside(fixture: &Fixture, operation: &str, call: Call) -> usize {
    fixture.hang(operation);
    let trace = fixture.trace(|| {
        thread::scope(|scope| {
            let _heals = Heals(fixture);
            let first = scope.spawn(|| call(fixture));
            fixture.wait_for_hang(1);
            fixture.fault(Rule::on("*.ExecQuery", Effect::Hang).object("MSFT_iSCSISession"));
            let next = scope.spawn(|| stage_other(fixture, ADDRESS, MINUTE));
            let is_early = fixture.faults().wait_until_hanging(2, WHILE);
            fixture.heal();
            first.join().unwrap().unwrap();
            next.join().unwrap().unwrap();
            assert!(!is_early, "{operation}");
        });
    });
    count(&trace, CONNECT)
}

#[test]
fn volumes_that_come_and_go_at_once_log_in_once() {
    let fixture = Fixture::new();
    assert_eq!(logins_beside(&fixture, CONNECT, Fixture::stage), 1);
    unstage_other(&fixture);
    let first = session(&fixture);
    assert_eq!(logins_beside(&fixture, DISCONNECT, Fixture::unstage), 1);
    assert_ne!(session(&fixture), first);
    unstage_other(&fixture);
    fixture.assert_put_away("both");
}

/// The first look at the sessions is before the login.
pub(crate) fn second_look_fails() -> Rule {
    let fails = Rule::on("*.ExecQuery", Effect::fail(Win32::GEN_FAILURE)).from_nth(2);
    fails.object("MSFT_iSCSISession").times(1)
}

#[test]
fn a_login_that_is_not_looked_up_is_ended() {
    for has_next in [false, true] {
        let fixture = Fixture::new();
        fixture.fault(second_look_fails());
        fixture.stage().unwrap();
        assert!(!lease(&fixture).contains(r#""session":"#));
        if has_next {
            stage_other(&fixture, ADDRESS, MINUTE).unwrap();
            assert!(lease(&fixture).contains(&session(&fixture).unwrap()));
            unstage_other(&fixture);
        }
        fixture.unstage().unwrap();
        fixture.assert_put_away("both");
    }
}

#[test]
fn a_strangers_session_serves_by_a_portal_of_ours() {
    let mut fixture = Fixture::new();
    fixture.fault(Rule::on(CONNECT, Effect::Hang).times(1));
    let theirs = thread::scope(|scope| {
        let _heals = Heals(&fixture);
        let staging = scope.spawn(|| fixture.stage());
        fixture.wait_for_hang(1);
        let theirs = log_in_by_hand(&fixture);
        fixture.heal();
        staging.join().unwrap().unwrap();
        theirs
    });
    stage_other(&fixture, ADDRESS, MINUTE).unwrap();
    unstage_other(&fixture);
    assert_eq!(session(&fixture), Some(theirs));
    // Their session is gone, and the portal then is the driver's to forget.
    fixture.array().set_down("array", true).unwrap();
    fixture.reboot();
    start_initiator(&fixture);
    assert_eq!(known_portals(&fixture), [ADDRESS]);
    fixture.unstage().unwrap();
    fixture.assert_put_away("theirs");
}

#[test]
fn a_volume_keeps_its_target_until_it_is_unstaged() {
    let fixture = Fixture::new();
    fixture.add_target("c", TargetSpec::named(MORE));
    let fails = Rule::on(DISCONNECT, Effect::fail(Win32::GEN_FAILURE));
    fixture.fault(fails.times(1));
    let calls: [(Call, bool); 2] = [(Fixture::stage, true), (Fixture::unstage, false)];
    for (call, ends_well) in calls {
        assert_eq!(call(&fixture).is_ok(), ends_well);
        let refused = fixture.stage_target("v", STAGING, MORE, &[]);
        assert_refused(refused, Code::Unavailable, "with another disk");
        assert_eq!(fixture.sessions()[0].target, IQN);
    }
    fixture.unstage().unwrap();
    fixture.stage_target("v", STAGING, MORE, &[]).unwrap();
    assert_eq!(fixture.sessions()[0].target, MORE);
    fixture.unstage().unwrap();
    fixture.assert_put_away("both");
}

/// What Windows refuses for good keeps no volume, and what it refuses once is repeated.
#[test]
fn an_unstage_ends_beside_what_windows_refuses() {
    let stopped = Effect::fail(Hresult(0xEFFF_003E));
    let disabled = Effect::fail(Win32::SERVICE_DISABLED);
    let no_service = Effect::fail(Win32::NO_SUCH_SERVICE);
    // How often an operation fails, in which call the unstage ends, and how many sessions and portals stay.
    for (operation, effect, fails, ends, stay) in [
        ("MSFT_iSCSITargetPortal.Remove", &stopped, 9, 1, [0, 1]),
        (DISCONNECT, &stopped, 1, 2, [0, 0]),
        ("StartServiceW", &disabled, 9, 1, [1, 1]),
        ("QueryServiceStatusEx", &no_service, 9, 1, [1, 1]),
    ] {
        let fixture = Fixture::new();
        fixture.stage().unwrap();
        if operation == "StartServiceW" {
            let services = fixture.os().services;
            services.stop("MSiSCSI", Deadline::NEVER).unwrap();
        }
        fixture.fault(Rule::on(operation, effect.clone()).times(fails));
        for call in 1..=ends {
            let code = fixture.unstage().map_err(|refused| refused.code());
            let repeated = (call < ends).then_some(Code::Unavailable);
            assert_eq!(code.err(), repeated, "{operation}");
        }
        fixture.heal();
        start_initiator(&fixture);
        let found = [fixture.sessions().len(), known_portals(&fixture).len()];
        // The lease of a session that stays, for a later volume.
        let files = fixture.record_files().len();
        assert_eq!((found, files), (stay, stay[0]), "{operation}");
    }
}
