//! Calls with late answers, or none.

use std::thread;

use os::schema::{disk, smb_global_mapping};
use os::{Cause, Deadline, Provider, Query};
use os_sim::{Effect, Rule};
use wincsi_os_windows_testkit::{On, OutParameters, Trouble};

use crate::provider_fixture::{A_MOMENT, ProviderFixture, TIMEOUT, gpt};

/// As the gate of the simulated node names it.
const INITIALISE: &str = "MSFT_Disk.Initialize";
const QUERY: &str = "IWbemServices.ExecQuery";

/// More calls than there are threads to make them.
const MANY: usize = 12;

#[test]
fn an_answer_that_is_late_is_waited_for() {
    let fixture = ProviderFixture::new();
    fixture.wmi.inject(On::Query, Trouble::Late(5));
    assert_eq!(fixture.disks().expect("disks").len(), 2);
    // The one for the disk's path, then the method.
    fixture.wmi.inject(On::Query, Trouble::Late(1));
    fixture.wmi.inject(On::Method, Trouble::Late(7));
    assert_eq!(
        fixture
            .initialise(Deadline::NEVER)
            .expect("an outcome")
            .code,
        0
    );
    assert!(fixture.is_initialised());
}

#[test]
fn many_objects_come_in_several_batches() {
    let fixture = ProviderFixture::new();
    for disk in 2..50 {
        let spec = os_sim::DiskSpec::on(os_sim::Bus::Sas).lun(disk);
        let blank = os_sim::Content::blank(1 << 30);
        let plugged = fixture
            .node
            .hardware()
            .attach_disk(&disk.to_string(), &spec, &blank);
        plugged.expect("a disk");
    }
    fixture.rescan();
    let mut found = fixture.disks().expect("disks");
    assert_eq!(found.len(), 50);
    found.sort_by_key(|disk| disk.path.clone());
    found.dedup_by_key(|disk| disk.path.clone());
    assert_eq!(found.len(), 50);
}

/// Repeats until the deadline ended a call hung in the provider: on a busy machine it may pass
/// before the call begins, and then the call never does.
fn times_out<T: std::fmt::Debug>(
    fixture: &ProviderFixture,
    ask: impl Fn(Deadline) -> os::Result<T>,
) {
    let mut moment = A_MOMENT;
    loop {
        let error = ask(Deadline::within(&*fixture.clock, moment)).expect_err("no end");
        assert_eq!(error.cause, Cause::TimedOut);
        if fixture.node.faults().wait_until_hanging(1, moment) {
            return;
        }
        moment *= 2;
        assert!(moment < TIMEOUT, "it does not hang");
    }
}

#[test]
fn a_query_that_does_not_end_is_given_up_at_its_deadline() {
    let fixture = ProviderFixture::new();
    let hang = fixture.node.faults().add(Rule::on(QUERY, Effect::Hang));
    let query = Query::all(disk::CLASS.name, &[]);
    times_out(&fixture, |deadline| fixture.native.query(&query, deadline));
    // Its enumerator is released: WMI notices by this; the provider may go on.
    let begun = fixture.clock.now();
    while !fixture
        .wmi
        .wait_for_objects(fixture.wmi.connections(), A_MOMENT)
    {
        assert!(
            begun.until(fixture.clock.now()) < TIMEOUT,
            "it is still held"
        );
    }
    fixture.node.faults().remove(hang);
    assert_eq!(fixture.disks().expect("disks").len(), 2);
}

#[test]
fn a_method_whose_deadline_passes_goes_on_to_its_end() {
    let fixture = ProviderFixture::new();
    let hang = fixture
        .node
        .faults()
        .add(Rule::on(INITIALISE, Effect::Hang));
    let path = fixture.disk().path;
    times_out(&fixture, |deadline| {
        fixture.call(&path, disk::INITIALIZE.name, &gpt(), deadline)
    });
    assert!(!fixture.is_initialised());
    fixture.node.faults().remove(hang);
    fixture.wait_until_initialised();
}

#[test]
fn a_method_without_a_deadline_is_waited_for_to_its_real_end() {
    let fixture = ProviderFixture::new();
    let hang = fixture
        .node
        .faults()
        .add(Rule::on(INITIALISE, Effect::Hang));
    thread::scope(|scope| {
        let asked = scope.spawn(|| fixture.initialise(Deadline::NEVER));
        assert!(fixture.node.faults().wait_until_hanging(1, TIMEOUT));
        assert!(!asked.is_finished());
        fixture.node.faults().remove(hang);
        let outcome = asked.join().expect("no panic").expect("an outcome");
        assert_eq!(outcome.code, 0);
    });
}

#[test]
fn calls_that_do_not_end_delay_nobody_else() {
    let fixture = ProviderFixture::new();
    let rule = Rule::on(QUERY, Effect::Hang).in_facility(os::Facility::Smb);
    let hang = fixture.node.faults().add(rule);
    let query = Query::all(smb_global_mapping::CLASS.name, &[]);
    thread::scope(|scope| {
        let ask = || fixture.native.query(&query, Deadline::NEVER);
        let asked: Vec<_> = (0..MANY).map(|_| scope.spawn(ask)).collect();
        assert!(fixture.node.faults().wait_until_hanging(MANY, TIMEOUT));
        for _ in 0..10 {
            assert_eq!(fixture.disks().expect("disks").len(), 2);
        }
        assert!(asked.iter().all(|asked| !asked.is_finished()));
        fixture.node.faults().remove(hang);
        for asked in asked {
            assert_eq!(asked.join().expect("no panic"), Ok(Vec::new()));
        }
    });
}

/// As over Wine's own WMI.
#[test]
fn a_method_that_is_called_synchronously_is_answered_as_well() {
    let fixture = ProviderFixture::answering(OutParameters::Parameters);
    assert_eq!(
        fixture
            .initialise(Deadline::NEVER)
            .expect("an outcome")
            .code,
        0
    );
    assert!(fixture.is_initialised());
}
