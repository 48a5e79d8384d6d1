use crate::{ProviderError, Unfinished, driver_texts};

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
    /// A file or directory has the name of the link. The last word is one that drivers look for.
    #[error(
        "creating link {link} to {remote} failed with error: Cannot create a file when that file already exists. ({})",
        driver_texts::NAME_TAKEN
    )]
    LinkExists {
        /// The link.
        link: String,
        /// Where it was to lead.
        remote: String,
    },
    /// A link or mounted folder has the name, and leads elsewhere. [`driver_texts::NAME_TAKEN`] is not said of
    /// it.
    #[error(
        "creating link {link} to {remote} failed with error: Cannot create a file when that file already exists: a link that leads elsewhere."
    )]
    LinksElsewhere {
        /// The link.
        link: String,
        /// Where it was to lead.
        remote: String,
    },
    /// The share answers, and has no such folder. What this call had mapped for it is mapped no more.
    #[error("the share of {remote} has no such folder")]
    NoSuchFolder {
        /// The path.
        remote: String,
    },
    /// The share is not mapped. The last sentence is one that drivers look for.
    #[error(
        "failed to query SMB global mapping {share}. error: not found. {}.",
        driver_texts::NOT_MAPPED
    )]
    NotMapped {
        /// The share.
        share: String,
    },
    /// The share is mapped and answers, but not in the way that is demanded. It stays as it is, as others
    /// work with it.
    #[error("{share} is mapped already, without {}", .unmet.join(", "))]
    OtherOptions {
        /// The share.
        share: String,
        /// The options, as Windows spells them.
        unmet: Vec<&'static str>,
    },
    /// This process mapped the share as another user, to whom its server denies what is asked for. The mapping
    /// stays, as that user's volumes work with it: once none is left, the share can be unmapped and mapped as
    /// this user.
    #[error(
        "{share} is mapped already, as another user, to whom its server denies this path: unmap it once no volume of that user is left"
    )]
    OtherUser {
        /// The share.
        share: String,
    },
    /// The SMB provider does not answer, or refused.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The share is mapped, and its server or the network to it is away now. The mapping stays, and works
    /// again when the server does.
    #[error("{share} is mapped, but its server is away: {}", .source.cause)]
    ServerAway {
        /// The share.
        share: String,
        /// What the look at the share ended with.
        source: os::Error,
    },
    /// The call failed after it had mapped the share, and could not remove the mapping again, which nobody is known to
    /// use.
    #[error("{failed}; and {share}, which was mapped for it, stays mapped: {source}")]
    StaysMapped {
        /// The share.
        share: String,
        /// Why the call failed.
        failed: Box<Self>,
        /// Why the mapping stays.
        source: ProviderError,
    },
    /// The node runs a build of Windows that does not know an option.
    #[error("this build of Windows cannot map {share} with {option}: it has no such option")]
    UnknownOption {
        /// The option, as Windows spells it.
        option: &'static str,
        /// The share.
        share: String,
    },
    /// It did not end, or did not begin.
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}
