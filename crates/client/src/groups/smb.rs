use node::api::{Cause, Condition, Error, Feature, Result, Smb};
use node::{MapOutcome, MapRequest, RemotePath, ShareMapping, UnmapOutcome};
use os::Deadline;

use super::{path_text, unless, unsupported};
use crate::Node;
use crate::dialect::dialects;

impl Smb for Node {
    fn map(&self, mapping: &MapRequest<'_>, deadline: Deadline) -> Result<MapOutcome> {
        let name = "map";
        if let Some(option) = mapping.options.names().next() {
            let cause = unsupported(option, Feature::MapOptions);
            return Err(Error::new(name, mapping.remote, cause));
        }
        let remote = remote_text(name, mapping.remote)?;
        let link = mapping
            .link
            .map(|link| path_text(name, link.path()))
            .transpose()?;
        let link = link.unwrap_or_default();
        let username = mapping.credentials.map_or("", |user| user.username());
        let password = mapping
            .credentials
            .map_or("", |user| user.expose_password());
        let spoken = dialects![
            smb[v1 v1beta2] NewSmbGlobalMapping: NewSmbGlobalMappingRequest {
                remote_path: remote.clone(),
                local_path: link.clone(),
                username: username.to_owned(),
                password: password.to_owned(),
            } => |_| Ok(MapOutcome::Unreported);
            smb[v1beta1 v1alpha1] NewSmbGlobalMapping: NewSmbGlobalMappingRequest {
                remote_path: remote.clone(),
                local_path: link.clone(),
                username: username.to_owned(),
                password: password.to_owned(),
            } => |answer| unless(answer.error, MapOutcome::Unreported);
        ];
        let about: [&dyn std::fmt::Display; 2] = [mapping.remote, &link];
        let known = if link.is_empty() { 1 } else { 2 };
        self.change(name, &about[..known], deadline, &spoken)
    }

    fn mappings(&self, _deadline: Deadline) -> Result<Vec<ShareMapping>> {
        let cause = unsupported("listing mappings", Feature::MappingList);
        Err(Error::new("list", "mappings", cause))
    }

    fn unmap_unless(
        &self,
        remote: &RemotePath,
        _used: Box<dyn FnOnce() -> bool + Send>,
        _deadline: Deadline,
    ) -> Result<UnmapOutcome> {
        let cause = unsupported(
            "a removal that depends on its use",
            Feature::ConditionalUnmap,
        );
        Err(Error::new("unmap", remote, cause))
    }

    /// csi-proxy 1.3 has one text for everything that is not found.
    fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<()> {
        let name = "unmap";
        let text = remote_text(name, remote)?;
        let spoken = dialects![
            smb[v1 v1beta2] RemoveSmbGlobalMapping: RemoveSmbGlobalMappingRequest {
                remote_path: text.clone(),
            } => |_| Ok(());
            smb[v1beta1 v1alpha1] RemoveSmbGlobalMapping: RemoveSmbGlobalMappingRequest {
                remote_path: text.clone(),
            } => |answer| unless(answer.error, ());
        ];
        let removed = self.change(name, &[remote], deadline, &spoken);
        removed.map_err(not_mapped)
    }
}

/// csi-proxy maps and unmaps the share of each path.
fn remote_text(name: &'static str, remote: &RemotePath) -> Result<String> {
    match remote.mapped_folders() {
        0 => path_text(name, remote.path()),
        _ => {
            let cause = unsupported("the mapping of a folder", Feature::FolderMappings);
            Err(Error::new(name, remote, cause))
        }
    }
}

fn not_mapped(mut error: Error) -> Error {
    if let Cause::Failed { condition, .. } = &mut error.cause
        && *condition == Condition::NotFound
    {
        *condition = Condition::NotMapped;
    }
    error
}
