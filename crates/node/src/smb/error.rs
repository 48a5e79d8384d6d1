use crate::ProviderError;
use crate::Unfinished;

/// An operation on an SMB mapping failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SmbError {
    /// No remote path. The text is csi-proxy's.
    #[error("remote path is empty")]
    EmptyRemotePath,
    /// A remote path without a server and a share. The text is csi-proxy's.
    #[error("remote path ({path}) is invalid")]
    InvalidRemotePath {
        /// What was given.
        path: String,
    },
    /// The link to the share could not be made.
    #[error("creating link {link} to {remote} failed with error: {}", .source.cause)]
    Link {
        /// The link.
        link: String,
        /// Where it was to lead.
        remote: String,
        /// Why.
        source: os::Error,
    },
    /// Something else has the name of the link. The last word is PowerShell's, which democratic-csi
    /// looks for.
    #[error(
        "creating link {link} to {remote} failed with error: Cannot create a file when that file already exists. (ResourceExists)"
    )]
    LinkExists {
        /// The link.
        link: String,
        /// Where it was to lead.
        remote: String,
    },
    /// The share is not mapped. The last sentence is that of PowerShell's `Remove-SmbGlobalMapping`,
    /// which democratic-csi looks for.
    #[error(
        "failed to query SMB global mapping {share}. error: not found. No MSFT_SmbGlobalMapping objects found."
    )]
    NotMapped {
        /// The share.
        share: String,
    },
    /// The SMB provider does not answer, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
