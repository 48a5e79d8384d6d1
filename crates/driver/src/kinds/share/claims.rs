//! Which volumes use which shares now.
//!
//! A volume claims its share before its record is written. Before the share is unmapped it is leaving: then it uses the
//! share no more, and who claims the share meanwhile takes the mapping over. So the claims are the records, in a form in
//! which each call can look through them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

use wincsi::WinPath;

use super::Share;
use crate::record::{Record, State, VolumeHandle};
use crate::unpoisoned::Unpoisoned;

/// The claims of the live volumes.
#[derive(Debug, Default)]
pub(super) struct Claims(Unpoisoned<Inner>);

#[derive(Debug, Default)]
struct Inner {
    claims: BTreeMap<VolumeHandle, Claim>,
    /// Shares that are being unmapped, on hosts that do not ask in between whether somebody uses them.
    unmapped: BTreeSet<String>,
    /// The mappings of others that are being left, by the folded path of the link that is to go.
    left: BTreeMap<String, Vec<String>>,
}

/// One volume's use of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// The server as the volume names it, in lower case.
    pub(super) server: String,
    /// The same as Windows has it: the address, where the name was looked up.
    pub(super) address: String,
    /// What is mapped, in lower case.
    pub(super) share: String,
    /// As whom, in lower case: names of users have no case.
    pub(super) user: Option<String>,
    /// Another TCP port of the server than SMB's.
    pub(super) port: Option<NonZeroU16>,
    /// Whose the mapping is. This driver's it is in one boot alone.
    pub(super) whose: Whose,
    /// That boot, where the node reports it.
    pub(super) boot: Option<String>,
    /// Whether the volume is being unstaged.
    pub(super) is_leaving: bool,
}

/// Whose a mapping is, by what a claim knows of it: each of these outweighs those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Whose {
    /// Another process's.
    Others,
    /// This driver's, if a call that found none makes it: another process may be first.
    Presumed,
    /// This driver's.
    Ours,
}

/// The volumes that use a share whose mapping is this driver's by now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Adopted {
    /// How many use it.
    pub(super) users: usize,
    /// The volumes whose mapping was another's before, or of another boot.
    pub(super) new: Vec<VolumeHandle>,
}

/// Why a share cannot be claimed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// This volume uses the same server as another user.
    OtherUser(VolumeHandle),
    /// This volume uses the same server at another port, where another server may be.
    OtherPort(VolumeHandle),
    /// The share is being unmapped.
    Unmapping,
}

impl Whose {
    fn of(is_ours: bool) -> Self {
        match is_ours {
            true => Self::Ours,
            false => Self::Others,
        }
    }
}

impl Claim {
    pub(super) fn of(record: &Record<Share>) -> Self {
        let share = &record.content;
        Self {
            server: share.server.clone(),
            address: share.remote.server(),
            share: share.remote.share(),
            user: share.user.as_ref().map(|user| user.to_lowercase()),
            port: share.options.tcp_port,
            // A stage that did not end may not have come to the mapping.
            whose: match (share.made_mapping, record.state) {
                (true, State::Staging) => Whose::Presumed,
                (is_ours, _) => Whose::of(is_ours),
            },
            boot: record.boot.clone(),
            is_leaving: record.state == State::Unstaging,
        }
    }

    /// Mappings end with their boot, and so do those who use them.
    fn is_of_boot(&self, boot: Option<&str>) -> bool {
        let boots = self.boot.as_deref().zip(boot);
        boots.is_none_or(|(ours, other)| ours == other)
    }

    fn uses(&self, share: &str, boot: Option<&str>) -> bool {
        self.share == share && !self.is_leaving && self.is_of_boot(boot)
    }

    /// Whether both cannot be mapped at a time: one server, by its name or by its address, as two users or at two ports. A
    /// mapping tells nobody its port, so that its share serves each volume of that name.
    fn conflicts_with(&self, other: &Self) -> bool {
        let is_near = self.server == other.server || self.address == other.address;
        let is_otherwise = self.user != other.user || self.port != other.port;
        is_near && is_otherwise && self.is_of_boot(other.boot.as_deref())
    }
}

impl Claims {
    /// The claims of the records that a driver before this one left.
    pub(super) fn of(records: &[Record<Share>]) -> Self {
        let records = records.iter();
        let claims = records.map(|record| (record.volume.clone(), Claim::of(record)));
        Self(Unpoisoned::new(Inner {
            claims: claims.collect(),
            ..Inner::default()
        }))
    }

