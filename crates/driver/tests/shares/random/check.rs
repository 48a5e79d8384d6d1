//! What holds after each step.

use std::collections::BTreeSet;

use serde_json::Value;
use wincsi::WinPath;
use wincsi::smb::RemotePath;
use wincsi_driver::record::Lifetime;

use super::World;
use super::steps::{FOLDERS, OTHERS, PODS, SPECS, Secret, Spec, Step};
use crate::fixture::Fixture;

/// What a record says of its mapping.
struct Recorded {
    volume: String,
    share: String,
    is_staged: bool,
    is_of_boot: bool,
    is_taken_over: bool,
}

impl Recorded {
    /// One that was taken over takes along each mapping by which it is reached, and so does one whose own mapping is gone,
    /// if the other one is this driver's.
    fn explains(&self, mapping: &str, made: &BTreeSet<String>) -> bool {
        let takes_along = self.is_taken_over || self.is_of_boot && made.contains(mapping);
        self.share == mapping || takes_along && covers(mapping, &self.volume)
    }
}

impl World {
    /// While this driver has the node, each mapping is another's, or that of a share which a record names, or one by which
    /// a volume of csi-driver-smb is reached.
    pub(super) fn check(&mut self, step: Step, dies: bool) -> Result<(), String> {
        let mappings = self.fixture.mappings();
        let now = BTreeSet::from_iter(mappings.iter().cloned());
        if now.len() < mappings.len() {
            return Err(format!("one is mapped twice: {mappings:?}"));
        }
        for mapping in &now {
            self.let_go.remove(mapping);
            self.mapped.entry(mapping.clone()).or_insert(self.passwords);
        }
        let outlived = self.outlived.clone();
        if !outlived.is_empty() {
            let disconnected = self.fixture.disconnected();
            self.outlived.retain(|one| disconnected.contains(one));
        }
        let before = std::mem::replace(&mut self.seen, now.clone());
        match self.upstream {
            Some(_) => {
                self.theirs.extend(now.difference(&before).cloned());
                if let Step::Stage(index, _) = step {
                    let through = now.iter().filter(|one| is_through(one, &SPECS[index]));
                    self.lasting.extend(through.cloned());
                }
                let is_there = |index: &usize, _: &mut usize| now.contains(OTHERS[*index].0);
                self.others.retain(is_there);
            }
            None => {
                let records = recorded(&self.fixture, &self.boot);
                self.check_mapped(&now, &records)?;
                self.check_served(&now)?;
                for gone in before.difference(&now) {
                    // It may stay dead. Where its server is ill too it is made anew in vain.
                    if outlived.contains(gone) {
                        self.let_go.insert(gone.clone());
                        self.others.retain(|index, _| OTHERS[*index].0 != gone);
                        continue;
                    }
                    self.check_gone(gone, &records, step, dies)?;
                }
                self.check_explained(&now, &records)?;
                self.note_handed_over(step, dies);
            }
        }
        self.theirs.retain(|one| now.contains(one));
        self.lasting.retain(|one| now.contains(one));
        self.mapped.retain(|one, _| now.contains(one));
        self.renewed.retain(|one| now.contains(one));
        Ok(())
    }

    /// Each share that a staged volume of this boot has is mapped, unless it was let go, or its password is an old one.
    fn check_mapped(&mut self, now: &BTreeSet<String>, records: &[Recorded]) -> Result<(), String> {
        let staged = records.iter().filter(|one| one.is_staged && one.is_of_boot);
        let unmapped = staged.filter(|one| !now.contains(&one.share));
        let mut unreached = BTreeSet::new();
        for Recorded { share, volume, .. } in unmapped {
            unreached.insert(volume.clone());
            // A call that cannot map what was let go may try another mapping, in vain too.
            if self.let_go.contains(share) || self.unreached.contains(volume) {
                continue;
            }
            // So may one that makes one of an old password anew.
            let is_in_vain =
                |one: &String| !now.contains(one) && self.is_old(one) && covers(one, volume);
            if !self.mapped.keys().any(is_in_vain) {
                return Err(format!("{share} is not mapped, and {volume:?} needs it"));
            }
            self.let_go.insert(share.clone());
        }
        self.unreached = unreached;
        Ok(())
    }

