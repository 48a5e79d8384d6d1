use std::time::Duration;

use os::schema::disk::offline_reason;
use os::schema::iscsi_associations::{connection_to_disk, session_to_disk};
use os::schema::{disk, iscsi_codes, iscsi_session};
use os::{Arguments, Deadline, DiskNumber, Instance, Query, Target, Value, VolumeId};

use super::{
    ADDRESS, GIB, GUARDED, InitiatorFixture, IscsiControl, OPEN, SECRET, chap, failing, login,
};
use crate::iscsi::ServerSpec;
use crate::{Effect, Kill, Rule, StorageConditions};

#[test]
fn a_session_brings_the_disk_and_takes_it_along() {
    let fixture = InitiatorFixture::discovered();
    assert_eq!(fixture.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    assert_eq!(fixture.disks(), 0);
    fixture.connect(&login(OPEN)).unwrap();
    assert_eq!(fixture.disks(), 1);
    let target = fixture.target(OPEN).unwrap();
    assert_eq!(target.bool("IsConnected"), Ok(true));
    let session = fixture.sessions(OPEN).pop().unwrap();
    assert_eq!(session.text("TargetNodeAddress"), Ok(OPEN));
    assert_eq!(session.bool("IsPersistent"), Ok(false));
    assert_eq!(fixture.disconnect(&target.path, &session), Ok(()));
    assert_eq!(fixture.disks(), 0);
    assert_eq!(fixture.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    assert_eq!(
        fixture.disconnect(&target.path, &session),
        failing(iscsi_codes::INVALID_SESSION_ID)
    );
}

#[test]
fn disks_are_found_behind_sessions_and_connections_once_the_provider_knows_them() {
    let fixture = InitiatorFixture::connected();
    let connection = fixture.connections(OPEN).pop().unwrap().path;
    let session = fixture.sessions(OPEN).pop().unwrap().path;
    let behind = |of, association| fixture.associated(of, association, disk::CLASS.name);
    assert!(behind(&connection, connection_to_disk::CLASS.name).is_empty());
    fixture.rescan();
    let found = behind(&connection, connection_to_disk::CLASS.name);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text("SerialNumber"), Ok("1"));
    assert_eq!(behind(&session, session_to_disk::CLASS.name), found);
    let back = fixture.associated(
        &found[0].path,
        session_to_disk::CLASS.name,
        iscsi_session::CLASS.name,
    );
    assert_eq!(back[0].path, session);
    let online = fixture.os().storage.invoke(
        Target::Instance(&found[0].path),
        "Online",
        &Arguments::none(),
        Deadline::NEVER,
    );
    assert_eq!(online.unwrap().code, 0);
}

#[test]
fn what_is_written_to_the_disk_stays_in_its_image() {
    let fixture = InitiatorFixture::connected();
    assert_eq!(fixture.disks(), 1);
    let hardware = fixture.node.hardware();
    hardware.write_disk("iscsi-open", 4096, b"kept").unwrap();
    fixture.servers.set_image("open", 2 * GIB).unwrap();
    let target = fixture.target(OPEN).unwrap().path;
    fixture
        .disconnect(&target, &fixture.sessions(OPEN)[0])
        .unwrap();
    assert_eq!(fixture.disks(), 0);
    fixture.connect(&login(OPEN)).unwrap();
    assert_eq!(fixture.disks(), 1);
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
    let fixture = InitiatorFixture::connected();
    fixture.servers.set_down("array", true).unwrap();
    assert_eq!(fixture.disks(), 0);
    assert_eq!(fixture.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    let session = fixture.sessions(OPEN).pop().unwrap();
    assert_eq!(session.bool("IsConnected"), Ok(false));
    assert!(fixture.connections(OPEN).is_empty());
    let again = fixture.connect(&login(OPEN));
    assert_eq!(again, failing(iscsi_codes::TARGET_ALREADY_LOGGED_IN));
    fixture.servers.set_down("array", false).unwrap();
    assert_eq!(fixture.disks(), 1);
    assert_eq!(fixture.connections(OPEN).len(), 1);
}

/// Path, and why it is offline, of each disk but the system's.
fn iscsi_disks(fixture: &InitiatorFixture) -> Vec<(String, u32)> {
    fixture.rescan();
    let select = [disk::PATH.name, disk::OFFLINE_REASON.name];
    let query = Query::all(disk::CLASS.name, &select).with("BusType", Value::uint16(9));
    let rows = fixture.os().storage.query(&query, Deadline::NEVER).unwrap();
    let read = |row: &Instance| {
        let path = row.text(disk::PATH.name).unwrap().to_owned();
        (path, row.u32(disk::OFFLINE_REASON.name).unwrap())
    };
    rows.iter().map(read).collect()
}

#[test]
fn mpio_alone_makes_one_disk_of_two_sessions() {
    let policy = offline_reason::POLICY.value;
    let redundant = offline_reason::REDUNDANT_PATH.value;
    for (multipath, path, reasons, left) in [
        (false, r"\\?\scsi#disk", vec![policy, redundant], redundant),
        (true, r"\\?\mpio#disk", vec![policy], policy),
    ] {
        let fixture = InitiatorFixture::storing(StorageConditions {
            multipath,
            ..StorageConditions::default()
        });
        fixture.add_portal(ADDRESS).unwrap();
        fixture.connect(&login(OPEN)).unwrap();
        let second = login(OPEN).with("IsMultipathEnabled", Value::Bool(true));
        fixture.connect(&second).unwrap();
        let disks = iscsi_disks(&fixture);
        assert!(
            disks.iter().all(|(at, _)| at.starts_with(path)),
            "{disks:?}"
        );
        let found: Vec<_> = disks.into_iter().map(|(_, reason)| reason).collect();
        assert_eq!(found, reasons, "{multipath}");
        let target = fixture.target(OPEN).unwrap().path;
        let first = &fixture.sessions(OPEN)[0];
        fixture.disconnect(&target, first).unwrap();
        let disks = iscsi_disks(&fixture);
        assert!(
            matches!(&disks[..], [(_, reason)] if *reason == left),
            "{disks:?}"
        );
        fixture
            .disconnect(&target, &fixture.sessions(OPEN)[0])
            .unwrap();
        assert_eq!(iscsi_disks(&fixture), [], "its disk goes with a session");
    }
}

#[test]
fn several_sessions_of_one_target_end_together() {
    let fixture = InitiatorFixture::connected();
    let second = login(OPEN).with("IsMultipathEnabled", Value::Bool(true));
    assert_eq!(fixture.connect(&second), Ok(()));
    assert_eq!(fixture.sessions(OPEN).len(), 2);
    assert_eq!(fixture.connections(OPEN).len(), 2);
    let target = fixture.target(OPEN).unwrap().path;
    let none = Arguments::none();
    fixture
        .invoke(Target::Instance(&target), "Disconnect", &none)
        .unwrap();
    assert!(fixture.sessions(OPEN).is_empty());
}

#[test]
fn a_session_does_not_outlive_a_restart_and_the_portal_does() {
    let fixture = InitiatorFixture::connected();
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.disks(), 0);
    assert!(fixture.sessions(OPEN).is_empty());
    assert_eq!(fixture.connect(&login(OPEN)), Ok(()));
    assert_eq!(fixture.disks(), 1);
}

#[test]
fn a_session_has_another_identifier_after_a_restart() {
    let fixture = InitiatorFixture::connected();
    let names = || {
        let session = fixture.sessions(OPEN).remove(0);
        let connection = fixture.connections(OPEN).remove(0);
        [
            session.text("SessionIdentifier").unwrap().to_owned(),
            connection.text("ConnectionIdentifier").unwrap().to_owned(),
        ]
    };
    let before = names();
    fixture.node.reboot().unwrap();
    fixture.connect(&login(OPEN)).unwrap();
    let after = names();
    for (before, after) in before.iter().zip(&after) {
        assert_ne!(before, after);
        assert_eq!(before.len(), after.len());
    }
}

#[test]
fn the_first_login_may_persist_unasked() {
    let fixture = InitiatorFixture::discovered();
    let persists = |server: &mut ServerSpec| server.first_login_persists = true;
    fixture.servers.change_server("array", persists).unwrap();
    let is_persistent = |target| fixture.sessions(target)[0].bool("IsPersistent");
    fixture.connect(&login(OPEN)).unwrap();
    let chap = chap(GUARDED, "ONEWAYCHAP", "node", SECRET);
    fixture.connect(&chap).unwrap();
    assert_eq!(is_persistent(OPEN), Ok(true));
    assert_eq!(is_persistent(GUARDED), Ok(false));
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.sessions(OPEN).len(), 1);
    assert!(fixture.sessions(GUARDED).is_empty());
}

