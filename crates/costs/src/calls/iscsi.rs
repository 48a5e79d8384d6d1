use std::mem;

use anyhow::Result;
use anyhow::ensure;
use os::Arguments;
use os::Deadline;
use os::Target;
use os::Value;
use os::schema::iscsi_target;
use os_sim::demo;
use wire::iscsi::v1alpha2::*;

use crate::Sample;
use crate::Scenario;
use crate::Stage;

const TARGET_OF_PORTAL: &str = "MSFT_iSCSITargetPortal, its targets";
const UNKNOWN_TARGET: &str = "iqn.2026-01.com.example:unknown";
const UNKNOWN_ADDRESS: &str = "10.0.0.99";

const LOST: &str = "The target's sessions are asked for although IsConnected is false: it is so as well \
     while a session has lost its connection. csi-proxy leaves such a session, so that it comes back \
     with its server, and with it a disk that the driver has given up";

const REPLACED: &str = "The target's sessions tell whether the one that this process made is still there, and \
     alone. Another process may have logged out and in again, in another way, and what is told and logged \
     of the difference would be said of a session that is gone. csi-proxy compares nothing. Of a session \
     that another process made they are not asked for";

const UNTOLD: &str = "MSFT_iSCSITarget says whether there is a target that the portal does not tell of \
     any more, or whose portal was removed, for a session outlives both. Drivers take the answer \
     ObjectNotFound for logged out: with csi-proxy session and disk stay then, and nobody ends them";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("iscsi.AddTargetPortal", add)
        .when("not known")
        .asking(1, 1)
        .by("7", "MSFT_iSCSITargetPortal; New"),
    Scenario::of("iscsi.AddTargetPortal", |stage| known(stage, adding))
        .when("known")
        .asking(1, 0)
        .by("7", "MSFT_iSCSITargetPortal"),
    Scenario::of("iscsi.DiscoverTargetPortal", |stage| {
        known(stage, discovering)
    })
    .asking(2, 0)
    .by("7", TARGET_OF_PORTAL)
    .more_by(
        0,
        1,
        "Update has the initiator ask the portal for its targets. What is read without it is what the \
         portal had when it was added: on a storage server that makes a target for each volume, one \
         made since is missing with csi-proxy, and one that is gone is still told. There a driver \
         learns of them by RemoveTargetPortal and AddTargetPortal, which are two queries and two \
         methods more",
    ),
    Scenario::of("iscsi.RemoveTargetPortal", remove)
        .asking(1, 1)
        .by("7", "MSFT_iSCSITargetPortal; Remove"),
    Scenario::of("iscsi.ListTargetPortals", |stage| known(stage, listing))
        .asking(1, 0)
        .by("7", "MSFT_iSCSITargetPortal"),
    Scenario::of("iscsi.ConnectTarget", |stage| known(stage, connecting))
        .when("not connected")
        .asking(2, 1)
        .by("7", "MSFT_iSCSITargetPortal, its targets; Connect"),
    Scenario::of("iscsi.ConnectTarget", |stage| connected(stage, connecting))
        .when("connected already")
        .asking(2, 0)
        .by("7", TARGET_OF_PORTAL)
        .more_by(1, 0, REPLACED),
    Scenario::of("iscsi.ConnectTarget", connect_later)
        .when("made after its portal was added; an error with csi-proxy")
        .asking(2, 0)
        .by("7", TARGET_OF_PORTAL)
        .more_by(
            1,
            2,
            "Update, the portal's targets once more, and Connect. csi-proxy answers that there is no \
             such target, until somebody removes the portal and adds it again, which are two queries \
             and two methods and then those of its second attempt",
        ),
    Scenario::of("iscsi.ConnectTarget", connect_lost)
        .when("its session has lost its connection, an error")
        .asking(2, 1)
        .by("7", "MSFT_iSCSITargetPortal, its targets; Connect, which is refused")
        .more_by(
            1,
            0,
            "MSFT_iSCSITarget says whether Connect was refused because somebody else was faster, which \
             is success, or because of a session without a connection. Drivers go on after the text of \
             that refusal, so it is given for the second alone; the refusal itself is the same",
        ),
    Scenario::of("iscsi.DisconnectTarget", |stage| {
        connected(stage, disconnecting)
    })
    .when("one session")
    .asking(3, 1)
    .by(
        "7",
        "MSFT_iSCSITargetPortal, its targets, the target's session; Disconnect",
    ),
    Scenario::of("iscsi.DisconnectTarget", disconnect_several)
        .when("two sessions, of which csi-proxy ends one")
        .asking(3, 1)
        .by(
            "7",
            "MSFT_iSCSITargetPortal, its targets, the target's sessions; Disconnect of the first",
        )
        .more_by(
            1,
            1,
            "Disconnect of the second session, and a look at what sessions there are after the first \
             has ended: which of them comes back after a restart can change with it. csi-proxy answers \
             success and the target stays connected",
        ),
    Scenario::of("iscsi.DisconnectTarget", |stage| {
        known(stage, disconnecting)
    })
    .when("not connected")
    .asking(2, 0)
    .by("7", TARGET_OF_PORTAL)
    .more_by(1, 0, LOST),
    Scenario::of("iscsi.DisconnectTarget", disconnect_lost)
        .when("its session has lost its connection; csi-proxy leaves it")
        .asking(2, 0)
        .by("7", TARGET_OF_PORTAL)
        .more_by(1, 1, LOST),
    Scenario::of("iscsi.DisconnectTarget", disconnect_unknown)
        .when("an unknown target, an error")
        .asking(2, 0)
        .by("7", TARGET_OF_PORTAL)
        .more_by(1, 0, UNTOLD),
    Scenario::of("iscsi.DisconnectTarget", disconnect_unknown_portal)
        .when("an unknown portal, an error")
        .asking(1, 0)
        .by("7", "MSFT_iSCSITargetPortal")
        .more_by(1, 0, UNTOLD),
    Scenario::of("iscsi.GetTargetDisks", |stage| connected(stage, disks))
        .when("one connection")
        .asking(4, 0)
        .by(
            "7",
            "MSFT_iSCSITargetPortal, its targets, the target's connection, its disks",
        ),
    Scenario::of("iscsi.GetTargetDisks", |stage| known(stage, disks))
        .when("not connected")
        .asking(2, 0)
        .by("7", TARGET_OF_PORTAL),
    Scenario::of("iscsi.GetTargetDisks", disks_unknown)
        .when("an unknown target, an error")
        .asking(2, 0)
        .by("7", TARGET_OF_PORTAL)
        .more_by(1, 0, UNTOLD),
    Scenario::of("iscsi.GetTargetDisks", disks_unknown_portal)
        .when("an unknown portal, an error")
        .asking(1, 0)
        .by("7", "MSFT_iSCSITargetPortal")
        .more_by(1, 0, UNTOLD),
    Scenario::of("iscsi.SetMutualChapSecret", set_secret)
        .asking(0, 1)
        .by("7", "SetCHAPSecret"),
];

