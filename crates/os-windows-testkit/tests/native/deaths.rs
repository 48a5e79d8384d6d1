//! Dying connections, before a call, during it, and with many calls at once.

use std::thread;

use os::schema::smb_global_mapping;
use os::{Cause, Deadline, Hresult, Provider, Query};
use os_sim::{Effect, Rule};
use wincsi_os_windows_testkit::{On, Trouble};

use crate::provider_fixture::{CUT, ProviderFixture, THREADS, TIMEOUT, UNSENT};

const INITIALISE: &str = "MSFT_Disk.Initialize";
const REFRESH: &str = "MSFT_Disk.Refresh";

/// `WBEM_E_TRANSPORT_FAILURE`, `WBEM_E_SHUTTING_DOWN`, `RPC_E_SERVER_DIED`, `RPC_E_SERVER_DIED_DNE`,
/// `OR_INVALID_OXID`, `OR_INVALID_OID`.
const OTHER_DEATHS: [Hresult; 6] = [
    Hresult(0x8004_1015),
    Hresult(0x8004_1033),
    Hresult(0x8001_0007),
    Hresult(0x8001_0012),
    Hresult(0x8007_0776),
    Hresult(0x8007_0777),
];

/// `RPC_X_BAD_STUB_DATA`, `RPC_E_TIMEOUT`: codes of RPC that leave open whether the connection is gone.
const DOUBTS: [Hresult; 2] = [Hresult(0x8007_06F7), Hresult(0x8001_011F)];

fn deaths() -> impl Iterator<Item = Hresult> {
    [UNSENT, CUT].into_iter().chain(OTHER_DEATHS)
}

#[test]
fn a_connection_that_died_is_replaced_and_nobody_notices() {
    let fixture = ProviderFixture::new();
    fixture.refresh().expect("a method");
    let before = fixture.wmi.connections();
    fixture.wmi.restart(UNSENT);
    assert_eq!(fixture.disks().expect("disks").len(), 2);
    assert_eq!(fixture.wmi.connections(), before + 1);
    fixture.wmi.restart(UNSENT);
    assert_eq!(fixture.rescan().code, 0);
    assert_eq!(fixture.wmi.connections(), before + 2);
}

#[test]
fn a_query_that_dies_under_way_is_asked_again_and_answered_once() {
    let fixture = ProviderFixture::new();
    for code in deaths() {
        fixture.wmi.inject(On::Query, Trouble::Cut(code));
        assert_eq!(fixture.disks().expect("disks").len(), 2, "{code}");
    }
    // One for each thread, and one for each death.
    let made = fixture.wmi.connections();
    assert!(made <= THREADS + deaths().count(), "{made}");
}

#[test]
fn a_query_that_dies_twice_is_an_error() {
    let fixture = ProviderFixture::new();
    fixture.wmi.inject(On::Query, Trouble::Cut(CUT));
    fixture.wmi.inject(On::Query, Trouble::Cut(CUT));
    let error = fixture.disks().expect_err("dead twice");
    assert_eq!(error.cause, Cause::Hresult(CUT));
    assert_eq!(fixture.disks().expect("disks").len(), 2);
}

/// Even if the code says that nothing was sent: it belongs to the query for the end.
#[test]
fn a_method_that_dies_under_way_is_an_error_and_is_not_repeated() {
    for code in deaths() {
        let fixture = ProviderFixture::new();
        fixture.disk();
        fixture.node.take_trace();
        fixture.wmi.inject(On::Method, Trouble::Cut(code));
        let error = fixture.initialise(Deadline::NEVER).expect_err("cut");
        assert_eq!(error.cause, Cause::Hresult(code));
        assert_eq!(fixture.times(INITIALISE), 1, "{code}");
        assert!(fixture.is_initialised(), "{code}");
    }
}

#[test]
fn a_method_that_runs_when_its_connection_dies_goes_on_to_its_end() {
    let fixture = ProviderFixture::new();
    let hang = fixture
        .node
        .faults()
        .add(Rule::on(INITIALISE, Effect::Hang));
    thread::scope(|scope| {
        let asked = scope.spawn(|| fixture.initialise(Deadline::NEVER));
        assert!(fixture.node.faults().wait_until_hanging(1, TIMEOUT));
        fixture.wmi.restart(UNSENT);
        let error = asked.join().expect("no panic").expect_err("dead");
        assert_eq!(error.cause, Cause::Hresult(UNSENT));
    });
    fixture.node.faults().remove(hang);
    fixture.wait_until_initialised();
    assert_eq!(fixture.times(INITIALISE), 1);
}

