use os::Deadline;

use super::Result;
#[allow(unused_imports, reason = "the pages link to them")]
use super::links::*;
use super::operations::{operations, run};
use crate::{MapOutcome, MapRequest, Node, RemotePath, ShareMapping, UnmapOutcome};

operations! {
by deadline;

/// The operations on SMB mappings.
pub trait Smb {
    /// Maps a share for the whole node, and makes a directory link to it; an existing link to the remote path is
    /// success. A mapping that answers is reused, without applying other credentials or options: pods use it, and
    /// [`MapOutcome`] reports what is known about it. If `options` demand signing, encryption or write-through and the
    /// mapping lacks it, the call fails, because the caller relies on it. It also fails if the mapping reports no
    /// encryption while [`Options::privacy`](crate::Options::privacy) demands it of all and `options` do not override
    /// it. Without [`Feature::Outcomes`] the result is [`MapOutcome::Unreported`].
    ///
    /// A mapping whose server is away, or slow to answer, stays, and the call fails. It is renewed only if Windows does
    /// not call it OK and the server answers at its port. A mapping whose access is refused is renewed too, unless it
    /// is known to have just these credentials and options, or the requested folder answers. A mapping that this
    /// process made as another user stays, and the call fails ([`CredentialsConflict`]). After any other read error the
    /// mapping stays, and the call fails.
    ///
    /// Calls for one share run one after the other, and so do changes of the mappings of one server. A call waits at
    /// most 90 s for its turn, then fails with [`Crowded`]. If the server was found away meanwhile, it fails with that
    /// error.
    ///
    /// If the folder below the share does not exist, or reading it fails or does not end, the call fails and makes no
    /// link, as pods would find nothing behind it; a folder with access denied is accepted. With
    /// [`Feature::FolderCheck`] a failed call leaves no mapping that was not there before, unless another process
    /// mapped the share or has files open there, the call passed its deadline, or it ends with [`NotReady`]. Removing
    /// it may take 5 s beyond the deadline.
    ///
    /// # Errors
    /// [`NotFound`] of the folder, with [`Feature::FolderCheck`]; [`AlreadyExists`], [`LogonFailure`],
    /// [`AccessDenied`], [`ServerNotFound`], [`NotReady`], [`ServerAway`], [`CredentialsConflict`], [`OtherOptions`],
    /// [`UnknownOption`]. [`Cause::Unsupported`] without [`Feature::MapOptions`], for each option, and without
    /// [`Feature::FolderMappings`] of a folder's own mapping.
    fn map(&self, mapping: &MapRequest<'_>, deadline: Deadline) -> Result<MapOutcome>
        = self.map_in_time;

    /// The mappings of the node, including foreign ones, sorted by their remote paths. No server is contacted.
    ///
    /// # Errors
    /// [`NotReady`], [`AccessDenied`]. [`Cause::Unsupported`] without [`Feature::MappingList`].
    fn mappings(&self, deadline: Deadline) -> Result<Vec<ShareMapping>>
        = smb.mappings, "list", "mappings";

    /// Removes the mapping of a share, even one in use. Links to it stay.
    ///
    /// # Errors
    /// [`NotMapped`], [`InUse`], [`NotReady`]. [`Cause::Unsupported`] without [`Feature::FolderMappings`] of a folder's
    /// own mapping.
    fn unmap(&self, remote: &RemotePath, deadline: Deadline) -> Result<()>
        = smb.unmap, "unmap", remote;

    /// As [`Smb::unmap`], unless all mappings of the share have drive letters, as a person makes them, or the share is in
    /// use. That `used` decides, for example by the driver's own records. It runs under the share's lock, last before the
    /// removal, so that no [`Smb::map`] for this share comes between. A driver that records each use before it maps, and drops the record before it calls this, removes no mapping that
    /// another of its calls relies on.
    ///
    /// `used` must return `true` if it cannot decide. It runs once at most, on another thread, perhaps after the caller
    /// received its answer at the deadline. It must not call the node, whose calls for this share wait for it, nor wait
    /// for a lock that the driver holds while it calls the node; and it should be quick.
    ///
    /// # Errors
    /// As [`Smb::unmap`], without a call of `used`. [`Cause::Unsupported`] without [`Feature::ConditionalUnmap`].
    fn unmap_unless(
        &self,
        remote: &RemotePath,
        used: Box<dyn FnOnce() -> bool + Send>,
        deadline: Deadline,
    ) -> Result<UnmapOutcome>
        = smb.unmap_unless, "unmap", remote;
}
}

impl Node {
    /// The operation may outlive its caller, and so must what it logs in with.
    fn map_in_time(&self, mapping: &MapRequest<'_>, deadline: Deadline) -> Result<MapOutcome> {
        let (remote, link) = (mapping.remote.clone(), mapping.link.cloned());
        let (credentials, options) = (mapping.credentials.cloned(), mapping.options.clone());
        let keep = mapping.keep;
        run(self, "map", mapping.remote, deadline, move |node| {
            let mapping = MapRequest {
                remote: &remote,
                credentials: credentials.as_ref(),
                link: link.as_ref(),
                options,
                keep,
            };
            node.operations().smb().map_existing(&mapping, deadline)
        })
    }
}