fn add(stage: &Stage) -> Result<Sample> {
    let sample = adding(stage)?;
    removing(stage)?;
    Ok(sample)
}

fn remove(stage: &Stage) -> Result<Sample> {
    adding(stage)?;
    removing(stage)
}

/// The target is there only after the portal has told of the others.
fn connect_later(stage: &Stage) -> Result<Sample> {
    let arrays = stage.arrays();
    let mut targets = Vec::new();
    arrays.change_server(demo::ISCSI_SERVER, |server| {
        targets = mem::take(&mut server.target);
    })?;
    known(stage, |stage| {
        arrays.change_server(demo::ISCSI_SERVER, |server| server.target = targets)?;
        connecting(stage)
    })
}

fn connect_lost(stage: &Stage) -> Result<Sample> {
    let connect = |stage: &Stage| stage.refused::<rpc::ConnectTarget>(&login());
    connected(stage, |stage| without_server(stage, connect))
}

fn disconnect_lost(stage: &Stage) -> Result<Sample> {
    connected(stage, |stage| without_server(stage, disconnecting))
}

/// The second session is somebody else's.
fn disconnect_several(stage: &Stage) -> Result<Sample> {
    use iscsi_target::connect as parameters;
    connected(stage, |stage| {
        let login = Arguments::none()
            .with(
                parameters::NODE_ADDRESS.name,
                Value::text(demo::ISCSI_TARGET),
            )
            .with(parameters::IS_MULTIPATH_ENABLED.name, Value::Bool(true));
        let on = Target::Class(iscsi_target::CLASS.name);
        let method = iscsi_target::CONNECT.name;
        let iscsi = &stage.os().iscsi;
        let outcome = iscsi.invoke(on, method, &login, Deadline::NEVER)?;
        ensure!(outcome.code == 0, "no second session: {}", outcome.code);
        disconnecting(stage)
    })
}

