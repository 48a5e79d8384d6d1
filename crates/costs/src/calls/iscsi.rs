use anyhow::Result;
use os_sim::demo;
use wire::iscsi::v1alpha2::*;

use crate::Sample;
use crate::Scenario;
use crate::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("iscsi.AddTargetPortal", |stage| Ok(life(stage)?.add))
        .when("not known")
        .asking(1, 1)
        .by("7", "MSFT_iSCSITargetPortal; New"),
    Scenario::of("iscsi.DiscoverTargetPortal", |stage| {
        Ok(life(stage)?.discover)
    })
    .asking(2, 0)
    .by("7", "MSFT_iSCSITargetPortal, its targets")
    .more_by(
        0,
        1,
        "Update has the initiator ask the portal for its targets. What is read without it is what the \
         portal had when it was added: on a storage server that makes a target for each volume, one \
         made since is missing with csi-proxy, and one that is gone is still told. There a driver \
         learns of them by RemoveTargetPortal and AddTargetPortal, which are two queries and two \
         methods more",
    ),
    Scenario::of("iscsi.RemoveTargetPortal", |stage| Ok(life(stage)?.remove))
        .asking(1, 1)
        .by("7", "MSFT_iSCSITargetPortal; Remove"),
    Scenario::of("iscsi.ListTargetPortals", |stage| Ok(life(stage)?.list))
        .asking(1, 0)
        .by("7", "MSFT_iSCSITargetPortal"),
    Scenario::of("iscsi.ConnectTarget", |stage| Ok(life(stage)?.connect))
        .when("not connected")
        .asking(2, 1)
        .by("7", "MSFT_iSCSITargetPortal, its targets; Connect"),
    Scenario::of(
        "iscsi.DisconnectTarget",
        |stage| Ok(life(stage)?.disconnect),
    )
    .when("one session")
    .asking(3, 1)
    .by(
        "7",
        "MSFT_iSCSITargetPortal, its targets, the target's session; Disconnect",
    ),
    Scenario::of("iscsi.GetTargetDisks", |stage| Ok(life(stage)?.disks))
        .when("one connection")
        .asking(4, 0)
        .by(
            "7",
            "MSFT_iSCSITargetPortal, its targets, the target's connection, its disks",
        ),
    Scenario::of("iscsi.SetMutualChapSecret", set_secret)
        .asking(0, 1)
        .by("7", "SetCHAPSecret"),
];

struct Life {
    add: Sample,
    list: Sample,
    discover: Sample,
    connect: Sample,
    disks: Sample,
    disconnect: Sample,
    remove: Sample,
}

/// From the portal's coming to its going.
fn life(stage: &Stage) -> Result<Life> {
    let target_portal = Some(TargetPortal {
        target_address: demo::ISCSI_ADDRESS.to_owned(),
        target_port: 0,
    });
    let portal = || target_portal.clone();
    Ok(Life {
        add: stage.measured::<rpc::AddTargetPortal>(&AddTargetPortalRequest {
            target_portal: portal(),
        })?,
        list: stage.measured::<rpc::ListTargetPortals>(&ListTargetPortalsRequest {})?,
        discover: stage.measured::<rpc::DiscoverTargetPortal>(&DiscoverTargetPortalRequest {
            target_portal: portal(),
        })?,
        connect: connect(stage, portal())?,
        disks: disks(stage, portal())?,
        disconnect: stage.measured::<rpc::DisconnectTarget>(&DisconnectTargetRequest {
            target_portal: portal(),
            iqn: demo::ISCSI_TARGET.to_owned(),
        })?,
        remove: stage.measured::<rpc::RemoveTargetPortal>(&RemoveTargetPortalRequest {
            target_portal: portal(),
        })?,
    })
}

fn connect(stage: &Stage, target_portal: Option<TargetPortal>) -> Result<Sample> {
    stage.measured::<rpc::ConnectTarget>(&ConnectTargetRequest {
        target_portal,
        iqn: demo::ISCSI_TARGET.to_owned(),
        auth_type: 0,
        chap_username: String::new(),
        chap_secret: String::new(),
    })
}

fn disks(stage: &Stage, target_portal: Option<TargetPortal>) -> Result<Sample> {
    stage.rescan()?;
    stage.measured::<rpc::GetTargetDisks>(&GetTargetDisksRequest {
        target_portal,
        iqn: demo::ISCSI_TARGET.to_owned(),
    })
}

fn set_secret(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::SetMutualChapSecret>(&SetMutualChapSecretRequest {
        mutual_chap_secret: demo::ISCSI_PROOF.to_owned(),
    })
}
