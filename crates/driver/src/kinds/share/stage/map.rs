//! The map of a stage. A mapping that is removed cuts the files that pods have open through it. So a stage replaces one
//! only in these cases, from any maker:
//!
//! | in this boot it served | another link leads there | the map that keeps it fails with | Windows calls it | the stage |
//! |---|---|---|---|---|
//! | a volume of ours | | a refusal of its password, and the call has another | | replaces it, and owes it if that fails |
//! | none | | a refusal of its password | | replaces it |
//! | none | no | another refusal of its user, or access denied | | replaces it |
//! | none | no | a server that is ill | disconnected | replaces it |
//! | none | no, or its folder fails so too | a server that is away, and not ill | anything but OK | replaces it |
//! | any other, and any for an inline volume | | | | keeps it |
//!
//! Over csi-proxy's pipes it is csi-proxy that decides.

use wincsi::smb::{MapOutcome, MapRequest, MappingStatus, ResolvedPath};
use wincsi::{Code, Condition, Error, Feature, Win32, WinPath};

use super::ShareStage;
use crate::kinds::share::mappings::covers;
use crate::record::Lifetime;

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
        if !self.ctx.has(Feature::MappingList) {
            return self.map_over(IfMapped::Replace);
        }
        if self.turn.stage.lifetime == Lifetime::Inline {
            return self.map_over(IfMapped::Keep);
        }
        self.map_over(IfMapped::Keep).or_else(|error| {
            let serves = self.leases.serves(&self.share);
            let if_mapped = self.what_of_kept(&error, serves).unwrap_or_else(|unknown| {
                tracing::warn!("nobody knows whom the mapping serves: {unknown}");
                None
            });
            let mapped = self.map_over(if_mapped.ok_or(error)?);
            mapped.inspect_err(|error| self.owe_if_gone(error, serves))
        })
    }

    /// Maps the share and makes the link. What kubelet or a volume before left at the staging path goes: an empty
    /// directory, or a link that leads elsewhere.
    fn map_over(&self, if_mapped: IfMapped) -> Result<MapOutcome, Error> {
        let (ctx, staging) = (&self.ctx, &self.turn.stage.staging);
        let has_looks = ctx.has(Feature::EntryLooks);
        if has_looks
            && !self
                .ctx
                .leads_to(staging, self.remote.path(), self.deadline)?
        {
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

    /// What live volumes had is owed to them.
    fn owe_if_gone(&self, error: &Error, serves: bool) {
        if serves && self.has_gone().is_ok_and(|has_gone| has_gone) {
            self.owed.note(&self.request(), error);
        }
    }

    fn map_with_link(&self, if_mapped: IfMapped) -> Result<MapOutcome, Error> {
        let (staging, node) = (&self.turn.stage.staging, &self.ctx.node);
        if let Some(parent) = staging.parent() {
            node.filesystem().make_directory(&parent, self.deadline)?;
        }
        let link = ResolvedPath::from(&**staging);
        let mut request = self.request().with_link(&link);
        if if_mapped == IfMapped::Keep {
            request = request.keeping_what_is_mapped();
        }
        node.smb().map(&request, self.deadline)
    }

    fn request(&self) -> MapRequest<'_> {
        let wanted = self.wanted;
        let request = MapRequest::of(&self.remote).with_credentials(wanted.credentials.as_ref());
        match self.ctx.has(Feature::MapOptions) {
            true => request.with_options(wanted.options.of_mapping()),
            false => request,
        }
    }

    /// What to try after this failure of a mapping that was kept; nothing if it stays.
    fn what_of_kept(&self, error: &Error, serves: bool) -> Result<Option<IfMapped>, Error> {
        let mappings = self.mappings()?;
        if error.is(Condition::LogonFailure) {
            // Of the user, whatever the folder; of this call's, if the mapping has gone.
            let is_there = mappings.ways_to(&self.remote).contains(&self.remote);
            let may_help = match is_of_password(error) {
                true => !serves || !self.has_credential_of_mapping(),
                false => !serves && !self.serves_others(error)?,
            };
            return Ok((is_there && may_help).then_some(IfMapped::Replace));
        }
        let may_stay_dead = match mappings.status(self.remote.path()) {
            None | Some(MappingStatus::Ok) => false,
            Some(MappingStatus::Disconnected) => {
                is_of_dead(error) || error.is(Condition::ServerAway)
            }
            Some(_) => is_of_dead(error),
        };
        if serves || !(may_stay_dead || error.is(Condition::AccessDenied)) {
            return Ok(None);
        }
        Ok(Some(match self.serves_others(error)? {
            // Another stage may have made it anew meanwhile.
            true => IfMapped::Keep,
            false => IfMapped::Replace,
        }))
    }

    /// Whether another link leads through the mapping, unless that is known to be dead.
    fn serves_others(&self, error: &Error) -> Result<bool, Error> {
        let folders = self.folders_of_others()?;
        let Some(folder) = folders.first() else {
            return Ok(false);
        };
        let exists = || {
            let files = self.ctx.node.filesystem();
            files.path_exists(folder, self.answer())
        };
        let is_dead = is_of_dead(error) && exists().is_err_and(|error| is_of_dead(&error));
        if !is_dead {
            let share = &self.share;
            tracing::warn!("{share} is kept, as a link leads to {folder}");
        }
        Ok(!is_dead)
    }

    /// Where the links of other volumes lead through the mapping.
    fn folders_of_others(&self) -> Result<Vec<WinPath>, Error> {
        let (ctx, share) = (&self.ctx, &self.share);
        let recorded = self.links_of_records();
        let mut links = ctx.stagings_and_mounts(self.deadline)?;
        links.retain(|link| {
            // Those of pods lead to a staging path, and what was staged in an earlier boot was not served in this one.
            let needs_none = matches!(recorded.get(&link.folded()), Some(None));
            let is_own = self.before.is_some() && *link == self.turn.stage.staging;
            !is_own && !needs_none
        });
        let mut folders = Vec::new();
        for link in links {
            let target = ctx.link_target(&link, self.deadline)?;
            folders.extend(target.filter(|target| covers(share, target)));
        }
        Ok(folders)
    }
}

/// Whether the server refuses the password, or Windows lost it. One that it refuses for the account's sake is good again
/// when the account is.
fn is_of_password(error: &Error) -> bool {
    const REFUSED: [Win32; 4] = [
        Win32::INVALID_PASSWORD,
        Win32::NOT_AUTHENTICATED,
        Win32::NO_SUCH_LOGON_SESSION,
        Win32::LOGON_FAILURE,
    ];
    has_code(error, &REFUSED)
}

/// Whether each folder of a mapping that stays dead may fail so. A server that answers so is ill for a while.
fn is_of_dead(error: &Error) -> bool {
    const ILL: [Win32; 7] = [
        Win32::UNEXP_NET_ERR,
        Win32::NETNAME_DELETED,
        Win32::BAD_NET_NAME,
        Win32::SHARING_PAUSED,
        Win32::REQ_NOT_ACCEP,
        Win32::SEM_TIMEOUT,
        Win32::NO_LOGON_SERVERS,
    ];
    let is_away = error.is(Condition::ServerAway) || error.is(Condition::ServerNotFound);
    is_away && !has_code(error, &ILL)
}

fn has_code(error: &Error, codes: &[Win32]) -> bool {
    matches!(error.code(), Some(Code::Win32(code)) if codes.contains(&code))
}