#[test]
fn another_lun_behind_the_number_is_another_disk() {
    let fixture = InitiatorFixture::connected();
    fixture.rescan();
    let (session, serial) = (fixture.sessions(OPEN).remove(0), |row: &Instance| {
        row.text("SerialNumber").unwrap().to_owned()
    });
    let disks = || {
        let association = session_to_disk::CLASS.name;
        fixture.associated(&session.path, association, disk::CLASS.name)
    };
    assert_eq!(disks().iter().map(serial).collect::<Vec<_>>(), ["1"]);
    fixture.servers.set_image("other", GIB).unwrap();
    let exchange = |server: &mut ServerSpec| {
        let lun = &mut server.target[0].lun[0];
        lun.image = "other".to_owned();
        lun.disk = lun.disk.clone().serial("3");
    };
    fixture.servers.change_server("array", exchange).unwrap();
    assert_eq!(fixture.disks(), 1);
    fixture.rescan();
    assert_eq!(disks().iter().map(serial).collect::<Vec<_>>(), ["3"]);
    assert_eq!(fixture.sessions(OPEN)[0], session);
}

#[test]
fn a_persistent_login_comes_back_after_a_restart_until_it_is_taken_back() {
    let fixture = InitiatorFixture::connected();
    let session = fixture.sessions(OPEN).pop().unwrap().path;
    let none = Arguments::none();
    fixture
        .invoke(Target::Instance(&session), "Register", &none)
        .unwrap();
    assert_eq!(fixture.sessions(OPEN)[0].bool("IsPersistent"), Ok(true));
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.disks(), 1);
    let target = fixture.target(OPEN).unwrap().path;
    let session = fixture.sessions(OPEN).pop().unwrap();
    fixture.disconnect(&target, &session).unwrap();
    assert_eq!(fixture.disks(), 0);
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.disks(), 1);
    let session = fixture.sessions(OPEN).pop().unwrap().path;
    fixture
        .invoke(Target::Instance(&session), "Unregister", &none)
        .unwrap();
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.disks(), 0);
}

