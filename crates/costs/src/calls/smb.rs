use anyhow::Result;
use os::Win32;
use os_sim::Effect;
use os_sim::Rule;
use os_sim::demo;
use os_sim::smb::Condition;
use wire::smb::v1::*;

use crate::Sample;
use crate::Scenario;
use crate::Stage;

const REUSED: &str = "MSFT_SmbGlobalMapping by RemotePath; GetFileAttributes";

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("smb.NewSmbGlobalMapping", map)
        .when("not mapped")
        .asking(1, 1)
        .by("5.1", "MSFT_SmbGlobalMapping by RemotePath; Create"),
    Scenario::of("smb.NewSmbGlobalMapping", map_and_link)
        .when("not mapped, with a link")
        .asking(1, 1)
        .by(
            "5.1",
            "MSFT_SmbGlobalMapping by RemotePath; Create; CreateSymbolicLink",
        ),
    Scenario::of("smb.NewSmbGlobalMapping", map_again)
        .when("mapped, and it answers")
        .asking(1, 0)
        .by("5.1", REUSED),
    Scenario::of("smb.NewSmbGlobalMapping", link_again)
        .when("mapped and linked; an error with csi-proxy")
        .asking(1, 0)
        .by("5.1", REUSED),
    Scenario::of("smb.NewSmbGlobalMapping", map_anew)
        .when("mapped, Status is OK, and it does not answer")
        .asking(1, 2)
        .by(
            "5.1",
            "MSFT_SmbGlobalMapping by RemotePath; GetFileAttributes; Remove, Create",
        ),
    Scenario::of("smb.NewSmbGlobalMapping", map_beside)
        .when("mapped, Status is not OK, and it is of no use, an error")
        .asking(1, 1)
        .by(
            "5.1",
            "MSFT_SmbGlobalMapping by RemotePath, Status is not OK; Create",
        )
        .more_by(
            0,
            1,
            "Remove takes a mapping that fails away before Create. csi-proxy has Create make another \
             beside it, which may be refused for ever (1219): where the credentials are others, or \
             where Windows does not see them any more after a restart of the node (csi-driver-smb \
             issue 219). Then nobody gets at the share until the mapping is removed by hand",
        ),
    Scenario::of("smb.NewSmbGlobalMapping", map_in_vain)
        .when("mapped, and its server is down, an error")
        .asking(1, 1)
        .by(
            "5.1",
            "MSFT_SmbGlobalMapping by RemotePath, Status is not OK; Create",
        ),
    Scenario::of("smb.RemoveSmbGlobalMapping", unmap)
        .when("mapped")
        .asking(1, 1)
        .by("5.2", "MSFT_SmbGlobalMapping by RemotePath; Remove"),
    Scenario::of("smb.RemoveSmbGlobalMapping", unmap_again)
        .when("not mapped, an error")
        .asking(1, 0)
        .by("5.2", "MSFT_SmbGlobalMapping by RemotePath"),
];

fn map(stage: &Stage) -> Result<Sample> {
    let sample = mapping(stage, "")?;
    unmapping(stage)?;
    Ok(sample)
}

fn map_and_link(stage: &Stage) -> Result<Sample> {
    let link = stage.free_path();
    let sample = mapping(stage, &link)?;
    stage.clear(link)?;
    unmapping(stage)?;
    Ok(sample)
}

fn map_again(stage: &Stage) -> Result<Sample> {
    mapping(stage, "")?;
    map(stage)
}

fn link_again(stage: &Stage) -> Result<Sample> {
    let link = stage.free_path();
    mapping(stage, &link)?;
    let sample = mapping(stage, &link)?;
    stage.clear(link)?;
    unmapping(stage)?;
    Ok(sample)
}

fn map_anew(stage: &Stage) -> Result<Sample> {
    mapping(stage, "")?;
    refused(stage, || map(stage))
}

/// The old mapping is gone then, and there is no new one.
fn map_beside(stage: &Stage) -> Result<Sample> {
    mapping(stage, "")?;
    refused(stage, || vainly(stage))
}

fn map_in_vain(stage: &Stage) -> Result<Sample> {
    mapping(stage, "")?;
    let sample = vainly(stage);
    unmapping(stage)?;
    sample
}

/// The server does not accept the credentials when the share is looked at.
fn refused(stage: &Stage, act: impl FnOnce() -> Result<Sample>) -> Result<Sample> {
    let fails = Rule::on("GetFileAttributesExW", Effect::fail(Win32::LOGON_FAILURE));
    let fails = stage.faults().add(fails.times(1));
    let sample = act();
    stage.faults().remove(fails);
    sample
}

/// Asks for the mapping while its server is down.
fn vainly(stage: &Stage) -> Result<Sample> {
    let servers = stage.file_servers();
    servers.set_condition(demo::SMB_SERVER, Condition::Down)?;
    let sample = stage.refused::<rpc::NewSmbGlobalMapping>(&request(""));
    servers.set_condition(demo::SMB_SERVER, Condition::Up)?;
    sample
}

fn unmap(stage: &Stage) -> Result<Sample> {
    mapping(stage, "")?;
    unmapping(stage)
}

fn unmap_again(stage: &Stage) -> Result<Sample> {
    stage.refused::<rpc::RemoveSmbGlobalMapping>(&share())
}

fn mapping(stage: &Stage, link: &str) -> Result<Sample> {
    stage.measured::<rpc::NewSmbGlobalMapping>(&request(link))
}

fn unmapping(stage: &Stage) -> Result<Sample> {
    stage.measured::<rpc::RemoveSmbGlobalMapping>(&share())
}

fn request(link: &str) -> NewSmbGlobalMappingRequest {
    NewSmbGlobalMappingRequest {
        remote_path: demo::SHARE.to_owned(),
        local_path: link.to_owned(),
        username: demo::SMB_USER.to_owned(),
        password: demo::SMB_PASSWORD.to_owned(),
    }
}

fn share() -> RemoveSmbGlobalMappingRequest {
    RemoveSmbGlobalMappingRequest {
        remote_path: demo::SHARE.to_owned(),
    }
}
