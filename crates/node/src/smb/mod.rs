//! SMB global mappings: shares that every account of the node reaches.
//!
//! # Locks
//! Finding, looking at and removing a mapping takes the share's lock. Making or renewing one takes the server's lock as
//! well, because Windows lets a user in by the mappings that the server already has (error 1219). Calls that wait for a
//! share's lock use the look of a call that began after they came. Calls that wait for a server's lock fail with a mapping
//! that found the server away meanwhile. `Smb::unmap_unless` runs the driver's closure under the share's lock, right before
//! the removal; the closure may not call the node.

mod credentials;
mod error;
mod ipv6;
mod list;
mod look;
mod mapped;
mod mapping;
mod mapping_history;
mod options;
mod remote;
mod renewal;
mod requested_mapping;
mod table;

use std::sync::atomic::{AtomicU64, Ordering};

use os::{Deadline, LinkKind, Win32, WinPath};

pub use self::credentials::Credentials;
pub use self::error::SmbError;
pub use self::ipv6::Ipv6Server;
pub(crate) use self::list::is_mapped;
pub use self::list::{MappingStatus, ShareMapping};
use self::look::Looked;
pub use self::mapped::{MapOutcome, UnmapOutcome};
use self::mapping::{Share, TURN_WITHIN};
use self::mapping_history::MappingHistory;
pub use self::options::{MappingOptions, Transport};
pub use self::remote::RemotePath;
use self::requested_mapping::RequestedMapping;
use crate::locks::{Key, LockGuard, Wait};
use crate::new_link::{LinkSlot, NewLink};
use crate::outcomes::Outcomes;
use crate::provider::ProviderError;
use crate::{Node, ResolvedPath, link};

/// What the calls of one process know of the node's mappings and of each other.
#[derive(Default)]
pub(crate) struct Memory {
    known: MappingHistory,
    /// What looks at a share's root, or at a folder of it, ended with.
    root_reads: Outcomes<String, Looked, Option<WinPath>>,
    /// How a mapping of a server's failed, because the server is away.
    away: Outcomes<String, ProviderError>,
    failed_renewals: AtomicU64,
}

/// The operations on the SMB mappings of a [`Node`].
pub struct Smb<'a> {
    node: &'a Node,
}

/// What [`Smb::map`] is to bring about.
#[non_exhaustive]
pub struct MapRequest<'a> {
    /// The share, or a folder below it. What is mapped is the share, unless the path says otherwise.
    pub remote: &'a RemotePath,
    /// As whom; `None` for the machine itself.
    pub credentials: Option<&'a Credentials>,
    /// Where to put a link to `remote`, if anywhere. Whether a client may have it there is for the
    /// caller to decide before.
    pub link: Option<&'a ResolvedPath>,
    /// What it is to be like.
    pub options: MappingOptions,
    /// Whether a mapping that is there stays, however it fares: the request is of a caller who may not take it from
    /// others.
    pub keep: bool,
}

impl<'a> MapRequest<'a> {
    /// The share of this path as the machine itself, without a link.
    #[must_use]
    pub fn of(remote: &'a RemotePath) -> Self {
        Self {
            remote,
            credentials: None,
            link: None,
            options: MappingOptions::default(),
            keep: false,
        }
    }

    /// With [`Self::keep`].
    #[must_use]
    pub fn keeping_what_is_mapped(mut self) -> Self {
        self.keep = true;
        self
    }