    /// Claims a share for a volume, which may have claimed it before. The mapping is this driver's if the claim says so,
    /// or that of another volume does; returns whether it is, or is presumed to be.
    pub(super) fn claim(&self, volume: &VolumeHandle, claim: Claim) -> Result<bool, Conflict> {
        let mut inner = self.0.lock();
        let mut others = inner.claims.iter().filter(|(other, _)| *other != volume);
        let other = others.find(|(_, other)| other.conflicts_with(&claim));
        if let Some((volume, other)) = other {
            let volume = volume.clone();
            return Err(match other.user == claim.user {
                true => Conflict::OtherPort(volume),
                false => Conflict::OtherUser(volume),
            });
        }
        if inner.unmapped.contains(&claim.share) {
            return Err(Conflict::Unmapping);
        }
        let whose = claim.whose.max(inner.known_of(volume, &claim));
        let claim = Claim { whose, ..claim };
        inner.claims.insert(volume.clone(), claim);
        Ok(whose != Whose::Others)
    }

    /// The volume uses its share no more. Its claim stays until the share is unmapped, or others use it.
    pub(super) fn leave(&self, volume: &VolumeHandle) {
        if let Some(claim) = self.0.lock().claims.get_mut(volume) {
            claim.is_leaving = true;
        }
    }

    /// A link of another driver's goes, until what is returned is dropped: who claims a mapping that it leaves has it as
    /// this driver's.
    pub(super) fn leave_others(&self, link: &WinPath) -> LeavingOthers<'_> {
        let link = link.folded();
        self.0.lock().left.insert(link.clone(), Vec::new());
        LeavingOthers { of: self, link }
    }

    /// Whether a link of another driver's goes just now.
    pub(super) fn is_left(&self, link: &WinPath) -> bool {
        self.0.lock().left.contains_key(&link.folded())
    }

    /// The mapping that a volume uses is another's.
    pub(super) fn disown(&self, volume: &VolumeHandle) {
        self.note_whose(volume, false);
    }

    /// Whether the mapping that a volume uses is this driver's.
    pub(super) fn note_whose(&self, volume: &VolumeHandle, is_ours: bool) {
        if let Some(claim) = self.0.lock().claims.get_mut(volume) {
            claim.whose = Whose::of(is_ours);
        }
    }

    /// The mapping of others that a volume claimed is gone, and is presumed to be made by its call.
    pub(super) fn presume(&self, volume: &VolumeHandle) {
        if let Some(claim) = self.0.lock().claims.get_mut(volume) {
            claim.whose = claim.whose.max(Whose::Presumed);
        }
    }

    /// Ends the presumption that a volume's mapping is this driver's, which it turned out to be or not. Returns false if it
    /// is none by now, as the mapping was left to the volume.
    pub(super) fn settle(&self, volume: &VolumeHandle, is_ours: bool) -> bool {
        let mut inner = self.0.lock();
        let claim = inner.claims.get_mut(volume);
        let Some(claim) = claim.filter(|claim| claim.whose == Whose::Presumed) else {
            return false;
        };
        claim.whose = Whose::of(is_ours);
        true
    }

    /// The volume is of this boot after all: its share was not mapped for it since.
    pub(super) fn stay_in(&self, volume: &VolumeHandle, boot: Option<&str>) {
        if let Some(claim) = self.0.lock().claims.get_mut(volume) {
            claim.boot = boot.map(str::to_owned);
        }
    }

    /// The volume uses another mapping of its server than before, which is this driver's to remove.
    pub(super) fn move_to(&self, volume: &VolumeHandle, share: &str) {
        if let Some(claim) = self.0.lock().claims.get_mut(volume) {
            share.clone_into(&mut claim.share);
            claim.whose = Whose::Ours;
        }
    }

    /// Whether the mapping of a share is this driver's in a boot, by any volume's claim, also of one that leaves. What a
    /// call only presumes, nobody else goes by.
    pub(super) fn has_ours(&self, share: &str, boot: Option<&str>) -> bool {
        let inner = self.0.lock();
        let mut of_share = inner.claims.values().filter(|claim| claim.share == share);
        of_share.any(|claim| claim.whose == Whose::Ours && claim.is_of_boot(boot))
    }

    /// Gives a volume's claim up.
    pub(super) fn release(&self, volume: &VolumeHandle) {
        self.0.lock().claims.remove(volume);
    }

    /// The volumes that use a share in this boot: those of an earlier one are staged again first.
    pub(super) fn users_of(&self, share: &str, boot: Option<&str>) -> Vec<VolumeHandle> {
        self.0.lock().users_of(share, boot)
    }

    /// Whether a volume uses a share in this boot.
    pub(super) fn is_used(&self, share: &str, boot: Option<&str>) -> bool {
        self.0.lock().is_used(share, boot)
    }

    /// Whether the mapping that a volume claimed is this driver's by now.
    pub(super) fn is_ours(&self, volume: &VolumeHandle) -> bool {
        self.whose(volume) == Some(Whose::Ours)
    }

    /// Whose the mapping is that a volume claimed.
    pub(super) fn whose(&self, volume: &VolumeHandle) -> Option<Whose> {
        self.0.lock().claims.get(volume).map(|claim| claim.whose)
    }

    /// Notes that the mapping of a share is this driver's in a boot, for the volumes that use it, and returns those of which
    /// that is new.
    pub(super) fn adopt(&self, share: &str, boot: Option<&str>) -> Adopted {
        let mut inner = self.0.lock();
        let using = inner
            .claims
            .iter_mut()
            .filter(|(_, claim)| claim.share == share && claim.is_of_boot(boot));
        let mut adopted = Adopted::default();
        for (volume, claim) in using {
            let is_new = claim.whose == Whose::Others || claim.boot.as_deref() != boot;
            claim.whose = Whose::Ours;
            claim.boot = boot.map(str::to_owned);
            if !claim.is_leaving {
                adopted.users += 1;
                adopted.new.extend(is_new.then(|| volume.clone()));
            }
        }
        adopted
    }

    /// Unmaps a share that nobody uses, while nobody can claim it; none if somebody uses it, or it is being unmapped.
    pub(super) fn unmap<T>(
        &self,
        share: &str,
        boot: Option<&str>,
        unmap: impl FnOnce() -> T,
    ) -> Option<T> {
        let mut inner = self.0.lock();
        if inner.is_used(share, boot) || !inner.unmapped.insert(share.to_owned()) {
            return None;
        }
        drop(inner);
        let unmapping = Unmapping { of: self, share };
        let done = unmap();
        drop(unmapping);
        Some(done)
    }
}

