//! The map of a stage. A mapping that is removed cuts the files that pods have open through it. So a stage replaces one
//! only in these cases:
//!
//! | who made the mapping | it serves | the map that keeps it fails with | the stage |
//! |---|---|---|---|
//! | this driver, in this boot | no volume | | replaces it if it does not answer |
//! | the same | a volume | a refusal of its credential, unless the account is locked or outside its hours | replaces it |
//! | another process, or an earlier boot | | a refusal of its credential | replaces it |
//! | the same | no other link that answers | access denied; or its server is away, and Windows does not call it OK | replaces it |
//! | any other, and any for an inline volume | | | keeps it |

use wincsi::smb::{MapOutcome, MapRequest, MappingStatus, ResolvedPath};
use wincsi::{Code, Condition, Error, Feature, Win32, WinPath};

use super::ShareStage;
use crate::kinds::share::Share;
use crate::kinds::share::mappings::{Mappings, covers};
use crate::record::{Lifetime, Record, State};

/// How many folders a stage looks at before it leaves a mapping alone: each is a request to the server.
const MOST_LOOKS: usize = 16;

/// What the node may do to a mapping that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfMapped {
    /// It stays, however it fares.
    Keep,
    /// It is made anew where it is of no use to this volume.
    Replace,
}

impl ShareStage<'_> {
    pub(super) fn map(&self) -> Result<MapOutcome, Error> {
        if self.turn.stage.lifetime == Lifetime::Inline {
            return self.map_over(IfMapped::Keep);
        }
        if !self.is_of_others() && !self.serves_volumes() {
            return self.map_over(IfMapped::Replace);
        }
        match self.map_over(IfMapped::Keep) {
            Err(error) => match self.what_of_kept(&error) {
                Ok(Some(if_mapped)) => self.map_over(if_mapped),
                Ok(None) => Err(error),
                Err(unknown) => {
                    tracing::warn!("nobody knows whom the mapping serves: {unknown}");
                    Err(error)
                }
            },
            mapped => mapped,
        }
    }

    /// Maps the share and makes the link. What kubelet or a volume before left at the staging path goes: an empty
    /// directory, or a link that leads elsewhere.
    fn map_over(&self, if_mapped: IfMapped) -> Result<MapOutcome, Error> {
        let (ctx, staging) = (&self.ctx, &self.turn.stage.staging);
        let has_looks = ctx.has(Feature::EntryLooks);
        if has_looks && !self.leads_to(staging, self.remote.path())? {
            ctx.remove_entry(staging, self.deadline)?;
        }
        match self.map_with_link(if_mapped) {
            Err(error) if !has_looks && error.is(Condition::AlreadyExists) => {
                ctx.remove_entry(staging, self.deadline)?;
                self.map_with_link(if_mapped)
            }
            done => done,
        }
    }

    fn map_with_link(&self, if_mapped: IfMapped) -> Result<MapOutcome, Error> {
        let (staging, wanted) = (&self.turn.stage.staging, self.wanted);
        let node = &self.ctx.node;
        if let Some(parent) = staging.parent() {
            node.filesystem().make_directory(&parent, self.deadline)?;
        }
        let link = ResolvedPath::from(staging);
        let mut request = MapRequest::of(&self.remote)
            .with_credentials(wanted.credentials.as_ref())
            .with_link(&link);
        if if_mapped == IfMapped::Keep {
            request = request.keeping_what_is_mapped();
        }
        if self.ctx.has(Feature::MapOptions) {
            request = request.with_options(wanted.options.of_mapping());
        }
        node.smb().map(&request, self.deadline)
    }

    fn is_of_others(&self) -> bool {
        self.was_mapped && self.ctx.has(Feature::MappingList) && !self.leases.is_ours(&self.share)
    }

    /// Whether this driver made the mapping, and volumes use it, or may by now.
    fn serves_volumes(&self) -> bool {
        let (leases, share) = (&self.leases, &self.share);
        let is_staged = |record: &Record<Share>| {
            record.state == State::Staged && record.is_of_boot(leases.boot())
        };
        self.ctx.has(Feature::MappingList)
            && leases.is_ours(share)
            && (leases.users(share) > 1 || self.before.as_ref().is_some_and(is_staged))
    }

    /// What to try after this failure of a mapping that was kept; nothing if it stays.
    fn what_of_kept(&self, error: &Error) -> Result<Option<IfMapped>, Error> {
        if error.is(Condition::LogonFailure) {
            // Of the user, whatever the folder; of this call's, if the mapping has gone.
            let is_there = self
                .mappings()?
                .ways_to(&self.remote)
                .contains(&self.remote);
            let may_replace = is_there && !(self.serves_volumes() && is_temporary(error));
            return Ok(may_replace.then_some(IfMapped::Replace));
        }
        if !self.is_of_others() {
            return Ok(None);
        }
        // The node replaces no mapping that Windows calls OK while its server is away.
        let is_called_ok = |mappings: Mappings| {
            let status = mappings.status(self.remote.path());
            status == Some(MappingStatus::Ok)
        };
        let may_replace = error.is(Condition::AccessDenied)
            || is_of_mapping(error) && !is_called_ok(self.mappings()?);
        if !may_replace {
            return Ok(None);
        }
        Ok(Some(match self.serves_others()? {
            // Another stage may have made it anew meanwhile.
            true => IfMapped::Keep,
            false => IfMapped::Replace,
        }))
    }

    /// Whether another link leads through the mapping to a folder that answers, or of which that is not known.
    fn serves_others(&self) -> Result<bool, Error> {
        let files = self.ctx.node.filesystem();
        let folders = self.folders_of_others()?;
        for folder in folders.iter().take(MOST_LOOKS) {
            match files.path_exists(folder, self.answer()) {
                // These are of this folder alone.
                Ok(false) => {}
                Err(error) if error.is(Condition::AccessDenied) => {}
                Err(error) if is_of_mapping(&error) => return Ok(false),
                _ => {
                    let share = &self.share;
                    tracing::warn!("{share} is not made anew, as it serves {folder}");
                    return Ok(true);
                }
            }
        }
        Ok(folders.len() > MOST_LOOKS)
    }

    /// Where the links of other volumes lead through the mapping.
    fn folders_of_others(&self) -> Result<Vec<WinPath>, Error> {
        let (ctx, share) = (&self.ctx, &self.share);
        let mut links = ctx.stagings_and_mounts(self.deadline)?;
        links.retain(|link| *link != self.turn.stage.staging);
        let mut folders = Vec::new();
        for link in links {
            let target = ctx.link_target(&link, self.deadline)?;
            folders.extend(target.filter(|target| covers(share, target)));
        }
        folders.sort_by_key(WinPath::folded);
        folders.dedup_by_key(|folder| folder.folded());
        Ok(folders)
    }
}

/// Whether the server will accept the user again, with the password of the mapping.
fn is_temporary(error: &Error) -> bool {
    let codes = [Win32::ACCOUNT_LOCKED_OUT, Win32::INVALID_LOGON_HOURS];
    codes
        .iter()
        .any(|code| error.code() == Some(Code::Win32(*code)))
}

/// Whether each folder of the mapping would fail so.
fn is_of_mapping(error: &Error) -> bool {
    error.is(Condition::LogonFailure)
        || error.is(Condition::ServerAway)
        || error.is(Condition::ServerNotFound)
}
