//! SMB global mappings: shares that every account of the node reaches.

mod credentials;
mod error;
mod known;
mod list;
mod look;
mod mapped;
mod mapping;
mod options;
mod remote;
mod visit;

use os::{Deadline, LinkKind, Win32};

pub use self::credentials::Credentials;
pub use self::error::SmbError;
pub(crate) use self::known::Known;
pub(crate) use self::list::is_mapped;
pub use self::list::{MappedShare, MappingStatus};
pub use self::mapped::Mapped;
use self::mapping::Share;
pub use self::options::{MappingOptions, Transport};
pub use self::remote::RemotePath;
pub(crate) use self::visit::Visits;
use crate::locks::Key;
use crate::new_link::{NewLink, Place};
use crate::{Node, Way};

/// The operations on the SMB mappings of a [`Node`].
pub struct Smb<'a> {
    node: &'a Node,
}

/// What [`Smb::map`] is to bring about.
#[non_exhaustive]
pub struct Mapping<'a> {
    /// The share, or a folder below it. What is mapped is always the share.
    pub remote: &'a RemotePath,
    /// As whom; `None` for the machine itself.
    pub credentials: Option<&'a Credentials>,
    /// Where to put a link to `remote`, if anywhere. Whether a client may have it there is for the
    /// caller to decide before.
    pub link: Option<&'a Way>,
    /// What it is to be like.
    pub options: MappingOptions,
}

impl<'a> Mapping<'a> {
    /// The share of this path as the machine itself, without a link.
    #[must_use]
    pub fn of(remote: &'a RemotePath) -> Self {
        Self {
            remote,
            credentials: None,
            link: None,
            options: MappingOptions::default(),
        }
    }

    /// With this as [`Self::credentials`].
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Into<Option<&'a Credentials>>) -> Self {
        self.credentials = credentials.into();
        self
    }

    /// With this as [`Self::link`].
    #[must_use]
    pub fn with_link(mut self, link: impl Into<Option<&'a Way>>) -> Self {
        self.link = link.into();
        self
    }

    /// With these as [`Self::options`].
    #[must_use]
    pub fn with_options(mut self, options: MappingOptions) -> Self {
        self.options = options;
        self
    }
}

impl<'a> Smb<'a> {
    pub(crate) fn new(node: &'a Node) -> Self {
        Self { node }
    }

    /// Maps a share, and makes a directory link to it.
    ///
    /// A mapping that answers is reused, and other credentials or options are not applied: pods work
    /// with it, and [`Mapped`] tells what is known of it. That it is not signed, encrypted or written through
    /// where `options` demand it is an error, because whoever demands it relies on it; so is that it says not
    /// to be encrypted where [`Options::privacy`](crate::Options::privacy) demands that of all and `options` say
    /// nothing.
    ///
    /// One whose server is away, or slow to answer, stays and is an error; one that fails otherwise is removed
    /// and made anew. So is one that is refused access, unless it is known to have been made with just these
    /// credentials and options; one that this process made as another user stays, and is an error
    /// ([`SmbError::OtherUser`]). A link that is there and leads to the remote path is success.
    ///
    /// # Errors
    /// Something else has the name of the link, this build of Windows does not know an option (in both
    /// cases nothing was mapped), the share is mapped without what is demanded or as another user who is denied
    /// the path, its server is away ([`SmbError::ServerAway`]), or Windows refuses.
    pub fn map(&self, mapping: &Mapping<'_>, deadline: Deadline) -> Result<Mapped, SmbError> {
        let share = self.share(mapping.remote, deadline);
        let mut keys = vec![Key::SmbServer(mapping.remote.server())];
        keys.extend(mapping.link.map(Key::target));
        let _held = self.node.locks().take("map share", keys, deadline)?;
        let place = match mapping.link {
            Some(link) => Some(self.place(link, mapping.remote)?),
            None => None,
        };
        let mapped = share.ensure_mapped(mapping.credentials, &mapping.options)?;
        if let (Some(link), Some(place)) = (mapping.link, place) {
            self.put(link, mapping.remote, place)?;
        }
        Ok(mapped)
    }

    /// The mappings that the node has, whoever made them, sorted by their remote paths. Nothing is asked of
    /// any server.
    ///
    /// # Errors
    /// Windows refuses.
    pub fn mappings(&self, deadline: Deadline) -> Result<Vec<MappedShare>, SmbError> {
        list::all(self.node, deadline)
    }

    /// Removes the mapping of a share, also while files are open. Nobody counts who uses it, and
    /// links to it stay.
    ///
    /// # Errors
    /// The share is not mapped, or Windows refuses.
    pub fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<(), SmbError> {
        let share = self.share(remote, deadline);
        let keys = vec![Key::SmbServer(remote.server())];
        let _held = self.node.locks().take("unmap share", keys, deadline)?;
        share.unmap()
    }

    /// To be called before the lock of its server is waited for: see [`visit::Visit`].
    fn share<'b>(&'b self, remote: &'b RemotePath, deadline: Deadline) -> Share<'b> {
        Share {
            node: self.node,
            remote,
            deadline,
            visit: self.node.visits().begin(remote.share()),
        }
    }

    /// Holds the place of the link, while nothing has been done yet: the server may take long, and nobody shall
    /// lead the link elsewhere meanwhile.
    fn place<'b>(&'b self, link: &'b Way, remote: &'b RemotePath) -> Result<Place<'b>, SmbError> {
        let place = self.link(link, remote).place();
        place.map_err(|error| self.not_linked(link, remote, error))
    }

    fn put<'b>(
        &'b self,
        link: &'b Way,
        remote: &'b RemotePath,
        place: Place<'b>,
    ) -> Result<(), SmbError> {
        let made = self.link(link, remote).make(place, &remote.link_text());
        made.map_err(|error| self.not_linked(link, remote, error))
    }

    fn link<'b>(&'b self, link: &'b Way, remote: &'b RemotePath) -> NewLink<'b> {
        NewLink {
            node: self.node,
            way: link,
            target: remote.path(),
            kind: LinkKind::Directory,
        }
    }

    fn not_linked(&self, link: &Way, remote: &RemotePath, source: os::Error) -> SmbError {
        match source.win32() {
            Some(Win32::ALREADY_EXISTS) => self.name_taken(link, remote),
            _ => SmbError::Link {
                link: link.asked().to_string(),
                remote: remote.to_string(),
                source,
            },
        }
    }

    fn name_taken(&self, link: &Way, remote: &RemotePath) -> SmbError {
        let entry = self.node.os().files.entry(link.path());
        let is_plain = entry.is_ok_and(|entry| entry.tag.is_none());
        let (link, remote) = (link.asked().to_string(), remote.to_string());
        match is_plain {
            true => SmbError::LinkExists { link, remote },
            false => SmbError::LinksElsewhere { link, remote },
        }
    }
}