impl Inner {
    /// Whose the mapping of a claim is by what others know. What the volume's own earlier call knew is of a mapping that is
    /// gone, if the claim presumes that there is none.
    fn known_of(&self, volume: &VolumeHandle, claim: &Claim) -> Whose {
        let mut left = self.left.values().flatten();
        if left.any(|left| *left == claim.share) {
            return Whose::Ours;
        }
        let of_share = self.claims.iter().filter(|(other, of)| {
            of.share == claim.share
                && of.is_of_boot(claim.boot.as_deref())
                && (*other != volume || claim.whose != Whose::Presumed)
        });
        let known = of_share.map(|(_, of)| of.whose).max();
        known.unwrap_or(Whose::Others)
    }

    fn users_of(&self, share: &str, boot: Option<&str>) -> Vec<VolumeHandle> {
        let claims = self.claims.iter();
        let using = claims.filter(|(_, claim)| claim.uses(share, boot));
        using.map(|(volume, _)| volume.clone()).collect()
    }

    fn is_used(&self, share: &str, boot: Option<&str>) -> bool {
        self.claims.values().any(|claim| claim.uses(share, boot))
    }
}

/// A share that is being unmapped, until this is dropped.
struct Unmapping<'a> {
    of: &'a Claims,
    share: &'a str,
}

impl Drop for Unmapping<'_> {
    fn drop(&mut self) {
        self.of.0.lock().unmapped.remove(self.share);
    }
}

/// A link of another driver's that goes, until this is dropped.
pub(super) struct LeavingOthers<'a> {
    of: &'a Claims,
    link: String,
}

impl LeavingOthers<'_> {
    /// It leaves this mapping.
    pub(super) fn leaves(&self, share: &str) {
        let mut inner = self.of.0.lock();
        if let Some(left) = inner.left.get_mut(&self.link) {
            left.push(share.to_owned());
        }
    }
}

