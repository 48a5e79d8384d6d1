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
mod mapping;
mod mapping_history;
mod options;
mod remote;
mod renewal;
mod table;

use std::sync::atomic::{AtomicU64, Ordering};

use os::{Deadline, Instance, LinkKind, Win32, WinPath};

pub use self::credentials::Credentials;
pub use self::error::SmbError;
pub use self::ipv6::Ipv6Server;
pub(crate) use self::list::is_mapped;
pub use self::list::{MappingStatus, ShareMapping};
use self::look::Looked;
use self::mapping::{Share, TURN_WITHIN};
use self::mapping_history::MappingHistory;
pub use self::options::{MappingOptions, Transport};
pub use self::remote::RemotePath;
use self::table::has_letter;
use crate::locks::{Key, LockGuard, Wait};
use crate::new_link::{LinkSlot, NewLink};
use crate::outcomes::Outcomes;
use crate::provider::ProviderError;
use crate::{ResolvedPath, Smb, link};

/// State shared by all SMB calls of a process.
#[derive(Default)]
pub(crate) struct Memory {
    known: MappingHistory,
    /// Results of reading a share's root, or a folder of it.
    root_reads: Outcomes<String, Looked, Option<WinPath>>,
    /// Failures of mappings of a server, because the server is away.
    away: Outcomes<String, ProviderError>,
    failed_renewals: AtomicU64,
}

/// A request to [`Smb::map`].
#[non_exhaustive]
pub struct MapRequest<'a> {
    /// The share, or a folder below it. The share is mapped, unless the path selects a folder.
    pub remote: &'a RemotePath,
    /// The user; `None` for the machine itself.
    pub credentials: Option<&'a Credentials>,
    /// The place of a link to `remote`, if wanted. The caller must check first whether its client
    /// may have a link there.
    pub link: Option<&'a ResolvedPath>,
    /// The options of the mapping.
    pub options: MappingOptions,
    /// Whether an existing mapping always stays: the caller may not take it from its other users.
    pub keep: bool,
}

impl<'a> MapRequest<'a> {
    /// Maps the share of this path as the machine itself, without a link.
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

    /// Sets [`Self::keep`].
    #[must_use]
    pub fn keeping_what_is_mapped(mut self) -> Self {
        self.keep = true;
        self
    }

    /// Sets [`Self::credentials`].
    #[must_use]
    pub fn with_credentials(mut self, credentials: impl Into<Option<&'a Credentials>>) -> Self {
        self.credentials = credentials.into();
        self
    }

    /// Sets [`Self::link`].
    #[must_use]
    pub fn with_link(mut self, link: impl Into<Option<&'a ResolvedPath>>) -> Self {
        self.link = link.into();
        self
    }

    /// Sets [`Self::options`].
    #[must_use]
    pub fn with_options(mut self, options: MappingOptions) -> Self {
        self.options = options;
        self
    }
}

/// How a share came to be mapped. Every mapping that [`Smb::map`](crate::api::Smb::map) returns meets the demands of the
/// call. Its credentials, and the properties that Windows does not report, depend on who made it. What this process
/// knows of its own mappings holds unless another process replaced one since. Secrets are compared by a hash under a
/// random key of this process, and are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MapOutcome {
    /// The mapping is new, with these credentials and options; a broken one may have been removed
    /// before.
    Made,
    /// This process made the mapping, with the same credentials and options. Windows reports neither the user of
    /// a mapping nor when it was made.
    Reused,
    /// This process made the mapping as this user with this secret, but with other options, which stay in force.
    /// The mapping meets the demands of this call as well, as far as Windows reports.
    ReusedOtherOptions,
    /// This process made the mapping as this user with another secret, perhaps with other options too. A driver that
    /// knows its secret to be rotated may go on: the session uses the old secret until no volume of the share is
    /// left and it is unmapped. Nobody has checked the new one.
    ReusedOtherSecret,
    /// This process made the mapping as another user, and all access to this share is that user's. A driver
    /// whose volumes have users of their own refuses to stage this one.
    ReusedOtherUser,
    /// Another process made the mapping: another driver, or this one before its restart. A driver may accept
    /// it only if it must be the same: if all volumes of the share have one user, or if the driver records
    /// for each stage who mapped the share.
    ReusedUnknown,
    /// csi-proxy's protocol does not report it. A driver that must know calls this library in its own
    /// process, or has one user for each server.
    Unreported,
}

