//! What calls.txt has done past csi-proxy: with the hardware, with servers, by another program.

use std::mem;

use os::schema::iscsi_target::{self, connect};
use os::{Arguments, Deadline, Target, Value, Win32};
use os_sim::iscsi::IscsiControl;
use os_sim::smb::{ServerHealth, ServerSpec, SmbControl};
use os_sim::{Arrives, Bus, Content, DiskSpec, Effect, IdentifierKind, Rule, demo};

use super::fixture::CostFixture;

/// The disk with number 2.
const SPARE: &str = "spare";
const GIB: u64 = 1 << 30;

pub(super) fn act(fixture: &mut CostFixture, line: &str) {
    let node = fixture.folder.path().join("node");
    let (hardware, smb) = (fixture.sim.hardware(), SmbControl::at(&node));
    let (iscsi, array) = (IscsiControl::at(&node), demo::ISCSI_SERVER);
    let user = |password| ServerSpec::sharing("", demo::SMB_USER, password).user;
    let condition = |condition| smb.set_condition(demo::SMB_SERVER, condition);
    let done = match line {
        "plug online" => hardware.attach_disk(SPARE, &spare(Arrives::Online), &Content::blank(GIB)),
        "plug offline" => {
            hardware.attach_disk(SPARE, &spare(Arrives::Offline), &Content::blank(GIB))
        }
        "grow" => hardware.grow_disk(SPARE, 2 * GIB),
        "pull" => hardware.detach_disk(SPARE),
        "smb down" => condition(ServerHealth::Down),
        "smb paused" => condition(ServerHealth::Paused),
        "password new" => smb.change_server(demo::SMB_SERVER, |server| server.user = user("new")),
        "iscsi down" => iscsi.set_down(array, true),
        "targets away" => iscsi.change_server(array, |server| {
            fixture.away = mem::take(&mut server.target);
        }),
        "targets back" => iscsi.change_server(array, |server| {
            server.target = mem::take(&mut fixture.away);
        }),
        "session" => {
            connect_again(fixture);
            Ok(())
        }
        "fail *CreatePartition" => {
            let fails = Effect::fail(Win32::GEN_FAILURE);
            fixture
                .sim
                .faults()
                .add(Rule::on("*CreatePartition", fails).times(1));
            Ok(())
        }
        other => panic!("nobody can {other}"),
    };
    done.expect(line);
    // The storage provider sees neither by itself.
    if line.starts_with("plug ") || line == "pull" {
        fixture.prepare("disk.Rescan");
    }
}

fn spare(arrives: Arrives) -> DiskSpec {
    let disk = DiskSpec::on(Bus::Sas)
        .serial(SPARE)
        .lun(9)
        .arriving(arrives);
    disk.identified(IdentifierKind::Naa, "60022480000000000000000000000002")
}

/// Another program makes a second session with the target.
fn connect_again(fixture: &CostFixture) {
    let login = Arguments::none()
        .with(connect::NODE_ADDRESS.name, Value::text(demo::ISCSI_TARGET))
        .with(connect::IS_MULTIPATH_ENABLED.name, Value::Bool(true));
    let (class, method) = (
        Target::Class(iscsi_target::CLASS.name),
        iscsi_target::CONNECT.name,
    );
    let done = fixture
        .sim
        .os()
        .iscsi
        .invoke(class, method, &login, Deadline::NEVER);
    assert_eq!(done.expect("a session").code, 0);
}