#[test]
fn a_method_that_never_left_is_sent_once_more() {
    let fixture = ProviderFixture::new();
    fixture.disk();
    fixture.node.take_trace();
    fixture.wmi.inject(On::Method, Trouble::Unsent(UNSENT));
    assert_eq!(
        fixture
            .initialise(Deadline::NEVER)
            .expect("an outcome")
            .code,
        0
    );
    assert_eq!(fixture.times(INITIALISE), 1);
}

/// A definition is fetched before the method is sent, so it may be fetched again after any code.
#[test]
fn a_method_whose_definition_could_not_be_fetched_was_never_sent() {
    for code in deaths() {
        let fixture = ProviderFixture::new();
        fixture.disk();
        fixture.node.take_trace();
        fixture.wmi.inject(On::Definition, Trouble::Unsent(code));
        let outcome = fixture.initialise(Deadline::NEVER);
        assert_eq!(outcome.expect("an outcome").code, 0, "{code}");
        assert_eq!(fixture.times(INITIALISE), 1, "{code}");
    }
}

#[test]
fn a_connection_that_dies_at_its_first_call_is_not_kept() {
    let fixture = ProviderFixture::new();
    for _ in 0..10 {
        // The open connection, then its replacement.
        fixture.wmi.inject(On::Query, Trouble::Unsent(UNSENT));
        fixture.wmi.inject(On::Query, Trouble::Unsent(CUT));
        let error = fixture.disks().expect_err("dead twice");
        assert_eq!(error.cause, Cause::Hresult(CUT));
        assert_eq!(fixture.rescan().code, 0);
    }
}

#[test]
fn a_connection_in_doubt_is_replaced_and_its_call_is_not_repeated() {
    let fixture = ProviderFixture::new();
    let calls = THREADS + 1;
    for code in DOUBTS {
        for _ in 0..calls {
            fixture.wmi.inject(On::Query, Trouble::Cut(code));
            let error = fixture.disks().expect_err("in doubt");
            assert_eq!(error.cause, Cause::Hresult(code));
        }
    }
    assert_eq!(fixture.disks().expect("disks").len(), 2);
    let made = fixture.wmi.connections();
    assert!(made > calls * DOUBTS.len(), "{made}");
}

#[test]
fn a_failure_that_is_no_death_keeps_the_connection() {
    let fixture = ProviderFixture::new();
    let failing = Effect::fail(Hresult::WBEM_E_ACCESS_DENIED);
    fixture.node.faults().add(Rule::on(REFRESH, failing));
    for _ in 0..50 {
        let error = fixture.refresh().expect_err("denied");
        assert_eq!(error.cause, Cause::Hresult(Hresult::WBEM_E_ACCESS_DENIED));
    }
    let made = fixture.wmi.connections();
    assert!(made <= THREADS, "{made}");
}

/// More calls under way than threads, so several die with one connection.
#[test]
fn calls_that_die_with_one_connection_share_the_next() {
    let fixture = ProviderFixture::new();
    let rule = Rule::on("IWbemServices.ExecQuery", Effect::Hang).in_facility(os::Facility::Smb);
    let hang = fixture.node.faults().add(rule);
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    let calls = 16;
    thread::scope(|scope| {
        let ask = || fixture.native.query(&query, Deadline::NEVER);
        let asked: Vec<_> = (0..calls).map(|_| scope.spawn(ask)).collect();
        assert!(fixture.node.faults().wait_until_hanging(calls, TIMEOUT));
        let before = fixture.wmi.connections();
        fixture.wmi.restart(CUT);
        assert!(fixture.node.faults().wait_until_hanging(2 * calls, TIMEOUT));
        fixture.node.faults().remove(hang);
        for asked in asked {
            assert_eq!(asked.join().expect("no panic"), Ok(Vec::new()));
        }
        let made = fixture.wmi.connections() - before;
        assert!(made <= THREADS, "{made}");
    });
}
