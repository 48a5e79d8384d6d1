use crate::{ProviderError, Unfinished, driver_texts};

/// An operation on an SMB mapping failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each field is named for what it holds")]
pub enum SmbError {
    /// The remote path is empty. The text is csi-proxy's.
    #[error("remote path is empty")]
    EmptyRemotePath,
    /// The remote path has no server or no share. The text is csi-proxy's.
    #[error("remote path ({path}) is invalid")]
    InvalidRemotePath { path: String },
    /// The link to the share could not be made.
    #[error("creating link {link} to {remote} failed with error: {}", .source.cause)]
    Link {
        link: String,
        remote: String,
        source: os::Error,
    },
    /// A file or directory has the name of the link. Drivers match on the last word.
    #[error(
        "creating link {link} to {remote} failed with error: Cannot create a file when that file already exists. ({})",
        driver_texts::NAME_TAKEN
    )]
    LinkExists { link: String, remote: String },
    /// Another link or mounted folder has the name, and leads elsewhere. The text is not
    /// [`driver_texts::NAME_TAKEN`].
    #[error(
        "creating link {link} to {remote} failed with error: Cannot create a file when that file already exists: a link that leads elsewhere."
    )]
    LinksElsewhere { link: String, remote: String },
    /// The share answers, but has no such folder. A mapping that this call made for it was removed.
    #[error("the share of {remote} has no such folder")]
    NoSuchFolder { remote: String },
    /// The share is not mapped. Drivers match on the last sentence.
    #[error(
        "failed to query SMB global mapping {share}. error: not found. {}.",
        driver_texts::NOT_MAPPED
    )]
    NotMapped { share: String },
    /// The share is mapped and answers, but without the demanded options. The mapping stays, as others
    /// use it.
    #[error("{share} is mapped already, without {}", .unmet.join(", "))]
    OtherOptions {
        share: String,
        /// The missing options, by Windows's names.
        unmet: Vec<&'static str>,
    },
    /// This process mapped the share as another user, to whom the server denies access. The mapping stays, as
    /// volumes of that user need it: once none is left, the share can be unmapped and mapped as this user.
    #[error(
        "{share} is mapped already, as another user, to whom its server denies this path: unmap it once no volume of that user is left"
    )]
    OtherUser { share: String },
    /// The SMB provider does not answer, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The share is mapped, but its server or the network is down now. The mapping stays, and works again
    /// when the server does.
    #[error("{share} is mapped, but its server is away: {}", .source.cause)]
    ServerAway { share: String, source: os::Error },
    /// The call mapped the share, then failed, and could not remove the mapping again. No other process is known to
    /// use it.
    #[error("{failed}; and {share}, which was mapped for it, stays mapped: {source}")]
    StaysMapped {
        share: String,
        failed: Box<Self>,
        source: ProviderError,
    },
    /// The node's build of Windows does not know an option.
    #[error("this build of Windows cannot map {share} with {option}: it has no such option")]
    UnknownOption {
        /// The option, by Windows's name.
        option: &'static str,
        share: String,
    },
    /// The call timed out or never started.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