fn disconnect_unknown(stage: &Stage) -> Result<Sample> {
    known(stage, |stage| {
        stage.refused::<rpc::DisconnectTarget>(&DisconnectTargetRequest {
            target_portal: portal(),
            iqn: UNKNOWN_TARGET.to_owned(),
        })
    })
}

fn disconnect_unknown_portal(stage: &Stage) -> Result<Sample> {
    stage.refused::<rpc::DisconnectTarget>(&DisconnectTargetRequest {
        target_portal: at(UNKNOWN_ADDRESS),
        iqn: UNKNOWN_TARGET.to_owned(),
    })
}

fn disks_unknown(stage: &Stage) -> Result<Sample> {
    known(stage, |stage| {
        stage.refused::<rpc::GetTargetDisks>(&GetTargetDisksRequest {
            target_portal: portal(),
            iqn: UNKNOWN_TARGET.to_owned(),
        })
    })
}

fn disks_unknown_portal(stage: &Stage) -> Result<Sample> {
    stage.refused::<rpc::GetTargetDisks>(&GetTargetDisksRequest {
        target_portal: at(UNKNOWN_ADDRESS),
        iqn: UNKNOWN_TARGET.to_owned(),
    })
}

fn set_secret(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::SetMutualChapSecret>(&SetMutualChapSecretRequest {
        mutual_chap_secret: demo::ISCSI_PROOF.to_owned(),
    })
}

/// While the initiator knows the portal; no session is left.
fn known(stage: &Stage, act: impl FnOnce(&Stage) -> Result<Sample>) -> Result<Sample> {
    adding(stage)?;
    let sample = act(stage)?;
    disconnecting(stage)?;
    removing(stage)?;
    Ok(sample)
}

/// While the target is connected.
fn connected(stage: &Stage, act: impl FnOnce(&Stage) -> Result<Sample>) -> Result<Sample> {
    known(stage, |stage| {
        connecting(stage)?;
        act(stage)
    })
}

fn without_server(stage: &Stage, act: impl FnOnce(&Stage) -> Result<Sample>) -> Result<Sample> {
    let arrays = stage.arrays();
    arrays.set_down(demo::ISCSI_SERVER, true)?;
    let sample = act(stage);
    arrays.set_down(demo::ISCSI_SERVER, false)?;
    sample
}

fn adding(stage: &Stage) -> Result<Sample> {
    let target_portal = portal();
    stage.measured::<rpc::AddTargetPortal>(&AddTargetPortalRequest { target_portal })
}

fn removing(stage: &Stage) -> Result<Sample> {
    let target_portal = portal();
    stage.measured::<rpc::RemoveTargetPortal>(&RemoveTargetPortalRequest { target_portal })
}

fn listing(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::ListTargetPortals>(&ListTargetPortalsRequest {})
}

fn discovering(stage: &Stage) -> Result<Sample> {
    let target_portal = portal();
    stage.measured::<rpc::DiscoverTargetPortal>(&DiscoverTargetPortalRequest { target_portal })
}

fn connecting(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::ConnectTarget>(&login())
}

fn disconnecting(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::DisconnectTarget>(&DisconnectTargetRequest {
        target_portal: portal(),
        iqn: demo::ISCSI_TARGET.to_owned(),
    })
}

fn disks(stage: &Stage) -> Result<Sample> {
    stage.rescan()?;
    stage.measured::<rpc::GetTargetDisks>(&GetTargetDisksRequest {
        target_portal: portal(),
        iqn: demo::ISCSI_TARGET.to_owned(),
    })
}

fn login() -> ConnectTargetRequest {
    ConnectTargetRequest {
        target_portal: portal(),
        iqn: demo::ISCSI_TARGET.to_owned(),
        auth_type: 0,
        chap_username: String::new(),
        chap_secret: String::new(),
    }
}

fn portal() -> Option<TargetPortal> {
    at(demo::ISCSI_ADDRESS)
}

fn at(address: &str) -> Option<TargetPortal> {
    Some(TargetPortal {
        target_address: address.to_owned(),
        target_port: 0,
    })
}