impl Drop for LeavingOthers<'_> {
    fn drop(&mut self) {
        self.of.0.lock().left.remove(&self.link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(name: &str) -> VolumeHandle {
        VolumeHandle::parse(name).unwrap()
    }

    fn claim(share: &str, user: &str) -> Claim {
        Claim {
            server: String::from("files"),
            address: String::from("files"),
            share: share.to_owned(),
            user: Some(user.to_owned()),
            port: None,
            whose: Whose::Others,
            boot: Some(String::from("now")),
            is_leaving: false,
        }
    }

    #[test]
    fn one_server_is_used_as_one_user_and_the_refusal_names_the_volume() {
        let claims = Claims::default();
        assert_eq!(claims.claim(&volume("a"), claim("s", "one")), Ok(false));
        assert_eq!(claims.claim(&volume("b"), claim("t", "one")), Ok(false));
        let refused = claims.claim(&volume("c"), claim("u", "two"));
        assert_eq!(refused, Err(Conflict::OtherUser(volume("a"))));
        claims.release(&volume("a"));
        claims.release(&volume("b"));
        assert_eq!(claims.claim(&volume("c"), claim("u", "two")), Ok(false));
    }

    #[test]
    fn two_names_of_a_server_do_not_bring_two_users_to_one_mapping() {
        let claims = Claims::default();
        claims.claim(&volume("a"), claim("s", "one")).unwrap();
        let by_another_name = Claim {
            server: String::from("alias"),
            ..claim("t", "two")
        };
        let refused = claims.claim(&volume("b"), by_another_name);
        assert_eq!(refused, Err(Conflict::OtherUser(volume("a"))));
    }

    /// At another port another server may be, perhaps that of a pod's author.
    /// Guards: P77
    #[test]
    fn one_server_is_used_at_one_port() {
        let claims = Claims::default();
        let at_a_port = Claim {
            port: NonZeroU16::new(4450),
            ..claim("s", "one")
        };
        claims.claim(&volume("a"), at_a_port.clone()).unwrap();
        let refused = claims.claim(&volume("b"), claim("s", "one"));
        assert_eq!(refused, Err(Conflict::OtherPort(volume("a"))));
        assert_eq!(claims.claim(&volume("c"), at_a_port), Ok(false));
    }

    #[test]
    fn a_user_of_an_earlier_boot_is_in_nobodys_way() {
        let claims = Claims::default();
        let before = |user| Claim {
            boot: Some(String::from("before")),
            ..claim("s", user)
        };
        claims.claim(&volume("a"), before("one")).unwrap();
        claims.claim(&volume("b"), before("one")).unwrap();
        claims.claim(&volume("a"), claim("s", "two")).unwrap();
        claims.claim(&volume("b"), claim("s", "two")).unwrap();
        assert!(claims.claim(&volume("c"), claim("s", "one")).is_err());
    }

    #[test]
    fn a_mapping_stays_this_drivers_until_its_last_volume_is_gone() {
        let claims = Claims::default();
        let ours = Claim {
            whose: Whose::Ours,
            ..claim("s", "one")
        };
        assert_eq!(claims.claim(&volume("a"), ours), Ok(true));
        assert_eq!(claims.claim(&volume("b"), claim("s", "one")), Ok(true));
        assert_eq!(claims.claim(&volume("c"), claim("t", "one")), Ok(false));
        claims.release(&volume("a"));
        assert_eq!(claims.claim(&volume("d"), claim("s", "one")), Ok(true));
    }

    #[test]
    fn a_mapping_of_an_earlier_boot_is_this_drivers_no_more() {
        let claims = Claims::default();
        let before = Claim {
            whose: Whose::Ours,
            boot: Some(String::from("before")),
            ..claim("s", "one")
        };
        claims.claim(&volume("a"), before).unwrap();
        assert_eq!(claims.claim(&volume("b"), claim("s", "one")), Ok(false));
        assert_eq!(claims.users_of("s", Some("now")), [volume("b")]);
        claims.adopt("s", Some("now"));
        assert_eq!(claims.claim(&volume("c"), claim("s", "one")), Ok(true));
    }

    #[test]
    fn a_mapping_is_adopted_once_for_each_volume() {
        let claims = Claims::default();
        for name in ["a", "b", "leaving"] {
            claims.claim(&volume(name), claim("s", "one")).unwrap();
        }
        claims.leave(&volume("leaving"));
        let adopted = |new: &[&str]| Adopted {
            users: 2,
            new: new.iter().map(|name| volume(name)).collect(),
        };
        assert_eq!(claims.adopt("s", Some("now")), adopted(&["a", "b"]));
        assert_eq!(claims.adopt("s", Some("now")), adopted(&[]));
        claims.disown(&volume("b"));
        assert_eq!(claims.adopt("s", Some("now")), adopted(&["b"]));
    }

    #[test]
    fn who_comes_while_the_last_volume_leaves_takes_its_mapping_over() {
        let claims = Claims::default();
        let ours = Claim {
            whose: Whose::Ours,
            ..claim("s", "one")
        };
        claims.claim(&volume("a"), ours).unwrap();
        claims.leave(&volume("a"));
        assert_eq!(claims.users_of("s", Some("now")), []);
        assert_eq!(claims.claim(&volume("b"), claim("s", "one")), Ok(true));
        assert_eq!(claims.users_of("s", Some("now")), [volume("b")]);
    }

    fn presuming(share: &str) -> Claim {
        Claim {
            whose: Whose::Presumed,
            ..claim(share, "one")
        }
    }

    #[test]
    fn a_map_in_vain_ends_a_presumption_and_no_mapping_that_was_left_to_the_volume() {
        let claims = Claims::default();
        let (a, last) = (volume("a"), volume("last"));
        assert_eq!(claims.claim(&a, presuming("s")), Ok(true));
        assert!(claims.settle(&a, false));
        assert_eq!(claims.whose(&a), Some(Whose::Others));
        assert_eq!(claims.claim(&a, presuming("s")), Ok(true));
        let ours = Claim {
            whose: Whose::Ours,
            ..claim("s", "one")
        };
        claims.claim(&last, ours).unwrap();
        claims.leave(&last);
        assert_eq!(claims.adopt("s", Some("now")).users, 1);
        claims.release(&last);
        assert!(!claims.settle(&a, false));
        assert!(claims.is_ours(&a));
    }

    #[test]
    fn of_two_calls_that_presume_one_mapping_each_learns_alone_whose_it_is() {
        let claims = Claims::default();
        let (in_vain, other) = (volume("in vain"), volume("other"));
        claims.claim(&in_vain, presuming("s")).unwrap();
        // It finds what the first one, or another process, mapped meanwhile.
        assert_eq!(claims.claim(&other, claim("s", "one")), Ok(true));
        assert_eq!(claims.whose(&other), Some(Whose::Presumed));
        assert!(claims.settle(&in_vain, false));
        assert_eq!(claims.whose(&other), Some(Whose::Presumed));
        claims.note_whose(&other, true);
        assert_eq!(claims.claim(&in_vain, presuming("s")), Ok(true));
        assert!(claims.is_ours(&in_vain), "the other one made it");
    }

    #[test]
    fn a_volume_that_leaves_goes_by_no_presumption_of_another() {
        let claims = Claims::default();
        claims.claim(&volume("a"), presuming("s")).unwrap();
        assert!(!claims.has_ours("s", Some("now")));
        claims.settle(&volume("a"), true);
        assert!(claims.has_ours("s", Some("now")));
    }

    #[test]
    fn a_call_that_finds_no_mapping_knows_nothing_of_the_next_one_by_its_volumes_earlier_call() {
        let claims = Claims::default();
        let a = volume("a");
        claims.claim(&a, presuming("s")).unwrap();
        claims.note_whose(&a, true);
        claims.claim(&a, presuming("s")).unwrap();
        assert_eq!(claims.whose(&a), Some(Whose::Presumed));
    }

    #[test]
    fn a_mapping_of_others_that_went_is_presumed_unless_one_was_left_meanwhile() {
        let claims = Claims::default();
        let a = volume("a");
        claims.claim(&a, claim("s", "one")).unwrap();
        claims.presume(&a);
        assert_eq!(claims.whose(&a), Some(Whose::Presumed));
        claims.adopt("s", Some("now"));
        claims.presume(&a);
        assert!(claims.is_ours(&a));
    }

    #[test]
    fn who_comes_while_another_driver_is_left_takes_its_mapping_over() {
        let claims = Claims::default();
        let link: WinPath = r"C:\globalmount".parse().unwrap();
        let leaving = claims.leave_others(&link);
        leaving.leaves("s");
        assert_eq!(claims.claim(&volume("a"), claim("s", "one")), Ok(true));
        assert_eq!(claims.claim(&volume("b"), claim("t", "one")), Ok(false));
        assert!(claims.is_left(&link));
        drop(leaving);
        assert!(!claims.is_left(&link));
        claims.release(&volume("a"));
        assert_eq!(claims.claim(&volume("c"), claim("s", "one")), Ok(false));
    }

    #[test]
    fn a_share_is_unmapped_when_nobody_uses_it_and_nobody_claims_it_meanwhile() {
        let claims = Claims::default();
        claims.claim(&volume("a"), claim("s", "one")).unwrap();
        assert_eq!(claims.unmap("s", Some("now"), || ()), None);
        claims.leave(&volume("a"));
        let meanwhile = claims.unmap("s", Some("now"), || {
            assert_eq!(claims.unmap("s", Some("now"), || ()), None);
            claims.claim(&volume("b"), claim("s", "one"))
        });
        assert_eq!(meanwhile, Some(Err(Conflict::Unmapping)));
        assert_eq!(claims.claim(&volume("b"), claim("s", "one")), Ok(false));
    }
}