    /// A volume is served if its server answers through its link, and no record of an unfinished stage, or of an earlier
    /// boot, hides that another driver staged it in this one.
    pub(super) fn note_served(&mut self, index: usize) {
        let spec = &SPECS[index];
        let mut records = recorded(&self.fixture, &self.boot).into_iter();
        let record = records.find(|one| one.volume == spec.handle);
        let is_stale = record.is_some_and(|one| !one.is_staged || !one.is_of_boot);
        if is_stale || !self.fixture.can_write(&link_of(spec)) {
            return;
        }
        let old = |(one, since): &(&String, &mut usize)| {
            is_through(one, spec) && **since != self.passwords
        };
        for (one, since) in self.mapped.iter_mut().filter(old) {
            *since = self.passwords;
            self.renewed.insert(one.clone());
        }
        self.served.insert(index);
    }

    /// What was served is served once its server is well, after any calls meanwhile.
    fn check_served(&self, now: &BTreeSet<String>) -> Result<(), String> {
        for index in &self.served {
            let spec = &SPECS[*index];
            if !now.iter().any(|mapping| is_through(mapping, spec)) {
                return Err(format!("{} was served, and is not mapped", spec.handle));
            }
        }
        Ok(())
    }

    /// A mapping of others stays, unless their last volume left it. One of an old password is of no use to anybody, and
    /// may be made anew, in vain too.
    fn check_gone(
        &mut self,
        gone: &str,
        records: &[Recorded],
        step: Step,
        dies: bool,
    ) -> Result<(), String> {
        let is_of_world = matches!(step, Step::Reboot | Step::LetGo(_) | Step::OthersUnmap(_));
        let others = OTHERS.iter().position(|(remote, _)| *remote == gone);
        let others = others.filter(|index| self.others.contains_key(index));
        if is_of_world || self.is_old(gone) || self.renewed.contains(gone) {
            others.map(|index| self.others.remove(&index));
            return Ok(());
        }
        if let Some(link) = self.unrecorded_links_through(gone, records).next() {
            return Err(format!(
                "{gone} is gone, and the link of {link} leads there"
            ));
        }
        let is_ours = others.is_none() && !self.theirs.contains(gone);
        // One that serves no link is made anew where it is refused the folder, in vain by a wrong password.
        let is_refused = |folder: &usize| FOLDERS[*folder].1.to_lowercase().starts_with(gone);
        if self.refused.iter().any(is_refused) {
            others.map(|index| self.others.remove(&index));
            return Ok(());
        }
        if !is_ours && !may_leave(gone, step, dies) {
            return Err(format!("{gone} was another's, and is gone"));
        }
        others.map(|index| self.others.remove(&index));
        Ok(())
    }

    /// The volume that leaves another's mapping leaves it to this driver's volumes, if there are any.
    fn note_handed_over(&mut self, step: Step, dies: bool) {
        let made = made(&self.fixture, &self.boot);
        let is_handed_over =
            |mapping: &str| may_leave(mapping, step, dies) && made.contains(mapping);
        self.theirs.retain(|mapping| !is_handed_over(mapping));
    }

    fn check_explained(
        &mut self,
        now: &BTreeSet<String>,
        records: &[Recorded],
    ) -> Result<(), String> {
        let made = made(&self.fixture, &self.boot);
        for share in &made {
            self.left.remove(share);
            self.note_ours(share);
            if !records.iter().any(|one| one.explains(share, &made)) {
                return Err(format!("the lease of {share} is nobody's"));
            }
        }
        self.left.retain(|one| now.contains(one));
        for mapping in now {
            let is_others = self.others.keys().any(|index| OTHERS[*index].0 == mapping);
            let is_recorded = records.iter().any(|one| one.explains(mapping, &made));
            if is_others || is_recorded || self.left.contains(mapping) {
                continue;
            }
            if self
                .unrecorded_links_through(mapping, records)
                .next()
                .is_none()
            {
                let shares: Vec<_> = records.iter().map(|one| &one.share).collect();
                return Err(format!("{mapping} leaked: records {shares:?}"));
            }
        }
        Ok(())
    }

    /// csi-driver-smb leaves mappings behind that no link leads to, and removes some that volumes need.
    pub(super) fn note_what_is_left(&mut self) {
        let records = recorded(&self.fixture, &self.boot);
        let made = made(&self.fixture, &self.boot);
        let is_left = |mapping: &&String| {
            let mut links = self.unrecorded_links_through(mapping, &records);
            links.next().is_none() && !made.contains(*mapping)
        };
        let left: Vec<_> = self.seen.iter().filter(is_left).cloned().collect();
        self.left.extend(left);
        // Nothing tells one that csi-driver-smb made again from that of the record.
        self.theirs.retain(|mapping| !made.contains(mapping));
        let shares = records.into_iter().map(|one| one.share);
        self.let_go
            .extend(shares.filter(|share| !self.seen.contains(share)));
    }

