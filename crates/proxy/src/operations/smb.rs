use node::{Credentials, MapRequest, RemotePath, ResolvedPath, SmbError};
use os::Deadline;
use zeroize::Zeroizing;

use super::PipeOperations;
use crate::paths::PathRule;

/// A client's request for a mapping. The password is moved out of its message, not copied.
pub(crate) struct MappingRequest<'a> {
    pub(crate) remote_path: &'a str,
    pub(crate) local_path: &'a str,
    pub(crate) username: &'a str,
    pub(crate) password: Zeroizing<String>,
}

/// A path that breaks a rule, or a failed operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SmbFailure {
    #[error(transparent)]
    Operation(#[from] SmbError),
    #[error(transparent)]
    Rule(#[from] PathRule),
}

impl PipeOperations {
    /// All values of the client are checked before anything is mapped.
    pub(crate) fn map_share(
        &self,
        request: MappingRequest<'_>,
        deadline: Deadline,
    ) -> Result<(), SmbFailure> {
        let remote = RemotePath::parse_as_given(request.remote_path)?;
        let link = self.link_path(request.local_path)?;
        let credentials = Credentials::new(request.username, request.password);
        let mapping = MapRequest::of(&remote)
            .with_credentials(credentials.as_ref())
            .with_link(link.as_ref());
        self.node.operations().smb().map(&mapping, deadline)?;
        Ok(())
    }

    pub(crate) fn unmap_share(
        &self,
        remote_path: &str,
        deadline: Deadline,
    ) -> Result<(), SmbFailure> {
        let remote = RemotePath::parse_as_given(remote_path)?;
        Ok(self.node.operations().smb().unmap(&remote, deadline)?)
    }

    fn link_path(&self, local_path: &str) -> Result<Option<ResolvedPath>, PathRule> {
        if local_path.is_empty() {
            return Ok(None);
        }
        self.resolved_path(local_path).map(Some)
    }
}
