//! The mapping of one share, under its lock.
//!
//! For a driver (`Smb::map_existing`) the call reads the folder below the share under the same lock. If the
//! folder is missing or does not answer, or the link cannot be made, the call removes its own new mapping again,
//! without force, because another process may use it by then. csi-proxy's call maps and links all the same.

use std::time::Duration;

use os::schema::smb_global_mapping::{CLASS, CREATE, REQUIRE_PRIVACY};
use os::{Deadline, Instance, WinPath};

use super::look::{self, Looked, Seen};
use super::table::{Removal, is_not_ok, preference};
use super::{MapOutcome, MapRequest, MappingOptions, RemotePath, SmbError, UnmapOutcome};
use crate::locks::LockGuard;
use crate::outcomes::PendingCall;
use crate::provider::ProviderError;
use crate::{Node, Privacy};

/// How long a call waits for the lock of a share or a server: longer than a dead server takes to fail a mapping,
/// and less than csi-driver-smb's 110 s.
pub(super) const TURN_WITHIN: Duration = Duration::from_secs(90);

/// How long a failed call may take to remove its own mapping, even after its deadline.
const NEW_MAPPING_REMOVED_WITHIN: Duration = Duration::from_secs(5);

/// A locked share.
pub(super) struct Share<'a> {
    pub(super) node: &'a Node,
    pub(super) remote: &'a RemotePath,
    /// What the call demands of its mapping.
    pub(super) request: &'a MapRequest<'a>,
    /// The options that it demands, with the node's own encryption option.
    pub(super) options: MappingOptions,
    pub(super) deadline: Deadline,
    /// Calls that wait for one share use the same read: a hundred volumes of a slow share take as long as two.
    pub(super) visit: PendingCall<'a, String, Looked, Option<WinPath>>,
}