    /// With this as [`Self::credentials`].
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Into<Option<&'a Credentials>>) -> Self {
        self.credentials = credentials.into();
        self
    }

    /// With this as [`Self::link`].
    #[must_use]
    pub fn with_link(mut self, link: impl Into<Option<&'a ResolvedPath>>) -> Self {
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
    /// with it, and [`MapOutcome`] tells what is known of it. That it is not signed, encrypted or written through
    /// where `options` demand it is an error, because the caller relies on it; so is that it says not
    /// to be encrypted where [`Options::privacy`](crate::Options::privacy) demands that of all and `options` say
    /// nothing.
    ///
    /// One whose server is away, or slow to answer, stays and is an error, unless Windows does not call it OK and
    /// the server answers at its port: such a one is removed and made anew. So is one that is refused access, unless
    /// it is known to have been made with just these credentials and options, or the folder that is asked for
    /// answers; one that this process made as another user stays, and is an error
    /// ([`SmbError::OtherUser`]). Where the look fails otherwise, the mapping stays, and that is an error. A link
    /// that is there and leads to the remote path is success.
    ///
    /// Calls for one share go one after the other, and so do the changes of mappings of one server. A call waits
    /// 90 s for its turn at most, and ends with [`Unfinished::Busy`](crate::Unfinished::Busy) then; one that
    /// waited while the server was found away ends with that.
    ///
    /// # Errors
    /// Something else has the name of the link, this build of Windows does not know an option (in both
    /// cases nothing was mapped), the share is mapped without what is demanded or as another user who is denied
    /// the path, its server is away ([`SmbError::ServerAway`]), or Windows refuses.
    pub fn map(
        &self,
        mapping: &MapRequest<'_>,
        deadline: Deadline,
    ) -> Result<MapOutcome, SmbError> {
        self.map_by(mapping, deadline, |share, wanted, held, link| {
            let mapped = share.ensure_mapped(wanted, held)?;
            link()?;
            Ok(mapped)
        })
    }

    /// As [`Smb::map`], for a driver, whose pods find nothing behind a link to what is not there: a folder that the
    /// share does not have is refused before the link is made, and so is one whose look fails or does not end. A folder
    /// that is denied is accepted. The mapping that a call made which then fails, be it for its link, is removed, unless
    /// Windows finds it in use; that may take 5 s beyond the deadline.
    ///
    /// # Errors
    /// As [`Smb::map`]; [`SmbError::NoSuchFolder`]; [`SmbError::StaysMapped`] where that removal fails.
    pub fn map_existing(
        &self,
        mapping: &MapRequest<'_>,
        deadline: Deadline,
    ) -> Result<MapOutcome, SmbError> {
        self.map_by(mapping, deadline, |share, wanted, held, link| {
            share.map_with_folder(wanted, held, link)
        })
    }

    fn map_by(
        &self,
        mapping: &MapRequest<'_>,
        deadline: Deadline,
        map: impl FnOnce(
            &Share<'_>,
            &RequestedMapping<'_>,
            &mut LockGuard,
            Box<dyn FnOnce() -> Result<(), SmbError> + '_>,
        ) -> Result<MapOutcome, SmbError>,
    ) -> Result<MapOutcome, SmbError> {
        let share = self.share(mapping.remote, deadline);
        let mut held = share.lock("map share", mapping.link.map(Key::target))?;
        let place = match mapping.link {
            Some(link) => Some(self.place(link, mapping.remote)?),
            None => None,
        };
        let (credentials, options) = (mapping.credentials, &mapping.options);
        let mut wanted = RequestedMapping::new(credentials, options, self.node.options());
        wanted.keeps = mapping.keep;
        let link = || match mapping.link.zip(place) {
            Some((link, place)) => self.put(link, mapping.remote, place),
            None => Ok(()),
        };
        map(&share, &wanted, &mut held, Box::new(link))
    }

    /// The mappings of the node, also those that others made, sorted by their remote paths. Nothing is asked of
    /// any server.
    ///
    /// # Errors
    /// Windows refuses.
    pub fn mappings(&self, deadline: Deadline) -> Result<Vec<ShareMapping>, SmbError> {
        list::all(self.node, deadline)
    }

    /// Removes the mapping of a share, also while files are open. Nobody counts who uses it, and
    /// links to it stay.
    ///
    /// # Errors
    /// The share is not mapped, or Windows refuses.
    pub fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<(), SmbError> {
        self.unmap_unless(remote, || false, deadline).map(drop)
    }

    /// As [`Smb::unmap`], unless somebody uses the share, which `used` is asked under the share's lock, last before
    /// the removal: no call of [`Smb::map`] for this share comes between. It is not asked where the share is not
    /// mapped. See [`api::Smb::unmap_unless`](crate::api::Smb::unmap_unless) of what it may do.
    ///
    /// # Errors
    /// As [`Smb::unmap`].
    pub fn unmap_unless(
        &self,
        remote: &RemotePath,
        used: impl FnOnce() -> bool,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, SmbError> {
        let share = self.share(remote, deadline);
        let _held = share.lock("unmap share", None)?;
        share.unmap_unless(used)
    }

    /// How many mappings this process removed to make them anew, and could not: each such share is without one
    /// until a later call makes it.
    #[must_use]
    pub fn failed_renewals(&self) -> u64 {
        self.node.smb().failed_renewals.load(Ordering::Relaxed)
    }

    /// To be called before the lock of the share is waited for: see [`crate::outcomes::Call`].
    fn share<'b>(&'b self, remote: &'b RemotePath, deadline: Deadline) -> Share<'b> {
        Share {
            node: self.node,
            remote,
            deadline,
            visit: self.node.smb().root_reads.begin(remote.share()),
        }
    }

    /// Holds the place of the link, while nothing has been done yet: the server may take long, and nobody shall
    /// lead the link elsewhere meanwhile.
    fn place<'b>(
        &'b self,
        link: &'b ResolvedPath,
        remote: &'b RemotePath,
    ) -> Result<LinkSlot<'b>, SmbError> {
        let place = self.link(link, remote).place();
        place.map_err(|error| self.not_linked(link, remote, error))
    }

    fn put<'b>(
        &'b self,
        link: &'b ResolvedPath,
        remote: &'b RemotePath,
        place: LinkSlot<'b>,
    ) -> Result<(), SmbError> {
        let text = link::text_to(remote.path());
        let made = self.link(link, remote).make(place, &text);
        made.map_err(|error| self.not_linked(link, remote, error))
    }

    fn link<'b>(&'b self, link: &'b ResolvedPath, remote: &'b RemotePath) -> NewLink<'b> {
        NewLink {
            node: self.node,
            resolved: link,
            target: remote.path(),
            kind: LinkKind::Directory,
        }
    }

    fn not_linked(&self, link: &ResolvedPath, remote: &RemotePath, source: os::Error) -> SmbError {
        match source.win32() {
            Some(Win32::ALREADY_EXISTS) => self.name_taken(link, remote),
            _ => SmbError::Link {
                link: link.asked().to_string(),
                remote: remote.to_string(),
                source,
            },
        }
    }

    fn name_taken(&self, link: &ResolvedPath, remote: &RemotePath) -> SmbError {
        let entry = self.node.os().files.entry(link.path());
        let is_plain = entry.is_ok_and(|entry| entry.tag.is_none());
        let (link, remote) = (link.asked().to_string(), remote.to_string());
        match is_plain {
            true => SmbError::LinkExists { link, remote },
            false => SmbError::LinksElsewhere { link, remote },
        }
    }
}

impl Share<'_> {
    /// Waits for the share's lock, and one more.
    fn lock(&self, operation: &'static str, other: Option<Key>) -> Result<LockGuard, SmbError> {
        let mut keys = vec![Key::SmbShare(self.remote.share())];
        keys.extend(other);
        let wait = Wait::at_most(TURN_WITHIN, self.deadline);
        Ok(self.node.locks().take(operation, keys, wait)?)
    }
}