#[test]
fn a_persistent_login_waits_for_its_server() {
    let fixture = InitiatorFixture::discovered();
    let persistent = login(OPEN).with("IsPersistent", Value::Bool(true));
    fixture.connect(&persistent).unwrap();
    fixture.servers.set_down("array", true).unwrap();
    fixture.node.reboot().unwrap();
    assert_eq!(fixture.disks(), 0);
    fixture.servers.set_down("array", false).unwrap();
    fixture
        .invoke(
            Target::Instance(&fixture.portal()),
            "Update",
            &Arguments::none(),
        )
        .unwrap();
    assert_eq!(fixture.disks(), 1);
}

#[test]
fn a_session_whose_disk_is_in_use_is_not_left() {
    let fixture = InitiatorFixture::connected();
    let session = fixture.sessions(OPEN).pop().unwrap();
    let target = fixture.target(OPEN).unwrap().path;
    let volume = volume_on_the_only_disk(&fixture);
    let held = fixture.node.hold(volume);
    let busy = failing(iscsi_codes::DEVICE_BUSY_ON_SESSION);
    assert_eq!(fixture.disconnect(&target, &session), busy);
    drop(held);
    assert_eq!(fixture.disconnect(&target, &session), Ok(()));
}

#[test]
fn sessions_and_disks_outlive_the_process() {
    let fixture = InitiatorFixture::connected().reopened();
    assert_eq!(fixture.disks(), 1);
    assert_eq!(fixture.sessions(OPEN).len(), 1);
}

#[test]
fn a_process_that_dies_at_a_connect_leaves_nothing_that_does_not_mend() {
    let fixture = InitiatorFixture::discovered();
    let kill = Effect::Kill(Kill::After);
    fixture
        .node
        .faults()
        .add(Rule::on("MSFT_iSCSITarget.Connect", kill));
    assert!(fixture.connect(&login(OPEN)).is_err());
    let fixture = fixture.reopened();
    let again = fixture.connect(&login(OPEN));
    assert_eq!(again, failing(iscsi_codes::TARGET_ALREADY_LOGGED_IN));
    assert_eq!(fixture.disks(), 1);
}

#[test]
fn a_fault_takes_the_server_down() {
    let fixture = InitiatorFixture::connected();
    let down = Effect::TakeServerDown("array".to_owned());
    let rule = fixture
        .node
        .faults()
        .add(Rule::on("IWbemServices.ExecQuery", down).times(1));
    assert_eq!(fixture.target(OPEN).unwrap().bool("IsConnected"), Ok(false));
    fixture.node.faults().remove(rule);
    assert_eq!(fixture.disks(), 0);
}

/// A volume of the disk that the session brought.
fn volume_on_the_only_disk(fixture: &InitiatorFixture) -> VolumeId {
    let os = fixture.os();
    fixture.rescan();
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

#[test]
fn another_process_sees_sessions_and_portals() {
    let fixture = InitiatorFixture::connected();
    let other = IscsiControl::at(fixture.folder.path());
    assert_eq!(other.sessions().unwrap(), [OPEN]);
    assert_eq!(other.portals().unwrap(), [ADDRESS]);
    fixture.node.reboot().unwrap();
    assert_eq!(other.sessions().unwrap(), [""; 0]);
    assert_eq!(other.portals().unwrap(), [ADDRESS]);
}
