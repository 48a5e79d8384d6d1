use anyhow::Result;
use os_sim::demo;
use wire::smb::v1::*;

use crate::Sample;
use crate::Scenario;
use crate::Stage;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario::of("smb.NewSmbGlobalMapping", map)
        .when("not mapped")
        .asking(1, 1)
        .by("5.1", "MSFT_SmbGlobalMapping by RemotePath; Create"),
    Scenario::of("smb.NewSmbGlobalMapping", map_again)
        .when("mapped, and it answers")
        .asking(1, 0)
        .by(
            "5.1",
            "MSFT_SmbGlobalMapping by RemotePath; GetFileAttributes",
        ),
    Scenario::of("smb.RemoveSmbGlobalMapping", unmap)
        .asking(1, 1)
        .by("5.2", "MSFT_SmbGlobalMapping by RemotePath; Remove"),
];

fn map(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[0].clone())
}

fn map_again(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[1].clone())
}

fn unmap(stage: &Stage) -> Result<Sample> {
    Ok(life(stage)?[2].clone())
}

/// Mapped, mapped again, and unmapped.
fn life(stage: &Stage) -> Result<[Sample; 3]> {
    let request = || NewSmbGlobalMappingRequest {
        remote_path: demo::SHARE.to_owned(),
        local_path: String::new(),
        username: demo::SMB_USER.to_owned(),
        password: demo::SMB_PASSWORD.to_owned(),
    };
    let mapped = stage.measured::<rpc::NewSmbGlobalMapping>(&request())?;
    let again = stage.measured::<rpc::NewSmbGlobalMapping>(&request())?;
    let unmapped =
        stage.measured::<rpc::RemoveSmbGlobalMapping>(&RemoveSmbGlobalMappingRequest {
            remote_path: demo::SHARE.to_owned(),
        })?;
    Ok([mapped, again, unmapped])
}