impl Share<'_> {
    /// Maps the share, unless it is mapped and answers: then the mapping stays as it is, whatever its
    /// credentials and options, as others use it. `held` has the share's lock.
    ///
    /// `Status` does not decide: Windows connects a disconnected mapping again at its next use, and the
    /// server may refuse one whose status is OK.
    ///
    /// A mapping also stays if its server is away. csi-proxy removes it if `Status` is still OK, and then
    /// cannot map again, as the server is away: every other pod on the share loses its mapping, even after
    /// the server is back. Here the mapping works again by then.
    pub(super) fn ensure_mapped(&self, held: &mut LockGuard) -> Result<MapOutcome, SmbError> {
        let found = self.find_for()?;
        self.ensure(found, held)
    }

    /// As [`Share::ensure_mapped`], refuses a folder that the share does not have, or that does not answer, and then
    /// makes the link. After a failure the share is mapped only if it was before, or if it is in use by now.
    pub(super) fn map_with_folder(
        &self,
        held: &mut LockGuard,
        link: impl FnOnce() -> Result<(), SmbError>,
    ) -> Result<MapOutcome, SmbError> {
        let found = self.find_for()?;
        let was_mapped = found.is_some();
        let mapped = self.ensure(found, held)?;
        match self.require_folder().and_then(|()| link()) {
            Ok(()) => Ok(mapped),
            Err(failed) if was_mapped => Err(failed),
            Err(failed) => Err(self.fail_unmapped(failed)),
        }
    }

    fn require_folder(&self) -> Result<(), SmbError> {
        match self.lacks_folder()? {
            false => Ok(()),
            true => Err(SmbError::NoSuchFolder {
                remote: self.remote.to_string(),
            }),
        }
    }

    /// The error, after removing the mapping that the call made; another error if the removal fails.
    fn fail_unmapped(&self, failed: SmbError) -> SmbError {
        let share = self.remote.share();
        match self.remove_new_mapping() {
            Ok(()) => failed,
            Err(error) if look::is_in_use(&error) => {
                tracing::warn!(share, %error, "an SMB share stays mapped for another process");
                failed
            }
            Err(error) => SmbError::StaysMapped {
                share,
                failed: Box::new(failed),
                source: error,
            },
        }
    }

    /// Removes the mapping that this call made, still under the locks of share and server: no other call of this
    /// process uses it yet. If another process has files open there, the mapping stays. The deadline may be over by
    /// now.
    fn remove_new_mapping(&self) -> Result<(), ProviderError> {
        let clock = &*self.node.os().clock;
        let share = Share {
            deadline: Deadline::within(clock, NEW_MAPPING_REMOVED_WITHIN),
            visit: self.node.state.smb.root_reads.begin(self.remote.share()),
            options: self.options.clone(),
            ..*self
        };
        match share.find(&MappingOptions::default())? {
            Some(mapping) => share.remove(&mapping, Removal::IfUnused),
            None => Ok(()),
        }
    }

    fn find_for(&self) -> Result<Option<Instance>, SmbError> {
        self.refuse_unknown()?;
        Ok(self.find(&self.options)?)
    }

    fn ensure(
        &self,
        found: Option<Instance>,
        held: &mut LockGuard,
    ) -> Result<MapOutcome, SmbError> {
        let Some(mapping) = found else {
            return self.make(held);
        };
        match self.look()? {
            Seen::Away(why) if is_not_ok(&mapping) => self.renew(why, held),
            Seen::Denied(why) => self.denied(&mapping, why, held),
            seen => self.reuse_seen(&mapping, seen),
        }
    }

    /// Refuses options that this build's class definition lacks. Without options nothing is queried.
    fn refuse_unknown(&self) -> Result<(), SmbError> {
        let options = &self.request.options;
        if options.names().next().is_none() {
            return Ok(());
        }
        let smb = &self.node.os().smb;
        let known = smb.parameters(CLASS.name, CREATE.name, self.deadline);
        match options.unknown_to(&known.map_err(ProviderError::from)?) {
            None => Ok(()),
            Some(option) => Err(SmbError::UnknownOption {
                option,
                share: self.remote.share(),
            }),
        }
    }

    /// Refuses a mapping without the demanded options.
    ///
    /// The mapping must report each option that this request demands. Encryption by the node's own option is
    /// missing only if the mapping reports so: some builds of Windows may not fill the property in, and there
    /// no share could be used by a second volume.
    fn refuse_other(&self, mapping: &Instance) -> Result<(), SmbError> {
        let options = &self.request.options;
        let mut unmet = options.unmet_by(mapping).map_err(ProviderError::from)?;
        if options.privacy.is_none() {
            unmet.extend(self.missing_privacy(mapping)?);
        }
        match unmet.is_empty() {
            true => Ok(()),
            false => Err(SmbError::OtherOptions {
                share: self.remote.share(),
                unmet,
            }),
        }
    }

    /// The encryption option, if the node demands it and the mapping reports that it is off.
    fn missing_privacy(&self, mapping: &Instance) -> Result<Option<&'static str>, SmbError> {
        let demanded = self.node.options().privacy;
        if demanded == Privacy::Unasked {
            return Ok(None);
        }
        let reported = mapping.bool_or_null(REQUIRE_PRIVACY.name);
        let reported = reported.map_err(ProviderError::from)?;
        if reported == Some(false) && demanded == Privacy::All {
            return Ok(Some(REQUIRE_PRIVACY.name));
        }
        if reported != Some(true) {
            tracing::warn!(
                share = self.remote.share(),
                encrypted = reported,
                "an SMB mapping is reused that does not say that it is encrypted"
            );
        }
        Ok(None)
    }

    /// Refuses to replace the mapping of another user, who may have access to other folders: an access denied to
    /// this folder proves no changed password. If the mapping's user is unknown, it may be replaced.
    pub(super) fn refuse_other_user(&self) -> Result<(), SmbError> {
        let share = self.remote.share();
        match self.is_of_other() {
            true => Err(SmbError::OtherUser { share }),
            false => Ok(()),
        }
    }

    /// Whether this process mapped the share as another user.
    pub(super) fn is_of_other(&self) -> bool {
        let known = &self.node.state.smb.known;
        known.is_of_other(&self.remote.share(), self.request.credentials)
    }

    /// The outcome of reusing the existing mapping for the call.
    pub(super) fn known_as(&self) -> MapOutcome {
        let known = &self.node.state.smb.known;
        let share = self.remote.share();
        known.compare(&share, self.request.credentials, &self.options)
    }

    pub(super) fn reuse(&self, mapping: &Instance) -> Result<MapOutcome, SmbError> {
        self.refuse_other(mapping)?;
        let share = self.remote.share();
        let mapped = self.known_as();
        match mapped {
            MapOutcome::ReusedOtherOptions
            | MapOutcome::ReusedOtherSecret
            | MapOutcome::ReusedOtherUser => tracing::warn!(
                share,
                outcome = ?mapped,
                "an SMB mapping is reused as it is, though other credentials or options came for it"
            ),
            MapOutcome::ReusedUnknown => tracing::info!(
                share,
                "an SMB mapping is reused as it is, whose credentials and options are not known"
            ),
            _ => tracing::debug!(share, "an SMB mapping is reused"),
        }
        Ok(mapped)
    }

    /// Reuses a mapping that answers; in any other state the mapping stays, and the call fails.
    pub(super) fn reuse_seen(
        &self,
        mapping: &Instance,
        seen: Seen,
    ) -> Result<MapOutcome, SmbError> {
        match seen {
            Seen::Answers => self.reuse(mapping),
            Seen::Away(why) => Err(self.away(why)),
            Seen::Denied(why) | Seen::Unclear(why) => Err(ProviderError::from(why).into()),
        }
    }

    pub(super) fn away(&self, source: os::Error) -> SmbError {
        SmbError::ServerAway {
            share: self.remote.share(),
            source,
        }
    }

    /// Removes the mapping, unless the share's mappings are in use: `are_used` runs last.
    pub(super) fn unmap_unless(
        &self,
        are_used: impl FnOnce(&[Instance]) -> bool,
    ) -> Result<UnmapOutcome, SmbError> {
        let mappings = self.rows(&MappingOptions::default())?;
        let Some(mapping) = mappings.iter().min_by_key(|one| preference(one)) else {
            return Err(SmbError::NotMapped {
                share: self.remote.share(),
            });
        };
        self.node.check(self.deadline, "unmap share", self.remote)?;
        if are_used(&mappings) {
            return Ok(UnmapOutcome::InUse);
        }
        self.remove(mapping, Removal::Forced)?;
        Ok(UnmapOutcome::Unmapped)
    }
}