    /// A record may say so of one that others made, with a password that is old by now: it was made anew, or left to this
    /// driver.
    fn note_ours(&mut self, share: &str) {
        if self.is_old(share) {
            self.others.retain(|index, _| OTHERS[*index].0 != share);
        }
    }

    /// What this driver makes ends with the boot. What csi-driver-smb made comes back, also where it did so for a volume of
    /// this driver: nothing tells that from what others made, and it stays, unless a link without a record leads there.
    pub(super) fn note_what_outlived(&mut self, mappings: &[String]) {
        let records = recorded(&self.fixture, &self.boot);
        for mapping in mappings {
            let is_lasting = self.lasting.contains(mapping);
            assert!(is_lasting, "{mapping} has outlived its boot");
            let is_others = self.others.keys().any(|index| OTHERS[*index].0 == mapping);
            let link = self.unrecorded_links_through(mapping, &records).next();
            if !is_others && link.is_none() {
                self.left.insert(mapping.clone());
            }
        }
    }

    /// Whether a record of this boot has a share as its mapping.
    pub(super) fn is_recorded(&self, share: &str) -> bool {
        let records = recorded(&self.fixture, &self.boot);
        records
            .iter()
            .any(|one| one.is_of_boot && one.share == share)
    }

    /// What the record of a volume has as its mapping.
    pub(super) fn recorded_share(&self, index: usize) -> Option<String> {
        let mut records = recorded(&self.fixture, &self.boot).into_iter();
        let record = records.find(|one| one.volume == SPECS[index].handle);
        record.map(|record| record.share)
    }

    fn is_old(&self, mapping: &str) -> bool {
        let since = self.mapped.get(mapping);
        since.is_some_and(|since| *since != self.passwords)
    }

    /// The volumes without a record whose links lead to a mapping or below it.
    fn unrecorded_links_through<'a>(
        &'a self,
        mapping: &'a str,
        records: &'a [Recorded],
    ) -> impl Iterator<Item = &'static str> + use<'a> {
        let has_record = |spec: &Spec| records.iter().any(|one| one.volume == spec.handle);
        let unrecorded = SPECS.iter().filter(move |spec| !has_record(spec));
        let linked = unrecorded.filter(move |spec| {
            is_through(mapping, spec) && self.fixture.link_target(&link_of(spec)).is_some()
        });
        linked.map(|spec| spec.handle)
    }
}

/// Where a volume has its link to the share.
fn link_of(spec: &Spec) -> String {
    let volume = spec.volume(Secret::Right, "");
    match spec.lifetime {
        Lifetime::Persistent => volume.staging(),
        Lifetime::Inline => volume.target(PODS[0]),
    }
}

/// Whether the last volume of another's mapping may be gone with a step.
fn may_leave(mapping: &str, step: Step, dies: bool) -> bool {
    match step {
        _ if dies => true,
        Step::Unstage(index) | Step::Unpublish(index, _) => is_through(mapping, &SPECS[index]),
        Step::Forward | Step::Restart => true,
        _ => false,
    }
}

fn covers(mapping: &str, volume: &str) -> bool {
    let mut specs = SPECS.iter().filter(|spec| spec.handle == volume);
    specs.any(|spec| is_through(mapping, spec))
}

/// Whether a volume's path lies at or below what is mapped.
fn is_through(mapping: &str, spec: &Spec) -> bool {
    let (mapped, remote): (WinPath, WinPath) =
        (mapping.parse().unwrap(), spec.remote.parse().unwrap());
    remote.prefix(mapped.components().len()).folded() == mapped.folded()
}

/// The mappings that leases of this boot have as this driver's, or as presumed to be.
fn made(fixture: &Fixture, boot: &str) -> BTreeSet<String> {
    let leases = fixture.parsed_leases().into_iter();
    let of_boot = leases.filter(|lease| lease["boot"] == boot);
    of_boot
        .map(|lease| lease["key"].as_str().unwrap().to_owned())
        .collect()
}

fn recorded(fixture: &Fixture, boot: &str) -> Vec<Recorded> {
    let text = |record: &Value, name| record[name].as_str().map(str::to_owned);
    let records = fixture.parsed_records().into_iter();
    let read = records.map(|record| {
        let share = text(&record, "mapped").unwrap_or_else(|| {
            let remote = text(&record, "remote").unwrap();
            RemotePath::parse(&remote).unwrap().share()
        });
        Recorded {
            volume: text(&record, "volume").unwrap(),
            share,
            is_staged: record["state"] == "staged",
            is_of_boot: record["boot"] == boot,
            is_taken_over: record["takenOver"] == true,
        }
    });
    read.collect()
}
