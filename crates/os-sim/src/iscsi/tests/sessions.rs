use std::time::Duration;

use os::schema::iscsi_associations::{connection_to_disk, session_to_disk};
use os::schema::{disk, iscsi_codes, iscsi_session};
use os::{Arguments, Deadline, DiskNumber, Query, Target, Value, VolumeId};

use super::{Bench, GIB, OPEN, failing, login};
use crate::{Effect, Kill, Rule};

#[test]
fn a_session_brings_the_disk_and_takes_it_along() {
    let bench = Bench::discovered();
    assert_eq!(bench.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    assert_eq!(bench.disks(), 0);
    bench.connect(&login(OPEN)).unwrap();
    assert_eq!(bench.disks(), 1);
    let target = bench.target(OPEN).unwrap();
    assert_eq!(target.bool("IsConnected"), Ok(true));
    let session = bench.sessions(OPEN).pop().unwrap();
    assert_eq!(session.text("TargetNodeAddress"), Ok(OPEN));
    assert_eq!(session.bool("IsPersistent"), Ok(false));
    assert_eq!(bench.disconnect(&target.path, &session), Ok(()));
    assert_eq!(bench.disks(), 0);
    assert_eq!(bench.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    assert_eq!(
        bench.disconnect(&target.path, &session),
        failing(iscsi_codes::INVALID_SESSION_ID)
    );
}

#[test]
fn disks_are_found_behind_sessions_and_connections_once_the_provider_knows_them() {
    let bench = Bench::connected();
    let connection = bench.connections(OPEN).pop().unwrap().path;
    let session = bench.sessions(OPEN).pop().unwrap().path;
    let behind = |of, association| bench.associated(of, association, disk::CLASS.name);
    assert!(behind(&connection, connection_to_disk::CLASS.name).is_empty());
    bench.rescan();
    let found = behind(&connection, connection_to_disk::CLASS.name);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text("SerialNumber"), Ok("1"));
    assert_eq!(behind(&session, session_to_disk::CLASS.name), found);
    let back = bench.associated(
        &found[0].path,
        session_to_disk::CLASS.name,
        iscsi_session::CLASS.name,
    );
    assert_eq!(back[0].path, session);
    let online = bench.os().storage.invoke(
        Target::Instance(&found[0].path),
        "Online",
        &Arguments::none(),
        Deadline::NEVER,
    );
    assert_eq!(online.unwrap().code, 0);
}

#[test]
fn what_is_written_to_the_disk_stays_in_its_image() {
    let bench = Bench::connected();
    assert_eq!(bench.disks(), 1);
    let hardware = bench.node.hardware();
    hardware.write_disk("iscsi-open", 4096, b"kept").unwrap();
    bench.servers.set_image("open", 2 * GIB).unwrap();
    let target = bench.target(OPEN).unwrap().path;
    bench.disconnect(&target, &bench.sessions(OPEN)[0]).unwrap();
    assert_eq!(bench.disks(), 0);
    bench.connect(&login(OPEN)).unwrap();
    assert_eq!(bench.disks(), 1);
    let mut buffer = [0; 4];
    hardware.read_disk("iscsi-open", 4096, &mut buffer).unwrap();
    assert_eq!(&buffer, b"kept");
    let mut end = [1; 1];
    hardware
        .read_disk("iscsi-open", 2 * GIB - 1, &mut end)
        .unwrap();
    assert_eq!(end, [0]);
}

#[test]
fn while_the_server_is_down_a_session_is_listed_and_of_no_use() {
    let bench = Bench::connected();
    bench.servers.set_down("array", true).unwrap();
    assert_eq!(bench.disks(), 0);
    assert_eq!(bench.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    let session = bench.sessions(OPEN).pop().unwrap();
    assert_eq!(session.bool("IsConnected"), Ok(false));
    assert!(bench.connections(OPEN).is_empty());
    let again = bench.connect(&login(OPEN));
    assert_eq!(again, failing(iscsi_codes::TARGET_ALREADY_LOGGED_IN));
    bench.servers.set_down("array", false).unwrap();
    assert_eq!(bench.disks(), 1);
    assert_eq!(bench.connections(OPEN).len(), 1);
}

#[test]
fn several_sessions_of_one_target_are_several_ways_to_its_disk() {
    let bench = Bench::connected();
    let second = login(OPEN).with("IsMultipathEnabled", Value::Bool(true));
    assert_eq!(bench.connect(&second), Ok(()));
    assert_eq!(bench.sessions(OPEN).len(), 2);
    assert_eq!(bench.connections(OPEN).len(), 2);
    assert_eq!(bench.disks(), 1);
    let target = bench.target(OPEN).unwrap().path;
    let none = Arguments::none();
    bench
        .invoke(Target::Instance(&target), "Disconnect", &none)
        .unwrap();
    assert!(bench.sessions(OPEN).is_empty());
}

#[test]
fn a_session_does_not_outlive_a_restart_and_the_portal_does() {
    let bench = Bench::connected();
    bench.node.reboot().unwrap();
    assert_eq!(bench.disks(), 0);
    assert!(bench.sessions(OPEN).is_empty());
    assert_eq!(bench.connect(&login(OPEN)), Ok(()));
    assert_eq!(bench.disks(), 1);
}

#[test]
fn a_persistent_login_comes_back_after_a_restart_until_it_is_taken_back() {
    let bench = Bench::connected();
    let session = bench.sessions(OPEN).pop().unwrap().path;
    let none = Arguments::none();
    bench
        .invoke(Target::Instance(&session), "Register", &none)
        .unwrap();
    assert_eq!(bench.sessions(OPEN)[0].bool("IsPersistent"), Ok(true));
    bench.node.reboot().unwrap();
    assert_eq!(bench.disks(), 1);
    let target = bench.target(OPEN).unwrap().path;
    let session = bench.sessions(OPEN).pop().unwrap();
    bench.disconnect(&target, &session).unwrap();
    assert_eq!(bench.disks(), 0);
    bench.node.reboot().unwrap();
    assert_eq!(bench.disks(), 1);
    let session = bench.sessions(OPEN).pop().unwrap().path;
    bench
        .invoke(Target::Instance(&session), "Unregister", &none)
        .unwrap();
    bench.node.reboot().unwrap();
    assert_eq!(bench.disks(), 0);
}

#[test]
fn a_persistent_login_waits_for_its_server() {
    let bench = Bench::discovered();
    let persistent = login(OPEN).with("IsPersistent", Value::Bool(true));
    bench.connect(&persistent).unwrap();
    bench.servers.set_down("array", true).unwrap();
    bench.node.reboot().unwrap();
    assert_eq!(bench.disks(), 0);
    bench.servers.set_down("array", false).unwrap();
    bench
        .invoke(
            Target::Instance(&bench.portal()),
            "Update",
            &Arguments::none(),
        )
        .unwrap();
    assert_eq!(bench.disks(), 1);
}

#[test]
fn a_session_whose_disk_is_in_use_is_not_left() {
    let bench = Bench::connected();
    let session = bench.sessions(OPEN).pop().unwrap();
    let target = bench.target(OPEN).unwrap().path;
    let volume = volume_on_the_only_disk(&bench);
    let held = bench.node.hold(volume);
    let busy = failing(iscsi_codes::DEVICE_BUSY_ON_SESSION);
    assert_eq!(bench.disconnect(&target, &session), busy);
    drop(held);
    assert_eq!(bench.disconnect(&target, &session), Ok(()));
}

#[test]
fn sessions_and_disks_outlive_the_process() {
    let bench = Bench::connected().reopened();
    assert_eq!(bench.disks(), 1);
    assert_eq!(bench.sessions(OPEN).len(), 1);
}

#[test]
fn a_process_that_dies_at_a_connect_leaves_nothing_that_does_not_mend() {
    let bench = Bench::discovered();
    let kill = Effect::Kill(Kill::After);
    bench
        .node
        .faults()
        .add(Rule::on("MSFT_iSCSITarget.Connect", kill));
    assert!(bench.connect(&login(OPEN)).is_err());
    let bench = bench.reopened();
    let again = bench.connect(&login(OPEN));
    assert_eq!(again, failing(iscsi_codes::TARGET_ALREADY_LOGGED_IN));
    assert_eq!(bench.disks(), 1);
}

#[test]
fn a_fault_takes_the_server_down() {
    let bench = Bench::connected();
    let down = Effect::TakeServerDown("array".to_owned());
    let rule = bench
        .node
        .faults()
        .add(Rule::on("IWbemServices.ExecQuery", down).times(1));
    assert_eq!(bench.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    bench.node.faults().remove(rule);
    assert_eq!(bench.disks(), 0);
}

/// A volume of the disk that the session brought.
fn volume_on_the_only_disk(bench: &Bench) -> VolumeId {
    let os = bench.os();
    bench.rescan();
    let query = Query::all(disk::CLASS.name, &["Number"]).with("SerialNumber", Value::text("1"));
    let disk = os.storage.query(&query, Deadline::NEVER).unwrap().remove(0);
    let run = |method, arguments: &Arguments| {
        let target = Target::Instance(&disk.path);
        let done = os
            .storage
            .invoke(target, method, arguments, Deadline::NEVER);
        assert_eq!(done.unwrap().code, 0, "{method}");
    };
    let none = Arguments::none();
    run("Online", &none);
    run(
        "SetAttributes",
        &none.clone().with("IsReadOnly", Value::Bool(false)),
    );
    run(
        "Initialize",
        &none.clone().with("PartitionStyle", Value::uint16(2)),
    );
    run(
        "CreatePartition",
        &none.with("UseMaximumSize", Value::Bool(true)),
    );
    os.clock.sleep(Duration::from_secs(5));
    let number = DiskNumber(disk.u32("Number").unwrap());
    let volumes = os.volumes.list().unwrap();
    let is_there = |volume: &VolumeId| {
        let extents = os.volumes.extents(*volume).unwrap_or_default();
        extents.iter().any(|extent| extent.disk == number)
    };
    volumes.into_iter().find(is_there).unwrap()
}