/// What [`Smb::unmap_unless`](crate::api::Smb::unmap_unless) did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnmapOutcome {
    /// The share is in use, so it stays mapped.
    InUse,
    /// The mapping is removed.
    Unmapped,
}

#[allow(missing_docs, reason = "documented in `api::Smb`")]
impl<'a> Smb<'a> {
    /// csi-proxy's call, which looks at no folder below the share.
    pub fn map(
        &self,
        mapping: &MapRequest<'_>,
        deadline: Deadline,
    ) -> Result<MapOutcome, SmbError> {
        self.map_by(mapping, deadline, |share, held, link| {
            let mapped = share.ensure_mapped(held)?;
            link()?;
            Ok(mapped)
        })
    }

    pub fn map_existing(
        &self,
        mapping: &MapRequest<'_>,
        deadline: Deadline,
    ) -> Result<MapOutcome, SmbError> {
        self.map_by(mapping, deadline, |share, held, link| {
            share.map_with_folder(held, link)
        })
    }

    fn map_by(
        &self,
        mapping: &MapRequest<'_>,
        deadline: Deadline,
        map: impl FnOnce(
            &Share<'_>,
            &mut LockGuard,
            Box<dyn FnOnce() -> Result<(), SmbError> + '_>,
        ) -> Result<MapOutcome, SmbError>,
    ) -> Result<MapOutcome, SmbError> {
        let share = self.share(mapping, deadline);
        let mut held = share.lock("map share", mapping.link.map(Key::target))?;
        let place = match mapping.link {
            Some(link) => Some(self.place(link, mapping.remote)?),
            None => None,
        };
        let link = || match mapping.link.zip(place) {
            Some((link, place)) => self.put(link, mapping.remote, place),
            None => Ok(()),
        };
        map(&share, &mut held, Box::new(link))
    }

    pub fn mappings(&self, deadline: Deadline) -> Result<Vec<ShareMapping>, SmbError> {
        list::all(self.node, deadline)
    }

    pub fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<(), SmbError> {
        self.unmap_by(remote, |_| false, deadline).map(drop)
    }

    pub fn unmap_unless(
        &self,
        remote: &RemotePath,
        used: impl FnOnce() -> bool,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, SmbError> {
        let are_used = |mappings: &[Instance]| mappings.iter().all(has_letter) || used();
        self.unmap_by(remote, are_used, deadline)
    }

    fn unmap_by(
        &self,
        remote: &RemotePath,
        are_used: impl FnOnce(&[Instance]) -> bool,
        deadline: Deadline,
    ) -> Result<UnmapOutcome, SmbError> {
        let request = MapRequest::of(remote);
        let share = self.share(&request, deadline);
        let _held = share.lock("unmap share", None)?;
        share.unmap_unless(are_used)
    }

    /// How many mappings this process removed to renew them, and then failed to make: each such share has no
    /// mapping until a later call makes it.
    #[must_use]
    pub fn failed_renewals(&self) -> u64 {
        self.node.state.smb.failed_renewals.load(Ordering::Relaxed)
    }

    /// To be called before the wait for the share's lock: see [`crate::outcomes::PendingCall`].
    fn share<'b>(&'b self, request: &'b MapRequest<'b>, deadline: Deadline) -> Share<'b> {
        let remote = request.remote;
        Share {
            node: self.node,
            remote,
            request,
            options: request.options.or_of(self.node.options()),
            deadline,
            visit: self.node.state.smb.root_reads.begin(remote.share()),
        }
    }

    /// Pins the place of the link before anything is done: the server may take long, and meanwhile no other
    /// process may redirect the link.
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
    /// Waits for the share's lock, and another one.
    fn lock(&self, operation: &'static str, other: Option<Key>) -> Result<LockGuard, SmbError> {
        let mut keys = vec![Key::SmbShare(self.remote.share())];
        keys.extend(other);
        let wait = Wait::at_most(TURN_WITHIN, self.deadline);
        Ok(self.node.lock(operation, keys, wait)?)
    }
}
